//! How fast a path has carried data of late: what was acknowledged, round trip by round trip.
//!
//! A sample lasts a smoothed round trip at least, so that acknowledgments that come in heaps do not look like speed. What
//! counts is the best of the last few: a single one is lowered by the very loss it is to judge, and by an application
//! that pauses.

use core::time::Duration;

use virtual_time::Instant;

use super::Acknowledged;

/// The rate of delivery of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRate {
    /// The sample being taken: since when, and how many octets came back.
    sample: Option<(Instant, usize)>,
    /// Octets per second of the last samples, the present one first.
    rates: [u64; SAMPLES],
}

impl DeliveryRate {
    /// A SACK acknowledged something.
    pub(super) fn on_acknowledged(&mut self, acked: &Acknowledged) {
        let Some((begun, bytes)) = self.sample else {
            self.sample = Some((acked.now, 0));
            return;
        };
        let (elapsed, bytes) = (acked.now.since(begun), bytes.saturating_add(acked.bytes));
        if elapsed < acked.srtt || elapsed.is_zero() {
            self.sample = Some((begun, bytes));
            return;
        }
        self.sample = Some((acked.now, 0));
        self.rates.rotate_right(1);
        self.rates[0] = rate(bytes, elapsed);
    }

    /// Returns the number of octets that are on the way at the best rate of late, over a round trip of this
    /// length.
    pub(super) fn product(&self, round_trip: Duration) -> usize {
        let rate = self.rates.into_iter().max().unwrap_or(0);
        let octets = u128::from(rate) * round_trip.as_nanos() / NANOS_PER_SECOND;
        usize::try_from(octets).unwrap_or(usize::MAX)
    }
}

fn rate(bytes: usize, elapsed: Duration) -> u64 {
    let rate = bytes as u128 * NANOS_PER_SECOND / elapsed.as_nanos().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Round trips that are remembered.
const SAMPLES: usize = 4;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn hear(delivery: &mut DeliveryRate, millis: u64, bytes: usize) {
        let now = Instant::from_millis(millis);
        delivery.on_acknowledged(&Acknowledged { now, bytes, srtt: RTT, ..Acknowledged::default() });
    }

    #[test]
    fn product_is_what_a_round_trip_brings_however_acknowledgments_are_heaped() {
        let (mut even, mut heaped) = (DeliveryRate::default(), DeliveryRate::default());
        for millis in (0..=500).step_by(10) {
            hear(&mut even, millis, 1000);
            if millis % 100 == 0 {
                (0..10).for_each(|_| hear(&mut heaped, millis, 1000));
            }
        }
        assert_eq!(even.product(RTT), 10_000);
        assert_eq!(even.product(RTT / 2), 5000, "the queue of the longer round trip does not count");
        assert_eq!(heaped.product(RTT), 10_000);
    }

    #[test]
    fn best_of_the_last_four_round_trips_counts() {
        let mut delivery = DeliveryRate::default();
        assert_eq!(delivery.product(RTT), 0, "nothing is known yet");
        for (millis, bytes) in [(0, 1), (100, 40_000), (200, 10_000), (300, 10_000), (400, 10_000)] {
            hear(&mut delivery, millis, bytes);
        }
        assert_eq!(delivery.product(RTT), 40_000);
        hear(&mut delivery, 500, 10_000);
        assert_eq!(delivery.product(RTT), 10_000);
    }
}
