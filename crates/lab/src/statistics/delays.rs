//! Delays as they come: mean, variance, distribution and batch means in memory that does not grow.

use core::time::Duration;

use workload::Spread;

/// Delays of one kind in one run.
#[derive(Clone, Debug)]
pub struct Delays {
    spread: Spread,
    moments: Moments,
    batches: Batches,
}

impl Delays {
    /// Creates a collection without delays.
    #[must_use]
    pub fn new() -> Self {
        Self { spread: Spread::new(), moments: Moments::default(), batches: Batches::default() }
    }

    /// Adds a delay to the collection.
    pub fn record(&mut self, delay: Duration) {
        self.spread.record(delay);
        let ms = delay.as_secs_f64() * 1e3;
        self.moments.add(ms);
        self.batches.add(ms);
    }

    /// Returns the moments: mean, variance, largest.
    #[must_use]
    pub fn moments(&self) -> Moments {
        self.moments
    }

    /// Returns the longest delay.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.spread.max()
    }

    /// Returns the distribution of the delays.
    #[must_use]
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// Returns the means of consecutive delays in ms, at most 32 of equal length.
    #[must_use]
    pub fn batch_means(&self) -> Vec<f64> {
        self.batches.means()
    }
}

impl Default for Delays {
    fn default() -> Self {
        Self::new()
    }
}

/// Number, mean and variance of values in ms, by Welford's method: stable however many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a value to the moments.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    /// Returns the number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean of the values; `None` without any.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Returns the sample variance of the values; `None` with fewer than two.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }
}

/// Means of up to 32 batches; when there are more, neighbours are joined and batches become twice as long.
#[derive(Clone, Debug)]
struct Batches {
    length: u64,
    sums: Vec<f64>,
    open: (u64, f64),
}

impl Batches {
    fn add(&mut self, value: f64) {
        self.open.0 += 1;
        self.open.1 += value;
        if self.open.0 < self.length {
            return;
        }
        self.sums.push(self.open.1);
        self.open = (0, 0.0);
        if self.sums.len() == MOST_BATCHES {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.length *= 2;
        }
    }

    fn means(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.length as f64).collect()
    }
}

impl Default for Batches {
    fn default() -> Self {
        Self { length: FIRST_LENGTH, sums: Vec::new(), open: (0, 0.0) }
    }
}

const MOST_BATCHES: usize = 32;
const FIRST_LENGTH: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_values() {
        let mut moments = Moments::default();
        [1.0, 2.0, 3.0, 6.0].into_iter().for_each(|value| moments.add(value));
        assert_eq!((moments.count(), moments.mean()), (4, Some(3.0)));
        assert!((moments.variance().unwrap() - 14.0 / 3.0).abs() < 1e-12);
        assert_eq!((Moments::default().mean(), Moments::default().variance()), (None, None));
    }

    #[test]
    fn batches_stay_few_and_cover_all_values() {
        let mut delays = Delays::new();
        (1..=100_000).for_each(|n| delays.record(Duration::from_micros(n)));
        let means = delays.batch_means();
        assert!((16..32).contains(&means.len()), "{}", means.len());
        assert!(means.is_sorted());
        assert_eq!(delays.max(), Duration::from_millis(100));
        let median = delays.spread().quantile_ms(0.5).unwrap();
        assert!((49.9..=50.1).contains(&median), "{median}");
    }
}
