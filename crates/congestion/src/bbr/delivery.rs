//! The rate at which the path delivers: a sample with each acknowledgment (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
//!
//! A sample begins where the packet left that is acknowledged now, and counts what was delivered since. The time it took is the
//! longer one of two: that in which those packets left, and that in which they were acknowledged; a burst on either side is not taken for speed.
//!
//! What was so when a packet left is kept per departure, not per packet: packets that leave at once, or nearly so, share a
//! record, and a protocol finds it by the time that it keeps anyway, when a packet was sent last. So nothing is stored with chunks or
//! segments, and the number of records is bounded.

use core::time::Duration;
use std::collections::VecDeque;

use virtual_time::Instant;

use super::Sent;
use super::arithmetic::rate;

/// Octets delivered and lost, and how these stood when packets left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Octets acknowledged for the first time, ever.
    delivered: u64,
    /// Octets declared lost, ever.
    lost: u64,
    /// The time of the last acknowledgment, or at which sending began anew with nothing in flight.
    delivered_at: Instant,
    /// The time at which the packet left that was acknowledged last: where the next sample's departures begin.
    first_sent_at: Instant,
    /// Samples of packets that leave before so much is delivered say nothing about the path; zero where they do.
    limited_until: u64,
    departures: VecDeque<Departure>,
}

/// The state at the time at which packets left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    at: Instant,
    /// Octets delivered before.
    pub(crate) delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    /// Octets in flight with the last of the packets.
    flight: u64,
    is_limited: bool,
}

/// A sample: what an acknowledgment, or a loss, tells of the packet that it concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Octets per second; zero where they cannot be told.
    pub(crate) rate: u64,
    /// Octets delivered since the packet left.
    pub(crate) delivered: u64,
    /// Octets that had been delivered when it left.
    pub(crate) prior_delivered: u64,
    /// Octets lost since it left.
    pub(crate) lost: u64,
    /// Octets in flight when it left, its own among them.
    pub(crate) flight: u64,
    /// Whether the sender had nothing more to send then.
    pub(crate) is_limited: bool,
}

impl Delivery {
    /// Returns the octets delivered so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns whether what leaves now leaves because there is no more to send.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Takes note of a packet that leaves; those within `grain` of each other share a record. No more than `most` counts as in flight with it.
    pub(crate) fn on_sent(&mut self, sent: &Sent, grain: Duration, most: u64) {
        if sent.flight == 0 {
            (self.delivered_at, self.first_sent_at) = (sent.now, sent.now);
        }
        let flight = sent.flight.saturating_add(sent.bytes).min(most);
        if let Some(last) = self.departures.back_mut()
            && sent.now.since(last.at) <= grain
            && sent.flight > 0
        {
            last.flight = last.flight.max(flight);
            return;
        }
        if self.departures.len() == DEPARTURES_MAX {
            self.departures.pop_front();
        }
        self.departures.push_back(Departure {
            at: sent.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            flight,
            is_limited: self.limited_until > 0,
        });
    }

    /// Takes in what is acknowledged, of which the packet sent last left at `sent_at`; gives nothing if none is known to have left. A
    /// rate over less than `shortest` is none: no path answers so fast.
    pub(crate) fn on_acknowledged(
        &mut self,
        now: Instant,
        bytes: u64,
        sent_at: Instant,
        shortest: Duration,
    ) -> Option<Sample> {
        self.delivered = self.delivered.saturating_add(bytes);
        self.delivered_at = now;
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let departure = *self.departure(sent_at)?;
        let mut sample = self.sample(&departure);
        let departing = sent_at.since(departure.first_sent_at);
        let arriving = now.since(departure.delivered_at);
        self.first_sent_at = self.first_sent_at.max(sent_at);
        let interval = departing.max(arriving);
        if interval >= shortest {
            sample.rate = rate(sample.delivered, interval);
        }
        self.forget_before(sent_at - 2 * now.since(sent_at));
        Some(sample)
    }

    /// Takes in a loss of octets that left at `sent_at` last.
    pub(crate) fn on_lost(&mut self, bytes: u64, sent_at: Instant) -> Option<Sample> {
        self.lost = self.lost.saturating_add(bytes);
        let departure = *self.departure(sent_at)?;
        Some(self.sample(&departure))
    }

    /// The sender has nothing more to send, with so much in flight.
    pub(crate) fn on_limited(&mut self, flight: u64) {
        self.limited_until = self.delivered.saturating_add(flight).max(1);
    }

    fn sample(&self, departure: &Departure) -> Sample {
        Sample {
            rate: 0,
            delivered: self.delivered - departure.delivered,
            prior_delivered: departure.delivered,
            lost: self.lost - departure.lost,
            flight: departure.flight,
            is_limited: departure.is_limited,
        }
    }

