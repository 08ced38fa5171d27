//! Building packets straight into the caller's buffer: every octet is written once.

mod chunk_buf;
mod extension;
mod value;

pub use chunk_buf::{ChunkBuf, encode_causes, encode_parameters};
pub use extension::AuthPolicy;
pub use value::{Full, ValueWriter};

use crate::cause::Cause;
use crate::checksum;
use crate::chunk::{DataHeader, GapAckBlock, InitHeader, TagOrigin};
use crate::codepoints::ChunkType;
use crate::numbers::{SctpPort, Tsn, VerificationTag};
use crate::packet::COMMON_HEADER_BYTES;
use crate::parameter::Parameter;

/// Writes one packet at the end of a buffer.
///
/// Begin, add chunks while they fit, [`finish`](Self::finish). A chunk that does not fit leaves the packet
/// as it was. Dropped unfinished, the writer takes the packet back out of the buffer. Packets written one
/// after the other stand without a gap, as segmentation offload wants them. Which chunks may stand together
/// and in what order (RFC 9260 §6.10) is the caller's business.
#[derive(Debug)]
pub struct PacketWriter<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
    limit: usize,
    authentication: Option<AuthPolicy>,
    open_auth: Option<extension::OpenAuth>,
    finished: bool,
}

impl<'b> PacketWriter<'b> {
    /// Starts a packet of at most `max_bytes` octets at the end of `buffer`.
    ///
    /// Packets have a multiple of 4 octets, so `max_bytes` counts rounded down. The common header is always
    /// written, even if `max_bytes` is below its 12 octets; no chunk fits then.
    #[must_use]
    pub fn begin(
        buffer: &'b mut Vec<u8>,
        source_port: SctpPort,
        destination_port: SctpPort,
        tag: VerificationTag,
        max_bytes: usize,
    ) -> Self {
        let start = buffer.len();
        let ([s0, s1], [d0, d1]) = (source_port.get().to_be_bytes(), destination_port.get().to_be_bytes());
        let [t0, t1, t2, t3] = tag.get().to_be_bytes();
        buffer.extend_from_slice(&[s0, s1, d0, d1, t0, t1, t2, t3, 0, 0, 0, 0]);
        let limit = start.saturating_add(max_bytes - max_bytes % 4);
        Self { buffer, start, limit, authentication: None, open_auth: None, finished: false }
    }

