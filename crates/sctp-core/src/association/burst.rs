//! How many packets leave on one occasion (Max.Burst, RFC 9260 §6.1 (D)).

use sctp_wire::COMMON_HEADER_BYTES;
use virtual_time::Instant;

use super::Association;
use crate::path::congestion::share;
use crate::transmit::PathId;

impl Association {
    /// Max.Burst packets may go, beside those that replace what was acknowledged.
    pub(super) fn begin_burst(&mut self, now: Instant) {
        self.outgoing.burst_left = self.config.transmission.max_burst_packets;
        self.outgoing.paced_at = now;
        self.outgoing.renew_at = None;
    }

    /// A SACK came while so much was in flight on a path: as much may be in flight again. Counted in octets in flight, since
    /// packets need not be full; several SACKs on one occasion make way for what all of them acknowledge.
    pub(super) fn refill(&mut self, path: PathId, flight_before: usize) {
        if path == self.paths.for_data() {
            self.outgoing.refill_to_bytes = self.outgoing.refill_to_bytes.max(flight_before);
        }
    }

    /// Returns whether Max.Burst lets a packet with new data go.
    pub(super) fn burst_is_open(&self, path: PathId) -> bool {
        self.outgoing.burst_left > 0 || self.sender.flight(path) < self.outgoing.refill_to_bytes
    }

    /// A packet with data has gone.
    pub(super) fn count_in_burst(&mut self, path: PathId) {
        if self.sender.flight(path) > self.outgoing.refill_to_bytes {
            self.outgoing.burst_left = self.outgoing.burst_left.saturating_sub(1);
        }
    }

    /// Nothing more goes on this occasion: what was acknowledged and not replaced does not enlarge a later burst.
    pub(super) fn end_burst(&mut self) {
        self.outgoing.refill_to_bytes = 0;
    }

    /// Renews what a message may add to the packets of this occasion. A user who sends in a loop has Max.Burst
    /// packets in flight (RFC 9260 §6.1 (D), counted as it adjusts cwnd) until something comes back; beyond
    /// that only as much as the congestion window sends in the time that has passed, so that messages far apart
    /// do not wait.
    ///
    /// Messages handed in at the same time add the same, so it is looked at when the next packet is due.
    #[inline]
    pub(super) fn renew_burst(&mut self) {
        if let Some(now) = self.outgoing.renew_at.take() {
            self.renew_burst_at(now);
        }
    }

    fn renew_burst_at(&mut self, now: Instant) {
        let path = self.paths.path(self.paths.for_data());
        let chunk_bytes = path.packet_bytes() - COMMON_HEADER_BYTES;
        let limit = self.config.transmission.max_burst_packets;
        let (burst_bytes, flight) = (chunk_bytes * limit as usize, self.sender.flight(path.id));
        let in_flight = packets(burst_bytes.saturating_sub(flight).div_ceil(chunk_bytes));
        let round_trip = path.rto.srtt().unwrap_or(path.rto.rto());
        let passed = now.since(self.outgoing.paced_at);
        let paced = packets(share(path.congestion.cwnd(), passed, round_trip) / chunk_bytes);
        if paced > 0 {
            self.outgoing.paced_at = now;
        }
        self.outgoing.burst_left = self.outgoing.burst_left.saturating_add(paced).max(in_flight).min(limit);
    }
}

fn packets(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
