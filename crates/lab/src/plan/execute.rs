//! Runs of a plan, spread over the cores. Which core runs what changes nothing.

use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::file::Plan;
use super::tally::CellTally;
use crate::backend::namespaces::{self, ScenarioRun};
use crate::compare::CONCURRENT_RATE_LIMIT;
use crate::simulation::{SimulationError, Watch, simulate};
use crate::stop::StopSignal;
use crate::text::UnknownName;

/// The world in which a plan runs: it provides time, packets and chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanWorld {
    /// The simulator, in virtual time. The default.
    #[default]
    Simulator,
    /// Real packets, kernel TCP and our SCTP between two network namespaces, every run on an emulated link of its own.
    Namespaces,
}

impl PlanWorld {
    /// Returns the name of the world.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Namespaces => "namespaces",
        }
    }
}

impl FromStr for PlanWorld {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownName { text: text.to_owned(), known: "simulator or namespaces".to_owned() };
        [Self::Simulator, Self::Namespaces].into_iter().find(|world| world.name() == text).ok_or_else(unknown)
    }
}

/// The options of a run of a plan.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The world to run in. Default the simulator.
    pub world: PlanWorld,
    /// How many runs at the same time at most. Default one per core; in namespaces as many as the rates of their flows allow.
    pub jobs: Option<usize>,
    /// Ends it early: cells then have fewer runs.
    pub stop: StopSignal,
    /// Told of every run that ends.
    pub progress: Progress,
}

/// How many runs are done, for whoever wants to show it.
#[derive(Clone, Debug, Default)]
pub struct Progress(std::sync::Arc<(AtomicUsize, AtomicUsize)>);

impl Progress {
    /// Runs done, and runs there will be as far as is known.
    #[must_use]
    pub fn get(&self) -> (usize, usize) {
        (self.0.0.load(Ordering::Relaxed), self.0.1.load(Ordering::Relaxed))
    }

    /// Announces that `runs` more runs will be done.
    pub fn expect(&self, runs: usize) {
        self.0.1.fetch_add(runs, Ordering::Relaxed);
    }

    /// Reports that `runs` more runs are done.
    pub fn advance(&self, runs: usize) {
        self.0.0.fetch_add(runs, Ordering::Relaxed);
    }
}

/// All cells of a plan, run.
#[derive(Clone, Debug)]
pub struct PlanOutcome {
    /// The results of the cells, in the order of the plan.
    pub cells: Vec<CellTally>,
    /// How long it took on the wall.
    pub wall: Duration,
    /// The world in which the plan ran.
    pub world: PlanWorld,
}

impl Plan {
    /// Runs every cell with every seed.
    ///
    /// # Errors
    /// What only running shows to be wrong with a scenario.
    pub fn run(&self, options: &RunOptions) -> Result<PlanOutcome, SimulationError> {
        let begin = Instant::now();
        let cells = match options.world {
            PlanWorld::Simulator => self.simulate(options)?,
            PlanWorld::Namespaces => self.measure(options)?,
        };
        Ok(PlanOutcome { cells, wall: begin.elapsed(), world: options.world })
    }

    /// Runs the plan with real packets: batches of runs at the same time, whose flows together send no more
    /// than a machine can send in time.
    fn measure(&self, options: &RunOptions) -> Result<Vec<CellTally>, SimulationError> {
        let mut tallies: Vec<_> = self.cells.iter().map(|_| CellTally::new(self.seeds.len())).collect();
        self.cells.iter().try_for_each(|cell| namespaces::can_run(&cell.scenario))?;
        let all = (0..self.cells.len()).flat_map(|cell| (0..self.seeds.len()).map(move |seed| (cell, seed)));
        let all: Vec<(usize, usize)> = all.collect();
        for batch in self.batches(&all, options.jobs.unwrap_or(usize::MAX)) {
            let runs = batch
                .iter()
                .map(|(cell, seed)| ScenarioRun::new(&self.cells[*cell].scenario, self.seeds[*seed]));
            let (outcomes, _report) =
                namespaces::run_batch(&runs.collect::<Vec<_>>(), &Watch::from(&options.stop))?;
            if options.stop.is_raised() {
                break;
            }
            for ((cell, seed), outcome) in batch.iter().zip(outcomes) {
                tallies[*cell].add(*seed, outcome);
                options.progress.advance(1);
            }
        }
        Ok(tallies)
    }

    fn batches<'a>(&self, mut runs: &'a [(usize, usize)], most: usize) -> Vec<&'a [(usize, usize)]> {
        let mut batches = Vec::new();
        while !runs.is_empty() {
            let mut load = 0.0;
            let fits = |(cell, _): &&(usize, usize)| {
                load += self.cells[*cell].scenario.messages_per_second();
                load <= CONCURRENT_RATE_LIMIT
            };
            let count = runs.iter().take(namespaces::MOST_RUNS.min(most)).take_while(fits).count().max(1);
            let (batch, rest) = runs.split_at(count);
            batches.push(batch);
            runs = rest;
        }
        batches
    }

    fn simulate(&self, options: &RunOptions) -> Result<Vec<CellTally>, SimulationError> {
        let cells: Vec<_> = self.cells.iter().map(|_| Mutex::new(CellTally::new(self.seeds.len()))).collect();
        let runs = self.cells.len() * self.seeds.len();
        spread(options, runs, |run| {
            let (cell, seed) = (run / self.seeds.len(), run % self.seeds.len());
            let outcome =
                simulate(&self.cells[cell].scenario, self.seeds[seed], &Watch::from(&options.stop))?;
            // What was ended in the middle is no run.
            if !options.stop.is_raised() {
                lock(&cells[cell]).add(seed, outcome);
            }
            Ok::<_, SimulationError>(())
        })?;
        let cells = cells
            .into_iter()
            .map(|cell| cell.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        Ok(cells.collect())
    }
}

/// Calls `one` for every index below `count`, over the cores; the results in the order of the indices. What is missing at the end of
/// them was not made because somebody wants to stop.
///
/// # Errors
/// The first error of `one`, in the order of the indices.
pub fn spread<T: Send, E: Send>(
    options: &RunOptions,
    count: usize,
    one: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<T, E>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || options.stop.is_raised() {
                return;
            }
            *lock(&results[index]) = Some(one(index));
            options.progress.advance(1);
        }
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = options.jobs.unwrap_or_else(cores).clamp(1, count.max(1));
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let done = results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    done.map_while(|result| result).collect()
}

/// Locks a mutex, also after a thread that held it broke: it left whole runs behind, or none.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
