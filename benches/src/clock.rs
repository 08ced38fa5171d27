//! The machine's clock, for results; the engine never sees it.

use std::hint::black_box;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// How much processor time `work` takes: what other processes take meanwhile does not count.
pub fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let begun = processor_time();
    let result = work();
    (processor_time() - begun, result)
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).expect("Linux has this clock")
}

/// The median of what was measured.
///
/// # Panics
/// Without measurements.
pub fn median<T: PartialOrd + Copy>(mut measured: Vec<T>) -> T {
    measured.sort_by(|a, b| a.partial_cmp(b).expect("measurements compare"));
    measured[measured.len() / 2]
}

/// What the machine can do at the moment: nanoseconds for the CRC32c of 1400 octets, and for copying them.
#[must_use]
pub fn calibration() -> (f64, f64) {
    const ROUNDS: u32 = 100_000;
    let (from, mut to) = (vec![0xa5_u8; 1400], vec![0_u8; 1400]);
    let crc = || crc_fast::crc32_iscsi(black_box(&from));
    let per_round = |time: Duration| time.as_nanos() as f64 / f64::from(ROUNDS);
    let checksum =
        median((0..5).map(|_| per_round(timed(|| (0..ROUNDS).fold(0, |sum, _| sum ^ crc())).0)).collect());
    let mut copy = || black_box(&mut to).copy_from_slice(black_box(&from));
    let copying = median((0..5).map(|_| per_round(timed(|| (0..ROUNDS).for_each(|_| copy())).0)).collect());
    (checksum, copying)
}
