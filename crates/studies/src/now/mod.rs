//! Questions of today, answered: a study of our own, with the stacks of today. Each page has a paragraph that one can act on.

mod blocked;
mod burst;
mod large;
mod path;
mod streams;
mod timer;

pub(super) use blocked::blocked;
pub(super) use burst::burst;
pub(super) use large::large;
pub(super) use path::path;
pub(super) use streams::streams;
pub(super) use timer::timer;

use crate::cells::Ran;
use lab::report::Estimate;

/// Returns a mean for a sentence: `21.4`, or that there is none.
fn said(cell: &Ran) -> String {
    cell.mean().map_or_else(|| "no steady state".to_owned(), |mean| format!("{:.1} ms", mean.value()))
}

/// Returns a quantile for a table.
fn shown(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| "–".to_owned(), |estimate| format!("{:.1}", estimate.value()))
}
