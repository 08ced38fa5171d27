//! The reason why octets are not an SCTP packet: what was wrong, and where.

use core::fmt;

use crate::codepoints::{CauseCode, ChunkType, ParameterType};

/// The reason why octets could not be decoded.
///
/// Offsets count octets from the start of the packet; for parameters and causes that were not taken from a
/// packet, from the start of what was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Shorter than the common header.
    #[error("packet of {length} octets: the common header alone takes 12")]
    ShortPacket {
        /// The number of octets received.
        length: usize,
    },
    /// A port is 0 (RFC 9260 §3.1).
    #[error("port 0 at offset {offset}")]
    ZeroPort {
        /// 0 for the source port, 2 for the destination port.
        offset: usize,
    },
    /// The checksum does not fit the packet (RFC 9260 §6.8).
    #[error("checksum is {found:#010x}, the packet's is {expected:#010x}")]
    Checksum {
        /// The CRC32c of the packet received.
        expected: u32,
        /// The checksum the packet carried.
        found: u32,
    },
    /// The type and length of a chunk, parameter or cause do not fit into what is left. Ends the walk.
    #[error("{available} octets at offset {offset} are no {layer} header")]
    Header {
        /// The list whose next item was expected.
        layer: Layer,
        /// The offset in the packet, in octets.
        offset: usize,
        /// The number of octets left.
        available: usize,
    },
    /// A length field is below 4 or goes beyond the end. Ends the walk.
    #[error("{item} at offset {offset} says it has {length} octets, {available} are left")]
    Length {
        /// The item that has the length.
        item: Item,
        /// The offset of the item in the packet, in octets.
        offset: usize,
        /// The value of its length field.
        length: u16,
        /// Octets left, its header included.
        available: usize,
    },
    /// The length is sound but the content is not. The walk goes on after it.
    #[error("{item} at offset {offset}: {flaw}")]
    Body {
        /// The item that is malformed.
        item: Item,
        /// The offset of the item in the packet, in octets.
        offset: usize,
        /// The way in which it is malformed.
        flaw: Flaw,
    },
}

impl DecodeError {
    /// Returns whether what follows cannot be found any more, so that the packet (or list) ends here.
    #[must_use]
    pub const fn ends_walk(&self) -> bool {
        !matches!(self, Self::Body { .. })
    }
}

/// One of the three nested lists of type, length and value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Layer {
    /// The list of chunks in a packet.
    Chunk,
    /// The parameters of a chunk.
    Parameter,
    /// Error causes of an ABORT or ERROR.
    Cause,
}

impl Layer {
    /// Returns the item whose header starts with these two octets.
    pub(crate) const fn item(self, head: [u8; 2]) -> Item {
        match self {
            Self::Chunk => Item::Chunk(ChunkType::new(head[0])),
            Self::Parameter => Item::Parameter(ParameterType::new(u16::from_be_bytes(head))),
            Self::Cause => Item::Cause(CauseCode::new(u16::from_be_bytes(head))),
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chunk => "chunk",
            Self::Parameter => "parameter",
            Self::Cause => "error cause",
        })
    }
}

/// The item of a packet that a [`DecodeError`] is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// A chunk, named by its type.
    Chunk(ChunkType),
    /// A parameter, with its type.
    Parameter(ParameterType),
    /// An error cause, with its code.
    Cause(CauseCode),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk(kind) => kind.fmt(f),
            Self::Parameter(kind) => kind.fmt(f),
            Self::Cause(code) => code.fmt(f),
        }
    }
}

/// How a well delimited chunk, parameter or cause is malformed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Flaw {
    /// A field goes beyond the end.
    #[error("a field needs {needed} octets, {available} are left")]
    TooShort {
        /// The length of the field, in octets.
        needed: usize,
        /// The number of octets left for it.
        available: usize,
    },
    /// Octets are left that belong to no field.
    #[error("{octets} octets too many")]
    TooLong {
        /// The number of octets too many.
        octets: usize,
    },
    /// A HEARTBEAT does not hold one Heartbeat Info parameter.
    #[error("no Heartbeat Info parameter in it")]
    NoHeartbeatInfo,
    /// An ASCONF, or one of its requests, has no IPv4 or IPv6 address where it needs one.
    #[error("no IPv4 or IPv6 address parameter in it")]
    NoAddress,
    /// A list of 16-bit numbers has an odd number of octets.
    #[error("a list of 16-bit numbers takes {octets} octets")]
    OddList {
        /// The length of the list, in octets.
        octets: usize,
    },
}
