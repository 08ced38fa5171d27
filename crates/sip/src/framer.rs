//! Cuts a stream of octets into messages by Content-Length (RFC 3261 §18.3, §20.14).

use bytes::{Bytes, BytesMut};

use crate::limits::MessageLimits;
use crate::message::{ParseError, content_length_of_head, head_end};

/// The stream of one connection.
///
/// What it holds is bounded by [`MessageLimits::message_bytes`] and what is pushed at once; a peer that sends one octet at a
/// time costs no more than one that sends all, for no octet is looked at twice while the end of a head is searched.
#[derive(Debug)]
pub struct Framer {
    limits: MessageLimits,
    held: BytesMut,
    /// Octets in which no head ends.
    searched: usize,
    /// Octets of the message at the front, once its head is there.
    expected: Option<usize>,
}

/// The reason why a stream cannot be cut any further: the connection is of no use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FramingError {
    /// The message cannot be read.
    #[error(transparent)]
    Message(#[from] ParseError),
    /// There is no Content-Length, without which nobody knows where the next message begins.
    #[error("no Content-Length in a stream")]
    NoLength,
}

impl Framer {
    /// Creates the framer of a connection that has just been opened.
    #[must_use]
    pub fn new(limits: MessageLimits) -> Self {
        Self { limits, held: BytesMut::new(), searched: 0, expected: None }
    }

    /// Takes in octets as they come.
    pub fn push(&mut self, octets: &[u8]) {
        self.held.extend_from_slice(octets);
    }

    /// Returns the octets of the next message, if it is whole. Line ends between messages keep a connection alive and are
    /// skipped (RFC 3261 §7.5, RFC 5626 §3.5.1).
    ///
    /// # Errors
    ///
    /// See [`FramingError`].
    pub fn next_message(&mut self) -> Result<Option<Bytes>, FramingError> {
        if self.expected.is_none() {
            self.skip_line_ends();
            self.expected = self.find_end()?;
        }
        match self.expected {
            Some(expected) if self.held.len() >= expected => {
                (self.expected, self.searched) = (None, 0);
                Ok(Some(self.held.split_to(expected).freeze()))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Returns how many octets wait for the rest of their message.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    fn skip_line_ends(&mut self) {
        if self.searched == 0 {
            let count = self.held.iter().take_while(|octet| matches!(octet, b'\r' | b'\n')).count();
            let _skipped = self.held.split_to(count);
        }
    }

    fn find_end(&mut self) -> Result<Option<usize>, FramingError> {
        let from = self.searched.saturating_sub(HEAD_END_BYTES - 1);
        let room = MessageLimits { head_bytes: self.limits.head_bytes.saturating_sub(from), ..self.limits };
        let Some(end) = head_end(&self.held[from..], &room) else {
            if self.held.len() >= self.limits.head_bytes {
                return Err(ParseError::NoEnd(self.limits.head_bytes).into());
            }
            self.searched = self.held.len();
            return Ok(None);
        };
        let head_bytes = from + end;
        let length = content_length_of_head(&self.held[..head_bytes])?.ok_or(FramingError::NoLength)?;
        if length > self.limits.body_bytes {
            return Err(ParseError::TooLong { bytes: length, most: self.limits.body_bytes }.into());
        }
        let whole = head_bytes + HEAD_END_BYTES + length;
        if whole > self.limits.message_bytes {
            return Err(ParseError::TooLong { bytes: whole, most: self.limits.message_bytes }.into());
        }
        Ok(Some(whole))
    }
}

/// The octets of an empty line with the line end before it.
const HEAD_END_BYTES: usize = 4;

#[cfg(test)]
mod tests;
