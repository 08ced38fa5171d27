//! The association that a packet belongs to, found by its addresses, ports and tag.
//!
//! By verification tag first: ours are unique in the endpoint, so a right tag is an exact answer. By the peer's transport
//! address where the tag cannot tell: INIT, reflected tags (RFC 9260 §8.5.1). Two clients behind one NAT may have the
//! same address and SCTP port; then the UDP port tells them apart (RFC 6951 §5.1).

use std::net::IpAddr;

use sctp_wire::{Chunk, ChunkType, Packet, SctpPort, TagOrigin, VerificationTag};
use smallvec::SmallVec;

use super::peer_hash::{PeerHash, PeerKey};
use super::slot_table::SlotTable;
use super::table::AssociationTable;
use super::tags::TagTable;
use crate::association::{Association, StateCookie};
use crate::event::AssociationState;
use crate::path::address::is_usable;
use crate::transmit::{Datagram, Destination, PathIndex};

/// The lookup tables.
pub(super) struct Demux {
    by_tag: TagTable,
    hash: PeerHash,
    /// The associations by the hashes of their peers, of which `entered` says where they are.
    by_peer: SlotTable,
    /// The associations whose peer has not been heard at any address that it has left itself, by the one in use. Only packets that return
    /// the peer's tag are found by it: to whom the address belongs is not known.
    by_unconfirmed: SlotTable,
    /// The entries of associations, by slot.
    entered: Vec<Option<Entered>>,
}

/// The entry of an association, as it was made; the association may have changed its mind since.
struct Entered {
    tag: VerificationTag,
    peers: SmallVec<[PeerKey; 1]>,
    has_confirmed: bool,
}

/// The time at which an association was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    Now,
    Before,
}

/// The result of a search for a packet's association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The packet is for this association, on this path.
    Association(usize, PathIndex),
    /// The tag is right, the address is not one of the peer's.
    UnknownSource,
    /// The packet comes from a known peer, with a wrong tag.
    BadTag,
    /// The packet belongs to no association.
    OutOfTheBlue,
}

impl Demux {
    pub(super) fn new(hash: PeerHash) -> Self {
        let (by_peer, by_unconfirmed) = (SlotTable::default(), SlotTable::default());
        Self { by_tag: TagTable::default(), hash, by_peer, by_unconfirmed, entered: Vec::new() }
    }

    /// Enters an association, or what became of it. Only addresses at which the peer has shown to be are entered: what a
    /// peer merely lists must not lock out its owner (RFC 5062 §2).
    pub(super) fn insert(&mut self, slot: usize, association: &Association) {
        let _anew = self.remove(slot);
        let peer = association.peer();
        let tag = peer.local_tag;
        let paths = association.paths();
        let key = |destination| PeerKey::new(destination, peer.peer_port);
        let mut peers: SmallVec<[PeerKey; 1]> = paths.confirmed().map(key).collect();
        let has_confirmed = !peers.is_empty();
        if !has_confirmed {
            peers.push(key(paths.path(paths.for_data()).destination));
        }
        self.by_tag.insert(tag, slot);
        if self.entered.len() <= slot {
            self.entered.resize_with(slot + 1, || None);
        }
        for key in &peers {
            if self.by_key(key, has_confirmed).is_none() {
                let hash = self.hash.of(key);
                self.peers(has_confirmed).insert(hash, slot);
            }
        }
        self.entered[slot] = Some(Entered { tag, peers, has_confirmed });
    }

    fn peers(&mut self, are_confirmed: bool) -> &mut SlotTable {
        if are_confirmed { &mut self.by_peer } else { &mut self.by_unconfirmed }
    }

    /// Takes an association out, if it is there. Entries that another one has taken over meanwhile stay.
    pub(super) fn remove(&mut self, slot: usize) -> Removal {
        let Some(entered) = self.entered.get_mut(slot).and_then(Option::take) else { return Removal::Before };
        if self.by_tag.get(entered.tag) == Some(slot) {
            self.by_tag.remove(entered.tag);
        }
        for key in &entered.peers {
            let hash = self.hash.of(key);
            self.peers(entered.has_confirmed).remove(hash, |other| other == slot);
        }
        Removal::Now
    }

    #[inline]
    pub(super) fn by_tag(&self, tag: VerificationTag) -> Option<usize> {
        self.by_tag.get(tag)
    }

    pub(super) fn by_peer(&self, destination: Destination, port: SctpPort) -> Option<usize> {
        self.by_key(&PeerKey::new(destination, port), true)
    }

    fn by_key(&self, key: &PeerKey, is_confirmed: bool) -> Option<usize> {
        let table = if is_confirmed { &self.by_peer } else { &self.by_unconfirmed };
        let is_there = |entered: &Entered| entered.peers.contains(key);
        table.find(self.hash.of(key), |slot| self.entered[slot].as_ref().is_some_and(is_there))
    }

    /// Returns the associations with a peer at any address but `source` that is listed there (RFC 9260 §5.1.2
    /// (D)).
    fn by_list(&self, source: Destination, listed: &[IpAddr], port: SctpPort) -> impl Iterator<Item = usize> {
        let is_another =
            move |address: &&IpAddr| **address != source.address && is_usable(**address, source.address);
        let others = listed.iter().filter(is_another);
        others.filter_map(move |&address| self.by_peer(Destination { address, ..source }, port))
    }
}

