//! Two hosts, `End::Left`, which opens associations, and `End::Right`, which accepts them. Without more ado one link
//! joins them, 10.0.0.1 and 10.0.0.2; with [`Setup::homes`] they have several interfaces and a link for each pair.

use core::time::Duration;
use std::collections::BTreeSet;
use std::net::IpAddr;

use netem::Impairments;
use netsim::{Direction, Host, HostId, LinkId, LinkSpec, LinkState, Outgoing, Protocol, World};
use sctp_core::{
    AssociationConfig, AssociationError, AssociationId, AssociationState, AssociationStatistics, Datagram,
    Destination, Dscp, Ecn, Encapsulation, Endpoint, EndpointConfig, Event, EventMask, Fragmentation,
    Message, PathState, Profile, Received, SctpPort, SendError, StreamId,
};
use sctp_wire::{Checksum, Packet};
use virtual_time::Instant;

use crate::replay::{Forger, Passage, Replays};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Left,
    Right,
}

/// What the application does when a message is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    AtOnce,
    Paused,
    /// Sends it back, which has to succeed.
    Echoing,
}

/// Whether the application asks for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listening {
    On,
    Off,
}

/// Whether packets that leave are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sniffing {
    On,
    Off,
}

/// An endpoint as a simulated host, with everything it said.
pub(crate) struct Side {
    pub(crate) endpoint: Endpoint,
    pub(crate) reading: Reading,
    pub(crate) listening: Listening,
    pub(crate) sniffing: Sniffing,
    /// The narrowest router behind this host: octets of an IPv4 packet that passes unfragmented.
    pub(crate) path_mtu: usize,
    /// From and to which address nothing leaves this host.
    pub(crate) cut: BTreeSet<(Option<IpAddr>, IpAddr)>,
    /// Changes what this host sends.
    pub(crate) forger: Option<Forger>,
    /// What of this host's packets comes again, or late.
    pub(crate) replays: Replays,
    /// How the host takes its packets to have travelled. The links carry SCTP over IP in any case.
    pub(crate) encapsulation: Encapsulation,
    /// A NAT before the other host lets in nothing but what is sent to the port that its packets come from.
    pub(crate) is_translated: bool,
    /// The latest association an event told of, or the one opened here.
    pub(crate) id: Option<AssociationId>,
    pub(crate) events: Vec<(Instant, Event)>,
    pub(crate) received: Vec<(Instant, Received)>,
    pub(crate) sent: Vec<Sent>,
}

/// A packet that left a host.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    /// `None` where the routing table chooses.
    pub(crate) from: Option<IpAddr>,
    pub(crate) to: IpAddr,
    pub(crate) over: Encapsulation,
    pub(crate) octets: Vec<u8>,
    pub(crate) dscp: Dscp,
}

impl Sent {
    pub(crate) fn packet(&self) -> Packet<'_> {
        Packet::decode(&self.octets, Checksum::Verify).unwrap()
    }

    /// The chunk types, for example `"COOKIE_ECHO DATA"`.
    pub(crate) fn kinds(&self) -> String {
        let name = |kind: sctp_wire::ChunkType| kind.name().unwrap_or("?").replace(' ', "_");
        self.packet().chunks().map(|chunk| name(chunk.unwrap().kind())).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn at_ms(&self) -> u64 {
        millis(self.at)
    }
}

impl Side {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            reading: Reading::AtOnce,
            listening: Listening::On,
            sniffing: Sniffing::On,
            path_mtu: usize::MAX,
            cut: BTreeSet::new(),
            forger: None,
            replays: Replays::new(0),
            encapsulation: Encapsulation::Ip,
            is_translated: false,
            id: None,
            events: Vec::new(),
            received: Vec::new(),
            sent: Vec::new(),
        }
    }

    pub(crate) fn read_all(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        while let Some(received) = self.endpoint.receive(now, id) {
            self.received.push((now, received));
        }
    }

    fn echo(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        while let Some(received) = self.endpoint.receive(now, id) {
            self.endpoint.send(now, id, received.message.into()).unwrap();
        }
    }

    fn after_change(&mut self, now: Instant) {
        if self.listening == Listening::Off {
            return;
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            if self.id.is_none_or(|known| known < id || self.endpoint.association(known).is_none()) {
                // What came by the old one is read before it is forgotten.
                self.read_all(now);
                self.id = Some(id);
            }
            let ready = event == Event::MessageReady;
            self.events.push((now, event));
            match self.reading {
                Reading::AtOnce if ready => self.read_all(now),
                Reading::Echoing if ready => self.echo(now),
                Reading::AtOnce | Reading::Echoing | Reading::Paused => {}
            }
        }
    }
}

