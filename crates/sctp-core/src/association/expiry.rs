//! The handling of timers that run out.

use sctp_wire::ChunkBuf;
use virtual_time::Instant;

use super::{Association, AssociationState, Outbound, Session, Timer};
use crate::error::AssociationError;
use crate::path::{Loss, Unanswered};
use crate::trace;
use crate::transmit::PathIndex;

impl Association {
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.outbound.timers.take_expired(now) {
            tell_of(timer, &self.session, &self.outbound);
            self.on_expired(now, timer);
        }
        self.after_input(now);
    }

    fn on_expired(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::T1Init | Timer::T1Cookie => self.on_t1(now, timer),
            Timer::T2Shutdown => self.on_t2(now),
            Timer::T4Asconf => self.on_t4(now),
            Timer::T5ShutdownGuard => self.on_t5(now),
            Timer::SackDelay => self.inbound.hurry_sack(),
            Timer::WindowProbe => self.outbound.sender.allow_window_probe(),
            // What expired is looked for after every input.
            Timer::Lifetime => {}
            Timer::ForwardTsn => self.outbound.sender.repeat_forward(),
            Timer::Reordering => self.outbound.detect_losses(now),
            Timer::Reconfiguration => self.on_reconfig_timer(now),
            Timer::T3Rtx(path) => self.on_t3(now, path),
            Timer::TailLossProbe(path) => self.outbound.paths.path_mut(path).probe_is_due = true,
            Timer::PathMtu(path) => self.outbound.on_mtu_timer(now, path),
            // That time has passed is all there is to it: the packetizer looks again.
            Timer::Pacing(_) => {}
            Timer::Heartbeat(path) => self.on_heartbeat_timer(now, path),
            Timer::Autoclose => self.on_autoclose_timer(now),
            Timer::Persist => self.on_persist_timer(now),
        }
    }

    fn on_t2(&mut self, now: Instant) {
        let path = self.session.control_path;
        if self.unanswered(now, path, Unanswered::Transmission) {
            self.outbound.paths.path_mut(path).back_off();
            // RFC 9260 §6.4: what timed out goes elsewhere.
            self.send_shutdown(now, self.outbound.paths.for_lost(path, Loss::TimedOut));
        }
    }

    /// The last HEARTBEAT went unanswered, or the time for the next has come.
    fn on_heartbeat_timer(&mut self, now: Instant, path: PathIndex) {
        if let Err(error) = self.outbound.on_heartbeat_timer(now, path, &mut self.session) {
            self.abort_quietly(error);
        }
    }

    /// Counts an error on path and association; returns false if that was one too many and the association is over.
    pub(super) fn unanswered(&mut self, now: Instant, path: PathIndex, what: Unanswered) -> bool {
        let counted = self.outbound.unanswered(now, path, what, &mut self.session);
        counted.map_err(|error| self.abort_quietly(error)).is_ok()
    }

    /// Acts on T3-rtx, which has expired on a path (RFC 9260 §6.3.3).
    fn on_t3(&mut self, now: Instant, path: PathIndex) {
        // What was on its way to an address that the peer has deleted says nothing about the peer.
        if !self.outbound.paths.contains(path) {
            let _was_repeated = self.outbound.sender.lose_flight(now, path);
            return;
        }
        if self.outbound.excuses_silence() || self.unanswered(now, path, Unanswered::Transmission) {
            self.outbound.on_t3(now, path);
        }
    }

    /// Acts on T5-shutdown-guard: the association ends, unless the peer takes what waits.
    fn on_t5(&mut self, now: Instant) {
        let (state, period) = (self.session.state.name(), self.session.guard_period());
        if self.outbound.is_draining(state, period) {
            return self.outbound.guard_shutdown(now, period);
        }
        trace::t5_shutdown_guard_expired();
        self.abort_quietly(AssociationError::ShutdownTimedOut);
    }

    /// Acts on the timer of the user's limit for how long the peer may acknowledge nothing.
    fn on_persist_timer(&mut self, now: Instant) {
        let state = self.session.state.name();
        if let Some(limit) = self.session.config.attempts.persist
            && !self.outbound.on_persist_timer(now, state, limit)
        {
            self.abort_quietly(AssociationError::NothingAcknowledged { limit });
        }
    }

    /// The association may have been idle for so long that it ends.
    fn on_autoclose_timer(&mut self, now: Instant) {
        if let Some(idle) = self.session.config.autoclose
            && self.session.state.name() == AssociationState::Established
            && self.outbound.has_idled(now, idle)
        {
            self.shutdown(now);
        }
    }

    /// Gives up: an ABORT is sent on the chance that the peer hears it.
    pub(super) fn abort_quietly(&mut self, error: AssociationError) {
        self.outbound.control.clear();
        let abort = ChunkBuf::abort(sctp_wire::TagOrigin::Receiver, &[]);
        self.outbound.push_alone(self.outbound.paths.for_data(), &mut self.session, abort);
        self.close(Some(error));
    }
}

/// Tells whoever watches of a timer that has run out.
fn tell_of(timer: Timer, session: &Session, outbound: &Outbound) {
    let control_path = session.control_path;
    match timer {
        Timer::T1Init => trace::t1_init_expired(control_path),
        Timer::T1Cookie => trace::t1_cookie_expired(control_path),
        Timer::T2Shutdown => trace::t2_shutdown_expired(control_path),
        Timer::T3Rtx(path) => {
            trace::t3_rtx_expired(path, outbound.paths.path(path).rto.rto(), outbound.sender.flight(path));
        }
        Timer::T4Asconf => trace::t4_rto_expired(),
        Timer::Reconfiguration => trace::reconfig_timer_expired(),
        // What these lead to is told of where it happens.
        Timer::T5ShutdownGuard
        | Timer::SackDelay
        | Timer::WindowProbe
        | Timer::Lifetime
        | Timer::ForwardTsn
        | Timer::Reordering
        | Timer::TailLossProbe(_)
        | Timer::PathMtu(_)
        | Timer::Pacing(_)
        | Timer::Heartbeat(_)
        | Timer::Autoclose
        | Timer::Persist => {}
    }
}
