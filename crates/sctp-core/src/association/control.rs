//! Control chunks that wait for a packet.

use std::collections::VecDeque;
use std::net::IpAddr;

use sctp_wire::{ChunkBuf, ChunkType, Full, PacketWriter, VerificationTag};

use crate::path::Way;
use crate::transmit::{Destination, PathIndex, Transmit};

/// How a control chunk travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bundling {
    /// The chunk shares a packet with others.
    Bundled,
    /// INIT, SHUTDOWN COMPLETE, ABORT: nothing may follow in the packet (RFC 9260 §6.10).
    Alone,
    /// As [`Alone`](Self::Alone), and the packet takes this way whatever its path says.
    AloneBy(Way),
    /// As [`Alone`](Self::Alone), and the packet goes to an address that no path leads to, from this one of this host if it is
    /// known.
    AloneTo { destination: Destination, local: Option<IpAddr> },
}

impl Bundling {
    /// Sends a packet of a path where this chunk of it is to go.
    #[cold]
    pub(crate) fn direct(self, transmit: &mut Transmit) {
        match self {
            Self::Bundled | Self::Alone => {}
            Self::AloneBy(way) => {
                transmit.source = way.local.or(transmit.source);
                transmit.destination.encapsulation = way.encapsulation;
            }
            Self::AloneTo { destination, local } => {
                let of_its_kind = |source: &IpAddr| source.is_ipv4() == destination.address.is_ipv4();
                transmit.source = local.or(transmit.source).filter(of_its_kind);
                transmit.destination = destination;
            }
        }
    }
}

/// A chunk that is written from the association when its packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeChunk {
    Init,
    CookieEcho,
    CookieAck,
}

impl HandshakeChunk {
    const fn kind(self) -> ChunkType {
        match self {
            Self::Init => ChunkType::INIT,
            Self::CookieEcho => ChunkType::COOKIE_ECHO,
            Self::CookieAck => ChunkType::COOKIE_ACK,
        }
    }

    const fn bundling(self) -> Bundling {
        match self {
            Self::Init => Bundling::Alone,
            Self::CookieEcho | Self::CookieAck => Bundling::Bundled,
        }
    }
}

/// The chunk that goes out next, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front<'a> {
    pub(crate) path: PathIndex,
    pub(crate) tag: VerificationTag,
    pub(crate) bundling: Bundling,
    pub(crate) content: Content<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    Handshake(HandshakeChunk),
    Encoded(&'a ChunkBuf),
}

#[derive(Debug)]
pub(crate) struct ControlChunk {
    pub(crate) path: PathIndex,
    pub(crate) tag: VerificationTag,
    pub(crate) chunk: ChunkBuf,
    pub(crate) bundling: Bundling,
}

/// Control chunks in the order in which they go out.
#[derive(Debug, Default)]
pub(crate) struct ControlQueue {
    /// The handshake chunk, which goes before all others. There is one at a time: each takes the place of the
    /// one before, which has been answered.
    handshake: Option<(HandshakeChunk, PathIndex, VerificationTag)>,
    waiting: VecDeque<ControlChunk>,
}

impl ControlQueue {
    /// Queues a chunk of the handshake.
    pub(crate) fn push_handshake(&mut self, chunk: HandshakeChunk, path: PathIndex, tag: VerificationTag) {
        self.handshake = Some((chunk, path, tag));
    }

    /// Queues a chunk. False if too many wait already, or too large ones: a peer that provokes answers faster than they can
    /// be sent does not get all of them.
    #[must_use]
    pub(crate) fn push(&mut self, chunk: ControlChunk) -> bool {
        // The same again, such as SHUTDOWN for each of several packets of data, need not wait twice.
        let is_same = |last: &ControlChunk| {
            last.chunk == chunk.chunk && last.path == chunk.path && last.bundling == chunk.bundling
        };
        if self.waiting.back().is_some_and(is_same) {
            return true;
        }
        let octets = |control: &ControlChunk| control.chunk.as_bytes().len();
        let waiting_bytes: usize = self.waiting.iter().map(octets).sum();
        let has_room = self.waiting.len() < MAX_WAITING
            && (self.waiting.is_empty() || waiting_bytes + octets(&chunk) <= MAX_WAITING_BYTES);
        if has_room {
            self.waiting.push_back(chunk);
        }
        has_room
    }

    /// Sends what waits for path `from` to path `to` instead.
    pub(crate) fn redirect(&mut self, from: PathIndex, to: PathIndex) {
        let handshake = self.handshake.iter_mut().map(|(_, path, _)| path);
        handshake.filter(|path| **path == from).for_each(|path| *path = to);
        for control in self.waiting.iter_mut().filter(|control| control.path == from) {
            control.path = to;
            if let Bundling::AloneBy(_) = control.bundling {
                control.bundling = Bundling::Alone;
            }
        }
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<Front<'_>> {
        if let Some((chunk, path, tag)) = self.handshake {
            return Some(Front { path, tag, bundling: chunk.bundling(), content: Content::Handshake(chunk) });
        }
        let &ControlChunk { path, tag, ref chunk, bundling } = self.waiting.front()?;
        Some(Front { path, tag, bundling, content: Content::Encoded(chunk) })
    }

