//! How many packets leave on one occasion (Max.Burst, RFC 9260 §6.1 (D)).

use sctp_wire::COMMON_HEADER_BYTES;
use virtual_time::Instant;

use super::Association;

impl Association {
    /// Max.Burst packets may go, and as many as have left the network.
    pub(super) fn begin_burst(&mut self, now: Instant) {
        let limit = self.config.transmission.max_burst_packets;
        let mut replaced = 0;
        if self.outgoing.acknowledged_bytes > 0 {
            let packet_bytes = self.paths.path(self.paths.for_data()).packet_bytes();
            replaced = core::mem::take(&mut self.outgoing.acknowledged_bytes) / packet_bytes;
        }
        self.outgoing.burst_left = limit.saturating_add(packets(replaced));
        self.outgoing.paced_at = now;
        self.outgoing.renew_at = None;
    }

    /// What a message may add to the packets of this occasion. Who sends in a loop has Max.Burst packets in flight (RFC
    /// 9260 §6.1 (D), counted as it adjusts cwnd) until something comes back; beyond that only as much as the
    /// congestion window sends in the time that has passed, so that messages far apart do not wait.
    ///
    /// Messages handed in at the same time add the same, so it is looked at when the next packet is due.
    pub(super) fn renew_burst(&mut self) {
        let Some(now) = self.outgoing.renew_at.take() else { return };
        let path = self.paths.path(self.paths.for_data());
        let chunk_bytes = path.packet_bytes() - COMMON_HEADER_BYTES;
        let limit = self.config.transmission.max_burst_packets;
        let (burst_bytes, flight) = (chunk_bytes * limit as usize, self.sender.flight(path.id));
        let in_flight = packets(burst_bytes.saturating_sub(flight).div_ceil(chunk_bytes));
        let round_trip = path.rto.srtt().unwrap_or(path.rto.rto()).as_nanos().max(1);
        let passed = now.since(self.outgoing.paced_at).as_nanos().min(round_trip);
        let paced =
            usize::try_from(passed * path.congestion.cwnd() as u128 / round_trip).unwrap_or(usize::MAX);
        let paced = packets(paced / chunk_bytes);
        if paced > 0 {
            self.outgoing.paced_at = now;
        }
        // What acknowledgments have granted beyond Max.Burst stays granted.
        let granted = self.outgoing.burst_left;
        self.outgoing.burst_left = granted.max(granted.saturating_add(paced).max(in_flight).min(limit));
    }
}

fn packets(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
