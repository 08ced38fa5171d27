//! How an interface that comes and goes is held back: a leaking bucket.
//!
//! Each flap pours [`Damping::flap_cost`] into the bucket, which leaks a millisecond of it each millisecond. Above
//! [`Damping::suppress`] the interface counts as damped, until no more than [`Damping::reuse`] is left.

use core::time::Duration;

use serde::{Deserialize, Serialize};
use virtual_time::Instant;

/// The measures by which interfaces that flap are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damping {
    /// The cost of a flap: once usable, then not. Default 2 s.
    pub flap_cost: Duration,
    /// The level above which an interface is damped. Default 5 s: the third of three flaps in quick succession reaches it.
    pub suppress: Duration,
    /// The level at which it is used again. Default 2 s.
    pub reuse: Duration,
    /// The level that no number of flaps exceeds, which bounds how long an interface is damped after the last one. Default 12 s.
    pub limit: Duration,
}

impl Default for Damping {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self { flap_cost: secs(2), suppress: secs(5), reuse: secs(2), limit: secs(12) }
    }
}

/// The flaps of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flaps {
    /// The level at `counted_at`.
    level: Duration,
    counted_at: Instant,
    /// Whether the level was above the upper mark, and not yet at the lower one.
    is_suppressed: bool,
}

impl Flaps {
    /// The interface could be used and cannot any more.
    pub(crate) fn count(&mut self, now: Instant, damping: &Damping) {
        let was_suppressed = self.suppressed_until(now, damping).is_some();
        self.level = self.level_at(now).saturating_add(damping.flap_cost).min(damping.limit);
        self.counted_at = now;
        self.is_suppressed = was_suppressed || self.level > damping.suppress;
    }

    /// Returns when the interface may be used again; `None` if it may now.
    pub(crate) fn suppressed_until(&self, now: Instant, damping: &Damping) -> Option<Instant> {
        let until = self.counted_at + self.level.saturating_sub(damping.reuse);
        (self.is_suppressed && until > now).then_some(until)
    }

    /// Returns whether nothing is left to remember.
    pub(crate) fn is_empty(&self, now: Instant) -> bool {
        self.level_at(now).is_zero()
    }

    fn level_at(&self, now: Instant) -> Duration {
        self.level.saturating_sub(now.since(self.counted_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn third_flap_in_a_row_suppresses_and_the_time_of_release_is_exact() {
        let (mut flaps, damping) = (Flaps::default(), Damping::default());
        for (millis, until) in [(0, None), (100, None), (200, Some(at(4_000)))] {
            flaps.count(at(millis), &damping);
            assert_eq!(flaps.suppressed_until(at(millis), &damping), until, "{millis} ms");
        }
        assert!(flaps.suppressed_until(at(3_999), &damping).is_some());
        assert_eq!(flaps.suppressed_until(at(4_000), &damping), None);
    }

    #[test]
    fn flaps_that_are_far_apart_suppress_nothing() {
        let (mut flaps, damping) = (Flaps::default(), Damping::default());
        for round in 0..100 {
            flaps.count(at(round * 2_000), &damping);
            assert_eq!(flaps.suppressed_until(at(round * 2_000), &damping), None);
        }
        assert!(!flaps.is_empty(at(199_000)));
        assert!(flaps.is_empty(at(200_000)));
    }

    #[test]
    fn no_number_of_flaps_suppresses_for_longer_than_the_limit_says() {
        let (mut flaps, damping) = (Flaps::default(), Damping::default());
        (0..10_000).for_each(|millis| flaps.count(at(millis), &damping));
        assert_eq!(flaps.suppressed_until(at(9_999), &damping), Some(at(9_999 + 10_000)));
    }
}
