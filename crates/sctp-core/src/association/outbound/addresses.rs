//! Paths that go and come with the addresses of both ends.

use core::net::IpAddr;
use core::time::Duration;

use virtual_time::Instant;

use super::Outbound;
use crate::association::inbound::Inbound;
use crate::association::session::Session;
use crate::association::timers::Timer;
use crate::event::{Event, PathState};
use crate::path::Congestion;
use crate::trace;
use crate::transmit::PathIndex;

/// The addresses of the peer.
impl Outbound {
    /// The peer has the addresses that its INIT or INIT ACK lists and the one at the end of `used`, which it came by (RFC 9260
    /// §3.3.3, §5.1.2 (A), (C)): what else the user named is none of them.
    pub(in crate::association) fn keep_listed(
        &mut self,
        now: Instant,
        used: PathIndex,
        listed: &[IpAddr],
        session: &mut Session,
        inbound: &mut Inbound,
    ) {
        for path in self.paths.ids() {
            if path != used && !listed.contains(&self.paths.path(path).destination.address) {
                self.remove_path(now, path, session, inbound);
            }
        }
    }

    /// An address is not the peer's any more: what was on its way there goes elsewhere.
    pub(in crate::association) fn remove_path(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
        inbound: &mut Inbound,
    ) {
        let address = self.paths.path(path).destination.address;
        trace::peer_address_deleted(path, &address);
        self.paths.remove(path);
        let of_path = [
            Timer::T3Rtx(path),
            Timer::TailLossProbe(path),
            Timer::PathMtu(path),
            Timer::Pacing(path),
            Timer::Heartbeat(path),
        ];
        of_path.into_iter().for_each(|timer| self.timers.stop(timer));
        self.sender.strand_flight(now, path);
        let other = self.paths.remaining();
        session.forget_address(address, path, other);
        inbound.redirect(path, other);
        self.control.redirect(path, other);
        session.tell(Event::PeerAddressChange { path: self.paths.id(path), state: PathState::Removed });
    }
}

/// The addresses of this host.
impl Outbound {
    /// An address of this host is gone: what was sent from it goes again at once, from another address or on another path.
    pub(in crate::association) fn on_local_down(
        &mut self,
        now: Instant,
        local: IpAddr,
        session: &mut Session,
    ) {
        for path in self.paths.on_local_down(local) {
            self.on_source_lost(now, path);
            let state = self.paths.path(path).state;
            if state == PathState::Inactive {
                session.tell(Event::PeerAddressChange { path: self.paths.id(path), state });
            }
            self.probe_again(now, path, session);
        }
    }

    /// What left from an address of this host that is gone counts as lost. The way from another address is another one: its window is
    /// the initial one, neither what the old one had nor what a timeout leaves (RFC 9260 §7.2.5.2).
    fn on_source_lost(&mut self, now: Instant, path: PathIndex) {
        self.sender.strand_flight(now, path);
        self.stop_retransmission(path);
        let entry = self.paths.path_mut(path);
        entry.change_window("local address deleted", Congestion::reinitialise);
    }

    /// The peer has answered a control chunk for the first time since a path began anew: that is a round trip as any (RFC 9260
    /// §6.3.1 (C2)), and data need not wait for another one to begin as a start-up wants it to.
    pub(in crate::association) fn on_first_round_trip(
        &mut self,
        now: Instant,
        path: PathIndex,
        rtt: Duration,
    ) {
        if !self.paths.contains(path) || self.paths.path(path).rto.srtt().is_some() {
            return;
        }
        self.paths.on_measurement(path, now, rtt);
        let flight = self.sender.flight(path);
        let entry = self.paths.path_mut(path);
        entry.change_window("round trip known", |congestion| congestion.resume(now, rtt, flight));
    }

    /// A (new) address of this host: paths that do not work may work from there.
    pub(in crate::association) fn on_local_up(&mut self, now: Instant, local: IpAddr, session: &mut Session) {
        for path in self.paths.on_local_up(local) {
            self.probe_again(now, path, session);
        }
    }

    /// Nothing is sent any more from an address of this host that is being deleted (RFC 5061 §5.3 (F4), (F6)).
    pub(in crate::association) fn leave_local(&mut self, now: Instant, local: IpAddr, session: &mut Session) {
        for path in self.paths.on_local_deleted(local) {
            self.probe_again(now, path, session);
        }
    }
}
