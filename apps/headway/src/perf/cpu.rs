//! Processor time of this process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns user and system time of all threads since the process began.
pub(crate) fn process_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanoseconds) = (u64::try_from(spent.tv_sec), u32::try_from(spent.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
}
