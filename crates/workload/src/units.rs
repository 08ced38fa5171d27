//! Durations as people write them: a number and a unit.

use core::time::Duration;

use thiserror::Error;

/// Reads `20ms`, `1.5s`, `250us`, `40ns`, `2min`, `1h`.
///
/// # Errors
///
/// A number without a unit is refused (seconds or milliseconds?), and so is everything that is negative, not
/// finite or longer than 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let text = text.trim();
    let unit_starts =
        text.find(|c: char| c.is_ascii_alphabetic() || matches!(c, 'µ' | 'μ')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_starts);
    let value: f64 = number.trim().parse().map_err(|_| DurationError::NotANumber(text.to_owned()))?;
    let seconds_per_unit = match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "" => return Err(DurationError::NoUnit(text.to_owned())),
        _ => return Err(DurationError::UnknownUnit { unit: unit.to_owned(), text: text.to_owned() }),
    };
    let span = Duration::try_from_secs_f64(value * seconds_per_unit)
        .map_err(|_| DurationError::OutOfRange(text.to_owned()))?;
    if u64::try_from(span.as_nanos()).is_err() {
        return Err(DurationError::OutOfRange(text.to_owned()));
    }
    Ok(span)
}

/// The reason why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// No number in front of the unit.
    #[error("`{0}` is not a duration: write a number and a unit, as in 20ms")]
    NotANumber(String),
    /// A number was given without a unit.
    #[error("`{0}` has no unit: write {0}ms or {0}s")]
    NoUnit(String),
    /// A unit that is none of ns, us, ms, s, min, h.
    #[error("`{text}`: unknown unit `{unit}`, use ns, us, ms, s, min or h")]
    UnknownUnit {
        /// The text that followed the number.
        unit: String,
        /// The whole text that was given.
        text: String,
    },
    /// The duration is negative or too long.
    #[error("`{0}` is out of range: a duration is not negative and below 584 years, such as 20ms")]
    OutOfRange(String),
}

#[cfg(test)]
mod tests;
