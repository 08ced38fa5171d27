//! Client and server over the simulator's TCP: a connection per lane, messages cut out of the stream by their lengths.

use std::net::IpAddr;

use bytes::Bytes;
use netsim::{Host, Outgoing, Packet, Protocol};
use tcp_core::{Connection, Event, Segment, TcpConfig};
use virtual_time::Instant;

use crate::statistics::{OneWay, TransportCounts};
use crate::traffic::{Client, Framer, Server};
use crate::transport::{End, Switching};

/// Both ends of a connection have this.
struct Lane {
    connection: Connection,
    framer: Framer,
    /// The unwritten rest of a message that was written in part.
    unwritten: Bytes,
    /// Whether the connection may have something to send.
    is_touched: bool,
    place: Place,
}

impl Lane {
    fn new(connection: Connection, framer: Framer, place: Place) -> Self {
        Self { connection, framer, unwritten: Bytes::new(), is_touched: true, place }
    }

    /// Writes as much as there is room for; whether that was all.
    fn write(&mut self) -> bool {
        let taken = self.connection.write(&self.unwritten);
        self.unwritten = self.unwritten.slice(taken..);
        self.is_touched = true;
        self.unwritten.is_empty()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.connection.poll_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
            self.is_touched = true;
        }
    }
}

/// The client's end of all connections of a flow.
pub(super) struct TcpClient {
    client: Client,
    opening: Dialling,
    switching: Switching,
    /// The number of times that the connections were opened anew.
    turn: u16,
    lanes: Vec<Lane>,
    scratch: Vec<u8>,
}

/// The connections of a client: when, how and from where they are opened.
pub(super) struct Dialling {
    /// `None` when they were opened.
    pub(super) at: Option<Instant>,
    pub(super) config: TcpConfig,
    pub(super) connections: u16,
    pub(super) initial_sequence: u32,
    /// The pairs of addresses that are used in turn, one at least.
    pub(super) places: Vec<Place>,
}

/// The addresses of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) local: IpAddr,
    pub(super) peer: IpAddr,
}

impl TcpClient {
    pub(super) fn new(client: Client, opening: Dialling, switching: Switching) -> Self {
        Self { client, opening, switching, turn: 0, lanes: Vec::new(), scratch: Vec::new() }
    }

    fn open(&mut self, now: Instant) {
        if self.opening.at.take_if(|at| *at <= now).is_some() {
            self.connect();
        }
    }

    /// Opens the connections between the addresses whose turn it is.
    fn connect(&mut self) {
        let Dialling { config, connections, initial_sequence, places, .. } = &self.opening;
        let place = places[usize::from(self.turn) % places.len()];
        let first_port = self.first_port();
        for lane in 0..*connections {
            let initial =
                initial_sequence.wrapping_add(u32::from(lane) << 20).wrapping_add(u32::from(self.turn) << 8);
            let connection =
                Connection::connect(*config, first_port.wrapping_add(lane), SERVER_PORT, initial);
            self.lanes.push(Lane::new(connection, self.client.workload().framer(), place));
        }
    }

    /// Returns the port of the first connection; connections that take the place of others have other ports.
    fn first_port(&self) -> u16 {
        FIRST_PORT.wrapping_add(self.turn.wrapping_mul(self.opening.connections))
    }

    /// Leaves the connections on which nobody answers, and sends what was not answered on new ones.
    fn switch(&mut self, now: Instant) {
        let Some(unanswered) = self.switching.switch(now) else { return };
        self.turn = self.turn.wrapping_add(1);
        self.lanes.clear();
        self.connect();
        unanswered.into_iter().rev().for_each(|pending| self.client.defer(pending));
        self.client.resume_all();
    }

    /// Reacts to what happened on one connection.
    fn serve(&mut self, now: Instant, index: usize) {
        while let Some(event) = self.lanes[index].connection.poll_event() {
            match event {
                // The flow begins when all connections are there.
                Event::Connected => {
                    let is_up = |lane: &Lane| lane.connection.state() == tcp_core::State::Established;
                    if self.lanes.iter().all(is_up) {
                        self.client.begin(now);
                        self.client.handle_timeout(now);
                    }
                }
                Event::Readable => self.read(now, index),
                Event::Writable => {
                    if self.lanes[index].write() {
                        self.client.resume(u16::try_from(index).unwrap_or(0));
                    }
                }
                Event::PeerFinished | Event::Closed => self.client.fail("the server closed the connection"),
                Event::Reset => self.client.fail("the server reset the connection"),
                Event::TimedOut => self.client.fail("the server did not answer for too long"),
            }
        }
    }

    fn read(&mut self, now: Instant, index: usize) {
        self.scratch.clear();
        let lane = &mut self.lanes[index];
        lane.connection.read(&mut self.scratch);
        lane.framer.push(&self.scratch);
        while let Ok(Some(message)) = lane.framer.next_message() {
            let number = || self.client.workload().kind().number(&message);
            if self.switching.on_answer(now, number) {
                self.client.on_response(now, u16::try_from(index).unwrap_or(0), &message, None);
            }
        }
    }

    /// Writes what is due.
    fn offer(&mut self, now: Instant) {
        while let Some(pending) = self.client.poll_message() {
            let message = self.client.encode(pending);
            let lane = &mut self.lanes[usize::from(pending.lane)];
            if !lane.unwritten.is_empty() {
                self.client.defer(pending);
                continue;
            }
            lane.unwritten = message;
            lane.write();
            self.switching.on_sent(now, pending);
            self.client.commit(now, pending);
        }
    }
}

