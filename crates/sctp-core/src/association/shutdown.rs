//! Ending an association: gracefully (RFC 9260 §9.2) or at once (§9.1).

use sctp_wire::{Cause, ChunkBuf, Sack, TagOrigin, Tsn};
use virtual_time::Instant;

use super::{Association, AssociationState as S, Bundling, Timer};
use crate::error::{AssociationError, ProtocolViolation};
use crate::event::Event;
use crate::path::Answer;
use crate::sender::acknowledge::SackRefused;
use crate::trace;
use crate::transmit::PathId;

impl Association {
    /// The user wants a graceful end: what is queued is still delivered.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        // What is queued is delivered once the association is up; a peer that restarts does not take the wish back.
        self.outgoing.shutdown_wanted = true;
        match self.state.name() {
            S::Established => {
                self.sender.drain();
                self.state.enter_shutdown_pending();
                self.guard_shutdown(now);
                self.after_input(now);
            }
            // Nothing is agreed yet and nothing waits: there is nobody to shut down with.
            S::CookieWait if self.sender.is_dry() => self.abort(b""),
            S::CookieWait
            | S::CookieEchoed
            | S::ShutdownPending
            | S::ShutdownSent
            | S::ShutdownReceived
            | S::ShutdownAckSent
            | S::Closed => {}
        }
    }

    /// The user wants an end at once.
    pub(crate) fn abort(&mut self, reason: &[u8]) {
        if self.is_closed() {
            return;
        }
        let reason = &reason[..reason.len().min(REASON_BYTES)];
        self.send_abort(TagOrigin::Receiver, &[Cause::UserInitiatedAbort(reason)]);
        self.close(Some(AssociationError::AbortedLocally));
    }

    /// The peer broke the protocol.
    pub(super) fn abort_for(&mut self, violation: ProtocolViolation) {
        if self.authentication.spares() {
            trace::violation_ignored(&violation);
            self.authentication.statistics.note().unauthenticated_chunks += 1;
            return;
        }
        self.abort_with(violation, TagOrigin::Receiver);
    }

    pub(super) fn abort_with(&mut self, violation: ProtocolViolation, tag: TagOrigin) {
        let text = violation.to_string();
        let cause = match violation {
            ProtocolViolation::NoUserData(tsn) => Cause::NoUserData(tsn),
            ProtocolViolation::ZeroStreams => Cause::InvalidMandatoryParameter,
            ProtocolViolation::HostNameAddress => Cause::UnresolvableAddress(&[]),
            ProtocolViolation::MissingCookie => {
                Cause::MissingMandatoryParameter(sctp_wire::ParameterTypes::STATE_COOKIE)
            }
            ProtocolViolation::IllegalAsconfAck => Cause::IllegalAsconfAck,
            ProtocolViolation::AcknowledgedUnsent(_)
            | ProtocolViolation::ZeroInitiateTag
            | ProtocolViolation::RandomLength { .. }
            | ProtocolViolation::NoAuthentication
            | ProtocolViolation::AsconfWithoutAuthentication
            | ProtocolViolation::Data(_) => Cause::ProtocolViolation(text.as_bytes()),
        };
        self.send_abort(tag, &[cause]);
        self.close(Some(violation.into()));
    }

    /// The peer wants something that cannot be, as the cause says.
    pub(super) fn abort_with_cause(&mut self, violation: ProtocolViolation, cause: Cause<'_>) {
        self.send_abort(TagOrigin::Receiver, &[cause]);
        self.close(Some(violation.into()));
    }

    /// Aborts the association, because what the peer sends can neither be kept nor be delivered.
    pub(super) fn abort_exhausted(&mut self, bytes: usize) {
        self.send_abort(TagOrigin::Receiver, &[Cause::OutOfResource]);
        self.close(Some(AssociationError::ReceiveBufferExhausted { bytes }));
    }

    /// Aborts the association, because others need the room more.
    pub(crate) fn give_way(&mut self) {
        self.send_abort(TagOrigin::Receiver, &[Cause::OutOfResource]);
        self.close(Some(AssociationError::GaveWay));
    }

    /// Nothing else goes out any more.
    fn send_abort(&mut self, tag: TagOrigin, causes: &[Cause<'_>]) {
        self.control.clear();
        if self.peer.peer_tag.is_some() {
            self.push_control(self.paths.for_data(), ChunkBuf::abort(tag, causes), Bundling::Alone);
        }
    }

    /// Takes the next step once everything sent is acknowledged. SHUTDOWN waits, too, until both ends agree on where TSNs
    /// begin: no request goes again after it, and what a peer sends that has begun anew would be discarded as out of reach.
    pub(super) fn progress_shutdown(&mut self, now: Instant) {
        if !self.sender.is_dry() {
            return;
        }
        match self.state.name() {
            S::ShutdownPending if self.is_renumbering() => {}
            S::ShutdownPending => {
                self.state.enter_shutdown_sent();
                self.guard_shutdown(now);
                self.send_shutdown(now, self.paths.for_data());
            }
            S::ShutdownReceived => {
                self.state.enter_shutdown_ack_sent();
                // RFC 9260 §9.2: T5 is the timer of who sends SHUTDOWN. Here Association.Max.Retrans is the limit.
                self.timers.stop(Timer::T5ShutdownGuard);
                self.send_shutdown(now, self.paths.for_data());
            }
            S::CookieWait
            | S::CookieEchoed
            | S::Established
            | S::ShutdownSent
            | S::ShutdownAckSent
            | S::Closed => {}
        }
    }

    /// SHUTDOWN or SHUTDOWN ACK, whichever this state sends, and T2 (again).
    pub(super) fn send_shutdown(&mut self, now: Instant, path: PathId) {
        match self.state.name() {
            S::ShutdownSent => self.push_chunk(path, Ok(ChunkBuf::shutdown(self.cumulative_tsn()))),
            S::ShutdownAckSent => self.push_chunk(path, Ok(ChunkBuf::shutdown_ack())),
            S::CookieWait
            | S::CookieEchoed
            | S::Established
            | S::ShutdownPending
            | S::ShutdownReceived
            | S::Closed => {
                return;
            }
        }
        self.outgoing.control_path = path;
        let rto = self.paths.path(path).rto.rto();
        self.timers.set(Timer::T2Shutdown, now + rto);
    }

    /// Data came in after our SHUTDOWN: answer with SHUTDOWN and SACK, T2 begins again (RFC 9260 §9.2).
    pub(super) fn repeat_shutdown(&mut self, now: Instant) {
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.on_sack_timer();
        }
        self.answered(now, self.outgoing.sack_path, Answer::Acknowledged);
        self.send_shutdown(now, self.outgoing.sack_path);
    }

    /// Any packet of a peer that is to answer SHUTDOWN shows that it is there: T2 and the count of attempts begin again, as
    /// long as T5 lets them (RFC 9260 §9.2).
    pub(super) fn wait_for_shutdown_ack(&mut self, now: Instant) {
        if self.state.name() == S::ShutdownSent && self.timers.is_running(Timer::T2Shutdown) {
            let rto = self.paths.path(self.outgoing.control_path).rto.rto();
            self.outgoing.errors = 0;
            self.timers.set(Timer::T2Shutdown, now + rto);
        }
    }

    pub(super) fn on_shutdown(&mut self, now: Instant, path: PathId, cumulative_tsn_ack: Tsn) {
        let state = self.state.name();
        if state == S::ShutdownAckSent {
            // The SHUTDOWN ACK was lost. T2 and the count of attempts go on: whoever repeats himself ends nothing later.
            return self.push_chunk(path, Ok(ChunkBuf::shutdown_ack()));
        }
        if matches!(state, S::CookieWait | S::CookieEchoed | S::Closed) {
            return;
        }
        if !self.acknowledge_cumulatively(now, cumulative_tsn_ack) {
            return;
        }
        match state {
            S::Established | S::ShutdownPending => {
                self.sender.drain();
                self.state.enter_shutdown_received();
                self.guard_shutdown(now);
                self.events.push(Event::ShutdownReceived);
            }
            // Both sides asked at the same time.
            S::ShutdownSent => {
                self.state.enter_shutdown_ack_sent();
                self.send_shutdown(now, self.paths.for_data());
            }
            S::ShutdownReceived | S::CookieWait | S::CookieEchoed | S::ShutdownAckSent | S::Closed => {}
        }
    }

    /// Returns the Cumulative TSN Ack of a SHUTDOWN, as a SACK without gaps; one of what was never sent breaks
    /// the protocol even when nothing is outstanding. False if it ended the association.
    fn acknowledge_cumulatively(&mut self, now: Instant, cumulative_tsn_ack: Tsn) -> bool {
        if self.is_renumbering() {
            return true;
        }
        let a_rwnd = u32::try_from(self.sender.peer_window()).unwrap_or(u32::MAX);
        let sack = Sack::cumulative(cumulative_tsn_ack, a_rwnd);
        match self.sender.on_sack(now, &sack, &self.paths) {
            Ok(outcome) => self.apply_sack(now, &outcome),
            Err(SackRefused::Old | SackRefused::Malformed) => {}
            Err(SackRefused::Violation(violation)) => {
                self.abort_for(violation);
                return false;
            }
        }
        true
    }

    pub(super) fn on_shutdown_ack(&mut self, path: PathId) {
        if !matches!(self.state.name(), S::ShutdownSent | S::ShutdownAckSent) {
            return;
        }
        self.control.clear();
        self.push_control(path, Ok(ChunkBuf::shutdown_complete(TagOrigin::Receiver)), Bundling::Alone);
        self.close(None);
    }

    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state.name() == S::ShutdownAckSent {
            self.control.clear();
            self.close(None);
        }
    }

    /// The peer restarted while we were waiting for its SHUTDOWN COMPLETE (RFC 9260 §9.2).
    pub(crate) fn repeat_shutdown_ack(&mut self, now: Instant) {
        self.send_shutdown(now, self.paths.for_data());
    }
}

/// Octets of the user's reason that fit an ABORT.
const REASON_BYTES: usize = 400;
