//! Numbers by which flows fall out of step: the same for the same seed and times.

use virtual_time::Instant;

/// A source of numbers (SplitMix64), stirred by the times at which they are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws a number below `bound`, which is at least one.
    pub(crate) fn below(&mut self, now: Instant, bound: u64) -> u64 {
        self.0 = (self.0 ^ now.as_nanos()).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_repeat_with_seed_and_times_and_spread_over_their_range() {
        let draw = |seed: u64| -> Vec<u64> {
            let mut random = Random::new(seed);
            (0..1000).map(|n| random.below(Instant::from_millis(n), 10)).collect()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for value in 0..10 {
            let count = draw(1).into_iter().filter(|drawn| *drawn == value).count();
            assert!((60..=140).contains(&count), "{value}: {count}");
        }
    }
}
