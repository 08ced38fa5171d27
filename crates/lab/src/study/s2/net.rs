//! The study's network: client 1 — router 2 — router 3 — server 4, and competing senders 5 → 6 and 7 → 8 over the same middle.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr};

use netem::{BitRate, Impairments, Loss, Probability, QueueLimit, derive_indexed_seed};
use netsim::{Direction, Host, HostId, LinkId, LinkSpec, Outgoing, Packet, Protocol, World};
use virtual_time::Instant;
use workload::{ArrivalProcess, Arrivals};

use super::agent::{Receiver, Report, Rules, Sender};
use crate::compare::StopSignal;
use crate::simulation::{OneWay, SimulationError, Trip};

/// One cell of the study.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// Rules of the SIP flow.
    pub(super) rules: Rules,
    /// Rules and packet size of the competing flows.
    pub(super) competing: Competing,
    /// Packets that may wait at the middle link.
    pub(super) buffer: u32,
    /// Octets of a request, and of the headers below.
    pub(super) octets: usize,
    pub(super) headers: usize,
    /// Share of the middle link that the SIP flow takes, headers included.
    pub(super) load: f64,
    /// Random loss at the middle link.
    pub(super) loss: f64,
    /// Packets of the SIP flow to drop at the middle link, from 1.
    pub(super) drop: Vec<u64>,
    pub(super) messages: u64,
    pub(super) discard: u64,
    pub(super) keeps_trips: bool,
}

/// The competing flows: how many, and their packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Competing {
    pub(super) flows: u8,
    pub(super) rules: Rules,
    pub(super) octets: usize,
}

/// The outcome of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) one_way: OneWay,
    /// Packets dropped at the middle link.
    pub(super) dropped: u64,
    pub(super) packets: u64,
}

/// Runs the setting once, with this seed.
pub(super) fn run(setting: &Setting, seed: u64, stop: &StopSignal) -> Result<Outcome, SimulationError> {
    let (mut world, server, middle) = build(setting, seed)?;
    let deadline = Instant::EPOCH + LONGEST;
    let mut looked = 0_u32;
    world.run_while(deadline, |world| {
        looked = looked.wrapping_add(1);
        let goes_on = !looked.is_multiple_of(4096) || !stop.is_raised();
        goes_on && world.host(server).delivered() < setting.messages
    });
    let dropped = world.link_stats(middle, Direction::Request).dropped();
    let packets = world.counters().sent;
    let mut hosts = world.into_hosts();
    let one_way = match hosts.nth(server.index()) {
        Some(Node::Sink(sink)) => sink.one_way,
        Some(Node::Source(_)) | None => OneWay::new(1, 0, false),
    };
    Ok(Outcome { one_way, dropped, packets })
}

fn build(setting: &Setting, seed: u64) -> Result<(World<Node>, HostId, LinkId), SimulationError> {
    let failed = |error: &dyn core::fmt::Display| SimulationError::new("S2", error.to_string());
    let mut world = World::new(seed);
    let routers = [world.add_router(), world.add_router()];
    let ends = routers.map(|router| world.add_router_interface(router));
    let loss = Probability::new(setting.loss).map_err(|error| failed(&error))?;
    let core = Impairments {
        delay: HOP,
        rate: BitRate::from_bits_per_second(MIDDLE_BITS),
        queue: Some(QueueLimit::Packets(setting.buffer)),
        loss: if setting.loss > 0.0 { Loss::Bernoulli(loss) } else { Loss::None },
        drop_packets: setting.drop.iter().copied().collect(),
        ..Impairments::default()
    };
    let back = Impairments { loss: Loss::None, drop_packets: Default::default(), ..core.clone() };
    let middle = world.connect(ends[0], ends[1], LinkSpec { request: core, response: back });
    let middle = middle.map_err(|error| failed(&error))?;
    let access = Impairments {
        delay: HOP,
        rate: BitRate::from_bits_per_second(ACCESS_BITS),
        ..Impairments::default()
    };
    let mut server = None;
    for flow in 0..=setting.competing.flows {
        let [near, far] = [1, 2].map(|side| IpAddr::V4(Ipv4Addr::new(10, side, 0, flow + 1)));
        let source = source(setting, flow, seed, [near, far]).map_err(|error| failed(&error))?;
        let sink = Sink {
            receiver: Receiver::default(),
            one_way: OneWay::new(1, setting.discard, setting.keeps_trips && flow == 0),
            is_sip: flow == 0,
            addresses: [far, near],
            answers: Vec::new(),
        };
        let hosts =
            [world.add_host(Node::Source(Box::new(source))), world.add_host(Node::Sink(Box::new(sink)))];
        for ((host, address), router) in hosts.into_iter().zip([near, far]).zip(routers) {
            let outer = world.add_interface(host, &[address]).map_err(|error| failed(&error))?;
            let inner = world.add_router_interface(router);
            world
                .connect(outer, inner, LinkSpec::symmetric(access.clone()))
                .map_err(|error| failed(&error))?;
        }
        server = server.or(Some(hosts[1]));
    }
    world.compute_routes();
    let server = server.ok_or_else(|| failed(&"no flow"))?;
    let all: Vec<HostId> = world.hosts().map(|(id, _)| id).collect();
    all.into_iter().for_each(|host| world.wake(host));
    Ok((world, server, middle))
}