impl Host for TcpClient {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let Ok(segment) = Segment::decode(packet.payload) else { return };
        let index = usize::from(segment.destination_port.wrapping_sub(self.first_port()));
        let Some(lane) = self.lanes.get_mut(index) else { return };
        lane.connection.handle_segment(now, &segment);
        lane.is_touched = true;
        self.serve(now, index);
        self.offer(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.open(now);
        self.switch(now);
        for index in 0..self.lanes.len() {
            self.lanes[index].handle_timeout(now);
            self.serve(now, index);
        }
        self.client.handle_timeout(now);
        self.offer(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        transmit(&mut self.lanes, now, buffer)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let lanes = self.lanes.iter().filter_map(|lane| lane.connection.poll_timeout());
        let own = [self.opening.at, self.client.poll_timeout(), self.switching.poll_timeout()];
        lanes.chain(own.into_iter().flatten()).min()
    }
}

impl End for TcpClient {
    fn counts(&self) -> TransportCounts {
        let of_lane = |lane: &Lane| lane.connection.statistics().sender;
        TransportCounts {
            timeouts: Some(self.lanes.iter().map(|lane| of_lane(lane).timeouts).sum()),
            retransmissions: Some(self.lanes.iter().map(|lane| of_lane(lane).retransmissions).sum()),
            blocked: None,
        }
    }

    fn client(&self) -> Option<&Client> {
        Some(&self.client)
    }

    fn into_client(self: Box<Self>) -> Option<Client> {
        Some(self.client)
    }
}

/// The server's end of all connections of a flow.
pub(super) struct TcpServer {
    server: Server<usize>,
    config: TcpConfig,
    initial_sequence: u32,
    is_bulk: bool,
    /// The lanes by client port, in the order in which they came.
    lanes: Vec<Lane>,
    ports: Vec<u16>,
    scratch: Vec<u8>,
}

impl TcpServer {
    pub(super) fn new(server: Server<usize>, config: TcpConfig, initial_sequence: u32) -> Self {
        let (lanes, ports, scratch) = (Vec::new(), Vec::new(), Vec::new());
        let is_bulk = server.is_bulk();
        Self { server, config, initial_sequence, is_bulk, lanes, ports, scratch }
    }

    fn serve(&mut self, now: Instant, index: usize) {
        let lane = &mut self.lanes[index];
        while let Some(event) = lane.connection.poll_event() {
            if event != Event::Readable {
                continue;
            }
            self.scratch.clear();
            lane.connection.read(&mut self.scratch);
            if self.is_bulk {
                self.server.on_octets(now, self.scratch.len());
                continue;
            }
            lane.framer.push(&self.scratch);
            while let Ok(Some(message)) = lane.framer.next_message() {
                self.server.on_message(now, now, index, u16::try_from(index).unwrap_or(0), message);
            }
        }
        if !lane.unwritten.is_empty() {
            lane.write();
        }
    }

    fn answer(&mut self, now: Instant) {
        let mut refused = Vec::new();
        while let Some((index, message)) = self.server.poll_reply(now) {
            let lane = &mut self.lanes[index];
            if lane.unwritten.is_empty() {
                lane.unwritten = message;
                lane.write();
            } else {
                refused.push((index, message));
            }
        }
        refused.into_iter().rev().for_each(|(index, message)| self.server.defer(index, message));
    }
}

impl Host for TcpServer {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let Ok(segment) = Segment::decode(packet.payload) else { return };
        let known = self.ports.iter().position(|port| *port == segment.source_port);
        let index = known.unwrap_or(self.lanes.len());
        if known.is_none() {
            let initial = self.initial_sequence.wrapping_add(u32::from(segment.source_port) << 16);
            let Some(connection) = Connection::accept(self.config, &segment, initial) else { return };
            self.ports.push(segment.source_port);
            let place = Place { local: packet.destination, peer: packet.source };
            self.lanes.push(Lane::new(connection, self.server.workload().framer(), place));
        } else {
            self.lanes[index].connection.handle_segment(now, &segment);
        }
        self.lanes[index].is_touched = true;
        self.serve(now, index);
        self.answer(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        for index in 0..self.lanes.len() {
            self.lanes[index].handle_timeout(now);
            self.serve(now, index);
        }
        self.answer(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        transmit(&mut self.lanes, now, buffer)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let lanes = self.lanes.iter().filter_map(|lane| lane.connection.poll_timeout());
        lanes.chain(self.server.poll_timeout()).min()
    }
}

impl End for TcpServer {
    fn delivered(&self) -> u64 {
        self.server.delivered()
    }

    fn into_received(self: Box<Self>) -> Option<(OneWay, u64, Instant)> {
        Some(self.server.into_parts())
    }
}

/// Returns the next segment of any connection that has one.
fn transmit(lanes: &mut [Lane], now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
    for lane in lanes.iter_mut().filter(|lane| lane.is_touched) {
        if let Some(len) = lane.connection.poll_transmit(now, buffer) {
            let (source, destination) = (Some(lane.place.local), lane.place.peer);
            return Some(Outgoing { source, destination, protocol: Protocol::Tcp, len, segment_bytes: None });
        }
        lane.is_touched = false;
    }
    None
}

const FIRST_PORT: u16 = 5001;
const SERVER_PORT: u16 = 80;
