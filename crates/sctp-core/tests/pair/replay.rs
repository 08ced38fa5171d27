//! A network that gives packets again, or late: up to 20 s after they were sent, whatever is in them.

use core::time::Duration;
use std::collections::BTreeMap;

use netsim::Outgoing;
use virtual_time::Instant;

use crate::net::ms;
use crate::random::Dice;

/// The packets of one host that are still to come, and how often there are such.
pub(crate) struct Replays {
    dice: Dice,
    frequency: Frequency,
    /// By time and number.
    later: BTreeMap<(Instant, u64), Copy>,
    copies: u64,
}

/// How many packets of a hundred come again, and how many come late instead of at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frequency {
    pub(crate) again_percent: u64,
    pub(crate) late_percent: u64,
}

struct Copy {
    outgoing: Outgoing,
    octets: Vec<u8>,
}

/// Whether a packet goes out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Now,
    Later,
}

impl Replays {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), frequency: Frequency::default(), later: BTreeMap::new(), copies: 0 }
    }

    pub(crate) fn set_frequency(&mut self, frequency: Frequency) {
        self.frequency = frequency;
    }

    /// Decides what becomes of a packet that its host sends.
    pub(crate) fn offer(&mut self, now: Instant, outgoing: Outgoing, octets: &[u8]) -> Passage {
        let Frequency { again_percent, late_percent } = self.frequency;
        if again_percent + late_percent == 0 {
            return Passage::Now;
        }
        let roll = self.dice.below(100);
        if roll >= again_percent + late_percent {
            return Passage::Now;
        }
        let longest = [100, 100, 2000, 20_000][self.dice.index(4)];
        let at = now + ms(1 + self.dice.below(longest));
        self.copies += 1;
        self.later.insert((at, self.copies), Copy { outgoing, octets: octets.to_vec() });
        if roll < again_percent { Passage::Now } else { Passage::Later }
    }

    /// The next packet whose time has come.
    pub(crate) fn take_due(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let entry = self.later.first_entry().filter(|entry| entry.key().0 <= now)?;
        let Copy { outgoing, octets } = entry.remove();
        buffer.extend_from_slice(&octets);
        Some(outgoing)
    }

    /// When the next packet comes.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }
}

/// The longest time after which a packet comes.
pub(crate) const LATEST: Duration = Duration::from_secs(20);
