//! Finding whole messages in a byte stream.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

use crate::message::MessageSize;

/// Cuts a byte stream into messages at their length fields; one per TCP connection and direction.
///
/// It holds at most what was pushed and not yet taken, and a message beyond the limit is refused as soon as its
/// length field is there, before any of it is kept. After an error the stream has no more boundaries: every
/// further call repeats the error, and the connection is to be closed.
#[derive(Debug)]
pub struct StreamFramer {
    buffer: BytesMut,
    limit: MessageSize,
    failed: Option<FramingError>,
}

impl StreamFramer {
    /// Creates a framer that refuses messages above `limit`.
    #[must_use]
    pub fn new(limit: MessageSize) -> Self {
        Self { buffer: BytesMut::new(), limit, failed: None }
    }

    /// Takes what arrived. Drain [`next_message`](Self::next_message) after each call.
    pub fn push(&mut self, octets: &[u8]) {
        if self.failed.is_none() {
            self.buffer.extend_from_slice(octets);
        }
    }

    /// Returns the next whole message with its header, or `None` until more octets arrive.
    ///
    /// # Errors
    ///
    /// [`FramingError`] when the length field is below 20 or above the limit; it stays.
    pub fn next_message(&mut self) -> Result<Option<Bytes>, FramingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Some(field) = self.buffer.first_chunk() else { return Ok(None) };
        match self.check(u32::from_be_bytes(*field)) {
            Ok(size) if self.buffer.remaining() >= size.octets() => {
                Ok(Some(self.buffer.split_to(size.octets()).freeze()))
            }
            Ok(_) => Ok(None),
            Err(error) => {
                self.failed = Some(error);
                self.buffer = BytesMut::new();
                Err(error)
            }
        }
    }

    /// Returns the number of octets that wait for the rest of their message.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn check(&self, octets: u32) -> Result<MessageSize, FramingError> {
        if octets > self.limit.get() {
            return Err(FramingError::TooLong { octets, limit: self.limit.get() });
        }
        MessageSize::new(octets).map_err(|_| FramingError::TooShort { octets })
    }
}

impl Default for StreamFramer {
    /// Accepts everything up to [`MessageSize::MAX`].
    fn default() -> Self {
        Self::new(MessageSize::MAX)
    }
}

/// The reason why a byte stream cannot be cut into messages any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FramingError {
    /// A length field that does not even cover the header.
    #[error(
        "a length field of {octets} is below the 20 octets of a header: the peer speaks another protocol"
    )]
    TooShort {
        /// The value of the length field.
        octets: u32,
    },
    /// A length field above the limit.
    #[error("a message of {octets} octets is above the limit of {limit}")]
    TooLong {
        /// The value of the length field.
        octets: u32,
        /// The limit of this framer.
        limit: u32,
    },
}

#[cfg(test)]
mod tests;
