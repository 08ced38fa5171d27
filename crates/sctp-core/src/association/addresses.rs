//! The decisions of user and host about paths, and the paths on which answers go (RFC 9260 §6.4).

use core::net::IpAddr;

use virtual_time::Instant;

use super::Association;
use super::asconf::NewAddress;
use super::control::HandshakeChunk;
use super::handshake::PeerNotes;
use super::supervision::send_heartbeat;
use crate::error::SetPrimaryError;
use crate::event::{Event, PathState};
use crate::trace;
use crate::transmit::{PathId, PathIndex};

impl Association {
    /// Makes a path the primary one: data goes there from now on, while the path is active.
    pub(crate) fn set_primary(&mut self, now: Instant, id: PathId) -> Result<(), SetPrimaryError> {
        self.outbound.set_primary(id)?;
        self.after_input(now);
        Ok(())
    }

    /// The peer has the addresses that its INIT or INIT ACK lists and the one at the end of `used`, which it came by (RFC 9260
    /// §3.3.3, §5.1.2 (A), (C)): what else the user named is none of them. A list that was too long tells nothing.
    pub(super) fn keep_listed(&mut self, now: Instant, used: PathIndex, listed: &[IpAddr], notes: PeerNotes) {
        let is_whole = notes.addresses_ignored == 0;
        for path in self.outbound.paths.ids() {
            let address = self.outbound.paths.path(path).destination.address;
            if is_whole && path != used && !listed.contains(&address) {
                self.remove_path(now, path);
            }
        }
    }

    /// An address is not the peer's any more: what was on its way there goes elsewhere.
    pub(super) fn remove_path(&mut self, now: Instant, path: PathIndex) {
        let address = self.outbound.paths.path(path).destination.address;
        self.session.peer.addresses.retain(|known| *known != address);
        trace::peer_address_deleted(path, &address);
        let other = self.outbound.remove_path(now, path, &mut self.outbox.timers);
        self.outbox.control.redirect(path, other);
        self.inbound.redirect(path, other);
        if self.session.control_path == path {
            self.session.control_path = other;
        }
        self.outbox
            .tell(Event::PeerAddressChange { path: self.outbound.paths.id(path), state: PathState::Removed });
    }

    /// An address of this host is gone: what was sent from it goes again at once, from another address or on another
    /// path. The list the peer was told stays as it is.
    pub(crate) fn local_address_down(&mut self, now: Instant, local: IpAddr) {
        if self.is_closed() {
            return;
        }
        trace::local_address_changed("deleted", &local);
        self.tell_peer_of_loss(now, local);
        for path in self.outbound.paths.on_local_down(local) {
            self.outbound.on_source_lost(now, path, &mut self.outbox.timers);
            self.tell_if_inactive(path);
            self.probe_again(now, path);
        }
        // Data will come another way now, and what has come is acknowledged another way.
        if self.outbound.paths.path(self.inbound.sack_path).is_stranded {
            self.inbound.sack_path = self.outbound.paths.for_data();
        }
        self.after_input(now);
    }

    /// A (new) address of this host: paths that do not work may work from there, if the peer takes packets from it.
    pub(crate) fn local_address_up(&mut self, now: Instant, local: IpAddr) {
        if self.is_closed() {
            return;
        }
        trace::local_address_changed("added", &local);
        if self.tell_peer_of_gain(now, local) == NewAddress::Asked || !self.addresses.is_known_to_peer(local)
        {
            return;
        }
        for path in self.outbound.paths.on_local_up(local) {
            self.probe_again(now, path);
        }
        self.after_input(now);
    }

    fn tell_if_inactive(&mut self, path: PathIndex) {
        let state = self.outbound.paths.path(path).state;
        if state == PathState::Inactive {
            self.outbox.tell(Event::PeerAddressChange { path: self.outbound.paths.id(path), state });
        }
    }

    /// Probes a path anew: whatever was asked before went another way.
    pub(super) fn probe_again(&mut self, now: Instant, path: PathIndex) {
        let _asked = self.outbound.paths.path_mut(path).heartbeat.expire();
        if !self.outbound.paths.path(path).is_stranded {
            self.probe_path(now, path);
        }
    }

    /// COOKIE ACK goes where the COOKIE ECHO came from, to an unconfirmed address with a HEARTBEAT beside it
    /// (RFC 9260 §5.4).
    pub(super) fn send_cookie_ack(&mut self, now: Instant, path: PathIndex) {
        self.session.push_handshake(path, HandshakeChunk::CookieAck, &mut self.outbox);
        if !self.outbound.paths.path(path).is_confirmed() {
            // It goes in a packet that leaves anyway, and others wait for it.
            let _counted =
                self.outbound.paths.verification_slot(now, path, self.session.config.heartbeat.max_burst);
            let (session, outbound, outbox) = (&mut self.session, &mut self.outbound, &mut self.outbox);
            send_heartbeat(now, path, session, outbound, outbox);
        }
    }
}
