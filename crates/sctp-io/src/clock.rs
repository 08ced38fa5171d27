//! The kernel's monotonic clock as `virtual_time::Instant`.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};
use virtual_time::Instant;

/// Time since the moment this clock was made, in nanoseconds, as the cores want it.
///
/// Reads `CLOCK_MONOTONIC` (the clock behind `std::time::Instant`): it never goes back, is slewed but never
/// stepped, and stands still while the machine is suspended. Copies share the epoch.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// The epoch on the kernel's clock.
    epoch: Duration,
}

impl Clock {
    /// A clock whose epoch is now.
    #[must_use]
    pub fn start() -> Self {
        Self { epoch: monotonic() }
    }

    /// The current time.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::EPOCH + monotonic().saturating_sub(self.epoch)
    }

    /// `at` on the kernel's clock, for absolute timers.
    pub(crate) fn kernel_time(self, at: Instant) -> Duration {
        self.epoch.saturating_add(at.since(Instant::EPOCH))
    }
}

fn monotonic() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(tv_sec).unwrap_or(0), u32::try_from(tv_nsec).unwrap_or(0))
}
