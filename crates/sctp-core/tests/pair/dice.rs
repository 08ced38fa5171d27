//! The random numbers of a case, and which cases there are.

use core::ops::Range;
use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Random numbers of a case.
pub(crate) struct Dice {
    /// Octets that say what falls first.
    script: VecDeque<u8>,
    generator: Xoshiro256PlusPlus,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self::reading(&[], seed)
    }

    /// Dice that fall as a fuzzer's octets say, and by the seed once these are used up.
    pub(crate) fn reading(octets: &[u8], seed: u64) -> Self {
        let script = octets.iter().copied().collect();
        Self { script, generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        if self.script.is_empty() {
            return self.generator.next_u64() % end;
        }
        // As many octets as a number below the end may have.
        let wanted = usize::try_from(u64::BITS - (end - 1).leading_zeros()).unwrap().div_ceil(8);
        let octets = self.script.drain(..wanted.min(self.script.len()));
        octets.fold(0, |number, octet| number << 8 | u64::from(octet)) % end
    }

    pub(crate) fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end.try_into().unwrap())).unwrap()
    }
}

/// The seeds of a test's cases: `HEADWAY_SEQUENCES` of them from `HEADWAY_FIRST_SEQUENCE` on, otherwise `default` from 0.
pub(crate) fn seeds(default: u64) -> Range<u64> {
    let first = number("HEADWAY_FIRST_SEQUENCE", 0);
    first..first + number("HEADWAY_SEQUENCES", default)
}

fn number(name: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; it must be a number"))
}
