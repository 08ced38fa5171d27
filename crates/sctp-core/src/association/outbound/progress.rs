//! Whether the peer takes what waits for it. One that keeps its window shut, or answers HEARTBEATs alone, resets every
//! counter of errors and would hold the association and its send buffer for ever.
//!
//! * From SHUTDOWN-PENDING and SHUTDOWN-RECEIVED on, T5-shutdown-guard runs for what waits, too, though RFC 9260 §9.2 starts it
//!   with SHUTDOWN: nobody may be left to end the association otherwise. Each time it runs out enough must have been
//!   acknowledged for it to run once more, so that the time it takes in all is bounded by what waited.
//! * Before, only if the user set a limit ([`Attempts::persist`](crate::Attempts::persist)).
//!
//! Progress is what the cumulative TSN ack has passed, or what was given up: what a SACK reports in gaps it may take back.

use core::time::Duration;

use virtual_time::Instant;

use super::Outbound;
use crate::association::AssociationState;
use crate::association::timers::Timer;

/// How far the peer has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The time at which the peer last acknowledged something, or when there was something to acknowledge
    /// again.
    last_at: Instant,
    /// The octets in the send buffer when T5-shutdown-guard was started for them.
    waiting_bytes: usize,
}

impl Progress {
    pub(super) const NONE: Self = Self { last_at: Instant::EPOCH, waiting_bytes: 0 };

    /// The cumulative TSN ack has advanced.
    #[inline]
    pub(super) fn on_acknowledged(&mut self, now: Instant) {
        self.last_at = now;
    }
}

impl Outbound {
    /// The association is ending: what waits has to be taken. T5-shutdown-guard runs for `period` (RFC 9260 §9.2).
    pub(in crate::association) fn guard_shutdown(&mut self, now: Instant, period: Duration) {
        self.progress.waiting_bytes = self.sender.waiting_bytes();
        self.timers.set(Timer::T5ShutdownGuard, now + period);
    }

    /// Returns whether data still waits, and enough of it was taken since the guard was started.
    pub(in crate::association) fn is_draining(&self, state: AssociationState, period: Duration) -> bool {
        let taken = self.progress.waiting_bytes.saturating_sub(self.sender.waiting_bytes());
        let seconds = usize::try_from(period.as_secs()).unwrap_or(usize::MAX);
        matches!(state, AssociationState::ShutdownPending | AssociationState::ShutdownReceived)
            && taken > 0
            && taken >= seconds.saturating_mul(DRAINED_BYTES_PER_SECOND)
    }

    /// Keeps the timer of the user's limit in step with what waits.
    pub(super) fn watch_progress(&mut self, now: Instant, state: AssociationState, limit: Duration) {
        if self.sender.is_dry() {
            self.timers.stop(Timer::Persist);
        } else if state.sends_data() && !self.timers.is_running(Timer::Persist) {
            self.progress.last_at = now;
            self.timers.set(Timer::Persist, now + limit);
        }
    }

    /// Judges the peer's progress when the timer of the user's limit runs out; returns whether the association may go on. The
    /// timer is not moved with every acknowledgment: it looks when the last one came, and runs on from there.
    #[must_use]
    pub(in crate::association) fn on_persist_timer(
        &mut self,
        now: Instant,
        state: AssociationState,
        limit: Duration,
    ) -> bool {
        if !state.sends_data() || self.sender.is_dry() {
            return true;
        }
        let until = self.progress.last_at + limit;
        let has_time = now < until;
        if has_time {
            self.timers.set(Timer::Persist, until);
        }
        has_time
    }
}

/// Octets of messages, and 64 for each, that a peer has to take in a second while the association
/// shuts down: a packet a minute, 18 hours for a megabyte. Slower is as good as not at all.
const DRAINED_BYTES_PER_SECOND: usize = 16;
