//! The server over QUIC: answers on the stream that a message came on, for any number of connections.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use quinn_proto::{ConnectionHandle, Dir, Event, StreamEvent, StreamId};
use virtual_time::Instant;

use super::core::Core;
use super::peer::Peer;
use super::stream::{Blocked, Stream};
use crate::statistics::{OneWay, TransportCounts};
use crate::traffic::Server;

/// Answers or counts what comes on every connection.
pub(super) struct QuicServer {
    server: Server<(ConnectionHandle, StreamId)>,
    peer: Peer,
    streams: BTreeMap<(ConnectionHandle, StreamId), Stream>,
    blocked: Blocked,
}

impl QuicServer {
    pub(super) fn new(server: Server<(ConnectionHandle, StreamId)>, peer: Peer) -> Self {
        Self { server, peer, streams: BTreeMap::new(), blocked: Blocked::default() }
    }

    pub(super) fn counts(&self) -> TransportCounts {
        TransportCounts { blocked: Some(self.blocked.counts()), ..TransportCounts::default() }
    }

    pub(super) fn delivered(&self) -> u64 {
        self.server.delivered()
    }

    pub(super) fn into_received(self) -> (OneWay, u64, Instant) {
        self.server.into_parts()
    }

    fn serve(&mut self, now: Instant) {
        while let Some((handle, event)) = self.peer.poll_event() {
            match event {
                Event::Stream(StreamEvent::Opened { .. }) => self.accept(now, handle),
                Event::Stream(StreamEvent::Readable { id }) => self.read(now, handle, id),
                Event::Stream(StreamEvent::Writable { id }) => {
                    let (stream, connection) =
                        (self.streams.get_mut(&(handle, id)), self.peer.connection(handle));
                    if let (Some(stream), Some(connection)) = (stream, connection) {
                        stream.write_rest(connection);
                    }
                }
                // The client tells of it.
                Event::ConnectionLost { .. } => self.streams.retain(|(of, _), _| *of != handle),
                Event::Stream(
                    StreamEvent::Finished { .. }
                    | StreamEvent::Stopped { .. }
                    | StreamEvent::Available { .. },
                )
                | Event::Connected
                | Event::HandshakeDataReady
                | Event::DatagramReceived
                | Event::DatagramsUnblocked => {}
            }
        }
    }

    /// The client has opened streams.
    fn accept(&mut self, now: Instant, handle: ConnectionHandle) {
        while let Some(id) = self.peer.connection(handle).and_then(|open| open.streams().accept(Dir::Bi)) {
            self.streams.insert((handle, id), Stream::new(id, self.server.workload().framer()));
            self.read(now, handle, id);
        }
    }

    fn read(&mut self, now: Instant, handle: ConnectionHandle, id: StreamId) {
        let lane = (handle, id);
        let (Some(stream), Some(connection)) = (self.streams.get_mut(&lane), self.peer.connection(handle))
        else {
            return;
        };
        for (offset, octets) in stream.read(connection) {
            if self.server.is_bulk() {
                self.server.on_octets(now, octets.len());
            } else {
                stream.incoming.take(now, offset, octets);
            }
        }
        // What cannot be cut into messages is not answered.
        while let Ok(Some(whole)) = stream.incoming.next_message() {
            self.blocked.count(now, &whole);
            let number = u16::try_from(id.index()).unwrap_or(u16::MAX);
            self.server.on_message(now, whole.complete_at, lane, number, whole.octets);
        }
    }

    fn answer(&mut self, now: Instant) {
        let mut refused = Vec::new();
        while let Some((lane, message)) = self.server.poll_reply(now) {
            let (Some(stream), Some(connection)) =
                (self.streams.get_mut(&lane), self.peer.connection(lane.0))
            else {
                continue;
            };
            if stream.is_free() {
                stream.write(connection, message);
            } else {
                refused.push((lane, message));
            }
        }
        refused.into_iter().rev().for_each(|(lane, message)| self.server.defer(lane, message));
    }
}

impl Core for QuicServer {
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, octets: &[u8]) {
        self.peer.handle_datagram(now, from, octets);
        self.serve(now);
        self.answer(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.peer.handle_timeout(now);
        self.serve(now);
        self.answer(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        self.peer.poll_transmit(now, buffer)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout().into_iter().chain(self.peer.poll_timeout()).min()
    }
}
