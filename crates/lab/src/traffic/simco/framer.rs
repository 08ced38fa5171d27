//! Messages out of a byte stream, by the length in their headers.

use bytes::{Bytes, BytesMut};
use simco::{DecodeError, HEADER_BYTES, Header};

use crate::traffic::framer::Cut;

/// The octets that have arrived and were not taken.
#[derive(Debug, Default)]
pub(super) struct MessageFramer {
    buffer: BytesMut,
}

impl Cut for MessageFramer {
    fn push(&mut self, octets: &[u8]) {
        self.buffer.extend_from_slice(octets);
    }

    fn next_message(&mut self) -> Result<Option<Bytes>, String> {
        let header = match Header::decode(&self.buffer) {
            Ok(header) => header,
            Err(DecodeError::ShortHeader { .. }) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let bytes = HEADER_BYTES + header.payload_bytes;
        Ok((self.buffer.len() >= bytes).then(|| self.buffer.split_to(bytes).freeze()))
    }
}
