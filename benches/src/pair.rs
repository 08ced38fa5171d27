//! Two endpoints and the driver between them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use sctp_core::{
    AssociationConfig, AssociationId, Datagram, Destination, Encapsulation, Endpoint, EndpointConfig, Event,
    Message, Offer, Profile, Received, SctpPort, SendError, Transmit,
};
use virtual_time::Instant;

/// One way.
const TRIP: Duration = Duration::from_micros(25);
/// What one receive call with GRO brings: 64 KiB of packets.
pub const BATCH_PACKETS: usize = 45;

/// Messages read by one call.
const READ_AT_ONCE: usize = 64;
/// What a message takes of the send buffer beside its payload, about.
const MESSAGE_OVERHEAD_BYTES: usize = 164;

/// What an association is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// DATA chunks.
    Data,
    /// I-DATA chunks (RFC 8260).
    IData,
}

/// The settings of all measurements: packets of 1400 octets, buffers of 4 MiB, as the peers were measured with.
#[must_use]
pub fn config(framing: Framing, streams: u16) -> AssociationConfig {
    let mut config = AssociationConfig::profile(Profile::Signalling);
    config.path_mtu.bytes = 1428;
    config.buffers.send_bytes = 4 << 20;
    config.buffers.receive_bytes = 4 << 20;
    config.streams.outbound = streams;
    config.streams.inbound = streams;
    config.extensions.interleaving = if framing == Framing::IData { Offer::On } else { Offer::Off };
    config
}

/// An endpoint, and the packets it has sent.
pub struct Host {
    /// The state machine.
    pub endpoint: Endpoint,
    /// Packets, back to back, and what is to be known of each.
    buffer: Vec<u8>,
    sent: Vec<Transmit>,
    received: Vec<Received>,
}

impl Host {
    fn new(number: u8, config: &AssociationConfig) -> Self {
        let mut endpoint = EndpointConfig::new(port(5000 + u16::from(number)));
        endpoint.association = config.clone();
        endpoint.association_limit = 65_536;
        endpoint.receive_memory_bytes = 1 << 40;
        (endpoint.init_rate, endpoint.host_init_rate) = (None, None);
        let endpoint = Endpoint::new(endpoint, [number; 32]).expect("the configuration works");
        Self { endpoint, buffer: Vec::new(), sent: Vec::new(), received: Vec::new() }
    }

    /// Takes up to `limit` packets from the engine; how many there were.
    pub fn transmit(&mut self, now: Instant, limit: usize) -> usize {
        self.buffer.clear();
        self.sent.clear();
        self.endpoint.transmit_many(now, limit, &mut self.buffer, &mut self.sent);
        self.sent.len()
    }

    /// What it has sent, to arrive later.
    pub fn detach(&mut self) -> Flight {
        Flight { buffer: std::mem::take(&mut self.buffer), sent: std::mem::take(&mut self.sent) }
    }

    /// Hands what `from` has sent to this endpoint.
    pub fn take(&mut self, now: Instant, from: &Self) {
        self.take_all(now, &from.buffer, &from.sent);
    }

    /// Hands packets that were under way to this endpoint.
    pub fn take_flight(&mut self, now: Instant, flight: &Flight) {
        self.take_all(now, &flight.buffer, &flight.sent);
    }

    fn take_all(&mut self, now: Instant, buffer: &[u8], sent: &[Transmit]) {
        let mut rest = buffer;
        let datagrams = sent.iter().map(|transmit| {
            let (payload, others) = rest.split_at(transmit.len);
            rest = others;
            Datagram::new(opposite(transmit.destination), payload)
        });
        self.endpoint.handle_packets(now, datagrams);
    }

    /// Reads all messages of the association; how many, and how many octets.
    pub fn read(&mut self, now: Instant, id: AssociationId) -> (u64, u64) {
        let (mut messages, mut octets) = (0, 0);
        while self.endpoint.receive_many(now, id, READ_AT_ONCE, &mut self.received) > 0 {
            messages += self.received.len() as u64;
            octets += self.received.iter().map(|received| received.message.payload.len() as u64).sum::<u64>();
            self.received.clear();
        }
        (messages, octets)
    }

    /// Nobody is interested in events.
    pub fn forget_events(&mut self) {
        while self.endpoint.poll_event().is_some() {}
    }

    fn next_up(&mut self) -> Option<AssociationId> {
        let mut up = None;
        while let Some((id, event)) = self.endpoint.poll_event() {
            if matches!(event, Event::CommunicationUp { .. }) {
                up = Some(id);
            }
        }
        up
    }
}

/// Packets under way.
pub struct Flight {
    buffer: Vec<u8>,
    sent: Vec<Transmit>,
}

impl Flight {
    /// How many there are.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.sent.len()
    }
}

/// The right end of association `number`; the left end is opposite.
#[must_use]
pub fn right_of(number: u16) -> Destination {
    let [high, low] = number.to_be_bytes();
    let address = IpAddr::V4(Ipv4Addr::new(198, 19, high, low));
    Destination { address, encapsulation: Encapsulation::Udp { port: 9899 } }
}

