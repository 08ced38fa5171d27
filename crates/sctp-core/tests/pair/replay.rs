//! What a network may do to packets beyond losing and delaying them a little: give them again, or up to 20 s late,
//! whatever is in them; and change what is in them.

use core::time::Duration;
use std::collections::BTreeMap;

use netsim::Outgoing;
use virtual_time::Instant;

use crate::dice::Dice;
use crate::net::ms;

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

/// Changes chunks of the packets of one host.
pub(crate) struct Forger {
    dice: Dice,
    percent: u64,
}

impl Forger {
    pub(crate) fn new(dice: Dice, percent: u64) -> Self {
        Self { dice, percent }
    }

    /// Changes chunks of a packet, each with the probability given, and mends the checksum.
    pub(crate) fn forge(&mut self, packet: &mut [u8]) {
        let (mut at, mut has_changed) = (COMMON_HEADER_BYTES, false);
        while let Some(len) = packet.get(at + 2..at + 4).map(|len| u16::from_be_bytes([len[0], len[1]])) {
            let end = packet.len().min(at + usize::from(len).max(4));
            if self.dice.below(100) < self.percent {
                self.change(&mut packet[at..end]);
                has_changed = true;
            }
            at = end.next_multiple_of(4);
        }
        if has_changed {
            packet[8..12].fill(0);
            let sum = crc32c(packet);
            packet[8..12].copy_from_slice(&sum.to_le_bytes());
        }
    }

    /// Another type, flags or length, a bit in the first fields, octets anywhere, or a number at its bounds.
    fn change(&mut self, chunk: &mut [u8]) {
        let len = chunk.len();
        let octet = self.dice.below(256).to_le_bytes()[0];
        match self.dice.below(7) {
            0 => chunk[0] = [octet, octet % 16, 0x40, 0x80, 0x82, 0xc0, 0xc1, 0xc2][self.dice.index(8)],
            1 => chunk[1] ^= octet,
            2 => chunk[3] = octet,
            3 => {
                let place = 4 + self.dice.index(16);
                if let Some(field) = chunk.get_mut(place) {
                    *field ^= 1 << (octet % 8);
                }
            }
            4 => (0..4).for_each(|_| chunk[self.dice.index(len)] = octet),
            5 if len >= 8 => chunk[4..8].fill([0, 0xff][usize::from(octet % 2)]),
            _ => chunk[self.dice.index(len)] = octet,
        }
    }
}

/// CRC32c, bit by bit (RFC 9260, Appendix A).
fn crc32c(octets: &[u8]) -> u32 {
    let step = |sum: u32, octet: &u8| {
        (0..8).fold(sum ^ u32::from(*octet), |sum, _| (sum >> 1) ^ (0x82F6_3B78 * (sum & 1)))
    };
    !octets.iter().fold(u32::MAX, step)
}

const COMMON_HEADER_BYTES: usize = 12;
