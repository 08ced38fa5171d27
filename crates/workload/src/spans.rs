//! Spans of time at random, one after the other: how long calls last, when the next begins.

use core::time::Duration;

use crate::arrivals::{ArrivalProcess, Arrivals, ArrivalsError};

/// Exponential spans: the time between the arrivals of a Poisson process.
///
/// ```
/// use core::time::Duration;
/// use workload::ExponentialSpans;
///
/// let mut spans = ExponentialSpans::new(Duration::from_secs(180), 1)?;
/// let mean = (0..10_000).map(|_| spans.next_span()).sum::<Duration>() / 10_000;
/// assert!(mean.abs_diff(Duration::from_secs(180)) < Duration::from_secs(6));
/// # Ok::<(), workload::ArrivalsError>(())
/// ```
#[derive(Debug)]
pub struct ExponentialSpans {
    process: ArrivalProcess,
    latest: Duration,
}

impl ExponentialSpans {
    /// Spans with this mean; the same seed gives the same.
    ///
    /// # Errors
    ///
    /// [`ArrivalsError`] if the mean is zero.
    pub fn new(mean: Duration, seed: u64) -> Result<Self, ArrivalsError> {
        let process = ArrivalProcess::new(Arrivals::Poisson, mean, seed)?;
        Ok(Self { process, latest: Duration::ZERO })
    }

    /// Returns the next interval.
    pub fn next_span(&mut self) -> Duration {
        let offset = self.process.next_offset().unwrap_or(self.latest);
        let span = offset.saturating_sub(self.latest);
        self.latest = offset;
        span
    }
}
