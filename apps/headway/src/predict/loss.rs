//! `--loss` of `headway predict response-time`: each packet by itself, or in bursts.

use models::Probability;
use models::resequencing::bursts::GilbertElliott;

use crate::arguments::{ProbabilityError, parse_probability};

/// Which packets are lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Loss {
    /// Each by itself.
    Independent(Probability),
    /// By a channel with a good and a bad state.
    Bursts(GilbertElliott),
}

/// What is wrong with a loss model.
#[derive(Debug, thiserror::Error)]
pub(super) enum LossError {
    #[error(transparent)]
    Probability(#[from] ProbabilityError),
    #[error("{0}: write ge:p,r,h,k, for example ge:0.25%,25% for 1% in bursts of four")]
    Channel(#[from] models::ModelError),
}

impl Loss {
    /// The share of packets lost.
    pub(super) fn mean(self) -> Probability {
        match self {
            Self::Independent(probability) => probability,
            Self::Bursts(channel) => channel.mean_loss(),
        }
    }
}

/// `1%`, `0.01` or `ge:p,r,h,k`.
pub(super) fn parse_loss(text: &str) -> Result<Loss, LossError> {
    match text.strip_prefix("ge:") {
        Some(channel) => Ok(Loss::Bursts(channel.parse()?)),
        None => Ok(Loss::Independent(parse_probability(text)?)),
    }
}
