//! The way of address changes through the association: calls of the user, ASCONF and ASCONF-ACK, the timer.

use core::net::IpAddr;

use sctp_wire::{Asconf, AsconfAck, CauseCode, Chunk, ChunkBuf, Packet};
use virtual_time::Instant;

use super::NewAddress;
use super::request::AsconfAnswer;
use crate::association::auth::Admission;
use crate::association::{Association, Authenticity, Timer};
use crate::error::{AddressChangeError, ProtocolViolation};
use crate::event::{AddressChange, AddressOutcome};
use crate::path::{Answer, Unanswered};
use crate::transmit::{Datagram, Destination, PathIndex};

/// What we ask for.
impl Association {
    /// Asks the peer for a change. It is told of by [`Event::AddressChangeAnswered`](crate::Event::AddressChangeAnswered).
    pub(crate) fn request_address_change(
        &mut self,
        now: Instant,
        change: AddressChange,
    ) -> Result<(), AddressChangeError> {
        self.addresses.ask(change, &self.session)?;
        self.send_next_asconf(now);
        Ok(())
    }

    /// This host has lost an address: with automatic addresses the peer is asked to forget it, as soon as there is
    /// another one to ask from.
    pub(in crate::association) fn tell_peer_of_loss(&mut self, now: Instant, local: IpAddr) {
        if self.addresses.note_loss(local, &self.session, &self.outbound.paths) {
            let _asked = self.request_address_change(now, AddressChange::Delete(local));
        }
    }

    /// Takes note of a new address of this host, and tells the peer of it.
    pub(in crate::association) fn tell_peer_of_gain(&mut self, now: Instant, local: IpAddr) -> NewAddress {
        let told = self.addresses.note_gain(local, &self.session);
        if told == NewAddress::Asked {
            self.send_next_asconf(now);
        }
        told
    }

    fn send_next_asconf(&mut self, now: Instant) {
        for change in self.addresses.take_impossible() {
            let cause = CauseCode::DELETE_LAST_ADDRESS.get();
            self.on_address_outcome(now, change, AddressOutcome::Refused { cause });
        }
        let path = self.outbound.paths.for_data();
        let Some(chunk) = self.addresses.next(self.outbound.paths.path(path)) else { return };
        // F4, F6: nothing is sent any more from an address that is being deleted.
        for address in self.addresses.being_deleted() {
            for path in self.outbound.paths.on_local_deleted(address) {
                self.probe_again(now, path);
            }
        }
        self.push_asconf(now, path, chunk);
    }

    fn push_asconf(&mut self, now: Instant, path: PathIndex, chunk: ChunkBuf) {
        self.outbox.push(path, self.session.tag_of_peer(), Ok(chunk));
        let rto = self.outbound.paths.path(path).rto.rto();
        self.outbox.timers.set(Timer::T4Asconf, now + rto);
    }

    /// T4-rto expired (B1 to B5).
    pub(in crate::association) fn on_t4(&mut self, now: Instant) {
        if !self.session.state.name().changes_addresses() {
            return;
        }
        let Some((path, chunk)) = self.addresses.outstanding() else { return };
        if self.outbound.paths.contains(path) {
            if !self.unanswered(now, path, Unanswered::Transmission) {
                return;
            }
            self.outbound.paths.path_mut(path).back_off();
        }
        let other = self.outbound.paths.alternate(path).unwrap_or_else(|| self.outbound.paths.for_data());
        if self.addresses.repeat(other, self.session.config.attempts.association) {
            return self.push_asconf(now, other, chunk);
        }
        // The peer may have done what it was asked for or not: addresses that were to go stay unused, those that were to
        // come as well.
        for change in self.addresses.give_up() {
            self.outbox.tell_address_outcome(change, AddressOutcome::NotAnswered);
        }
    }

