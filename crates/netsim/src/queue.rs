//! The event queue: when which host or link has to be looked at next.
//!
//! An event is a plain value that names who is due, never what to do: the host or link itself knows. Each of them
//! is due at most once. Rather than moving an entry in the heap, whoever becomes due *earlier* gets a second one;
//! the first is then stale and skipped when it surfaces. Whoever becomes due *later* finds out when the entry
//! surfaces. A timer that moves with every packet therefore costs nothing.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use virtual_time::Instant;

use crate::id::{HostId, LaneId};

/// Due events, earliest first; at the same time the one that was armed first.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Event>,
    armed: u64,
}

impl EventQueue {
    /// Makes sure that `due` surfaces no later than `at`.
    pub(crate) fn arm(&mut self, alarm: &mut Alarm, at: Instant, due: Due) {
        if alarm.order != UNARMED && alarm.at <= at {
            return;
        }
        self.armed += 1;
        *alarm = Alarm { at, order: self.armed };
        self.heap.push(Event { at, order: self.armed, due });
    }

    pub(crate) fn peek(&self) -> Option<Event> {
        self.heap.peek().copied()
    }

    pub(crate) fn pop(&mut self) {
        self.heap.pop();
    }
}

/// An entry of the event queue: who is due, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: Instant,
    order: u64,
    pub(crate) due: Due,
}

impl Event {
    /// Returns the time in the upper half and the order in the lower: one number is compared faster than two.
    #[inline]
    fn key(&self) -> u128 {
        (u128::from(self.at.as_nanos()) << 64) | u128::from(self.order)
    }
}

/// Something with a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    Host(HostId),
    Lane(LaneId),
}

/// The one entry of a host or link in the queue that counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alarm {
    at: Instant,
    order: u64,
}

impl Alarm {
    /// Returns whether `event` is the entry that counts.
    pub(crate) const fn is_for(&self, event: &Event) -> bool {
        self.order == event.order
    }

    /// Forgets the entry.
    pub(crate) const fn disarm(&mut self) {
        self.order = UNARMED;
    }
}

/// Orders count from one.
const UNARMED: u64 = 0;

/// The heap's top is the largest, hence the reverse.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut EventQueue, alarms: &[Alarm]) -> Vec<(u64, usize)> {
        let events = std::iter::from_fn(|| {
            let event = queue.peek()?;
            queue.pop();
            Some(event)
        });
        let counts = |event: &Event| match event.due {
            Due::Host(HostId(index)) => alarms[index].is_for(event),
            Due::Lane(_) => false,
        };
        let index = |due| match due {
            Due::Host(HostId(index)) | Due::Lane(LaneId(index)) => index,
        };
        events.filter(counts).map(|event| (event.at.as_nanos(), index(event.due))).collect()
    }

    #[test]
    fn equal_times_surface_in_the_order_they_were_armed() {
        let (mut queue, mut alarms) = (EventQueue::default(), [Alarm::default(); 3]);
        for index in [2, 0, 1] {
            queue.arm(&mut alarms[index], Instant::from_nanos(7), Due::Host(HostId(index)));
        }
        assert_eq!(drain(&mut queue, &alarms), [(7, 2), (7, 0), (7, 1)]);
    }

    #[test]
    fn only_an_earlier_time_makes_a_new_entry() {
        let (mut queue, mut alarms) = (EventQueue::default(), [Alarm::default()]);
        for at in [20, 30, 10] {
            queue.arm(&mut alarms[0], Instant::from_nanos(at), Due::Host(HostId(0)));
        }
        assert_eq!(queue.heap.len(), 2);
        assert_eq!(drain(&mut queue, &alarms), [(10, 0)]);
    }
}
