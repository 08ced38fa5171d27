//! What the runs of a cell say together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::bottleneck::{Cell, Outcome, to_f64};

/// Several runs of one cell.
pub(crate) struct Summary {
    /// Mean goodput per flow, in Mbit/s.
    pub(crate) sctp_mbits: f64,
    pub(crate) tcp_mbits: f64,
    /// Goodput of an SCTP flow by that of a TCP flow: geometric mean over the runs.
    pub(crate) ratio: f64,
    /// Bounds of its 95 % confidence interval.
    pub(crate) ratio_between: [f64; 2],
    /// Jain's index over all flows, mean over the runs.
    pub(crate) jain: f64,
    /// Timeouts per flow and minute.
    pub(crate) sctp_timeouts: f64,
    pub(crate) tcp_timeouts: f64,
}

impl Summary {
    /// So many runs with seeds of their own, on as many processors as there are.
    pub(crate) fn of(cell: &Cell, runs: u64, measured: Duration) -> Self {
        let outcomes = outcomes(cell, runs, measured);
        let logarithms: Vec<f64> =
            outcomes.iter().map(|outcome| (mean(&outcome.sctp) / mean(&outcome.tcp)).ln()).collect();
        let (centre, half) = (mean(&logarithms), half_width(&logarithms));
        let over_runs = |value: fn(&Outcome) -> f64| mean(&outcomes.iter().map(value).collect::<Vec<f64>>());
        let per_flow_and_minute = 60.0 / (f64::from(cell.flows[0]) * measured.as_secs_f64());
        Self {
            sctp_mbits: over_runs(|outcome| mean(&outcome.sctp)) / 1e6,
            tcp_mbits: over_runs(|outcome| mean(&outcome.tcp)) / 1e6,
            ratio: centre.exp(),
            ratio_between: [(centre - half).exp(), (centre + half).exp()],
            jain: over_runs(Outcome::jain),
            sctp_timeouts: over_runs(|outcome| to_f64(outcome.sctp_timeouts)) * per_flow_and_minute,
            tcp_timeouts: over_runs(|outcome| to_f64(outcome.tcp_timeouts)) * per_flow_and_minute,
        }
    }
}

/// Runs a cell with the seeds from one on, and returns what came out in their order.
pub(crate) fn outcomes(cell: &Cell, runs: u64, measured: Duration) -> Vec<Outcome> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(1);
    let seeds = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&seed| seed <= runs);
    let work = || std::iter::from_fn(seeds).map(|seed| (seed, cell.run(seed, measured))).collect::<Vec<_>>();
    let mut outcomes: Vec<(u64, Outcome)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    outcomes.sort_by_key(|(seed, _)| *seed);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values)
}

/// Half of the 95 % confidence interval of the mean of these values.
fn half_width(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    student(count(values) - 1.0) * (squares / (count(values) - 1.0) / count(values)).sqrt()
}

fn count(values: &[f64]) -> f64 {
    u32::try_from(values.len()).map_or(f64::INFINITY, f64::from)
}

/// Returns the 97.5 % quantile of Student's t by its expansion in the degrees of freedom (Abramowitz and Stegun, 26.7.5): 2.262
/// with nine, and too small by a fiftieth with four.
fn student(freedom: f64) -> f64 {
    let z = NORMAL;
    let terms = [
        z,
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term)
}

/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_964;
