//! A link: one direction of a path.

mod aqm;
mod in_flight;
mod serialiser;
mod stats;
#[cfg(test)]
mod tests;

pub use stats::LinkStats;

use virtual_time::Instant;

use crate::dice::Dice;
use crate::impairments::{Impairments, InvalidImpairments};
use in_flight::InFlight;
use serialiser::Serialiser;

/// One direction of a path, carrying packets of type `P`.
///
/// A driver offers packets as they come, delivers all that are due, then waits until [`poll_timeout`] or the next
/// packet. Time must not go back between calls; extra calls are harmless.
///
/// Conservation: `offered + duplicated = delivered + dropped + in flight`, where dropping a copy for want of queue
/// counts as a drop of its own.
///
/// [`poll_timeout`]: Link::poll_timeout
#[derive(Clone, Debug)]
pub struct Link<P> {
    impairments: Impairments,
    dice: Dice,
    serialiser: Serialiser,
    in_flight: InFlight<P>,
    stats: LinkStats,
}

impl<P> Link<P> {
    /// Creates an idle link. `seed` is for this direction alone: take it from
    /// [`derive_seed`](crate::derive_seed).
    ///
    /// # Errors
    /// When a field of `impairments` is out of bounds.
    pub fn new(impairments: Impairments, seed: u64) -> Result<Self, InvalidImpairments> {
        impairments.validate()?;
        Ok(Self {
            impairments,
            dice: Dice::new(seed),
            serialiser: Serialiser::default(),
            in_flight: InFlight::default(),
            stats: LinkStats::default(),
        })
    }

    /// Changes the impairments for the packets offered from now on; numbering goes on, and what is in flight
    /// arrives as decided.
    ///
    /// # Errors
    /// When a field is out of bounds; the link then stays as it was.
    pub fn set_impairments(&mut self, impairments: Impairments) -> Result<(), InvalidImpairments> {
        impairments.validate()?;
        self.impairments = impairments;
        Ok(())
    }

    /// Returns what the link does to packets offered now.
    #[must_use]
    pub const fn impairments(&self) -> &Impairments {
        &self.impairments
    }

    /// Returns when the next packet is due, or `None` with nothing in flight.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.in_flight.next_due()
    }

    /// Returns the next packet that is due at `now`; call until `None`. Packets due at the same time come in
    /// the order they were offered in.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Delivery<P>> {
        let delivery = self.in_flight.pop_due(now)?;
        self.stats.delivered += 1;
        self.stats.delivered_bytes = self.stats.delivered_bytes.saturating_add(delivery.wire_bytes);
        Some(delivery)
    }

    /// Returns how many packets were offered and neither dropped nor delivered yet, copies included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns the counters of the link.
    #[must_use]
    pub const fn stats(&self) -> &LinkStats {
        &self.stats
    }

    fn dropped(&mut self, number: u64, reason: DropReason) -> Verdict {
        self.stats.count_drop(reason);
        Verdict::Dropped { number, reason }
    }
}

impl<P: Clone> Link<P> {
    /// Takes in the next packet, which occupies `wire_bytes` octets on the link, and decides about it.
    pub fn offer(&mut self, now: Instant, wire_bytes: usize, packet: P) -> Verdict {
        let wire_bytes = u64::try_from(wire_bytes).unwrap_or(u64::MAX);
        self.stats.offered += 1;
        self.stats.offered_bytes = self.stats.offered_bytes.saturating_add(wire_bytes);
        let number = self.stats.offered;

        // The chain steps for every packet, listed ones too.
        let is_lost = self.dice.loses(now, number, &self.impairments.loss);
        if self.impairments.drop_packets.contains(&number) {
            return self.dropped(number, DropReason::Listed);
        }
        if is_lost {
            return self.dropped(number, DropReason::Loss);
        }
        let draw = || self.dice.queue(number);
        let Some(departure) = self.serialiser.admit(now, wire_bytes, &self.impairments, draw) else {
            return self.dropped(number, DropReason::QueueFull);
        };
        let original = self.on_the_way(now, departure, number, wire_bytes, packet);
        let deliver_at = original.due;
        if self.dice.duplicates(number, &self.impairments) {
            self.send_copy(now, departure, &original);
        }
        self.in_flight.push(original);
        Verdict::Queued { number, deliver_at }
    }

    /// Returns the packet with its due time and its damage.
    fn on_the_way(
        &mut self,
        now: Instant,
        departure: Instant,
        number: u64,
        wire_bytes: u64,
        packet: P,
    ) -> Delivery<P> {
        let is_reordered = self.dice.reorders(number, &self.impairments);
        let due =
            if is_reordered { departure } else { departure + self.dice.delay(number, &self.impairments) };
        let flipped_bit = self.dice.corrupts(number, &self.impairments).map(FlippedBit);
        self.stats.reordered += u64::from(is_reordered);
        self.stats.corrupted += u64::from(flipped_bit.is_some());
        Delivery { due, offered_at: now, number, wire_bytes, flipped_bit, packet }
    }

    /// Sends a copy behind the original, if the queue has room for it.
    fn send_copy(&mut self, now: Instant, departure: Instant, original: &Delivery<P>) {
        self.stats.duplicated += 1;
        let draw = || self.dice.queue_copy(original.number);
        match self.serialiser.admit(now, original.wire_bytes, &self.impairments, draw) {
            Some(copy_departure) => {
                let mut copy = original.clone();
                copy.due = original.due + copy_departure.since(departure);
                self.in_flight.push(copy);
            }
            None => self.stats.count_drop(DropReason::QueueFull),
        }
    }
}

/// A packet at the far end of the link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery<P> {
    /// The time at which the packet arrives at the far end.
    pub due: Instant,
    /// The time at which the packet was offered.
    pub offered_at: Instant,
    /// The number of the packet, from 1; a copy has that of its original.
    pub number: u64,
    /// The octets it occupied on the link.
    pub wire_bytes: u64,
    /// The damage to do, if any: the link does not look into packets.
    pub flipped_bit: Option<FlippedBit>,
    /// The packet as it was offered.
    pub packet: P,
}

/// One bit of the packet arrives wrong. Which one is fixed once the length is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlippedBit(u64);

impl FlippedBit {
    /// Flips the bit in `packet`, uniformly chosen; an empty packet stays as it is.
    pub fn apply(self, packet: &mut [u8]) {
        let position = self.position(packet.len());
        if let Some(octet) = usize::try_from(position / 8).ok().and_then(|index| packet.get_mut(index)) {
            *octet ^= 0x80 >> (position % 8);
        }
    }

    /// Returns the position of the bit in a packet of `length` octets, the first octet's most significant bit
    /// being 0.
    #[must_use]
    pub fn position(self, length: usize) -> u64 {
        let bits = 8 * u128::try_from(length).unwrap_or(0);
        u64::try_from((u128::from(self.0) * bits) >> 64).unwrap_or(0)
    }
}

/// The decision of [`Link::offer`] about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet is on its way.
    Queued {
        /// The number of the packet, from 1.
        number: u64,
        /// The time at which the packet will be due.
        deliver_at: Instant,
    },
    /// The packet was dropped, and the link has forgotten it.
    Dropped {
        /// The number of the packet, from 1.
        number: u64,
        /// The reason why it was dropped.
        reason: DropReason,
    },
}

/// The reason why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum DropReason {
    /// The number of the packet is among [`Impairments::drop_packets`].
    Listed,
    /// The loss model took the packet.
    Loss,
    /// There was no room in the queue, or its discipline dropped the packet before it was full.
    QueueFull,
}
