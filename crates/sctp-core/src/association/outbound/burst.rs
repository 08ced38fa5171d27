//! How many packets leave on one occasion (Max.Burst, RFC 9260 §6.1 (D)).

use sctp_wire::COMMON_HEADER_BYTES;
use virtual_time::Instant;

use super::Outbound;
use crate::config::InitialWindow;
use crate::path::congestion::share;
use crate::transmit::PathIndex;

/// How many packets with new data may still go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// The packets of an occasion at most: Max.Burst, or the initial window until something of it was acknowledged.
    limit: u32,
    /// Max.Burst.
    usual: u32,
    /// Packets with new data that may still go out on this occasion.
    left: u32,
    /// The time since which messages of the user have added nothing to it.
    paced_at: Instant,
    /// A message was handed in at this time that may add something.
    renew_at: Option<Instant>,
    /// Octets in flight before the SACKs of this occasion: what has left the network may be replaced beyond Max.Burst, or
    /// a peer that acknowledges many packets at once would throttle us to Max.Burst a round trip.
    refill_to_bytes: usize,
}

impl Burst {
    /// Ten packets that came after each other would not be faster than the three of RFC 9260 §7.2.1: an initial window of ten may leave at
    /// once, whatever Max.Burst is.
    pub(super) fn new(usual: u32, initial_window: InitialWindow) -> Self {
        let limit = match initial_window {
            InitialWindow::TenPackets => usual.max(10),
            InitialWindow::Rfc9260 | InitialWindow::Rfc4960 => usual,
        };
        Self { limit, usual, left: limit, paced_at: Instant::EPOCH, renew_at: None, refill_to_bytes: 0 }
    }

    /// Returns whether Max.Burst lets a packet with new data go, with so much in flight on its path.
    pub(super) fn is_open(&self, flight: usize) -> bool {
        self.left > 0 || flight < self.refill_to_bytes
    }

    /// Counts a packet with data that has gone, with which so much is in flight on its path.
    pub(super) fn count(&mut self, flight: usize) {
        if flight > self.refill_to_bytes {
            self.left = self.left.saturating_sub(1);
        }
    }
}

impl Outbound {
    /// Max.Burst is another one, from the next occasion on.
    pub(in crate::association) fn set_burst_limit(&mut self, packets: u32) {
        (self.burst.limit, self.burst.usual) = (packets, packets);
    }

    /// Max.Burst packets may go, beside those that replace what was acknowledged.
    pub(in crate::association) fn begin_burst(&mut self, now: Instant) {
        self.burst.left = self.burst.limit;
        self.burst.paced_at = now;
        self.burst.renew_at = None;
    }

    /// A SACK came while so much was in flight on a path: as much may be in flight again. Counted in octets in flight, since
    /// packets need not be full; several SACKs on one occasion make way for what all of them acknowledge.
    pub(super) fn refill(&mut self, path: PathIndex, flight_before: usize) {
        self.burst.limit = self.burst.usual;
        if path == self.paths.for_data() {
            self.burst.refill_to_bytes = self.burst.refill_to_bytes.max(flight_before);
        }
    }

    /// Nothing more goes on this occasion: what was acknowledged and not replaced does not enlarge a later burst.
    pub(in crate::association) fn end_burst(&mut self) {
        self.burst.refill_to_bytes = 0;
    }

    /// Messages were handed in: what they may add to the packets of this occasion is looked at when the next one is due.
    #[inline]
    pub(in crate::association) fn note_messages(&mut self, now: Instant) {
        if self.burst.renew_at != Some(now) {
            self.renew_burst();
            self.burst.renew_at = Some(now);
        }
    }

    /// Renews what a message may add to the packets of this occasion. A user who sends in a loop has Max.Burst
    /// packets in flight (RFC 9260 §6.1 (D), counted as it adjusts cwnd) until something comes back; beyond
    /// that only as much as the congestion window sends in the time that has passed, so that messages far apart
    /// do not wait.
    ///
    /// Messages handed in at the same time add the same, so it is looked at when the next packet is due; while packets are
    /// paced nothing asks for it.
    #[inline]
    pub(in crate::association) fn renew_burst(&mut self) {
        if let Some(now) = self.burst.renew_at
            && !self.paths.path(self.paths.for_data()).congestion.is_paced()
        {
            self.burst.renew_at = None;
            self.renew_burst_at(now);
        }
    }

    fn renew_burst_at(&mut self, now: Instant) {
        let path = self.paths.path(self.paths.for_data());
        let chunk_bytes = path.packet_bytes() - COMMON_HEADER_BYTES;
        let limit = self.burst.limit;
        let (burst_bytes, flight) = (chunk_bytes * limit as usize, self.sender.flight(path.index));
        let in_flight = packets(burst_bytes.saturating_sub(flight).div_ceil(chunk_bytes));
        let round_trip = path.rto.srtt().unwrap_or(path.rto.rto());
        let passed = now.since(self.burst.paced_at);
        let paced = packets(share(path.congestion.cwnd(), passed, round_trip) / chunk_bytes);
        if paced > 0 {
            self.burst.paced_at = now;
        }
        self.burst.left = self.burst.left.saturating_add(paced).max(in_flight).min(limit);
    }
}

fn packets(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
