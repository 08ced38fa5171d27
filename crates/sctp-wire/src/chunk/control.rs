//! The small control chunks (RFC 9260 §3.3.5 to §3.3.13), PAD, and chunks of unknown type.

use crate::cause::Causes;
use crate::codepoints::{ChunkType, ParameterType, UnknownAction};
use crate::cursor::{Cursor, Tlv};
use crate::error::{Flaw, Layer};
use crate::numbers::Tsn;

/// The content of HEARTBEAT and HEARTBEAT ACK: understood by the HEARTBEAT's sender alone.
///
/// What a chunk holds behind it is of no concern to its receiver, which sends it back all the same (RFC 9260 §8.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeartbeatInfo<'a> {
    /// The value of the Heartbeat Info parameter, which comes first (RFC 9260 §3.3.5).
    pub info: &'a [u8],
    /// The value of the whole chunk: the parameter with its header, and everything behind it.
    pub value: &'a [u8],
}

impl<'a> HeartbeatInfo<'a> {
    pub(super) fn decode(mut cursor: Cursor<'a>) -> Result<Self, Flaw> {
        let value = cursor.rest();
        let Some(Ok(info)) = cursor.tlv(Layer::Parameter) else {
            return Err(Flaw::NoHeartbeatInfo);
        };
        if info.head != ParameterType::HEARTBEAT_INFO.to_wire() {
            return Err(Flaw::NoHeartbeatInfo);
        }
        Ok(Self { info: info.value, value })
    }
}

/// A state cookie on its way back; opaque to all but its maker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cookie<'a>(pub &'a [u8]);

/// An ABORT chunk: the end of an association at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abort<'a> {
    /// The side whose verification tag the packet carries.
    pub tag: TagOrigin,
    /// The reasons for the ABORT; may be empty.
    pub causes: Causes<'a>,
}

impl<'a> Abort<'a> {
    pub(super) const fn decode(flags: u8, cursor: Cursor<'a>) -> Self {
        Self { tag: TagOrigin::from_flags(flags), causes: Causes::from_cursor(cursor) }
    }
}

/// The side whose verification tag a packet with ABORT or SHUTDOWN COMPLETE carries: the T bit (RFC 9260
/// §8.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagOrigin {
    /// T = 0: the tag the receiver of the packet chose, as always.
    Receiver,
    /// T = 1: the tag of the packet that is answered, reflected, because its receiver has no association.
    Reflected,
}

impl TagOrigin {
    const T: u8 = 0x01;

    pub(crate) const fn from_flags(flags: u8) -> Self {
        if flags & Self::T == 0 { Self::Receiver } else { Self::Reflected }
    }

    pub(crate) const fn flags(self) -> u8 {
        match self {
            Self::Receiver => 0,
            Self::Reflected => Self::T,
        }
    }
}

/// A SHUTDOWN chunk: its sender has no more data to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shutdown {
    /// Everything up to this TSN has arrived.
    pub cumulative_tsn_ack: Tsn,
}

impl Shutdown {
    pub(super) fn decode(mut cursor: Cursor<'_>) -> Result<Self, Flaw> {
        let cumulative_tsn_ack = Tsn::new(cursor.u32()?);
        cursor.finish()?;
        Ok(Self { cumulative_tsn_ack })
    }
}

/// A PAD chunk: fills a packet up and means nothing (RFC 4820 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pad<'a> {
    /// The octets that fill up the packet.
    pub padding: &'a [u8],
    pub(super) raw: &'a [u8],
}

impl<'a> Pad<'a> {
    pub(super) const fn decode(tlv: Tlv<'a>) -> Self {
        Self { padding: tlv.value, raw: tlv.raw }
    }
}

/// A chunk this crate does not decode, or that its receiver does not speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownChunk<'a> {
    /// The type that is not known.
    pub kind: ChunkType,
    /// The flags of the chunk header.
    pub flags: u8,
    /// The value of the chunk, without padding.
    pub value: &'a [u8],
    /// The whole chunk as received, without padding: what cause 6 reports.
    pub raw: &'a [u8],
}

impl<'a> UnknownChunk<'a> {
    pub(crate) const fn of(tlv: Tlv<'a>) -> Self {
        let [kind, flags] = tlv.head;
        Self { kind: ChunkType::new(kind), flags, value: tlv.value, raw: tlv.raw }
    }

    /// Creates the chunk of these octets, whose length is known to be right.
    pub(super) fn of_raw(raw: &'a [u8]) -> Option<Self> {
        let ([kind, flags, _, _], value) = raw.split_first_chunk()?;
        Some(Self { kind: ChunkType::new(*kind), flags: *flags, value, raw })
    }

    /// Returns what a receiver does with it, by the two top bits of its type.
    #[must_use]
    pub const fn action(&self) -> UnknownAction {
        self.kind.unknown_action()
    }
}
