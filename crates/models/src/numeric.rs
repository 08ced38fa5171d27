//! Small numeric tools: checked conversions and the tail of the Erlang distribution.

use core::num::NonZeroU32;
use core::time::Duration;

use crate::error::ModelError;

/// How far above a whole number a value may lie and still be rounded to it instead of up: the studies'
/// formulas give whole numbers whose sums in binary are a little off.
const ROUNDING_TOLERANCE: f64 = 1.000_001e-9;

/// Returns `seconds` as a duration, with `quantity` to name it if it does not fit.
pub(crate) fn duration(seconds: f64, quantity: &'static str) -> Result<Duration, ModelError> {
    Duration::try_from_secs_f64(seconds).map_err(|_| ModelError::TooLarge { quantity })
}

/// Returns `value` rounded up to a count of at least one; values up to 1e-9 above a whole number are that
/// number.
pub(crate) fn count_rounded_up(value: f64, quantity: &'static str) -> Result<NonZeroU32, ModelError> {
    to_count((value - ROUNDING_TOLERANCE).ceil(), quantity)
}

/// Returns `value` rounded to the nearest count of at least one.
pub(crate) fn count_rounded(value: f64, quantity: &'static str) -> Result<NonZeroU32, ModelError> {
    to_count(value.round(), quantity)
}

fn to_count(whole: f64, quantity: &'static str) -> Result<NonZeroU32, ModelError> {
    if whole.is_nan() || whole > f64::from(u32::MAX) {
        return Err(ModelError::TooLarge { quantity });
    }
    let whole = whole.max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number between 1 and u32::MAX, as checked above"
    )]
    let count = whole as u32;
    NonZeroU32::new(count).ok_or(ModelError::ZeroCount { quantity })
}

/// Returns the probability that the `events`-th event of a Poisson process with `rate` per second comes after
/// `time` seconds: fewer than `events` events until then. One for `time ≤ 0`.
pub(crate) fn erlang_tail(events: u32, rate: f64, time: f64) -> f64 {
    let mean = rate * time;
    if mean <= 0.0 {
        return 1.0;
    }
    // In logarithms, because e^(−mean) alone underflows for large means.
    let ln_mean = mean.ln();
    let mut ln_term = -mean;
    let mut sum = 0.0;
    for event in 0..events {
        sum += ln_term.exp();
        ln_term += ln_mean - f64::from(event + 1).ln();
    }
    f64::min(sum, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_forgives_a_billionth() {
        assert_eq!(count_rounded_up(5.000_000_001, "n").unwrap().get(), 5);
        assert_eq!(count_rounded_up(5.000_001, "n").unwrap().get(), 6);
        assert_eq!(count_rounded_up(-3.0, "n").unwrap().get(), 1);
        assert!(count_rounded_up(f64::NAN, "n").is_err());
        assert!(count_rounded_up(1e12, "n").is_err());
    }

    #[test]
    fn erlang_tail_agrees_with_its_closed_forms() {
        let exponential = (-1.5f64).exp();
        assert!((erlang_tail(1, 3.0, 0.5) - exponential).abs() < 1e-15);
        assert!((erlang_tail(3, 3.0, 0.5) - exponential * (1.0 + 1.5 + 1.125)).abs() < 1e-15);
        assert!((erlang_tail(2, 3.0, 0.0) - 1.0).abs() < 1e-15);
        // The median of Erlang(1000) is about 1000 − 1/3.
        assert!((erlang_tail(1000, 1.0, 999.667) - 0.5).abs() < 1e-3);
    }
}
