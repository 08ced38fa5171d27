//! The evidence that a run leaves behind for a statement: a value and how sure it is, the values of several runs, or a
//! fact. Whether the evidence bears the statement out is said by a [`Criterion`](super::Criterion).

use core::fmt;

use crate::statistics::{half_width, mean};

/// A value of ours, and the interval in which it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    value: f64,
    interval: Option<[f64; 2]>,
}

/// The evidence that was found about a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// A value with its interval.
    Estimate(Estimate),
    /// The values of several runs, one value of each run.
    Runs(Vec<f64>),
    /// Values by name, in the order in which the statement speaks of them.
    Several(Vec<(String, Estimate)>),
    /// Something that is so or is not, with the figures that show it.
    Fact(bool, String),
    /// There is no evidence, and the text says why.
    Missing(String),
}

impl Estimate {
    /// Creates the value of a model, or of a run in which nothing is random: its interval is the value alone.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, interval: Some([value, value]) }
    }

    /// Creates a value with its interval; `None` where there were too few runs or batches for one.
    #[must_use]
    pub const fn new(value: f64, interval: Option<[f64; 2]>) -> Self {
        Self { value, interval }
    }

    /// Creates the mean of one value per run with Student's interval; `None` without any run.
    #[must_use]
    pub fn of_runs(values: &[f64]) -> Option<Self> {
        let value = mean(values)?;
        Some(Self { value, interval: half_width(values).map(|half| [value - half, value + half]) })
    }

    /// Creates a share of `count` messages, of which `cluster` behave alike, because one loss delays several; `None` of none.
    #[must_use]
    pub fn of_share(share: f64, count: u64, cluster: f64) -> Option<Self> {
        let independent = count as f64 / cluster;
        // Wilson's interval, which has a width at a share of nothing, too.
        let squared = NORMAL * NORMAL / independent;
        let middle = (share + squared / 2.0) / (1.0 + squared);
        let half = NORMAL / (1.0 + squared)
            * (share * (1.0 - share) / independent + squared / independent / 4.0).sqrt();
        // At a share of nothing the lower end is nothing, but for the last digit.
        let low = (middle - half).max(0.0);
        (count > 0).then_some(Self { value: share, interval: Some([low, middle + half]) })
    }

    /// Returns the value without its interval.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.value
    }

    /// Returns the interval, if there were runs enough for one.
    #[must_use]
    pub const fn interval(self) -> Option<[f64; 2]> {
        self.interval
    }

    /// Returns half of the width of the interval.
    #[must_use]
    pub fn half_width(self) -> Option<f64> {
        self.interval.map(|[low, high]| (high - low) / 2.0)
    }

    /// Returns the estimate times a number and plus another.
    #[must_use]
    pub fn scaled(self, factor: f64, plus: f64) -> Self {
        let of = |value: f64| value * factor + plus;
        let interval = self.interval.map(|[low, high]| [of(low).min(of(high)), of(low).max(of(high))]);
        Self { value: of(self.value), interval }
    }

    /// Returns by how much this is more than another, as a share of the other; both are independent.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        let ratio = self.value / other.value;
        let halves = self.half_width().zip(other.half_width());
        let half = halves.map(|(own, others)| (own / self.value).hypot(others / other.value) * ratio.abs());
        Self { value: ratio - 1.0, interval: half.map(|half| [ratio - 1.0 - half, ratio - 1.0 + half]) }
    }

    /// Returns whether value and interval are numbers.
    #[must_use]
    pub fn is_finite(self) -> bool {
        self.value.is_finite() && self.interval.into_iter().flatten().all(f64::is_finite)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.value)?;
        self.half_width().filter(|half| *half > 0.0).map_or(Ok(()), |half| write!(f, " ± {half:.2}"))
    }
}

impl From<Estimate> for Evidence {
    fn from(estimate: Estimate) -> Self {
        Self::Estimate(estimate)
    }
}

impl From<Option<Estimate>> for Evidence {
    fn from(estimate: Option<Estimate>) -> Self {
        estimate
            .map_or_else(|| Self::Missing("there were too few runs for a value".to_owned()), Self::Estimate)
    }
}

/// 97.5 % of the normal distribution lie below this many deviations.
const NORMAL: f64 = 1.96;
