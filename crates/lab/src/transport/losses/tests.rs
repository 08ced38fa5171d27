use core::time::Duration;

use workload::{Message, MessageNumber, MessageSize};

use super::*;
use crate::compare::CompareConfig;
use crate::simulation::{Scenario, Watch, simulate};
use crate::testing::{answered, run};
use crate::traffic::{Beginning, Workload};
use crate::transport::TransportSpec;

/// Eight messages of a flow over `transport`, and what makes packets of them.
fn flow(transport: &str) -> (FlowPlan, Vec<Sample>) {
    let spec = transport.parse().unwrap();
    (CompareConfig::default().flow(spec), run(transport, &answered(8)).samples)
}

fn wire(sample: &Sample) -> Vec<u8> {
    let size = MessageSize::default();
    Message { number: sample.number, sent: SendTime::from(sample.intended), size }.encode().to_vec()
}

fn told(transport: &str, packets: &[Vec<u8>]) -> Option<Vec<u64>> {
    told_after(transport, packets, &[])
}

/// Returns the requests that lost these packets, of a flow that began with those.
fn told_after(transport: &str, packets: &[Vec<u8>], first: &[Vec<u8>]) -> Option<Vec<u64>> {
    let (plan, samples) = flow(transport);
    let [lost, first] = [packets, first].map(|packets| packets.iter().map(Vec::as_slice).collect::<Vec<_>>());
    own_losses(&plan, &samples, &lost, &first).ok().map(|numbers| numbers.into_iter().collect())
}

fn segment(sequence: u32, data: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; 20];
    octets[4..8].copy_from_slice(&sequence.to_be_bytes());
    octets[12] = 5 << 4;
    octets.extend(data);
    octets
}

