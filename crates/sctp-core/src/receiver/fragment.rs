//! The content of DATA (RFC 9260 §3.3.1) and I-DATA (RFC 8260 §2.1) as one: a message or a piece of one, and
//! the number its message has in its stream.

use crate::message::{Counted, Delivery};
use sctp_wire::{Chunks, Data, DataFlags, Fsn, IData, Mid, PayloadProtocolId, Ssn, StreamId, Tsn};

/// A DATA or I-DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DataChunk<'a> {
    pub(super) tsn: Tsn,
    pub(super) stream: StreamId,
    pub(super) sequence: Sequence,
    /// 0 in DATA, where the TSN tells the fragments of a message apart.
    pub(super) fsn: Fsn,
    /// 0 in an I-DATA that is not the first of its message; the first one's counts.
    pub(super) ppid: PayloadProtocolId,
    pub(super) flags: DataFlags,
    pub(super) payload: &'a [u8],
}

impl<'a> DataChunk<'a> {
    /// Reads the chunk that stands next in a packet, if it is of the kind agreed on and sound.
    #[inline(always)]
    pub(super) fn next(chunks: &mut Chunks<'a>, numbering: Numbering) -> Option<Self> {
        match numbering {
            Numbering::Ssn => chunks.next_data().as_ref().map(Self::from),
            Numbering::Mid => chunks.next_i_data().as_ref().map(Self::from),
        }
    }

    /// Returns the place of its message in its stream; `None` for an unordered one, which has none (RFC 9260
    /// §6.6).
    #[inline]
    pub(super) fn order(&self) -> Option<Sequence> {
        (!self.flags.unordered).then_some(self.sequence)
    }

    /// Returns whether its message has a place in its stream.
    #[inline]
    pub(super) fn delivery(&self) -> Delivery {
        if self.flags.unordered { Delivery::Unordered } else { Delivery::Ordered }
    }
}

impl<'a> From<&Data<'a>> for DataChunk<'a> {
    #[inline]
    fn from(data: &Data<'a>) -> Self {
        let Data { tsn, stream, ssn, ppid, flags, payload } = *data;
        Self { tsn, stream, sequence: ssn.into(), fsn: Fsn::new(0), ppid, flags, payload }
    }
}

impl<'a> From<&IData<'a>> for DataChunk<'a> {
    #[inline]
    fn from(data: &IData<'a>) -> Self {
        Self {
            tsn: data.tsn,
            stream: data.stream,
            sequence: data.mid.into(),
            fsn: data.label.fsn(),
            ppid: data.label.ppid().unwrap_or(PayloadProtocolId::UNSPECIFIED),
            flags: data.flags,
            payload: data.payload,
        }
    }
}

/// The numbers by which the messages of a stream are counted; one answer for the whole association (RFC 8260
/// §2.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Numbering {
    /// DATA: 16 bits, ordered messages only.
    Ssn,
    /// I-DATA: 32 bits, ordered and unordered messages apart.
    Mid,
}

impl Numbering {
    /// Returns the number after this one.
    pub(super) const fn next(self, sequence: Sequence) -> Sequence {
        Sequence(sequence.0.wrapping_add(self.step()))
    }

    /// Returns how many steps lead from one number forward to another, wrapping.
    pub(super) const fn distance(self, from: Sequence, to: Sequence) -> u32 {
        to.0.wrapping_sub(from.0) / self.step()
    }

    /// Returns how a message with this number was counted.
    #[inline]
    pub(super) fn counted(self, sequence: Sequence) -> Counted {
        Counted { number: sequence.0, has_mid: self == Self::Mid }
    }

    /// Returns what [`counted`](Self::counted) was made of.
    pub(super) const fn of(counted: Counted) -> (Self, Sequence) {
        (if counted.has_mid { Self::Mid } else { Self::Ssn }, Sequence(counted.number))
    }

    const fn step(self) -> u32 {
        match self {
            Self::Ssn => 1 << SSN_SHIFT,
            Self::Mid => 1,
        }
    }
}

/// The number of a message in its stream: SSN or MID.
///
/// An SSN stands in the upper half, so that the arithmetic of 32 bits wraps and compares both as it must.
/// The default is where every stream begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sequence(u32);

impl Sequence {
    /// Returns whether this number comes before the other in serial number arithmetic.
    pub(super) const fn precedes(self, other: Self) -> bool {
        self.mid().precedes(other.mid())
    }

    /// Returns the number as a key: to be looked up, and compared only within one half of the circle.
    pub(super) const fn get(self) -> u32 {
        self.0
    }

    /// Returns the lowest number that is not after this one: half the circle behind it.
    pub(super) const fn half_circle_below(self) -> Self {
        Self(self.0.wrapping_sub((1 << (u32::BITS - 1)) - 1))
    }

    /// Returns the number of which [`get`](Self::get) gave the key.
    pub(super) const fn from_key(key: u32) -> Self {
        Self(key)
    }

    pub(super) const fn mid(self) -> Mid {
        Mid::new(self.0)
    }

    pub(super) fn ssn(self) -> Ssn {
        // Sixteen bits are left, so nothing saturates.
        Ssn::new(u16::try_from(self.0 >> SSN_SHIFT).unwrap_or(u16::MAX))
    }
}

impl From<Ssn> for Sequence {
    fn from(ssn: Ssn) -> Self {
        Self(u32::from(ssn.get()) << SSN_SHIFT)
    }
}

impl From<Mid> for Sequence {
    fn from(mid: Mid) -> Self {
        Self(mid.get())
    }
}

const SSN_SHIFT: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssns_wrap_after_16_bits_and_mids_after_32_rfc_8260_2_1() {
        let last = Sequence::from(Ssn::new(u16::MAX));
        assert_eq!((Numbering::Ssn.next(last), last.ssn()), (Sequence::default(), Ssn::new(u16::MAX)));
        assert_eq!(Numbering::Mid.next(Mid::new(u32::MAX).into()), Sequence::default());
        assert_eq!(Numbering::Mid.next(Mid::new(0xffff).into()), Mid::new(0x1_0000).into());
        assert_eq!(Numbering::Ssn.distance(last, Ssn::new(2).into()), 3);
        assert_eq!(Numbering::Mid.distance(Mid::new(u32::MAX).into(), Mid::new(2).into()), 3);
    }

    #[test]
    fn both_compare_as_their_serial_numbers_do() {
        for (a, b) in [(0, 1), (1, 0), (0, 0x7fff), (0, 0x8000), (0xffff, 3), (7, 7)] {
            let (ssn_a, ssn_b) = (Ssn::new(a), Ssn::new(b));
            assert_eq!(Sequence::from(ssn_a).precedes(ssn_b.into()), ssn_a.precedes(ssn_b), "{a} {b}");
            let (mid_a, mid_b) = (Mid::new(a.into()), Mid::new(b.into()));
            assert_eq!(Sequence::from(mid_a).precedes(mid_b.into()), mid_a.precedes(mid_b), "{a} {b}");
        }
    }
}
