use ::core::time::Duration;

use crate::compare::{CompareConfig, RawRun, run_compare};
use crate::plan::Plan;
use crate::simulation::{Watch, simulate};
use crate::{BackendChoice, Simulator};

fn config(transports: &str, loss: &str) -> CompareConfig {
    let mut config = CompareConfig {
        transports: transports.parse().unwrap(),
        backend: BackendChoice::Simulator,
        ..CompareConfig::default()
    };
    config.request_path.loss = loss.parse().unwrap();
    config.response_path.loss = config.request_path.loss;
    config
}

fn run(transports: &str, loss: &str) -> Vec<RawRun> {
    let config = config(transports, loss);
    let raw = run_compare(&config, &mut Simulator, &mut Simulator).unwrap();
    assert_eq!(raw.skipped, []);
    raw.runs
}

#[test]
fn without_losses_a_request_takes_a_round_trip_and_nothing_waits() {
    for run in run("quic:1,quic:6", "0%") {
        assert_eq!(
            (run.counters.requests, run.counters.responses),
            (run.samples.len() as u64, run.counters.requests)
        );
        assert!(
            run.samples.iter().all(|sample| sample.response == Some(Duration::from_millis(20))),
            "{}",
            run.transport
        );
        assert_eq!(run.blocking.unwrap().messages_blocked, 0);
    }
}

#[test]
fn losses_hold_up_messages_of_one_stream_more_than_those_of_many() {
    let runs = run("quic:1,quic:6,quic:64", "3%");
    let blocked: Vec<u64> = runs.iter().map(|run| run.blocking.unwrap().messages_blocked).collect();
    assert!(blocked[0] > 2 * blocked[1] && blocked[1] > blocked[2], "{blocked:?}");
    assert!(runs.iter().all(|run| run.counters.responses == run.counters.requests));
    let waited =
        runs[0].samples.iter().filter(|sample| sample.blocked.is_some_and(|blocked| !blocked.is_zero()));
    assert!(waited.count() > 0);
}

/// TLS draws keys of its own, so that no two handshakes have the same octets; times and lengths are those of the seed.
#[test]
fn two_runs_of_one_seed_send_packets_of_the_same_length_at_the_same_time() {
    let scenario = config("quic:6", "3%").scenario("quic:6".parse().unwrap());
    let run = |seed| simulate(&scenario, seed, &Watch::default()).unwrap();
    let (once, again, other) = (run(1), run(1), run(2));
    assert!(once.trace_hash.is_some() && once.packets > 1000);
    assert_eq!((once.trace_hash, once.packets, once.events), (again.trace_hash, again.packets, again.events));
    assert_ne!(once.trace_hash, other.trace_hash);
}

const PLAN: &str = r#"
title = "every workload over QUIC"
seeds = 1
hosts = ["here", "there"]
[links.path]
between = ["here", "there"]
delay = "10ms"
loss = "1%"
[flows.only]
from = "here"
to = "there"
transport = "quic:6"
rate = 100
message = 1000
[stop]
duration = "5s"
[factors]
"flows.only.workload" = ["messages", "bulk"]
"#;

#[test]
fn messages_one_way_and_octets_without_pause_go_over_it_too() {
    let plan = Plan::parse(PLAN).unwrap();
    let outcomes: Vec<_> =
        plan.cells.iter().map(|cell| simulate(&cell.scenario, 1, &Watch::default()).unwrap()).collect();
    let [messages, bulk] = [&outcomes[0].flows[0], &outcomes[1].flows[0]];
    assert!(messages.messages > 300 && messages.completed == messages.messages, "{messages:?}");
    assert!(bulk.goodput_bits_per_s.unwrap() > 1e6, "{bulk:?}");
}
