//! A distribution of delays in memory that does not grow with their number, and what quantiles it gives.

use core::time::Duration;

use hdrhistogram::Histogram;

/// How delays are spread: how many fell into each of some thousand intervals, and where in them on average.
///
/// An interval is 1 µs wide below 2 ms and a thousandth of its delays above. A quantile is the mean of the delays in the
/// interval where it falls: no quantile is smaller than the smallest delay or larger than the largest, and delays that are all
/// equal are told exactly.
#[derive(Clone, Debug)]
pub struct Spread {
    /// The histogram of delays, in microseconds.
    histogram: Histogram<u64>,
    /// The sum by which delays exceed the low edge of their interval, in nanoseconds, by the number of the interval.
    above_ns: Vec<u64>,
    max: Duration,
}

impl Spread {
    /// Creates a distribution without delays.
    #[must_use]
    #[allow(clippy::expect_used, reason = "one to five digits are always possible")]
    pub fn new() -> Self {
        let histogram = Histogram::new(DIGITS).expect("three digits");
        Self { histogram, above_ns: Vec::new(), max: Duration::ZERO }
    }

    /// Adds a delay to the distribution.
    pub fn record(&mut self, delay: Duration) {
        let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        // It grows as need be.
        let _ = self.histogram.record(micros);
        let Interval { number, edge_micros } = Interval::of(micros);
        if number >= self.above_ns.len() {
            self.above_ns.resize(number + 1, 0);
        }
        let above = delay.saturating_sub(Duration::from_micros(edge_micros));
        self.above_ns[number] += u64::try_from(above.as_nanos()).unwrap_or(u64::MAX);
        self.max = self.max.max(delay);
    }

    /// Takes all delays of `other`.
    pub fn add(&mut self, other: &Self) {
        // Both grow as need be.
        let _ = self.histogram.add(&other.histogram);
        let intervals = self.above_ns.len().max(other.above_ns.len());
        self.above_ns.resize(intervals, 0);
        for (all, above) in self.above_ns.iter_mut().zip(&other.above_ns) {
            *all += above;
        }
        self.max = self.max.max(other.max);
    }

    /// Returns the number of delays.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the longest; zero without delays.
    #[must_use]
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Returns the delay in ms that the share `share` of all does not exceed, by nearest rank; `None` without delays.
    #[must_use]
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.mean_ms(self.histogram.value_at_quantile(share)))
    }

    /// Returns that delay where `unanswered` messages more are longer than all; `None` where it falls among these, and
    /// with fewer than five beyond it, where it would be a matter of luck.
    #[must_use]
    pub fn told_quantile_ms(&self, share: f64, unanswered: u64) -> Option<f64> {
        let (count, all) = (self.count() as f64, (self.count() + unanswered) as f64);
        let rank = (share * all - ROUNDING).ceil();
        let is_told = rank >= 1.0 && rank <= count && all - rank >= BEYOND;
        if is_told { self.quantile_ms((rank - 0.5) / count) } else { None }
    }

    /// Returns `(ms, share of longer delays)`, at each interval that has delays.
    #[must_use]
    pub fn ccdf(&self) -> Vec<(f64, f64)> {
        let all = self.count() as f64;
        let mut seen = 0;
        let step = |value: hdrhistogram::iterators::IterationValue<u64>| {
            seen += value.count_at_value();
            (self.mean_ms(value.value_iterated_to()), (all - seen as f64) / all)
        };
        self.histogram.iter_recorded().map(step).collect()
    }

    /// Returns the mean of the delays in the interval of `micros`.
    fn mean_ms(&self, micros: u64) -> f64 {
        let Interval { number, edge_micros } = Interval::of(micros);
        let above = self.above_ns.get(number).copied().unwrap_or(0);
        edge_micros as f64 / 1e3 + above as f64 / self.histogram.count_at(micros).max(1) as f64 / 1e6
    }
}

/// An interval of delays that count as one: as the histogram has them with three digits.
struct Interval {
    /// The number of intervals before it.
    number: usize,
    /// The shortest of its delays.
    edge_micros: u64,
}

impl Interval {
    /// Returns the interval of a delay of `micros` microseconds.
    fn of(micros: u64) -> Self {
        // Below twice this number each microsecond is one; above, each doubling has so many.
        let width = (u64::BITS - micros.leading_zeros()).saturating_sub(PER_DOUBLING.ilog2() + 1);
        let number = u64::from(width) * PER_DOUBLING + (micros >> width);
        Self {
            number: usize::try_from(number).unwrap_or(usize::MAX),
            edge_micros: (micros >> width) << width,
        }
    }
}

impl Default for Spread {
    fn default() -> Self {
        Self::new()
    }
}

const BEYOND: f64 = 5.0;
/// A share of a number of messages may be a whole number that arithmetic does not hit.
const ROUNDING: f64 = 1e-9;
/// Intervals are a thousandth of their delays wide.
const DIGITS: u8 = 3;
/// The number of intervals from one power of two to the next: the least power of two that tells a thousand apart.
const PER_DOUBLING: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delays: impl IntoIterator<Item = Duration>) -> Spread {
        let mut spread = Spread::new();
        delays.into_iter().for_each(|delay| spread.record(delay));
        spread
    }

    #[test]
    fn equal_delays_are_told_exactly() {
        let spread = of([Duration::from_millis(80); 1_000]);
        assert_eq!(spread.quantile_ms(0.5), Some(80.0));
        assert_eq!(spread.ccdf(), [(80.0, 0.0)]);
        let with_losses =
            of([Duration::from_millis(80); 1_000].into_iter().chain([Duration::from_millis(283)]));
        assert_eq!(
            (with_losses.quantile_ms(0.99), with_losses.max()),
            (Some(80.0), Duration::from_millis(283))
        );
    }

    #[test]
    fn quantiles_lie_between_the_smallest_and_the_largest_delay_and_within_a_thousandth() {
        let delay = |n: u64| Duration::from_nanos(79_990_001 + 13_331 * n);
        let spread = of((0..2_000).map(delay));
        assert_eq!(spread.count(), 2_000);
        for permille in 0..=1000 {
            let share = f64::from(permille) / 1000.0;
            let told = spread.quantile_ms(share).unwrap();
            let exact = delay((2 * u64::try_from(permille).unwrap()).saturating_sub(1)).as_secs_f64() * 1e3;
            assert!((told / exact - 1.0).abs() < 1e-3, "{share}: {told} for {exact}");
            assert!(delay(0).as_secs_f64() * 1e3 <= told && told <= spread.max().as_secs_f64() * 1e3);
        }
        assert_eq!(Spread::new().quantile_ms(0.5), None);
    }

    #[test]
    fn intervals_are_those_of_the_histogram() {
        let spread = Spread::new();
        let mut next = 0;
        for micros in (0..5_000).chain((5_000..40_000_000).step_by(991)) {
            let Interval { number, edge_micros } = Interval::of(micros);
            assert_eq!(edge_micros, spread.histogram.lowest_equivalent(micros), "{micros}");
            assert!(number == next || number + 1 == next || micros > 5_000, "{micros}");
            next = number + 1;
        }
        assert_eq!(Interval::of(u64::MAX).edge_micros, spread.histogram.lowest_equivalent(u64::MAX));
    }

    #[test]
    fn parts_make_the_whole() {
        let delay = |n: u64| Duration::from_micros(900 + n * n);
        let mut joined = of((0..300).map(delay));
        joined.add(&of((300..700).map(delay)));
        let whole = of((0..700).map(delay));
        assert_eq!((joined.ccdf(), joined.max()), (whole.ccdf(), whole.max()));
    }
}
