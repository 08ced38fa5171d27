//! Ending an association: gracefully (RFC 9260 §9.2) or at once (§9.1).

use sctp_wire::{Cause, ChunkBuf, TagOrigin, Tsn};
use virtual_time::Instant;

use super::{Association, AssociationState as S, Timer};
use crate::error::{AssociationError, ProtocolViolation};
use crate::event::Event;
use crate::path::Answer;
use crate::sender::acknowledge::SackRefused;
use crate::trace;
use crate::transmit::PathIndex;

impl Association {
    /// The user wants a graceful end: what is queued is still delivered.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        // What is queued is delivered once the association is up; a peer that restarts does not take the wish back.
        self.session.shutdown_wanted = true;
        match self.session.state.name() {
            S::Established => {
                self.outbound.sender.drain();
                self.session.state.enter_shutdown_pending();
                self.session.guard_shutdown(now, &mut self.outbound);
                self.after_input(now);
            }
            // Nothing is agreed yet and nothing waits: there is nobody to shut down with.
            S::CookieWait if self.outbound.sender.is_dry() => self.abort(b""),
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
        if self.session.authentication.spares() {
            trace::violation_ignored(&violation);
            self.session.authentication.statistics.note().unauthenticated_chunks += 1;
            return;
        }
        self.abort_with(violation, TagOrigin::Receiver);
    }

    pub(super) fn abort_with(&mut self, violation: ProtocolViolation, tag: TagOrigin) {
        self.send_abort(tag, &[cause_of(&violation, &violation.to_string())]);
        self.close(Some(violation.into()));
    }

    /// The peer wants something that cannot be, as the cause says.
    pub(super) fn abort_with_cause(&mut self, violation: ProtocolViolation, cause: Cause<'_>) {
        self.send_abort(TagOrigin::Receiver, &[cause]);
        self.close(Some(violation.into()));
    }

    /// Aborts the association for want of memory, as the error says.
    pub(crate) fn abort_exhausted(&mut self, error: AssociationError) {
        self.send_abort(TagOrigin::Receiver, &[Cause::OutOfResource]);
        self.close(Some(error));
    }

