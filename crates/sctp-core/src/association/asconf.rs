//! Addresses that come and go during an association (RFC 5061).
//!
//! | module | owns |
//! |---|---|
//! | `request` | what we ask the peer for, one ASCONF at a time |
//! | `prospect` | which addresses are left once the peer has done it |
//! | `response` | what the peer asks for, and what it is answered |

mod prospect;
mod request;
mod response;

use core::net::IpAddr;

use sctp_wire::{Asconf, AsconfAck, AsconfSerial, Cause, CauseCode, Chunk, ChunkBuf, ChunkType, Packet, Tsn};
use smallvec::SmallVec;
use virtual_time::Instant;

use self::request::{Answered, Requests};
use self::response::{Judgement, Responder, Screening};
use super::auth::Admission;
use super::{Association, AssociationState as S, Authenticity, Bundling, Capability, Timer};
use crate::config::AutomaticAddresses;
use crate::error::{AddressChangeError, ProtocolViolation};
use crate::event::{AddressChange, AddressOutcome, Event, PathState};
use crate::path::{Added, Answer, Unanswered, address};
use crate::seldom::Seldom;
use crate::stats::AsconfStatistics;
use crate::trace;
use crate::transmit::{Datagram, Destination, MAX_PATHS, PathId};

/// ASCONF of one association.
#[derive(Debug, Default)]
pub(crate) struct DynamicAddresses {
    agreed: Option<Box<Agreed>>,
    pub(crate) statistics: Seldom<AsconfStatistics>,
}

/// ASCONF in both directions, where it is agreed.
#[derive(Debug)]
struct Agreed {
    requests: Requests,
    responder: Responder,
    /// The local addresses that the peer knows.
    told: SmallVec<[IpAddr; 2]>,
    /// The addresses among them that this host has lost while it had no other.
    lost: SmallVec<[IpAddr; 1]>,
}

/// Whether a new address of this host can be used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The peer has been asked to accept it.
    Asked,
    /// The peer knows it, or is not asked.
    Nothing,
}

impl DynamicAddresses {
    /// Returns the address that an ASCONF is sent from for want of one that the peer knows (RFC 5061 §5.3 (F1),
    /// §5.3.2).
    pub(super) fn only_source(&self) -> Option<IpAddr> {
        let added = self.agreed.as_ref()?.requests.being_added();
        added.filter(|address| !address.is_unspecified())
    }

    /// Takes out everything that was asked, or waits to be, and is not answered.
    pub(super) fn take_requests(&mut self) -> SmallVec<[AddressChange; 4]> {
        self.agreed.as_mut().map(|agreed| agreed.requests.take_all()).unwrap_or_default()
    }
}

/// What we ask for.
impl Association {
    pub(super) fn has(&self, capability: Capability) -> bool {
        self.capabilities().has(capability)
    }

    /// Both count their ASCONFs from their initial TSNs (RFC 5061 §5.1 (A2)).
    pub(super) fn agree_on_addresses(&mut self, peer_initial_tsn: Tsn) {
        let agreed = self.has(Capability::DynamicAddresses).then(|| Agreed {
            requests: Requests::new(AsconfSerial::new(self.peer.local_initial_tsn.get())),
            responder: Responder::new(AsconfSerial::new(peer_initial_tsn.get())),
            told: SmallVec::from_slice(self.paths.local_addresses()),
            lost: SmallVec::new(),
        });
        self.addresses.agreed = agreed.map(Box::new);
    }

    /// Asks the peer for a change. It is told of by [`Event::AddressChangeAnswered`].
    pub(crate) fn request_address_change(
        &mut self,
        now: Instant,
        change: AddressChange,
    ) -> Result<(), AddressChangeError> {
        if !self.may_change_addresses() {
            return Err(AddressChangeError::WrongState);
        }
        let Some(agreed) = self.addresses.agreed.as_mut() else { return Err(AddressChangeError::NotAgreed) };
        agreed.admit(change)?;
        if !agreed.requests.push(change) {
            return Err(AddressChangeError::TooMany);
        }
        self.send_next_asconf(now);
        Ok(())
    }

