//! I-DATA: a fragment of a message that others may interleave with (RFC 8260 §2.1).

use super::data::DataFlags;
use crate::codepoints::PayloadProtocolId;
use crate::cursor::{Cursor, Tlv};
use crate::error::Flaw;
use crate::numbers::{Fsn, Mid, StreamId, Tsn};

/// An I-DATA chunk. An empty payload decodes, as in [`Data`](super::Data).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IData<'a> {
    /// Its number in the association.
    pub tsn: Tsn,
    /// Its stream.
    pub stream: StreamId,
    /// Its message in the stream; ordered and unordered messages are counted apart.
    pub mid: Mid,
    /// What the message is, or which fragment of it this is.
    pub label: FragmentLabel,
    /// Place in the message and wishes of the sender; `beginning` agrees with `label`.
    pub flags: DataFlags,
    /// The user's octets.
    pub payload: &'a [u8],
    pub(super) raw: &'a [u8],
}

impl<'a> IData<'a> {
    /// Octets of an I-DATA chunk before its payload, chunk header included.
    pub const HEADER_BYTES: usize = 20;

    /// Octets an I-DATA chunk with this much payload takes in a packet, header and padding included.
    #[must_use]
    pub const fn chunk_bytes(payload_bytes: usize) -> usize {
        payload_bytes.saturating_add(Self::HEADER_BYTES + 3) / 4 * 4
    }

    #[inline]
    pub(super) fn decode(flags: u8, mut cursor: Cursor<'a>, tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let flags = DataFlags::from(flags);
        let tsn = Tsn::new(cursor.u32()?);
        let stream = StreamId::new(cursor.u16()?);
        let _reserved = cursor.u16()?;
        let mid = Mid::new(cursor.u32()?);
        let label = FragmentLabel::decode(flags, cursor.u32()?);
        Ok(Self { tsn, stream, mid, label, flags, payload: cursor.rest(), raw: tlv.raw })
    }

    /// Everything but the payload, as the writer takes it.
    #[must_use]
    pub const fn header(&self) -> IDataHeader {
        let Self { tsn, stream, mid, label, flags, .. } = *self;
        IDataHeader { tsn, stream, mid, label, flags }
    }
}

/// An I-DATA chunk without its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IDataHeader {
    /// Its number in the association.
    pub tsn: Tsn,
    /// Its stream.
    pub stream: StreamId,
    /// Its message in the stream.
    pub mid: Mid,
    /// What the message is, or which fragment of it this is.
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

    /// The number of the fragment in its message.
    #[must_use]
    pub const fn fsn(self) -> Fsn {
        match self {
            Self::Beginning(_) => Fsn::new(0),
            Self::Later(fsn) => fsn,
        }
    }

    /// What the message is; only its first fragment tells.
    #[must_use]
    pub const fn ppid(self) -> Option<PayloadProtocolId> {
        match self {
            Self::Beginning(ppid) => Some(ppid),
            Self::Later(_) => None,
        }
    }
}
