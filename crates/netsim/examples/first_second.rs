//! The first second of an association: how long a request takes whose answer is short or long, beside TCP. docs/performance.md reads the table.
//!
//! ```text
//! cargo run --release -p netsim --example first_second
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]
#![expect(clippy::unwrap_used, reason = "its worlds are its own: what fails is a mistake here")]

use core::time::Duration;
use std::net::IpAddr;

use netem::Impairments;
use netsim::sctp::SctpHost;
use netsim::tcp::{ConnectionId, Connections, TcpHost};
use netsim::{Host, HostId, LinkSpec, World};
use sctp_core::{
    AssociationConfig, AssociationId, Destination, Encapsulation, Endpoint, EndpointConfig, Event,
    InitialWindow, Message, SctpPort, StreamId,
};
use tcp_core::TcpConfig;
use virtual_time::Instant;

fn main() {
    println!(
        "| octets | RTT | `signalling` | ten packets at first | and as TCP | with TCP's buffers | TCP | over what stands: `signalling` | ten packets | and as TCP | TCP's buffers | TCP |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for octets in [10_000, 1_000_000, 10_000_000] {
        for rtt_ms in [20, 100] {
            let link = link(rtt_ms);
            let sctp = [AssociationConfig::default(), ten_packets(), growing(), with_buffers_of_tcp()];
            let sctp = sctp.map(|config| over_sctp(&config, octets, &link));
            let all: Vec<Times> = sctp.into_iter().chain([over_tcp(octets, &link)]).collect();
            let times = all.iter().map(|times| times.fresh).chain(all.iter().map(|times| times.standing));
            let cells: Vec<String> = times.map(|time| format!("{} ms", time.as_millis())).collect();
            println!("| {octets} | {rtt_ms} ms | {} |", cells.join(" | "));
        }
    }
}

/// The profile with the initial window that TCP has.
fn ten_packets() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    config.congestion.initial_window = InitialWindow::TenPackets;
    config
}

/// The same with buffers that grow to as much as Linux lets those of TCP grow to, and packets as long as TCP's.
fn growing() -> AssociationConfig {
    let mut config = ten_packets();
    config.path_mtu.bytes = 1500;
    config.buffers.grown_bytes = Some(6 << 20);
    config
}

/// The same with the buffers that TCP has here from the beginning.
fn with_buffers_of_tcp() -> AssociationConfig {
    let mut config = growing();
    config.buffers.grown_bytes = None;
    (config.buffers.send_bytes, config.buffers.receive_bytes) = (TCP_SEND_BYTES, TCP_RECEIVE_BYTES);
    config
}

/// The times from asking to the last octet of the answer.
struct Times {
    /// With the handshake before.
    fresh: Duration,
    /// A first time over an association or connection on which nothing was sent yet.
    standing: Duration,
}

fn link(rtt_ms: u64) -> LinkSpec {
    let one_way = Impairments {
        delay: Duration::from_millis(rtt_ms / 2),
        rate: Some("1gbit".parse().unwrap()),
        queue: Some("1000p".parse().unwrap()),
        ..Impairments::default()
    };
    LinkSpec { request: one_way.clone(), response: one_way }
}

fn over_sctp(config: &AssociationConfig, octets: usize, link: &LinkSpec) -> Times {
    Times::measured(|asked_at| {
        let port = SctpPort::try_from(7626).unwrap();
        let end = |entropy, is_server| {
            let settings = EndpointConfig::with_association(port, config.clone());
            SctpHost::new(
                Endpoint::new(settings, [entropy; 32]).unwrap(),
                Exchange::new(is_server, octets, asked_at),
            )
        };
        let (mut world, client, _) = world([end(1, false), end(2, true)], link);
        world.with_host(client, |host, now| {
            let to = Destination { address: FAR, encapsulation: Encapsulation::Ip };
            let id = host.endpoint.connect(now, &[to], port, config.clone()).unwrap();
            host.application.association = Some(id);
        });
        answered(&mut world, |world| world.host(client).application.answered_at)
    })
}

fn over_tcp(octets: usize, link: &LinkSpec) -> Times {
    let (send_bytes, receive_bytes) = (TCP_SEND_BYTES, TCP_RECEIVE_BYTES);
    let config = TcpConfig { send_bytes, receive_bytes, ..TcpConfig::default() };
    Times::measured(|asked_at| {
        let end =
            |address, is_server| TcpHost::new(address, config, 1, Exchange::new(is_server, octets, asked_at));
        let (mut world, client, server) = world([end(NEAR, false), end(FAR, true)], link);
        world.host_mut(server).connections.listen(5001);
        world.with_host(client, |host, _| {
            host.application.connection = Some(host.connections.connect(FAR, 5001));
        });
        answered(&mut world, |world| world.host(client).application.answered_at)
    })
}