    /// This host has lost an address: with automatic addresses the peer is asked to forget it, as soon as there is
    /// another one to ask from.
    pub(super) fn tell_peer_of_loss(&mut self, now: Instant, local: IpAddr) {
        if self.config.paths.automatic_addresses == AutomaticAddresses::Off {
            return;
        }
        let has_other = self.paths.local_addresses().iter().any(|other| *other != local);
        let Some(agreed) = self.addresses.agreed.as_mut() else { return };
        if !agreed.told.contains(&local) {
            return;
        }
        if has_other {
            let _asked = self.request_address_change(now, AddressChange::Delete(local));
        } else {
            agreed.lost.push(local);
        }
    }

    /// Takes note of a new address of this host: with automatic addresses the peer is asked to add it, and to
    /// forget those lost before.
    pub(super) fn tell_peer_of_gain(&mut self, now: Instant, local: IpAddr) -> Told {
        let is_automatic = self.config.paths.automatic_addresses == AutomaticAddresses::On;
        let may_ask = is_automatic && self.may_change_addresses();
        let Some(agreed) = self.addresses.agreed.as_mut() else { return Told::Nothing };
        agreed.lost.retain(|lost| *lost != local);
        // RFC 5061 §5.1 (A9), §5.3 (F3): who does not understand is not asked again.
        let is_refused = agreed.requests.is_refused(AddressChange::Add(local));
        if !may_ask
            || is_refused
            || agreed.requests.prospect(&agreed.told).contains(local)
            || !agreed.requests.push(AddressChange::Add(local))
        {
            return Told::Nothing;
        }
        for lost in core::mem::take(&mut agreed.lost) {
            let _queued = agreed.requests.push(AddressChange::Delete(lost));
        }
        self.send_next_asconf(now);
        Told::Asked
    }

    /// Returns whether the peer takes packets from this local address: where addresses change by ASCONF, what
    /// it neither was told of nor has been asked to forget (RFC 5061 §5.3 (F1), (F4)). For whoever knows none
    /// this is no reason to keep silent.
    pub(super) fn is_known_to_peer(&self, local: IpAddr) -> bool {
        self.addresses.agreed.as_ref().is_none_or(|agreed| {
            let is_leaving = agreed.requests.being_deleted().contains(&local);
            agreed.told.is_empty() || agreed.told.contains(&local) && !is_leaving
        })
    }

    /// Returns whether address changes may be asked for (RFC 5061 §5.1.1 (C4)).
    fn may_change_addresses(&self) -> bool {
        matches!(
            self.state.name(),
            S::Established | S::ShutdownPending | S::ShutdownReceived | S::ShutdownSent
        )
    }

    /// A1 to A4, if something waits and nothing is outstanding.
    fn send_next_asconf(&mut self, now: Instant) {
        self.drop_impossible_requests(now);
        let path = self.paths.for_data();
        let entry = self.paths.path(path);
        let Some(agreed) = self.addresses.agreed.as_mut() else { return };
        // By its tag the peer may find the association anyway; others go by this (RFC 5061 §4.1.1, §5.2 (D2)).
        let lookup = agreed.told.first().copied().or(entry.source);
        let lookup = lookup.unwrap_or_else(|| address::unspecified_like(entry.destination.address));
        let Some(chunk) = agreed.requests.next(lookup, path) else { return };
        self.addresses.statistics.note().sent += 1;
        self.leave_deleted_addresses(now);
        self.push_asconf(now, path, chunk);
    }

    /// F5: what was to take the place of an address was refused since its deletion was asked for.
    fn drop_impossible_requests(&mut self, now: Instant) {
        let dropped =
            self.addresses.agreed.as_mut().map(|agreed| agreed.requests.drop_impossible(&agreed.told));
        for change in dropped.into_iter().flatten() {
            let cause = CauseCode::DELETE_LAST_ADDRESS.get();
            self.on_address_outcome(now, change, AddressOutcome::Refused { cause });
        }
    }

