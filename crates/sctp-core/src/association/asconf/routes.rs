//! The way of requests and answers: what the user and the host want, ASCONF and ASCONF-ACK, the timer.

use core::net::IpAddr;

use sctp_wire::{Asconf, AsconfAck, CauseCode, ChunkBuf};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::DynamicAddresses;
use super::request::AsconfAnswer;
use crate::association::LocalAddresses;
use crate::association::control::Bundling;
use crate::association::inbound::Inbound;
use crate::association::outbound::Outbound;
use crate::association::session::Session;
use crate::association::timers::Timer;
use crate::error::{AddressChangeError, AssociationError, ProtocolViolation};
use crate::event::{AddressChange, AddressOutcome, PathState};
use crate::path::{Answer, Path, PathSet, Unanswered};
use crate::trace;
use crate::transmit::{Destination, MAX_PATHS, PathIndex};

/// What we ask for.
impl DynamicAddresses {
    /// Asks the peer for a change.
    pub(in crate::association) fn request(
        &mut self,
        now: Instant,
        change: AddressChange,
        session: &mut Session,
        outbound: &mut Outbound,
    ) -> Result<(), AddressChangeError> {
        self.ask(change, session)?;
        self.send_next(now, session, outbound);
        Ok(())
    }

    /// This host has lost an address: with automatic addresses the peer is asked to forget it, as soon as there is
    /// another one to ask from.
    pub(in crate::association) fn on_local_down(
        &mut self,
        now: Instant,
        local: IpAddr,
        session: &mut Session,
        outbound: &mut Outbound,
    ) {
        if let Some(locals) = &mut self.since_init {
            return locals.lose(local);
        }
        if self.note_loss(local, session, &outbound.paths) {
            let _asked = self.request(now, AddressChange::Delete(local), session, outbound);
        }
    }

    /// This host has an address, new or again: the peer is told of it, if it is to be, or takes packets from it already.
    pub(in crate::association) fn on_local_up(
        &mut self,
        now: Instant,
        local: IpAddr,
        session: &mut Session,
        outbound: &mut Outbound,
    ) {
        trace::local_address_changed("added", &local);
        let asks = match &mut self.since_init {
            Some(locals) => {
                locals.gain(local);
                false
            }
            None => self.note_gain(local, session),
        };
        self.use_local(now, local, session, outbound);
        if asks {
            self.send_next(now, session, outbound);
        }
    }

    /// Sends from this address of the host, if the peer takes packets from it. Also from one that waits to be deleted and added
    /// again: until that is asked the peer knows it, and there may be no other.
    fn use_local(&self, now: Instant, local: IpAddr, session: &mut Session, outbound: &mut Outbound) {
        if self.is_known_to_peer(local) {
            outbound.on_local_up(now, local, session);
        }
    }

    /// What has happened to the addresses of this host since our INIT happens to the association now, which is up.
    pub(in crate::association) fn catch_up_since_init(
        &mut self,
        now: Instant,
        session: &mut Session,
        outbound: &mut Outbound,
    ) {
        if let Some(locals) = self.since_init.take() {
            self.catch_up(now, &locals, session, outbound);
        }
    }

    /// What has happened to the addresses of this host since the peer was told of them happens to the association now.
    pub(in crate::association) fn catch_up(
        &mut self,
        now: Instant,
        locals: &LocalAddresses,
        session: &mut Session,
        outbound: &mut Outbound,
    ) {
        for &lost in &locals.lost {
            self.on_local_down(now, lost, session, outbound);
        }
        for &gained in &locals.gained {
            self.on_local_up(now, gained, session, outbound);
        }
    }

    fn send_next(&mut self, now: Instant, session: &mut Session, outbound: &mut Outbound) {
        for change in self.take_impossible() {
            let cause = CauseCode::DELETE_LAST_ADDRESS.get();
            self.on_outcomes(now, &[(change, AddressOutcome::Refused { cause })], session, outbound);
        }
        let path = self.way_of_request(&outbound.paths);
        let Some(chunk) = self.next(now, outbound.paths.path(path)) else { return };
        // What ran out while there was no address to send from says nothing about the way from the new one.
        let entry = outbound.paths.path_mut(path);
        if entry.source.is_stranded() {
            entry.rto.end_back_off();
        }
        for address in self.being_deleted() {
            outbound.leave_local(now, address, session);
        }
        push(now, path, chunk, session, outbound);
    }

    /// T4-rto expired (B1 to B5).
    ///
    /// # Errors
    /// The peer is unreachable.
    pub(in crate::association) fn on_t4(
        &mut self,
        now: Instant,
        session: &mut Session,
        outbound: &mut Outbound,
    ) -> Result<(), AssociationError> {
        if !session.state.name().changes_addresses() {
            return Ok(());
        }
        let Some((path, chunk)) = self.outstanding() else { return Ok(()) };
        if outbound.paths.contains(path) {
            outbound.unanswered(now, path, Unanswered::Transmission, session)?;
            outbound.paths.path_mut(path).back_off();
        }
        let other = self.way_of_repetition(path, &outbound.paths);
        if self.repeat(other, session.config.attempts.association) {
            push(now, other, chunk, session, outbound);
            return Ok(());
        }
        // The peer may have done what it was asked for or not: addresses that were to go stay unused, those that were to
        // come as well.
        for change in self.give_up() {
            session.tell_address_outcome(change, AddressOutcome::NotAnswered);
        }
        Ok(())
    }

