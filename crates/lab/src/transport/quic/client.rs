//! The client over QUIC: a stream for every lane of one connection.

use std::net::SocketAddr;

use quinn_proto::{Connection, ConnectionHandle, Dir, Event, StreamEvent, StreamId};
use virtual_time::Instant;

use super::core::Core;
use super::peer::Peer;
use super::stream::{Blocked, Stream};
use crate::statistics::TransportCounts;
use crate::traffic::Client;
use crate::transport::Switching;

/// Opens the connection when it is time, and sends what is due.
pub(super) struct QuicClient {
    client: Client,
    peer: Peer,
    to: SocketAddr,
    opens_at: Option<Instant>,
    switching: Switching,
    connection: Option<ConnectionHandle>,
    /// The streams by lane; none before the connection is there.
    streams: Vec<Stream>,
    blocked: Blocked,
    lost_packets: u64,
}

impl QuicClient {
    pub(super) fn new(
        client: Client,
        peer: Peer,
        to: SocketAddr,
        opens_at: Instant,
        switching: Switching,
    ) -> Self {
        let (streams, blocked) = (Vec::new(), Blocked::default());
        Self {
            client,
            peer,
            to,
            opens_at: Some(opens_at),
            switching,
            connection: None,
            streams,
            blocked,
            lost_packets: 0,
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(super) fn into_client(self) -> Client {
        self.client
    }

    /// Returns whether the handshake is done.
    pub(super) fn is_connected(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Returns the counters. Timeouts are not counted by quinn; what it takes for lost is sent again.
    pub(super) fn counts(&self) -> TransportCounts {
        let blocked = Some(self.blocked.counts());
        TransportCounts { timeouts: None, retransmissions: Some(self.lost_packets), blocked }
    }

    pub(super) fn close(&mut self, now: Instant) {
        self.peer.close(now);
    }

    /// The host is in another network: the next that leaves does so from there.
    pub(super) const fn tell(&mut self, now: Instant) {
        self.switching.tell(now);
    }

    fn open(&mut self, now: Instant) {
        if self.opens_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        match self.peer.connect(now, self.to) {
            Ok(handle) => self.connection = Some(handle),
            Err(because) => self.client.fail(because),
        }
    }

    /// Reacts to what happened.
    fn serve(&mut self, now: Instant) {
        while let Some((handle, event)) = self.peer.poll_event() {
            match event {
                Event::Connected => self.begin(now, handle),
                Event::ConnectionLost { reason } => self.client.fail(reason.to_string()),
                Event::Stream(StreamEvent::Readable { id }) => self.read(now, handle, id),
                Event::Stream(StreamEvent::Writable { id }) => self.write_rest(handle, id),
                Event::Stream(StreamEvent::Stopped { .. }) => self.client.fail("the server stopped a stream"),
                Event::Stream(
                    StreamEvent::Opened { .. } | StreamEvent::Finished { .. } | StreamEvent::Available { .. },
                )
                | Event::HandshakeDataReady
                | Event::DatagramReceived
                | Event::DatagramsUnblocked => {}
            }
        }
        let stats = self.connection.and_then(|handle| self.peer.get(handle)).map(Connection::stats);
        self.lost_packets = stats.map_or(self.lost_packets, |stats| stats.path.lost_packets);
    }

    /// The connection is there: the flow begins.
    fn begin(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(connection) = self.peer.connection(handle) else { return };
        for _ in 0..self.client.lanes() {
            let Some(id) = connection.streams().open(Dir::Bi) else {
                return self.client.fail("the server does not allow so many streams");
            };
            self.streams.push(Stream::new(id, self.client.workload().framer()));
        }
        self.client.begin(now);
        self.client.handle_timeout(now);
    }

    fn read(&mut self, now: Instant, handle: ConnectionHandle, id: StreamId) {
        let lane = u16::try_from(id.index()).unwrap_or(u16::MAX);
        let (Some(stream), Some(connection)) =
            (self.streams.get_mut(usize::from(lane)), self.peer.connection(handle))
        else {
            return;
        };
        for (offset, octets) in stream.read(connection) {
            stream.incoming.take(now, offset, octets);
        }
        loop {
            match stream.incoming.next_message() {
                Ok(Some(whole)) => {
                    let blocked = Some(self.blocked.count(now, &whole));
                    self.switching.on_answer(now, || self.client.workload().kind().number(&whole.octets));
                    self.client.on_response(now, lane, &whole.octets, blocked);
                }
                Ok(None) => return,
                Err(because) => return self.client.fail(because),
            }
        }
    }

    fn write_rest(&mut self, handle: ConnectionHandle, id: StreamId) {
        let lane = u16::try_from(id.index()).unwrap_or(u16::MAX);
        let (Some(stream), Some(connection)) =
            (self.streams.get_mut(usize::from(lane)), self.peer.connection(handle))
        else {
            return;
        };
        if stream.write_rest(connection) {
            self.client.resume(lane);
        }
    }

    /// Writes what is due.
    fn offer(&mut self, now: Instant) {
        let Some(handle) = self.connection.filter(|_| self.is_connected()) else { return };
        while let Some(pending) = self.client.poll_message() {
            let message = self.client.encode(pending);
            let stream = &mut self.streams[usize::from(pending.lane)];
            let Some(connection) = self.peer.connection(handle).filter(|_| stream.is_free()) else {
                self.client.defer(pending);
                continue;
            };
            stream.write(connection, message);
            self.switching.on_sent(now, pending);
            self.client.commit(now, pending);
        }
    }
}

impl Core for QuicClient {
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, octets: &[u8]) {
        self.peer.handle_datagram(now, from, octets);
        self.serve(now);
        self.offer(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.open(now);
        self.peer.handle_timeout(now);
        self.serve(now);
        self.client.handle_timeout(now);
        self.offer(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        self.peer.poll_transmit(now, buffer)
    }

    /// Tells the connection to go on from another address when nobody answers (RFC 9000 §9); what is lost it sends again by itself.
    fn goes_elsewhere(&mut self, now: Instant) -> bool {
        let is_over = self.switching.switch(now).is_some();
        if let Some(connection) =
            self.connection.filter(|_| is_over).and_then(|handle| self.peer.connection(handle))
        {
            connection.local_address_changed();
        }
        is_over
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let own = [self.opens_at, self.client.poll_timeout(), self.switching.poll_timeout()];
        own.into_iter().chain([self.peer.poll_timeout()]).flatten().min()
    }
}