fn source(
    setting: &Setting,
    flow: u8,
    seed: u64,
    addresses: [IpAddr; 2],
) -> Result<Source, workload::ArrivalsError> {
    let wire_bits = 8.0 * f64::from(u32::try_from(setting.octets + setting.headers).unwrap_or(u32::MAX));
    #[allow(clippy::cast_precision_loss, reason = "a rate of a few Mbit/s")]
    let interval = wire_bits / (setting.load * MIDDLE_BITS as f64);
    let interval = Duration::try_from_secs_f64(interval).unwrap_or(Duration::from_secs(1));
    let (rules, feed, octets) = if flow == 0 {
        let arrivals =
            ArrivalProcess::new(Arrivals::Poisson, interval, derive_indexed_seed(seed, "arrivals", 1))?;
        let feed = Feed::Messages { arrivals, next: None, left: setting.messages, dues: Vec::new() };
        (setting.rules, feed, setting.octets + setting.headers)
    } else {
        let begin = derive_indexed_seed(seed, "begin", u64::from(flow)) % 1_000_000_000;
        (
            setting.competing.rules,
            Feed::Endless { from: Instant::from_nanos(begin) },
            setting.competing.octets,
        )
    };
    // The simulator counts 20 octets of IP header by itself.
    let mut source = Source {
        sender: Sender::new(rules),
        feed,
        addresses,
        payload: octets.saturating_sub(IP_BYTES).max(HEAD),
    };
    source.draw();
    Ok(source)
}

/// A host of this network.
#[derive(Debug)]
enum Node {
    Source(Box<Source>),
    Sink(Box<Sink>),
}

impl Node {
    fn delivered(&self) -> u64 {
        match self {
            Self::Sink(sink) => sink.one_way.messages,
            Self::Source(_) => 0,
        }
    }
}

#[derive(Debug)]
struct Source {
    sender: Sender,
    feed: Feed,
    addresses: [IpAddr; 2],
    payload: usize,
}

/// The messages that there are to send.
#[derive(Debug)]
enum Feed {
    /// Messages: the next one, how many after it, and when each so far fell due.
    Messages { arrivals: ArrivalProcess, next: Option<Instant>, left: u64, dues: Vec<Instant> },
    /// Always something, from then on.
    Endless { from: Instant },
}

impl Source {
    fn draw(&mut self) {
        if let Feed::Messages { arrivals, next, left, .. } = &mut self.feed {
            *next = None;
            if let Some(fewer) = left.checked_sub(1) {
                *left = fewer;
                *next = arrivals.next_offset().map(|offset| Instant::EPOCH + offset);
            }
        }
    }

    /// Returns when packet `number` fell due; `None` if it has not.
    fn due(&self, now: Instant, number: u64) -> Option<Instant> {
        match &self.feed {
            Feed::Messages { dues, .. } => dues.get(usize::try_from(number).ok()?).copied(),
            Feed::Endless { from } => (*from <= now).then_some(*from),
        }
    }
}

