//! One statement of a study with what came out. A [`Criterion`](super::Criterion) makes it, and nobody overwrites its verdict.

use serde::{Deserialize, Serialize};

/// One statement of a study, put to the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    pub(super) text: String,
    pub(super) published: Option<f64>,
    pub(super) ours: Option<f64>,
    pub(super) unit: String,
    pub(super) ci95: Option<[f64; 2]>,
    pub(super) criterion: String,
    pub(super) verdict: Verdict,
    pub(super) because: String,
    #[serde(default)]
    pub(super) evidence: Option<String>,
}

/// Whether a statement was borne out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The whole interval of ours is within the bar.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The whole interval of ours is beyond the bar.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// A second run on the same page shows that a named cause produces the published value, which was not reproduced
    /// before.
    #[serde(rename = "explained")]
    Explained,
    /// The interval of ours reaches across the bar, or there is none: more runs would tell.
    #[default]
    #[serde(rename = "undecided")]
    Undecided,
}

impl Verdict {
    /// Every verdict, in the order in which they are counted.
    pub const ALL: [Self; 4] = [Self::Reproduced, Self::Explained, Self::NotReproduced, Self::Undecided];

    /// Returns the verdict in a word or two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
            Self::Explained => "explained",
            Self::Undecided => "undecided",
        }
    }
}

impl Statement {
    /// Returns the statement of the study, in words.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value that the study printed, where it printed one.
    #[must_use]
    pub const fn published(&self) -> Option<f64> {
        self.published
    }

    /// Returns the value that came out here.
    #[must_use]
    pub const fn ours(&self) -> Option<f64> {
        self.ours
    }

    /// Returns the unit of the published value and ours.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Returns the 95 % interval of our value.
    #[must_use]
    pub const fn ci95(&self) -> Option<[f64; 2]> {
        self.ci95
    }

    /// Returns the criterion in words.
    #[must_use]
    pub fn criterion(&self) -> &str {
        &self.criterion
    }

    /// Returns whether ours bears it out.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns the reason for the verdict.
    #[must_use]
    pub fn because(&self) -> &str {
        &self.because
    }

    /// Returns where the second run is that explains it, if one was made.
    #[must_use]
    pub fn evidence(&self) -> Option<&str> {
        self.evidence.as_deref()
    }

    /// Returns the statement with something a reader should know besides; the verdict stays what it is.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        self.because = format!("{}; {note}", self.because);
        self
    }
}
