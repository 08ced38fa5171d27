//! Load generator and echo server over the simulator's TCP: a connection per lane, messages cut out of the stream by
//! their lengths.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::{Buf, Bytes};
use netsim::tcp::{Application, ConnectionId, Connections};
use tcp_core::{Connection, Event};
use virtual_time::Instant;
use workload::{
    EchoConfig, EchoServer, Lane, LoadConfig, LoadCounters, LoadGenerator, MessageSize, StreamFramer,
};

use super::Outcome;

/// Offers requests once all connections are up, and times the responses.
pub(super) struct TcpLoad {
    config: LoadConfig,
    lanes: Vec<Stream>,
    connected: usize,
    generator: Option<LoadGenerator>,
    start: Instant,
    ended_early: Option<String>,
}

/// One end of a connection as a stream of messages.
struct Stream {
    framer: StreamFramer,
    /// What the connection had no room for. As over the kernel's TCP it has no bound of its own.
    unwritten: VecDeque<Bytes>,
}

impl Stream {
    fn new(limit: MessageSize) -> Self {
        Self { framer: StreamFramer::new(limit), unwritten: VecDeque::new() }
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
    pub(super) fn new(config: LoadConfig) -> Self {
        let lanes = (0..config.lanes).map(|_| Stream::new(config.message_bytes)).collect();
        Self { config, lanes, connected: 0, generator: None, start: Instant::EPOCH, ended_early: None }
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
            counters: generator.map_or_else(LoadCounters::default, |generator| *generator.counters()),
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
        match LoadGenerator::new(self.config.clone(), now) {
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
                // A wrong answer is counted by the generator.
                (Ok(Some(message)), Some(generator)) => {
                    let _ = generator.handle_response(now, lane, &message, None);
                }
                (Ok(_), _) => return,
                (Err(error), _) => {
                    self.ended_early = Some(error.to_string());
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
        while let Some(request) = generator.poll_transmit(now) {
            let lane = usize::from(request.lane.0);
            self.lanes[lane].write(&mut connections[ids[lane]], request.message);
        }
    }
}

/// Echoes every message of every connection.
pub(super) struct TcpEcho {
    server: EchoServer<ConnectionId>,
    lanes: Vec<Stream>,
}

impl TcpEcho {
    pub(super) fn new(processing: Duration) -> Self {
        Self { server: EchoServer::new(EchoConfig { processing }), lanes: Vec::new() }
    }

    fn read(&mut self, now: Instant, connections: &mut Connections, id: ConnectionId) {
        let stream = &mut self.lanes[id.index()];
        stream.read(&mut connections[id]);
        // What is no message is counted and not answered; a broken framing ends in silence, as the client tells.
        while let Ok(Some(message)) = stream.framer.next_message() {
            let _ = self.server.handle_message(now, id, message);
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
            self.lanes.push(Stream::new(MessageSize::MAX));
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
