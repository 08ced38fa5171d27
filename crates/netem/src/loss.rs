//! Loss models: which packets vanish at random.

mod bursts;

use core::fmt;
use core::str::FromStr;

pub(crate) use bursts::BurstChannel;
pub use bursts::{Bursts, InvalidBursts};

use crate::parse::{self, ParseError};
use crate::probability::{Probability, unit};
use crate::units::as_text;

/// The model by which a link loses packets at random. Default: none.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub enum Loss {
    /// No packet is lost at random.
    #[default]
    None,
    /// Each packet by itself, with this probability.
    Bernoulli(Probability),
    /// Packets are lost in bursts that come and go with time.
    Bursts(Bursts),
    /// Packets are lost in bursts that come and go with packets, by the model of Gilbert and Elliott.
    GilbertElliott(GilbertElliott),
}

impl Loss {
    /// Returns the share of packets lost in the long run.
    #[must_use]
    pub fn mean(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Bernoulli(p) => p.value(),
            Self::Bursts(model) => model.mean_loss(),
            Self::GilbertElliott(model) => model.mean_loss(),
        }
    }
}

/// `1%`, `0.01`, `bursts:GOOD,BAD,h,k` or `ge:p,r,h,k`, where `r`, `h`, `k` may be left out from the right.
impl FromStr for Loss {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.starts_with(bursts::PREFIX) {
            return text.parse().map(Self::Bursts);
        }
        if text.starts_with(GE_PREFIX) {
            return text.parse().map(Self::GilbertElliott);
        }
        let p = text.parse::<Probability>()?;
        Ok(if p.is_possible() { Self::Bernoulli(p) } else { Self::None })
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("0"),
            Self::Bernoulli(p) => p.fmt(f),
            Self::Bursts(model) => model.fmt(f),
            Self::GilbertElliott(model) => model.fmt(f),
        }
    }
}

/// Loss in bursts: a chain with a good and a bad state, stepped once per packet. A sender that stalls freezes it: on paths
/// where time passes whoever sends, [`Bursts`] is the model.
///
/// Named as in Linux' `tc-netem(8)` (`loss gemodel`): `p` leads from good to bad, `r` from bad to good; a packet
/// is lost with `1-h` in the bad state and with `1-k` in the good one. Note that tc takes `1-h` and `1-k` on its
/// command line, we take `h` and `k`. As there, a packet meets the state the chain was in *before* its step; the
/// chain starts in the good state. A bad spell lasts `1/r` packets on average.
///
/// Source: E. O. Elliott, *Estimates of Error Rates for Codes on Burst-Noise Channels*, Bell System Technical
/// Journal 42 (1963); with `h = 0` and `k = 1` it is the "simple Gilbert" model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GilbertElliott {
    p: f64,
    r: f64,
    h: f64,
    k: f64,
}

impl GilbertElliott {
    /// Creates the model with these four numbers, each between 0 and 1 inclusive.
    ///
    /// # Errors
    /// When one is outside, or when the chain could enter a bad state that it never leaves.
    pub fn new(p: f64, r: f64, h: f64, k: f64) -> Result<Self, InvalidGilbertElliott> {
        for (name, value) in [("p", p), ("r", r), ("h", h), ("k", k)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(InvalidGilbertElliott::OutOfRange { name, value });
            }
        }
        if p > 0.0 && r <= 0.0 {
            return Err(InvalidGilbertElliott::BadForEver);
        }
        let model = Self { p, r, h, k };
        if model.mean_loss() >= 1.0 { Err(InvalidGilbertElliott::LosesAll) } else { Ok(model) }
    }

    /// Returns the share of packets lost in the long run: `(p·(1-h) + r·(1-k)) / (p + r)`.
    #[must_use]
    pub fn mean_loss(&self) -> f64 {
        if self.p <= 0.0 {
            return 1.0 - self.k;
        }
        (self.p * (1.0 - self.h) + self.r * (1.0 - self.k)) / (self.p + self.r)
    }

    /// Steps the chain: whether the packet with these draws is lost, and the state that the next one meets.
    pub(crate) fn step(
        &self,
        state: ChannelState,
        loss_draw: u64,
        transition_draw: u64,
    ) -> (bool, ChannelState) {
        let (kept, moves) = match state {
            ChannelState::Good => (self.k, self.p),
            ChannelState::Bad => (self.h, self.r),
        };
        let is_lost = unit(loss_draw) < 1.0 - kept;
        (is_lost, if unit(transition_draw) < moves { state.other() } else { state })
    }
}

