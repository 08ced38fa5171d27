//! Counters of a simulated world.

use crate::trace::Fate;

/// Counters of a world since it was made. Every packet that was dropped counts under one reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Events: packets that reached the far end of a link, and timers that fired. Sending a packet is part of the
    /// event that caused it and not counted again.
    pub events: u64,
    /// Timers that fired at hosts.
    pub timeouts: u64,
    /// Packets hosts sent, segments counted one by one.
    pub sent: u64,
    /// Packets handed to hosts, copies included.
    pub delivered: u64,
    /// Packets that routers took in and sent on; one packet counts once per router.
    pub forwarded: u64,
    /// Packets dropped because their number was listed in the link's impairments.
    pub dropped_listed: u64,
    /// Packets the loss model of a link took.
    pub dropped_loss: u64,
    /// Packets that found the queue of a link full.
    pub dropped_queue: u64,
    /// Packets sent into or under way on a link that was down.
    pub dropped_link_down: u64,
    /// Packets with a flipped bit that failed the UDP checksum.
    pub dropped_checksum: u64,
    /// Packets that arrived at a host that does not have their destination address.
    pub dropped_not_for_host: u64,
    /// Packets with a foreign source address, no link or route to their destination, or addresses of two families.
    pub dropped_unroutable: u64,
    /// Packets longer than IP can carry.
    pub dropped_too_long: u64,
    /// Packets that went through more routers than a hop limit of 64 allows: a loop in the routes.
    pub dropped_hop_limit: u64,
}

impl Counters {
    /// Returns the number of packets dropped for any reason.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped_listed
            + self.dropped_loss
            + self.dropped_queue
            + self.dropped_link_down
            + self.dropped_checksum
            + self.dropped_not_for_host
            + self.dropped_unroutable
            + self.dropped_too_long
            + self.dropped_hop_limit
    }

    pub(crate) const fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Delivered => self.delivered += 1,
            Fate::Listed => self.dropped_listed += 1,
            Fate::Lost => self.dropped_loss += 1,
            Fate::QueueFull => self.dropped_queue += 1,
            Fate::LinkDown => self.dropped_link_down += 1,
            Fate::BadChecksum => self.dropped_checksum += 1,
            Fate::NotForHost => self.dropped_not_for_host += 1,
            Fate::Unroutable => self.dropped_unroutable += 1,
            Fate::TooLong => self.dropped_too_long += 1,
            Fate::Forwarded => self.forwarded += 1,
            Fate::HopLimit => self.dropped_hop_limit += 1,
        }
    }
}
