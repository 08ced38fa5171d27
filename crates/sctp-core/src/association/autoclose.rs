//! Associations that nobody uses end by themselves (RFC 6458 §8.1.8).
//!
//! The timer is not moved with every message: when it runs out it looks when data was last seen, and runs on from there.

use virtual_time::Instant;

use super::{Association, AssociationState, Timer};

/// The use of an association, as far as it counts for autoclose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// The time at which user data was last sent, received or handed in.
    last_data_at: Instant,
    /// Whether it was idle for too long and is ending, or has ended, because of it.
    pub(super) is_autoclosed: bool,
}

impl Usage {
    pub(super) const NONE: Self = Self { last_data_at: Instant::EPOCH, is_autoclosed: false };

    pub(super) fn on_user_data(&mut self, now: Instant) {
        self.last_data_at = now;
    }
}

impl Association {
    /// The association is up: from now on it may be idle.
    pub(super) fn begin_autoclose(&mut self, now: Instant) {
        if let Some(idle) = self.config.autoclose {
            self.outgoing.usage.on_user_data(now);
            self.timers.set(Timer::Autoclose, now + idle);
        }
    }

    pub(super) fn on_autoclose_timer(&mut self, now: Instant) {
        let Some(idle) = self.config.autoclose else { return };
        if self.state.name() != AssociationState::Established {
            return;
        }
        // What waits to be sent, for a window or for the peer, is being used.
        if !self.sender.is_dry() {
            self.outgoing.usage.on_user_data(now);
        }
        let idle_until = self.outgoing.usage.last_data_at + idle;
        if now < idle_until {
            self.timers.set(Timer::Autoclose, idle_until);
            return;
        }
        crate::trace::autoclose_expired(idle);
        self.outgoing.usage.is_autoclosed = true;
        self.shutdown(now);
    }
}
