use core::time::Duration;

use netem::Impairments;

use super::calls::{Calls, Due, standing};
use crate::compare::{CompareConfig, RawRun, run_compare};
use crate::plan::{Plan, PlanError};
use crate::simulation::{Watch, simulate};
use crate::traffic::Workload;
use crate::transport::{FlowSeed, TransportSpec};
use crate::{BackendChoice, Simulator};

fn config(transports: &str) -> CompareConfig {
    let path = Impairments { delay: Duration::from_millis(10), ..Impairments::default() };
    CompareConfig {
        request_path: path.clone(),
        response_path: path,
        transports: transports.parse().unwrap(),
        workload: Workload::SIMCO,
        backend: BackendChoice::Simulator,
        ..CompareConfig::default()
    }
}

fn mean_ms(run: &RawRun) -> f64 {
    let times: Vec<f64> =
        run.samples.iter().map(|sample| sample.response.unwrap().as_secs_f64() * 1000.0).collect();
    times.iter().sum::<f64>() / times.len() as f64
}

#[test]
fn openings_are_answered_in_a_round_trip_over_every_transport() {
    let config = config("tcp,sctp:1,sctp:6,sctp:unordered");
    let raw = run_compare(&config, &mut Simulator, &mut Simulator).unwrap();
    assert_eq!((raw.runs.len(), raw.skipped.len()), (4, 0));
    for run in &raw.runs {
        assert_eq!(run.ended_early, None, "{}", run.transport);
        // A third of 100 transactions a second.
        let openings = run.samples.len();
        assert!((500..800).contains(&openings), "{openings}");
        let mean = mean_ms(run);
        assert!((20.0..20.2).contains(&mean), "{}: {mean}", run.transport);
    }
}

#[test]
fn processing_is_part_of_the_response_time() {
    let config = CompareConfig { processing: Duration::from_millis(5), ..config("tcp,sctp:6") };
    for run in run_compare(&config, &mut Simulator, &mut Simulator).unwrap().runs {
        let mean = mean_ms(&run);
        assert!((25.0..25.2).contains(&mean), "{}: {mean}", run.transport);
    }
}

#[test]
fn losses_over_one_stream_hold_up_more_than_over_six() {
    let mut config = config("sctp:1,sctp:6");
    config.request_path.loss = "2%".parse().unwrap();
    config.response_path.loss = config.request_path.loss;
    config.traffic.duration = Duration::from_secs(200);
    let raw = run_compare(&config, &mut Simulator, &mut Simulator).unwrap();
    let [one, six] = [mean_ms(&raw.runs[0]), mean_ms(&raw.runs[1])];
    assert!(one > six + 0.5 && six > 20.3, "{one} and {six}");
}

#[test]
fn transports_that_cannot_carry_it_are_left_out_with_the_reason() {
    let raw = run_compare(&config("tcp:4,sctp:6,udp"), &mut Simulator, &mut Simulator).unwrap();
    assert_eq!(
        raw.runs.iter().map(|run| run.transport).collect::<Vec<_>>(),
        ["sctp:6".parse::<TransportSpec>().unwrap()]
    );
    let skipped: Vec<&str> = raw.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
    assert_eq!(skipped, ["tcp:4", "udp"]);
}

#[test]
fn transactions_come_at_the_rate_asked_for() {
    let interval = Duration::from_millis(10);
    // λh with λ = 100/(2 + 1/(exp(2/3) − 1)).
    assert_eq!(standing(interval), 5892);
    let mut calls = Calls::new(interval, 3).unwrap();
    let (start, duration) = (virtual_time::Instant::EPOCH, Duration::from_secs(500));
    calls.begin(start, duration);
    let (mut due, mut opened, mut first_minute) = ([0_u32; 3], standing(interval), 0);
    while let Some((at, what)) = calls.pop() {
        first_minute += u32::from(at.since(start) < Duration::from_secs(60));
        match what {
            Due::Open => {
                opened += 1;
                calls.opened(at, simco::PolicyRuleId::new(opened));
                due[0] += 1;
            }
            Due::Refresh(_) => due[1] += 1,
            Due::Delete(_) => due[2] += 1,
        }
    }
    let per_second = f64::from(due.iter().sum::<u32>()) / 500.0;
    assert!((97.0..103.0).contains(&per_second), "{per_second}: {due:?}");
    // Steady from the beginning: 6000 in the first minute, and as many end as begin.
    assert!((5700..6300).contains(&first_minute), "{first_minute}");
    assert!(due[0].abs_diff(due[2]) < 400, "{due:?}");
}

