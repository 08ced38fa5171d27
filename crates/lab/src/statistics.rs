//! Response times: distribution, mean and how sure it is.

use core::time::Duration;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The response times of one transport, from one or several repetitions.
///
/// Percentiles are exact order statistics: every sample is kept for `samples.csv` anyway, so there is nothing to
/// gain from the rounding of a histogram.
#[derive(Clone, Debug)]
pub struct ResponseTimes {
    sorted: Vec<Duration>,
    sum_s: f64,
    unanswered: usize,
    /// The times of each repetition in ms, in the order of sending.
    repetitions: Vec<Vec<f64>>,
}

impl ResponseTimes {
    /// Takes the response times of each repetition in the order of their requests, and how many requests were not answered.
    #[must_use]
    pub fn new(repetitions: &[Vec<Duration>], unanswered: usize) -> Self {
        let mut sorted = repetitions.concat();
        sorted.sort_unstable();
        let in_ms = |repetition: &Vec<Duration>| repetition.iter().copied().map(milliseconds).collect();
        Self {
            sum_s: sorted.iter().map(Duration::as_secs_f64).sum(),
            sorted,
            unanswered,
            repetitions: repetitions.iter().map(in_ms).collect(),
        }
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Returns how many requests were not answered.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// Returns the mean of the responses in ms; `None` without responses.
    #[must_use]
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_s * 1e3 / self.count() as f64)
    }

    /// Returns the longest response time in ms; `None` without responses.
    #[must_use]
    pub fn max_ms(&self) -> Option<f64> {
        self.sorted.last().copied().map(milliseconds)
    }

    /// Returns a percentile by nearest rank, in ms, to which a request without response is longer than
    /// everything; `None` where it falls among these, and with fewer than five requests beyond it, where it
    /// would be a matter of luck.
    #[must_use]
    pub fn percentile_ms(&self, percentile: Percentile) -> Option<f64> {
        let all = self.count() + self.unanswered;
        let rank = (all * percentile.per_mille()).div_ceil(1000);
        if rank == 0 || all - rank < SAMPLES_BEYOND {
            return None;
        }
        self.sorted.get(rank - 1).copied().map(milliseconds)
    }

    /// Returns `(ms, share of the requests with a longer response time, or none)` at each value that occurs,
    /// ascending.
    #[must_use]
    pub fn ccdf(&self) -> Vec<(f64, f64)> {
        let all = self.count() + self.unanswered;
        let mut steps = Vec::new();
        for (index, value) in self.sorted.iter().enumerate() {
            if self.sorted.get(index + 1) != Some(value) {
                steps.push((milliseconds(*value), (all - index - 1) as f64 / all as f64));
            }
        }
        steps
    }

    /// Returns the 95 % confidence interval of the mean by batch means, in ms; `None` with fewer than
    /// [`MIN_BATCHES`] batches.
    ///
    /// Successive response times are not independent — one loss delays several — so that the plain interval would be
    /// too narrow. Means of batches of consecutive requests nearly are; a batch never spans two repetitions.
    #[must_use]
    pub fn ci95_ms(&self) -> Option<[f64; 2]> {
        let means = self.batch_means();
        let half = half_width(&means)?;
        let mean = self.mean_ms()?;
        Some([mean - half, mean + half])
    }

    fn batch_means(&self) -> Vec<f64> {
        let size = self.count().div_ceil(MAX_BATCHES).max(MIN_BATCH_SIZE);
        let batches = self.repetitions.iter().flat_map(|repetition| repetition.chunks_exact(size));
        batches.map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect()
    }
}

/// Returns half the width of the 95 % interval of the mean of independent values.
pub(crate) fn half_width(values: &[f64]) -> Option<f64> {
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

/// The percentiles of all reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    /// The median, which half of the requests do not exceed.
    P50,
    /// The percentile that nine of ten requests do not exceed.
    P90,
    /// All but one of a hundred.
    P99,
    /// All but one of a thousand.
    P999,
}

impl Percentile {
    fn per_mille(self) -> usize {
        match self {
            Self::P50 => 500,
            Self::P90 => 900,
            Self::P99 => 990,
            Self::P999 => 999,
        }
    }
}

/// The fewest batches for a confidence interval.
pub const MIN_BATCHES: usize = 10;

/// More batches than this make them shorter, not the interval better.
const MAX_BATCHES: usize = 30;

/// Requests that a batch has at least.
const MIN_BATCH_SIZE: usize = 20;

const SAMPLES_BEYOND: usize = 5;

#[cfg(test)]
mod tests;
