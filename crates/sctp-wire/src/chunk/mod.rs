//! The chunks of RFC 9260 as typed values; each layout has its own file.

mod control;
mod data;
mod display;
mod init;
mod sack;

pub use control::{Abort, Cookie, HeartbeatInfo, Shutdown, TagOrigin, UnknownChunk};
pub use data::{Data, DataFlags, DataHeader};
pub use init::{Init, InitHeader};
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
/// DATA without data) is for the association to judge, which also knows what to answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunk<'a> {
    /// A message, or a fragment of one.
    Data(Data<'a>),
    /// Asks for an association.
    Init(Init<'a>),
    /// Grants it, with a state cookie.
    InitAck(Init<'a>),
    /// Tells which TSNs have arrived.
    Sack(Sack<'a>),
    /// Probes a path.
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
    /// Ends the shutdown.
    ShutdownComplete(TagOrigin),
    /// A type this crate does not decode, extensions included.
    Unknown(UnknownChunk<'a>),
}

impl<'a> Chunk<'a> {
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
            _ => Self::Unknown(UnknownChunk { kind, flags, value: tlv.value, raw: tlv.raw }),
        })
    }

    /// The chunk's type.
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
            Self::Unknown(unknown) => unknown.kind,
        }
    }
}

#[cfg(test)]
mod tests;
