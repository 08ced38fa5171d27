//! The two kinds of number the models take besides durations.

use core::fmt;
use core::time::Duration;

use crate::error::ModelError;

/// A probability `0 ≤ p < 1`. One is excluded: nothing would ever arrive.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// The probability zero, of what never happens.
    pub const ZERO: Self = Self(0.0);
    /// The probability of one per cent.
    pub const ONE_PERCENT: Self = Self(0.01);

    /// Creates the probability `value`.
    ///
    /// # Errors
    ///
    /// [`ModelError::NotAProbability`] unless `0 ≤ value < 1`.
    pub fn new(value: f64) -> Result<Self, ModelError> {
        if (0.0..1.0).contains(&value) { Ok(Self(value)) } else { Err(ModelError::NotAProbability { value }) }
    }

    /// Returns the number, from 0 (included) to 1 (excluded).
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Returns the probability of the contrary, `1 − p`.
    #[must_use]
    pub fn complement(self) -> f64 {
        1.0 - self.0
    }
}

impl fmt::Display for Probability {
    /// Writes the probability as a percentage with at most six decimals: `1%`, `0.25%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:.6}", self.0 * 100.0);
        write!(f, "{}%", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Events per second: positive and finite.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Creates the rate of `value` events per second.
    ///
    /// # Errors
    ///
    /// [`ModelError::NotARate`] unless `value` is positive and both it and `1 / value` are finite.
    pub fn per_second(value: f64) -> Result<Self, ModelError> {
        if value > 0.0 && value.is_finite() && value.recip().is_finite() {
            Ok(Self(value))
        } else {
            Err(ModelError::NotARate { value })
        }
    }

    /// Creates the rate of events that are `interval` apart on average.
    ///
    /// # Errors
    /// [`ModelError::ZeroDuration`] if `interval` is zero.
    pub fn from_interval(interval: Duration) -> Result<Self, ModelError> {
        if interval.is_zero() {
            return Err(ModelError::ZeroDuration { quantity: "the interval" });
        }
        Self::per_second(interval.as_secs_f64().recip())
    }

    /// Returns the number of events per second.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Returns the mean time between two events, in seconds: a [`Duration`] would round it.
    #[must_use]
    pub fn interval_s(self) -> f64 {
        self.0.recip()
    }
}
