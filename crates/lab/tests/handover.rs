//! A client that goes on in another network in mid-run, over every transport that can.
#![allow(clippy::unwrap_used, reason = "tests; clippy knows only functions marked as such")]

use core::time::Duration;

use lab::HandoverCounts;
use lab::plan::Plan;
use lab::simulation::{FlowOutcome, Watch, simulate};

/// From a network with a round trip of 200 ms to one of 30 ms.
const PLAN: &str = r#"
    title = "a handover"
    hosts = ["mobile", "server"]
    [links.access]
    between = ["mobile", "server"]
    delay = "100ms"
    rate = "20mbit"
    [handover]
    at = "5s"
    HANDOVER
    [flows.video]
    from = "mobile"
    to = "server"
    transport = "TRANSPORT"
    workload = "video"
    deadline = "200ms"
    [stop]
    duration = "12s"
"#;

fn plan(transport: &str, handover: &str) -> String {
    PLAN.replace("TRANSPORT", transport).replace("HANDOVER", handover)
}

fn run(plan: &str) -> FlowOutcome {
    let plan = Plan::parse(plan).unwrap();
    simulate(&plan.cells[0].scenario, 1, &Watch::default()).unwrap().flows.remove(0)
}

/// Every frame of twelve seconds has to arrive.
fn cost(transport: &str, handover: &str) -> HandoverCounts {
    let flow = run(&plan(transport, handover));
    assert_eq!((flow.failure, flow.messages, flow.completed), (None, 360, 360), "{transport}, {handover}");
    flow.counts.frames.unwrap().handover.unwrap()
}

const OVERLAP: &str = "overlap = \"1s\"\nrtt = \"30ms\"\nrate = \"20mbit\"";
const GAP: &str = "gap = \"500ms\"\nrtt = \"30ms\"\nrate = \"20mbit\"";

#[test]
fn an_association_moves_without_a_late_frame_while_both_networks_are_there() {
    let cost = cost("sctp:1", OVERLAP);
    assert_eq!((cost.late, cost.recovery), (0, Some(Duration::ZERO)), "{cost:?}");
}

#[test]
fn without_a_network_frames_wait_for_the_next_one_over_every_transport() {
    for transport in ["sctp:1", "sctp:unordered", "tcp", "quic:1"] {
        let cost = cost(transport, GAP);
        let gap = cost.gap.unwrap();
        assert!((400..2000).contains(&gap.as_millis()), "{transport}: {cost:?}");
        assert!(
            cost.late >= 5 && cost.recovery.unwrap() > Duration::from_millis(200),
            "{transport}: {cost:?}"
        );
    }
}

/// The new address is asked for in a round trip (RFC 5061 §5.3), half of another one is the way of the first data, and a frame of several
/// windows takes two more in slow start; then it has its octets behind it, and stands between two frames.
#[test]
fn without_a_network_an_association_waits_for_it_and_for_no_timer() {
    let resumed = format!("{GAP}\nstart_up = \"resume\"");
    for (transport, handover) in [("sctp:1", GAP), ("sctp:unordered", GAP), ("sctp:6", &resumed)] {
        let cost = cost(transport, handover);
        let (without, way, slow_start, frame, between_frames) = (500, 45, 60, 10, 34);
        let bound = without + way + slow_start + frame + between_frames;
        assert!(cost.gap.unwrap().as_millis() <= bound, "{transport}: {cost:?}");
    }
}

#[test]
fn streams_of_octets_go_on_as_well_and_nothing_is_lost() {
    for transport in ["tcp", "tcp:2", "quic:1", "quic:6", "sctp:6"] {
        let cost = cost(transport, OVERLAP);
        assert!(cost.recovery.unwrap() < Duration::from_secs(2), "{transport}: {cost:?}");
    }
}

/// Frames of 30,000 octets over a round trip of 200 ms: slow start makes them wait, what was used before does not (study S5).
#[test]
fn what_was_used_before_spares_the_penalty_of_slow_start() {
    let penalty = |start_up: &str| {
        let handover =
            format!("overlap = \"1s\"\nrtt = \"200ms\"\nrate = \"100mbit\"\nstart_up = \"{start_up}\"");
        let pictures = plan("sctp:1", &handover)
            .replace("rate = \"20mbit\"", "rate = \"100mbit\"")
            .replace("deadline", "message = 30000\n    sctp.send_buffer = 16777216\n    sctp.receive_window = 4194304\n    deadline");
        run(&pictures).counts.frames.unwrap().handover.unwrap().penalty.unwrap()
    };
    let [off, resumed, measured] = ["off", "resume", "probe"].map(penalty);
    assert!(off > Duration::from_millis(500), "{off:?}");
    assert!(resumed * 3 < off, "{resumed:?} of {off:?}");
    assert!(measured * 3 < off, "{measured:?} of {off:?}, by a path that was measured before");
}

#[test]
fn what_a_handover_does_not_go_with_is_refused_by_its_key() {
    let refused = |plan: String, key: &str| {
        let error = Plan::parse(&plan).unwrap_err();
        assert!(error.to_string().contains(&format!("`{key}`")), "{error}");
    };
    refused(
        plan("udp", OVERLAP).replace("video\"", "echo\"").replace("deadline = \"200ms\"", ""),
        "flows.video.transport",
    );
    refused(
        plan("tcp", OVERLAP)
            .replace("= \"video\"", "= \"messages\"\nrate = 10")
            .replace("deadline = \"200ms\"", ""),
        "flows.video.workload",
    );
    refused(plan("tcp", "rtt = \"30ms\""), "handover");
    refused(plan("tcp", OVERLAP).replace("title", "switch_after = \"1s\"\ntitle"), "switch_after");
    refused(plan("tcp", OVERLAP).replace("title", "routers = [\"middle\"]\ntitle"), "routers");
    refused(plan("tcp", OVERLAP).replace("deadline", "start = \"5s\"\ndeadline"), "flows.video.start");
    let error = Plan::parse(&plan("tcp", "gap = \"2h\"\nrtt = \"30ms\"")).unwrap_err().to_string();
    assert!(error.contains("gap '2h': that is too long: write at most 1h"), "{error}");
}

#[test]
fn equal_seeds_give_equal_runs() {
    let plan = Plan::parse(&plan("sctp:1", &format!("{GAP}\nloss = \"1%\""))).unwrap();
    let hash = || simulate(&plan.cells[0].scenario, 3, &Watch::default()).unwrap().trace_hash;
    assert_eq!(hash(), hash());
}
