//! The times at which associations are to be woken up.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use virtual_time::Instant;

/// An association in the tables of an endpoint: where it stands, and which of those that have stood there it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotKey {
    pub(super) slot: usize,
    pub(super) generation: u32,
}

/// Times to wake associations up at. One that is not needed any more stays until its time comes, or until there are more
/// of those than of others: a timer that runs for a day is passed by many that run for a second.
#[derive(Default)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, SlotKey)>>,
}

impl Deadlines {
    /// Adds a time for one of so many associations; `is_needed` says of each whether it is the one it waits for.
    pub(super) fn push(
        &mut self,
        at: Instant,
        place: SlotKey,
        associations: usize,
        is_needed: impl Fn(Instant, SlotKey) -> bool,
    ) {
        self.heap.push(Reverse((at, place)));
        self.prune(associations, is_needed);
    }

    /// Drops those that are not needed once they are the most: every step is paid for by one that has been pushed.
    #[inline]
    pub(super) fn prune(&mut self, associations: usize, is_needed: impl Fn(Instant, SlotKey) -> bool) {
        if self.heap.len() > 2 * associations + KEPT {
            self.drop_needless(associations, is_needed);
        }
    }

    #[cold]
    fn drop_needless(&mut self, associations: usize, is_needed: impl Fn(Instant, SlotKey) -> bool) {
        let mut needed = core::mem::take(&mut self.heap).into_vec();
        needed.retain(|Reverse((at, place))| is_needed(*at, *place));
        // The same time may have been pushed again after another one had come before it.
        needed.sort_unstable();
        needed.dedup();
        needed.shrink_to(2 * associations);
        self.heap = needed.into();
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns whose time is next, and the time after it, which is one of the two below it in the heap.
    #[inline]
    pub(super) fn first_two(&self) -> Option<(SlotKey, Option<Instant>)> {
        let (Reverse((_, first)), others) = self.heap.as_slice().split_first()?;
        Some((*first, others.iter().take(2).map(|Reverse((at, _))| *at).min()))
    }

    /// Returns whose time is next, if it comes by then.
    pub(super) fn first_until(&self, until: Instant) -> Option<SlotKey> {
        self.heap.peek().filter(|Reverse((at, _))| *at <= until).map(|Reverse((_, place))| *place)
    }

    /// Takes the next one that has come.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(Instant, SlotKey)> {
        self.next().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse(due)| due)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}

/// The number of entries that are kept in any case: so few are not worth the trouble.
const KEPT: usize = 16;
