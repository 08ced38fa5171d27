//! A simulator that tells something else than the truth, so that tests can ask every page at once whether its verdicts hang on what it is told.
//!
//! What it makes up about a cell hangs on the factors of the cell alone, wherever in the plan the cell stands.

use core::time::Duration;
use std::borrow::Cow;

use lab::CallCounts;
use lab::Distribution;
use lab::plan::{Cell, CellTally, FlowTally, LinkTally, Plan, SeedTally};
use lab::simulation::{Moments, RunOutcome, Scenario, TransportCounts};

/// A lie is what a test has the simulator get wrong. By default nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lie {
    /// Results that are made up in place of runs.
    pub(crate) made_up: Option<MadeUp>,
    /// Whether cells come in the opposite order of the plan's.
    pub(crate) is_turned_round: bool,
    /// A change that is made to every scenario before it runs.
    pub(crate) instead: Option<fn(&mut Scenario)>,
    /// A change that is made to what a run tells of single messages.
    pub(crate) afterwards: Option<fn(&mut RunOutcome)>,
}

/// Results out of nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MadeUp {
    /// It says the same of every cell: a simulator that hears no factor.
    Alike,
    /// It says something else of each cell, by this number.
    Anything(u64),
    /// It says of every cell that its times lie anywhere below a fifth of a second.
    Spread,
    /// It says of every cell that it takes longer and longer as long as the run lasts, and that some messages never arrive.
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

    /// Returns what is told of a run.
    pub(crate) fn told_of(&self, mut run: RunOutcome) -> RunOutcome {
        if let Some(afterwards) = self.afterwards {
            afterwards(&mut run);
        }
        run
    }
}

impl MadeUp {
    fn tally(self, cell: &Cell, seeds: usize) -> CellTally {
        let flows = cell.scenario.flows.iter();
        let links = cell.scenario.links.iter().map(|(name, _)| LinkTally {
            name: name.to_owned(),
            ways: ["there", "back"].map(|way| (OFFERED, whole(self.of(cell, way) * 25.0))),
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
        (0..self.messages()).for_each(|_| difference.add(of("difference")));
        SeedTally {
            messages: self.messages().into(),
            completed: self.messages().into(),
            difference,
            blocked: whole(of("blocked")) % u64::from(self.messages()),
            goodput_bits_per_s: Some(of("goodput") * 1e5),
            late_sends: 0,
            transport: TransportCounts {
                timeouts: Some(whole(of("timeouts"))),
                // Few, so that the loss which a page reads from them is one that its model takes.
                retransmissions: Some(whole(of("retransmissions")) % 8),
                blocked: Some((
                    whole(of("waiting")) % u64::from(self.messages()),
                    milliseconds(of("waited")),
                )),
            },
            calls: Some(CallCounts {
                up: self.messages().into(),
                touched: Some(whole(of("touched")) % u64::from(self.messages())),
            }),
            frames: None,
            failure: None,
        }
    }

    /// Returns the times of one run around a value in ms.
    fn times(self, ms: f64, run: usize) -> Vec<Duration> {
        let time = |message: u32| match self {
            Self::Spread => f64::from(message % 997) / 5.0,
            Self::Growing => near(ms, message) * (1.0 + f64::from(message)),
            Self::Alike | Self::Anything(_) => near(ms, message),
        };
        (0..self.messages()).map(|message| milliseconds(time(message) * wobble(run))).collect()
    }

    /// Returns the messages of a run: most lies are short, and some so long that a tail of one in a thousand says something.
    fn messages(self) -> u32 {
        match self {
            Self::Spread => 4_000,
            Self::Anything(0..3) => 640,
            Self::Alike | Self::Anything(_) | Self::Growing => 64,
        }
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

/// Returns a time in ms near another one.
fn near(ms: f64, message: u32) -> f64 {
    ms * (1.0 + f64::from(message % 11) * 1e-3)
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

const OFFERED: u64 = 1_000_000;
mod tests;
