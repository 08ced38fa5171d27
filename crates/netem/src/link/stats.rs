//! Counters of one direction of a link.

use super::DropReason;

/// Counters of a link since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LinkStats {
    /// The number of packets offered.
    pub offered: u64,
    /// The number of octets offered.
    pub offered_bytes: u64,
    /// Packets dropped because their number was listed.
    pub dropped_listed: u64,
    /// Packets the loss model took.
    pub dropped_loss: u64,
    /// Packets, copies included, that found the queue full.
    pub dropped_queue: u64,
    /// The number of copies made.
    pub duplicated: u64,
    /// Packets that skipped the delay.
    pub reordered: u64,
    /// Packets with a flipped bit, copies not counted.
    pub corrupted: u64,
    /// Packets delivered, copies included.
    pub delivered: u64,
    /// Octets delivered, copies included.
    pub delivered_bytes: u64,
}

impl LinkStats {
    /// Returns the number of packets dropped for any reason.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped_listed + self.dropped_loss + self.dropped_queue
    }

    pub(super) const fn count_drop(&mut self, reason: DropReason) {
        match reason {
            DropReason::Listed => self.dropped_listed += 1,
            DropReason::Loss => self.dropped_loss += 1,
            DropReason::QueueFull => self.dropped_queue += 1,
        }
    }
}
