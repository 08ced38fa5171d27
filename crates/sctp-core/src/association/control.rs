//! Control chunks that wait for a packet.

use std::collections::VecDeque;

use sctp_wire::{ChunkBuf, VerificationTag};

use crate::transmit::PathId;

/// How a control chunk travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bundling {
    /// With other chunks.
    Bundled,
    /// INIT, SHUTDOWN COMPLETE, ABORT: nothing may follow in the packet (RFC 9260 §6.10).
    Alone,
}

#[derive(Debug)]
pub(crate) struct ControlChunk {
    pub(crate) path: PathId,
    pub(crate) tag: VerificationTag,
    pub(crate) chunk: ChunkBuf,
    pub(crate) bundling: Bundling,
}

/// Control chunks in the order in which they go out.
#[derive(Debug, Default)]
pub(crate) struct ControlQueue {
    waiting: VecDeque<ControlChunk>,
}

impl ControlQueue {
    /// Queues a chunk. False if too many wait already: a peer that provokes answers faster than they can be sent
    /// does not get all of them.
    #[must_use]
    pub(crate) fn push(&mut self, chunk: ControlChunk) -> bool {
        // The same again, such as SHUTDOWN for each of several packets of data, need not wait twice.
        if self.waiting.back().is_some_and(|last| last.chunk == chunk.chunk && last.path == chunk.path) {
            return true;
        }
        let has_room = self.waiting.len() < MAX_WAITING;
        if has_room {
            self.waiting.push_back(chunk);
        }
        has_room
    }

    /// What waits for path `from` goes to path `to`.
    pub(crate) fn redirect(&mut self, from: PathId, to: PathId) {
        self.waiting.iter_mut().filter(|control| control.path == from).for_each(|control| control.path = to);
    }

    pub(crate) fn front(&self) -> Option<&ControlChunk> {
        self.waiting.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ControlChunk> {
        self.waiting.iter()
    }

    pub(crate) fn pop(&mut self) -> Option<ControlChunk> {
        let chunk = self.waiting.pop_front();
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        chunk
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }
}

const MAX_WAITING: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: usize) -> ControlChunk {
        let chunk = ChunkBuf::shutdown(sctp_wire::Tsn::new(u32::try_from(number).unwrap()));
        let (path, tag) = (PathId::FIRST, VerificationTag::new(1));
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
        assert_eq!(queue.pop().map(|control| control.tag.get()), Some(7));
        assert!(queue.push(chunk(MAX_WAITING)));
        queue.clear();
        assert!(queue.is_empty() && queue.pop().is_none());
    }

    #[test]
    fn same_chunk_again_waits_once() {
        let mut queue = ControlQueue::default();
        assert!(queue.push(chunk(1)) && queue.push(chunk(1)));
        assert!(queue.pop().is_some() && queue.pop().is_none());
    }
}
