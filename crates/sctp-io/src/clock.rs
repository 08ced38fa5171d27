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
    /// The epoch on the kernel's clock, in nanoseconds.
    epoch: u64,
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
        Instant::from_nanos(monotonic().saturating_sub(self.epoch))
    }

    /// `at` on the kernel's clock, for absolute timers.
    pub(crate) fn kernel_time(self, at: Instant) -> Duration {
        Duration::from_nanos(self.epoch.saturating_add(at.as_nanos()))
    }
}

/// In nanoseconds: enough for 584 years after the system started.
fn monotonic() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    // Neither is negative.
    tv_sec.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(tv_nsec.unsigned_abs())
}
