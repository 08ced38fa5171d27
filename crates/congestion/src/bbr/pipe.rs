//! The search for a full path: three rounds in which the delivery rate has not grown by a quarter.

use super::delivery::Sample;

/// The search for a rate that grows no more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FullPipe {
    /// The rate from which growth is counted.
    base: u64,
    rounds: u8,
    is_full_now: bool,
    was_full: bool,
}

impl FullPipe {
    /// Returns whether it has ever been full: the start is over.
    pub(crate) fn was_full(&self) -> bool {
        self.was_full
    }

    /// Returns whether it has been full since the search last began.
    pub(crate) fn is_full_now(&self) -> bool {
        self.is_full_now
    }

    /// The search begins anew, from this rate.
    pub(crate) fn restart(&mut self, rate: u64) {
        (self.base, self.rounds, self.is_full_now) = (rate, 0, false);
    }

    /// Losses say that it is full.
    pub(crate) fn on_high_loss(&mut self) {
        self.was_full = true;
    }

    /// Takes in a sample, if it begins a round; what an application did not fill says nothing.
    pub(crate) fn on_sample(&mut self, sample: &Sample, is_round_start: bool) {
        if self.is_full_now || !is_round_start || sample.is_limited || sample.rate == 0 {
            return;
        }
        if sample.rate >= self.base.saturating_add(self.base / 4) {
            self.restart(sample.rate);
            return;
        }
        self.rounds += 1;
        self.is_full_now = self.rounds >= ROUNDS;
        self.was_full |= self.is_full_now;
    }
}

/// Rounds without growth after which the path is full.
const ROUNDS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rate: u64) -> Sample {
        Sample { rate, ..Sample::default() }
    }

    #[test]
    fn pipe_is_full_after_three_rounds_in_which_the_rate_did_not_grow_by_a_quarter() {
        let mut pipe = FullPipe::default();
        for rate in [1000, 2000, 2499, 2499] {
            pipe.on_sample(&sample(rate), true);
        }
        assert!(!pipe.was_full());
        pipe.on_sample(&sample(2500), true);
        for _ in 0..2 {
            pipe.on_sample(&sample(2600), true);
        }
        pipe.on_sample(&sample(2600), false);
        pipe.on_sample(&Sample { is_limited: true, ..sample(2600) }, true);
        assert!(!pipe.is_full_now());
        pipe.on_sample(&sample(2600), true);
        assert!(pipe.is_full_now() && pipe.was_full());
        pipe.restart(2600);
        assert!(!pipe.is_full_now() && pipe.was_full());
    }
}
