use core::time::Duration;

use netem::Impairments;

use crate::compare::{CompareConfig, RawRun, run_compare};
use crate::plan::Plan;
use crate::simulation::{FlowOutcome, Watch, simulate};
use crate::{BackendChoice, Simulator};

/// A path of 20 ms there and back, over which `workload` goes for five seconds.
fn config(workload: &str, transports: &str) -> CompareConfig {
    let path = Impairments { delay: Duration::from_millis(10), ..Impairments::default() };
    let mut config = CompareConfig {
        request_path: path.clone(),
        response_path: path,
        transports: transports.parse().unwrap(),
        workload: workload.parse().unwrap(),
        backend: BackendChoice::Simulator,
        ..CompareConfig::default()
    };
    config.traffic.duration = Duration::from_secs(5);
    config
}

fn runs(config: &CompareConfig) -> Vec<RawRun> {
    let raw = run_compare(config, &mut Simulator, &mut Simulator).unwrap();
    assert_eq!(raw.skipped.len(), 0);
    raw.runs
}

fn times_ms(run: &RawRun) -> Vec<f64> {
    run.samples.iter().map(|sample| sample.response.unwrap().as_secs_f64() * 1e3).collect()
}

#[test]
fn calls_and_invites_are_answered_in_a_round_trip_over_every_transport() {
    for workload in ["sip", "sip-invite"] {
        for run in runs(&config(workload, "udp,tcp,tcp:4,sctp:1,sctp:6,sctp:unordered,quic:2")) {
            let times = times_ms(&run);
            assert_eq!(
                (run.ended_early, run.counters.strange),
                (None, 0),
                "{workload} over {}",
                run.transport
            );
            assert!((400..600).contains(&times.len()), "{}", times.len());
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            assert!((20.0..20.3).contains(&mean), "{workload} over {}: {mean} ms", run.transport);
        }
    }
}

/// RFC 3261 §17.1.1.2: timer A is 500 ms, doubled each time; the callee answers each copy, and repeats its 200 after 500 ms (§13.3.1.4).
#[test]
fn over_udp_the_timers_of_sip_make_up_for_losses() {
    for workload in ["sip", "sip-invite"] {
        let mut config = config(workload, "udp");
        config.request_path.loss = "5%".parse().unwrap();
        config.response_path.loss = config.request_path.loss;
        let run = runs(&config).remove(0);
        let times = times_ms(&run);
        assert!(run.retransmissions.unwrap() > 20, "{:?}", run.retransmissions);
        // At once, or a multiple of T1 later.
        let late = |time: &f64| (time - 20.0) % 500.0;
        assert!(times.iter().all(|time| late(time) < 1.0), "{workload}: {times:?}");
        let repeated = times.iter().filter(|time| **time > 500.0).count();
        assert!((20..90).contains(&repeated), "{workload}: {repeated} of {}", times.len());
    }
}

/// A flow of calls over a path that loses 2 % of all packets.
fn calls(transport: &str) -> FlowOutcome {
    let plan = Plan::parse(&PLAN.replace("TRANSPORT", transport)).unwrap();
    simulate(&plan.cells[0].scenario, 1, &Watch::default()).unwrap().flows.remove(0)
}

#[test]
fn a_loss_touches_fewer_calls_the_more_streams_there_are_and_none_without_order() {
    let touched = ["sctp:1", "sctp:6", "sctp:unordered"].map(|transport| {
        let flow = calls(transport);
        let calls = flow.counts.calls.unwrap();
        assert_eq!((flow.failure, flow.messages, flow.completed, calls.up), (None, 2000, 2000, 2000));
        calls.touched.unwrap()
    });
    assert!(touched[0] > 2 * touched[1] && touched[1] > 0 && touched[2] == 0, "{touched:?}");
    assert_eq!(calls("tcp").counts.calls.unwrap().touched, None, "TCP does not tell");
}

/// INVITE, 180, 200 and ACK of each call, and ten seconds later BYE and 200: those of the last ten seconds are still up.
#[test]
fn calls_end_after_ten_seconds_and_nothing_is_repeated_where_nothing_is_lost() {
    let text = PLAN.replace("TRANSPORT", "udp").replace("loss = \"2%\"", "");
    let text = text.replace("interval =", "arrivals = \"constant\"\ninterval =");
    let run = simulate(&Plan::parse(&text).unwrap().cells[0].scenario, 1, &Watch::default()).unwrap();
    let flow = &run.flows[0];
    assert_eq!((&flow.failure, flow.completed, flow.counts.calls.unwrap().up), (&None, 2000, 2000));
    assert_eq!(flow.transport.retransmissions, Some(0));
    let ended = (run.packets - 2000 * 4) / 2;
    assert!((1495..=1500).contains(&ended), "{ended}");
}

#[test]
fn calls_of_equal_seeds_are_equal() {
    let [once, again] = [calls("udp"), calls("udp")];
    assert_eq!((&once.failure, once.completed, once.counts.calls.unwrap().up), (&None, 2000, 2000));
    assert_eq!((once.transport, once.strange), (again.transport, again.strange));
}

const PLAN: &str = r#"
title = "calls"
hosts = ["caller", "callee"]
[links.wan]
between = ["caller", "callee"]
delay = "10ms"
loss = "2%"
[flows.calls]
from = "caller"
to = "callee"
transport = "TRANSPORT"
workload = "sip"
interval = "20ms"
[stop]
messages = 2000
"#;