    /// Returns the record of a packet that left then; the oldest there is where it is known no more.
    fn departure(&self, sent_at: Instant) -> Option<&Departure> {
        let later = self.departures.partition_point(|departure| departure.at <= sent_at);
        self.departures.get(later.saturating_sub(1))
    }

    /// Packets that left before are not asked for any more: each is acknowledged or was declared lost.
    fn forget_before(&mut self, earliest: Instant) {
        while self.departures.get(1).is_some_and(|next| next.at < earliest) {
            self.departures.pop_front();
        }
    }
}

/// Departures that are remembered at most.
const DEPARTURES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(1000 + millis)
    }

    fn send(delivery: &mut Delivery, millis: u64, flight: u64) {
        delivery.on_sent(&Sent { now: at(millis), bytes: 1000, flight }, Duration::ZERO, u64::MAX);
    }

    fn hear(delivery: &mut Delivery, millis: u64, sent: u64) -> Sample {
        delivery.on_acknowledged(at(millis), 1000, at(sent), Duration::from_millis(20)).unwrap()
    }

    /// By hand: a packet of 1000 octets each millisecond, each acknowledged 20 ms later: 20 in flight, 1,000,000 octets per second.
    #[test]
    fn rate_is_what_was_delivered_since_the_packet_left_over_the_time_that_took() {
        let mut delivery = Delivery::default();
        let mut last = Sample::default();
        for ms in 0..60 {
            if ms >= 20 {
                last = hear(&mut delivery, ms, ms - 20);
            }
            send(&mut delivery, ms, ms.min(19) * 1000);
        }
        // It left at 39 ms, when 20 had arrived, with 19 others.
        assert_eq!((last.prior_delivered, last.delivered, last.flight), (20_000, 20_000, 20_000));
        assert_eq!((last.rate, last.lost), (1_000_000, 0));
    }

    #[test]
    fn heaped_acknowledgments_are_not_taken_for_speed() {
        let mut delivery = Delivery::default();
        (0..10).for_each(|n| send(&mut delivery, 10 * n, n * 1000));
        // All of them at once, 20 ms after the last one left: 10,000 octets in 110 ms.
        let mut last = Sample::default();
        for n in 0..10 {
            last = hear(&mut delivery, 110, 10 * n);
        }
        assert_eq!((last.delivered, last.rate), (10_000, 90_909));
    }

    #[test]
    fn sample_that_is_shorter_than_the_path_says_nothing() {
        let mut delivery = Delivery::default();
        send(&mut delivery, 0, 0);
        let sample = delivery.on_acknowledged(at(5), 1000, at(0), Duration::from_millis(20)).unwrap();
        assert_eq!((sample.rate, sample.delivered), (0, 1000));
    }

    #[test]
    fn packets_that_leave_while_there_is_no_more_to_send_are_marked_until_those_in_flight_have_arrived() {
        let mut delivery = Delivery::default();
        send(&mut delivery, 0, 0);
        delivery.on_limited(1000);
        send(&mut delivery, 10, 1000);
        assert!(!hear(&mut delivery, 20, 0).is_limited && delivery.is_limited());
        assert!(hear(&mut delivery, 30, 10).is_limited && !delivery.is_limited());
    }

    #[test]
    fn losses_are_counted_from_the_departure_of_the_packet_on() {
        let mut delivery = Delivery::default();
        (0..4).for_each(|n| send(&mut delivery, 10 * n, n * 1000));
        delivery.on_lost(1000, at(0)).unwrap();
        let second = delivery.on_lost(1000, at(10)).unwrap();
        assert_eq!((second.lost, second.flight), (2000, 2000));
        send(&mut delivery, 40, 2000);
        assert_eq!(hear(&mut delivery, 60, 40).lost, 0);
    }

    #[test]
    fn records_are_bounded_and_an_old_packet_is_judged_by_the_oldest() {
        let mut delivery = Delivery::default();
        (0..5000).for_each(|ms| send(&mut delivery, ms, 1000));
        assert_eq!(delivery.departures.len(), DEPARTURES_MAX);
        assert!(delivery.on_lost(1000, at(0)).is_some());
        hear(&mut delivery, 5020, 4999);
        assert!(delivery.departures.len() < 50, "{}", delivery.departures.len());
    }

    #[test]
    fn packets_within_a_grain_share_a_record() {
        let mut delivery = Delivery::default();
        for ms in 0..100 {
            let sent = Sent { now: at(ms), bytes: 1000, flight: ms * 1000 };
            delivery.on_sent(&sent, Duration::from_millis(9), u64::MAX);
        }
        assert_eq!(delivery.departures.len(), 10);
        let lost = delivery.on_lost(1000, at(95)).unwrap();
        assert_eq!(lost.flight, 100_000);
    }
}
