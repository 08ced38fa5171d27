//! `[campaign]`: when a cell has had seeds enough.

use netem::Probability;
use serde::Deserialize;

use crate::statistics::MIN_BATCHES;
use crate::text::Text;

/// The precision at which a cell of a campaign ends before its last seed.
///
/// A campaign looks at a cell each time another `every` of its seeds are done, in the order of the seeds; who runs a plan without
/// a campaign runs all seeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precision {
    /// Half the width of the 95 % interval of the mean over the runs, as a share of that mean: narrow enough.
    pub half_width: Text<Probability>,
    /// The figure of each run whose mean it is, by its dotted name in results. Default `response_ms.mean`.
    #[serde(default = "response_time")]
    pub figure: String,
    /// The number of seeds between two looks. Default 10, the fewest that give an interval.
    #[serde(default = "fewest")]
    pub every: usize,
}

impl Precision {
    /// Returns the key that makes no sense, and why.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
        if !self.half_width.0.is_possible() {
            Some(("campaign.half_width", "must be more than 0: half_width = \"2%\"".to_owned()))
        } else if self.every < MIN_BATCHES {
            Some((
                "campaign.every",
                format!("is {}: fewer than {MIN_BATCHES} runs give no interval", self.every),
            ))
        } else {
            None
        }
    }
}

fn response_time() -> String {
    "response_ms.mean".to_owned()
}

fn fewest() -> usize {
    MIN_BATCHES
}