impl AssociationTable {
    pub(super) fn lookup(&self, datagram: &Datagram<'_>, packet: &Packet<'_>) -> Lookup {
        let source = datagram.source.address;
        let of_peer = |slot: usize| self.get(slot).peer().peer_port == packet.source_port;
        if let Some(slot) = self.demux.by_tag(packet.verification_tag).filter(|slot| of_peer(*slot)) {
            let association = self.get(slot);
            // RFC 9260 §8.5.1 (E): whatever its tag, it is about an association that we have forgotten.
            if association.session().is_setting_up() && is_shutdown_ack(packet) {
                return Lookup::OutOfTheBlue;
            }
            return self.path_to(slot, datagram.source);
        }
        let Some(slot) = self
            .demux
            .by_peer(datagram.source, packet.source_port)
            .or_else(|| self.unconfirmed_with_peer_tag(datagram.source, packet))
        else {
            return Lookup::OutOfTheBlue;
        };
        let association = self.get(slot);
        let reflected = association.peer().peer_tag == Some(packet.verification_tag) && may_reflect(packet);
        match association.paths().by_address(source) {
            Some(path) if reflected => Lookup::Association(slot, path),
            // The peer is still ending an association that we have forgotten (RFC 9260 §8.5.1 (E)).
            _ if association.session().is_setting_up() && is_shutdown_ack(packet) => Lookup::OutOfTheBlue,
            _ => Lookup::BadTag,
        }
    }

    /// Returns the association whose peer has left itself this address alone, which it has not shown to be its own, and whose tag
    /// the packet returns: what no longer knows it answers so (RFC 9260 §8.4, §8.5.1 (C)).
    fn unconfirmed_with_peer_tag(&self, source: Destination, packet: &Packet<'_>) -> Option<usize> {
        let slot = self.demux.by_key(&PeerKey::new(source, packet.source_port), false)?;
        self.has_peer_tag(slot, packet.verification_tag).then_some(slot)
    }

    /// Returns the path of an association that a packet with its tag belongs to.
    pub(super) fn path_to(&self, slot: usize, source: Destination) -> Lookup {
        let path = self.get(slot).paths().by_address(source.address);
        path.map_or(Lookup::UnknownSource, |path| Lookup::Association(slot, path))
    }

    /// Returns the association that an INIT or a cookie from `source` is about: one whose peer is at that
    /// address. By an address that is merely listed only where the peer is known to be at `source`, too: lists
    /// are anybody's to write, and who is found by his list would be told of, or handed, an association that is
    /// not his (docs/decisions/0015-who-an-init-is-about.md).
    pub(super) fn about(&self, source: Destination, listed: &[IpAddr], port: SctpPort) -> Option<usize> {
        let is_of = |slot: &usize| self.get(*slot).paths().has_destination(source);
        self.demux.by_peer(source, port).or_else(|| self.demux.by_list(source, listed, port).find(is_of))
    }

    /// Returns the association that a cookie is about (RFC 9260 §5.2.4). One that waits for INIT ACK is found
    /// by the list, too: its peer may be who sends it, and then our INIT will meet it; Table 12 has the COOKIE
    /// ECHO discarded until then.
    pub(super) fn about_cookie(&self, source: Destination, cookie: &StateCookie) -> Option<usize> {
        let (listed, port) = (&cookie.addresses[..], cookie.peer_port);
        let waits = |slot: &usize| self.get(*slot).state() == AssociationState::CookieWait;
        let has_tag = |slot: &usize| self.has_peer_tag(*slot, cookie.peer_tag);
        self.demux
            .by_tag(cookie.local_tag)
            .or_else(|| self.about(source, listed, port))
            .or_else(|| self.demux.by_list(source, listed, port).find(has_tag))
            .or_else(|| self.demux.by_list(source, listed, port).find(waits))
            .filter(|slot| !self.is_beside(*slot, cookie))
    }

    /// Returns whether both ends have sent INIT from addresses that the other's user had not named, so that
    /// neither knew the other's: each INIT makes an association of its own.
    fn is_beside(&self, slot: usize, cookie: &StateCookie) -> bool {
        let association = self.get(slot);
        let peer = association.peer();
        association.state() == AssociationState::CookieEchoed
            && cookie.tie_tag == 0
            && peer.local_tag != cookie.local_tag
            && peer.peer_tag != Some(cookie.peer_tag)
            && association.paths().confirmed().all(|known| known != cookie.source)
    }

    /// Returns the association of which this is the peer's current tag, as one who knows it and one of the
    /// peer's addresses says.
    pub(super) fn with_live_tag(
        &self,
        (source, listed): (Destination, &[IpAddr]),
        port: SctpPort,
        tag: VerificationTag,
    ) -> Option<usize> {
        let at_source = self.demux.by_peer(source, port);
        at_source
            .into_iter()
            .chain(self.demux.by_list(source, listed, port))
            .find(|slot| self.has_peer_tag(*slot, tag))
    }

    pub(super) fn has_peer_tag(&self, slot: usize, tag: VerificationTag) -> bool {
        self.get(slot).peer().peer_tag == Some(tag)
    }
}

fn is_shutdown_ack(packet: &Packet<'_>) -> bool {
    packet.chunks().kinds().any(|kind| kind == ChunkType::SHUTDOWN_ACK)
        && packet.chunks().flatten().any(|chunk| matches!(chunk, Chunk::ShutdownAck))
}

/// Returns whether a packet may carry its receiver's own tag back (RFC 9260 §8.5.1 (B), (C)).
fn may_reflect(packet: &Packet<'_>) -> bool {
    packet.chunks().flatten().any(|chunk| chunk.tag_origin() == TagOrigin::Reflected)
}