    /// Takes note of where the peer may be, in place of what was suggested before: it is asked there by HEARTBEAT, and by the
    /// ASCONF that is unanswered.
    ///
    /// # Errors
    /// Addresses do not change, or there is no room for so many; then nothing is done.
    pub(in crate::association) fn suggest(
        &mut self,
        now: Instant,
        at: &[Destination],
        session: &mut Session,
        (outbound, inbound): (&mut Outbound, &mut Inbound),
    ) -> Result<(), AddressChangeError> {
        for gone in self.note_suggestion(at, session, &outbound.paths)? {
            withdraw(now, gone, session, (&mut *outbound, &mut *inbound));
        }
        for destination in at {
            let _known = outbound.paths.add(*destination, PathState::Unconfirmed, &session.config);
            if let Some(path) = outbound.paths.by_address(destination.address) {
                self.ask_at(now, path, session, outbound);
            }
        }
        Ok(())
    }

    /// The peer may be here: it is asked for what it has not answered elsewhere, if no other path works. A HEARTBEAT from an
    /// address that it does not know would be in vain. The timer goes on as it was, and this does not count against its limit.
    fn ask_at(&mut self, now: Instant, path: PathIndex, session: &mut Session, outbound: &mut Outbound) {
        let is_cut_off = outbound.paths.path(outbound.paths.for_data()).state != PathState::Active;
        match self.outstanding().filter(|_| is_cut_off) {
            Some((_, chunk)) => {
                self.agreed.iter_mut().for_each(|agreed| agreed.requests.forget_time());
                self.statistics.note().retransmissions += 1;
                outbound.push_on(path, session, Ok(chunk));
            }
            None => outbound.verify(now, path, session),
        }
    }

    /// Takes note of what is suggested; returns the addresses that are not suggested any more.
    fn note_suggestion(
        &mut self,
        at: &[Destination],
        session: &Session,
        paths: &PathSet,
    ) -> Result<SmallVec<[IpAddr; 1]>, AddressChangeError> {
        if !session.state.name().changes_addresses() {
            return Err(AddressChangeError::WrongState);
        }
        let agreed = self.agreed.as_mut().ok_or(AddressChangeError::NotAgreed)?;
        let of_peer = agreed.addresses_of_peer(paths);
        let addresses = at.iter().map(|destination| destination.address);
        let new: SmallVec<[IpAddr; 2]> = addresses.filter(|address| !of_peer.contains(address)).collect();
        if of_peer.len() + new.len() > MAX_PATHS {
            return Err(AddressChangeError::TooManyPeerAddresses { limit: MAX_PATHS });
        }
        Ok(agreed.elsewhere.suggest(&new))
    }

    /// Returns where a new request goes: to the peer's address in use, or to where it may have gone if that does not answer.
    fn way_of_request(&self, paths: &PathSet) -> PathIndex {
        let usual = paths.for_data();
        if paths.path(usual).state == PathState::Active {
            return usual;
        }
        let may_be_there = |other: &Path| !other.is_confirmed() && self.is_elsewhere(other);
        paths.next_after(usual, may_be_there).unwrap_or(usual)
    }

    /// Returns where a request goes that was not answered on this path: to another active one, or else to each address in turn at
    /// which the peer has been or may be now. Where it has deleted all of which it had been heard, that is any that it listed.
    fn way_of_repetition(&self, path: PathIndex, paths: &PathSet) -> PathIndex {
        let is_lost = !paths.has_confirmed();
        let may_be_there = |other: &Path| is_lost || other.is_confirmed() || self.is_elsewhere(other);
        paths.alternate(path).or_else(|| paths.next_after(path, may_be_there)).unwrap_or(paths.for_data())
    }

    fn is_elsewhere(&self, path: &Path) -> bool {
        self.agreed.as_ref().is_some_and(|agreed| agreed.elsewhere.contains(path.destination.address))
    }

