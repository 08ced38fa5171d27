//! A probability below one, and the comparison of a random draw with it.

use core::fmt;
use core::str::FromStr;

use crate::parse::{self, ParseError};

/// A probability `0 ≤ p < 1`, per packet.
///
/// One is excluded: a link that loses, duplicates or corrupts every packet is a misconfiguration, and the usual
/// reason for writing `1` is that `1%` was meant.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "f64", into = "f64")
)]
pub struct Probability(f64);

impl Probability {
    /// The probability of what never happens, zero.
    pub const ZERO: Self = Self(0.0);

    /// Creates the probability `p`.
    ///
    /// # Errors
    /// When `p` is not a number, negative, or one or more.
    pub fn new(p: f64) -> Result<Self, OutOfRange> {
        if (0.0..1.0).contains(&p) { Ok(Self(p)) } else { Err(OutOfRange { value: p }) }
    }

    /// Returns the value, `0 ≤ p < 1`.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Returns whether it can happen at all.
    #[must_use]
    pub fn is_possible(self) -> bool {
        self.0 > 0.0
    }

    /// Returns whether the uniform 64-bit `draw` falls below this probability.
    pub(crate) fn hits(self, draw: u64) -> bool {
        unit(draw) < self.0
    }
}

/// Returns a uniform 64-bit draw as a number in `0 ≤ u < 1` with 53 bits.
pub(crate) fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / TWO_TO_53
}

/// The value is no probability below one.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("{value} is no probability: it must be at least 0 and below 1")]
pub struct OutOfRange {
    /// The value that was given.
    pub value: f64,
}

impl TryFrom<f64> for Probability {
    type Error = OutOfRange;

    fn try_from(p: f64) -> Result<Self, OutOfRange> {
        Self::new(p)
    }
}

impl From<Probability> for f64 {
    fn from(p: Probability) -> Self {
        p.0
    }
}

/// `1%` or `0.01`; bare numbers from one on are refused.
impl FromStr for Probability {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (p, is_percent) = parse::fraction(text)?;
        Self::new(p).map_err(|OutOfRange { .. }| {
            if !is_percent && (1.0..100.0).contains(&p) {
                ParseError::MissingPercent { value: text.to_owned() }
            } else {
                ParseError::ProbabilityOutOfRange { value: text.to_owned() }
            }
        })
    }
}

/// As a plain number, which [`FromStr`] reads back.
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

const TWO_TO_53: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_fraction_are_the_same() {
        assert_eq!("1%".parse::<Probability>().unwrap(), "0.01".parse().unwrap());
        assert_eq!("0%".parse::<Probability>().unwrap(), Probability::ZERO);
        assert_eq!("0".parse::<Probability>().unwrap(), Probability::ZERO);
        let p = Probability::new(0.025).unwrap();
        assert_eq!(p.to_string().parse(), Ok(p));
    }

    #[test]
    fn bare_numbers_from_one_on_are_refused_with_the_remedy() {
        for text in ["1", "5", "1.5"] {
            let refusal = text.parse::<Probability>().unwrap_err().to_string();
            assert!(refusal.contains(&format!("did you mean {text}%?")), "{refusal}");
        }
        for text in ["100", "-0.1", "100%", "-1%", "250%"] {
            assert_eq!(
                text.parse::<Probability>().unwrap_err(),
                ParseError::ProbabilityOutOfRange { value: text.to_owned() }
            );
        }
        for text in ["", "%", "one", "NaN", "inf", "0,01", "1 %"] {
            assert_eq!(
                text.parse::<Probability>().unwrap_err(),
                ParseError::NotAProbability { value: text.to_owned() }
            );
        }
    }

    #[test]
    fn draws_hit_below_the_probability_only() {
        let half = Probability::new(0.5).unwrap();
        assert!(half.hits(0) && half.hits((1 << 63) - 1));
        assert!(!half.hits(1 << 63) && !half.hits(u64::MAX));
        assert!(!Probability::ZERO.hits(0));
    }
}
