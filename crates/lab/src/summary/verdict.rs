//! The faults of a transport's runs, in words.

use core::time::Duration;

use crate::compare::RawRun;

/// Returns everything that keeps the row from being a full success; `None` if nothing does.
pub(super) fn because(runs: &[&RawRun], drain: Duration) -> Option<String> {
    let sum = |count: fn(&RawRun) -> u64| runs.iter().map(|run| count(run)).sum::<u64>();
    let requests = sum(|run| run.counters.requests);
    let failed = requests.saturating_sub(sum(|run| run.counters.responses));
    let untaken = sum(|run| run.samples.iter().filter(|sample| sample.sent.is_none()).count() as u64);
    let errors = sum(|run| run.counters.strange);
    let mut reasons: Vec<String> = runs.iter().filter_map(|run| run.ended_early.clone()).collect();
    if failed > 0 {
        let until = if reasons.is_empty() {
            format!("within {drain:?} after sending ended")
        } else {
            "by then".to_owned()
        };
        reasons.push(format!("{failed} of {requests} requests not answered {until}"));
    }
    if untaken > 0 {
        reasons.push(format!("{untaken} more requests were due, but the transport never took them"));
    }
    if errors > 0 {
        reasons.push(format!("{errors} responses answered no request that was sent"));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
