//! What many measurements say together.

use std::time::Duration;

/// The smallest of the measurements that so many thousandths of them do not exceed, in microseconds; NaN without measurements.
pub(super) fn quantile_us(measured: &mut [Duration], thousandths: usize) -> f64 {
    if measured.is_empty() {
        return f64::NAN;
    }
    let rank = (measured.len() * thousandths).div_ceil(1000).max(1) - 1;
    let (_, value, _) = measured.select_nth_unstable(rank);
    value.as_secs_f64() * 1e6
}

/// Jain's index: 1 if all have the same, 1/n if one has all.
pub(super) fn jain(counts: &[u32]) -> f64 {
    let sum: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    let squares: f64 = counts.iter().map(|&count| f64::from(count) * f64::from(count)).sum();
    sum * sum / (counts.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measurements_that_so_many_do_not_exceed() {
        let mut measured: Vec<Duration> = (1..=1000).rev().map(Duration::from_micros).collect();
        assert_eq!(
            [500, 990, 999, 1000].map(|share| quantile_us(&mut measured, share)),
            [500.0, 990.0, 999.0, 1000.0]
        );
        assert_eq!(quantile_us(&mut [Duration::from_millis(2)], 1), 2000.0);
        assert!(quantile_us(&mut [], 500).is_nan());
    }

    #[test]
    fn jain_is_one_for_equals_and_the_share_of_who_has_all() {
        assert_eq!(jain(&[7, 7, 7]), 1.0);
        assert_eq!(jain(&[0, 0, 9, 0]), 0.25);
    }
}
