//! Chunks encoded ahead of the packet they will travel in.

use super::value::{self, Full, ValueWriter};
use crate::cause::Cause;
use crate::chunk::{InitHeader, TagOrigin};
use crate::codepoints::ChunkType;
use crate::numbers::Tsn;
use crate::parameter::Parameter;

/// An encoded control chunk that waits for a packet; [`PacketWriter::raw`](super::PacketWriter::raw) sends it.
///
/// Constructors whose content comes from outside fail with [`Full`] when the chunk would be longer than 65535
/// octets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkBuf {
    kind: ChunkType,
    octets: Vec<u8>,
}

impl ChunkBuf {
    /// Encodes a chunk of any type: `write_value` writes its value, header and padding are added around it.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is longer than 65535 octets.
    pub fn encode(
        kind: ChunkType,
        flags: u8,
        write_value: impl FnOnce(&mut ValueWriter<'_>),
    ) -> Result<Self, Full> {
        Self::encode_in(SHORT_BYTES, kind, flags, write_value)
    }

    /// Encodes a chunk as [`encode`](Self::encode) does, with room for `capacity` octets at first.
    fn encode_in(
        capacity: usize,
        kind: ChunkType,
        flags: u8,
        write_value: impl FnOnce(&mut ValueWriter<'_>),
    ) -> Result<Self, Full> {
        let mut octets = Vec::with_capacity(capacity);
        value::write_chunk(&mut octets, usize::MAX, kind, flags, write_value)?;
        Ok(Self { kind, octets })
    }

    /// Creates an INIT.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is longer than 65535 octets; so for all that follow.
    pub fn init(header: &InitHeader, parameters: &[Parameter<'_>]) -> Result<Self, Full> {
        Self::encode_in(INIT_BYTES, ChunkType::INIT, 0, |value| value.init(header, parameters))
    }

    /// Creates an INIT ACK.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn init_ack(header: &InitHeader, parameters: &[Parameter<'_>]) -> Result<Self, Full> {
        Self::encode_in(INIT_ACK_BYTES, ChunkType::INIT_ACK, 0, |value| value.init(header, parameters))
    }

    /// Creates a HEARTBEAT with this content.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn heartbeat(info: &[u8]) -> Result<Self, Full> {
        Self::encode(ChunkType::HEARTBEAT, 0, |value| value.parameter(&Parameter::HeartbeatInfo(info)))
    }

    /// Creates a HEARTBEAT ACK with the content of the HEARTBEAT.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn heartbeat_ack(info: &[u8]) -> Result<Self, Full> {
        Self::encode(ChunkType::HEARTBEAT_ACK, 0, |value| value.parameter(&Parameter::HeartbeatInfo(info)))
    }

    /// Creates an ABORT.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn abort(tag: TagOrigin, causes: &[Cause<'_>]) -> Result<Self, Full> {
        Self::encode(ChunkType::ABORT, tag.flags(), |value| value.causes(causes))
    }

    /// Creates an ERROR.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn error(causes: &[Cause<'_>]) -> Result<Self, Full> {
        Self::encode(ChunkType::ERROR, 0, |value| value.causes(causes))
    }

    /// Creates a COOKIE ECHO.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn cookie_echo(cookie: &[u8]) -> Result<Self, Full> {
        Self::encode_in(cookie.len() + 8, ChunkType::COOKIE_ECHO, 0, |value| value.bytes(cookie))
    }

    /// Creates a COOKIE ACK chunk.
    #[must_use]
    pub fn cookie_ack() -> Self {
        Self::bare(ChunkType::COOKIE_ACK, 0)
    }

    /// Creates a SHUTDOWN chunk.
    #[must_use]
    pub fn shutdown(cumulative: Tsn) -> Self {
        let [t0, t1, t2, t3] = cumulative.get().to_be_bytes();
        let kind = ChunkType::SHUTDOWN;
        Self { kind, octets: vec![kind.get(), 0, 0, 8, t0, t1, t2, t3] }
    }

    /// Creates a SHUTDOWN ACK chunk.
    #[must_use]
    pub fn shutdown_ack() -> Self {
        Self::bare(ChunkType::SHUTDOWN_ACK, 0)
    }

    /// Creates a SHUTDOWN COMPLETE.
    #[must_use]
    pub fn shutdown_complete(tag: TagOrigin) -> Self {
        Self::bare(ChunkType::SHUTDOWN_COMPLETE, tag.flags())
    }

    fn bare(kind: ChunkType, flags: u8) -> Self {
        Self { kind, octets: vec![kind.get(), flags, 0, 4] }
    }

    /// Returns the chunk as it travels, header and padding included; a multiple of 4 octets.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.octets
    }

    /// Returns the chunk's type.
    #[must_use]
    pub const fn kind(&self) -> ChunkType {
        self.kind
    }

    /// Returns the number of octets it takes in a packet.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a chunk is never empty")]
    pub const fn len(&self) -> usize {
        self.octets.len()
    }
}

/// Octets of most control chunks.
const SHORT_BYTES: usize = 32;
/// The octets of an INIT with the usual parameters.
const INIT_BYTES: usize = 128;
/// The octets of an INIT ACK, which has a cookie beside the usual parameters.
const INIT_ACK_BYTES: usize = 320;

/// Encodes parameters one after the other, each but the last padded: the content of causes 8 and 11 and of the
/// Unrecognized Parameter.
///
/// # Errors
///
/// [`Full`] if they are longer than any chunk.
pub fn encode_parameters(parameters: &[Parameter<'_>]) -> Result<Vec<u8>, Full> {
    value::encode_list(|list| list.parameters(parameters))
}

/// Encodes error causes one after the other, each but the last padded.
///
/// # Errors
///
/// [`Full`] if they are longer than any chunk.
pub fn encode_causes(causes: &[Cause<'_>]) -> Result<Vec<u8>, Full> {
    value::encode_list(|list| list.causes(causes))
}
