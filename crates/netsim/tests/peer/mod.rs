//! A host for tests: sends what it is told, writes down what it gets, answers if asked to.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use netem::{Impairments, Probability};
use netsim::{Host, HostId, InterfaceId, LinkId, LinkSpec, Outgoing, Packet, Protocol, World};
use virtual_time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) outbox: VecDeque<(Outgoing, Vec<u8>)>,
    pub(crate) inbox: Vec<Arrived>,
    /// When to wake up.
    pub(crate) alarms: BTreeSet<Instant>,
    /// When it was woken up.
    pub(crate) fired: Vec<Instant>,
    /// How many packets it still sends back to where they came from.
    pub(crate) answers: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arrived {
    pub(crate) at: Instant,
    pub(crate) interface: InterfaceId,
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: Protocol,
    pub(crate) payload: Vec<u8>,
}

impl Peer {
    pub(crate) fn send(
        &mut self,
        source: Option<&str>,
        destination: &str,
        protocol: Protocol,
        payload: &[u8],
    ) {
        let (source, destination) = (source.map(ip), ip(destination));
        let outgoing = Outgoing { source, destination, protocol, len: payload.len(), segment_bytes: None };
        self.outbox.push_back((outgoing, payload.to_vec()));
    }

    pub(crate) fn payloads(&self) -> Vec<&[u8]> {
        self.inbox.iter().map(|arrived| arrived.payload.as_slice()).collect()
    }
}

impl Host for Peer {
    fn handle_packet(&mut self, at: Instant, packet: Packet<'_>) {
        let Packet { interface, source, destination, protocol, payload } = packet;
        self.inbox.push(Arrived { at, interface, source, destination, protocol, payload: payload.to_vec() });
        if self.answers > 0 {
            self.answers -= 1;
            let len = payload.len();
            let (source, destination) = (Some(destination), source);
            let outgoing = Outgoing { source, destination, protocol, len, segment_bytes: None };
            self.outbox.push_back((outgoing, payload.to_vec()));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while self.alarms.first().is_some_and(|alarm| *alarm <= now) {
            self.alarms.pop_first();
            self.fired.push(now);
        }
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let (outgoing, payload) = self.outbox.pop_front()?;
        buffer.extend_from_slice(&payload);
        Some(outgoing)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.alarms.first().copied()
    }
}

/// Two peers, 10.0.0.1 and 10.0.0.2, on one link.
pub(crate) struct Pair {
    pub(crate) world: World<Peer>,
    pub(crate) left: HostId,
    pub(crate) right: HostId,
    pub(crate) link: LinkId,
}

impl Pair {
    pub(crate) fn new(seed: u64, impairments: Impairments) -> Self {
        let mut world = World::new(seed);
        let (left, a) = host(&mut world, &["10.0.0.1"]);
        let (right, b) = host(&mut world, &["10.0.0.2"]);
        let link = world.connect(a[0], b[0], LinkSpec::symmetric(impairments)).unwrap();
        Self { world, left, right, link }
    }

    /// The left peer sends `count` numbered packets, `gap` apart; the right one has the numbers that arrived.
    pub(crate) fn send_numbered(&mut self, count: u32, gap: Duration) {
        for number in 0..count {
            self.send(&number.to_be_bytes());
            let now = self.world.now();
            self.world.run_until(now + gap);
        }
    }

    pub(crate) fn send(&mut self, payload: &[u8]) {
        self.world.with_host(self.left, |peer, _| peer.send(None, "10.0.0.2", Protocol::Sctp, payload));
    }

    pub(crate) fn arrived_numbers(&self) -> Vec<u32> {
        let payloads = self.world.host(self.right).payloads();
        payloads.into_iter().map(|payload| u32::from_be_bytes(payload.try_into().unwrap())).collect()
    }
}

/// A host with one interface per address list; addresses of one interface are separated by spaces.
pub(crate) fn host(world: &mut World<Peer>, interfaces: &[&str]) -> (HostId, Vec<InterfaceId>) {
    let host = world.add_host(Peer::default());
    let interface = |world: &mut World<Peer>, list: &str| {
        let addresses: Vec<IpAddr> = list.split(' ').map(ip).collect();
        world.add_interface(host, &addresses).unwrap()
    };
    (host, interfaces.iter().map(|list| interface(world, list)).collect())
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn delay(millis: u64) -> Impairments {
    Impairments { delay: Duration::from_millis(millis), ..Impairments::default() }
}

/// Everything at once.
pub(crate) fn rough() -> Impairments {
    let often = Probability::new(0.1).unwrap();
    Impairments {
        jitter: Duration::from_millis(5),
        loss: "10%".parse().unwrap(),
        reorder: often,
        duplicate: often,
        corrupt: often,
        ..delay(10)
    }
}
