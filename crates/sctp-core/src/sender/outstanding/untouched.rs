//! Chunks to which nothing has happened since they were sent, as mostly nothing has to any: they leave the ring without being looked at
//! one by one for what may have.

use sctp_wire::Tsn;
use virtual_time::Instant;

use super::{Load, Outstanding};
use crate::sender::queue::Fragment;
use crate::sender::sent_chunk::ChunkState;
use crate::transmit::PathIndex;

impl Outstanding {
    /// Returns whether all chunks are in flight, and nothing has happened to any of them since it was sent.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.untouched_from <= self.passed && self.coverage.is_empty()
    }

    /// Something happens to a chunk.
    pub(super) fn touch(&mut self, index: usize) {
        self.untouched_from = self.untouched_from.max(self.number(index) + 1);
    }

    /// The cumulative ack covers the chunks up to this one, to [none of which](Self::is_untouched) anything has happened, and which are
    /// all of the first path: they leave the ring, as they do in [`pass`](Self::pass). `each` sees what they carry; returns what they
    /// have in common, if there is any.
    #[inline]
    pub(crate) fn pass_untouched(
        &mut self,
        cumulative: Tsn,
        mut each: impl FnMut(&Fragment),
    ) -> Option<UntouchedRun> {
        let ahead = self.cumulative_ack().distance(cumulative) as usize;
        let count = ahead.min(self.chunks.len());
        let (first, mut load, mut sent_at) = (self.first, Load::on(PathIndex::FIRST), None);
        for chunk in self.chunks.range(..count) {
            debug_assert!(chunk.is_untouched() && chunk.state == ChunkState::InFlight && !chunk.is_moved);
            each(&chunk.fragment);
            load.add(chunk);
            sent_at = Some(chunk.sent_at);
        }
        let sent_at = sent_at?;
        if count == self.chunks.len() {
            self.chunks.clear();
        } else {
            self.chunks.drain(..count);
        }
        self.leave_flight(&load);
        self.first = self.tsn_at(count);
        self.passed += count as u64;
        Some(UntouchedRun { first, last: self.cumulative_ack(), sent_at, load })
    }
}

/// Chunks of one path that left the ring together, and to which nothing had happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UntouchedRun {
    pub(crate) first: Tsn,
    pub(crate) last: Tsn,
    /// The time at which the last of them was sent.
    pub(crate) sent_at: Instant,
    pub(crate) load: Load,
}
