//! I-DATA: a fragment of a message that others may interleave with (RFC 8260 §2.1).

use super::CHUNK_HEADER_BYTES;
use super::data::DataFlags;
use crate::codepoints::PayloadProtocolId;
use crate::cursor::Tlv;
use crate::error::Flaw;
use crate::numbers::{Fsn, Mid, StreamId, Tsn};

/// An I-DATA chunk. An empty payload decodes, as in [`Data`](super::Data).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IData<'a> {
    /// The number of the chunk in the association.
    pub tsn: Tsn,
    /// The number of the stream that carries the message.
    pub stream: StreamId,
    /// The number of the message in its stream; ordered and unordered messages are counted apart.
    pub mid: Mid,
    /// The payload protocol identifier of the first fragment, or the fragment number of a later one.
    pub label: FragmentLabel,
    /// Place in the message and wishes of the sender; `beginning` agrees with `label`.
    pub flags: DataFlags,
    /// The octets of the user's message.
    pub payload: &'a [u8],
    pub(super) raw: &'a [u8],
}

impl<'a> IData<'a> {
    /// Octets of an I-DATA chunk before its payload, chunk header included.
    pub const HEADER_BYTES: usize = 20;

    /// Returns the number of octets an I-DATA chunk with this much payload takes in a packet, header and
    /// padding included.
    #[must_use]
    pub const fn chunk_bytes(payload_bytes: usize) -> usize {
        payload_bytes.saturating_add(Self::HEADER_BYTES + 3) / 4 * 4
    }

    pub(super) fn decode(flags: u8, tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let available = tlv.value.len();
        Self::read(flags, tlv.value, tlv.raw).ok_or(Flaw::TooShort { needed: FIELDS, available })
    }

    /// Reads the value of the chunk, which stands in `raw` behind its header; `None` if it is too short.
    #[inline]
    pub(crate) fn read(flags: u8, value: &'a [u8], raw: &'a [u8]) -> Option<Self> {
        let (&[t0, t1, t2, t3, s0, s1, _, _, m0, m1, m2, m3, l0, l1, l2, l3], payload) =
            value.split_first_chunk::<FIELDS>()?;
        let flags = DataFlags::from(flags);
        Some(Self {
            tsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: StreamId::new(u16::from_be_bytes([s0, s1])),
            mid: Mid::new(u32::from_be_bytes([m0, m1, m2, m3])),
            label: FragmentLabel::decode(flags, u32::from_be_bytes([l0, l1, l2, l3])),
            flags,
            payload,
            raw: &raw[..CHUNK_HEADER_BYTES + value.len()],
        })
    }

    /// Returns everything but the payload, as the writer takes it.
    #[must_use]
    pub const fn header(&self) -> IDataHeader {
        let Self { tsn, stream, mid, label, flags, .. } = *self;
        IDataHeader { tsn, stream, mid, label, flags }
    }
}

/// Octets between chunk header and payload.
const FIELDS: usize = IData::HEADER_BYTES - CHUNK_HEADER_BYTES;

/// An I-DATA chunk without its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IDataHeader {
    /// The number of the chunk in the association.
    pub tsn: Tsn,
    /// The number of the stream that carries the message.
    pub stream: StreamId,
    /// The number of the message in its stream.
    pub mid: Mid,
    /// The payload protocol identifier of the first fragment, or the fragment number of a later one.
    pub label: FragmentLabel,
    /// I, U and E as they are here; B is written as `label` has it.
    pub flags: DataFlags,
}

impl IDataHeader {
    pub(crate) const fn flag_bits(&self) -> u8 {
        let beginning = matches!(self.label, FragmentLabel::Beginning(_));
        DataFlags { beginning, ..self.flags }.bits()
    }
}

/// The field that two numbers share: the B bit says which of them it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FragmentLabel {
    /// B = 1: the first fragment, number 0, says what the user says the message is.
    Beginning(PayloadProtocolId),
    /// B = 0: the number of a later fragment.
    Later(Fsn),
}

impl FragmentLabel {
    const fn decode(flags: DataFlags, field: u32) -> Self {
        if flags.beginning {
            Self::Beginning(PayloadProtocolId::new(field))
        } else {
            Self::Later(Fsn::new(field))
        }
    }

    pub(crate) const fn get(self) -> u32 {
        match self {
            Self::Beginning(ppid) => ppid.get(),
            Self::Later(fsn) => fsn.get(),
        }
    }

    /// Returns the number of the fragment in its message.
    #[must_use]
    pub const fn fsn(self) -> Fsn {
        match self {
            Self::Beginning(_) => Fsn::new(0),
            Self::Later(fsn) => fsn,
        }
    }

    /// Returns the payload protocol identifier, which only a message's first fragment carries.
    #[must_use]
    pub const fn ppid(self) -> Option<PayloadProtocolId> {
        match self {
            Self::Beginning(ppid) => Some(ppid),
            Self::Later(_) => None,
        }
    }
}
