//! A slow start that ends before a queue overflows: HyStart++ (RFC 9406).
//!
//! When the shortest round trip of a round is longer than the last one's by an eighth, the window grows at a quarter of its speed
//! for five rounds: if the round trip shortens meanwhile, that was no queue and slow start goes on; otherwise it is over. Only
//! acknowledgments of a full window count, for the queue that others make is none of ours.
//!
//! A round is as many octets as were in flight at its start, which is the same as a sequence number while nothing is lost, and
//! what is lost ends slow start anyway. Times are microseconds.

use core::time::Duration;

use super::Measured;

/// The round trips that a slow start has seen.
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    /// Octets to be acknowledged until the round is over.
    round_left: u64,
    /// The shortest round trip of the last round.
    last: u32,
    /// The shortest round trip of this round.
    current: u32,
    /// The shortest round trip of the round in which growth was slowed down.
    baseline: u32,
    /// Measurements in this round.
    samples: u8,
    /// Rounds of slow growth that are left; none at full speed.
    slow_rounds: u8,
}

/// The growth that an acknowledgment allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// The window grows by all that counts.
    Full,
    /// The window grows by a quarter of that: conservative slow start.
    Slow,
    /// Slow start is over.
    Over,
}

impl Default for HyStart {
    fn default() -> Self {
        Self { round_left: 0, last: NONE, current: NONE, baseline: NONE, samples: 0, slow_rounds: 0 }
    }
}

impl HyStart {
    /// Takes in an acknowledgment of a full window (RFC 9406 §4.2).
    pub(crate) fn on_acknowledged(&mut self, bytes: u64, seen: &Measured) -> Growth {
        if self.round_left == 0 && self.begin_round(seen.flight) {
            return Growth::Over;
        }
        self.round_left = self.round_left.saturating_sub(bytes);
        if let Some(rtt) = seen.rtt {
            self.current = self.current.min(micros(rtt));
            self.samples = self.samples.saturating_add(1);
            self.compare();
        }
        if self.slow_rounds > 0 { Growth::Slow } else { Growth::Full }
    }

    /// Begins a round. Gives whether the last of slow growth is over.
    fn begin_round(&mut self, flight: u64) -> bool {
        self.round_left = flight.max(1);
        (self.last, self.current, self.samples) = (self.current, NONE, 0);
        let was_slow = self.slow_rounds > 0;
        self.slow_rounds = self.slow_rounds.saturating_sub(1);
        was_slow && self.slow_rounds == 0
    }

    fn compare(&mut self) {
        if self.samples < SAMPLES {
            return;
        }
        if self.slow_rounds > 0 {
            if self.current < self.baseline {
                (self.baseline, self.slow_rounds) = (NONE, 0);
            }
        } else if self.last != NONE {
            let step = (self.last / 8).clamp(STEP_LEAST, STEP_MOST);
            if self.current >= self.last.saturating_add(step) {
                (self.baseline, self.slow_rounds) = (self.current, SLOW_ROUNDS);
            }
        }
    }
}

fn micros(rtt: Duration) -> u32 {
    u32::try_from(rtt.as_micros()).map_or(NONE - 1, |micros| micros.min(NONE - 1))
}

/// No round trip was measured.
const NONE: u32 = u32::MAX;
/// Measurements that a round needs to say something (`N_RTT_SAMPLE`, RFC 9406 §4.3).
const SAMPLES: u8 = 8;
/// Rounds of slow growth before slow start is over (`CSS_ROUNDS`).
const SLOW_ROUNDS: u8 = 5;
/// The least and the greatest step of the round trip that counts, in microseconds (`MIN_RTT_THRESH`, `MAX_RTT_THRESH`).
const STEP_LEAST: u32 = 4_000;
const STEP_MOST: u32 = 16_000;
/// The part of its growth that is left to a window meanwhile (`CSS_GROWTH_DIVISOR`).
pub(crate) const SLOW_DIVISOR: u64 = 4;
