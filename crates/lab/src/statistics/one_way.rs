//! Messages one way: when each arrived, and when it would have been delivered with and without order.
//!
//! Both come from the same packets. A message that arrived out of order is delivered at once without order, and with
//! order when the last one before it on its stream has arrived. So every run gives pairs, and their differences show what
//! order costs without the noise of two runs.

use std::collections::BTreeMap;

use virtual_time::Instant;

use super::delays::{Delays, Moments};
use super::milliseconds;

/// The one-way delays of one flow.
#[derive(Clone, Debug)]
pub struct OneWay {
    /// The delays from falling due to delivery, as the transport delivered.
    pub delivered: Delays,
    /// The delays that there would have been without order: to arrival.
    pub unordered: Delays,
    /// The delays that there would have been with order on every lane, computed from the arrivals.
    pub ordered: Delays,
    /// Ordered less unordered, in ms, message by message.
    pub difference: Moments,
    /// Messages that order made wait.
    pub blocked: u64,
    /// Messages delivered, those that do not count included.
    pub messages: u64,
    /// Every message, if asked for.
    pub trips: Vec<Trip>,
    lanes: Vec<LaneOrder>,
    discard: u64,
    keeps_trips: bool,
}

/// The times of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The number of the message, from 0.
    pub number: u64,
    /// The time at which it fell due.
    pub due: Instant,
    /// The time at which all of it had arrived.
    pub arrived: Instant,
    /// The time at which the transport delivered it.
    pub delivered: Instant,
}

#[derive(Clone, Debug, Default)]
struct LaneOrder {
    /// The number that is next, in steps of the number of lanes.
    next: u64,
    held: BTreeMap<u64, Trip>,
    /// The time at which the latest of those delivered in order was.
    in_order_at: Instant,
}

impl OneWay {
    pub(crate) fn new(lanes: u16, discard: u64, keeps_trips: bool) -> Self {
        let lane = |next: u16| LaneOrder { next: u64::from(next), ..LaneOrder::default() };
        Self {
            delivered: Delays::new(),
            unordered: Delays::new(),
            ordered: Delays::new(),
            difference: Moments::default(),
            blocked: 0,
            messages: 0,
            trips: Vec::new(),
            lanes: (0..lanes).map(lane).collect(),
            discard,
            keeps_trips,
        }
    }

    /// Records a message; returns false if it came before.
    pub(crate) fn record(&mut self, trip: Trip) -> bool {
        let lanes = u64::try_from(self.lanes.len()).unwrap_or(u64::MAX);
        let index = usize::try_from(trip.number % lanes).unwrap_or(0);
        let lane = &mut self.lanes[index];
        if trip.number < lane.next || lane.held.contains_key(&trip.number) {
            return false;
        }
        self.messages += 1;
        if trip.number >= self.discard {
            self.delivered.record(trip.delivered.since(trip.due));
            self.unordered.record(trip.arrived.since(trip.due));
            if self.keeps_trips {
                self.trips.push(trip);
            }
        }
        self.lanes[index].held.insert(trip.number, trip);
        self.release(index, lanes);
        true
    }

    /// Delivers in order the messages that are next on their lane.
    fn release(&mut self, index: usize, lanes: u64) {
        let lane = &mut self.lanes[index];
        while let Some(trip) = lane.held.remove(&lane.next) {
            lane.next += lanes;
            lane.in_order_at = lane.in_order_at.max(trip.arrived);
            if trip.number >= self.discard {
                let waited = lane.in_order_at.since(trip.arrived);
                self.ordered.record(lane.in_order_at.since(trip.due));
                self.difference.add(milliseconds(waited));
                self.blocked += u64::from(!waited.is_zero());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(number: u64, due: u64, arrived: u64) -> Trip {
        let [due, arrived] = [due, arrived].map(Instant::from_millis);
        Trip { number, due, arrived, delivered: arrived }
    }

    #[test]
    fn order_costs_what_those_behind_a_late_message_wait() {
        let mut one_way = OneWay::new(1, 0, false);
        // The second of four is 100 ms late; the two behind it wait 80 and 70 ms.
        for (number, due, arrived) in [(0, 0, 50), (2, 20, 70), (3, 30, 80), (1, 10, 150)] {
            assert!(one_way.record(trip(number, due, arrived)));
        }
        assert!(!one_way.record(trip(2, 20, 200)), "a second copy does not count");
        assert_eq!((one_way.blocked, one_way.difference.count()), (2, 4));
        assert_eq!(one_way.difference.mean(), Some((80.0 + 70.0) / 4.0));
        assert_eq!(one_way.unordered.moments().mean(), Some((50.0 + 50.0 + 50.0 + 140.0) / 4.0));
    }

    #[test]
    fn lanes_do_not_wait_for_each_other() {
        let mut one_way = OneWay::new(2, 0, false);
        for (number, arrived) in [(1, 60), (3, 80), (2, 70), (0, 100)] {
            one_way.record(trip(number, 10, arrived));
        }
        assert_eq!((one_way.blocked, one_way.difference.mean()), (1, Some(30.0 / 4.0)));
    }
}