    /// Writes the chunks for this path and tag that stand in front, as far as the packet has room; `write_handshake` writes
    /// those of the handshake. Returns how the last of them travels.
    pub(crate) fn write(
        &mut self,
        path: PathIndex,
        tag: VerificationTag,
        writer: &mut PacketWriter<'_>,
        write_handshake: impl Fn(HandshakeChunk, &mut PacketWriter<'_>) -> Result<(), Full>,
    ) -> Bundling {
        while let Some(control) = self.front() {
            let bundling = control.bundling;
            let alone = bundling != Bundling::Bundled;
            if control.path != path || control.tag != tag || (alone && !writer.is_empty()) {
                break;
            }
            let written = match control.content {
                Content::Encoded(chunk) => writer.raw(chunk),
                Content::Handshake(chunk) => write_handshake(chunk, writer),
            };
            if written.is_err() {
                // Alone in a packet and still too long: it can never be sent. Or nobody waits for it any more.
                if writer.is_empty() {
                    self.pop();
                    continue;
                }
                break;
            }
            self.pop();
            if alone {
                return bundling;
            }
        }
        Bundling::Bundled
    }

    /// Returns what waits, by its kind.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = ChunkType> {
        let handshake = self.handshake.iter().map(|(chunk, ..)| chunk.kind());
        handshake.chain(self.waiting.iter().map(|control| control.chunk.kind()))
    }

    /// The front has left.
    pub(crate) fn pop(&mut self) {
        if self.handshake.take().is_some() {
            return;
        }
        self.waiting.pop_front();
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.handshake.is_none() && self.waiting.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.handshake = None;
        self.waiting.clear();
    }
}

const MAX_WAITING: usize = 32;
/// One chunk is always taken, and none has more octets.
const MAX_WAITING_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transmit::Encapsulation;

    fn chunk(number: usize) -> ControlChunk {
        let chunk = ChunkBuf::shutdown(sctp_wire::Tsn::new(u32::try_from(number).unwrap()));
        let (path, tag) = (PathIndex::FIRST, VerificationTag::new(1));
        ControlChunk { path, tag, chunk, bundling: Bundling::Bundled }
    }

    #[test]
    fn chunks_leave_in_the_order_they_came_and_too_many_are_refused() {
        let mut queue = ControlQueue::default();
        assert!(queue.push(ControlChunk { tag: VerificationTag::new(7), ..chunk(0) }));
        for number in 1..MAX_WAITING {
            assert!(queue.push(chunk(number)));
        }
        assert!(!queue.push(chunk(MAX_WAITING)));
        assert_eq!(queue.front().map(|control| control.tag.get()), Some(7));
        queue.pop();
        assert_eq!(queue.front().map(|control| control.tag.get()), Some(1));
        assert!(queue.push(chunk(MAX_WAITING)));
        queue.clear();
        assert!(queue.is_empty() && queue.front().is_none());
    }

    #[test]
    fn large_chunks_wait_as_far_as_their_octets_go() {
        let echo = |octets: usize| ControlChunk {
            chunk: ChunkBuf::heartbeat_ack(&vec![1; octets]).unwrap(),
            ..chunk(0)
        };
        let mut queue = ControlQueue::default();
        assert!(queue.push(echo(65_000)) && !queue.push(echo(1000)) && queue.push(echo(500)));
        queue.pop();
        assert!(queue.push(echo(60_000)));
    }

    #[test]
    fn same_chunk_again_waits_once_for_each_way_that_it_goes() {
        let mut queue = ControlQueue::default();
        assert!(queue.push(chunk(1)) && queue.push(chunk(1)));
        queue.pop();
        assert!(queue.is_empty());
        for last in [1, 1, 2] {
            let destination =
                Destination { address: [10, 0, 0, last].into(), encapsulation: Encapsulation::Ip };
            assert!(
                queue.push(ControlChunk {
                    bundling: Bundling::AloneTo { destination, local: None },
                    ..chunk(1)
                })
            );
        }
        queue.pop();
        assert!(!queue.is_empty());
        queue.pop();
        assert!(queue.is_empty());
    }

    #[test]
    fn handshake_goes_before_everything_and_its_next_chunk_takes_the_place_of_the_last() {
        let mut queue = ControlQueue::default();
        assert!(queue.push(chunk(1)));
        for handshake in [HandshakeChunk::CookieEcho, HandshakeChunk::CookieAck] {
            queue.push_handshake(handshake, PathIndex::FIRST, VerificationTag::new(7));
        }
        let other = PathIndex::new(1);
        queue.redirect(PathIndex::FIRST, other);
        assert_eq!(queue.kinds().collect::<Vec<_>>(), [ChunkType::COOKIE_ACK, ChunkType::SHUTDOWN]);
        let mut left = Vec::new();
        while let Some(front) = queue.front() {
            left.push((front.tag.get(), front.path));
            queue.pop();
        }
        assert_eq!(left, [(7, other), (1, other)]);
    }
}
