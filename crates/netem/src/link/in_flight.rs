//! The packets on their way, by due time.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use virtual_time::Instant;

use super::Delivery;

/// A priority queue that is a plain queue as long as nothing overtakes: with a constant delay, always.
#[derive(Clone, Debug)]
pub(super) struct InFlight<P> {
    /// The packets in order of due time; one goes here that is due no earlier than the last one here.
    in_order: VecDeque<Entry<P>>,
    /// All that are due earlier than some packet before them.
    overtaking: BinaryHeap<Entry<P>>,
    pushed: u64,
}

impl<P> Default for InFlight<P> {
    fn default() -> Self {
        Self { in_order: VecDeque::new(), overtaking: BinaryHeap::new(), pushed: 0 }
    }
}

impl<P> InFlight<P> {
    pub(super) fn push(&mut self, delivery: Delivery<P>) {
        let entry = Entry { order: self.pushed, delivery };
        self.pushed += 1;
        match self.in_order.back() {
            Some(last) if last.delivery.due > entry.delivery.due => self.overtaking.push(entry),
            Some(_) | None => self.in_order.push_back(entry),
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.first().map(|(entry, _)| entry.delivery.due)
    }

    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Delivery<P>> {
        let lane = match self.first() {
            Some((entry, lane)) if entry.delivery.due <= now => lane,
            Some(_) | None => return None,
        };
        let entry = match lane {
            Lane::InOrder => self.in_order.pop_front(),
            Lane::Overtaking => self.overtaking.pop(),
        };
        entry.map(|entry| entry.delivery)
    }

    pub(super) fn len(&self) -> usize {
        self.in_order.len() + self.overtaking.len()
    }

    fn first(&self) -> Option<(&Entry<P>, Lane)> {
        match (self.in_order.front(), self.overtaking.peek()) {
            (Some(front), Some(top)) if top.key() < front.key() => Some((top, Lane::Overtaking)),
            (Some(front), _) => Some((front, Lane::InOrder)),
            (None, Some(top)) => Some((top, Lane::Overtaking)),
            (None, None) => None,
        }
    }
}

#[derive(Clone, Copy)]
enum Lane {
    InOrder,
    Overtaking,
}

#[derive(Clone, Debug)]
struct Entry<P> {
    order: u64,
    delivery: Delivery<P>,
}

impl<P> Entry<P> {
    /// Returns the rank of an entry: first due, first out; then first in, first out.
    const fn key(&self) -> (Instant, u64) {
        (self.delivery.due, self.order)
    }
}

/// The heap's top is the largest, hence the reverse.
impl<P> Ord for Entry<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Entry<P> {}
