//! The timers of what waits and of what is in flight, kept in step with it.

use virtual_time::Instant;

use super::Outbound;
use crate::association::AssociationState;
use crate::association::session::Session;
use crate::association::timers::Timer;
use crate::transmit::PathIndex;

impl Outbound {
    /// Keeps the timers in step after something came in, or time passed.
    #[inline]
    pub(in crate::association) fn watch(&mut self, now: Instant, session: &Session) {
        let state = session.state.name();
        self.watch_peer_window(now, state);
        self.watch_tail(now, state);
        self.watch_lifetimes();
        if let Some(limit) = session.config.attempts.persist {
            self.watch_progress(now, state, limit);
        }
    }

    /// Keeps the timers in step after the user handed messages in.
    #[inline]
    pub(in crate::association) fn watch_messages(&mut self, now: Instant, session: &Session) {
        self.supervision.usage.on_user_data(now);
        self.watch_lifetimes();
        if let Some(limit) = session.config.attempts.persist {
            self.watch_progress(now, session.state.name(), limit);
        }
        self.note_messages(now);
        // With something outstanding its acknowledgment will tell of the peer's window.
        if !self.sender.has_any_outstanding() {
            self.watch_peer_window(now, session.state.name());
        }
    }

    /// Keeps the timers of partial reliability in step with what waits and what is unconfirmed.
    #[inline]
    fn watch_lifetimes(&mut self) {
        if self.sender.gives_up() {
            self.keep_lifetimes_in_step();
        }
    }

    /// Kept apart, so that a message that nobody gives up does not pay for the registers this takes.
    #[inline(never)]
    fn keep_lifetimes_in_step(&mut self) {
        let (expiry, again_at) = (self.sender.next_expiry(), self.sender.forward_again_at());
        self.timers.apply(Timer::Lifetime, expiry);
        self.timers.apply(Timer::ForwardTsn, again_at);
    }

    /// RFC 9260 §6.1 (A): a closed window with nothing in flight is probed after an RTO.
    #[inline]
    fn watch_peer_window(&mut self, now: Instant, state: AssociationState) {
        let path = self.paths.path(self.paths.for_data());
        if self.sender.may_need_window_probe() && state.sends_data() && self.sender.needs_window_probe(path) {
            self.timers.start_if_stopped(Timer::WindowProbe, now + path.rto.rto());
        } else {
            self.timers.stop(Timer::WindowProbe);
        }
    }

    /// Keeps the tail-loss probe timers in step with what is in flight.
    #[inline]
    pub(super) fn watch_tail(&mut self, now: Instant, state: AssociationState) {
        if state == AssociationState::CookieEchoed {
            return;
        }
        // With nothing on its way a tail is nowhere to be watched.
        if self.sender.has_any_outstanding() || !self.paths.has_only_first() {
            self.watch_tails(now);
        } else if !self.paths.path(PathIndex::FIRST).probe_is_due {
            self.timers.stop(Timer::TailLossProbe(PathIndex::FIRST));
        }
    }

    #[inline(never)]
    fn watch_tails(&mut self, now: Instant) {
        for path in self.paths.ids() {
            let entry = self.paths.path(path);
            // One that is due already is not armed again: it waits for a packet, not for a time.
            if entry.probe_is_due {
                continue;
            }
            let at = self.sender.probe_at(entry).map(|at| at.max(now));
            let before_t3 = at.filter(|at| self.timers.at(Timer::T3Rtx(path)).is_none_or(|t3| *at < t3));
            self.timers.apply(Timer::TailLossProbe(path), before_t3);
        }
    }

    /// Nothing leaves now: wakes up when the pacer lets something go, if it is what data waits for.
    #[inline]
    pub(in crate::association) fn watch_pacing(&mut self, now: Instant, state: AssociationState) {
        if self.sender.has_waiting() {
            return self.watch_paced_data(now, state);
        }
        let path = self.paths.for_data();
        self.paths.path_mut(path).congestion.note_held(false);
        self.timers.stop(Timer::Pacing(path));
    }

    fn watch_paced_data(&mut self, now: Instant, state: AssociationState) {
        let path = self.sender.path_of_lost(&self.paths).unwrap_or_else(|| self.paths.for_data());
        let may_go = state != AssociationState::CookieEchoed;
        let wanted = if may_go { self.data_wanted(state) } else { None };
        let until = wanted.and_then(|_| self.paths.path(path).congestion.paced_until(now));
        let is_new = until.is_some() && !self.timers.is_running(Timer::Pacing(path));
        let congestion = &mut self.paths.path_mut(path).congestion;
        congestion.note_held(until.is_some());
        if is_new {
            congestion.on_paced();
        }
        self.timers.apply(Timer::Pacing(path), until);
    }

    /// The association is up: what went with COOKIE ECHO wants its timer now.
    pub(in crate::association) fn start_t3(&mut self, now: Instant) {
        for path in self.paths.iter().filter(|path| self.sender.has_outstanding(path.index)) {
            self.timers.start_if_stopped(Timer::T3Rtx(path.index), now + path.rto.rto());
        }
    }

    /// Nothing is in flight on a path any more that could be sent again there.
    pub(super) fn stop_retransmission(&mut self, path: PathIndex) {
        self.timers.stop(Timer::T3Rtx(path));
        self.timers.stop(Timer::TailLossProbe(path));
        self.paths.path_mut(path).probe_is_due = false;
    }

    /// RFC 9260 §6.3.2 (R2), also for paths whose chunks were acknowledged after they went again on another one; (R4),
    /// also for paths that were idle since.
    pub(super) fn keep_t3_in_step(&mut self, now: Instant) {
        for path in PathIndex::below(self.paths.ever().count()) {
            self.keep_t3_of(now, path);
        }
    }

    /// Keeps T3-rtx of a path in step.
    #[inline]
    pub(super) fn keep_t3_of(&mut self, now: Instant, path: PathIndex) {
        let t3 = Timer::T3Rtx(path);
        if !self.sender.needs_t3(path) {
            self.timers.stop(t3);
        } else if self.sender.flight(path) > 0 {
            self.timers.start_if_stopped(t3, now + self.paths.path(path).rto.rto());
        }
    }
}