/// A plan of a page of S4, with `changes` in place of its factors.
fn planned(changes: &[(&str, &str)]) -> Result<Plan, PlanError> {
    let text = changes.iter().fold(PLAN.to_owned(), |text, (from, to)| text.replace(from, to));
    Plan::parse(&text)
}

#[test]
fn a_plan_counts_openings_and_sends_at_the_times_it_says() {
    for transport in ["sctp:1", "sctp:6", "sctp:unordered", "tcp"] {
        let changes = [("sctp:6", transport), ("studies", "signalling"), ("poisson", "constant")];
        let changes =
            if transport == "tcp" { [changes[0], ("studies", "linux"), changes[2]] } else { changes };
        let scenario = &planned(&changes).unwrap().cells[0].scenario;
        let outcome = simulate(scenario, 1, &Watch::default()).unwrap();
        let flow = &outcome.flows[0];
        assert_eq!(
            (flow.failure.as_deref(), flow.messages, flow.completed),
            (None, 2000, 2000),
            "{transport}"
        );
        let times = flow.responses.as_ref().unwrap();
        // As often as not a transaction opens, refreshes or deletes a pinhole: in the long run 1 : 1.055 : 1.
        assert!((550..750).contains(&times.spread().count()), "{}", times.spread().count());
        let mean = times.moments().mean().unwrap();
        assert!((20.5..20.7).contains(&mean), "{transport}: {mean}");
        // 2000 transactions every 10 ms; handshakes before.
        assert!((20.0..20.3).contains(&outcome.length.as_secs_f64()), "{:?}", outcome.length);
        let again = simulate(scenario, 1, &Watch::default()).unwrap();
        assert_eq!(again.trace_hash, outcome.trace_hash);
    }
}

#[test]
fn a_plan_needs_a_reliable_transport_and_one_connection() {
    for transport in ["udp", "tcp:4"] {
        let refused = planned(&[("sctp:6", transport), ("\nprofile = \"studies\"", "")]).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("flows.transactions.workload") && said.contains("SIMCO"), "{said}");
    }
}

/// Where a run ends by time, no more pinholes are kept on either side than can be touched until then, and what is played is the same.
#[test]
fn a_run_that_ends_by_time_keeps_no_pinholes_that_nothing_touches() {
    let run = |stop: &str| {
        let changes = [("10ms\"\narrivals", "1ms\"\narrivals"), ("messages = 2000", stop)];
        let plan = planned(&[changes[0], changes[1], ("studies", "signalling")]).unwrap();
        let scenario = &plan.cells[0].scenario;
        let most =
            scenario.flows.iter().next().unwrap().1.client_plan(&scenario.stop, SEED).unwrap().terms.most;
        (most, simulate(scenario, 1, &Watch::default()).unwrap())
    };
    let (most, by_time) = run("duration = \"2s\"");
    assert_eq!(most, 2000 + 447 + 100, "of 58,920 that stand");
    let sent = by_time.flows[0].messages;
    assert!((1800..2200).contains(&sent), "{sent}");
    let (most, by_number) = run(&format!("messages = {sent}"));
    assert_eq!((u64::from(most), by_number.flows[0].completed), (sent, by_time.flows[0].completed));
    let means = [&by_time, &by_number].map(|run| run.flows[0].responses.as_ref().unwrap().moments());
    assert_eq!((means[0].count(), means[0].mean()), (means[1].count(), means[1].mean()));
}

/// Pinholes that fall due after the run are left out on both sides: at 10,000 a second 589,200 stand.
#[test]
fn a_short_run_at_a_high_rate_plays_those_that_fall_due() {
    let changes = [("10ms\"\narrivals", "100us\"\narrivals"), ("studies", "signalling")];
    let outcome = simulate(&planned(&changes).unwrap().cells[0].scenario, 1, &Watch::default()).unwrap();
    assert_eq!((outcome.flows[0].failure.as_deref(), outcome.flows[0].completed), (None, 2000));
}

const SEED: FlowSeed = FlowSeed { run: 1, number: 1 };
const PLAN: &str = r#"
title = "transactions"
hosts = ["agent", "middlebox"]
[links.wan]
between = ["agent", "middlebox"]
delay = "10ms"
[flows.transactions]
from = "agent"
to = "middlebox"
transport = "sctp:6"
profile = "studies"
workload = "simco"
interval = "10ms"
arrivals = "poisson"
processing = "0.5ms"
[stop]
messages = 2000
"#;
