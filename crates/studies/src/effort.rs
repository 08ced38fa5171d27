//! How much is simulated for a page, and the running of its plans.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cells::Cells;
use crate::error::StudyError;
use crate::measurement::Measurement;
use crate::video::VideoTrace;
use lab::plan::{Cell, CellTally, Plan, RunOptions};
use lab::simulation::{RunOutcome, Scenario, SimulationError, Span, simulate};

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
    /// The seed of the first run; the others follow. Default 1. What was chosen by some seeds is judged by others.
    pub(crate) first_seed: u64,
    /// Several pages show the same runs.
    pub(super) done: Done,
    /// A simulator that tells something else than the truth, for tests that try to fool the pages.
    #[cfg(test)]
    pub(crate) lie: crate::lies::Lie,
}

/// The results of plans that were run, by the text of the plan and the effort.
pub(super) type Done = Arc<Mutex<BTreeMap<(String, String), Cells>>>;

impl Default for Effort {
    fn default() -> Self {
        Self {
            seeds: 30,
            share: 1.0,
            options: RunOptions::default(),
            trace: None,
            measurement: None,
            first_seed: 1,
            done: Done::default(),
            #[cfg(test)]
            lie: crate::lies::Lie::default(),
        }
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
    pub(super) fn run(&self, page: &'static str, text: &str) -> Result<Cells, StudyError> {
        let key = (text.to_owned(), self.describe());
        let known = self.done.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(ran) = known {
            return Ok(ran);
        }
        let plan = Plan::parse(text).map_err(|error| StudyError::Plan { page, error })?;
        let ran = self.run_plan(page, plan)?;
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ran.clone());
        Ok(ran)
    }

    /// Runs a plan that was changed, with the seeds and the share of this effort.
    pub(crate) fn run_plan(&self, page: &'static str, mut plan: Plan) -> Result<Cells, StudyError> {
        plan.seeds = (self.first_seed..).take(usize::try_from(self.seeds).unwrap_or(usize::MAX)).collect();
        for cell in &mut plan.cells {
            let stop = &mut cell.scenario.stop;
            stop.duration = stop.duration.map(|duration| Span(duration.0.mul_f64(self.share).max(SHORTEST)));
            stop.messages = stop.messages.map(|messages| share_of(messages, self.share, stop.discard));
        }
        self.options.progress.expect(plan.cells.len() * plan.seeds.len());
        let tallies = self.tallies(&mut plan)?;
        if self.options.stop.is_raised() {
            return Err(StudyError::Interrupted);
        }
        let levels = |cell: &Cell| {
            let text =
                |level: &serde_json::Value| level.as_str().map_or_else(|| level.to_string(), str::to_owned);
            let word = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
            cell.factors.iter().map(|(name, level)| (word(name), text(level))).collect()
        };
        let cells = plan.cells.iter().zip(tallies);
        Ok(Cells::new(page, cells.map(|(cell, tally)| (levels(cell), tally)).collect()))
    }

    fn tallies(&self, plan: &mut Plan) -> Result<Vec<CellTally>, SimulationError> {
        #[cfg(test)]
        if let Some(made_up) = self.lie.tallies(plan) {
            return Ok(made_up);
        }
        Ok(plan.run(&self.options)?.cells)
    }

    /// Runs a scenario once, for a page that looks at single messages.
    pub(crate) fn simulate(&self, scenario: &Scenario, seed: u64) -> Result<RunOutcome, SimulationError> {
        #[cfg(test)]
        let scenario = &self.lie.about(scenario);
        let run = simulate(scenario, seed, &(&self.options.stop).into());
        #[cfg(test)]
        let run = run.map(|run| self.lie.told_of(run));
        run
    }
}

fn share_of(messages: u64, share: f64, discard: u64) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small number")]
    let wanted = (messages as f64 * share).round() as u64;
    wanted.max(discard + LEAST)
}

/// A shorter run says nothing.
const SHORTEST: Duration = Duration::from_secs(2);
/// Fewer messages say nothing.
const LEAST: u64 = 100;
