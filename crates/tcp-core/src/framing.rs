//! Messages on a stream of octets: each behind its length.
//!
//! Four octets in network order, then the message. Not a standard of TCP: RFC 4571 uses two octets, SIP a field in its text; the
//! length is what a receiver needs at least, and a study that counts headers knows them.
//!
//! ```
//! use tcp_core::framing::{Deframer, frame};
//!
//! let mut wire = Vec::new();
//! frame(b"INVITE", &mut wire)?;
//! frame(b"", &mut wire)?;
//! let mut deframer = Deframer::new(100);
//! deframer.push(&wire[..7]);
//! assert_eq!(deframer.next_message(), Ok(None));
//! deframer.push(&wire[7..]);
//! assert_eq!(deframer.next_message(), Ok(Some(b"INVITE".to_vec())));
//! assert_eq!(deframer.next_message(), Ok(Some(Vec::new())));
//! # Ok::<(), tcp_core::framing::FramingError>(())
//! ```

use std::collections::VecDeque;

/// Appends a message with its length to `wire`.
///
/// # Errors
/// [`FramingError::TooLong`] beyond 4 GiB.
pub fn frame(message: &[u8], wire: &mut Vec<u8>) -> Result<(), FramingError> {
    let len = u32::try_from(message.len()).map_err(|_| FramingError::TooLong { octets: u32::MAX })?;
    wire.extend_from_slice(&len.to_be_bytes());
    wire.extend_from_slice(message);
    Ok(())
}

/// Cuts a stream into messages. What it holds is what was pushed and not taken.
#[derive(Clone, Debug, Default)]
pub struct Deframer {
    buffer: VecDeque<u8>,
    limit: u32,
}

impl Deframer {
    /// Refuses messages of more octets than `limit`.
    #[must_use]
    pub const fn new(limit: u32) -> Self {
        Self { buffer: VecDeque::new(), limit }
    }

    /// Takes in octets as they arrived.
    pub fn push(&mut self, octets: &[u8]) {
        self.buffer.extend(octets);
    }

    /// Returns the next whole message; `None` until more arrives.
    ///
    /// # Errors
    /// [`FramingError::TooLong`] for a length above the limit, each time it is asked: the stream has no boundaries any more.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, FramingError> {
        if self.buffer.len() < LENGTH_BYTES {
            return Ok(None);
        }
        let octets =
            self.buffer.iter().take(LENGTH_BYTES).fold(0, |length, octet| length << 8 | u32::from(*octet));
        if octets > self.limit {
            return Err(FramingError::TooLong { octets });
        }
        let end = LENGTH_BYTES.saturating_add(usize::try_from(octets).unwrap_or(usize::MAX));
        if self.buffer.len() < end {
            return Ok(None);
        }
        Ok(Some(self.buffer.drain(..end).skip(LENGTH_BYTES).collect()))
    }
}

/// The reason why a stream has no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A length beyond the limit.
    #[error("a message of {octets} octets is longer than its receiver allows")]
    TooLong {
        /// The length in the length field.
        octets: u32,
    },
}

/// Octets in front of each message.
pub const LENGTH_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_any_cut_of_the_stream() {
        let messages = [b"one".to_vec(), Vec::new(), vec![7; 300]];
        let mut wire = Vec::new();
        messages.iter().for_each(|message| assert_eq!(frame(message, &mut wire), Ok(())));
        for step in 1..wire.len() {
            let mut deframer = Deframer::new(300);
            let mut read = Vec::new();
            for part in wire.chunks(step) {
                deframer.push(part);
                while let Ok(Some(message)) = deframer.next_message() {
                    read.push(message);
                }
            }
            assert_eq!(read, messages, "in steps of {step}");
        }
    }

    #[test]
    fn length_beyond_the_limit_is_refused_before_its_octets_come() {
        let mut deframer = Deframer::new(10);
        deframer.push(&[0, 0, 0, 11]);
        assert_eq!(deframer.next_message(), Err(FramingError::TooLong { octets: 11 }));
        assert_eq!(deframer.next_message(), Err(FramingError::TooLong { octets: 11 }));
    }
}
