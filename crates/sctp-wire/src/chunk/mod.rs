//! The chunks of RFC 9260 and of its extensions as typed values; each layout has its own file.

mod asconf;
mod auth;
mod control;
mod data;
mod display;
mod forward_tsn;
mod i_data;
mod init;
mod reconfig;
mod sack;

pub use asconf::{Asconf, AsconfAck};
pub use auth::{Auth, HmacAlgorithm};
pub use control::{Abort, Cookie, HeartbeatInfo, Pad, Shutdown, TagOrigin, UnknownChunk};
pub use data::{Data, DataFlags, DataHeader};
pub use forward_tsn::{ForwardTsn, IForwardTsn, SkippedMid, SkippedSsn};
pub use i_data::{FragmentLabel, IData, IDataHeader};
pub use init::{Init, InitHeader};
pub use reconfig::{ReConfig, ReconfigCombination};
pub use sack::{GapAckBlock, Sack};

use crate::cause::Causes;
use crate::codepoints::ChunkType;
use crate::cursor::{Cursor, Tlv};
use crate::error::Flaw;

/// Octets of the chunk header: type, flags, length (RFC 9260 §3.2).
pub const CHUNK_HEADER_BYTES: usize = 4;

/// One chunk, borrowed from its packet.
///
/// Decoding checks structure only. Whether a value is allowed (an initiate tag of 0, a window below 1500,
/// DATA without data) is for the association to judge, which also knows what to answer. A chunk of an extension
/// that the association does not speak is to it an unknown one: [`as_unknown`](Self::as_unknown).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunk<'a> {
    /// A message, or a fragment of one.
    Data(Data<'a>),
    /// INIT asks for an association.
    Init(Init<'a>),
    /// Grants it, with a state cookie.
    InitAck(Init<'a>),
    /// Tells which TSNs have arrived.
    Sack(Sack<'a>),
    /// HEARTBEAT probes a path; the peer answers it.
    Heartbeat(HeartbeatInfo<'a>),
    /// Answers the probe with its own content.
    HeartbeatAck(HeartbeatInfo<'a>),
    /// Ends the association at once.
    Abort(Abort<'a>),
    /// Says that its sender has nothing more to send.
    Shutdown(Shutdown),
    /// Answers SHUTDOWN when everything is acknowledged.
    ShutdownAck,
    /// Reports what went wrong, without ending the association.
    Error(Causes<'a>),
    /// Brings the state cookie back.
    CookieEcho(Cookie<'a>),
    /// Confirms that the association is established.
    CookieAck,
    /// SHUTDOWN COMPLETE ends the shutdown.
    ShutdownComplete(TagOrigin),
    /// Authenticates the chunks behind it (RFC 4895).
    Auth(Auth<'a>),
    /// A message, or a fragment of one, that others may interleave with (RFC 8260).
    IData(IData<'a>),
    /// Tells which messages are not sent any more (RFC 3758).
    ForwardTsn(ForwardTsn<'a>),
    /// I-FORWARD-TSN gives up messages where I-DATA is spoken (RFC 8260).
    IForwardTsn(IForwardTsn<'a>),
    /// Asks for changes of addresses (RFC 5061).
    Asconf(Asconf<'a>),
    /// ASCONF-ACK answers an ASCONF (RFC 5061).
    AsconfAck(AsconfAck<'a>),
    /// Asks for changes of streams, or answers (RFC 6525).
    ReConfig(ReConfig<'a>),
    /// Fills the packet up (RFC 4820).
    Pad(Pad<'a>),
    /// A type this crate does not decode.
    Unknown(UnknownChunk<'a>),
}

impl<'a> Chunk<'a> {
    #[inline]
    pub(crate) fn decode(tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let [kind, flags] = tlv.head;
        let kind = ChunkType::new(kind);
        let cursor = Cursor::new(tlv.value, tlv.offset + CHUNK_HEADER_BYTES);
        Ok(match kind {
            ChunkType::DATA => Self::Data(Data::decode(flags, cursor)?),
            ChunkType::INIT => Self::Init(Init::decode(cursor)?),
            ChunkType::INIT_ACK => Self::InitAck(Init::decode(cursor)?),
            ChunkType::SACK => Self::Sack(Sack::decode(cursor)?),
            ChunkType::HEARTBEAT => Self::Heartbeat(HeartbeatInfo::decode(cursor)?),
            ChunkType::HEARTBEAT_ACK => Self::HeartbeatAck(HeartbeatInfo::decode(cursor)?),
            ChunkType::ABORT => Self::Abort(Abort::decode(flags, cursor)),
            ChunkType::SHUTDOWN => Self::Shutdown(Shutdown::decode(cursor)?),
            ChunkType::SHUTDOWN_ACK => cursor.finish().map(|()| Self::ShutdownAck)?,
            ChunkType::ERROR => Self::Error(Causes::from_cursor(cursor)),
            ChunkType::COOKIE_ECHO => Self::CookieEcho(Cookie(tlv.value)),
            ChunkType::COOKIE_ACK => cursor.finish().map(|()| Self::CookieAck)?,
            ChunkType::SHUTDOWN_COMPLETE => {
                cursor.finish().map(|()| Self::ShutdownComplete(TagOrigin::from_flags(flags)))?
            }
            ChunkType::AUTH => Self::Auth(Auth::decode(cursor, tlv)?),
            ChunkType::I_DATA => Self::IData(IData::decode(flags, tlv)?),
            ChunkType::FORWARD_TSN => Self::ForwardTsn(ForwardTsn::decode(cursor, tlv)?),
            ChunkType::I_FORWARD_TSN => Self::IForwardTsn(IForwardTsn::decode(cursor, tlv)?),
            ChunkType::ASCONF => Self::Asconf(Asconf::decode(cursor, tlv)?),
            ChunkType::ASCONF_ACK => Self::AsconfAck(AsconfAck::decode(cursor, tlv)?),
            ChunkType::RE_CONFIG => Self::ReConfig(ReConfig::decode(cursor, tlv)),
            ChunkType::PAD => Self::Pad(Pad::decode(tlv)),
            _ => Self::Unknown(UnknownChunk::of(tlv)),
        })
    }

    /// Returns the chunk's type.
    #[must_use]
    pub const fn kind(&self) -> ChunkType {
        match self {
            Self::Data(_) => ChunkType::DATA,
            Self::Init(_) => ChunkType::INIT,
            Self::InitAck(_) => ChunkType::INIT_ACK,
            Self::Sack(_) => ChunkType::SACK,
            Self::Heartbeat(_) => ChunkType::HEARTBEAT,
            Self::HeartbeatAck(_) => ChunkType::HEARTBEAT_ACK,
            Self::Abort(_) => ChunkType::ABORT,
            Self::Shutdown(_) => ChunkType::SHUTDOWN,
            Self::ShutdownAck => ChunkType::SHUTDOWN_ACK,
            Self::Error(_) => ChunkType::ERROR,
            Self::CookieEcho(_) => ChunkType::COOKIE_ECHO,
            Self::CookieAck => ChunkType::COOKIE_ACK,
            Self::ShutdownComplete(_) => ChunkType::SHUTDOWN_COMPLETE,
            Self::Auth(_) => ChunkType::AUTH,
            Self::IData(_) => ChunkType::I_DATA,
            Self::ForwardTsn(_) => ChunkType::FORWARD_TSN,
            Self::IForwardTsn(_) => ChunkType::I_FORWARD_TSN,
            Self::Asconf(_) => ChunkType::ASCONF,
            Self::AsconfAck(_) => ChunkType::ASCONF_ACK,
            Self::ReConfig(_) => ChunkType::RE_CONFIG,
            Self::Pad(_) => ChunkType::PAD,
            Self::Unknown(unknown) => unknown.kind,
        }
    }

    /// Returns the side whose verification tag its packet carries, as the T bit of ABORT and SHUTDOWN COMPLETE
    /// says (RFC 9260 §8.5.1).
    #[must_use]
    pub const fn tag_origin(&self) -> TagOrigin {
        if let Self::Abort(Abort { tag: origin, .. }) | Self::ShutdownComplete(origin) = self {
            *origin
        } else {
            TagOrigin::Receiver
        }
    }

    /// Returns what the chunk is to a receiver that speaks RFC 9260 alone; `None` for the chunks of RFC 9260.
    #[must_use]
    pub fn as_unknown(&self) -> Option<UnknownChunk<'a>> {
        match self {
            Self::Auth(Auth { raw, .. })
            | Self::IData(IData { raw, .. })
            | Self::ForwardTsn(ForwardTsn { raw, .. })
            | Self::IForwardTsn(IForwardTsn { raw, .. })
            | Self::Asconf(Asconf { raw, .. })
            | Self::AsconfAck(AsconfAck { raw, .. })
            | Self::ReConfig(ReConfig { raw, .. })
            | Self::Pad(Pad { raw, .. }) => UnknownChunk::of_raw(raw),
            Self::Unknown(unknown) => Some(*unknown),
            Self::Data(_)
            | Self::Init(_)
            | Self::InitAck(_)
            | Self::Sack(_)
            | Self::Heartbeat(_)
            | Self::HeartbeatAck(_)
            | Self::Abort(_)
            | Self::Shutdown(_)
            | Self::ShutdownAck
            | Self::Error(_)
            | Self::CookieEcho(_)
            | Self::CookieAck
            | Self::ShutdownComplete(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
