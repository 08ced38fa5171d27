//! A bound on the queue that a flow itself keeps on its path: round trips say how long it is.
//!
//! Once a round trip what is in flight is held to the share of it that would have met no more queue than is allowed, or
//! raised by an eighth: the law of TCP Vegas and FAST TCP, that the window follows the ratio of the shortest round trip to
//! the present one, here as a bound beside the window of another algorithm. The shortest measurement of a round counts,
//! so that a processor that was busy for a moment makes no queue.

use core::time::Duration;

use virtual_time::Instant;

use super::{Acknowledged, share};

/// The bound of one path.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// The delay that the queue may have, beyond the shortest round trip.
    allowed: Duration,
    /// Octets that may be in flight.
    octets: usize,
    round_ends_at: Instant,
    /// The shortest round trip of this round.
    shortest: Option<Duration>,
}

impl Bound {
    /// Creates the bound of a path of which nothing is known yet.
    pub(super) fn new(allowed: Duration) -> Self {
        Self { allowed, octets: usize::MAX, round_ends_at: Instant::EPOCH, shortest: None }
    }

    /// Returns the number of octets that may be in flight.
    pub(super) fn octets(&self) -> usize {
        self.octets
    }

    /// `floor`: octets that may always be in flight.
    pub(super) fn on_acknowledged(&mut self, acked: &Acknowledged, floor: usize) {
        if let Some(rtt) = acked.rtt {
            self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        }
        if acked.now < self.round_ends_at {
            return;
        }
        let Some(rtt) = self.shortest.take() else { return };
        self.round_ends_at = acked.now + rtt;
        let target = acked.min_rtt + self.allowed;
        if rtt > target {
            let share = share(acked.flight_before, target, rtt).max(acked.flight_before / 2);
            self.octets = share.max(floor);
        } else if acked.flight_before >= self.octets {
            self.octets = self.octets.saturating_add(self.octets / 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: usize = 4_000;

    fn acked(now_ms: u64, rtt_ms: u64, flight_before: usize) -> Acknowledged {
        let (rtt, min_rtt) = (Some(Duration::from_millis(rtt_ms)), Duration::from_millis(10));
        Acknowledged {
            now: Instant::from_millis(now_ms),
            rtt,
            min_rtt,
            flight_before,
            ..Acknowledged::default()
        }
    }

    fn bound() -> Bound {
        Bound::new(Duration::from_millis(10))
    }

    #[test]
    fn a_longer_round_trip_bounds_the_flight_to_its_share_once_a_round_and_to_no_less_than_half() {
        let mut queue = bound();
        queue.on_acknowledged(&acked(0, 20, 100_000), FLOOR);
        assert_eq!(queue.octets(), usize::MAX, "as long as allowed");
        queue.on_acknowledged(&acked(100, 25, 100_000), FLOOR);
        assert_eq!(queue.octets(), 80_000);
        queue.on_acknowledged(&acked(110, 25, 80_000), FLOOR);
        assert_eq!(queue.octets(), 80_000, "the round is not over");
        queue.on_acknowledged(&acked(125, 200, 80_000), FLOOR);
        assert_eq!(queue.octets(), 64_000, "the shortest of the round counts");
        queue.on_acknowledged(&acked(400, 200, 64_000), FLOOR);
        assert_eq!(queue.octets(), 32_000);
        queue.on_acknowledged(&acked(700, 200, 5_000), FLOOR);
        assert_eq!(queue.octets(), FLOOR);
    }

    #[test]
    fn what_is_used_grows_again_while_the_queue_is_short() {
        let mut queue = bound();
        queue.on_acknowledged(&acked(0, 40, 16_000), FLOOR);
        assert_eq!(queue.octets(), 8_000);
        queue.on_acknowledged(&acked(100, 15, 7_000), FLOOR);
        assert_eq!(queue.octets(), 8_000, "not used");
        queue.on_acknowledged(&acked(200, 15, 8_000), FLOOR);
        assert_eq!(queue.octets(), 9_000);
    }
}
