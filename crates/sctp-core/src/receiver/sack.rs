//! The times at which a SACK is owed (RFC 9260 §6.2, §6.7).
//!
//! Counted by packet, never by chunk, so that no packet is answered by more than one SACK. What the SACK
//! says comes from the TSN map and the window; only the duplicates are kept here. The schedule does not care when
//! SACKs are written: one that is due when the next packet is read is set aside or left out (`earlier`), and counts as
//! sent.

use sctp_wire::Tsn;

/// The debt of SACKs to the peer, and what the packet being read adds to it.
#[derive(Debug)]
pub(super) struct SackSchedule {
    every_packets: u32,
    unacknowledged_packets: u32,
    owed: SackDemand,
    /// A SACK was left out: the next one stands for it, and is due.
    is_overdue: bool,
    /// The peer has been answered before.
    has_answered: bool,
    had_gap: bool,
    packet: PacketFacts,
    duplicates: Vec<Tsn>,
}

impl SackSchedule {
    pub(super) fn new(every_packets: u32) -> Self {
        Self {
            every_packets,
            unacknowledged_packets: 0,
            owed: SackDemand::None,
            is_overdue: false,
            has_answered: false,
            had_gap: false,
            packet: PacketFacts::default(),
            duplicates: Vec::new(),
        }
    }

    /// Changes after how many packets one is due.
    pub(super) fn set_every(&mut self, packets: u32) {
        self.every_packets = packets;
    }

    /// A chunk was taken whose TSN is new.
    pub(super) fn on_new(&mut self, is_immediate: bool) {
        self.packet.has_new = true;
        self.packet.asks_at_once |= is_immediate;
    }

    /// The peer gave something up and waits to hear that it is known (RFC 3758 §3.6 would let it wait).
    pub(super) fn on_forward_tsn(&mut self) {
        self.on_new(true);
    }

    /// A chunk came again.
    pub(super) fn on_duplicate(&mut self, tsn: Tsn) {
        self.packet.has_duplicate = true;
        if self.duplicates.len() < DUPLICATE_LIMIT {
            self.duplicates.push(tsn);
        }
    }

    /// A chunk was not kept: the peer must hear at once what is left.
    pub(super) fn on_dropped(&mut self) {
        self.packet.has_dropped = true;
    }

    /// Decides what to do about the chunks of a packet, which is read.
    pub(super) fn on_packet_end(&mut self, has_gap: bool) -> SackDemand {
        let packet = core::mem::take(&mut self.packet);
        if packet.has_new {
            self.unacknowledged_packets += 1;
        }
        // The first data of an association is not kept waiting, as with Linux and FreeBSD: their senders, whose first
        // window is small, count on it. What came with COOKIE ECHO is among it (RFC 9260 §5.1.5, step 7).
        let has_enough = self.unacknowledged_packets >= self.every_packets || !self.has_answered;
        let demand = demand(packet, self.had_gap || has_gap, has_enough);
        self.had_gap = has_gap;
        self.owed = self.owed.max(demand);
        demand
    }

    /// Makes a SACK that may wait go now.
    pub(super) fn hurry(&mut self) {
        if self.owed == SackDemand::Delayed {
            self.owed = SackDemand::Immediate;
        }
    }

    /// What was said last may not have arrived: it is said again now.
    pub(super) fn repeat(&mut self) {
        self.is_overdue |= self.has_answered;
    }

    pub(super) fn owed(&self) -> SackDemand {
        if self.is_overdue { SackDemand::Immediate } else { self.owed }
    }

    /// Returns whether the packets read so far call for a SACK.
    #[inline]
    pub(super) fn has_fallen_due(&self) -> bool {
        self.owed == SackDemand::Immediate
    }

    /// Returns the TSNs that came again since the last SACK, at most [`DUPLICATE_LIMIT`].
    pub(super) fn duplicates(&self) -> &[Tsn] {
        &self.duplicates
    }

    /// A SACK is written or set aside: nothing is owed.
    pub(super) fn on_sent(&mut self) {
        self.begin_anew();
        self.is_overdue = false;
        self.duplicates.clear();
    }

    /// The SACK that is due is left out: the next one says what it would have said.
    pub(super) fn on_left_out(&mut self) {
        self.begin_anew();
        self.is_overdue = true;
    }

    fn begin_anew(&mut self) {
        self.owed = SackDemand::None;
        self.unacknowledged_packets = 0;
        self.has_answered = true;
    }
}

/// The urgency of a SACK, rising.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum SackDemand {
    /// Nothing to acknowledge.
    None,
    /// The SACK goes when the delayed-SACK timer fires, or earlier with a packet that goes anyway. Start the
    /// timer if it is not running.
    Delayed,
    /// The SACK goes with the next packet, which is due now.
    Immediate,
}

/// The facts about the chunks of one packet.
#[derive(Clone, Copy, Default, Debug)]
struct PacketFacts {
    has_new: bool,
    has_duplicate: bool,
    has_dropped: bool,
    asks_at_once: bool,
}

/// Returns the rule. Without a reason to hurry every second packet is acknowledged, the first after a pause
/// late.
///
/// At once: something was dropped for want of room (§6.2); something came twice, with new chunks or without
/// (§6.2); the I bit is set (§6.2); a TSN is missing or one just ceased to be (§6.7, RFC 5681 §4.2).
fn demand(packet: PacketFacts, is_around_gap: bool, has_enough: bool) -> SackDemand {
    if packet.has_dropped || packet.has_duplicate {
        SackDemand::Immediate
    } else if !packet.has_new {
        SackDemand::None
    } else if packet.asks_at_once || is_around_gap || has_enough {
        SackDemand::Immediate
    } else {
        SackDemand::Delayed
    }
}

/// Duplicates reported in one SACK; more are counted but not reported, and none is reported twice.
pub(super) const DUPLICATE_LIMIT: usize = 16;

#[cfg(test)]
mod tests;
