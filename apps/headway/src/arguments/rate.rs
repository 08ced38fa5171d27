//! Rates of requests: plain numbers per second.

use models::Rate;

/// The mistake in a rate.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RateError {
    #[error("a rate is a plain number per second, such as 100")]
    NoNumber,
    #[error("it must be more than 0: write for example 0.5 for one every two seconds")]
    NotPositive,
}

/// Parses a rate greater than zero.
pub(crate) fn parse_rate(text: &str) -> Result<Rate, RateError> {
    let number: f64 = text.parse().map_err(|_| RateError::NoNumber)?;
    if number.is_finite() {
        Rate::per_second(number).map_err(|_| RateError::NotPositive)
    } else {
        Err(RateError::NoNumber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_rates() {
        assert_eq!(parse_rate("100").unwrap(), Rate::per_second(100.0).unwrap());
        assert_eq!(parse_rate("0").unwrap_err(), RateError::NotPositive);
        assert_eq!(parse_rate("100/s").unwrap_err(), RateError::NoNumber);
        assert_eq!(parse_rate("inf").unwrap_err(), RateError::NoNumber);
    }
}
