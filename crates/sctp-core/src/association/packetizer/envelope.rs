//! What the packets of a run have in common, and how a packet is closed.

use std::net::IpAddr;

use sctp_wire::{AuthPolicy, COMMON_HEADER_BYTES, ChunkType, PacketWriter, SctpPort, VerificationTag};

use crate::association::{Capability, Outbound, Session};
use crate::transmit::{Encapsulation, Fragmentation, PathIndex, Transmit};

/// The part that packets share which go to the same place on the same occasion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    pub(super) path: PathIndex,
    pub(super) tag: VerificationTag,
    /// Ours and the peer's.
    ports: (SctpPort, SctpPort),
    /// Octets at most.
    limit: usize,
    policy: Option<AuthPolicy>,
    fragmentation: Fragmentation,
    coverage: ErrorDetection,
}

impl Envelope {
    /// Returns what all packets of a run have in common; `None` while the peer's tag is unknown.
    pub(super) fn of(path: PathIndex, session: &Session, outbound: &Outbound) -> Option<Self> {
        let tag = outbound.control.front().map(|control| control.tag).or(session.peer.peer_tag)?;
        let entry = outbound.paths.path(path);
        let carried = entry.packet_bytes();
        let limit = packet_limit(carried, outbound);
        let fits = limit <= carried;
        let fragmentation =
            if entry.mtu.is_searching() && fits { Fragmentation::Forbidden } else { Fragmentation::Allowed };
        Some(Self {
            path,
            tag,
            ports: (session.peer.local_port, session.peer.peer_port),
            limit,
            policy: session.signing(),
            fragmentation,
            coverage: next_checksum(path, tag, session, outbound),
        })
    }

    /// Returns the envelope of a packet of its own with this limit, which is not to be fragmented.
    pub(super) fn of_probe(path: PathIndex, tag: VerificationTag, limit: usize, session: &Session) -> Self {
        Self {
            path,
            tag,
            ports: (session.peer.local_port, session.peer.peer_port),
            limit,
            policy: session.signing(),
            fragmentation: Fragmentation::Forbidden,
            coverage: ErrorDetection::Checksum,
        }
    }

    /// Begins a packet.
    pub(super) fn open<'b>(&self, buffer: &'b mut Vec<u8>) -> PacketWriter<'b> {
        let mut writer = PacketWriter::begin(buffer, self.ports.0, self.ports.1, self.tag, self.limit);
        if let Some(policy) = self.policy {
            writer.authenticate(policy);
        }
        writer
    }

    /// Counts a packet, closes it, and says where it goes; `only_source` is where it is sent from for want of an address that the
    /// peer knows.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        mut writer: PacketWriter<'_>,
        session: &mut Session,
        outbound: &mut Outbound,
        only_source: Option<IpAddr>,
    ) -> Transmit {
        if self.policy.is_some() {
            sign(&mut writer, session);
        }
        let path = outbound.paths.path_mut(self.path);
        path.counters.packets_sent += 1;
        let len = match self.coverage {
            ErrorDetection::Checksum => writer.finish(),
            ErrorDetection::LayerBelow => {
                path.counters.note().zero_checksums_sent += 1;
                writer.finish_with_zero_checksum()
            }
        };
        Transmit {
            path: path.id(),
            source: path.source.address().or(only_source),
            destination: path.destination,
            len,
            fragmentation: self.fragmentation,
            dscp: path.dscp(session.config.transmission.dscp),
            segment_bytes: None,
        }
    }
}

/// Fills in the HMAC of a packet.
#[inline(never)]
fn sign(writer: &mut PacketWriter<'_>, session: &mut Session) {
    writer.sign(|octets, hmac| session.sign(octets, hmac));
}

/// The protection of a packet from errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorDetection {
    /// CRC32c (RFC 9260 §6.8).
    Checksum,
    /// The channel; the checksum is zero (RFC 9653).
    LayerBelow,
}

/// Returns whether the next packet may leave its checksum to the layer below (RFC 9653): the peer accepts
/// that, this is its channel, and none of the chunks is one that has to be protected whatever is agreed.
fn next_checksum(
    path: PathIndex,
    tag: VerificationTag,
    session: &Session,
    outbound: &Outbound,
) -> ErrorDetection {
    let is_channel = outbound.paths.path(path).destination.encapsulation == Encapsulation::Datagrams;
    let is_agreed = session.peer.agreed.capabilities.has(Capability::ZeroChecksum);
    let is_of_peer = Some(tag) == session.peer.peer_tag;
    if is_channel && is_agreed && is_of_peer && !outbound.control.kinds().any(needs_checksum) {
        ErrorDetection::LayerBelow
    } else {
        ErrorDetection::Checksum
    }
}

/// Returns the number of octets of the next packet at most, on a path that carries so many. A chunk to be sent again that the
/// path no longer carries in one packet goes alone and is left to IP to fragment (RFC 9260 §6.9).
fn packet_limit(carried: usize, outbound: &Outbound) -> usize {
    let longest = if outbound.control.is_empty() { outbound.sender.first_lost_bytes() } else { 0 };
    carried.max(COMMON_HEADER_BYTES + longest)
}

/// Returns whether a chunk is never sent without a checksum: it may reach a peer that has not agreed, or has
/// forgotten.
fn needs_checksum(kind: ChunkType) -> bool {
    matches!(kind, ChunkType::INIT | ChunkType::COOKIE_ECHO | ChunkType::ASCONF)
}
