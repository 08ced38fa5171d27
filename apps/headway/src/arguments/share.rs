//! Shares of a whole: `50%` or `0.5`, from nothing to all of it.

use super::parse_probability;
use super::probability::ProbabilityError;

/// Parses a share: as a probability is written, but `100%` is one too.
pub(crate) fn parse_share(text: &str) -> Result<f64, ProbabilityError> {
    if text.strip_suffix('%').map(str::trim_end) == Some("100") {
        return Ok(1.0);
    }
    parse_probability(text).map(models::Probability::value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_nothing_all_or_a_part() {
        assert_eq!(parse_share("0%"), Ok(0.0));
        assert_eq!(parse_share("50%"), Ok(0.5));
        assert_eq!(parse_share("0.25"), Ok(0.25));
        assert_eq!(parse_share("100%"), Ok(1.0));
    }

    #[test]
    fn what_lacks_its_percent_sign_is_refused() {
        assert_eq!(parse_share("1"), Err(ProbabilityError::NoPercentSign(1.0)));
        assert_eq!(parse_share("101%"), Err(ProbabilityError::OutOfRange));
    }
}