    /// F4, F6: nothing is sent any more from an address that is being deleted.
    fn leave_deleted_addresses(&mut self, now: Instant) {
        let deleted = self.addresses.agreed.as_ref().map(|agreed| agreed.requests.being_deleted());
        for address in deleted.into_iter().flatten() {
            for path in self.paths.on_local_deleted(address) {
                self.probe_again(now, path);
            }
        }
    }

    fn push_asconf(&mut self, now: Instant, path: PathId, chunk: ChunkBuf) {
        self.push_to(path, Ok(chunk), Bundling::Bundled);
        let rto = self.paths.path(path).rto.rto();
        self.timers.set(Timer::T4Asconf, now + rto);
    }

    /// T4-rto expired (B1 to B5).
    pub(super) fn on_t4(&mut self, now: Instant) {
        let agreed = self.addresses.agreed.as_ref().filter(|_| self.may_change_addresses());
        let Some(outstanding) = agreed.and_then(|agreed| agreed.requests.outstanding()) else { return };
        let (path, chunk) = (outstanding.path, outstanding.chunk.clone());
        if self.paths.contains(path) {
            if !self.unanswered(now, path, Unanswered::Transmission) {
                return;
            }
            self.paths.path_mut(path).back_off();
        }
        let other = self.paths.alternate(path).unwrap_or_else(|| self.paths.for_data());
        let most = self.config.attempts.association;
        let may_repeat =
            self.addresses.agreed.as_mut().is_none_or(|agreed| agreed.requests.repeat(other, most));
        if !may_repeat {
            return self.give_up_requests_unanswered();
        }
        self.addresses.statistics.note().retransmissions += 1;
        self.push_asconf(now, other, chunk);
    }

    /// The peer may have done what it was asked for or not: addresses that were to go stay unused, those that were to come as
    /// well.
    fn give_up_requests_unanswered(&mut self) {
        let changes = self.addresses.agreed.as_mut().map(|agreed| agreed.requests.on_not_understood());
        for change in changes.into_iter().flatten() {
            self.tell_address_outcome(change, AddressOutcome::NotAnswered);
        }
    }

    /// Takes in an ASCONF-ACK: the peer's answers to the requests of the outstanding ASCONF (RFC 5061 §5.1 (A5)
    /// to (A8), §5.3 (F0)).
    pub(super) fn on_asconf_ack(&mut self, now: Instant, path: PathId, ack: &AsconfAck<'_>) {
        let Some(agreed) = self.addresses.agreed.as_mut() else { return };
        match agreed.requests.on_ack(ack) {
            Answered::Outstanding(outcomes) => {
                self.timers.stop(Timer::T4Asconf);
                self.answered(now, path, Answer::Acknowledged);
                for (change, outcome) in outcomes {
                    self.on_address_outcome(now, change, outcome);
                }
                self.send_next_asconf(now);
            }
            Answered::Stray => self.addresses.statistics.note().stray_acks += 1,
            Answered::Illegal => self.abort_for(ProtocolViolation::IllegalAsconfAck),
        }
    }

    /// F2: what was added may be sent from now. What the peer did not delete is still its way to us.
    fn on_address_outcome(&mut self, now: Instant, change: AddressChange, outcome: AddressOutcome) {
        let agreed = self.addresses.agreed.as_mut();
        match (change, outcome) {
            (AddressChange::Add(added), AddressOutcome::Done) if !added.is_unspecified() => {
                agreed.into_iter().for_each(|agreed| agreed.told.push(added));
                self.local_address_up(now, added);
            }
            (AddressChange::Delete(deleted), AddressOutcome::Done) => {
                agreed.into_iter().for_each(|agreed| agreed.told.retain(|told| *told != deleted));
            }
            (AddressChange::Delete(kept), AddressOutcome::Refused { .. } | AddressOutcome::NotUnderstood)
                if !kept.is_unspecified() =>
            {
                self.local_address_up(now, kept);
            }
            (AddressChange::Add(_) | AddressChange::Delete(_) | AddressChange::SetPrimary(_), _) => {}
        }
        self.tell_address_outcome(change, outcome);
    }

