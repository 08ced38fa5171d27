//! `--loss` of `headway predict response-time`: each packet by itself, or in bursts.

use models::resequencing::bursts::GilbertElliott;
use models::{ModelError, Probability, Rate};

use crate::arguments::{ProbabilityError, parse_probability};

/// The model of the packets that are lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Loss {
    /// Each by itself.
    Independent(Probability),
    /// The packets are lost by a channel that is good and bad for a time.
    Bursts(netem::Bursts),
    /// The packets are lost by a channel that steps from good to bad and back with messages.
    Steps(GilbertElliott),
}

/// The mistake in a loss model.
#[derive(Debug, thiserror::Error)]
pub(super) enum LossError {
    #[error(transparent)]
    Probability(#[from] ProbabilityError),
    #[error("{0}: write ge:p,r,h,k, for example ge:0.25%,25% for 1% in bursts of four")]
    Channel(#[from] ModelError),
    #[error(transparent)]
    Bursts(#[from] netem::ParseError),
}

impl Loss {
    /// Returns the share of packets lost.
    pub(super) fn mean(self) -> Probability {
        match self {
            Self::Independent(probability) => probability,
            Self::Bursts(bursts) => Probability::new(bursts.mean_loss()).unwrap_or(Probability::ZERO),
            Self::Steps(channel) => channel.mean_loss(),
        }
    }

    /// Returns the channel that messages of this rate meet; `None` where losses are independent.
    pub(super) fn channel(self, rate: Rate) -> Result<Option<GilbertElliott>, ModelError> {
        match self {
            Self::Independent(_) => Ok(None),
            Self::Bursts(bursts) => channel_in_time(bursts, rate).map(Some),
            Self::Steps(channel) => Ok(Some(channel)),
        }
    }
}

/// Returns what the model is told of bursts that come and go with time.
pub(crate) fn channel_in_time(bursts: netem::Bursts, rate: Rate) -> Result<GilbertElliott, ModelError> {
    GilbertElliott::in_time(bursts.good(), bursts.bad(), bursts.survivors(), rate)
}

/// Reads a loss model: `1%`, `0.01`, `bursts:GOOD,BAD,h,k` or `ge:p,r,h,k`.
pub(super) fn parse_loss(text: &str) -> Result<Loss, LossError> {
    if text.starts_with("bursts:") {
        return Ok(Loss::Bursts(text.parse()?));
    }
    match text.strip_prefix("ge:") {
        Some(channel) => Ok(Loss::Steps(channel.parse()?)),
        None => Ok(Loss::Independent(parse_probability(text)?)),
    }
}
