//! Networks of plans: addresses of both families, links with an MTU, and clients that go on from another address.
#![allow(clippy::unwrap_used, reason = "tests; clippy knows only functions marked as such")]

use core::time::Duration;

use lab::plan::Plan;
use lab::simulation::{RunOutcome, Watch, simulate};

/// Two networks, of which the client loses the first one after five of ten seconds.
const TWO_NETWORKS: &str = r#"
    title = "two networks"
    hosts = ["client", "server"]
    routers = ["left", "right"]
    PATIENCE
    [links.near-left]
    between = ["client", "left"]
    delay = "5ms"
    [[links.near-left.changes]]
    at = "5s"
    state = "down"
    [links.near-right]
    between = ["client", "right"]
    delay = "5ms"
    [links.far-left]
    between = ["left", "server"]
    delay = "5ms"
    [links.far-right]
    between = ["right", "server"]
    delay = "5ms"
    [links.between]
    between = ["left", "right"]
    [flows.requests]
    from = "client"
    to = "server"
    transport = "TRANSPORT"
    interval = "10ms"
    [stop]
    messages = 1000
    drain = "20s"
"#;

fn run(plan: &str) -> RunOutcome {
    let plan = Plan::parse(plan).unwrap();
    simulate(&plan.cells[0].scenario, 1, &Watch::default()).unwrap()
}

/// Returns how many of the thousand requests are answered, and the longest time.
fn of_networks(transport: &str, patience: &str) -> (u64, Duration) {
    let run = run(&TWO_NETWORKS.replace("TRANSPORT", transport).replace("PATIENCE", patience));
    let flow = &run.flows[0];
    assert_eq!(flow.messages, 1000, "{transport}");
    (flow.completed, flow.responses.as_ref().unwrap().max())
}

#[test]
fn a_client_without_patience_goes_on_from_its_other_address() {
    for transport in ["tcp", "tcp:4", "quic:1", "quic:6"] {
        let (answered, longest) = of_networks(transport, "switch_after = \"500ms\"");
        assert_eq!(answered, 1000, "{transport}");
        assert!(
            longest > Duration::from_millis(500) && longest < Duration::from_secs(1),
            "{transport}: {longest:?}"
        );
    }
}

#[test]
fn a_client_that_stays_is_not_answered_any_more() {
    for transport in ["tcp", "quic:1"] {
        let (answered, _) = of_networks(transport, "");
        assert!((400..600).contains(&answered), "{transport}: {answered}");
    }
}

#[test]
fn multihomed_sctp_needs_nobody_who_is_impatient() {
    let (answered, longest) = of_networks("sctp:1", "");
    assert_eq!(answered, 1000);
    assert!(longest < Duration::from_millis(500), "{longest:?}");
}

#[test]
fn an_association_that_moved_in_time_loses_nothing_with_its_first_network() {
    let moving =
        "workload = \"messages\"\n    [flows.requests.sctp.paths]\n    moves_at = \"2s\"\n    [stop]";
    let plan = TWO_NETWORKS.replace("[stop]", moving).replace("TRANSPORT", "sctp:1");
    let run = run(&plan.replace("PATIENCE", ""));
    let flow = &run.flows[0];
    assert_eq!((flow.completed, flow.transport.retransmissions), (1000, Some(0)));
    let longest = flow.one_way.as_ref().unwrap().delivered.max();
    assert!(longest < Duration::from_millis(15), "{longest:?}");
    let delivered = |link: &str| run.links.iter().find(|one| one.name == link).unwrap().ways[0].delivered;
    assert!(delivered("far-right") > 3 * delivered("far-left"), "eight of ten seconds are after the move");
}

#[test]
fn an_association_moves_only_to_another_address() {
    let moving = "[flows.requests.sctp.paths]\n    moves_at = \"2s\"\n    [stop]";
    let plan = ONE_LINK.replace("[stop]", moving).replace("TRANSPORT", "sctp:1");
    let plan = Plan::parse(&plan.replace("ADDRESSES", "").replace("MTU", ""));
    let refused = plan.map(|plan| simulate(&plan.cells[0].scenario, 1, &Watch::default()).map(|_| ()));
    let because = refused.map_or_else(|error| error.because, |run| run.unwrap_err().to_string());
    assert!(because.contains("the server has one address"), "{because}");
}

