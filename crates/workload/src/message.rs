//! The message that `echo`, `load` and `compare` exchange.
//!
//! ```text
//!  0               4                       12                      20
//!  ├── length ─────┼── number ─────────────┼── send time, ns ──────┼── zeros …
//!  │ u32, with     │ u64                   │ u64                   │
//!  │ itself        │                       │                       │
//! ```
//! All numbers are big-endian. The length serves as framing on a byte stream.

use core::fmt;
use core::str::FromStr;

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;
use virtual_time::Instant;

/// Octets of length, number and send time: the smallest message.
pub const HEADER_BYTES: usize = 20;

/// A message as its meaning: what it says and how long it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The number of the request that this is, or answers.
    pub number: MessageNumber,
    /// The time when the generator handed the request to the transport.
    pub sent: SendTime,
    /// Octets on the wire, header included.
    pub size: MessageSize,
}

impl Message {
    /// Returns the octets on the wire.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let size = self.size.octets();
        let mut wire = BytesMut::with_capacity(size);
        wire.put_u32(self.size.0);
        wire.put_u64(self.number.0);
        wire.put_u64(self.sent.0);
        wire.put_bytes(0, size.saturating_sub(HEADER_BYTES));
        wire.freeze()
    }

    /// Reads one whole message.
    ///
    /// # Errors
    ///
    /// The slice must be exactly as long as its length field says, at least [`HEADER_BYTES`], at most
    /// [`MessageSize::MAX`], and the fill must be zero.
    pub fn decode(wire: &[u8]) -> Result<Self, MessageError> {
        let (length, rest) =
            wire.split_first_chunk().ok_or(MessageError::Truncated { octets: wire.len() })?;
        let (number, rest) =
            rest.split_first_chunk().ok_or(MessageError::Truncated { octets: wire.len() })?;
        let (sent, fill) = rest.split_first_chunk().ok_or(MessageError::Truncated { octets: wire.len() })?;
        let size = MessageSize::new(u32::from_be_bytes(*length))?;
        if size.octets() != wire.len() {
            return Err(MessageError::LengthMismatch { field: size.0, octets: wire.len() });
        }
        if !is_zero(fill) {
            let at = fill.iter().take_while(|octet| **octet == 0).count();
            return Err(MessageError::FillNotZero { offset: HEADER_BYTES + at });
        }
        Ok(Self {
            number: MessageNumber(u64::from_be_bytes(*number)),
            sent: SendTime(u64::from_be_bytes(*sent)),
            size,
        })
    }
}

/// Returns whether all octets are zero, eight at a time.
fn is_zero(octets: &[u8]) -> bool {
    let (words, rest) = octets.as_chunks::<8>();
    words.iter().all(|word| u64::from_ne_bytes(*word) == 0) && rest.iter().all(|octet| *octet == 0)
}

/// The number of a request: 0 for the first of a run, then one more each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageNumber(pub u64);

impl fmt::Display for MessageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Nanoseconds on the clock of the sender; only the sender can compare it with anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SendTime(pub u64);

impl From<Instant> for SendTime {
    fn from(instant: Instant) -> Self {
        Self(instant.as_nanos())
    }
}

/// Octets of a message on the wire: 20 … 1,048,576.
///
/// Default 64, the request of the study S1. A bigger message reaches the region where windows, not
/// head-of-line blocking, decide the response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageSize(u32);

impl MessageSize {
    /// The size of the header alone.
    pub const MIN: Self = Self(20);
    /// One MiB, so that a length field out of nowhere cannot claim memory.
    pub const MAX: Self = Self(1 << 20);

    /// Creates a size within the bounds.
    ///
    /// # Errors
    ///
    /// [`MessageError::SizeOutOfRange`] below 20 or above 1,048,576 octets.
    pub fn new(octets: u32) -> Result<Self, MessageError> {
        if (Self::MIN.0..=Self::MAX.0).contains(&octets) {
            Ok(Self(octets))
        } else {
            Err(MessageError::SizeOutOfRange { octets })
        }
    }

    /// Returns the size as a length.
    #[must_use]
    pub fn octets(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Returns the size as it stands in the length field.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Default for MessageSize {
    fn default() -> Self {
        Self(64)
    }
}

impl FromStr for MessageSize {
    type Err = MessageError;

    /// Reads `500` (octets) or `64KiB`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (digits, unit) = match text.strip_suffix("KiB") {
            Some(digits) => (digits, 1024),
            None => (text, 1),
        };
        let number: u32 = digits.trim().parse().map_err(|_| MessageError::NotASize(text.to_owned()))?;
        Self::new(number.saturating_mul(unit))
    }
}

/// The reason why octets are not a message, or a number is not the size of one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The octets are fewer than a header has.
    #[error("{octets} octets are too few for a message, which has at least 20")]
    Truncated {
        /// The number of octets there were.
        octets: usize,
    },
    /// The length field and the number of octets differ.
    #[error("the length field says {field}, but there are {octets} octets")]
    LengthMismatch {
        /// The value of the length field.
        field: u32,
        /// How many octets there were.
        octets: usize,
    },
    /// A size that no message has.
    #[error("a message has 20 to 1048576 octets, not {octets}")]
    SizeOutOfRange {
        /// The size asked for, or claimed by a length field.
        octets: u32,
    },
    /// Octets after the header must be zero.
    #[error("octet {offset} of the fill is not zero")]
    FillNotZero {
        /// The offset of the first such octet from the start of the message.
        offset: usize,
    },
    /// A text that is not a size.
    #[error("`{0}` is not a size: write octets as in 500, or 64KiB")]
    NotASize(String),
}

#[cfg(test)]
mod tests;
