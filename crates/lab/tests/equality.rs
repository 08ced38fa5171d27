//! A comparison and a plan that describe the same path and the same load measure the same.
#![allow(clippy::unwrap_used, reason = "tests; clippy knows only functions marked as such")]

use core::num::NonZeroU32;
use core::time::Duration;

use lab::plan::{Plan, RunOptions};
use lab::{BackendChoice, CompareConfig, Comparison, Conditions, Simulator, run_compare};

/// The defaults of `headway compare` as a plan, with the same seeds.
const PLAN: &str = r#"
    title = "the defaults of compare"
    seeds = 5
    hosts = ["client", "server"]
    [links.path]
    between = ["client", "server"]
    delay = "10ms"
    loss = "1%"
    [flows.requests]
    from = "client"
    to = "server"
    transport = "sctp:1"
    interval = "10ms"
    [stop]
    duration = "100s"
    [factors]
    "flows.requests.transport" = ["tcp", "tcp:4", "sctp:1", "sctp:6", "sctp:unordered", "quic:6", "udp"]
"#;

/// Mean and its interval, in ms, by transport.
type Means = Vec<(String, f64, [f64; 2])>;

fn planned() -> Means {
    let plan = Plan::parse(PLAN).unwrap();
    let outcome = plan.run(&RunOptions::default()).unwrap();
    let row = |(cell, tally): (&lab::plan::Cell, &lab::plan::CellTally)| {
        let responses = &tally.flows[0].responses;
        let name = cell.factors[0].1.as_str().unwrap().to_owned();
        (name, responses.mean().unwrap(), responses.ci95().unwrap())
    };
    plan.cells.iter().zip(&outcome.cells).map(row).collect()
}

fn compared() -> Means {
    let mut config = CompareConfig {
        repeat: NonZeroU32::new(5).unwrap(),
        backend: BackendChoice::Simulator,
        ..CompareConfig::default()
    };
    config.traffic.duration = Duration::from_secs(100);
    let raw = run_compare(&config, &mut Simulator, &mut Simulator).unwrap();
    let comparison = Comparison::new(&config, &raw, Conditions::default(), |_| Err("no model".to_owned()));
    let rows = comparison.result.runs.into_iter();
    rows.map(|row| (row.id, row.response_ms.mean.unwrap(), row.response_ms.ci95.unwrap())).collect()
}

#[test]
fn a_comparison_and_a_plan_of_the_same_path_measure_the_same() {
    let (plans, comparisons) = (planned(), compared());
    assert_eq!(plans.len(), comparisons.len());
    for ((name, mean, [low, high]), (id, other, [other_low, other_high])) in plans.iter().zip(&comparisons) {
        assert_eq!(name, id);
        let (half, other_half) = ((high - low) / 2.0, (other_high - other_low) / 2.0);
        let distance = (mean - other).abs();
        assert!(
            distance <= half.hypot(other_half),
            "{name}: a plan {mean:.3} ± {half:.3}, a comparison {other:.3} ± {other_half:.3}"
        );
    }
}