impl Host for Side {
    fn handle_packet(&mut self, now: Instant, packet: netsim::Packet<'_>) {
        let source = Destination { address: packet.source, encapsulation: self.encapsulation };
        let local = Some(packet.destination);
        self.endpoint
            .handle_packet(now, Datagram { source, local, ecn: Ecn::NotEct, payload: packet.payload });
        self.after_change(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        self.after_change(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let start = buffer.len();
        if let Some(outgoing) = self.replays.take_due(now, buffer) {
            return Some(outgoing);
        }
        loop {
            let Some(transmit) = self.endpoint.poll_transmit(now, buffer) else {
                self.after_change(now);
                return None;
            };
            // What may be fragmented arrives in one piece in the end: the other host has put it together.
            let fits = transmit.fragmentation == Fragmentation::Allowed || 20 + transmit.len <= self.path_mtu;
            let to = transmit.destination.address;
            let passes = fits && !self.cut.contains(&(transmit.source, to));
            let outgoing = Outgoing {
                source: transmit.source,
                destination: to,
                protocol: Protocol::Sctp,
                len: transmit.len,
                segment_bytes: transmit.segment_bytes,
            };
            if let Some(forger) = &mut self.forger {
                forger.forge(&mut buffer[start..]);
            }
            if passes && self.replays.offer(now, outgoing, &buffer[start..]) == Passage::Now {
                if self.sniffing == Sniffing::On {
                    self.sent.push(Sent {
                        at: now,
                        from: transmit.source,
                        to,
                        over: transmit.destination.encapsulation,
                        octets: buffer[start..].to_vec(),
                        dscp: transmit.dscp,
                    });
                }
                if !self.is_translated || transmit.destination.encapsulation == self.encapsulation {
                    return Some(outgoing);
                }
            }
            buffer.truncate(start);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.endpoint.poll_timeout(), self.replays.next_at()].into_iter().flatten().min()
    }
}

/// How the two ends and the link between them are to be. Default: 10 ms each way and nothing else.
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) request: Impairments,
    pub(crate) response: Impairments,
    pub(crate) client: AssociationConfig,
    pub(crate) server: EndpointConfig,
    left: Vec<IpAddr>,
    /// How many of them the left end tells of; `None` for all.
    told: Option<usize>,
    encapsulation: Encapsulation,
    right: Vec<IpAddr>,
    has_one_link: bool,
    /// The right end tells of its first address alone, too.
    tells_of_one: bool,
}

impl Setup {
    pub(crate) fn new(profile: Profile) -> Self {
        let mut config = AssociationConfig::profile(profile);
        config.buffers.events.mask = EventMask::ALL;
        let mut server = EndpointConfig::new(port(RIGHT_PORT));
        server.association = config.clone();
        let link = Impairments { delay: ms(10), ..Impairments::default() };
        let (left, right) = (vec![LEFT], vec![RIGHT]);
        let (told, encapsulation, has_one_link) = (None, Encapsulation::Ip, false);
        Self {
            seed: 1,
            request: link.clone(),
            response: link,
            client: config,
            server,
            left,
            told,
            encapsulation,
            right,
            has_one_link,
            tells_of_one: false,
        }
    }

    /// Several addresses on each side, all of them listed to the other. There are as many links as the side with fewer
    /// addresses has; each joins the addresses of equal position, the last one also those left over.
    pub(crate) fn homes(mut self, left: &[&str], right: &[&str]) -> Self {
        let parse = |addresses: &[&str]| addresses.iter().map(|text| text.parse().unwrap()).collect();
        (self.left, self.right) = (parse(left), parse(right));
        self
    }

    /// All addresses of an end are on one link: each can be reached from each.
    pub(crate) fn on_one_link(mut self) -> Self {
        self.has_one_link = true;
        self
    }

    /// The left end tells of the first `count` of its addresses alone; the host has the others all the same.
    pub(crate) fn telling(mut self, count: usize) -> Self {
        self.told = Some(count);
        self
    }

    /// Either end tells of its first address alone; the hosts have the others all the same.
    pub(crate) fn telling_of_one(mut self) -> Self {
        self.tells_of_one = true;
        self.telling(1)
    }

    /// Both ends take their packets to travel in UDP (RFC 6951).
    pub(crate) fn in_udp(mut self) -> Self {
        self.encapsulation = Encapsulation::Udp { port: 9899 };
        self
    }

    /// Two interfaces on each side: 10.0.0.1 and 10.0.1.1, 10.0.0.2 and 10.0.1.2.
    pub(crate) fn two_homes(self) -> Self {
        self.homes(&["10.0.0.1", "10.0.1.1"], &["10.0.0.2", "10.0.1.2"])
    }

