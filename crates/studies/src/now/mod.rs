//! Questions of today, answered: a study of our own, with the stacks of today. Each page has a paragraph that one can act on.

mod blocked;
mod burst;
mod kernel;
mod large;
mod path;
mod redundancy;
mod streams;
mod timer;

pub(super) use blocked::blocked;
pub(super) use burst::burst;
pub(super) use large::large;
pub(super) use path::path;
pub(super) use redundancy::redundancy;
pub(super) use streams::streams;
pub(super) use timer::{TCP as NOW_TCP, timer};

use crate::cells::Ran;
use lab::plan::FlowTally;
use lab::report::Estimate;

/// Returns a mean for a sentence: `21.4`, or that there is none.
fn said(cell: &Ran) -> String {
    cell.mean().map_or_else(|| "no steady state".to_owned(), |mean| format!("{:.1} ms", mean.value()))
}

/// Returns the mean of each run of a flow in ms, in the order of the seeds; none where a run delivered nothing.
fn of_all_seeds(flow: &FlowTally) -> Vec<f64> {
    let means = flow.delivered.means();
    if means.len() == flow.seeds.len() { means } else { Vec::new() }
}

/// Returns by how many per cent the means of some runs are more than those of others, seed by seed; `None` where the seeds differ, or are too few
/// for an interval.
fn paired(means: &[f64], others: &[f64]) -> Option<Estimate> {
    if means.len() != others.len() || means.len() < MIN_PAIRS {
        return None;
    }
    let pairs = means.iter().zip(others).map(|(mean, other)| (mean / other - 1.0) * 100.0);
    Estimate::of_runs(&pairs.collect::<Vec<f64>>())
}

/// Returns a quantile for a table.
fn shown(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| "–".to_owned(), |estimate| format!("{:.1}", estimate.value()))
}

/// The fewest runs that are compared seed by seed; with fewer the interval over batches stands in.
const MIN_PAIRS: usize = 10;