/// `ge:p[,r[,h[,k]]]`; left out, `r` is `1-p`, `h` is 0 and `k` is 1, as in `tc-netem(8)`.
impl FromStr for GilbertElliott {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let numbers = text.strip_prefix(GE_PREFIX).map(|list| list.split(',').map(fraction_up_to_one));
        let Some(numbers) = numbers else {
            return Err(ParseError::NotGilbertElliott { value: text.to_owned() });
        };
        let numbers = numbers.collect::<Result<Vec<f64>, ParseError>>()?;
        let (p, r, h, k) = match numbers[..] {
            [p] => (p, 1.0 - p, 0.0, 1.0),
            [p, r] => (p, r, 0.0, 1.0),
            [p, r, h] => (p, r, h, 1.0),
            [p, r, h, k] => (p, r, h, k),
            _ => return Err(ParseError::NotGilbertElliott { value: text.to_owned() }),
        };
        Self::new(p, r, h, k)
            .map_err(|reason| ParseError::InvalidGilbertElliott { value: text.to_owned(), reason })
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{GE_PREFIX}{},{},{},{}", self.p, self.r, self.h, self.k)
    }
}

/// Four numbers that make no loss model.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum InvalidGilbertElliott {
    /// A number is outside 0 to 1.
    #[error("{name} = {value} must be between 0 and 1")]
    OutOfRange {
        /// The name of the number: `p`, `r`, `h` or `k`.
        name: &'static str,
        /// The value that was given.
        value: f64,
    },
    /// The bad state would never end: `p > 0` with `r = 0`.
    #[error("r = 0 never leaves the bad state: r must be above 0 when p is")]
    BadForEver,
    /// Every packet would be lost: `h = 0` and `k = 0`.
    #[error("every packet would be lost: h or k must be above 0")]
    LosesAll,
}

impl Eq for InvalidGilbertElliott {}

/// The state of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ChannelState {
    #[default]
    Good,
    Bad,
}

impl ChannelState {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Good => Self::Bad,
            Self::Bad => Self::Good,
        }
    }
}

/// Reads a fraction from 0 to 1. In `ge:` a plain `1` is a certainty, as the default of `k` is; beyond that a percent sign is missing.
pub(crate) fn fraction_up_to_one(text: &str) -> Result<f64, ParseError> {
    match parse::fraction(text)? {
        (value, false) if value > 1.0 && value < 100.0 => {
            Err(ParseError::MissingPercent { value: text.to_owned() })
        }
        (value, _) => Ok(value),
    }
}

as_text!(Loss);

const GE_PREFIX: &str = "ge:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_reads_a_probability_or_a_chain() {
        assert_eq!("0%".parse(), Ok(Loss::None));
        assert_eq!("1%".parse(), Ok(Loss::Bernoulli(Probability::new(0.01).unwrap())));
        let chain = GilbertElliott::new(0.01, 0.3, 0.0, 1.0).unwrap();
        assert_eq!("ge:1%,30%,0,1".parse(), Ok(Loss::GilbertElliott(chain)));
        assert_eq!("ge:1%,0.3".parse(), Ok(Loss::GilbertElliott(chain)));
        assert_eq!("ge:1%,0.3".parse::<Loss>().unwrap().to_string(), "ge:0.01,0.3,0,1");
    }

    #[test]
    fn unusable_chains_are_refused_by_name() {
        let refusal = |text: &str| text.parse::<Loss>().unwrap_err().to_string();
        assert!(refusal("ge:1%,0").contains("r must be above 0"));
        assert!(refusal("ge:1%,30%,0,0").contains("h or k must be above 0"));
        assert!(refusal("ge:1%,130%").contains("r = 1.3 must be between 0 and 1"));
        assert!(refusal("ge:1%,30").contains("did you mean 30%?"));
        assert!(refusal("ge:1%,2%,3%,4%,5%").contains("ge:p,r,h,k"));
        assert!(refusal("ge:").contains("not a probability"));
        assert!(refusal("1").contains("did you mean 1%?"));
    }

    #[test]
    fn mean_loss_follows_the_stationary_distribution() {
        assert!((GilbertElliott::new(0.01, 0.3, 0.0, 1.0).unwrap().mean_loss() - 0.01 / 0.31).abs() < 1e-12);
        assert!((GilbertElliott::new(0.0, 0.0, 0.0, 0.9).unwrap().mean_loss() - 0.1).abs() < 1e-12);
    }
}