fn opposite(end: Destination) -> Destination {
    let IpAddr::V4(address) = end.address else { panic!("all addresses are of IPv4") };
    let [net, side, high, low] = address.octets();
    Destination { address: IpAddr::V4(Ipv4Addr::new(net, side ^ 1, high, low)), ..end }
}

/// Two endpoints, one association between them.
pub struct Pair {
    /// Opens and sends.
    pub left: Host,
    /// Accepts and receives.
    pub right: Host,
    /// The association at the left.
    pub left_id: AssociationId,
    /// The same at the right.
    pub right_id: AssociationId,
    /// The time there.
    pub now: Instant,
}

/// What went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Messages read.
    pub messages: u64,
    /// Octets of their payload.
    pub octets: u64,
    /// Packets from left to right.
    pub packets: u64,
    /// Packets from right to left.
    pub answers: u64,
}

impl Pair {
    /// A pair whose association is established.
    #[must_use]
    pub fn new(config: &AssociationConfig) -> Self {
        let (mut left, mut right) = hosts(config);
        let mut now = Instant::from_millis(1000);
        let (left_id, right_id) = connect(&mut left, &mut right, &mut now, config, 0);
        Self { left, right, left_id, right_id, now }
    }

    /// The sender hands in messages until `enough` says so or the buffer is full.
    pub fn send(&mut self, next: &mut impl FnMut() -> Message, buffered_bytes: usize) {
        let id = self.left_id;
        let buffered = self.left.endpoint.association(id).map_or(usize::MAX, |it| it.buffered_bytes());
        let mut room = buffered_bytes.saturating_sub(buffered);
        let messages = std::iter::from_fn(|| {
            if room == 0 {
                return None;
            }
            let message = next();
            room = room.saturating_sub(message.payload.len() + MESSAGE_OVERHEAD_BYTES);
            Some(message)
        });
        match self.left.endpoint.send_many(self.now, id, messages) {
            Ok((_, None | Some(SendError::BufferFull(_)))) => {}
            refused => panic!("{refused:?}"),
        }
    }

    /// A batch of packets to the right, what is in it read there, and the answer to the left.
    pub fn trip(&mut self, traffic: &mut Traffic) {
        traffic.packets += self.left.transmit(self.now, BATCH_PACKETS) as u64;
        self.now += TRIP;
        self.right.take(self.now, &self.left);
        let (messages, octets) = self.right.read(self.now, self.right_id);
        traffic.messages += messages;
        traffic.octets += octets;
        self.right.forget_events();
        traffic.answers += self.right.transmit(self.now, BATCH_PACKETS) as u64;
        self.now += TRIP;
        self.left.take(self.now, &self.right);
        self.left.forget_events();
        self.pass_time();
    }

    /// A packet is on its way so long; what was due meanwhile happens.
    pub fn pass_trip(&mut self) {
        self.now += TRIP;
        self.pass_time();
    }

    fn pass_time(&mut self) {
        for host in [&mut self.left, &mut self.right] {
            if host.endpoint.poll_timeout().is_some_and(|due| due <= self.now) {
                host.endpoint.handle_timeout(self.now);
            }
        }
    }

    /// Trips until so many messages were read.
    ///
    /// # Panics
    /// When nothing moves any more.
    pub fn run(
        &mut self,
        messages: u64,
        buffered_bytes: usize,
        next: &mut impl FnMut() -> Message,
    ) -> Traffic {
        let mut traffic = Traffic::default();
        let mut idle = 0;
        while traffic.messages < messages {
            let before = traffic.packets;
            self.send(next, buffered_bytes);
            self.trip(&mut traffic);
            idle = if traffic.packets == before { idle + 1 } else { 0 };
            assert!(idle < 1_000_000, "nothing moves after {traffic:?}");
        }
        traffic
    }
}

/// Two endpoints without an association.
#[must_use]
pub fn hosts(config: &AssociationConfig) -> (Host, Host) {
    (Host::new(1, config), Host::new(2, config))
}

/// Sets up an association; `number` tells it apart from others between the two.
///
/// # Panics
/// If that fails.
pub fn connect(
    left: &mut Host,
    right: &mut Host,
    now: &mut Instant,
    config: &AssociationConfig,
    number: u16,
) -> (AssociationId, AssociationId) {
    let port = right.endpoint.port();
    left.endpoint.connect(*now, &[right_of(number)], port, config.clone()).expect("the configuration works");
    for _ in 0..2 {
        left.transmit(*now, BATCH_PACKETS);
        *now += TRIP;
        right.take(*now, left);
        right.transmit(*now, BATCH_PACKETS);
        *now += TRIP;
        left.take(*now, right);
    }
    (left.next_up().expect("left is up"), right.next_up().expect("right is up"))
}

fn port(number: u16) -> SctpPort {
    SctpPort::new(number).expect("not zero")
}
