//! Probabilities: `1%` or `0.01`.

use models::Probability;

/// The mistake in a probability.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum ProbabilityError {
    #[error("did you mean {0}%? A probability is a percentage such as 1% or a number such as 0.01")]
    NoPercentSign(f64),
    #[error("it must be at least 0 and less than 1 (100%)")]
    OutOfRange,
    #[error("a probability is a percentage such as 1% or a number such as 0.01")]
    NoNumber,
}

/// Parses a probability `0 ≤ p < 1`.
pub(crate) fn parse_probability(text: &str) -> Result<Probability, ProbabilityError> {
    let (digits, divisor) = match text.strip_suffix('%') {
        Some(digits) => (digits.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| ProbabilityError::NoNumber)?;
    Probability::new(number / divisor).map_err(|_| {
        // A number in percent that lost its sign, unless nothing would be left of the path.
        if divisor == 1.0 && (1.0..100.0).contains(&number) {
            ProbabilityError::NoPercentSign(number)
        } else {
            ProbabilityError::OutOfRange
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_and_numbers_are_the_same() {
        assert_eq!(parse_probability("1%"), parse_probability("0.01"));
        assert_eq!(parse_probability("0").unwrap(), Probability::ZERO);
        assert_eq!(parse_probability("0%").unwrap(), Probability::ZERO);
    }

    #[test]
    fn a_number_without_its_percent_sign_is_refused() {
        assert!(parse_probability("1").unwrap_err().to_string().starts_with("did you mean 1%?"));
        assert!(parse_probability("5").unwrap_err().to_string().starts_with("did you mean 5%?"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["100%", "-0.1", "200", "NaN", "inf"] {
            assert_eq!(parse_probability(text).unwrap_err(), ProbabilityError::OutOfRange, "{text}");
        }
        for text in ["", "%", "much", "1%%"] {
            assert_eq!(parse_probability(text).unwrap_err(), ProbabilityError::NoNumber, "{text}");
        }
    }
}
