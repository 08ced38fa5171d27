//! How much is simulated for a page, and the running of its plans.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::StudyError;
use crate::measurement::Measurement;
use crate::video::VideoTrace;
use lab::plan::{CellTally, Plan, RunOptions};

/// How much work a page may be.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Runs per cell. Default 30; quick 3.
    pub seeds: u64,
    /// Share of the messages that the plans ask for. Default 1; quick 0.1.
    pub share: f64,
    /// How runs are spread, and who is told.
    pub options: RunOptions,
    /// A video to show beside those that are made. Default none.
    pub trace: Option<VideoTrace>,
    /// The measurement with real packets beside the simulation. Default none.
    pub measurement: Option<Measurement>,
    /// Several pages show the same runs.
    pub(super) done: Done,
}

/// The results of plans that were run, by the text of the plan and the effort.
pub(super) type Done = Arc<Mutex<BTreeMap<(String, String), Vec<Ran>>>>;

impl Default for Effort {
    fn default() -> Self {
        Self {
            seeds: 30,
            share: 1.0,
            options: RunOptions::default(),
            trace: None,
            measurement: None,
            done: Done::default(),
        }
    }
}

/// One cell: its levels as text, and what its runs gave.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    levels: Vec<String>,
    /// The results of the runs of the cell.
    pub(super) tally: CellTally,
}

impl Ran {
    /// Returns the level of the factor at `position`.
    pub(super) fn level(&self, position: usize) -> &str {
        self.levels.get(position).map_or("", String::as_str)
    }

    /// Returns that level as a number; a per cent sign divides by a hundred.
    pub(super) fn number(&self, position: usize) -> f64 {
        let text = self.level(position);
        let (digits, divisor) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
        digits.parse::<f64>().map_or(f64::NAN, |number| number / divisor)
    }

    /// Returns the mean response time in ms, of the first flow.
    pub(super) fn response_ms(&self) -> f64 {
        self.tally.flows.first().and_then(|flow| flow.responses.mean()).unwrap_or(f64::NAN)
    }

    /// Returns the number of requests that were answered and counted.
    pub(super) fn answers(&self) -> u64 {
        self.tally.flows.first().map_or(0, |flow| flow.responses.count())
    }

    /// Returns the 95 % interval of the mean response time in ms.
    pub(super) fn response_ci95(&self) -> Option<[f64; 2]> {
        self.tally.flows.first().and_then(|flow| flow.responses.ci95())
    }
}

impl Effort {
    /// Creates an effort with less of everything: an impression within a minute.
    #[must_use]
    pub fn quick() -> Self {
        Self { seeds: 3, share: 0.1, ..Self::default() }
    }

    /// Describes the effort in words, for the page.
    #[must_use]
    pub fn describe(&self) -> String {
        let share = lab::report::percent(self.share);
        let trace = self.trace.as_ref().map(|trace| {
            format!(
                ", a video of {} frames with a mean of {:.1} octets",
                trace.frames.len(),
                trace.mean_bytes()
            )
        });
        format!("{} seeds, {share} of the messages of the plan{}", self.seeds, trace.unwrap_or_default())
    }

    /// Runs a plan with this effort, unless that was done for another page.
    pub(super) fn run(&self, page: &'static str, text: &str) -> Result<Vec<Ran>, StudyError> {
        let key = (text.to_owned(), self.describe());
        let known = self.done.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(ran) = known {
            return Ok(ran);
        }
        let ran = self.run_plan(Plan::parse(text).map_err(|error| StudyError::Plan { page, error })?)?;
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ran.clone());
        Ok(ran)
    }

    /// Runs a plan that was changed, with the seeds and the share of this effort.
    pub(super) fn run_plan(&self, mut plan: Plan) -> Result<Vec<Ran>, StudyError> {
        plan.seeds = (1..=self.seeds).collect();
        for cell in &mut plan.cells {
            let stop = &mut cell.scenario.stop;
            stop.messages = stop.messages.map(|messages| share_of(messages, self.share, stop.discard));
        }
        self.options.progress.expect(plan.cells.len() * plan.seeds.len());
        let outcome = plan.run(&self.options)?;
        if self.options.stop.is_raised() {
            return Err(StudyError::Interrupted);
        }
        let levels = |cell: &lab::plan::Cell| {
            let text =
                |level: &serde_json::Value| level.as_str().map_or_else(|| level.to_string(), str::to_owned);
            cell.factors.iter().map(|(_, level)| text(level)).collect()
        };
        let cells = plan.cells.iter().zip(outcome.cells);
        Ok(cells.map(|(cell, tally)| Ran { levels: levels(cell), tally }).collect())
    }
}

fn share_of(messages: u64, share: f64, discard: u64) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small number")]
    let wanted = (messages as f64 * share).round() as u64;
    wanted.max(discard + LEAST)
}

/// Fewer messages say nothing.
const LEAST: u64 = 100;
