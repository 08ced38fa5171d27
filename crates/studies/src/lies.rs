//! A simulator that tells something else than the truth, so that tests can ask every page at once whether its verdicts hang on what it is told.
//!
//! What it makes up about a cell hangs on the factors of the cell alone, wherever in the plan the cell stands.

use core::time::Duration;
use std::borrow::Cow;

use lab::Distribution;
use lab::plan::{Cell, CellTally, FlowTally, LinkTally, Plan, SeedTally};
use lab::simulation::{Moments, Scenario, TransportCounts};

/// What a test has the simulator get wrong. By default nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lie {
    /// Results that are made up in place of runs.
    pub(crate) made_up: Option<MadeUp>,
    /// Whether cells come in the opposite order of the plan's.
    pub(crate) is_turned_round: bool,
    /// What is done to every scenario before it runs.
    pub(crate) instead: Option<fn(&mut Scenario)>,
}

/// Results out of nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MadeUp {
    /// The same of every cell: a simulator that hears no factor.
    Alike,
    /// Something else of each cell, by this number.
    Anything(u64),
    /// Of every cell that it takes longer and longer as long as the run lasts, and that some messages never arrive.
    Growing,
}

impl Lie {
    /// Returns made-up results of a plan; `None` where it is to run.
    pub(crate) fn tallies(&self, plan: &mut Plan) -> Option<Vec<CellTally>> {
        if self.is_turned_round {
            plan.cells.reverse();
        }
        if let Some(instead) = self.instead {
            plan.cells.iter_mut().for_each(|cell| instead(&mut cell.scenario));
        }
        let made_up = self.made_up?;
        Some(plan.cells.iter().map(|cell| made_up.tally(cell, plan.seeds.len())).collect())
    }

    /// Returns the scenario that runs in place of another one.
    pub(crate) fn about<'a>(&self, scenario: &'a Scenario) -> Cow<'a, Scenario> {
        let Some(instead) = self.instead else { return Cow::Borrowed(scenario) };
        let mut other = scenario.clone();
        instead(&mut other);
        Cow::Owned(other)
    }
}

impl MadeUp {
    fn tally(self, cell: &Cell, seeds: usize) -> CellTally {
        let flows = cell.scenario.flows.iter();
        let links = cell.scenario.links.iter().map(|(name, _)| LinkTally {
            name: name.to_owned(),
            ways: ["there", "back"].map(|way| (OFFERED, whole(self.of(cell, way) / 4.0))),
        });
        CellTally {
            flows: flows
                .map(|(name, flow)| self.flow(cell, name, flow.workload.is_answered(), seeds))
                .collect(),
            links: links.collect(),
            runs: Vec::new(),
        }
    }

    fn flow(self, cell: &Cell, name: &str, is_answered: bool, seeds: usize) -> FlowTally {
        let times = |what: &str, are_there: bool| {
            let runs = if are_there { seeds } else { 0 };
            let run = |run| self.times(self.of(cell, &format!("{name} {what}")), run);
            let never = if are_there && self.is_growing() { 5 } else { 0 };
            Distribution::of_runs(&(0..runs).map(run).collect::<Vec<_>>(), never)
        };
        FlowTally {
            name: name.to_owned(),
            responses: times("responses", is_answered),
            delivered: times("delivered", !is_answered),
            unordered: times("unordered", !is_answered),
            ordered: times("ordered", !is_answered),
            seeds: (0..seeds).map(|run| Some(self.seed(cell, name, run))).collect(),
        }
    }

    fn seed(self, cell: &Cell, name: &str, run: usize) -> SeedTally {
        let of = |what: &str| self.of(cell, &format!("{name} {what}")) * wobble(run);
        let mut difference = Moments::default();
        (0..MESSAGES).for_each(|_| difference.add(of("difference")));
        SeedTally {
            messages: MESSAGES.into(),
            completed: MESSAGES.into(),
            difference,
            blocked: whole(of("blocked")) % u64::from(MESSAGES),
            goodput_bits_per_s: Some(of("goodput") * 1e5),
            late_sends: 0,
            transport: TransportCounts {
                timeouts: Some(whole(of("timeouts"))),
                // Few, so that the loss which a page reads from them is one that its model takes.
                retransmissions: Some(whole(of("retransmissions")) % 8),
                blocked: Some((whole(of("waiting")) % u64::from(MESSAGES), milliseconds(of("waited")))),
            },
            calls: None,
            failure: None,
        }
    }

    /// Returns the times of one run, all of them near a value in ms.
    fn times(self, ms: f64, run: usize) -> Vec<Duration> {
        let growth = |message: u32| if self.is_growing() { 1.0 + f64::from(message) } else { 1.0 };
        let time = |message: u32| ms * wobble(run) * growth(message) * (1.0 + f64::from(message % 11) * 1e-3);
        (0..MESSAGES).map(|message| milliseconds(time(message))).collect()
    }

    fn is_growing(self) -> bool {
        matches!(self, Self::Growing)
    }

    /// Returns what it says about a quantity of a cell: between 1 and 10,000.
    fn of(self, cell: &Cell, what: &str) -> f64 {
        let Self::Anything(number) = self else { return 50.0 };
        let factors = cell.factors.iter().map(|(factor, level)| format!("{factor} {level}"));
        let purpose = [what.to_owned()].into_iter().chain(factors).collect::<Vec<_>>().join(", ");
        #[allow(clippy::cast_precision_loss, reason = "a number below a million")]
        let share = (netem::derive_seed(number, &purpose) % 1_000_000) as f64 / 1e6;
        10_f64.powf(4.0 * share)
    }
}

/// Returns by how much a run is off the mean of its cell: by a thousandth or so.
fn wobble(run: usize) -> f64 {
    1.0 + f64::from(u32::try_from(run % 7).unwrap_or(0)) * 2e-4
}

fn milliseconds(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

/// Returns the whole number below a value that is none too large.
fn whole(value: f64) -> u64 {
    Duration::from_secs_f64(value).as_secs()
}

const OFFERED: u64 = 10_000;
const MESSAGES: u32 = 64;

mod tests;