#[test]
fn only_echoed_requests_go_on_elsewhere() {
    let plan = TWO_NETWORKS.replace("TRANSPORT", "tcp").replace("PATIENCE", "switch_after = \"1s\"");
    let plan = plan.replace("interval = \"10ms\"", "interval = \"10ms\"\n    workload = \"messages\"");
    assert!(Plan::parse(&plan).unwrap_err().because.contains("switch_after"));
}

/// One link, one flow; what stands in the place of the words is written by each test.
const ONE_LINK: &str = r#"
    title = "one link"
    hosts = ["client", "server"]
    ADDRESSES
    [links.path]
    between = ["client", "server"]
    delay = "10ms"
    MTU
    [flows.requests]
    from = "client"
    to = "server"
    transport = "TRANSPORT"
    interval = "20ms"
    message = 4000
    [stop]
    messages = 500
"#;

fn of_link(transport: &str, addresses: &str, mtu: &str) -> RunOutcome {
    run(&ONE_LINK.replace("TRANSPORT", transport).replace("ADDRESSES", addresses).replace("MTU", mtu))
}

#[test]
fn every_transport_runs_over_ipv6() {
    for transport in ["tcp", "sctp:2", "quic:2", "udp"] {
        let run = of_link(transport, "addresses = \"ipv6\"", "");
        assert_eq!(run.flows[0].completed, 500, "{transport}");
    }
}

#[test]
fn a_datagram_that_the_link_does_not_carry_goes_in_fragments() {
    let whole = of_link("udp", "", "");
    let cut = of_link("udp", "", "mtu = 1500");
    assert_eq!((whole.flows[0].completed, cut.flows[0].completed), (500, 500));
    assert_eq!((whole.packets, cut.packets), (1000, 3000));
}

/// RFC 8899: probes find what the link carries, and then nothing is dropped any more.
#[test]
fn a_search_for_the_path_mtu_ends_at_what_the_link_carries() {
    let plan = ONE_LINK.replace("TRANSPORT", "sctp:1").replace("ADDRESSES", "").replace("MTU", "mtu = 1300");
    let searched = "message = 4000\n    [flows.requests.sctp.paths]\n    mtu_discovery = true\n";
    let run = run(&plan.replace("message = 4000", searched));
    assert_eq!(run.flows[0].completed, 500);
    let fragments = of_link("sctp:1", "", "mtu = 1300");
    assert!(
        run.packets < fragments.packets,
        "{} packets, and {} with fragments",
        run.packets,
        fragments.packets
    );
}

/// Seven small messages behind a large one, which is on the first of eight streams and takes the window many round trips.
const LARGE_BEFORE_SMALL: &str = r#"
    title = "a large message before small ones"
    hosts = ["client", "server"]
    [links.path]
    between = ["client", "server"]
    delay = "20ms"
    rate = "100mbit"
    [flows.messages]
    from = "client"
    to = "server"
    transport = "sctp:8"
    workload = "messages"
    arrivals = "constant"
    interval = "20ms"
    sizes = [600000, 64, 64, 64, 64, 64, 64, 64]
    samples = true
    [flows.messages.sctp]
    send_buffer = 4194304
    messages = { interleaving = true, scheduler = "priority", priorities = [PRIORITY] }
    [stop]
    messages = 8
"#;

/// Returns the mean delay of the small messages when the stream of the large ones has this priority.
fn small_ones_take(priority: &str) -> Duration {
    let run = run(&LARGE_BEFORE_SMALL.replace("PRIORITY", priority));
    let trips = &run.flows[0].one_way.as_ref().unwrap().trips;
    let small: Vec<Duration> =
        trips.iter().filter(|trip| trip.number % 8 != 0).map(|trip| trip.delivered.since(trip.due)).collect();
    assert_eq!(small.len(), 7);
    small.iter().sum::<Duration>() / 7
}

/// RFC 8260 §3.4: the stream with the least number goes first.
#[test]
fn streams_go_by_the_priorities_of_the_plan() {
    let [last, first] = ["512", "1"].map(small_ones_take);
    assert!(2 * last < first, "{last:?} where the large ones go last, {first:?} where they go first");
}
