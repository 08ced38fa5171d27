//! Queues that drop before they are full: RED (Floyd and Jacobson 1993) and CoDel (RFC 8289).
//!
//! Both decide when a packet is offered. For CoDel, which looks at packets as they leave, that is possible because a queue in order
//! knows when each will; one thing differs: the rule that spares a queue of no more than one packet looks at what waits
//! when the packet comes, not when it leaves.

use std::time::Duration;

use virtual_time::Instant;

use crate::units::{CoDel, Red};

/// The state of RED: the average length of the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RedState {
    average: f64,
    /// Packets since the last one that was dropped.
    since_drop: u32,
}

impl RedState {
    /// Returns whether a packet is dropped that finds `waiting` packets; `idle` is how long the link has had
    /// nothing to do, and `service` how long a packet like this takes.
    pub(super) fn drops(
        &mut self,
        red: Red,
        waiting: u32,
        idle: Duration,
        service: Duration,
        draw: u64,
    ) -> bool {
        if waiting == 0 {
            let missed = idle.as_secs_f64() / service.as_secs_f64().max(1e-9);
            self.average *= (1.0 - WEIGHT).powf(missed);
        }
        self.average += WEIGHT * (f64::from(waiting) - self.average);
        let (min, max) = (f64::from(red.min_packets), f64::from(red.max_packets));
        if self.average < min {
            self.since_drop = 0;
            return false;
        }
        if self.average >= max {
            self.since_drop = 0;
            return true;
        }
        self.since_drop += 1;
        let base = red.probability().value() * (self.average - min) / (max - min);
        let evened = base / (1.0 - f64::from(self.since_drop) * base).max(1e-9);
        let is_dropped = uniform(draw) < evened;
        if is_dropped {
            self.since_drop = 0;
        }
        is_dropped
    }
}

/// The state of CoDel (RFC 8289 §5.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoDelState {
    /// The time when the delay will have been above the target for an interval.
    first_above: Option<Instant>,
    /// The time at which the next packet is dropped, while packets are dropped.
    dropping: Option<Instant>,
    last_drop_next: Instant,
    count: u32,
    last_count: u32,
}

impl CoDelState {
    /// Returns whether a packet is dropped that leaves the queue at `leaves`, after having waited for `sojourn`
    /// behind `waiting` packets.
    pub(super) fn drops(&mut self, codel: CoDel, leaves: Instant, sojourn: Duration, waiting: u32) -> bool {
        let is_due = self.is_above(codel, leaves, sojourn, waiting);
        match self.dropping {
            Some(_) if !is_due => {
                self.dropping = None;
                false
            }
            Some(next) if leaves >= next => {
                self.count += 1;
                self.dropping = Some(next + spacing(codel, self.count));
                self.last_drop_next = next;
                true
            }
            Some(_) => false,
            None if is_due => {
                self.begin(codel, leaves);
                true
            }
            None => false,
        }
    }

    fn is_above(&mut self, codel: CoDel, leaves: Instant, sojourn: Duration, waiting: u32) -> bool {
        if sojourn < codel.target || waiting <= 1 {
            self.first_above = None;
            return false;
        }
        let at = *self.first_above.get_or_insert(leaves + codel.interval);
        leaves >= at
    }

    fn begin(&mut self, codel: CoDel, leaves: Instant) {
        let drops = self.count - self.last_count.min(self.count);
        let is_recent = leaves.since(self.last_drop_next) < codel.interval * 16;
        self.count = if drops > 1 && is_recent { drops } else { 1 };
        self.last_count = self.count;
        let next = leaves + spacing(codel, self.count);
        self.dropping = Some(next);
        self.last_drop_next = next;
    }
}

/// Returns the interval before the next drop, which shrinks with the square root of their number (the control
/// law, RFC 8289 §5.3).
fn spacing(codel: CoDel, count: u32) -> Duration {
    codel.interval.div_f64(f64::from(count.max(1)).sqrt())
}

fn uniform(draw: u64) -> f64 {
    let high = u32::try_from(draw >> 32).unwrap_or(u32::MAX);
    f64::from(high) / 4_294_967_296.0
}

/// The weight of one packet in RED's average.
const WEIGHT: f64 = 0.002;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn red_drops_none_below_the_minimum_all_above_the_maximum_and_some_between() {
        let red: Red = "5p,15p,10%,50p".parse().unwrap();
        let share = |waiting: u32| {
            let mut state = RedState { average: f64::from(waiting), since_drop: 0 };
            let draws = (0..10_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let dropped = draws.filter(|draw| state.drops(red, waiting, Duration::ZERO, MS, *draw)).count();
            f64::from(u32::try_from(dropped).unwrap()) / 10_000.0
        };
        assert_eq!((share(4), share(16)), (0.0, 1.0));
        // Half way up the probability is 5 %; evening it out makes that one in (1/0.05 + 1)/2.
        assert!((share(10) - 0.095).abs() < 0.01, "{}", share(10));
    }

    #[test]
    fn codel_waits_an_interval_and_then_drops_faster_and_faster() {
        let codel: CoDel = "5ms,100ms,1000p".parse().unwrap();
        let mut state = CoDelState::default();
        let dropped = |ms: &u64| state.drops(codel, Instant::from_millis(*ms), 20 * MS, 10);
        let at: Vec<u64> = (0..600).filter(dropped).collect();
        assert_eq!(at[..4], [100, 200, 271, 329]);
        assert!(!state.drops(codel, Instant::from_millis(601), 4 * MS, 10), "below the target it stops");
        assert!(!state.drops(codel, Instant::from_millis(602), 20 * MS, 10), "and waits an interval again");
    }
}