/// A DATA chunk on stream 0.
fn chunk(flags: u8, sequence: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(16 + data.len()).unwrap().to_be_bytes();
    let mut octets = vec![0, flags, length[0], length[1]];
    octets.resize(16, 0);
    octets[11] = sequence;
    octets.extend(data);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

#[test]
fn segments_are_known_by_their_place_in_the_stream() {
    let (_, samples) = flow("tcp");
    let stream: Vec<u8> = samples.iter().flat_map(wire).collect();
    let at = |from: usize, to: usize| {
        segment(u32::try_from(from).unwrap().wrapping_add(4_294_967_200), &stream[from..to])
    };
    // The end of message 1 with the begin of 2, and the middle of message 5, which begins nowhere.
    assert_eq!(told("tcp", &[at(120, 170), at(330, 350)]), Some(vec![1, 2, 5]));
    assert_eq!(told("tcp", &[segment(7, &[]), at(64, 128)]), Some(vec![1]));
    assert_eq!(told("tcp", &[at(330, 350)]), None, "no message begins in any segment of the connection");
    let opening = segment(4_294_967_199, &[]);
    assert_eq!(told_after("tcp", &[at(330, 350)], &[opening, at(0, 64)]), Some(vec![5]));
    // Over two connections the second message of the first is number 2.
    let (even, _): (Vec<_>, Vec<_>) = samples.iter().partition(|sample| sample.number.0 % 2 == 0);
    let first: Vec<u8> = even.into_iter().flat_map(wire).collect();
    assert_eq!(told("tcp:2", &[segment(1000, &first[64..192])]), Some(vec![2, 4]));
}

#[test]
fn chunks_and_datagrams_carry_messages() {
    let (_, samples) = flow("sctp:1");
    let mut packet = vec![0; 12];
    packet.extend([3, 0, 0, 16].into_iter().chain([0; 12]));
    packet.extend(chunk(3, 3, &wire(&samples[3])));
    packet.extend(chunk(2, 4, &wire(&samples[4])[..30]));
    assert_eq!(told("sctp:1", &[packet.clone()]), Some(vec![3, 4]));
    packet.extend(chunk(1, 5, &wire(&samples[5])[30..]));
    assert_eq!(told("sctp:1", &[packet.clone()]), Some(vec![3, 4, 5]));
    assert_eq!(
        told("sctp:2", &[packet.clone()]),
        Some(vec![3, 4, 10]),
        "the sixth of the first of two streams"
    );
    packet.extend(chunk(5, 0, &wire(&samples[5])[30..]));
    assert_eq!(told("sctp:1", &[packet]), None, "the rest of a message without order could be anybody's");
    assert_eq!(told("udp", &[wire(&samples[6]), wire(&samples[6])]), Some(vec![6]));
    assert_eq!(told("udp", &[vec![0; 64]]), None);
    assert_eq!(told("udp", &[]), Some(vec![]));
}

#[test]
fn headers_of_ip_and_udp_are_left_out() {
    let mut packet = vec![0x46; 24];
    packet[9] = UDP;
    packet.extend([9; 11]);
    assert_eq!(transport_payload(&packet), Some(&[9; 3][..]));
    packet[9] = TCP;
    assert_eq!(transport_payload(&packet), Some(&[9; 11][..]));
    packet[9] = 1;
    assert_eq!((transport_payload(&packet), transport_payload(&[])), (None, None));
}

#[test]
fn a_dropped_packet_is_known_by_the_request_that_it_delays() {
    let cases = ["tcp", "tcp:4", "sctp:1", "sctp:unordered", "udp"].map(|transport| (transport, "64"));
    for (transport, octets) in
        cases.into_iter().chain([("sctp:1", "3000"), ("sctp:6", "3000"), ("tcp", "3000"), ("tcp:4", "3000")])
    {
        let mut config = CompareConfig::default();
        config.traffic.message_bytes = octets.parse().unwrap();
        config.request_path.loss = netem::Loss::None;
        config.response_path.loss = netem::Loss::None;
        config.traffic.duration = Duration::from_secs(2);
        // Of long messages several in a row, so that not only acknowledgments are among them.
        let drop_packets: BTreeSet<u64> = if octets == "64" { [60, 120].into() } else { (60..65).collect() };
        let dropped = drop_packets.len();
        config.request_path.drop_packets = drop_packets;
        let scenario = config.scenario(transport.parse().unwrap());
        let flow = simulate(&scenario, 3, &Watch::default()).unwrap().flows.remove(0);
        let own = flow.own_losses.unwrap();
        let slowest = flow.samples.iter().max_by_key(|sample| sample.response).unwrap();
        assert!((1..=dropped).contains(&own.len()), "{transport}: {own:?}");
        // Long messages wait for the window, too, which the losses have halved.
        assert!(
            octets != "64" || own.contains(&slowest.number.0),
            "{transport}: {own:?} without {:?}",
            slowest.number
        );
        let is_late = |sample: &Sample| sample.response.is_some_and(|time| time > Duration::from_millis(25));
        let mut waited = flow.samples.iter().filter(|sample| own.contains(&sample.number.0));
        assert!(waited.all(is_late), "{transport}: {own:?}");
        assert!(own.iter().all(|number| flow.samples.iter().any(|of| of.number == MessageNumber(*number))));
    }
}

/// A message of 64 KiB is cut into 46 segments, of which one tells its number.
#[test]
fn a_segment_in_the_middle_of_a_long_message_is_known_by_where_its_stream_began() {
    let mut config = CompareConfig::default();
    config.traffic.message_bytes = "64KiB".parse().unwrap();
    config.traffic.interval = Duration::from_millis(100);
    config.traffic.duration = Duration::from_secs(2);
    config.request_path.loss = netem::Loss::None;
    config.response_path.loss = netem::Loss::None;
    config.request_path.drop_packets = [300].into();
    let scenario = config.scenario("tcp".parse().unwrap());
    let flow = simulate(&scenario, 3, &Watch::default()).unwrap().flows.remove(0);
    assert_eq!(flow.own_losses.map(|own| own.len()), Ok(1));
}

#[test]
fn where_nobody_can_tell_the_reason_is_said() {
    let (_, samples) = flow("tcp");
    let because = |transport: &str, change: fn(&mut FlowPlan)| {
        let (mut plan, _) = flow(transport);
        change(&mut plan);
        own_losses(&plan, &samples, &[&segment(7, &[1])], &[]).unwrap_err()
    };
    assert!(because("quic:6", |_| {}).contains("encrypted"));
    assert!(because("tcp", |_| {}).contains("message begin"));
    assert!(because("sctp:6", |plan| plan.workload = "bulk".parse().unwrap()).contains("workload"));
}

/// Two of three transactions of SIMCO are not timed; what they lose holds up those that are.
#[test]
fn transactions_of_simco_are_known_by_their_packets_over_every_transport() {
    for transport in ["tcp", "sctp:1", "sctp:6", "sctp:unordered"] {
        let mut config = CompareConfig { workload: Workload::SIMCO, ..CompareConfig::default() };
        (config.request_path.loss, config.response_path.loss) = (netem::Loss::None, netem::Loss::None);
        config.traffic.duration = Duration::from_secs(2);
        let spec: TransportSpec = transport.parse().unwrap();
        let scenario = config.scenario(spec);
        let lost_with = |scenario: &Scenario| {
            let flow = simulate(scenario, 3, &Watch::default()).unwrap().flows.remove(0);
            let all: Vec<Sample> = flow.samples.iter().chain(&flow.untimed).copied().collect();
            (flow.own_losses.unwrap(), all)
        };
        assert!(lost_with(&scenario).0.is_empty(), "{transport}");
        config.request_path.drop_packets = (60..64).collect();
        config.response_path.drop_packets = (100..103).collect();
        let (own, all) = lost_with(&config.scenario(spec));
        assert!((2..=14).contains(&own.len()), "{transport}: {own:?}");
        let waited = all.iter().filter(|sample| own.contains(&sample.number.0));
        let waited: Vec<_> = waited.map(|sample| sample.response.unwrap()).collect();
        assert_eq!(waited.len(), own.len(), "{transport}: all are transactions of the flow");
        assert!(waited.iter().all(|time| *time > Duration::from_millis(25)), "{transport}: {waited:?}");
        // Without order nobody else waits for them.
        let late = all.iter().filter(|sample| sample.response > Some(Duration::from_millis(25))).count();
        assert!(transport != "sctp:unordered" || late == own.len(), "{late} and {own:?}");
    }
}

#[test]
fn messages_in_segments_are_told_apart_by_their_headers() {
    let Followed::ByHeader(headers) = Workload::SIMCO.kind().followed() else { panic!("by headers") };
    let message = |number: u8, payload: usize| {
        let mut octets = vec![1, 1, 0, u8::try_from(payload).unwrap(), 0, 0, 0, number + 2];
        octets.resize(8 + payload, 0xff);
        octets
    };
    let stream: Vec<u8> = (5..9).flat_map(|number| message(number, 20 + usize::from(number))).collect();
    let (plan, samples) = flow("tcp");
    let plan = FlowPlan { workload: Workload::SIMCO, ..plan };
    let lost = |from: usize, to: usize| {
        let segment = segment(7, &stream[from..to]);
        own_losses(&plan, &samples, &[&segment], &[]).map(|numbers| numbers.into_iter().collect::<Vec<_>>())
    };
    assert_eq!((headers.read)(&stream), Some(Beginning { number: 5, octets: 33 }));
    assert_eq!(lost(0, 33), Ok(vec![5]));
    assert_eq!(lost(0, stream.len()), Ok(vec![5, 6, 7, 8]));
    assert_eq!(lost(20, 70), Ok(vec![5, 6, 7]), "a rest, a whole one, and three octets of a header");
    assert_eq!(lost(10, 30), Err("in no segment of a connection that lost some does a message begin"));
}