    /// Returns the number of octets left for chunks, their headers and padding included; a multiple of 4. The
    /// AUTH chunk that DATA or I-DATA still needs in front of it is taken off.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.buffer.len() + self.auth_owed_to_data())
    }

    /// Returns whether no chunk has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == COMMON_HEADER_BYTES
    }

    /// Returns the number of octets of the packet so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Appends a chunk whose value `write_value` writes; header and padding are added around it.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit.
    pub fn chunk(
        &mut self,
        kind: ChunkType,
        flags: u8,
        write_value: impl FnOnce(&mut ValueWriter<'_>),
    ) -> Result<(), Full> {
        let before = self.open_auth_for(kind)?;
        let written = value::write_chunk(self.buffer, self.limit, kind, flags, write_value);
        written.inspect_err(|_full| self.take_back(before))
    }

    /// Appends a DATA chunk. An empty payload is written as it is, though no receiver accepts it.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit.
    #[inline(always)]
    pub fn data(&mut self, header: &DataHeader, payload: &[u8]) -> Result<(), Full> {
        let [t0, t1, t2, t3] = header.tsn.get().to_be_bytes();
        let [s0, s1] = header.stream.get().to_be_bytes();
        let [n0, n1] = header.ssn.get().to_be_bytes();
        let [p0, p1, p2, p3] = header.ppid.get().to_be_bytes();
        let fields = [t0, t1, t2, t3, s0, s1, n0, n1, p0, p1, p2, p3];
        self.fixed_chunk::<12, 16>(ChunkType::DATA, header.flags.bits(), fields, payload)
    }

    /// Appends a chunk of `FIELDS` octets, `HEADER` with those of the chunk header, and of the user's behind them.
    #[inline(always)]
    pub(super) fn fixed_chunk<const FIELDS: usize, const HEADER: usize>(
        &mut self,
        kind: ChunkType,
        flags: u8,
        fields: [u8; FIELDS],
        payload: &[u8],
    ) -> Result<(), Full> {
        let before = self.open_auth_for(kind)?;
        let octets = HEADER + payload.len();
        let room = self.limit.saturating_sub(self.buffer.len());
        let length = u16::try_from(octets).ok().filter(|_| octets <= room);
        let Some(length) = length else {
            self.take_back(before);
            return Err(Full);
        };
        let [l0, l1] = length.to_be_bytes();
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&[kind.get(), flags, l0, l1]);
        header[4..].copy_from_slice(&fields);
        self.buffer.extend_from_slice(&header);
        self.buffer.extend_from_slice(payload);
        let padding = octets.wrapping_neg() % 4;
        if padding > 0 {
            self.buffer.extend_from_slice(&[0; 3][..padding]);
        }
        Ok(())
    }

    /// Appends a SACK without gap ack blocks and duplicates, as [`sack`](Self::sack) does when there are none.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit.
    #[inline]
    pub fn cumulative_sack(&mut self, cumulative: Tsn, a_rwnd: u32) -> Result<(), Full> {
        let [t0, t1, t2, t3] = cumulative.get().to_be_bytes();
        let [w0, w1, w2, w3] = a_rwnd.to_be_bytes();
        let fields = [t0, t1, t2, t3, w0, w1, w2, w3, 0, 0, 0, 0];
        self.fixed_chunk::<12, 16>(ChunkType::SACK, 0, fields, &[])
    }

    /// Appends a SACK with as many gap ack blocks and then duplicates as fit (RFC 9260 §6.2).
    ///
    /// # Errors
    ///
    /// [`Full`] if not even the 16 octets without both fit.
    pub fn sack(
        &mut self,
        cumulative: Tsn,
        a_rwnd: u32,
        gaps: impl IntoIterator<Item = GapAckBlock>,
        duplicates: impl IntoIterator<Item = Tsn>,
    ) -> Result<(), Full> {
        self.chunk(ChunkType::SACK, 0, |value| {
            let fixed = value.placeholder::<12>();
            let gap_count = value.groups(gaps.into_iter().map(|block| {
                let [s0, s1] = block.start.to_be_bytes();
                let [e0, e1] = block.end.to_be_bytes();
                [s0, s1, e0, e1]
            }));
            let duplicate_count = value.groups(duplicates.into_iter().map(|tsn| tsn.get().to_be_bytes()));
            let [t0, t1, t2, t3] = cumulative.get().to_be_bytes();
            let [w0, w1, w2, w3] = a_rwnd.to_be_bytes();
            let [g0, g1] = gap_count.to_be_bytes();
            let [d0, d1] = duplicate_count.to_be_bytes();
            value.fill(fixed, [t0, t1, t2, t3, w0, w1, w2, w3, g0, g1, d0, d1]);
        })
    }

    /// Appends a chunk that was encoded before.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit.
    pub fn raw(&mut self, chunk: &ChunkBuf) -> Result<(), Full> {
        let before = self.open_auth_for(chunk.kind())?;
        let octets = chunk.as_bytes();
        if octets.len() > self.limit.saturating_sub(self.buffer.len()) {
            self.take_back(before);
            return Err(Full);
        }
        self.buffer.extend_from_slice(octets);
        Ok(())
    }

    /// Appends an INIT.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit; so for all that follow.
    pub fn init(&mut self, header: &InitHeader, parameters: &[Parameter<'_>]) -> Result<(), Full> {
        self.chunk(ChunkType::INIT, 0, |value| value.init(header, parameters))
    }

    /// Appends an INIT ACK.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn init_ack(&mut self, header: &InitHeader, parameters: &[Parameter<'_>]) -> Result<(), Full> {
        self.chunk(ChunkType::INIT_ACK, 0, |value| value.init(header, parameters))
    }

    /// Appends a HEARTBEAT with this content.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn heartbeat(&mut self, info: &[u8]) -> Result<(), Full> {
        self.chunk(ChunkType::HEARTBEAT, 0, |value| value.parameter(&Parameter::HeartbeatInfo(info)))
    }

    /// Appends a HEARTBEAT ACK with the content of the HEARTBEAT.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn heartbeat_ack(&mut self, info: &[u8]) -> Result<(), Full> {
        self.chunk(ChunkType::HEARTBEAT_ACK, 0, |value| value.parameter(&Parameter::HeartbeatInfo(info)))
    }

    /// Appends an ABORT.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn abort(&mut self, tag: TagOrigin, causes: &[Cause<'_>]) -> Result<(), Full> {
        self.chunk(ChunkType::ABORT, tag.flags(), |value| value.causes(causes))
    }

    /// Appends an ERROR.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn error(&mut self, causes: &[Cause<'_>]) -> Result<(), Full> {
        self.chunk(ChunkType::ERROR, 0, |value| value.causes(causes))
    }

    /// Appends a COOKIE ECHO.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn cookie_echo(&mut self, cookie: &[u8]) -> Result<(), Full> {
        self.chunk(ChunkType::COOKIE_ECHO, 0, |value| value.bytes(cookie))
    }

    /// Appends a COOKIE ACK.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn cookie_ack(&mut self) -> Result<(), Full> {
        self.chunk(ChunkType::COOKIE_ACK, 0, |_| {})
    }

    /// Appends a SHUTDOWN.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn shutdown(&mut self, cumulative: Tsn) -> Result<(), Full> {
        self.chunk(ChunkType::SHUTDOWN, 0, |value| value.u32(cumulative.get()))
    }

    /// Appends a SHUTDOWN ACK.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn shutdown_ack(&mut self) -> Result<(), Full> {
        self.chunk(ChunkType::SHUTDOWN_ACK, 0, |_| {})
    }

    /// Appends a SHUTDOWN COMPLETE.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn shutdown_complete(&mut self, tag: TagOrigin) -> Result<(), Full> {
        self.chunk(ChunkType::SHUTDOWN_COMPLETE, tag.flags(), |_| {})
    }

    /// Writes the checksum and leaves the packet in the buffer; returns its octets.
    ///
    /// An AUTH chunk keeps an HMAC of zero here and convinces nobody: a packet that has one ends with
    /// [`finish_authenticated`](Self::finish_authenticated).
    #[must_use = "the length says where the packet ends"]
    pub fn finish(mut self) -> usize {
        let packet = &mut self.buffer[self.start..];
        let checksum = checksum::of_zeroed(packet);
        packet[8..COMMON_HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        self.finished = true;
        self.len()
    }

    /// Leaves the packet in the buffer with a checksum of zero, for a peer that accepts it (RFC 9653);
    /// returns its octets.
    #[must_use = "the length says where the packet ends"]
    pub fn finish_with_zero_checksum(mut self) -> usize {
        self.finished = true;
        self.len()
    }
}

impl Drop for PacketWriter<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.buffer.truncate(self.start);
        }
    }
}

#[cfg(test)]
mod tests;
