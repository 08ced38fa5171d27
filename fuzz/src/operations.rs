//! Two endpoints with two addresses each, a bad network between them, and octets that say what happens next.

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use sctp_core::{
    AssociationConfig, AssociationId, AutomaticAddresses, CongestionAlgorithm, Datagram, Delivery,
    Destination, Discovery, Ecn, Encapsulation, Endpoint, EndpointConfig, Event, Fragmentation, Message,
    Nagle, Offer, Pacing, PathId, Profile, ResetDirection, SctpPort, StreamId,
};
use virtual_time::Instant;

use crate::repaired;

/// Runs what `octets` say, then lets the network heal and looks whether everything comes to rest.
pub fn run(octets: &[u8]) {
    let mut script = Script { octets };
    let mut world = World::new(Choices { extensions: script.next(), behaviour: script.next() });
    world.connect();
    while !script.octets.is_empty() {
        world.step(&mut script);
        world.check();
    }
    world.heal();
}

/// What is left of the octets; zeros behind their end.
struct Script<'a> {
    octets: &'a [u8],
}

impl Script<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.octets.split_first() else { return 0 };
        self.octets = rest;
        *first
    }

    fn take(&mut self, wanted: usize) -> Vec<u8> {
        let (taken, rest) = self.octets.split_at(wanted.min(self.octets.len()));
        self.octets = rest;
        taken.to_vec()
    }
}

struct End {
    endpoint: Endpoint,
    id: Option<AssociationId>,
    /// What was last sent: its tag is the one the other end listens to.
    last_sent: Vec<u8>,
    /// Messages are read when they come, and not only when the script says so.
    reads_at_once: bool,
}

/// What an association is like, bit by bit.
#[derive(Clone, Copy)]
struct Choices {
    extensions: u8,
    behaviour: u8,
}

struct Packet {
    from: IpAddr,
    to: IpAddr,
    octets: Vec<u8>,
}

struct World {
    now: Instant,
    /// Somebody wrote packets with a right tag and checksum: two ends that no longer agree may not come to rest.
    is_attacked: bool,
    config: AssociationConfig,
    ends: [End; 2],
    /// On its way to the first end, and to the second.
    wires: [VecDeque<Packet>; 2],
    /// From where to where nothing passes.
    cut: BTreeSet<(IpAddr, IpAddr)>,
    /// The largest IP packet that passes in one piece.
    mtu: usize,
    /// Endpoints that began anew.
    restarts: u8,
}

const PORTS: [u16; 2] = [5001, 7626];

fn addresses(end: usize) -> [IpAddr; 2] {
    let host = u8::try_from(end + 1).unwrap_or(1);
    [[10, 0, 0, host].into(), [10, 0, 1, host].into()]
}

fn destination(address: IpAddr) -> Destination {
    Destination { address, encapsulation: Encapsulation::Ip }
}

fn config(choices: Choices) -> AssociationConfig {
    let (choice, is) = (choices.extensions, |bit: u8| choices.behaviour & bit != 0);
    let profile = if is(1) { Profile::Rfc9260 } else { Profile::Signalling };
    let mut config = AssociationConfig::profile(profile);
    if is(2) {
        config.heartbeat.interval = None;
    }
    if is(4) {
        config.congestion.pacing = Pacing::On;
    }
    if is(8) {
        config.congestion.algorithm = CongestionAlgorithm::Cubic;
    }
    if is(16) {
        config.path_mtu.discovery = Discovery::On;
    }
    if is(32) {
        config.paths.automatic_addresses = AutomaticAddresses::On;
    }
    if is(64) {
        config.transmission.nagle = Nagle::On;
    }
    if is(128) {
        config.buffers.partial_delivery_point_bytes = Some(4000);
    }
    let offer = |bit: u8| if choice & bit == 0 { Offer::Off } else { Offer::On };
    config.extensions.interleaving = offer(1);
    config.extensions.partial_reliability = offer(2);
    config.extensions.reconfiguration = offer(4);
    config.extensions.authentication = offer(8);
    config.extensions.dynamic_addresses = offer(16);
    if choice & 16 != 0 {
        config.extensions.authentication = Offer::On;
    }
    config.buffers.receive_bytes = 20_000;
    config.buffers.send_bytes = 20_000;
    config.buffers.message_bytes = 8_000;
    config.attempts.init = 3;
    config
}

impl World {
    fn new(choices: Choices) -> Self {
        let config = config(choices);
        let ends = [0, 1].map(|end| Self::end(end, &config, 0));
        Self {
            now: Instant::EPOCH,
            is_attacked: false,
            config,
            ends,
            wires: [VecDeque::new(), VecDeque::new()],
            cut: BTreeSet::new(),
            mtu: 1500,
            restarts: 0,
        }
    }

    /// An end that knows nothing; `restarts` makes its random numbers others.
    fn end(end: usize, config: &AssociationConfig, restarts: u8) -> End {
        let port = SctpPort::new(PORTS[end]).expect("not zero");
        let mut config_of_end = EndpointConfig::new(port);
        config_of_end.association = config.clone();
        config_of_end.local_addresses = addresses(end).to_vec();
        let mut entropy = [end as u8 + 1; 32];
        entropy[0] = entropy[0].wrapping_add(restarts.wrapping_mul(2));
        let endpoint = Endpoint::new(config_of_end, entropy).expect("it works");
        End { endpoint, id: None, last_sent: Vec::new(), reads_at_once: false }
    }

