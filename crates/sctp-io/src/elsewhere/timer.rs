//! A deadline for a driver that waits by the timers of its runtime.

use virtual_time::Instant;

use crate::clock::Clock;

/// The time at which a driver wants to be woken. It wakes nobody by itself: whoever arms it tells the driver where
/// [`arm`](Self::arm) says so, and the driver waits until [`fires_at`](Self::fires_at).
#[derive(Debug)]
pub struct Timer {
    clock: Clock,
    fires_at: Option<Instant>,
}

impl Timer {
    /// Creates a timer that is not armed, for deadlines on `clock`.
    #[must_use]
    pub const fn new(clock: Clock) -> Self {
        Self { clock, fires_at: None }
    }

    /// Fires at `deadline` at the latest. Returns whether that is earlier than before, so that the driver has to look anew.
    pub fn arm(&mut self, deadline: Instant) -> bool {
        let is_earlier = self.fires_at.is_none_or(|fires_at| deadline < fires_at);
        if is_earlier {
            self.set(deadline);
        }
        is_earlier
    }

    /// Fires at `deadline` and not before.
    pub const fn set(&mut self, deadline: Instant) {
        self.fires_at = Some(deadline);
    }

    /// Disarms the timer if its time has come; returns whether it had.
    pub fn acknowledge(&mut self) -> bool {
        let has_fired = self.fires_at.is_some_and(|fires_at| fires_at <= self.clock.now());
        if has_fired {
            self.fires_at = None;
        }
        has_fired
    }

    /// Returns when it fires; `None` if it will not.
    #[must_use]
    pub const fn fires_at(&self) -> Option<Instant> {
        self.fires_at
    }
}