    pub(crate) fn rfc9260() -> Self {
        Self::new(Profile::Rfc9260)
    }

    pub(crate) fn studies() -> Self {
        Self::new(Profile::Studies)
    }

    pub(crate) fn signalling() -> Self {
        Self::new(Profile::Signalling)
    }

    /// The same change of the configuration at both ends.
    pub(crate) fn configure(mut self, change: impl Fn(&mut AssociationConfig)) -> Self {
        change(&mut self.client);
        change(&mut self.server.association);
        self
    }

    /// Drops these packets of the left end, counted from 1.
    pub(crate) fn drop_from_left(mut self, packets: &[u64]) -> Self {
        self.request.drop_packets = packets.iter().copied().collect();
        self
    }

    pub(crate) fn drop_from_right(mut self, packets: &[u64]) -> Self {
        self.response.drop_packets = packets.iter().copied().collect();
        self
    }

    pub(crate) fn build(self) -> Pair {
        let (request, response) = (self.request.clone(), self.response.clone());
        let mut world = World::new(self.seed);
        let mut left = EndpointConfig::new(port(LEFT_PORT));
        left.association = self.client.clone();
        let mut right = self.server;
        let addresses = [self.left, self.right];
        for (config, addresses) in [&mut left, &mut right].into_iter().zip(&addresses) {
            if addresses.len() > 1 {
                config.local_addresses.clone_from(addresses);
            }
        }
        left.local_addresses.truncate(self.told.unwrap_or(usize::MAX));
        right.local_addresses.truncate(if self.tells_of_one { 1 } else { usize::MAX });
        let hosts = [left, right].map(|config| {
            world.add_host_with(|_, entropy| {
                let side = Side::new(Endpoint::new(config, entropy).unwrap());
                Side { encapsulation: self.encapsulation, ..side }
            })
        });
        let most = if self.has_one_link { 1 } else { usize::MAX };
        let count = addresses[0].len().min(addresses[1].len()).min(most);
        let mut links = Vec::new();
        for number in 0..count {
            let [a, b] = [0, 1].map(|end| {
                let addresses = &addresses[end];
                let last = if number + 1 == count { addresses.len() } else { number + 1 };
                world.add_interface(hosts[end], &addresses[number..last]).unwrap()
            });
            let spec = LinkSpec { request: request.clone(), response: response.clone() };
            links.push(world.connect(a, b, spec).unwrap());
        }
        Pair { world, hosts, addresses, links, client: self.client, impairments: [request, response] }
    }

    /// With an association that both ends know to be established.
    pub(crate) fn connected(self) -> Pair {
        let mut pair = self.build();
        pair.connect();
        pair.run_ms(50);
        assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
        assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
        pair
    }
}

pub(crate) struct Pair {
    pub(crate) world: World<Side>,
    hosts: [HostId; 2],
    addresses: [Vec<IpAddr>; 2],
    links: Vec<LinkId>,
    client: AssociationConfig,
    /// What the links were set up with, from left and from right.
    impairments: [Impairments; 2],
}

impl Pair {
    pub(crate) fn now(&self) -> Instant {
        self.world.now()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        millis(self.world.now())
    }

    pub(crate) fn run_ms(&mut self, time: u64) {
        let until = self.world.now() + ms(time);
        self.world.run_until(until);
    }

    pub(crate) fn side(&self, end: End) -> &Side {
        self.world.host(self.host(end))
    }

    /// Changes an end and lets it send what that leads to.
    pub(crate) fn with<R>(&mut self, end: End, change: impl FnOnce(&mut Side, Instant) -> R) -> R {
        let host = self.host(end);
        self.world.with_host(host, |side, now| {
            let result = change(side, now);
            side.after_change(now);
            result
        })
    }

    /// The left end opens an association with the first address of the right one.
    pub(crate) fn connect(&mut self) -> AssociationId {
        self.connect_to(1)
    }

    /// The left end opens an association with the first `count` addresses of the right one.
    pub(crate) fn connect_to(&mut self, count: usize) -> AssociationId {
        let config = self.client.clone();
        let encapsulation = self.side(End::Left).encapsulation;
        let destination = |&address: &IpAddr| Destination { address, encapsulation };
        let destinations: Vec<_> = self.addresses[1].iter().take(count).map(destination).collect();
        self.with(End::Left, |side, now| {
            let id = side.endpoint.connect(now, &destinations, port(RIGHT_PORT), config).unwrap();
            side.id = Some(id);
            id
        })
    }