    pub(super) fn tell_address_outcome(&mut self, change: AddressChange, outcome: AddressOutcome) {
        let (AddressChange::Add(address)
        | AddressChange::Delete(address)
        | AddressChange::SetPrimary(address)) = change;
        trace::address_change_answered(change, &address, outcome);
        self.events.push(Event::AddressChangeAnswered { change, outcome });
    }

    /// The peer reports that it does not know ASCONF (A9).
    pub(super) fn on_asconf_not_understood(&mut self, now: Instant) {
        self.timers.stop(Timer::T4Asconf);
        let changes = self.addresses.agreed.as_mut().map(|agreed| agreed.requests.on_not_understood());
        for change in changes.into_iter().flatten() {
            self.on_address_outcome(now, change, AddressOutcome::NotUnderstood);
        }
    }

    /// Returns whether an ABORT to this address answers what crossed the ASCONF that deletes it (RFC 5061
    /// §5.3.1).
    pub(super) fn is_leaving(&self, local: Option<IpAddr>) -> bool {
        let deleted = self.addresses.agreed.as_ref().map(|agreed| agreed.requests.being_deleted());
        local.is_some_and(|local| deleted.into_iter().flatten().any(|address| address == local))
    }
}

/// What the peer asks for.
impl Association {
    /// E1 to E7, for an ASCONF that is authenticated. The answer goes to where it came from.
    pub(super) fn on_asconf(&mut self, now: Instant, source: Destination, asconf: &Asconf<'_>) {
        let counts = self.may_change_addresses();
        let Some(agreed) = self.addresses.agreed.as_ref().filter(|_| counts) else {
            self.addresses.statistics.note().discarded += 1;
            return;
        };
        let answer = match agreed.responder.screen(asconf.serial) {
            Screening::Discarded => {
                self.addresses.statistics.note().discarded += 1;
                return;
            }
            Screening::Repeated(answer) => {
                self.addresses.statistics.note().repeated += 1;
                answer
            }
            Screening::Next => {
                let Some(answer) = self.process_asconf(now, source, asconf) else { return };
                answer
            }
        };
        // A source that was not granted has no path, and may be anybody's: the peer hears at an address that it has. Else it
        // would ask for ever, from one that it deleted before.
        let source = self.paths.by_address(source.address);
        self.push_to(source.unwrap_or_else(|| self.paths.for_data()), Ok(answer), Bundling::Bundled);
        if let Some(path) = source {
            self.verify_if_unconfirmed(now, path);
        }
    }

    fn process_asconf(&mut self, now: Instant, source: Destination, asconf: &Asconf<'_>) -> Option<ChunkBuf> {
        let known: Vec<IpAddr> = self.paths.iter().map(|path| path.destination.address).collect();
        let is_usable = |asked| address::is_usable(asked, source.address);
        let judgement = Judgement::of(asconf.requests, source.address, &known, MAX_PATHS, &is_usable);
        let answer = judgement.answer(asconf.serial).ok()?;
        self.addresses.agreed.as_mut()?.responder.on_answered(asconf.serial, answer.clone());
        let statistics = self.addresses.statistics.note();
        statistics.processed += 1;
        statistics.refused += u64::from(judgement.refused.is_some());
        for change in judgement.granted {
            self.apply_address_change(now, source, change);
        }
        Some(answer)
    }

