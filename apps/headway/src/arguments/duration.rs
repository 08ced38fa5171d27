//! Durations with a unit: `20ms`, `1.5s`, `250us`.

use std::time::Duration;

pub(crate) use workload::parse_duration;

/// The mistake in a duration that must not be zero.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PositiveDurationError {
    #[error(transparent)]
    Duration(#[from] workload::DurationError),
    #[error("it must be longer than 0: write for example 10ms")]
    Zero,
}

/// Parses a duration longer than zero.
pub(crate) fn parse_positive_duration(text: &str) -> Result<Duration, PositiveDurationError> {
    let time = parse_duration(text)?;
    if time.is_zero() { Err(PositiveDurationError::Zero) } else { Ok(time) }
}

/// Returns a duration as it is written on the command line, in the unit that fits: `20ms`, `1.5s`.
pub(crate) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = if time.is_zero() || seconds >= 1.0 {
        (seconds, "s")
    } else if seconds >= 1e-3 {
        (seconds * 1e3, "ms")
    } else if seconds >= 1e-6 {
        (seconds * 1e6, "us")
    } else {
        (seconds * 1e9, "ns")
    };
    let digits = format!("{number:.6}");
    format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood_and_printed_again() {
        for (text, nanos) in [("20ms", 20_000_000), ("1.5s", 1_500_000_000), ("250us", 250_000), ("7ns", 7)] {
            let time = parse_duration(text).unwrap();
            assert_eq!(time.as_nanos(), nanos);
            assert_eq!(format_duration(time), text);
        }
    }

    #[test]
    fn zero_is_refused_where_it_means_nothing() {
        assert_eq!(parse_positive_duration("0s"), Err(PositiveDurationError::Zero));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        let error = parse_positive_duration("20").unwrap_err();
        assert_eq!(error.to_string(), "`20` has no unit: write 20ms or 20s");
    }
}
