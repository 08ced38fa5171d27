use core::time::Duration;

use super::*;
use crate::compare::{BackendKind, DirectionPackets, Skipped};
use crate::report;
use crate::testing::{answered, outcome, run};

fn compare(raw: &RawOutcome) -> Comparison {
    let prediction = Prediction {
        model_ms: 20.8,
        study_ms: Some(21.5),
        study: Some("S4 (1),(7)".to_owned()),
        ccdf: vec![(20.0, 1.0), (50.0, 0.01)],
    };
    Comparison::new(&CompareConfig::default(), raw, Conditions::default(), |_| Ok(prediction.clone()))
}

#[test]
fn the_json_says_which_devices_packets_went_through() {
    let mut raw = outcome(vec![run("udp", &answered(500))]);
    raw.device = Some(emulator::DeviceKind::Veth);
    let json = serde_json::to_value(compare(&raw).result).unwrap();
    assert_eq!(json["path"]["device"], "veth");
}

#[test]
fn the_json_has_the_keys_of_the_contract() {
    let mut sctp = run("sctp:6", &answered(500));
    sctp.blocking = Some(Blocking { messages_blocked: 4, total: Duration::from_millis(10) });
    let json = serde_json::to_value(compare(&outcome(vec![sctp])).result).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let fields =
        "command commit headway host path reading runs schema settings skipped started unpredicted workload";
    assert_eq!(keys(&json).join(" "), fields);
    assert_eq!(keys(&json["path"]), ["backend", "delay_ms", "impairments", "loss", "rtt_ms"]);
    assert_eq!(json["path"]["backend"], "simulator");
    assert_eq!((&json["path"]["rtt_ms"], &json["path"]["loss"]), (&20.0.into(), &0.01.into()));
    let row = &json["runs"][0];
    let of_row = "blocking connections failed id late ordered packets predicted profile requests response_ms responses streams transport";
    assert_eq!(keys(row).join(" "), of_row);
    assert_eq!((&row["id"], &row["profile"]), (&"sctp:6".into(), &"signalling".into()));
    assert_eq!(row["blocking"], serde_json::json!({"messages_blocked": 4, "mean_blocked_ms": 2.5}));
    assert_eq!(
        row["predicted"],
        serde_json::json!({"model_ms": 20.8, "study_ms": 21.5, "study": "S4 (1),(7)"})
    );
    assert_eq!(keys(&row["response_ms"]), ["ci95", "max", "mean", "p50", "p90", "p99", "p999", "unanswered"]);
    let late = "losses mean_excess_ms share shortest_ms threshold_ms unsplit";
    assert_eq!(keys(&row["late"]).join(" "), late);
}

#[test]
fn rows_say_which_transport_they_are() {
    let row = |id: &str| {
        serde_json::to_value(&compare(&outcome(vec![run(id, &answered(20))])).result.runs[0]).unwrap()
    };
    let facts = |id: &str| {
        let row = row(id);
        [&row["transport"], &row["streams"], &row["connections"], &row["ordered"]]
            .map(ToString::to_string)
            .join(" ")
    };
    assert_eq!(facts("tcp"), r#""tcp" null 1 true"#);
    assert_eq!(facts("tcp:4"), r#""tcp" null 4 true"#);
    assert_eq!(facts("sctp:6"), r#""sctp" 6 1 true"#);
    assert_eq!(facts("sctp:unordered"), r#""sctp" 1 1 false"#);
    assert_eq!(facts("quic:6"), r#""quic" 6 1 true"#);
    assert_eq!(facts("udp"), r#""udp" null null false"#);
    assert!(row("tcp")["blocking"].is_null() && row("tcp").get("retransmissions").is_none());
}

#[test]
fn unanswered_requests_fail_the_row_with_the_reason() {
    let mut responses = answered(100);
    responses[3] = None;
    let mut raw = outcome(vec![run("udp", &responses)]);
    raw.runs[0].retransmissions = Some(7);
    let result = compare(&raw).result;
    let row = &result.runs[0];
    assert_eq!(
        (row.counts.requests, row.counts.responses, row.counts.failed, row.retransmissions),
        (100, 99, 1, Some(7))
    );
    assert_eq!(row.because.as_deref(), Some("1 of 100 requests not answered within 32s after sending ended"));
    assert!(!result.is_success());
    assert!(compare(&outcome(vec![run("udp", &answered(100))])).result.is_success());
}

#[test]
fn requests_that_the_transport_never_took_are_no_requests_but_a_reason() {
    let mut raw = outcome(vec![run("tcp", &answered(100))]);
    raw.runs[0].samples[99].sent = None;
    raw.runs[0].samples[99].response = None;
    raw.runs[0].counters.requests = 99;
    raw.runs[0].counters.responses = 99;
    let row = &compare(&raw).result.runs[0];
    assert_eq!((row.counts.requests, row.counts.failed), (99, 0));
    assert!(row.because.as_deref().unwrap().starts_with("1 more requests were due"));
}

#[test]
fn repetitions_become_one_row_with_the_sums() {
    let mut runs = vec![run("tcp", &answered(100)), run("udp", &answered(100)), run("tcp", &answered(50))];
    let packets = DirectionPackets { sent: 10, dropped: 1 };
    for run in &mut runs {
        run.packets = Some(PacketCounts { request: packets, response: packets });
    }
    runs[2].repetition = 1;
    let result = compare(&outcome(runs)).result;
    let ids: Vec<&str> = result.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["tcp", "udp"]);
    assert_eq!(result.runs[0].counts.requests, 150);
    assert_eq!(result.runs[0].packets.unwrap().request, DirectionPackets { sent: 20, dropped: 2 });
}

#[test]
fn a_fallback_and_skipped_transports_are_in_the_json() {
    let mut raw = outcome(vec![]);
    let because = "no rights".to_owned();
    raw.fallback = Some(crate::compare::Fallback { wanted: BackendKind::Namespaces, because });
    raw.skipped = vec![Skipped { id: "tcp".to_owned(), because: "no kernel".to_owned() }];
    let json = serde_json::to_value(compare(&raw).result).unwrap();
    assert_eq!(json["path"]["fallback"], serde_json::json!({"wanted": "namespaces", "because": "no rights"}));
    assert_eq!(json["skipped"], serde_json::json!([{"id": "tcp", "because": "no kernel"}]));
}

#[test]
fn the_json_reads_back_to_the_same_result() {
    let result = compare(&outcome(vec![run("sctp:1", &answered(1000)), run("udp", &answered(3))])).result;
    let text = report::results_json(&result).unwrap();
    assert_eq!(serde_json::from_str::<CompareResult>(&text).unwrap(), result);
}

#[test]
fn impairments_are_named_only_where_there_are_any() {
    let result = compare(&outcome(vec![])).result;
    assert_eq!(result.path.impairments.request, "delay 10ms, loss 1 %");
    let config = CompareConfig { response_path: netem::Impairments::default(), ..CompareConfig::default() };
    let comparison =
        Comparison::new(&config, &outcome(vec![]), Conditions::default(), |_| Err("no model".to_owned()));
    assert_eq!(comparison.result.path.impairments.response, "none");
}
