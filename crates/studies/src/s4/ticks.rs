//! Fig 18's steps of 4 ms over TCP, and the clock that makes them.

use crate::cells::{Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::report::{Axis, Criterion, Estimate, Figure, Mark, Page, Series};

/// Adds the statement on steps of 4 ms, with a generator whose clock ticks as the second run.
pub(super) fn add(page: &mut Page, effort: &Effort) -> Result<(), StudyError> {
    let cells = effort.run("S4-fig18", PLAN)?;
    let x = Axis::linear("response time in ms").between(15.0, 75.0);
    let y = Axis::log("share of openings that take longer").between(1e-3, 1.0);
    page.figures.push(Figure::new("ticks", "TCP, and a generator with a clock of 250 Hz", x, y));
    let [free, ticking] =
        [cells.get(&[text("arrivals", "poisson")])?, cells.get(&[text("arrivals", "ticks:4ms")])?];
    for (cell, name) in [(free, "sends when it wants"), (ticking, "sends with the tick of its kernel")] {
        let steps = cell.times().map(lab::Distribution::ccdf).unwrap_or_default();
        page.series.push(Series::new("ticks", name, Mark::Steps, steps));
    }
    let statement = "TCP: the distribution has steps of 4 ms, which come from the clock of 250 Hz";
    let judged = STEPS.judge(statement, on_steps(free));
    let cause = "a generator that its kernel wakes every 4 ms";
    page.statements.push(STEPS.explain(judged, cause, "S4-fig18/ticks", on_steps(ticking)));
    Ok(())
}

/// Returns the share, in per cent, of the delayed openings whose times fall into that quarter of every 4 ms into which most do; 25 % if
/// there are no steps.
fn on_steps(cell: &Ran) -> Option<Estimate> {
    let steps = cell.times()?.ccdf();
    let mut parts = [0.0; PARTS];
    for pair in steps.windows(2) {
        let (ms, share) = (pair[1].0, pair[0].1 - pair[1].1);
        if (DELAYED_MS[0]..DELAYED_MS[1]).contains(&ms) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than PARTS")]
            let part = (ms.rem_euclid(TICK_MS) / TICK_MS * PARTS as f64) as usize;
            parts[part.min(PARTS - 1)] += share;
        }
    }
    let all: f64 = parts.iter().sum();
    let quarter = |first: usize| (first..first + PARTS / 4).map(|part| parts[part % PARTS]).sum::<f64>();
    let most = (0..PARTS).map(quarter).fold(0.0, f64::max);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of openings")]
    let count = (all * cell.answered().0 as f64) as u64;
    Some(Estimate::of_share(most / all, count, CLUSTER)?.scaled(100.0, 0.0))
}

/// The criterion of the statement, fixed before any run.
const STEPS: Criterion = Criterion::more_than(60.0, "%");
const TICK_MS: f64 = 4.0;
const PARTS: usize = 16;
/// Openings that waited for something, and not for a timeout.
const DELAYED_MS: [f64; 2] = [22.0, 150.0];
/// Openings that one loss delays together.
const CLUSTER: f64 = 10.0;
const PLAN: &str = include_str!("../../../../plans/studies/s4-ticks.toml");

#[cfg(test)]
mod tests;
