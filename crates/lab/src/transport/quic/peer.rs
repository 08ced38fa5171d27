//! An endpoint of QUIC and its connections on our clock: quinn's state machines behind our verbs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, Event, Transmit, VarInt,
};
use virtual_time::Instant;

use super::settings::{self, SERVER_NAME, SettingsError};

/// An endpoint with its connections.
pub(super) struct Peer {
    endpoint: Endpoint,
    /// The configuration with which a client opens connections.
    config: Option<ClientConfig>,
    connections: BTreeMap<ConnectionHandle, Connection>,
    /// The connections that may have events, or something to send.
    changed: BTreeSet<ConnectionHandle>,
    sending: BTreeSet<ConnectionHandle>,
    /// The datagrams by which the endpoint itself answers.
    answers: VecDeque<(SocketAddr, Bytes)>,
    /// Our epoch on quinn's clock, which is the system's by its type alone: nobody asks it for the time.
    epoch: std::time::Instant,
    due: Option<Instant>,
    scratch: Vec<u8>,
}

impl Peer {
    pub(super) fn client(seed: Option<u64>) -> Result<Self, SettingsError> {
        let endpoint = Endpoint::new(Arc::new(settings::endpoint(seed)), None, true, None);
        Ok(Self::new(endpoint, Some(settings::client(seed)?)))
    }

    pub(super) fn server(seed: Option<u64>) -> Result<Self, SettingsError> {
        let config = Some(Arc::new(settings::server()?));
        Ok(Self::new(Endpoint::new(Arc::new(settings::endpoint(seed)), config, true, None), None))
    }

    fn new(endpoint: Endpoint, config: Option<ClientConfig>) -> Self {
        Self {
            endpoint,
            config,
            connections: BTreeMap::new(),
            changed: BTreeSet::new(),
            sending: BTreeSet::new(),
            answers: VecDeque::new(),
            epoch: std::time::Instant::now(),
            due: None,
            scratch: Vec::new(),
        }
    }

    fn theirs(&self, now: Instant) -> std::time::Instant {
        self.epoch + now.since(Instant::EPOCH)
    }

    /// Opens a connection; why not.
    pub(super) fn connect(&mut self, now: Instant, to: SocketAddr) -> Result<ConnectionHandle, String> {
        let config = self.config.clone().ok_or_else(|| "a server opens no connection".to_owned())?;
        let opened = self.endpoint.connect(self.theirs(now), config, to, SERVER_NAME);
        let (handle, connection) = opened.map_err(|error| error.to_string())?;
        self.connections.insert(handle, connection);
        self.touch(handle);
        Ok(handle)
    }

    /// Returns a connection to act upon: what follows from it is looked for.
    pub(super) fn connection(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        self.touch(handle);
        self.connections.get_mut(&handle)
    }

    /// Returns a connection to look at.
    pub(super) fn get(&self, handle: ConnectionHandle) -> Option<&Connection> {
        self.connections.get(&handle)
    }

    /// Ends all connections.
    pub(super) fn close(&mut self, now: Instant) {
        let now = self.theirs(now);
        for (handle, connection) in &mut self.connections {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
            self.sending.insert(*handle);
        }
    }

    fn touch(&mut self, handle: ConnectionHandle) {
        self.changed.insert(handle);
        self.sending.insert(handle);
    }

    pub(super) fn handle_datagram(&mut self, now: Instant, from: SocketAddr, octets: &[u8]) {
        let at = self.theirs(now);
        self.scratch.clear();
        match self.endpoint.handle(at, from, None, None, BytesMut::from(octets), &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connection(handle) {
                    connection.handle_event(event);
                }
                self.settle(handle);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, at, &mut self.scratch, None) {
                    Ok((handle, connection)) => {
                        self.connections.insert(handle, connection);
                        self.touch(handle);
                        self.settle(handle);
                    }
                    Err(error) => self.answer(error.response),
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.answer(Some(transmit)),
            None => {}
        }
    }

    fn answer(&mut self, transmit: Option<Transmit>) {
        if let Some(transmit) = transmit {
            self.answers
                .push_back((transmit.destination, Bytes::copy_from_slice(&self.scratch[..transmit.size])));
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let at = self.theirs(now);
        let mut expired = Vec::new();
        for (handle, connection) in &mut self.connections {
            if connection.poll_timeout().is_some_and(|due| due <= at) {
                connection.handle_timeout(at);
                expired.push(*handle);
            }
        }
        for handle in expired {
            self.touch(handle);
            self.settle(handle);
        }
    }

    /// Carries what a connection tells the endpoint, and back.
    fn settle(&mut self, handle: ConnectionHandle) {
        let Some(connection) = self.connections.get_mut(&handle) else { return };
        let mut is_drained = false;
        while let Some(event) = connection.poll_endpoint_events() {
            is_drained |= event.is_drained();
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        if is_drained {
            self.connections.remove(&handle);
        }
        self.look_at_timers();
    }

    fn look_at_timers(&mut self) {
        let epoch = self.epoch;
        let due = self.connections.values_mut().filter_map(Connection::poll_timeout).min();
        self.due = due.map(|due| Instant::EPOCH + due.saturating_duration_since(epoch));
    }

    /// Returns the next event of any connection.
    pub(super) fn poll_event(&mut self) -> Option<(ConnectionHandle, Event)> {
        while let Some(handle) = self.changed.first().copied() {
            if let Some(event) = self.connections.get_mut(&handle).and_then(Connection::poll) {
                return Some((handle, event));
            }
            self.changed.remove(&handle);
        }
        None
    }

    /// Appends the next datagram to `buffer` and says where it goes.
    pub(super) fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some((to, octets)) = self.answers.pop_front() {
            buffer.extend_from_slice(&octets);
            return Some(to);
        }
        let at = self.theirs(now);
        while let Some(handle) = self.sending.first().copied() {
            self.scratch.clear();
            let connection = self.connections.get_mut(&handle);
            let transmit =
                connection.and_then(|connection| connection.poll_transmit(at, 1, &mut self.scratch));
            if let Some(transmit) = transmit {
                buffer.extend_from_slice(&self.scratch[..transmit.size]);
                return Some(transmit.destination);
            }
            self.sending.remove(&handle);
            self.settle(handle);
        }
        None
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}