    /// Nothing else goes out any more.
    fn send_abort(&mut self, tag: TagOrigin, causes: &[Cause<'_>]) {
        self.outbound.control.clear();
        if self.session.peer.peer_tag.is_some() {
            let path = self.outbound.paths.for_data();
            self.outbound.push_alone(path, &mut self.session, ChunkBuf::abort(tag, causes));
        }
    }

    /// Takes the next step once everything sent is acknowledged.
    pub(super) fn progress_shutdown(&mut self, now: Instant) {
        if self.outbound.sender.is_dry()
            && let is_renumbering = self.reconfig.is_renumbering()
            && self.session.progress_shutdown(now, is_renumbering, &mut self.outbound)
        {
            self.send_shutdown(now, self.outbound.paths.for_data());
        }
    }

    /// SHUTDOWN or SHUTDOWN ACK, whichever this state sends, and T2 (again).
    pub(super) fn send_shutdown(&mut self, now: Instant, path: PathIndex) {
        let cumulative_tsn = self.inbound.cumulative_tsn();
        self.session.send_shutdown(now, path, cumulative_tsn, &mut self.outbound);
    }

    /// Data came in after our SHUTDOWN: answer with SHUTDOWN and SACK, T2 begins again (RFC 9260 §9.2).
    pub(super) fn repeat_shutdown(&mut self, now: Instant) {
        self.inbound.hurry_sack();
        let path = self.inbound.sack_path;
        self.outbound.answered(now, path, Answer::Acknowledged, &mut self.session);
        self.send_shutdown(now, path);
    }

    /// Any packet of a peer that is to answer SHUTDOWN shows that it is there: T2 and the count of attempts begin again, as
    /// long as T5 lets them (RFC 9260 §9.2). T2 does so once for each SHUTDOWN: otherwise one that was lost would not be sent
    /// again as long as HEARTBEATs come more often than T2 expires.
    pub(super) fn wait_for_shutdown_ack(&mut self, now: Instant) {
        if self.session.state.name() != S::ShutdownSent || !self.outbound.timers.is_running(Timer::T2Shutdown)
        {
            return;
        }
        self.outbound.supervision.forgive_peer();
        if !core::mem::replace(&mut self.session.has_waited_longer, true) {
            let rto = self.outbound.paths.path(self.session.control_path).rto.rto();
            self.outbound.timers.set(Timer::T2Shutdown, now + rto);
        }
    }

    pub(super) fn on_shutdown(&mut self, now: Instant, path: PathIndex, cumulative_tsn_ack: Tsn) {
        let state = self.session.state.name();
        if state == S::ShutdownAckSent {
            // The SHUTDOWN ACK was lost. T2 and the count of attempts go on: whoever repeats himself ends nothing later.
            return self.outbound.push(path, &mut self.session, Ok(ChunkBuf::shutdown_ack()));
        }
        if matches!(state, S::CookieWait | S::CookieEchoed | S::Closed) {
            return;
        }
        if !self.acknowledge_cumulatively(now, cumulative_tsn_ack) {
            return;
        }
        match state {
            S::Established | S::ShutdownPending => {
                self.outbound.sender.drain();
                self.session.state.enter_shutdown_received();
                self.session.guard_shutdown(now, &mut self.outbound);
                self.session.tell(Event::ShutdownReceived);
            }
            // Both sides asked at the same time. Without an address to answer from, the peer's next SHUTDOWN is answered.
            S::ShutdownSent if self.outbound.paths.has_source() => {
                self.session.state.enter_shutdown_ack_sent();
                self.send_shutdown(now, self.outbound.paths.for_data());
            }
            S::ShutdownSent
            | S::ShutdownReceived
            | S::CookieWait
            | S::CookieEchoed
            | S::ShutdownAckSent
            | S::Closed => {}
        }
    }

    /// Returns the Cumulative TSN Ack of a SHUTDOWN, as a SACK without gaps; one of what was never sent breaks
    /// the protocol even when nothing is outstanding. False if it ended the association.
    fn acknowledge_cumulatively(&mut self, now: Instant, cumulative_tsn_ack: Tsn) -> bool {
        if self.reconfig.is_renumbering() {
            return true;
        }
        match self.outbound.on_cumulative_ack(now, cumulative_tsn_ack, &mut self.session) {
            Ok(()) | Err(SackRefused::Old | SackRefused::Malformed) => {}
            Err(SackRefused::Violation(violation)) => {
                self.abort_for(violation);
                return false;
            }
        }
        true
    }

    pub(super) fn on_shutdown_ack(&mut self, path: PathIndex) {
        if !matches!(self.session.state.name(), S::ShutdownSent | S::ShutdownAckSent) {
            return;
        }
        self.outbound.control.clear();
        let complete = ChunkBuf::shutdown_complete(TagOrigin::Receiver);
        self.outbound.push_alone(path, &mut self.session, Ok(complete));
        self.close(None);
    }

    pub(super) fn on_shutdown_complete(&mut self) {
        if self.session.state.name() == S::ShutdownAckSent {
            self.outbound.control.clear();
            self.close(None);
        }
    }

    /// The peer restarted while we were waiting for its SHUTDOWN COMPLETE (RFC 9260 §9.2).
    pub(crate) fn repeat_shutdown_ack(&mut self, now: Instant) {
        self.send_shutdown(now, self.outbound.paths.for_data());
    }
}

/// Returns the error cause that tells the peer of its violation; `text` says it in words.
fn cause_of<'a>(violation: &ProtocolViolation, text: &'a str) -> Cause<'a> {
    match *violation {
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
    }
}

/// Octets of the user's reason that fit an ABORT.
const REASON_BYTES: usize = 400;
