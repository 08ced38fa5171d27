//! Bounds that losses set: one for the long run, found by probing, and one for the short run, until the next probing.

use super::arithmetic::percent;
use super::delivery::Sample;

/// Octets in flight, and a rate, that are not to be exceeded; [`u64::MAX`] where nothing bounds them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The most that may be in flight without too much of it being lost, as far as probing found out (`inflight_longterm`, once `inflight_hi`).
    pub(crate) high: u64,
    /// The most that may be in flight until the next probing (`inflight_shortterm`, once `inflight_lo`).
    pub(crate) low: u64,
    /// The rate that may be sent at until then, in octets per second (`bw_shortterm`, once `bw_lo`).
    pub(crate) rate: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { high: u64::MAX, low: u64::MAX, rate: u64::MAX }
    }
}

impl Bounds {
    /// Something was lost in a round without probing: seven tenths, but no less than what was just delivered.
    pub(crate) fn tighten(&mut self, seen: &LossRound, (rate, cwnd): (u64, u64)) {
        let bound = |bound: u64, otherwise: u64| if bound == u64::MAX { otherwise } else { bound };
        self.rate = percent(bound(self.rate, rate), BETA).max(seen.rate);
        self.low = percent(bound(self.low, cwnd), BETA).max(seen.delivered);
    }

    /// The path is probed anew: what losses said of late is forgotten.
    pub(crate) fn loosen(&mut self) {
        (self.low, self.rate) = (u64::MAX, u64::MAX);
    }

    /// Returns the long-run bound less a seventh, which others may take without anything being lost, and at least `floor`.
    pub(crate) fn with_headroom(&self, segment: u64, floor: u64) -> u64 {
        if self.high == u64::MAX {
            return u64::MAX;
        }
        self.high.saturating_sub(percent(self.high, HEADROOM).max(segment)).max(floor)
    }
}

/// The losses of a round, and the most that was delivered in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossRound {
    /// The best rate of the round.
    rate: u64,
    /// The most that was delivered in a round trip of the round.
    delivered: u64,
    /// The round is over when a packet is acknowledged that left after so much had been delivered.
    ends_at: u64,
    is_lossy: bool,
    /// Losses one by one: packets that left together count as one.
    events: u32,
}

impl LossRound {
    /// Takes in a sample; returns whether it begins a round.
    pub(crate) fn on_sample(&mut self, sample: &Sample, delivered: u64) -> bool {
        self.rate = self.rate.max(sample.rate);
        self.delivered = self.delivered.max(sample.delivered);
        let is_start = sample.prior_delivered >= self.ends_at;
        if is_start {
            self.ends_at = delivered;
        }
        is_start
    }

    /// Takes note of a loss; returns whether it is the first of the round.
    pub(crate) fn on_lost(&mut self, delivered: u64) -> bool {
        self.events = self.events.saturating_add(1);
        if self.is_lossy {
            return false;
        }
        (self.is_lossy, self.ends_at) = (true, delivered);
        true
    }

    pub(crate) fn is_lossy(&self) -> bool {
        self.is_lossy
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns whether so many losses of a round were no accident.
    pub(crate) fn is_high(&self) -> bool {
        self.events >= EVENTS_OF_FULL_PIPE
    }

    /// The next round begins with this sample.
    pub(crate) fn advance(&mut self, sample: &Sample) {
        *self = Self {
            rate: sample.rate,
            delivered: sample.delivered,
            ends_at: self.ends_at,
            is_lossy: false,
            events: 0,
        };
    }

    /// Nothing that was seen counts any more.
    pub(crate) fn forget(&mut self) {
        *self = Self { ends_at: self.ends_at, ..Self::default() };
    }
}

/// Returns whether more was lost since a packet left than a path may lose by accident: 2 % of what was in flight.
pub(crate) fn is_too_much(sample: &Sample) -> bool {
    sample.lost > percent(sample.flight, LOSS_THRESHOLD)
}

/// Returns how much was in flight when losses exceeded 2 %, given a loss of `bytes` after which they do: part of it may have been too much already.
pub(crate) fn flight_at_threshold(sample: &Sample, bytes: u64) -> u64 {
    let flight = sample.flight.saturating_sub(bytes);
    let lost = sample.lost.saturating_sub(bytes);
    let allowed = percent(flight, LOSS_THRESHOLD).saturating_sub(lost);
    flight.saturating_add(allowed.saturating_mul(100) / (100 - LOSS_THRESHOLD))
}

/// The part of the bounds that a round with losses leaves, in hundredths (Beta).
pub(crate) const BETA: u64 = 70;
/// The part of the long-run bound that is left to others between probings, in hundredths (Headroom).
const HEADROOM: u64 = 15;
/// The part of what is in flight that may be lost, in hundredths (LossThresh).
const LOSS_THRESHOLD: u64 = 2;
/// Losses in a round of the start that end it (StartupFullLossCnt).
const EVENTS_OF_FULL_PIPE: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_with_losses_leaves_seven_tenths_but_no_less_than_was_delivered() {
        let mut round = LossRound::default();
        round.on_sample(&Sample { rate: 800, delivered: 5000, ..Sample::default() }, 10_000);
        let mut bounds = Bounds::default();
        bounds.tighten(&round, (1000, 20_000));
        assert_eq!((bounds.rate, bounds.low, bounds.high), (800, 14_000, u64::MAX));
        bounds.tighten(&round, (1000, 20_000));
        assert_eq!((bounds.rate, bounds.low), (800, 9_800));
        bounds.loosen();
        assert_eq!((bounds.rate, bounds.low), (u64::MAX, u64::MAX));
    }

    #[test]
    fn two_hundredths_may_be_lost() {
        let sample = |lost| Sample { flight: 100_000, lost, ..Sample::default() };
        assert!(!is_too_much(&sample(2000)) && is_too_much(&sample(2001)));
        // By hand: of 98,000 octets 1,960 may be lost and 1,000 were; (1,960 − 1,000) / 0.98 = 979 of the last packet were still fine.
        assert_eq!(flight_at_threshold(&sample(3000), 2000), 98_979);
    }

    #[test]
    fn headroom_is_a_segment_at_least_and_the_floor_stays() {
        let bounds = Bounds { high: 100_000, ..Bounds::default() };
        assert_eq!(bounds.with_headroom(1000, 4000), 85_000);
        assert_eq!(Bounds { high: 5000, ..bounds }.with_headroom(1000, 4000), 4000);
        assert_eq!(Bounds::default().with_headroom(1000, 4000), u64::MAX);
    }

    #[test]
    fn losses_of_a_round_are_counted_until_what_left_after_the_first_arrives() {
        let mut round = LossRound::default();
        assert!(round.on_sample(&Sample::default(), 1000));
        assert!(round.on_lost(2000) && !round.on_lost(2500));
        let sample = |prior_delivered| Sample { prior_delivered, ..Sample::default() };
        assert!(!round.on_sample(&sample(1999), 3000) && round.is_lossy());
        assert!(round.on_sample(&sample(2000), 3000));
        round.advance(&sample(2000));
        assert!(!round.is_lossy());
    }
}