    /// Takes in an ASCONF-ACK: the peer's answers to the requests of the outstanding ASCONF (RFC 5061 §5.1 (A5)
    /// to (A8), §5.3 (F0)).
    ///
    /// # Errors
    /// It answers what was not asked.
    pub(in crate::association) fn on_ack(
        &mut self,
        (now, path): (Instant, PathIndex),
        ack: &AsconfAck<'_>,
        session: &mut Session,
        outbound: &mut Outbound,
    ) -> Result<(), ProtocolViolation> {
        let Some(agreed) = self.agreed.as_mut() else { return Ok(()) };
        let measured = agreed.requests.round_trip(now, ack.serial);
        match agreed.requests.on_ack(ack) {
            AsconfAnswer::Outstanding(outcomes) => {
                outbound.timers.stop(Timer::T4Asconf);
                outbound.answered(now, path, Answer::Acknowledged, session);
                self.on_outcomes(now, &outcomes, session, outbound);
                if let Some((asked_on, rtt)) = measured {
                    outbound.on_first_round_trip(now, asked_on, rtt);
                }
                self.send_next(now, session, outbound);
            }
            AsconfAnswer::Stray => self.statistics.note().stray_acks += 1,
            AsconfAnswer::Illegal => return Err(ProtocolViolation::IllegalAsconfAck),
        }
        Ok(())
    }

    /// What the peer has done with one request after the other. An address that one added and a later one deleted is known to it no
    /// more, and not used; nor is one that the host has lost since it was asked for.
    fn on_outcomes(
        &mut self,
        now: Instant,
        outcomes: &[(AddressChange, AddressOutcome)],
        session: &mut Session,
        outbound: &mut Outbound,
    ) {
        let usable = outcomes.iter().filter_map(|(change, outcome)| self.settle(*change, *outcome));
        let usable: SmallVec<[IpAddr; 4]> = usable.collect();
        for local in usable {
            if self.is_told_and_there(local) {
                trace::local_address_changed("added", &local);
                self.use_local(now, local, session, outbound);
            }
        }
        self.agreed.iter_mut().for_each(|agreed| agreed.forget_lost());
        for &(change, outcome) in outcomes {
            if let (AddressChange::SetPrimary(local), AddressOutcome::Done) = (change, outcome) {
                outbound.paths.on_primary_granted(now, local);
            }
            session.tell_address_outcome(change, outcome);
        }
    }

    /// The peer reports that it does not know ASCONF (A9).
    pub(in crate::association) fn on_not_understood(
        &mut self,
        now: Instant,
        session: &mut Session,
        outbound: &mut Outbound,
    ) {
        outbound.timers.stop(Timer::T4Asconf);
        for change in self.give_up() {
            self.on_outcomes(now, &[(change, AddressOutcome::NotUnderstood)], session, outbound);
        }
    }
}

/// The user does not believe any more that the peer is there. An address that has answered stays.
fn withdraw(
    now: Instant,
    address: IpAddr,
    session: &mut Session,
    (outbound, inbound): (&mut Outbound, &mut Inbound),
) {
    let Some(path) = outbound.paths.by_address(address) else { return };
    if !outbound.paths.path(path).is_confirmed() && outbound.paths.iter().count() > 1 {
        outbound.remove_path(now, path, session, inbound);
    }
}

fn push(now: Instant, path: PathIndex, chunk: ChunkBuf, session: &mut Session, outbound: &mut Outbound) {
    outbound.push_on(path, session, Ok(chunk));
    outbound.timers.set(Timer::T4Asconf, now + outbound.paths.path(path).rto.rto());
}

/// What the peer asks for.
impl DynamicAddresses {
    /// Takes in an ASCONF that is authenticated (E1 to E7), which came from there to this address of this host, if that is known. The
    /// answer goes back the same way.
    pub(in crate::association) fn on_asconf(
        &mut self,
        now: Instant,
        (source, local): (Destination, Option<IpAddr>),
        asconf: &Asconf<'_>,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) {
        let Some((answer, granted)) = self.answer(source, asconf, session, &outbound.paths) else {
            return;
        };
        let is_elsewhere = granted.contains(&AddressChange::Add(source.address));
        for change in granted {
            if let AddressChange::Delete(address) = change {
                self.delete(now, address, session, outbound, inbound);
            } else if let Some(path) = self.grant(source, change, session, &mut outbound.paths) {
                outbound.verify(now, path, session);
            }
            if let AddressChange::SetPrimary(address) = change
                && let Some(path) = outbound.paths.by_address(address)
            {
                outbound.ask_anew_if_failed(now, path, session);
            }
        }
        let Some(path) = outbound.paths.by_address(source.address) else {
            // E6: whoever asked hears only there, perhaps, since its other addresses may be those that it has lost.
            let elsewhere = (outbound.paths.for_data(), session.tag_of_peer());
            let bundling = Bundling::AloneTo { destination: source, local };
            return outbound.queue(elsewhere, bundling, session, Ok(answer));
        };
        outbound.push_on(path, session, Ok(answer));
        outbound.verify(now, path, session);
        if is_elsewhere {
            self.ask_at(now, path, session, outbound);
        }
    }

    /// F13: what was on its way there goes elsewhere.
    fn delete(
        &mut self,
        now: Instant,
        address: IpAddr,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) {
        let Some(path) = outbound.paths.by_address(address) else { return };
        self.statistics.note().deleted += 1;
        outbound.remove_path(now, path, session, inbound);
        if !outbound.paths.has_confirmed() {
            for left in outbound.paths.ids() {
                outbound.probe_path(now, left, session);
            }
        }
    }
}
