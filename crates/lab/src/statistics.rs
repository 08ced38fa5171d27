//! Times of messages: distribution, mean and how sure it is. Comparisons, plans and studies have the same rule for each.

mod calls;
mod counters;
mod delays;
mod frames;
mod handover;
mod one_way;

use core::time::Duration;

use statrs::distribution::{ContinuousCDF, StudentsT};

pub use calls::CallCounts;
pub use counters::{LoadCounters, TransportCounts};
pub use delays::{Delays, Moments};
pub use frames::{FrameCounts, WorkloadCounts};
pub use handover::HandoverCounts;
pub use one_way::{OneWay, Trip};
pub use workload::Spread;

/// The times of messages from one or several runs, put together by seed.
#[derive(Clone, Debug)]
pub struct Distribution {
    spread: Spread,
    unanswered: u64,
    /// Moments, maximum and batch means of each run, by seed.
    runs: Vec<Option<(Moments, Duration, Vec<f64>)>>,
}

impl Distribution {
    /// Takes the times of each run in the order of their messages, and how many were not answered.
    #[must_use]
    pub fn of_runs(runs: &[Vec<Duration>], unanswered: u64) -> Self {
        let mut distribution = Self { unanswered, ..Self::new(runs.len()) };
        for (position, times) in runs.iter().enumerate() {
            let mut delays = Delays::new();
            times.iter().for_each(|time| delays.record(*time));
            distribution.add(position, &delays, 0);
        }
        distribution
    }

    pub(crate) fn new(seeds: usize) -> Self {
        Self { spread: Spread::new(), unanswered: 0, runs: vec![None; seeds] }
    }

    pub(crate) fn add(&mut self, position: usize, delays: &Delays, unanswered: u64) {
        self.unanswered += unanswered;
        if delays.moments().count() == 0 {
            return;
        }
        self.spread.add(delays.spread());
        self.runs[position] = Some((delays.moments(), delays.max(), delays.batch_means()));
    }

    /// Returns the mean of each run, in ms.
    #[must_use]
    pub fn means(&self) -> Vec<f64> {
        self.runs.iter().flatten().filter_map(|(moments, ..)| moments.mean()).collect()
    }

    /// Returns the sample variance of each run, in ms².
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        self.runs.iter().flatten().filter_map(|(moments, ..)| moments.variance()).collect()
    }

    /// Returns the means of consecutive times in ms, at most 32 of equal length, run by run: whether they grow, a mean does not tell.
    #[must_use]
    pub fn batch_means(&self) -> Vec<&[f64]> {
        self.runs.iter().flatten().map(|(.., batches)| batches.as_slice()).collect()
    }

    /// Returns the mean of the runs' means, in ms; `None` without any.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        mean(&self.means())
    }

    /// Returns the 95 % interval of the mean: over runs where there are ten or more, otherwise over batches of
    /// consecutive messages; `None` with fewer than ten of those, too.
    ///
    /// Successive times are not independent — one loss delays several messages — so that the plain interval would be
    /// too narrow. Means of batches nearly are; a batch never spans two runs.
    #[must_use]
    pub fn ci95(&self) -> Option<[f64; 2]> {
        let batches: Vec<f64> =
            self.runs.iter().flatten().flat_map(|(.., batches)| batches).copied().collect();
        let half = half_width(&self.means()).or_else(|| half_width(&batches))?;
        self.mean().map(|mean| [mean - half, mean + half])
    }

    /// Returns the number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.spread.count()
    }

    /// Returns the number of messages that were not answered.
    #[must_use]
    pub const fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Returns the quantile by nearest rank in ms, within a thousandth of itself ([`Spread`]), to which a message without answer is
    /// longer than everything; `None` where it falls among these, and with fewer than five messages beyond it, where it would be a
    /// matter of luck.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.spread.told_quantile_ms(share, self.unanswered)
    }

    /// Returns the longest time in ms.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        self.runs.iter().flatten().map(|(_, max, _)| milliseconds(*max)).reduce(f64::max)
    }

    /// Returns `(ms, share of messages that took longer, or were not answered)`, at each value that occurs.
    #[must_use]
    pub fn ccdf(&self) -> Vec<(f64, f64)> {
        let steps = self.spread.ccdf();
        if self.unanswered == 0 {
            return steps;
        }
        let (count, unanswered) = (self.count() as f64, self.unanswered as f64);
        steps
            .into_iter()
            .map(|(ms, share)| (ms, (share * count + unanswered) / (count + unanswered)))
            .collect()
    }
}

/// Returns the mean of some figures.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns half the width of the 95 % interval of the mean of independent values; `None` with fewer than [`MIN_BATCHES`] of them.
#[must_use]
pub fn half_width(values: &[f64]) -> Option<f64> {
    if values.len() < MIN_BATCHES {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    Some(student.inverse_cdf(0.975) * (variance / count).sqrt())
}

/// Returns a duration in milliseconds, as all reports have it.
#[must_use]
pub fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// The fewest batches or runs for a confidence interval.
pub const MIN_BATCHES: usize = 10;

#[cfg(test)]
mod tests;