    /// The right end opens an association with the first address of the left one.
    pub(crate) fn connect_back(&mut self) -> AssociationId {
        self.connect_back_to(1)
    }

    /// The right end opens an association with the first `count` addresses of the left one.
    pub(crate) fn connect_back_to(&mut self, count: usize) -> AssociationId {
        let config = self.client.clone();
        let encapsulation = self.side(End::Right).encapsulation;
        let destination = |&address: &IpAddr| Destination { address, encapsulation };
        let destinations: Vec<_> = self.addresses[0].iter().take(count).map(destination).collect();
        self.with(End::Right, |side, now| {
            let id = side.endpoint.connect(now, &destinations, port(LEFT_PORT), config).unwrap();
            side.id = Some(id);
            id
        })
    }

    pub(crate) fn send(&mut self, from: End, message: Message) {
        self.try_send(from, message).unwrap();
    }

    pub(crate) fn try_send(&mut self, from: End, message: Message) -> Result<(), SendError> {
        self.with(from, |side, now| side.endpoint.send(now, side.id.unwrap(), message))
    }

    pub(crate) fn shutdown(&mut self, end: End) {
        self.with(end, |side, now| side.endpoint.shutdown(now, side.id.unwrap()).unwrap());
    }

    pub(crate) fn abort(&mut self, end: End, reason: &[u8]) {
        self.with(end, |side, now| side.endpoint.abort(now, side.id.unwrap(), reason).unwrap());
    }

    /// Hands a packet to an end as if it came from `source`.
    pub(crate) fn inject(&mut self, to: End, source: IpAddr, octets: &[u8]) {
        self.inject_from(to, by_ip(source), octets);
    }

    /// The same with any encapsulation.
    pub(crate) fn inject_from(&mut self, to: End, source: Destination, octets: &[u8]) {
        self.with(to, |side, now| {
            let datagram = Datagram::new(source, octets);
            side.endpoint.handle_packet(now, datagram);
        });
    }

    /// Hands packets to an end that arrive together, as a receive call of several brings them.
    pub(crate) fn inject_together(&mut self, to: End, source: Destination, packets: &[Vec<u8>]) {
        self.with(to, |side, now| {
            let datagram = |payload| Datagram::new(source, payload);
            side.endpoint.handle_packets(now, packets.iter().map(|packet| datagram(&packet[..])));
        });
    }

    pub(crate) fn state(&self, end: End) -> Option<AssociationState> {
        let side = self.side(end);
        side.endpoint.association(side.id?).map(sctp_core::Association::state)
    }

    pub(crate) fn statistics(&self, end: End) -> AssociationStatistics {
        let side = self.side(end);
        side.endpoint.association(side.id.unwrap()).unwrap().statistics()
    }

    /// Drops the next packets of an end, counted from 1 for the very next.
    pub(crate) fn drop_next(&mut self, from: End, packets: &[u64]) {
        let sent = self.offered(from);
        let drop_packets: BTreeSet<u64> = packets.iter().map(|packet| sent + packet).collect();
        let link = match from {
            End::Left => self.impairments[0].clone(),
            End::Right => self.impairments[1].clone(),
        };
        self.impair(from, Impairments { drop_packets, ..link });
    }

    /// Changes what the first link does to packets from this end.
    pub(crate) fn impair(&mut self, from: End, impairments: Impairments) {
        self.impair_link(0, from, impairments);
    }

    pub(crate) fn impair_link(&mut self, link: usize, from: End, impairments: Impairments) {
        self.world.set_impairments(self.links[link], direction(from), impairments).unwrap();
    }

    /// How many packets of this end the first link was given.
    pub(crate) fn offered(&self, from: End) -> u64 {
        self.world.link_stats(self.links[0], direction(from)).offered
    }

    pub(crate) fn cut(&mut self) {
        (0..self.links.len()).for_each(|link| self.cut_link(link));
    }

    pub(crate) fn mend(&mut self) {
        (0..self.links.len()).for_each(|link| self.mend_link(link));
    }

    pub(crate) fn cut_link(&mut self, link: usize) {
        self.world.set_link_state(self.links[link], LinkState::Down);
    }

    pub(crate) fn mend_link(&mut self, link: usize) {
        self.world.set_link_state(self.links[link], LinkState::Up);
    }

    /// The state of each path of an end.
    pub(crate) fn path_states(&self, end: End) -> Vec<PathState> {
        self.statistics(end).paths.iter().map(|path| path.state).collect()
    }

