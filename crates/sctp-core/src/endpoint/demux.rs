//! Which association a packet belongs to.
//!
//! By verification tag first: ours are unique in the endpoint, so a right tag is an exact answer. By peer address
//! and port where the tag cannot tell: INIT, reflected tags (RFC 9260 §8.5.1).

use std::collections::BTreeMap;
use std::net::IpAddr;

use sctp_wire::{Chunk, Packet, SctpPort, TagOrigin, VerificationTag};

use super::Endpoint;
use crate::association::Association;
use crate::transmit::{Datagram, PathId};

/// The lookup tables. Ordered maps: no hash to flood, no order that changes from run to run.
#[derive(Default)]
pub(super) struct Demux {
    by_tag: BTreeMap<u32, usize>,
    by_peer: BTreeMap<(IpAddr, SctpPort), usize>,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// For this association, on this path.
    Association(usize, PathId),
    /// The tag is right, the address is not one of the peer's.
    UnknownSource,
    /// From a known peer, with a wrong tag.
    BadTag,
    /// Of no association.
    OutOfTheBlue,
}

impl Demux {
    /// Only addresses in use are entered: what a peer merely lists must not lock out its owner (RFC 5062 §2).
    pub(super) fn insert(&mut self, slot: usize, association: &Association) {
        let peer = association.peer();
        self.by_tag.insert(peer.local_tag.get(), slot);
        for path in association.paths().iter() {
            self.by_peer.entry((path.destination.address, peer.peer_port)).or_insert(slot);
        }
    }

    /// Takes an association out. Entries that another one has taken over meanwhile stay.
    pub(super) fn remove(&mut self, slot: usize, association: &Association) {
        let peer = association.peer();
        let tag = peer.local_tag.get();
        if self.by_tag.get(&tag) == Some(&slot) {
            self.by_tag.remove(&tag);
        }
        for path in association.paths().iter() {
            let key = (path.destination.address, peer.peer_port);
            if self.by_peer.get(&key) == Some(&slot) {
                self.by_peer.remove(&key);
            }
        }
    }

    pub(super) fn by_tag(&self, tag: VerificationTag) -> Option<usize> {
        self.by_tag.get(&tag.get()).copied()
    }

    pub(super) fn by_peer(&self, address: IpAddr, port: SctpPort) -> Option<usize> {
        self.by_peer.get(&(address, port)).copied()
    }
}

impl Endpoint {
    pub(super) fn lookup(&self, datagram: &Datagram<'_>, packet: &Packet<'_>) -> Lookup {
        let source = datagram.source.address;
        let of_peer =
            |slot: usize| self.associations[slot].association.peer().peer_port == packet.source_port;
        if let Some(slot) = self.demux.by_tag(packet.verification_tag).filter(|slot| of_peer(*slot)) {
            let path = self.associations[slot].association.paths().by_address(source);
            return path.map_or(Lookup::UnknownSource, |path| Lookup::Association(slot, path));
        }
        let Some(slot) = self.demux.by_peer(source, packet.source_port) else { return Lookup::OutOfTheBlue };
        let association = &self.associations[slot].association;
        let reflected = association.peer().peer_tag == Some(packet.verification_tag) && may_reflect(packet);
        match association.paths().by_address(source) {
            Some(path) if reflected => Lookup::Association(slot, path),
            // The peer is still ending an association that we have forgotten (RFC 9260 §8.5.1 (E)).
            _ if association.is_setting_up() && is_shutdown_ack(packet) => Lookup::OutOfTheBlue,
            _ => Lookup::BadTag,
        }
    }

    /// A tag that no association of this endpoint uses.
    pub(super) fn unused_tag(&mut self) -> VerificationTag {
        loop {
            let tag = self.rng.verification_tag();
            if self.demux.by_tag(tag).is_none() {
                return tag;
            }
        }
    }
}

fn is_shutdown_ack(packet: &Packet<'_>) -> bool {
    packet.chunks().flatten().any(|chunk| matches!(chunk, Chunk::ShutdownAck))
}

/// Whether a packet may carry its receiver's own tag back (RFC 9260 §8.5.1 (B), (C)).
fn may_reflect(packet: &Packet<'_>) -> bool {
    packet.chunks().flatten().any(|chunk| chunk.tag_origin() == TagOrigin::Reflected)
}
