//! Requests that wait for the transport, lane by lane.

use core::fmt;
use std::collections::{BTreeSet, VecDeque};

use crate::message::MessageNumber;

/// What a transport keeps in order: a stream of an association, or one of several connections. From 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lane(pub u16);

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One queue per lane, so that a lane that stands still holds up no other.
#[derive(Debug)]
pub(super) struct Lanes {
    queues: Vec<Queue>,
    /// The oldest request of each lane that is open: what may go next.
    heads: BTreeSet<(MessageNumber, Lane)>,
    next: u16,
}

impl Lanes {
    /// `lanes` open, empty lanes.
    pub(super) fn new(lanes: u16) -> Self {
        Self { queues: (0..lanes).map(|_| Queue::default()).collect(), heads: BTreeSet::new(), next: 0 }
    }

    /// Deals a request to the next lane in turn. Numbers ascend from call to call.
    pub(super) fn release(&mut self, number: MessageNumber) -> Lane {
        let lane = Lane(self.next);
        let following = usize::from(self.next) + 1;
        self.next = if following < self.queues.len() { self.next + 1 } else { 0 };
        if let Some(queue) = self.queues.get_mut(usize::from(lane.0)) {
            queue.waiting.push_back(number);
            if !queue.is_closed && queue.waiting.len() == 1 {
                self.heads.insert((number, lane));
            }
        }
        lane
    }

    /// The lowest number on an open lane.
    pub(super) fn earliest(&self) -> Option<MessageNumber> {
        self.heads.first().map(|(number, _)| *number)
    }

    /// Removes a request, if it is the one that [`earliest`](Self::earliest) names.
    pub(super) fn take(&mut self, number: MessageNumber) -> Option<Taken> {
        let (_, lane) = *self.heads.first().filter(|(first, _)| *first == number)?;
        self.heads.pop_first();
        let queue = self.queues.get_mut(usize::from(lane.0))?;
        queue.waiting.pop_front();
        if let Some(next) = queue.waiting.front() {
            self.heads.insert((*next, lane));
        }
        Some(Taken { held_by_transport: queue.held_through.is_some_and(|held| number <= held) })
    }

    /// The lane stands still from now on.
    pub(super) fn close(&mut self, lane: Lane) {
        let Some(queue) = self.queues.get_mut(usize::from(lane.0)) else { return };
        queue.is_closed = true;
        if let Some(head) = queue.waiting.front() {
            self.heads.remove(&(*head, lane));
        }
    }

    /// The lane goes on. What is in it by now has been held up by the transport.
    pub(super) fn open(&mut self, lane: Lane) {
        let Some(queue) = self.queues.get_mut(usize::from(lane.0)) else { return };
        if !queue.is_closed {
            return;
        }
        queue.is_closed = false;
        if let (Some(head), Some(last)) = (queue.waiting.front(), queue.waiting.back()) {
            queue.held_through = Some(*last);
            self.heads.insert((*head, lane));
        }
    }
}

/// How a request left its lane.
pub(super) struct Taken {
    /// Whether it waited while the lane was closed.
    pub(super) held_by_transport: bool,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<MessageNumber>,
    is_closed: bool,
    /// The highest number that waited while the lane was closed.
    held_through: Option<MessageNumber>,
}
