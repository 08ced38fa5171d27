//! Load generator and echo server over the simulator's TCP: a connection per lane, messages cut out of the stream by
//! their lengths.

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::{Buf, Bytes};
use netsim::tcp::{Application, ConnectionId, Connections};
use tcp_core::{Connection, Event};
use virtual_time::Instant;
use workload::{Lane, LoadCounters};

use super::Outcome;
use crate::traffic::{Answerer, Framer, Offer, Requester, Service};

/// Offers requests once all connections are up, and times the responses.
pub(super) struct TcpLoad {
    offer: Offer,
    lanes: Vec<Stream>,
    connected: usize,
    generator: Option<Requester>,
    start: Instant,
    ended_early: Option<String>,
}

/// One end of a connection as a stream of messages.
struct Stream {
    framer: Framer,
    /// What the connection had no room for. As over the kernel's TCP it has no bound of its own.
    unwritten: VecDeque<Bytes>,
}

impl Stream {
    fn new(framer: Framer) -> Self {
        Self { framer, unwritten: VecDeque::new() }
    }

    fn write(&mut self, connection: &mut Connection, message: Bytes) {
        self.unwritten.push_back(message);
        self.flush(connection);
    }

    fn flush(&mut self, connection: &mut Connection) {
        while let Some(message) = self.unwritten.front_mut() {
            let taken = connection.write(message);
            message.advance(taken);
            if !message.is_empty() {
                return;
            }
            self.unwritten.pop_front();
        }
    }

    fn read(&mut self, connection: &mut Connection) {
        let mut octets = Vec::new();
        connection.read(&mut octets);
        self.framer.push(&octets);
    }
}

impl TcpLoad {
    pub(super) fn new(offer: Offer) -> Self {
        let lanes = (0..offer.load.lanes).map(|_| Stream::new(offer.framer())).collect();
        Self { offer, lanes, connected: 0, generator: None, start: Instant::EPOCH, ended_early: None }
    }

    /// Opens a connection for each lane.
    pub(super) fn open(&self, connections: &mut Connections, server: IpAddr) {
        for _ in &self.lanes {
            connections.connect(server, ECHO_PORT);
        }
    }

    pub(super) fn is_finished(&self, now: Instant) -> bool {
        let done = self.generator.as_ref().is_some_and(|generator| generator.is_finished(now));
        done || self.ended_early.is_some()
    }

    pub(super) fn outcome(&self, connections: &Connections) -> Outcome {
        let generator = self.generator.as_ref();
        let retransmissions =
            connections.iter().map(|(_, connection)| connection.statistics().sender.retransmissions);
        Outcome {
            start: self.start,
            samples: generator.map(|generator| generator.samples().to_vec()).unwrap_or_default(),
            counters: generator.map_or_else(LoadCounters::default, Requester::counters),
            retransmissions: Some(retransmissions.sum()),
            blocking: None,
            ended_early: self.ended_early.clone(),
        }
    }

    fn on_connected(&mut self, now: Instant) {
        self.connected += 1;
        if self.connected < self.lanes.len() {
            return;
        }
        self.start = now;
        match Requester::new(self.offer.clone(), now) {
            Ok(generator) => self.generator = Some(generator),
            Err(error) => self.ended_early = Some(error.to_string()),
        }
    }

    fn read(&mut self, now: Instant, connections: &mut Connections, id: ConnectionId) {
        let stream = &mut self.lanes[id.index()];
        stream.read(&mut connections[id]);
        let lane = Lane(u16::try_from(id.index()).unwrap_or(u16::MAX));
        loop {
            match (stream.framer.next_message(), self.generator.as_mut()) {
                (Ok(Some(message)), Some(generator)) => {
                    generator.handle_response(now, lane, &message, None);
                    self.ended_early = generator.failure();
                }
                (Ok(_), _) => return,
                (Err(because), _) => {
                    self.ended_early = Some(because);
                    return;
                }
            }
        }
    }
}

impl Application for TcpLoad {
    fn on_event(&mut self, now: Instant, connections: &mut Connections, id: ConnectionId, event: Event) {
        match event {
            Event::Connected => self.on_connected(now),
            Event::Readable => self.read(now, connections, id),
            Event::Writable => self.lanes[id.index()].flush(&mut connections[id]),
            Event::PeerFinished | Event::Closed => {
                self.ended_early = Some("the echo server closed a connection".to_owned());
            }
            Event::Reset => self.ended_early = Some("the echo server reset a connection".to_owned()),
            Event::TimedOut => self.ended_early = Some("the echo server did not answer".to_owned()),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.generator.as_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, connections: &mut Connections) {
        let Some(generator) = self.generator.as_mut() else { return };
        generator.handle_timeout(now);
        let ids: Vec<_> = connections.iter().map(|(id, _)| id).collect();
        while let Some(request) = generator.peek_transmit(now) {
            generator.commit(&request);
            let lane = usize::from(request.lane.0);
            self.lanes[lane].write(&mut connections[ids[lane]], request.message);
        }
    }
}

/// Echoes every message of every connection.
pub(super) struct TcpEcho {
    service: Service,
    server: Answerer<ConnectionId>,
    lanes: Vec<Stream>,
}

impl TcpEcho {
    pub(super) fn new(service: Service) -> Self {
        Self { service, server: Answerer::new(service), lanes: Vec::new() }
    }

    fn read(&mut self, now: Instant, connections: &mut Connections, id: ConnectionId) {
        let stream = &mut self.lanes[id.index()];
        stream.read(&mut connections[id]);
        // A broken framing ends in silence, as the client tells.
        while let Ok(Some(message)) = stream.framer.next_message() {
            self.server.handle_message(now, id, 0, message);
        }
    }

    fn answer(&mut self, now: Instant, connections: &mut Connections) {
        while let Some(reply) = self.server.poll_transmit(now) {
            self.lanes[reply.lane.index()].write(&mut connections[reply.lane], reply.message);
        }
    }
}

impl Application for TcpEcho {
    fn on_event(&mut self, now: Instant, connections: &mut Connections, id: ConnectionId, event: Event) {
        while self.lanes.len() < connections.len() {
            self.lanes.push(Stream::new(self.service.framer()));
        }
        match event {
            Event::Readable => self.read(now, connections, id),
            Event::Writable => self.lanes[id.index()].flush(&mut connections[id]),
            Event::Connected | Event::PeerFinished | Event::Closed | Event::Reset | Event::TimedOut => {}
        }
        self.answer(now, connections);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, connections: &mut Connections) {
        self.answer(now, connections);
    }
}

/// TCP port of the echo service.
pub(super) const ECHO_PORT: u16 = 7;
