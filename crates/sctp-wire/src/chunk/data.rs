//! DATA: a message or a fragment of one (RFC 9260 §3.3.1).

use core::fmt;

use crate::codepoints::PayloadProtocolId;
use crate::cursor::Cursor;
use crate::error::Flaw;
use crate::numbers::{Ssn, StreamId, Tsn};

/// A DATA chunk. An empty payload decodes: the association answers it with cause 9.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data<'a> {
    /// The number of the chunk in the association.
    pub tsn: Tsn,
    /// The number of the stream that carries the message.
    pub stream: StreamId,
    /// The number of its message in the stream; without meaning when unordered.
    pub ssn: Ssn,
    /// The payload protocol identifier: what the user says the message is.
    pub ppid: PayloadProtocolId,
    /// Place in the message and wishes of the sender.
    pub flags: DataFlags,
    /// The octets of the user's message.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Octets of a DATA chunk before its payload, chunk header included.
    pub const HEADER_BYTES: usize = 16;

    /// Returns the number of octets a DATA chunk with this much payload takes in a packet, header and padding
    /// included: what congestion control counts (RFC 9260 §7.2).
    #[must_use]
    pub const fn chunk_bytes(payload_bytes: usize) -> usize {
        payload_bytes.saturating_add(Self::HEADER_BYTES + 3) / 4 * 4
    }

    pub(super) fn decode(flags: u8, cursor: Cursor<'a>) -> Result<Self, Flaw> {
        let value = cursor.rest();
        Self::read(flags, value).ok_or(Flaw::TooShort { needed: FIELDS, available: value.len() })
    }

    /// Reads the value of the chunk; `None` if it is too short.
    #[inline]
    pub(crate) fn read(flags: u8, value: &'a [u8]) -> Option<Self> {
        let (&[t0, t1, t2, t3, s0, s1, n0, n1, p0, p1, p2, p3], payload) =
            value.split_first_chunk::<FIELDS>()?;
        Some(Self {
            tsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: StreamId::new(u16::from_be_bytes([s0, s1])),
            ssn: Ssn::new(u16::from_be_bytes([n0, n1])),
            ppid: PayloadProtocolId::new(u32::from_be_bytes([p0, p1, p2, p3])),
            flags: DataFlags::from(flags),
            payload,
        })
    }

    /// Returns everything but the payload, as the writer takes it.
    #[must_use]
    pub const fn header(&self) -> DataHeader {
        DataHeader { tsn: self.tsn, stream: self.stream, ssn: self.ssn, ppid: self.ppid, flags: self.flags }
    }
}

/// Octets between chunk header and payload.
const FIELDS: usize = 12;

/// A DATA chunk without its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataHeader {
    /// The number of the chunk in the association.
    pub tsn: Tsn,
    /// The number of the stream that carries the message.
    pub stream: StreamId,
    /// The number of its message in the stream.
    pub ssn: Ssn,
    /// The payload protocol identifier: what the user says the message is.
    pub ppid: PayloadProtocolId,
    /// Place in the message and wishes of the sender.
    pub flags: DataFlags,
}

/// The flags of DATA. The default is the middle fragment of an ordered message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DataFlags {
    /// I: the sender asks for a SACK without delay.
    pub immediate: bool,
    /// U: the message is delivered as soon as it is whole, in no order.
    pub unordered: bool,
    /// B: the message begins here.
    pub beginning: bool,
    /// E: the message ends here.
    pub ending: bool,
}

impl DataFlags {
    /// A whole ordered message in one chunk.
    pub const WHOLE: Self = Self { immediate: false, unordered: false, beginning: true, ending: true };

    const I: u8 = 0x08;
    const U: u8 = 0x04;
    const B: u8 = 0x02;
    const E: u8 = 0x01;

    /// Returns the flags as they stand in the chunk header.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        (if self.immediate { Self::I } else { 0 })
            | (if self.unordered { Self::U } else { 0 })
            | (if self.beginning { Self::B } else { 0 })
            | (if self.ending { Self::E } else { 0 })
    }

    /// Returns whether the chunk holds its message whole.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.beginning && self.ending
    }
}

/// Reserved bits are ignored.
impl From<u8> for DataFlags {
    #[inline]
    fn from(bits: u8) -> Self {
        Self {
            immediate: bits & Self::I != 0,
            unordered: bits & Self::U != 0,
            beginning: bits & Self::B != 0,
            ending: bits & Self::E != 0,
        }
    }
}

/// The letters of the flags that are set, `-` for none: `BE`, `IUB`.
impl fmt::Display for DataFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bits() == 0 {
            return f.write_str("-");
        }
        let letters =
            [(self.immediate, "I"), (self.unordered, "U"), (self.beginning, "B"), (self.ending, "E")];
        letters.iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, letter)| f.write_str(letter))
    }
}