    /// The end forgets everything; the first one connects again.
    fn restart(&mut self, end: usize) {
        self.restarts = self.restarts.wrapping_add(1);
        self.ends[end] = Self::end(end, &self.config, self.restarts);
        if end == 0 {
            self.connect();
        }
    }

    /// The first end opens an association if it has none.
    fn reconnect(&mut self) {
        let End { endpoint, id, .. } = &self.ends[0];
        if id.and_then(|id| endpoint.association(id)).is_none() {
            self.connect();
        }
    }

    /// Between two addresses, or from one to another, nothing passes any more, or everything again.
    fn cut_or_mend(&mut self, end: usize, script: &mut Script<'_>) {
        let choice = usize::from(script.next());
        let (ours, peers) = (addresses(end)[choice & 1], addresses(1 - end)[choice >> 1 & 1]);
        let both = [(ours, peers), (peers, ours)];
        for way in &both[..1 + (choice >> 2 & 1)] {
            if !self.cut.remove(way) {
                self.cut.insert(*way);
            }
        }
    }

    fn connect(&mut self) {
        let to = addresses(1).map(destination);
        let port = SctpPort::new(PORTS[1]).expect("not zero");
        self.ends[0].id = self.ends[0].endpoint.connect(self.now, &to, port, self.config.clone()).ok();
        self.drain();
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let operation = script.next();
        let end = usize::from(operation & 1);
        match operation >> 1 & 31 {
            0..=3 | 21..=31 => self.deliver(end),
            4 => drop(self.wires[end].pop_front()),
            5 => self.repeat(end),
            6 => self.wires[end].rotate_left(usize::from(self.wires[end].len() > 1)),
            7 => self.damage(end, script),
            8 => self.pass(Duration::from_millis(u64::from(script.next()))),
            9 => self.pass_to_next_timeout(),
            10 | 11 => self.send(end, script),
            12 => self.read(end),
            13 => self.use_api(end, script),
            14 => self.attack(end, script),
            15 => self.change_address(end, script),
            16 => self.cut_or_mend(end, script),
            17 => self.mtu = 576 + 4 * usize::from(script.next()),
            18 => self.restart(end),
            19 => self.reconnect(),
            _ => self.ends[end].reads_at_once ^= true,
        }
        self.drain();
    }

    fn deliver(&mut self, end: usize) {
        if let Some(packet) = self.wires[end].pop_front() {
            self.receive(end, &packet);
        }
    }

    fn receive(&mut self, end: usize, packet: &Packet) {
        let (source, local) = (destination(packet.from), Some(packet.to));
        let datagram = Datagram { source, local, ecn: Ecn::NotEct, payload: &packet.octets };
        self.ends[end].endpoint.handle_packet(self.now, datagram);
    }

    fn repeat(&mut self, end: usize) {
        if let Some(Packet { from, to, octets }) = self.wires[end].front() {
            let again = Packet { from: *from, to: *to, octets: octets.clone() };
            self.wires[end].push_back(again);
        }
    }

    /// Changes an octet behind the common header and mends the checksum, as one who wants to be heard would.
    fn damage(&mut self, end: usize, script: &mut Script<'_>) {
        let (place, change) = (usize::from(script.next()), script.next());
        if let Some(packet) = self.wires[end].front_mut()
            && let Some(octet) = packet.octets.get_mut(12 + place)
        {
            *octet ^= change;
            self.is_attacked = true;
            packet.octets = repaired(&packet.octets);
        }
    }

    /// Chunks of the script's making in a packet with ports and tag as the other end would write them.
    fn attack(&mut self, end: usize, script: &mut Script<'_>) {
        let Some(header) = self.ends[1 - end].last_sent.get(..12).map(<[u8]>::to_vec) else { return };
        let length = usize::from(script.next());
        let octets = repaired(&[header, script.take(length)].concat());
        let packet = Packet { from: addresses(1 - end)[0], to: addresses(end)[0], octets };
        self.is_attacked = true;
        self.receive(end, &packet);
    }

    fn send(&mut self, end: usize, script: &mut Script<'_>) {
        let Some(id) = self.ends[end].id else { return };
        let (kind, size) = (script.next(), usize::from(script.next()) * 32 + 1);
        let stream = StreamId::new(u16::from(kind >> 4));
        let delivery = if kind & 1 == 0 { Delivery::Ordered } else { Delivery::Unordered };
        let message = Message::new(stream, delivery, vec![kind; size]);
        let message = match kind >> 1 & 3 {
            0 => message,
            1 => message.with_lifetime(Duration::from_millis(100)),
            2 => message.with_retransmissions(1),
            _ => message.with_priority(u32::from(kind)),
        };
        // Refused for a full buffer or an end: as it should be.
        let _refused = self.ends[end].endpoint.send(self.now, id, message);
    }

