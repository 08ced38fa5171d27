//! Messages out of a byte stream, by the length in their headers.

use bytes::{Bytes, BytesMut};
use simco::{DecodeError, HEADER_BYTES, Header};

/// The octets that have arrived and were not taken.
#[derive(Debug, Default)]
pub(crate) struct MessageFramer {
    buffer: BytesMut,
}

impl MessageFramer {
    pub(crate) fn push(&mut self, octets: &[u8]) {
        self.buffer.extend_from_slice(octets);
    }

    /// Returns the next whole message.
    pub(crate) fn next_message(&mut self) -> Result<Option<Bytes>, DecodeError> {
        let header = match Header::decode(&self.buffer) {
            Ok(header) => header,
            Err(DecodeError::ShortHeader { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = HEADER_BYTES + header.payload_bytes;
        Ok((self.buffer.len() >= bytes).then(|| self.buffer.split_to(bytes).freeze()))
    }
}