    /// Takes in an ASCONF-ACK: the peer's answers to the requests of the outstanding ASCONF (RFC 5061 §5.1 (A5)
    /// to (A8), §5.3 (F0)).
    pub(in crate::association) fn on_asconf_ack(
        &mut self,
        now: Instant,
        path: PathIndex,
        ack: &AsconfAck<'_>,
    ) {
        let Some(agreed) = self.addresses.agreed.as_mut() else { return };
        match agreed.requests.on_ack(ack) {
            AsconfAnswer::Outstanding(outcomes) => {
                self.outbox.timers.stop(Timer::T4Asconf);
                self.answered(now, path, Answer::Acknowledged);
                for (change, outcome) in outcomes {
                    self.on_address_outcome(now, change, outcome);
                }
                self.send_next_asconf(now);
            }
            AsconfAnswer::Stray => self.addresses.statistics.note().stray_acks += 1,
            AsconfAnswer::Illegal => self.abort_for(ProtocolViolation::IllegalAsconfAck),
        }
    }

    fn on_address_outcome(&mut self, now: Instant, change: AddressChange, outcome: AddressOutcome) {
        if let Some(usable) = self.addresses.settle(change, outcome) {
            self.local_address_up(now, usable);
        }
        self.outbox.tell_address_outcome(change, outcome);
    }

    /// The peer reports that it does not know ASCONF (A9).
    pub(in crate::association) fn on_asconf_not_understood(&mut self, now: Instant) {
        self.outbox.timers.stop(Timer::T4Asconf);
        for change in self.addresses.give_up() {
            self.on_address_outcome(now, change, AddressOutcome::NotUnderstood);
        }
    }
}

/// What the peer asks for.
impl Association {
    /// E1 to E7, for an ASCONF that is authenticated. The answer goes to where it came from.
    pub(in crate::association) fn on_asconf(
        &mut self,
        now: Instant,
        source: Destination,
        asconf: &Asconf<'_>,
    ) {
        let paths = &self.outbound.paths;
        let Some((answer, granted)) = self.addresses.answer(source, asconf, &self.session, paths) else {
            return;
        };
        for change in granted {
            self.apply_address_change(now, source, change);
        }
        // A source that was not granted has no path, and may be anybody's: the peer hears at an address that it has. Else it
        // would ask for ever, from one that it deleted before.
        let from = self.outbound.paths.by_address(source.address);
        let path = from.unwrap_or_else(|| self.outbound.paths.for_data());
        self.outbox.push(path, self.session.tag_of_peer(), Ok(answer));
        if let Some(path) = from {
            self.verify_if_unconfirmed(now, path);
        }
    }

    fn apply_address_change(&mut self, now: Instant, source: Destination, change: AddressChange) {
        let (session, paths) = (&mut self.session, &mut self.outbound.paths);
        if let AddressChange::Delete(address) = change {
            self.delete_peer_address(now, address);
        } else if let Some(path) = self.addresses.grant(source, change, session, paths, &mut self.outbox) {
            self.verify_if_unconfirmed(now, path);
        }
    }

    /// F13: what was on its way there goes elsewhere.
    fn delete_peer_address(&mut self, now: Instant, address: IpAddr) {
        let Some(path) = self.outbound.paths.by_address(address) else { return };
        self.addresses.statistics.note().deleted += 1;
        self.remove_path(now, path);
        if !self.outbound.paths.has_confirmed() {
            self.outbound.paths.ids().into_iter().for_each(|left| self.probe_path(now, left));
        }
    }

    fn verify_if_unconfirmed(&mut self, now: Instant, path: PathIndex) {
        if !self.outbound.paths.path(path).is_confirmed() {
            self.probe_path(now, path);
        }
    }

    /// A packet with the right tag and an ASCONF, from an address that is not the peer's (RFC 5061 §5.2, §5.3.2): nothing
    /// in it counts but AUTH and the ASCONFs behind it.
    pub(crate) fn handle_stranger(&mut self, now: Instant, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        self.outbox.counters.packets_received += 1;
        self.session.authentication.on_packet(Authenticity::NotShown);
        let path = self.outbound.paths.for_data();
        for chunk in packet.chunks().flatten() {
            match self.session.admit(path, &chunk, &self.outbound, &mut self.outbox) {
                Admission::Admitted => {}
                Admission::Skipped => continue,
                Admission::RestDiscarded => break,
            }
            if let Chunk::Asconf(asconf) = chunk {
                self.on_asconf(now, datagram.source, &asconf);
            }
        }
        self.after_input(now);
    }
}
