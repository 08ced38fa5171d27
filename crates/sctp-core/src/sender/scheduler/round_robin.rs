//! Round robin (RFC 8260 §3.2), and round robin per packet (§3.3).

use std::collections::VecDeque;

use sctp_wire::StreamId;

use super::{Discipline, Rest, Served, WaitingMessage};

/// Streams in the order of their turns.
#[derive(Debug, Default)]
struct Ring(VecDeque<StreamId>);

impl Ring {
    fn join(&mut self, stream: StreamId, before: Rest) {
        if before == Rest::None {
            self.0.push_back(stream);
        }
    }

    /// Takes a stream out of the ring; returns whether it was there.
    fn leave(&mut self, stream: StreamId) -> bool {
        // Who is served stands in front, but for a message that was begun before its stream lost its place.
        let place = self.0.iter().position(|waiting| *waiting == stream);
        place.and_then(|index| self.0.remove(index)).is_some()
    }

    fn move_to_end(&mut self, stream: StreamId) {
        if self.leave(stream) {
            self.0.push_back(stream);
        }
    }
}

/// A turn is a message, or a chunk where messages interleave.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    ring: Ring,
}

impl Discipline for RoundRobin {
    fn queued(&mut self, waiting: WaitingMessage, before: Rest) {
        self.ring.join(waiting.stream, before);
    }

    fn next(&self) -> Option<StreamId> {
        self.ring.0.front().copied()
    }

    fn served(&mut self, served: Served) {
        let stream = served.message.stream;
        match served.rest {
            Rest::None => {
                self.ring.leave(stream);
            }
            Rest::Some if served.ends_turn => self.ring.move_to_end(stream),
            Rest::Some => {}
        }
    }

    fn removed(&mut self, message: WaitingMessage, rest: Rest) {
        if rest == Rest::None {
            self.withdrawn(message.stream);
        }
    }

    fn withdrawn(&mut self, stream: StreamId) {
        self.ring.leave(stream);
    }
}

/// A turn is a packet.
#[derive(Debug, Default)]
pub(super) struct RoundRobinPerPacket {
    ring: Ring,
    /// The stream the packet being filled belongs to.
    in_packet: Option<StreamId>,
}

impl Discipline for RoundRobinPerPacket {
    fn queued(&mut self, waiting: WaitingMessage, before: Rest) {
        self.ring.join(waiting.stream, before);
    }

    fn next(&self) -> Option<StreamId> {
        self.ring.0.front().copied()
    }

    fn served(&mut self, served: Served) {
        self.in_packet = Some(served.message.stream);
        if served.rest == Rest::None {
            self.ring.leave(served.message.stream);
        }
    }

    fn removed(&mut self, message: WaitingMessage, rest: Rest) {
        if rest == Rest::None {
            self.withdrawn(message.stream);
        }
    }

    fn withdrawn(&mut self, stream: StreamId) {
        self.ring.leave(stream);
    }

    fn packet_ended(&mut self) {
        if let Some(stream) = self.in_packet.take() {
            self.ring.move_to_end(stream);
        }
    }

    fn one_stream_per_packet(&self) -> bool {
        true
    }
}
