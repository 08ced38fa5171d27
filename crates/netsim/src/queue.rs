//! The event queue: when which host or link has to be looked at next.
//!
//! An event is a plain value that names who is due, never what to do: the host or link itself knows. Each of them
//! is due at most once, and so each has a seat of its own, at the foot of a tree whose every node has the earlier event of the
//! two below it: the first event of all is at the top, and a new time for one seat goes up the tree as far as it is the earliest.
//! Whoever becomes due *later* keeps its time, and finds out when that surfaces: a timer that moves with every packet
//! costs nothing.

use virtual_time::Instant;

use crate::id::{HostId, LaneId};

/// Due events, earliest first; at the same time the one that was armed first.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// Who sits where.
    seats: Vec<Due>,
    /// The node `n` stands above `2n` and `2n + 1`, the first one is 1; the second half are the seats.
    tree: Vec<Event>,
    armed: u64,
}

impl EventQueue {
    /// Gives somebody a seat, unarmed.
    pub(crate) fn seat(&mut self, due: Due) -> Seat {
        self.seats.push(due);
        if 2 * self.seats.len() > self.tree.len() {
            self.grow();
        }
        Seat(self.seats.len() - 1)
    }

    /// Makes sure that who sits there surfaces no later than `at`.
    pub(crate) fn arm(&mut self, seat: Seat, at: Instant) {
        let Event { at: armed_at, order, .. } = self.tree[self.width() + seat.0];
        if order == UNARMED || at < armed_at {
            self.rearm(seat, Some(at));
        }
    }

    /// Makes who sits there surface at `at` and not before; `None`: not at all.
    pub(crate) fn rearm(&mut self, seat: Seat, at: Option<Instant>) {
        let event = at.map_or(Event { seat, ..NEVER }, |at| {
            self.armed += 1;
            Event { at, order: self.armed, seat }
        });
        self.put(event);
    }

    /// Returns the seat that is due first, and when.
    pub(crate) fn first(&self) -> Option<(Instant, Seat)> {
        let first = self.tree.get(1).filter(|event| event.order != UNARMED)?;
        Some((first.at, first.seat))
    }

    /// Returns who sits there.
    pub(crate) fn who(&self, seat: Seat) -> Due {
        self.seats[seat.0]
    }

    /// Takes in the new time of a seat: each node above it until one is as it was.
    fn put(&mut self, event: Event) {
        let mut node = self.width() + event.seat.0;
        let mut first = event;
        while let Some(known) = self.tree.get_mut(node)
            && known.order != first.order
        {
            *known = first;
            if node == 1 {
                return;
            }
            first = earlier(first, self.tree[node ^ 1]);
            node /= 2;
        }
    }

    fn grow(&mut self) {
        let seated: Vec<Event> = self.tree[self.width()..].to_vec();
        let width = self.seats.len().next_power_of_two();
        self.tree = vec![NEVER; 2 * width];
        seated.into_iter().filter(|event| event.order != UNARMED).for_each(|event| self.put(event));
    }

    /// Returns the number of seats there is room for, which is where they begin.
    const fn width(&self) -> usize {
        self.tree.len() / 2
    }
}

/// The seat of a host or link direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seat(usize);

/// Something with a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    Host(HostId),
    Lane(LaneId),
}

/// The time of a seat.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: Instant,
    order: u64,
    seat: Seat,
}

impl Event {
    /// Returns the time in the upper half and the order in the lower: one number is compared faster than two.
    #[inline]
    fn key(&self) -> u128 {
        (u128::from(self.at.as_nanos()) << 64) | u128::from(self.order)
    }
}

#[inline]
fn earlier(one: Event, other: Event) -> Event {
    if one.key() < other.key() { one } else { other }
}

/// Orders count from one; nobody gets to the last.
const UNARMED: u64 = u64::MAX;
const NEVER: Event = Event { at: Instant::MAX, order: UNARMED, seat: Seat(0) };

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(hosts: usize) -> (EventQueue, Vec<Seat>) {
        let mut queue = EventQueue::default();
        let seats = (0..hosts).map(|index| queue.seat(Due::Host(HostId(index)))).collect();
        (queue, seats)
    }

    fn drain(queue: &mut EventQueue, seats: &[Seat]) -> Vec<(u64, usize)> {
        let events = std::iter::from_fn(|| {
            let (at, seat) = queue.first()?;
            let (Due::Host(HostId(index)) | Due::Lane(LaneId(index))) = queue.who(seat);
            queue.rearm(seats[index], None);
            Some((at.as_nanos(), index))
        });
        events.collect()
    }

    #[test]
    fn equal_times_surface_in_the_order_they_were_armed() {
        let (mut queue, seats) = queue(3);
        for index in [2, 0, 1] {
            queue.arm(seats[index], Instant::from_nanos(7));
        }
        assert_eq!(drain(&mut queue, &seats), [(7, 2), (7, 0), (7, 1)]);
    }

    #[test]
    fn only_an_earlier_time_moves_an_entry() {
        let (mut queue, seats) = queue(1);
        for at in [20, 30, 10] {
            queue.arm(seats[0], Instant::from_nanos(at));
        }
        assert_eq!(drain(&mut queue, &seats), [(10, 0)]);
        assert_eq!(queue.armed, 2);
    }

    #[test]
    fn the_last_instant_comes_too() {
        let (mut queue, seats) = queue(2);
        queue.arm(seats[1], Instant::MAX);
        assert_eq!(queue.first(), Some((Instant::MAX, seats[1])));
        queue.rearm(seats[1], None);
        assert_eq!(queue.first(), None);
    }

    #[test]
    fn many_times_that_move_surface_in_order_whoever_joins_meanwhile() {
        let (mut queue, mut seats) = queue(0);
        let mut expected: Vec<(u64, u64, usize)> = Vec::new();
        let mut draw = 1_u64;
        for step in 0..2_000_u64 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if step.is_multiple_of(20) {
                seats.push(queue.seat(Due::Host(HostId(seats.len()))));
            }
            let index = usize::try_from(draw >> 33).unwrap() % seats.len();
            let at = (draw >> 20) % 50;
            expected.retain(|(.., armed)| *armed != index);
            if draw.is_multiple_of(5) {
                queue.rearm(seats[index], None);
            } else {
                queue.rearm(seats[index], Some(Instant::from_nanos(at)));
                expected.push((at, step, index));
            }
        }
        expected.sort_unstable();
        let expected: Vec<_> = expected.into_iter().map(|(at, _, index)| (at, index)).collect();
        assert_eq!(drain(&mut queue, &seats), expected);
    }
}
