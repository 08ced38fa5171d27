//! Runs of a plan, spread over the cores. Which core runs what changes nothing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::file::Plan;
use super::tally::CellTally;
use crate::compare::StopSignal;
use crate::simulation::{SimulationError, Watch, simulate};

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How many runs at the same time. Default one per core.
    pub jobs: usize,
    /// Ends it early: cells then have fewer runs.
    pub stop: StopSignal,
    /// Told of every run that ends.
    pub progress: Progress,
}

impl Default for RunOptions {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self { jobs, stop: StopSignal::default(), progress: Progress::default() }
    }
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

    /// So many runs more will be done.
    pub fn expect(&self, runs: usize) {
        self.0.1.fetch_add(runs, Ordering::Relaxed);
    }

    /// So many runs are done.
    pub fn advance(&self, runs: usize) {
        self.0.0.fetch_add(runs, Ordering::Relaxed);
    }
}

/// All cells of a plan, run.
#[derive(Clone, Debug)]
pub struct PlanOutcome {
    /// In the order of the plan's cells.
    pub cells: Vec<CellTally>,
    /// How long it took on the wall.
    pub wall: Duration,
}

impl Plan {
    /// Runs every cell with every seed.
    ///
    /// # Errors
    /// What only running shows to be wrong with a scenario.
    pub fn run(&self, options: &RunOptions) -> Result<PlanOutcome, SimulationError> {
        let begin = Instant::now();
        let cells: Vec<_> = self.cells.iter().map(|_| Mutex::new(CellTally::new(self.seeds.len()))).collect();
        let failure = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let runs = self.cells.len() * self.seeds.len();
        let work = || {
            loop {
                let run = next.fetch_add(1, Ordering::Relaxed);
                if run >= runs || options.stop.is_raised() {
                    return;
                }
                let (cell, seed) = (run / self.seeds.len(), run % self.seeds.len());
                match simulate(&self.cells[cell].scenario, self.seeds[seed], &Watch::from(&options.stop)) {
                    // What was ended in the middle is no run.
                    Ok(_) if options.stop.is_raised() => return,
                    Ok(outcome) => lock(&cells[cell]).add(seed, outcome),
                    Err(error) => *lock(&failure) = Some(error),
                }
                options.progress.advance(1);
            }
        };
        let jobs = options.jobs.clamp(1, runs.max(1));
        std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
        if let Some(error) = lock(&failure).take() {
            return Err(error);
        }
        let cells = cells
            .into_iter()
            .map(|cell| cell.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        Ok(PlanOutcome { cells: cells.collect(), wall: begin.elapsed() })
    }
}

/// Calls `one` for every index below `count`, over the cores; the results in the order of the indices. What is missing at the end of
/// them was not made because somebody wants to stop.
pub(crate) fn spread<T: Send, E: Send>(
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
    let jobs = options.jobs.clamp(1, count.max(1));
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let done = results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    done.map_while(|result| result).collect()
}

/// A thread that broke left whole runs behind, or none.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
