//! What the runs of a cell say together.

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
    /// Ten runs with seeds of their own.
    pub(crate) fn of(cell: &Cell, measured: Duration) -> Self {
        let outcomes: Vec<_> = (1..=RUNS).map(|seed| cell.run(seed, measured)).collect();
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

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values)
}

/// Half of the 95 % confidence interval of the mean of `RUNS` values.
fn half_width(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    STUDENT * (squares / (count(values) - 1.0) / count(values)).sqrt()
}

fn count(values: &[f64]) -> f64 {
    u32::try_from(values.len()).map_or(f64::INFINITY, f64::from)
}

const RUNS: u64 = 10;
/// The 97.5 % quantile of Student's t with 9 degrees of freedom.
const STUDENT: f64 = 2.262;
