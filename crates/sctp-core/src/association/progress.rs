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

use super::{Association, AssociationState as S, Timer};
use crate::error::AssociationError;
use crate::trace;

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

impl Association {
    /// The association is ending: what waits has to be taken.
    pub(super) fn guard_shutdown(&mut self, now: Instant) {
        self.outgoing.progress.waiting_bytes = self.sender.waiting_bytes();
        self.timers.set(Timer::T5ShutdownGuard, now + self.guard_period());
    }

    /// Returns the period of the T5-shutdown-guard timer (RFC 9260 §9.2).
    fn guard_period(&self) -> Duration {
        self.config.rto.max * 5
    }

    pub(super) fn on_t5(&mut self, now: Instant) {
        if self.is_draining() {
            return self.guard_shutdown(now);
        }
        trace::t5_shutdown_guard_expired();
        self.abort_quietly(AssociationError::ShutdownTimedOut);
    }

    /// Returns whether data still waits, and enough of it was taken since the guard was started.
    fn is_draining(&self) -> bool {
        let taken = self.outgoing.progress.waiting_bytes.saturating_sub(self.sender.waiting_bytes());
        let seconds = usize::try_from(self.guard_period().as_secs()).unwrap_or(usize::MAX);
        matches!(self.state.name(), S::ShutdownPending | S::ShutdownReceived)
            && taken > 0
            && taken >= seconds.saturating_mul(DRAINED_BYTES_PER_SECOND)
    }

    /// Keeps the timer of the user's limit in step with what waits.
    #[inline]
    pub(super) fn watch_progress(&mut self, now: Instant) {
        if let Some(limit) = self.config.attempts.persist {
            self.apply_persist(now, limit);
        }
    }

    fn apply_persist(&mut self, now: Instant, limit: Duration) {
        if self.sender.is_dry() {
            self.timers.stop(Timer::Persist);
        } else if self.may_send_data() && !self.timers.is_running(Timer::Persist) {
            self.outgoing.progress.last_at = now;
            self.timers.set(Timer::Persist, now + limit);
        }
    }

    /// Judges the peer's progress when the timer runs out. The timer is not moved with every acknowledgment: it
    /// looks when the last one came, and runs on from there.
    pub(super) fn on_persist_timer(&mut self, now: Instant) {
        let Some(limit) = self.config.attempts.persist else { return };
        if !self.may_send_data() || self.sender.is_dry() {
            return;
        }
        let until = self.outgoing.progress.last_at + limit;
        if now < until {
            self.timers.set(Timer::Persist, until);
        } else {
            self.abort_quietly(AssociationError::NothingAcknowledged { limit });
        }
    }
}

/// Octets of messages, and 64 for each, that a peer has to take in a second while the association
/// shuts down: a packet a minute, 18 hours for a megabyte. Slower is as good as not at all.
const DRAINED_BYTES_PER_SECOND: usize = 16;