    fn apply_address_change(&mut self, now: Instant, source: Destination, change: AddressChange) {
        match change {
            AddressChange::Add(address) => self.add_peer_address(now, Destination { address, ..source }),
            AddressChange::Delete(address) => self.delete_peer_address(now, address),
            AddressChange::SetPrimary(address) => {
                if let Some(path) = self.paths.by_address(address) {
                    self.paths.prefer(path);
                    self.events.push(Event::PeerPrimary(path));
                }
            }
        }
    }

    /// F14: unconfirmed until a HEARTBEAT is answered.
    fn add_peer_address(&mut self, now: Instant, destination: Destination) {
        if self.paths.add(destination, PathState::Unconfirmed, &self.config) == Added::TooMany {
            return;
        }
        let Some(path) = self.paths.by_address(destination.address) else { return };
        if !self.peer.addresses.contains(&destination.address) {
            self.peer.addresses.push(destination.address);
        }
        self.addresses.statistics.note().added += 1;
        trace::peer_address_added(path, &destination.address);
        self.events.push(Event::PeerAddressChange { path, state: PathState::Unconfirmed });
        self.verify_if_unconfirmed(now, path);
    }

    /// F13: what was on its way there goes elsewhere.
    fn delete_peer_address(&mut self, now: Instant, address: IpAddr) {
        let Some(path) = self.paths.by_address(address) else { return };
        self.paths.remove(path);
        self.peer.addresses.retain(|known| *known != address);
        self.addresses.statistics.note().deleted += 1;
        trace::peer_address_deleted(path, &address);
        let of_path = [
            Timer::T3Rtx(path),
            Timer::TailLossProbe(path),
            Timer::PathMtu(path),
            Timer::Pacing(path),
            Timer::Heartbeat(path),
        ];
        of_path.into_iter().for_each(|timer| self.timers.stop(timer));
        self.sender.on_timeout(now, path);
        let other = self.paths.remaining();
        self.control.redirect(path, other);
        for used in [&mut self.outgoing.sack_path, &mut self.outgoing.control_path] {
            if *used == path {
                *used = other;
            }
        }
        self.events.push(Event::PeerAddressChange { path, state: PathState::Removed });
        if !self.paths.has_confirmed() {
            self.paths.ids().into_iter().for_each(|left| self.probe_path(now, left));
        }
    }

    fn verify_if_unconfirmed(&mut self, now: Instant, path: PathId) {
        if !self.paths.path(path).is_confirmed() {
            self.probe_path(now, path);
        }
    }

    /// Returns whether a packet from an address that is not the peer's may be about becoming one.
    pub(crate) fn may_introduce_itself(&self, packet: &Packet<'_>) -> bool {
        let has_asconf = || packet.chunks().flatten().any(|chunk| chunk.kind() == ChunkType::ASCONF);
        self.has(Capability::DynamicAddresses) && has_asconf()
    }

    /// A packet with the right tag and an ASCONF, from an address that is not the peer's (RFC 5061 §5.2, §5.3.2): nothing
    /// in it counts but AUTH and the ASCONFs behind it.
    pub(crate) fn handle_stranger(&mut self, now: Instant, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        self.counters.packets_received += 1;
        self.authentication.on_packet(Authenticity::NotShown);
        for chunk in packet.chunks().flatten() {
            match self.admit(self.paths.for_data(), &chunk) {
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

impl Agreed {
    fn admit(&self, change: AddressChange) -> Result<(), AddressChangeError> {
        if self.requests.is_refused(change) {
            return Err(AddressChangeError::NotUnderstood);
        }
        match change {
            AddressChange::Delete(address) if !self.requests.prospect(&self.told).allows(change) => {
                Err(AddressChangeError::LastAddress(address))
            }
            AddressChange::Add(_) | AddressChange::Delete(_) | AddressChange::SetPrimary(_) => Ok(()),
        }
    }
}

/// Returns whether the peer reports not to know ASCONF.
pub(super) fn is_about_asconf(cause: &Cause<'_>) -> bool {
    let Cause::UnrecognizedChunkType(chunk) = cause else { return false };
    chunk.first() == Some(&ChunkType::ASCONF.get())
}
