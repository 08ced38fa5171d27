//! Numbers as people write them on the command line and in plans, and what to say when they do not fit.

/// A text is not the quantity that was expected. Every message names the value and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// The text is not a number, with or without `%`.
    #[error("`{value}` is not a probability: write 1% or 0.01")]
    NotAProbability {
        /// The text, as it was given.
        value: String,
    },
    /// A bare number from one on, which is almost certainly meant as a percentage.
    #[error("`{value}` would be every packet or more: did you mean {value}%?")]
    MissingPercent {
        /// The text, as it was given.
        value: String,
    },
    /// A number outside 0 ≤ p < 1.
    #[error("`{value}` is out of range: a probability is at least 0% and below 100%")]
    ProbabilityOutOfRange {
        /// The text, as it was given.
        value: String,
    },
    /// `ge:` with too few or too many numbers.
    #[error(
        "`{value}` is not a Gilbert-Elliott model: write ge:p,r,h,k such as ge:1%,30%,0,1 (1 to 4 numbers)"
    )]
    NotGilbertElliott {
        /// The text, as it was given.
        value: String,
    },
    /// The four numbers make no usable model.
    #[error("`{value}`: {reason}")]
    InvalidGilbertElliott {
        /// The text, as it was given.
        value: String,
        /// The bound that is broken.
        reason: crate::InvalidGilbertElliott,
    },
    /// `bursts:` without two times, or with more than two shares.
    #[error(
        "`{value}` is not a model of bursts: write bursts:GOOD,BAD,h,k such as bursts:990ms,10ms (mean time between bursts and mean length of one; h and k may be left out)"
    )]
    NotBursts {
        /// The text that was given for the bursts.
        value: String,
    },
    /// The times and shares make no usable model.
    #[error("`{value}`: {reason}")]
    InvalidBursts {
        /// The text that was given for the bursts.
        value: String,
        /// The bound that a value of the text breaks.
        reason: crate::InvalidBursts,
    },
    /// A link rate without a unit.
    #[error("`{value}` has no unit: write {value}bit, {value}kbit, {value}mbit or {value}gbit (per second)")]
    RateWithoutUnit {
        /// The text, as it was given.
        value: String,
    },
    /// The text is not a link rate.
    #[error("`{value}` is not a link rate: write 500bit, 100kbit, 1.7mbit or 1gbit (per second)")]
    NotABitRate {
        /// The text, as it was given.
        value: String,
    },
    /// A rate of zero carries nothing.
    #[error("`{value}` carries nothing: a link rate is at least 1bit; leave it out for an unlimited rate")]
    RateIsZero {
        /// The text, as it was given.
        value: String,
    },
    /// The text is not a number of octets.
    #[error("`{value}` is not a size: write 500 (octets) or 64KiB, 1.5MiB, 1GiB")]
    NotASize {
        /// The text, as it was given.
        value: String,
    },
    /// The text gives neither packets nor octets.
    #[error("`{value}` is not a queue limit: write 50p (packets), 64KiB or 500 (octets)")]
    NotAQueueLimit {
        /// The text, as it was given.
        value: String,
    },
}

/// Reads `1%` or `0.01`, whatever the range: the fraction, and whether it was a percentage.
pub(crate) fn fraction(text: &str) -> Result<(f64, bool), ParseError> {
    let (digits, divisor) = match text.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((number / divisor, divisor > 1.0)),
        Ok(_) | Err(_) => Err(ParseError::NotAProbability { value: text.to_owned() }),
    }
}

/// Reads `12` or `1.75` as that many times `scale`, exactly; `None` unless the result is a whole number below 2⁶⁴.
pub(crate) fn decimal(digits: &str, scale: u64) -> Option<u64> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    if !is_number(whole) || !is_number(part) {
        return None;
    }
    let part = part.trim_end_matches('0');
    let tens = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part = if part.is_empty() { 0 } else { part.parse::<u64>().ok()? };
    let scaled = part.checked_mul(scale)?;
    let rest = scaled.is_multiple_of(tens).then_some(scaled / tens)?;
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(rest)
}

/// Reads `20ms`, `1.5s`, `250us`, `40ns`, `2min`, `1h`, exactly; `None` for anything else.
pub(crate) fn span(text: &str) -> Option<core::time::Duration> {
    let (digits, unit) = split_unit(text);
    let scale = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    decimal(digits, scale).map(core::time::Duration::from_nanos)
}

/// Splits a number from the unit behind it.
pub(crate) fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(decimal("1.7", 1_000_000), Some(1_700_000));
        assert_eq!(decimal("0.001", 1000), Some(1));
        assert_eq!(decimal("1.50", 2), Some(3));
        assert_eq!(decimal("0.3", 1), None);
        assert_eq!(decimal("18446744073709551616", 1), None);
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1.2.3"] {
            assert_eq!(decimal(text, 1000), None, "{text}");
        }
    }
}
