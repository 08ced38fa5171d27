//! Clients that go on in another network, in namespaces: every frame arrives, and each counts once. Where
//! namespaces are refused the tests check that this is said, and say that they are left out.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::compare_in_namespaces;

/// The result of a comparison whose clients move; `None` where this host refuses namespaces.
fn compare(transports: &str, handover: &str) -> Option<Value> {
    let fixed = "--workload video --duration 5s --rtt 60ms";
    compare_in_namespaces(&format!("{fixed} --transport {transports} --handover {handover}"))
}

/// Asserts that every frame was sent and had, each once, in a comparison of clients that move.
fn assert_nothing_is_lost(result: &Value, transports: &[&str]) {
    assert_eq!(result["path"]["backend"], "namespaces");
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["id"].as_str().unwrap()).collect::<Vec<_>>(), transports);
    for run in runs {
        assert!(run["because"].is_null(), "no transport ended, no answer was strange: {run}");
        assert_eq!(
            (&run["requests"], &run["responses"], &run["failed"]),
            (&json!(150), &json!(150), &json!(0))
        );
        let frames = &run["frames"];
        assert_eq!((&frames["lost"], &frames["handover"]["handovers"]), (&json!(0), &json!(1)), "{run}");
    }
}

#[test]
fn frames_wait_for_the_next_network_and_all_arrive_over_every_transport() {
    let transports = "sctp:1,sctp:unordered,tcp,tcp:2,quic:2,udp";
    let Some(result) = compare(transports, "at=2s,gap=500ms,rtt=20ms,rate=50mbit") else { return };
    assert_nothing_is_lost(&result, &["sctp:1", "sctp:unordered", "tcp", "tcp:2", "quic:2"]);
    assert_eq!(result["skipped"][0]["id"], "udp");
    for run in result["runs"].as_array().unwrap() {
        // No machine is so fast that frames arrive without a network.
        assert!(run["frames"]["handover"]["gap_ms"].as_f64() > Some(400.0), "{run}");
    }
}

#[test]
fn frames_all_arrive_while_the_client_changes_networks_over_every_transport() {
    let transports = "sctp:1,sctp:unordered,tcp,tcp:2,quic:2";
    let Some(result) = compare(transports, "at=2s,overlap=1s,rtt=20ms,rate=50mbit") else { return };
    assert_nothing_is_lost(&result, &transports.split(',').collect::<Vec<_>>());
}
