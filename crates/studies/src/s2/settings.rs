//! The settings that the study leaves open, as `plans/settings/s2.toml` has them.

use serde::Deserialize;

use super::Published;
use super::net::Setting;
use crate::error::StudyError;
use lab::plan::PlanError;
use lab::simulation::{Halving, StudyRules};

/// One choice of what is not published.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    /// The name of the choice in tables.
    pub(super) name: String,
    /// Packets that may wait at the middle link.
    pub(super) buffer: u32,
    /// Octets of headers of a packet.
    pub(super) headers: usize,
    /// The largest window of the SIP flow, in packets.
    pub(super) cap: f64,
    /// The largest window of the competing flows.
    pub(super) competing_cap: f64,
    /// How often losses shrink the window, and to what.
    pub(super) halving: Halving,
}

#[derive(Debug, Deserialize)]
struct File {
    setting: Vec<Choice>,
}

/// Returns the settings of the plan, the nearest first.
pub(super) fn choices() -> Result<Vec<Choice>, StudyError> {
    let file: Result<File, toml::de::Error> = toml::from_str(SETTINGS);
    file.map(|file| file.setting).map_err(|error| {
        let before = error.span().map_or(0, |span| span.start);
        let line = SETTINGS[..before].lines().count();
        let error = PlanError { line, key: "setting".to_owned(), because: error.message().to_owned() };
        StudyError::Plan { page: "S2", error }
    })
}

/// Returns the choice that is nearest to the published figures.
pub(super) fn nearest() -> Result<Choice, StudyError> {
    let error = || PlanError {
        line: 1,
        key: "setting".to_owned(),
        because: "there is none: a search finds some".to_owned(),
    };
    choices()?.into_iter().next().ok_or_else(|| StudyError::Plan { page: "S2", error: error() })
}

impl Choice {
    /// Returns the rules of the SIP flow.
    pub(super) fn rules(&self) -> StudyRules {
        let Self { cap, halving, headers, .. } = *self;
        StudyRules { cap, halving, headers, ..StudyRules::default() }
    }

    /// Returns a cell of the study under this choice.
    pub(super) fn of(&self, cell: &Published) -> Setting {
        Setting {
            rules: self.rules(),
            competing: (cell.flows, StudyRules { reports: 3, cap: self.competing_cap, ..self.rules() }),
            buffer: self.buffer,
            load: cell.load,
            loss: cell.loss,
            drop: None,
            messages: 45_000,
            discard: 1000,
            keeps_trips: false,
        }
    }

    /// Returns the choice in words.
    pub(super) fn sentence(&self) -> String {
        let Self { name, buffer, headers, cap, competing_cap, halving } = self;
        let rule = match halving {
            Halving::FlightOnce => "halved once per window of data, to half of what is in flight",
            Halving::WindowOnce => "halved once per window of data",
            Halving::EachLoss => "halved by each loss (the rules of that time to the letter)",
        };
        format!(
            "Setting {name} (not published): {buffer} packets of buffer, {headers} octets of headers, window of {cap} \
             packets at most and {rule}, sent again at the fourth report; competing packets of 540 octets, window of {competing_cap}"
        )
    }
}

const SETTINGS: &str = include_str!("../../../../plans/settings/s2.toml");
