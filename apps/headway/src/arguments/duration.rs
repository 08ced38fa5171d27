//! Durations with a unit: `20ms`, `1.5s`, `250us`.

use std::time::Duration;

/// The mistake in a duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DurationError {
    #[error("a duration needs a unit: write {0}ms or {0}s")]
    NoUnit(String),
    #[error("'{0}' is not a unit of time: use ns, us, ms, s, min or h, as in 20ms")]
    UnknownUnit(String),
    #[error("a duration is a number with a unit, such as 20ms or 1.5s")]
    NoNumber,
    #[error("that is too long: write less than 500000 years")]
    TooLong,
    #[error("it must be longer than 0: write for example 10ms")]
    Zero,
}

/// Parses a duration of zero or more.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number: f64 = digits.parse().map_err(|_| DurationError::NoNumber)?;
    let seconds_per_unit = match unit.trim_start() {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "" => return Err(DurationError::NoUnit(digits.to_owned())),
        unknown => return Err(DurationError::UnknownUnit(unknown.to_owned())),
    };
    let seconds = number * seconds_per_unit;
    if seconds > LONGEST_S { Err(DurationError::TooLong) } else { Ok(Duration::from_secs_f64(seconds)) }
}

/// Parses a duration longer than zero.
pub(crate) fn parse_positive_duration(text: &str) -> Result<Duration, DurationError> {
    parse_duration(text).and_then(|time| if time.is_zero() { Err(DurationError::Zero) } else { Ok(time) })
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

/// Far below what a `Duration` holds, far above any use.
const LONGEST_S: f64 = 1.5e13;

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
        assert_eq!(parse_duration("2min").unwrap(), Duration::from_secs(120));
        assert_eq!(parse_duration("1h").unwrap(), Duration::from_secs(3600));
        assert_eq!(parse_duration("0ms").unwrap(), Duration::ZERO);
    }

    #[test]
    fn bare_numbers_are_refused_with_a_remedy() {
        let error = parse_duration("20").unwrap_err();
        assert_eq!(error.to_string(), "a duration needs a unit: write 20ms or 20s");
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(
            parse_duration("20 parsecs").unwrap_err(),
            DurationError::UnknownUnit("parsecs".to_owned())
        );
        for text in ["", "ms", "-5ms", "1.2.3s", "NaNs", "infs"] {
            assert_eq!(parse_duration(text).unwrap_err(), DurationError::NoNumber, "{text}");
        }
        assert_eq!(parse_duration("99999999999999999999s").unwrap_err(), DurationError::TooLong);
        assert_eq!(parse_positive_duration("0s").unwrap_err(), DurationError::Zero);
    }
}
