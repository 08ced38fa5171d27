//! BBRv3 (draft-ietf-ccwg-bbr) for SCTP: the model is the crate `congestion`'s, the units are those of RFC 9260 §7.2.
//!
//! The model keeps what it has to know of packets on their way by the time at which they left, which chunks carry anyway: nothing is added to a chunk. Losses
//! are told chunk by chunk as they are found, one T3-rtx finds as a timeout alone.
//!
//! Departures from the draft, beside those of the crate: the window does not shrink at once when a recovery begins (the rate bounds what leaves); after T3-rtx
//! one packet leaves at a time until something is acknowledged (RFC 9260 §7.2.3); after idleness the window is halved for each RTO (§7.2.1).

use core::time::Duration;

use ::congestion::bbr;
use virtual_time::Instant;

use super::{Acknowledged, CongestionControl, CongestionWindow, PathCapacity, length, octets};

/// Sends at the rate at which the path delivers, and twice as much as it holds is in flight at most.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    model: bbr::Bbr,
}

impl Bbr {
    pub(super) fn new(capacity: PathCapacity) -> Self {
        // Flows fall out of step by the times at which they draw; the seed may be the same.
        let model = bbr::Bbr::new(octets(capacity.pmdcs), octets(capacity.initial_window), 0);
        Self { model }
    }

    /// Returns the octets per second at which packets leave, once a round trip was measured.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        self.model.pacing_rate()
    }

    /// Chunks of so many octets leave in a packet, with so many in flight before.
    pub(super) fn on_sent(&mut self, now: Instant, bytes: usize, flight: usize) {
        self.model.on_sent(&bbr::Sent { now, bytes: octets(bytes), flight: octets(flight) });
    }

    /// Chunks of so many octets, which left at `sent_at`, were declared lost.
    pub(super) fn on_lost(&mut self, now: Instant, bytes: usize, sent_at: Instant) {
        self.model.on_lost(&bbr::Lost { now, bytes: octets(bytes), sent_at });
    }
}

impl CongestionControl for Bbr {
    /// There is no threshold: where the start ends the path says, not the window.
    fn window(&self) -> CongestionWindow {
        CongestionWindow { cwnd: length(self.model.cwnd()), ssthresh: CongestionWindow::NO_THRESHOLD }
    }

    fn on_acknowledged(&mut self, acked: &Acknowledged) {
        let cwnd = length(self.model.cwnd());
        let is_window_used = acked.flight_before >= cwnd;
        let flight = octets(acked.flight_before.saturating_sub(acked.bytes));
        self.model.on_acknowledged(&bbr::Acknowledgment {
            sent_at: acked.newest_sent_at,
            rtt: round_trip(acked),
            is_window_used,
            is_limited: !is_window_used && !acked.is_held,
            is_recovering: acked.in_recovery,
            ..bbr::Acknowledgment::new(acked.now, octets(acked.bytes), flight)
        });
    }

    /// Chunks that arrived twice tell nothing about what the path delivers.
    fn on_duplicates(&mut self, _bytes: usize) {}

    /// Losses are told one by one.
    fn on_loss(&mut self) {}

    fn on_timeout(&mut self) {
        self.model.on_timeout();
    }

    fn on_spurious(&mut self) {
        self.model.on_spurious();
    }

    fn on_packet_size(&mut self, pmdcs: usize) {
        self.model.set_segment_bytes(octets(pmdcs));
    }

    fn on_unused(&mut self, window: CongestionWindow) {
        self.model.set_window(octets(window.cwnd));
    }
}

/// Returns the round trip of the chunk sent last, where it is certain which of its transmissions was answered; else what the SACK measured, once a round trip.
fn round_trip(acked: &Acknowledged) -> Option<Duration> {
    let of_newest = acked.now.since(acked.newest_sent_at);
    acked.latest_rtt.filter(|rtt| *rtt == of_newest).or(acked.rtt)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    /// A packet of 1000 octets leaves each millisecond and is acknowledged after 20, for so many milliseconds.
    fn running(millis: u64) -> Bbr {
        let mut control = Bbr::new(PathCapacity { pmdcs: 1000, initial_window: 4000 });
        for ms in 0..millis {
            let now = Instant::from_millis(ms);
            let flight_before = 20_000.min(1000 * usize::try_from(ms).unwrap());
            if ms >= 20 {
                control.on_acknowledged(&acked(now, flight_before));
            }
            control.on_sent(now, 1000, flight_before.min(19_000));
        }
        control
    }

    fn acked(now: Instant, flight_before: usize) -> Acknowledged {
        let (newest_sent_at, latest_rtt) = (now - RTT, Some(RTT));
        let is_held = true;
        Acknowledged {
            now,
            bytes: 1000,
            flight_before,
            newest_sent_at,
            latest_rtt,
            is_held,
            ..Acknowledged::default()
        }
    }

    #[test]
    fn rate_is_what_the_path_delivers_and_window_twice_what_it_holds() {
        let control = running(4000);
        let rate = control.pacing_rate().unwrap();
        assert!((890_000..=1_250_000).contains(&rate), "{rate}");
        let cwnd = control.window().cwnd;
        assert!((40_000..=60_000).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn loss_costs_no_window_and_a_timeout_all_but_one_packet_until_it_is_taken_back() {
        let mut control = running(4000);
        let before = control.window();
        control.on_lost(Instant::from_millis(4000), 1000, Instant::from_millis(3980));
        control.on_loss();
        assert_eq!(control.window(), before);
        control.on_timeout();
        assert_eq!(control.window().cwnd, 1000);
        control.on_spurious();
        assert_eq!(control.window(), before);
    }

    /// The answer to a chunk that was sent again may be that to its original.
    #[test]
    fn round_trip_counts_only_where_it_is_certain_what_was_answered() {
        let now = Instant::from_millis(5000);
        assert_eq!(round_trip(&acked(now, 0)), Some(RTT));
        let again = Acknowledged { newest_sent_at: now - RTT / 4, ..acked(now, 0) };
        assert_eq!(round_trip(&again), None);
        assert_eq!(round_trip(&Acknowledged { rtt: Some(2 * RTT), ..again }), Some(2 * RTT));
    }
}
