//! SACKs that fell due while the packets behind them were read already (RFC 9260 §6.2).
//!
//! Packets that arrive together are read one after the other before anything is sent. A SACK that falls due among them is
//! set aside as things stood then: a sender's window grows by a packet with each SACK (§7.2.1), and with each a burst of
//! packets leaves (§6.1 (D)), so one SACK for all of them would throttle it to a few packets a round trip.
//!
//! The rule for thinning: no more than [`SACKS_PER_SECOND`] are set aside, and [`SACKS_AT_ONCE`] beyond what that gives.
//! A SACK more is left out, and the next one covers what it would have said. A sender that sends four packets with each
//! SACK is not held back below 200,000 packets a second by it, nor one whose window comes in a burst of up to 1,024
//! packets; slow start by the letter still opens a window by 50,000 packets a second.

use core::time::Duration;
use std::collections::VecDeque;

use sctp_wire::{Full, GapAckBlock, PacketWriter, Tsn};
use virtual_time::Instant;

/// SACKs to be sent before the one that says how things stand now, each in a packet of its own.
#[derive(Debug, Default)]
pub(super) struct EarlierSacks {
    waiting: Option<Box<WaitingSacks>>,
    rate: Rate,
}

#[derive(Debug, Default)]
struct WaitingSacks {
    sacks: VecDeque<Earlier>,
    /// The gap ack blocks of all of them.
    blocks: VecDeque<GapAckBlock>,
    duplicates: VecDeque<Tsn>,
}

/// How things stood.
#[derive(Clone, Copy, Debug)]
struct Earlier {
    cumulative: Tsn,
    a_rwnd: u32,
    blocks: usize,
    duplicates: usize,
}

impl EarlierSacks {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_none()
    }

    /// Sets a SACK aside that is due now. False: it is one too many, and left out.
    pub(super) fn set_aside(
        &mut self,
        now: Instant,
        (cumulative, a_rwnd): (Tsn, u32),
        blocks: impl Iterator<Item = GapAckBlock>,
        duplicates: &[Tsn],
    ) -> bool {
        if !self.rate.admits(now) || self.waiting.as_ref().is_some_and(|waiting| waiting.is_full()) {
            return false;
        }
        self.rate.on_set_aside(now);
        let waiting = self.waiting.get_or_insert_default();
        let before = waiting.blocks.len();
        waiting.blocks.extend(blocks);
        let blocks = waiting.blocks.len() - before;
        waiting.duplicates.extend(duplicates);
        waiting.sacks.push_back(Earlier { cumulative, a_rwnd, blocks, duplicates: duplicates.len() });
        true
    }

    /// Writes the first of them, if there is any.
    ///
    /// # Errors
    ///
    /// [`Full`]: nothing is written and it still waits.
    pub(super) fn write_first(&mut self, writer: &mut PacketWriter<'_>) -> Result<(), Full> {
        let Some(waiting) = &mut self.waiting else { return Err(Full) };
        let Some(&Earlier { cumulative, a_rwnd, blocks, duplicates }) = waiting.sacks.front() else {
            return Err(Full);
        };
        let listed = waiting.blocks.iter().take(blocks).copied();
        let repeated = waiting.duplicates.iter().take(duplicates).copied();
        writer.sack(cumulative, a_rwnd, listed, repeated)?;
        waiting.sacks.pop_front();
        waiting.blocks.drain(..blocks);
        waiting.duplicates.drain(..duplicates);
        if waiting.sacks.is_empty() {
            self.waiting = None;
        }
        Ok(())
    }
}

impl WaitingSacks {
    fn is_full(&self) -> bool {
        self.sacks.len() >= SACKS_AT_ONCE || self.blocks.len() + self.duplicates.len() >= ENTRIES_AT_ONCE
    }
}

/// How many have been set aside of late: the time until which they are enough at the rate allowed.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    enough_until: Instant,
}

impl Rate {
    fn admits(self, now: Instant) -> bool {
        self.enough_until.since(now) < AT_ONCE
    }

    fn on_set_aside(&mut self, now: Instant) {
        self.enough_until = self.enough_until.max(now) + EACH;
    }
}

/// SACKs set aside in a second by one association at most, in the long run.
const SACKS_PER_SECOND: u64 = 50_000;

/// The time that one of them stands for.
const EACH: Duration = Duration::from_nanos(1_000_000_000 / SACKS_PER_SECOND);

/// The time that as many as may wait stand for.
const AT_ONCE: Duration = Duration::from_nanos(SACKS_AT_ONCE as u64 * 1_000_000_000 / SACKS_PER_SECOND);

/// SACKs that may wait at once, and be set aside beyond that rate.
const SACKS_AT_ONCE: usize = 512;

/// Gap ack blocks and duplicates in all SACKs that wait, beyond which none is set aside: 64 KiB, and one SACK.
const ENTRIES_AT_ONCE: usize = 16_384;

#[cfg(test)]
mod tests;
