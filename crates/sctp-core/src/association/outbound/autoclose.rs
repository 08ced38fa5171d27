//! Associations that nobody uses end by themselves (RFC 6458 §8.1.8).
//!
//! The timer is not moved with every message: when it runs out it looks when data was last seen, and runs on from there.

use core::time::Duration;

use virtual_time::Instant;

use super::Outbound;
use crate::association::timers::Timer;

/// The use of an association, as far as it counts for autoclose.
#[derive(Clone, Copy, Debug)]
pub(in crate::association) struct Usage {
    /// The time at which user data was last sent, received or handed in.
    last_data_at: Instant,
    /// Whether it was idle for too long and is ending, or has ended, because of it.
    pub(in crate::association) is_autoclosed: bool,
}

impl Usage {
    pub(super) const NONE: Self = Self { last_data_at: Instant::EPOCH, is_autoclosed: false };

    pub(super) fn on_user_data(&mut self, now: Instant) {
        self.last_data_at = now;
    }
}

impl Outbound {
    /// The association is up: from now on it may be idle.
    pub(super) fn begin_autoclose(&mut self, now: Instant, idle: Option<Duration>) {
        if let Some(idle) = idle {
            self.supervision.usage.on_user_data(now);
            self.timers.set(Timer::Autoclose, now + idle);
        }
    }

    /// Looks whether the association has been idle for so long that it is to end. What waits to be sent, for a window or for
    /// the peer, is being used.
    pub(in crate::association) fn has_idled(&mut self, now: Instant, idle: Duration) -> bool {
        if !self.sender.is_dry() {
            self.supervision.usage.on_user_data(now);
        }
        let idle_until = self.supervision.usage.last_data_at + idle;
        if now < idle_until {
            self.timers.set(Timer::Autoclose, idle_until);
            return false;
        }
        crate::trace::autoclose_expired(idle);
        self.supervision.usage.is_autoclosed = true;
        true
    }
}
