//! The decisions of user and host about paths, and the paths on which answers go (RFC 9260 §6.4).

use core::net::IpAddr;

use virtual_time::Instant;

use super::asconf::Told;
use super::control::HandshakeChunk;
use super::{Association, Timer};
use crate::error::SetPrimaryError;
use crate::event::{Event, PathState};
use crate::path::{Added, Congestion, address};
use crate::trace;
use crate::transmit::{Destination, PathId};

impl Association {
    /// Makes a path the primary one: data goes there from now on, while the path is active.
    pub(crate) fn set_primary(&mut self, now: Instant, path: PathId) -> Result<(), SetPrimaryError> {
        if !self.paths.contains(path) {
            return Err(SetPrimaryError::UnknownPath(path));
        }
        if !self.paths.set_primary(path) {
            return Err(SetPrimaryError::Unconfirmed(path));
        }
        self.after_input(now);
        Ok(())
    }

    /// The addresses the peer listed (RFC 9260 §5.1.2 (C)): paths to verify, reached as the first one is.
    pub(super) fn add_listed(&mut self, source: Destination, listed: &[IpAddr]) {
        for &listed in listed {
            let destination = Destination { address: listed, ..source };
            let is_usable = address::is_usable(listed, source.address);
            let added = is_usable.then(|| self.paths.add(destination, PathState::Unconfirmed, &self.config));
            match added {
                Some(Added::New | Added::Known) => {}
                Some(Added::TooMany) | None => self.counters.note().addresses_ignored += 1,
            }
        }
    }

    /// An address of this host is gone: what was sent from it goes again at once, from another address or on another
    /// path. The list the peer was told stays as it is.
    pub(crate) fn local_address_down(&mut self, now: Instant, local: IpAddr) {
        if self.is_closed() {
            return;
        }
        trace::local_address_changed("deleted", &local);
        self.tell_peer_of_loss(now, local);
        for path in self.paths.on_local_down(local) {
            self.sender.on_timeout(now, path);
            self.timers.stop(Timer::T3Rtx(path));
            self.timers.stop(Timer::TailLossProbe(path));
            self.tell_if_inactive(path);
            let entry = self.paths.path_mut(path);
            entry.probe_is_due = false;
            // Whatever window the old address had, the new way to the peer has not earned it.
            entry.change_window("local address deleted", Congestion::on_timeout);
            self.probe_again(now, path);
        }
        // Data will come another way now, and what has come is acknowledged another way.
        if self.paths.path(self.outgoing.sack_path).is_stranded {
            self.outgoing.sack_path = self.paths.for_data();
        }
        self.after_input(now);
    }

    /// A (new) address of this host: paths that do not work may work from there, if the peer takes packets from it.
    pub(crate) fn local_address_up(&mut self, now: Instant, local: IpAddr) {
        if self.is_closed() {
            return;
        }
        trace::local_address_changed("added", &local);
        if self.tell_peer_of_gain(now, local) == Told::Asked || !self.is_known_to_peer(local) {
            return;
        }
        for path in self.paths.on_local_up(local) {
            self.probe_again(now, path);
        }
        self.after_input(now);
    }

    fn tell_if_inactive(&mut self, path: PathId) {
        let state = self.paths.path(path).state;
        if state == PathState::Inactive {
            self.events.push(Event::PeerAddressChange { path, state });
        }
    }

    /// Probes a path anew: whatever was asked before went another way.
    pub(super) fn probe_again(&mut self, now: Instant, path: PathId) {
        let _asked = self.paths.path_mut(path).heartbeat.expire();
        if !self.paths.path(path).is_stranded {
            self.probe_path(now, path);
        }
    }

    /// Returns the path for a SACK: the one the data came on; when data comes twice, which SACKs may cause by
    /// getting lost, the active paths in turn (RFC 9260 §6.4).
    pub(super) fn path_for_sack(&mut self, source: PathId) -> PathId {
        let had_duplicate = core::mem::take(&mut self.outgoing.had_duplicate);
        if had_duplicate {
            return self.paths.next_active(self.outgoing.sacked_on);
        }
        self.permitted(source)
    }

    /// Returns `path`, or another one if only HEARTBEATs and their answers may go there, because its address is
    /// unconfirmed (RFC 9260 §5.4), and there is another one: a peer that deleted all it had before by ASCONF
    /// has no other.
    pub(super) fn permitted(&self, path: PathId) -> PathId {
        let is_needless = self.paths.path(path).is_confirmed() || !self.paths.is_open();
        if is_needless { path } else { self.paths.for_data() }
    }

    /// COOKIE ACK goes where the COOKIE ECHO came from, to an unconfirmed address with a HEARTBEAT beside it
    /// (RFC 9260 §5.4).
    pub(super) fn send_cookie_ack(&mut self, now: Instant, path: PathId) {
        self.push_handshake(path, HandshakeChunk::CookieAck);
        if !self.paths.path(path).is_confirmed() {
            // It goes in a packet that leaves anyway, and others wait for it.
            let _counted = self.paths.verification_slot(now, path, self.config.heartbeat.max_burst);
            self.send_heartbeat(now, path);
        }
    }
}
