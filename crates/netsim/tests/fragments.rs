//! Datagrams too long for their link, and SIP-like requests over them: fragments, lost fragments, repetitions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use core::time::Duration;
use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use netem::{Impairments, Loss, Probability};
use netsim::{
    Counters, Direction, Fragmenting, Host, HostId, LinkId, LinkSpec, Outgoing, Packet, Protocol, World,
};
use virtual_time::Instant;
use workload::{Message, MessageNumber, MessageSize, RetransmissionConfig, UdpRequester};

const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2))];

/// A SIP user agent over UDP: its client repeats requests, its server answers each copy.
struct Agent {
    own: usize,
    requester: UdpRequester,
    outgoing: VecDeque<Bytes>,
    /// Answers every request it gets.
    is_server: bool,
    requests_heard: u64,
    /// When first transmissions and repetitions left, in ms.
    sent_at: Vec<u64>,
    answered_at: Vec<u64>,
}

impl Agent {
    fn new(own: usize) -> Self {
        Self {
            own,
            requester: UdpRequester::new(RetransmissionConfig::default()),
            outgoing: VecDeque::new(),
            is_server: own == 1,
            requests_heard: 0,
            sent_at: Vec::new(),
            answered_at: Vec::new(),
        }
    }
}

fn millis(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000
}

impl Host for Agent {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        if self.is_server {
            self.requests_heard += 1;
            self.outgoing.push_back(Bytes::copy_from_slice(packet.payload));
        } else if self.requester.handle_response(now, packet.payload).unwrap()
            == workload::ResponseNovelty::First
        {
            self.answered_at.push(millis(now));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.requester.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let next = self.requester.poll_transmit().map(|datagram| datagram.message);
        let message = next.or_else(|| self.outgoing.pop_front())?;
        self.sent_at.push(millis(now));
        buffer.extend_from_slice(&message);
        Some(Outgoing {
            source: Some(ADDRESSES[self.own]),
            destination: ADDRESSES[1 - self.own],
            protocol: Protocol::Udp { source_port: 5060, destination_port: 5060 },
            len: message.len(),
            segment_bytes: None,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.requester.poll_timeout()
    }
}

type Net = World<Fragmenting<Agent>>;

fn net(mtu: usize, request: Impairments) -> (Net, [HostId; 2], LinkId) {
    let mut world = World::new(7);
    let hosts = [0, 1].map(|own| world.add_host(Fragmenting::new(Agent::new(own), mtu)));
    let [a, b] = [0, 1].map(|index| world.add_interface(hosts[index], &[ADDRESSES[index]]).unwrap());
    let response = Impairments { delay: request.delay, ..Impairments::default() };
    let link = world.connect(a, b, LinkSpec { request, response }).unwrap();
    (world, hosts, link)
}

fn link() -> Impairments {
    Impairments { delay: Duration::from_millis(10), ..Impairments::default() }
}

fn request(world: &mut Net, client: HostId, number: u64, octets: u32) {
    let size = MessageSize::new(octets).unwrap();
    let message = Message { number: MessageNumber(number), sent: workload::SendTime(0), size }.encode();
    world.with_host(client, |host, now| host.host.requester.request(now, MessageNumber(number), message));
}

/// RFC 791 §3.2: 4000 octets and the UDP header are 3 × 1480 octets at most.
#[test]
fn datagram_beyond_the_mtu_travels_in_fragments_and_arrives_whole() {
    let (mut world, [client, server], _) = net(1500, link());
    request(&mut world, client, 1, 4000);
    request(&mut world, client, 2, 1472);
    world.run_until(Instant::from_millis(100));
    assert_eq!(world.host(server).host.requests_heard, 2);
    assert_eq!(world.host(client).host.answered_at, [20, 20]);
    let counters = world.host(client).counters();
    assert_eq!((counters.packets_cut, counters.fragments_sent, counters.reassembled), (1, 3, 1));
    let Counters { sent, delivered, .. } = *world.counters();
    assert_eq!((sent, delivered), (8, 8));
}

/// RFC 3261 §17.1.1.2: again after 0.5, 1.5 and 3.5 s; the server answers what arrives whole, each time.
#[test]
fn one_lost_fragment_loses_the_datagram_and_timer_a_repeats_it() {
    // The second fragment of the first three transmissions.
    let (mut world, [client, server], _) =
        net(1500, Impairments { drop_packets: [2, 5, 8].into(), ..link() });
    request(&mut world, client, 1, 4000);
    world.run_until(Instant::from_millis(10_000));
    assert_eq!(world.host(client).host.sent_at, [0, 500, 1500, 3500]);
    assert_eq!(world.host(client).host.answered_at, [3520]);
    assert_eq!(world.host(server).host.requests_heard, 1);
    world.run_until(Instant::from_millis(60_000));
    assert_eq!(world.host(server).counters().timed_out, 3, "what is never whole is forgotten after 30 s");
}

/// Timer B: 64·T1.
#[test]
fn request_that_never_arrives_is_sent_seven_times_and_given_up() {
    let (mut world, [client, _], _) = net(1500, Impairments { drop_packets: (1..100).collect(), ..link() });
    request(&mut world, client, 1, 500);
    world.run_until(Instant::from_millis(60_000));
    assert_eq!(world.host(client).host.sent_at, [0, 500, 1500, 3500, 7500, 15_500, 31_500]);
    assert_eq!(world.host(client).host.requester.counters().given_up, 1);
}

/// A lost response makes the client repeat; the server repeats the response.
#[test]
fn response_is_repeated_for_a_repeated_request() {
    let (mut world, [client, server], _) = net(1500, link());
    // The answer to the first copy meets a request that is still pending; later copies are answered, too.
    request(&mut world, client, 1, 500);
    world.run_until(Instant::from_millis(5));
    world.with_host(client, |host, now| host.host.requester.handle_timeout(now + Duration::from_millis(500)));
    world.run_until(Instant::from_millis(100));
    assert_eq!((world.host(server).host.requests_heard, world.host(server).host.sent_at.len()), (2, 2));
    assert_eq!(world.host(client).host.answered_at.len(), 1);
    assert_eq!(world.host(client).host.requester.counters().stray_responses, 1);
}

/// Of n fragments all have to arrive: (1 − p)ⁿ. 4000 datagrams, p = 5 %: standard deviation below 0.6 %.
#[test]
fn loss_is_amplified_by_the_number_of_fragments() {
    for (octets, fragments) in [(1000, 1), (2500, 2), (5800, 4), (11_600, 8)] {
        let loss = Loss::Bernoulli(Probability::new(0.05).unwrap());
        let (mut world, [client, server], link_id) = net(1500, Impairments { loss, ..link() });
        (0..4000).for_each(|number| request(&mut world, client, number, octets));
        world.run_until(Instant::from_millis(400));
        let arrived = f64::from(u32::try_from(world.host(server).host.requests_heard).unwrap()) / 4000.0;
        let expected = 0.95_f64.powi(fragments);
        assert!((arrived - expected).abs() < 0.025, "{fragments} fragments: {arrived} instead of {expected}");
        let link = world.link_stats(link_id, Direction::Request);
        assert_eq!(link.offered, 4000 * u64::try_from(fragments).unwrap());
    }
}
