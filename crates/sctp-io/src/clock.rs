//! The kernel's monotonic clock as `virtual_time::Instant`.

use std::sync::OnceLock;
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::time::{ClockId, Timespec, clock_gettime};
use virtual_time::Instant;

/// Time since 1970 in nanoseconds, as the cores want it, and as captures have it.
///
/// Reads `CLOCK_MONOTONIC` (the clock behind `std::time::Instant`): it never goes back, is slewed but never
/// stepped, and stands still while the machine is suspended. What it shows at the beginning is what the calendar
/// (`CLOCK_REALTIME`) shows when the first clock of the process is made; all clocks of a process show the same, so that what
/// its endpoints tell can be put in order, and beside their packets.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// The distance of the calendar from the kernel's clock, in nanoseconds.
    ahead: u64,
}

impl Clock {
    /// Creates the clock of this process.
    #[must_use]
    pub fn start() -> Self {
        static AHEAD: OnceLock<u64> = OnceLock::new();
        Self { ahead: *AHEAD.get_or_init(calendar_ahead) }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::from_nanos(monotonic().saturating_add(self.ahead))
    }

    /// Returns `at` on the kernel's clock, for absolute timers. A time before the system started becomes its
    /// first nanosecond: zero would disarm a timer instead of firing it.
    #[cfg(target_os = "linux")]
    pub(crate) fn kernel_time(self, at: Instant) -> Duration {
        Duration::from_nanos(at.as_nanos().saturating_sub(self.ahead).max(1))
    }
}

/// Returns how far the calendar is ahead of the kernel's clock, in nanoseconds, by the closest of several pairs
/// of readings.
fn calendar_ahead() -> u64 {
    let reading = || {
        let before = monotonic();
        let calendar = calendar();
        let between = monotonic().saturating_sub(before);
        (between, calendar.saturating_sub(before + between / 2))
    };
    (0..READINGS).map(|_| reading()).min().map_or(0, |(_, ahead)| ahead)
}

/// Reads the kernel's monotonic clock in nanoseconds: enough for 584 years after the system started.
#[cfg(target_os = "linux")]
fn monotonic() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Reads the calendar, in nanoseconds since 1970.
#[cfg(target_os = "linux")]
fn calendar() -> u64 {
    nanos(ClockId::Realtime)
}

#[cfg(target_os = "linux")]
fn nanos(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    // Neither is negative.
    tv_sec.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(tv_nsec.unsigned_abs())
}

/// Reads the monotonic clock in nanoseconds since the process first did so.
#[cfg(not(target_os = "linux"))]
fn monotonic() -> u64 {
    static FIRST: OnceLock<std::time::Instant> = OnceLock::new();
    nanos(FIRST.get_or_init(std::time::Instant::now).elapsed())
}

/// Reads the calendar, in nanoseconds since 1970.
#[cfg(not(target_os = "linux"))]
fn calendar() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, nanos)
}

#[cfg(not(target_os = "linux"))]
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Enough that a thread is not interrupted in each.
const READINGS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clocks_show_the_calendars_time() {
        let first = Clock::start().now();
        let calendar = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let second = Clock::start().now();
        assert!(first <= second);
        // A calendar that somebody sets meanwhile is another matter.
        let hour = Duration::from_secs(3600);
        assert!(calendar.abs_diff(Duration::from_nanos(first.as_nanos())) < hour);
    }
}
