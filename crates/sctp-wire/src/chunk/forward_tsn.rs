//! FORWARD TSN and I-FORWARD-TSN: what the receiver shall not wait for (RFC 3758 §3.2, RFC 8260 §2.3.1).

use core::fmt::{self, Display, Formatter};

use crate::cursor::{Cursor, Tlv};
use crate::error::Flaw;
use crate::list::Bracketed;
use crate::numbers::{Mid, Ssn, StreamId, Tsn};

/// A FORWARD TSN chunk: messages that the sender has given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForwardTsn<'a> {
    /// Everything up to this TSN counts as received.
    pub new_cumulative_tsn: Tsn,
    skipped: &'a [[u8; 4]],
    pub(super) raw: &'a [u8],
}

impl<'a> ForwardTsn<'a> {
    /// Octets of a FORWARD TSN without skipped messages, chunk header included; each takes 4 more.
    pub const HEADER_BYTES: usize = 8;

    pub(super) fn decode(mut cursor: Cursor<'a>, tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let new_cumulative_tsn = Tsn::new(cursor.u32()?);
        Ok(Self { new_cumulative_tsn, skipped: cursor.all_groups()?, raw: tlv.raw })
    }

    /// Returns the last message skipped in each stream that had ordered ones; neither sorted nor checked for
    /// sense.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = SkippedSsn> + Clone + use<'a> {
        self.skipped.iter().map(|&[i0, i1, n0, n1]| SkippedSsn {
            stream: StreamId::from([i0, i1]),
            ssn: Ssn::new(u16::from_be_bytes([n0, n1])),
        })
    }
}

impl Display for ForwardTsn<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "cum={} skip={}", self.new_cumulative_tsn, Bracketed(" ", self.skipped()))
    }
}

/// The last ordered message skipped in a stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SkippedSsn {
    /// The number of the stream.
    pub stream: StreamId,
    /// The last message skipped in it.
    pub ssn: Ssn,
}

impl SkippedSsn {
    pub(crate) const fn to_wire(self) -> [u8; 4] {
        let [i0, i1] = self.stream.to_wire();
        let [n0, n1] = self.ssn.get().to_be_bytes();
        [i0, i1, n0, n1]
    }
}

impl Display for SkippedSsn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.stream, self.ssn)
    }
}

/// An I-FORWARD-TSN chunk: messages that the sender has given up, where I-DATA is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IForwardTsn<'a> {
    /// Everything up to this TSN counts as received.
    pub new_cumulative_tsn: Tsn,
    skipped: &'a [[u8; 8]],
    pub(super) raw: &'a [u8],
}

impl<'a> IForwardTsn<'a> {
    /// Octets of an I-FORWARD-TSN without skipped messages, chunk header included; each takes 8 more.
    pub const HEADER_BYTES: usize = 8;

    pub(super) fn decode(mut cursor: Cursor<'a>, tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let new_cumulative_tsn = Tsn::new(cursor.u32()?);
        Ok(Self { new_cumulative_tsn, skipped: cursor.all_groups()?, raw: tlv.raw })
    }

    /// Returns the last message skipped in each stream, ordered and unordered ones apart; neither sorted nor
    /// checked for sense.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = SkippedMid> + Clone + use<'a> {
        self.skipped.iter().map(|&[i0, i1, _, flags, m0, m1, m2, m3]| SkippedMid {
            stream: StreamId::from([i0, i1]),
            unordered: flags & SkippedMid::U != 0,
            mid: Mid::new(u32::from_be_bytes([m0, m1, m2, m3])),
        })
    }
}

impl Display for IForwardTsn<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "cum={} skip={}", self.new_cumulative_tsn, Bracketed(" ", self.skipped()))
    }
}

/// The last ordered or unordered message skipped in a stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SkippedMid {
    /// The number of the stream.
    pub stream: StreamId,
    /// Whether the message is an unordered one.
    pub unordered: bool,
    /// The last message skipped in it.
    pub mid: Mid,
}

impl SkippedMid {
    const U: u8 = 0x01;

    pub(crate) const fn to_wire(self) -> [u8; 8] {
        let [i0, i1] = self.stream.to_wire();
        let [m0, m1, m2, m3] = self.mid.get().to_be_bytes();
        [i0, i1, 0, if self.unordered { Self::U } else { 0 }, m0, m1, m2, m3]
    }
}

/// `stream:MID`, with a U behind it if unordered.
impl Display for SkippedMid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}{}", self.stream, self.mid, if self.unordered { "U" } else { "" })
    }
}
