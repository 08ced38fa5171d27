//! The memory for the messages of the queue, which is given back when most of them are gone.

use core::mem::size_of;

use super::{OutStream, SendQueue, Terms};
use crate::sender::messages::{MessageKey, PLACE_BYTES, Renamed};
use crate::sender::scheduler::ORDER_BYTES;

impl SendQueue {
    /// Returns the number of octets that hold the messages, beside their payload.
    pub(crate) fn held_bytes(&self) -> usize {
        let terms = self.terms.as_deref().map_or(0, Terms::held_bytes);
        let queues = self.queue_places * size_of::<MessageKey>();
        self.stored.held_bytes() + self.discipline.held_bytes() + queues + terms
    }

    /// Returns the number of octets of them that the next messages use, so that nothing has to grow.
    pub(crate) fn idle_bytes(&self) -> usize {
        self.stored.idle_bytes()
    }

    /// Returns the number of octets of the table of streams, which grows with the highest one used.
    pub(crate) fn table_bytes(&self) -> usize {
        let queues = if self.stored.len() == 0 { self.queue_places * size_of::<MessageKey>() } else { 0 };
        self.streams.capacity() * size_of::<OutStream>() + queues
    }

    /// Returns how many messages have not left to their end.
    pub(crate) fn waiting(&self) -> usize {
        self.messages
    }

    /// Returns whether far more is held than is used.
    #[inline]
    pub(crate) fn is_sparse(&self) -> bool {
        self.stored.is_sparse()
    }

    /// Gives back what is not used. The messages have other names from now on.
    pub(crate) fn compact(&mut self) -> Renamed {
        let renamed = self.stored.compact();
        self.discipline.trim();
        if self.messages == 0 {
            self.terms = None;
        }
        // Each queue that has anything, or more room than a little.
        if self.messages > 0 || self.queue_places > 8 * self.streams.len() {
            self.queue_places = 0;
            for stream in &mut self.streams {
                stream.queue.iter_mut().for_each(|key| *key = renamed.name(*key));
                stream.queue.shrink_to_fit();
                self.queue_places += stream.queue.capacity();
            }
        }
        renamed
    }
}

impl OutStream {
    /// Makes room for more messages and says for how many. A queue with many grows by an eighth.
    #[cold]
    pub(super) fn grow(&mut self) -> usize {
        let before = self.queue.capacity();
        self.queue.reserve_exact((before / 8).max(4));
        self.queue.capacity() - before
    }
}

impl Terms {
    fn held_bytes(&self) -> usize {
        let deadline = self.deadlines.capacity() * DEADLINE_BYTES;
        deadline + self.displaceable.len() * DISPLACEABLE_BYTES
    }
}

/// Octets that a message takes while it waits, beside its payload: its place, those in the order of all messages and of
/// its stream.
pub(crate) const WAITING_BYTES: usize = PLACE_BYTES + ORDER_BYTES + size_of::<MessageKey>();

const DEADLINE_BYTES: usize = size_of::<(virtual_time::Instant, u64, sctp_wire::StreamId)>();

/// An entry of the map and its share of the nodes, which are not full.
pub(crate) const DISPLACEABLE_BYTES: usize = 64;
