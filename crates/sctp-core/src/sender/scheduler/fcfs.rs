//! First come, first served (RFC 8260 §3.1).

use core::mem::size_of;
use std::collections::VecDeque;

use sctp_wire::StreamId;

/// Every waiting message, in the order in which they were handed in.
#[derive(Debug, Default)]
pub(crate) struct Fcfs {
    order: VecDeque<(u64, StreamId)>,
}

impl Fcfs {
    /// A message joined a stream that may be served.
    #[inline]
    pub(super) fn join(&mut self, number: u64, stream: StreamId) {
        if self.order.back().is_none_or(|(last, _)| *last < number) {
            self.order.push_back((number, stream));
        } else {
            self.join_again(number, stream);
        }
    }

    /// A message takes its place among those that were handed in after it.
    #[cold]
    fn join_again(&mut self, number: u64, stream: StreamId) {
        if let Err(index) = self.position(number) {
            self.order.insert(index, (number, stream));
        }
    }

    /// Messages joined, each of a higher number than the one before: all of them take their places at once.
    pub(super) fn join_all(&mut self, messages: impl Iterator<Item = (u64, StreamId)>) {
        let last = self.order.back().map(|(last, _)| *last);
        let present = self.order.len();
        self.order.extend(messages);
        let first = self.order.get(present).map(|(first, _)| *first);
        if first < last {
            // Two runs in order become one: in as many steps as there are messages.
            self.order.make_contiguous().sort_by_key(|(number, _)| *number);
        }
    }

    #[inline]
    pub(super) fn next(&self) -> Option<StreamId> {
        self.order.front().map(|(_, stream)| *stream)
    }

    /// A message was sent to its end, or will not be.
    #[inline(always)]
    pub(super) fn leave(&mut self, number: u64) {
        if self.order.front().is_some_and(|(first, _)| *first == number) {
            self.order.pop_front();
        } else {
            self.leave_early(number);
        }
    }

    #[cold]
    fn leave_early(&mut self, number: u64) {
        if let Ok(index) = self.position(number) {
            self.order.remove(index);
        }
    }

    /// The stream is not served any more.
    pub(super) fn withdraw(&mut self, stream: StreamId) {
        self.order.retain(|(_, waiting)| *waiting != stream);
    }

    /// Returns the number of octets that hold it.
    pub(super) fn held_bytes(&self) -> usize {
        self.order.capacity() * PLACE_BYTES
    }

    /// Keeps no more room than is used, but for a little.
    pub(super) fn trim(&mut self) {
        self.order.shrink_to(PLACES_KEPT);
    }

    fn position(&self, number: u64) -> Result<usize, usize> {
        self.order.binary_search_by_key(&number, |(number, _)| *number)
    }
}

/// Places kept for the next messages: a few hundred octets.
const PLACES_KEPT: usize = 32;

/// Octets of a waiting message in the order of all.
pub(crate) const PLACE_BYTES: usize = size_of::<(u64, StreamId)>();