impl Times {
    /// Takes both from worlds of their own, in which the request is made at the beginning, or long after the handshake.
    fn measured(answered_at: impl Fn(Instant) -> Instant) -> Self {
        let [fresh, standing] =
            [Instant::EPOCH, STANDING].map(|asked_at| answered_at(asked_at).since(asked_at));
        Self { fresh, standing }
    }
}

/// A world of two hosts with a link between them.
fn world<H: Host>([near, far]: [H; 2], link: &LinkSpec) -> (World<H>, HostId, HostId) {
    let mut world = World::new(1);
    let (client, server) = (world.add_host(near), world.add_host(far));
    let [a, b] =
        [(client, NEAR), (server, FAR)].map(|(host, address)| world.add_interface(host, &[address]).unwrap());
    world.connect(a, b, link.clone()).unwrap();
    (world, client, server)
}

/// Runs until the answer is there.
fn answered<H: Host>(world: &mut World<H>, at: impl Fn(&World<H>) -> Option<Instant>) -> Instant {
    world.run_while(PATIENCE, |world| at(world).is_none());
    at(world).unwrap()
}

/// A client with one request, or a server with its answer.
struct Exchange {
    is_server: bool,
    /// Whether the server has the request.
    is_asked: bool,
    /// Octets that are still to be sent by the server, or received by the client.
    left: usize,
    /// When the client asks.
    asks_at: Option<Instant>,
    association: Option<AssociationId>,
    connection: Option<ConnectionId>,
    answered_at: Option<Instant>,
    buffer: Vec<u8>,
}

impl Exchange {
    fn new(is_server: bool, octets: usize, asks_at: Instant) -> Self {
        Self {
            is_server,
            is_asked: false,
            left: octets,
            asks_at: (!is_server).then_some(asks_at),
            association: None,
            connection: None,
            answered_at: None,
            buffer: Vec::new(),
        }
    }

    fn on_received(&mut self, now: Instant, octets: usize) {
        self.left -= octets;
        if self.left == 0 {
            self.answered_at = Some(now);
        }
    }

    fn answer_over_sctp(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId) {
        while self.left > 0 {
            let length = self.left.min(MESSAGE_BYTES);
            if endpoint.send(now, id, Message::ordered(StreamId::new(0), vec![7; length])).is_err() {
                return;
            }
            self.left -= length;
        }
    }

    fn answer_over_tcp(&mut self, connection: &mut tcp_core::Connection) {
        while self.left > 0 {
            let written = connection.write(&vec![7; self.left.min(MESSAGE_BYTES)]);
            if written == 0 {
                return;
            }
            self.left -= written;
        }
    }
}

impl netsim::sctp::Application for Exchange {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        let has_ended = matches!(event, Event::CommunicationLost(_) | Event::CannotStart(_));
        assert!(!has_ended, "the association ended: {event:?}");
        let mut octets = 0;
        while let Some(received) = endpoint.receive(now, id) {
            octets += received.message.payload.len();
        }
        if !self.is_server && octets > 0 {
            self.on_received(now, octets);
        }
        self.is_asked |= self.is_server && octets > 0;
        if self.is_asked {
            self.answer_over_sctp(now, endpoint, id);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.asks_at
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        if self.asks_at.take_if(|at| *at <= now).is_some() {
            let request = Message::ordered(StreamId::new(0), vec![1; REQUEST_BYTES]);
            endpoint.send(now, self.association.unwrap(), request).unwrap();
        }
    }
}

impl netsim::tcp::Application for Exchange {
    fn on_event(
        &mut self,
        now: Instant,
        connections: &mut Connections,
        id: ConnectionId,
        _: tcp_core::Event,
    ) {
        self.buffer.clear();
        connections[id].read(&mut self.buffer);
        let octets = self.buffer.len();
        if !self.is_server && octets > 0 {
            self.on_received(now, octets);
        }
        self.is_asked |= self.is_server && octets > 0;
        if self.is_asked {
            self.answer_over_tcp(&mut connections[id]);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.asks_at
    }

    fn handle_timeout(&mut self, now: Instant, connections: &mut Connections) {
        // What is written before the connection is there goes with the end of the handshake.
        if self.asks_at.take_if(|at| *at <= now).is_some() {
            connections[self.connection.unwrap()].write(&[1; REQUEST_BYTES]);
        }
    }
}

const NEAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
/// Everything of the handshake is over by then.
const STANDING: Instant = Instant::from_millis(2_000);
const PATIENCE: Instant = Instant::from_millis(120_000);
/// The sizes that Linux lets the buffers of TCP grow to.
const TCP_SEND_BYTES: usize = 4 << 20;
const TCP_RECEIVE_BYTES: usize = 6 << 20;
const REQUEST_BYTES: usize = 100;
const MESSAGE_BYTES: usize = 16_384;