    /// When, which and to what paths of an end changed since `from_ms`.
    pub(crate) fn path_changes(&self, end: End, from_ms: u64) -> Vec<(u64, usize, PathState)> {
        let change = |(at, event): &(Instant, Event)| {
            let Event::PeerAddressChange { path, state } = event else { return None };
            Some((millis(*at), path.number() as usize, *state))
        };
        self.side(end).events.iter().filter_map(change).filter(|(at, ..)| *at >= from_ms).collect()
    }

    /// The chunk types an end sent to an address: `"INIT"`, `"COOKIE_ECHO DATA"`.
    pub(crate) fn sent_to(&self, end: End, to: &str) -> Vec<String> {
        let to: IpAddr = to.parse().unwrap();
        self.side(end).sent.iter().filter(|sent| sent.to == to).map(Sent::kinds).collect()
    }

    /// Restarts an end: a new endpoint with other random numbers in place of the old one.
    pub(crate) fn reboot(&mut self, end: End, config: EndpointConfig) {
        self.with(end, |side, _| *side = Side::new(Endpoint::new(config, [77; 32]).unwrap()));
    }

    /// Times and chunk types of what an end sent since `from_ms`: `"40 DATA"`.
    pub(crate) fn log(&self, end: End, from_ms: u64) -> Vec<String> {
        let sent = self.side(end).sent.iter().filter(|sent| sent.at_ms() >= from_ms);
        sent.map(|sent| format!("{} {}", sent.at_ms(), sent.kinds())).collect()
    }

    /// Times at which an end sent a packet with a chunk of this type, since `from_ms`.
    pub(crate) fn times_of(&self, end: End, kind: &str, from_ms: u64) -> Vec<u64> {
        let sent = self.side(end).sent.iter().filter(|sent| sent.at_ms() >= from_ms);
        sent.filter(|sent| sent.kinds().split(' ').any(|name| name == kind)).map(Sent::at_ms).collect()
    }

    pub(crate) fn payloads(&self, end: End) -> Vec<&[u8]> {
        self.side(end).received.iter().map(|(_, received)| &received.message.payload[..]).collect()
    }

    /// When messages were read, in milliseconds.
    pub(crate) fn read_times(&self, end: End) -> Vec<u64> {
        self.side(end).received.iter().map(|(at, _)| millis(*at)).collect()
    }

    /// Everything an end heard that ends an association; there must never be more than one per association.
    pub(crate) fn endings(&self, end: End) -> Vec<Result<(), AssociationError>> {
        let ending = |(_, event): &(Instant, Event)| match event {
            Event::ShutdownComplete => Some(Ok(())),
            Event::CommunicationLost(error) | Event::CannotStart(error) => Some(Err(error.clone())),
            Event::CommunicationUp { .. }
            | Event::Restart { .. }
            | Event::StreamsReset { .. }
            | Event::AssociationReset { .. }
            | Event::StreamsAdded { .. }
            | Event::ShutdownReceived
            | Event::PeerAddressChange { .. }
            | Event::RemoteError(_)
            | Event::SendFailed { .. }
            | Event::NewPeerKey(_)
            | Event::PartialDeliveryAborted { .. }
            | Event::AddressChangeAnswered { .. }
            | Event::PeerPrimary(_)
            | Event::TrainReceived { .. }
            | Event::SenderDry
            | Event::MessageReady
            | Event::SendBufferAvailable => None,
            other => panic!("does {other:?} end an association?"),
        };
        self.side(end).events.iter().filter_map(ending).collect()
    }

    pub(crate) fn count(&self, end: End, wanted: impl Fn(&Event) -> bool) -> usize {
        self.side(end).events.iter().filter(|(_, event)| wanted(event)).count()
    }

    fn host(&self, end: End) -> HostId {
        match end {
            End::Left => self.hosts[0],
            End::Right => self.hosts[1],
        }
    }
}

fn direction(from: End) -> Direction {
    match from {
        End::Left => Direction::Request,
        End::Right => Direction::Response,
    }
}

pub(crate) fn is_up(event: &Event) -> bool {
    matches!(event, Event::CommunicationUp { .. })
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn millis(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

pub(crate) fn port(number: u16) -> SctpPort {
    SctpPort::new(number).unwrap()
}

pub(crate) fn by_ip(address: IpAddr) -> Destination {
    Destination { address, encapsulation: Encapsulation::Ip }
}

/// An ordered message of `len` octets, each the low octet of `fill`.
pub(crate) fn ordered(stream: u16, fill: usize, len: usize) -> Message {
    Message::ordered(StreamId::new(stream), vec![fill.to_le_bytes()[0]; len])
}

pub(crate) const LEFT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const RIGHT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
pub(crate) const LEFT_PORT: u16 = 5001;
pub(crate) const RIGHT_PORT: u16 = 7626;