impl Host for Source {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        if let Some(report) = decode(packet.payload) {
            self.sender.on_report(now, &report);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Feed::Messages { next: Some(due), dues, .. } = &mut self.feed {
            if *due > now {
                break;
            }
            dues.push(*due);
            self.draw();
        }
        if let Feed::Endless { from } = &mut self.feed
            && *from <= now
        {
            *from = Instant::EPOCH;
        }
        if self.sender.timer().is_some_and(|due| due <= now) {
            self.sender.on_timeout();
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let number = match self.sender.poll_lost(now) {
            Some(number) => number,
            None => {
                let number = self.sender.next();
                self.due(now, number).filter(|_| self.sender.may_send())?;
                self.sender.on_sent(now);
                number
            }
        };
        let due = self.due(now, number)?;
        buffer.extend_from_slice(&number.to_be_bytes());
        buffer.extend_from_slice(&due.as_nanos().to_be_bytes());
        buffer.resize(self.payload, 0);
        Some(outgoing(self.addresses, self.payload))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let feed = match &self.feed {
            Feed::Messages { next, .. } => *next,
            Feed::Endless { from } => Some(*from).filter(|from| *from > Instant::EPOCH),
        };
        feed.into_iter().chain(self.sender.timer()).min()
    }
}

#[derive(Debug)]
struct Sink {
    receiver: Receiver,
    one_way: OneWay,
    is_sip: bool,
    addresses: [IpAddr; 2],
    answers: Vec<Report>,
}

impl Host for Sink {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let Some((number, rest)) = packet.payload.split_first_chunk() else { return };
        let Some((due, _)) = rest.split_first_chunk() else { return };
        let number = u64::from_be_bytes(*number);
        if self.is_sip {
            let due = Instant::from_nanos(u64::from_be_bytes(*due));
            self.one_way.record(Trip { number, due, arrived: now, delivered: now });
        }
        self.answers.push(self.receiver.on_packet(number));
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        if self.answers.is_empty() {
            return None;
        }
        let report = self.answers.remove(0);
        encode(&report, buffer);
        Some(outgoing(self.addresses, buffer.len()))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

impl Host for Node {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        match self {
            Self::Source(host) => host.handle_packet(now, packet),
            Self::Sink(host) => host.handle_packet(now, packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Source(host) => host.handle_timeout(now),
            Self::Sink(host) => host.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        match self {
            Self::Source(host) => host.poll_transmit(now, buffer),
            Self::Sink(host) => host.poll_transmit(now, buffer),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Source(host) => host.poll_timeout(),
            Self::Sink(host) => host.poll_timeout(),
        }
    }
}

fn outgoing([source, destination]: [IpAddr; 2], len: usize) -> Outgoing {
    Outgoing { source: Some(source), destination, protocol: Protocol::Sctp, len, segment_bytes: None }
}

/// A report, in octets of its own: the first missing packet, then first and last of each run. Its length on the wire is that of a
/// SACK, if it has few runs.
fn encode(report: &Report, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&report.next.to_be_bytes());
    let narrow = |number: u64| u16::try_from(number - report.next).unwrap_or(u16::MAX).to_be_bytes();
    buffer.push(u8::try_from(report.runs.len()).unwrap_or(u8::MAX));
    for (first, last) in &report.runs {
        buffer.extend_from_slice(&narrow(*first));
        buffer.extend_from_slice(&narrow(*last));
    }
    if buffer.len() < SACK_BYTES {
        buffer.resize(SACK_BYTES, 0);
    }
}

fn decode(octets: &[u8]) -> Option<Report> {
    let (next, rest) = octets.split_first_chunk()?;
    let next = u64::from_be_bytes(*next);
    let (runs, rest) = rest.split_first()?;
    let wide = |octets: &[u8]| next + octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
    let runs =
        rest.chunks_exact(4).take(usize::from(*runs)).map(|run| (wide(&run[..2]), wide(&run[2..]))).collect();
    Some(Report { next, runs })
}

/// Propagation of every link.
const HOP: Duration = Duration::from_millis(15);
/// Rate of the middle link and of the others.
pub(super) const MIDDLE_BITS: u64 = 1_700_000;
const ACCESS_BITS: u64 = 10_000_000;
const IP_BYTES: usize = 20;
/// Number and due time.
const HEAD: usize = 16;
/// A SACK with few gaps, less the IP header.
const SACK_BYTES: usize = 28;
const LONGEST: Duration = Duration::from_secs(3600);