    fn read(&mut self, end: usize) {
        if let Some(id) = self.ends[end].id {
            while self.ends[end].endpoint.receive(self.now, id).is_some() {}
        }
    }

    fn use_api(&mut self, end: usize, script: &mut Script<'_>) {
        let (now, choice) = (self.now, script.next());
        let End { endpoint, id: Some(id), .. } = &mut self.ends[end] else { return };
        // Refusals are answers.
        match choice % 12 {
            0 => drop(endpoint.shutdown(now, *id)),
            1 => drop(endpoint.abort(now, *id, b"fuzzing")),
            2 => drop(endpoint.set_primary(now, *id, PathId::new((choice >> 3).into()))),
            3 => drop(endpoint.set_stream_priority(*id, StreamId::new(0), u16::from(choice))),
            4 => drop(endpoint.reset_streams(now, *id, &[StreamId::new(1)], ResetDirection::Outgoing)),
            5 => drop(endpoint.reset_streams(now, *id, &[], ResetDirection::Incoming)),
            6 => drop(endpoint.reset_association(now, *id)),
            7 => drop(endpoint.add_streams(now, *id, u16::from(choice), u16::from(choice & 3))),
            8 => drop(endpoint.add_local_address(now, *id, addresses(end)[usize::from(choice & 1)])),
            9 => drop(endpoint.delete_local_address(now, *id, addresses(end)[usize::from(choice & 1)])),
            10 => drop(endpoint.request_peer_primary(now, *id, addresses(end)[usize::from(choice & 1)])),
            _ => drop(endpoint.association(*id).map(sctp_core::Association::statistics)),
        }
    }

    fn change_address(&mut self, end: usize, script: &mut Script<'_>) {
        let choice = script.next();
        let address = addresses(end)[usize::from(choice & 1)];
        if choice & 2 == 0 {
            self.ends[end].endpoint.local_address_down(self.now, address);
        } else {
            self.ends[end].endpoint.local_address_up(self.now, address);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for end in &mut self.ends {
            end.endpoint.handle_timeout(self.now);
        }
    }

    fn pass_to_next_timeout(&mut self) {
        let next = self.ends.iter().filter_map(|end| end.endpoint.poll_timeout()).min();
        if let Some(at) = next {
            self.pass(at.since(self.now));
        }
    }

    /// Keeps the driver's contract: transmit, then events.
    fn drain(&mut self) {
        for end in 0..2 {
            for packets in 0.. {
                assert!(packets < 10_000, "packets without end");
                let mut octets = Vec::new();
                let Some(transmit) = self.ends[end].endpoint.poll_transmit(self.now, &mut octets) else {
                    break;
                };
                self.ends[end].last_sent.clone_from(&octets);
                let from = transmit.source.unwrap_or(addresses(end)[0]);
                let packet = Packet { from, to: transmit.destination.address, octets };
                let may_pass =
                    transmit.fragmentation == Fragmentation::Allowed || 20 + transmit.len <= self.mtu;
                let arrives = may_pass
                    && addresses(1 - end).contains(&packet.to)
                    && !self.cut.contains(&(packet.from, packet.to));
                if arrives && self.wires[1 - end].len() < 256 {
                    self.wires[1 - end].push_back(packet);
                }
            }
            while let Some((id, event)) = self.ends[end].endpoint.poll_event() {
                if matches!(event, Event::CommunicationUp { .. }) {
                    self.ends[end].id = Some(id);
                }
                if event == Event::MessageReady && self.ends[end].reads_at_once {
                    self.read(end);
                }
            }
        }
    }

    /// Limits on memory hold whatever the peer does.
    fn check(&self) {
        for End { endpoint, id, .. } in &self.ends {
            let Some(association) = id.and_then(|id| endpoint.association(id)) else { continue };
            let bound = 3 * (20_000 + 8_000);
            assert!(association.receive_memory_bytes() <= bound, "{}", association.receive_memory_bytes());
            // Bookkeeping grows by an eighth.
            assert!(association.buffered_bytes() <= (20_000 + 8_000) * 9 / 8);
        }
    }

    /// From now on everything arrives and is read: whatever waits must end, within bounds of time and packets.
    fn heal(&mut self) {
        self.cut.clear();
        self.mtu = 1500;
        for end in 0..2 {
            for address in addresses(end) {
                self.ends[end].endpoint.local_address_up(self.now, address);
            }
            if let Some(id) = self.ends[end].id {
                let _over = self.ends[end].endpoint.shutdown(self.now, id);
            }
        }
        for _ in 0..2_000 {
            self.drain();
            self.read(0);
            self.read(1);
            for end in 0..2 {
                while !self.wires[end].is_empty() {
                    self.deliver(end);
                }
            }
            if self.ends.iter().all(|end| end.endpoint.poll_timeout().is_none()) {
                return;
            }
            self.pass_to_next_timeout();
        }
        if self.is_attacked {
            return;
        }
        let state = |end: &End| Some(end.endpoint.association(end.id?)?.state());
        panic!("no rest after 2000 timeouts: {:?}", self.ends.each_ref().map(state));
    }
}
