//! A control for paths that lose packets without being full (Westwood+; Grieco and Mascolo, "Performance evaluation and comparison
//! of Westwood+, New Reno, and Vegas TCP congestion control", ACM CCR 34(2), 2004, §2).
//!
//! Grows as RFC 9260 says, but by what is acknowledged instead of by SACKs. A loss says that something was lost, not that the path is full: the window falls to what the path carried of
//! late in its smallest round trip, when no queue stood. Where a queue has built up that is less than the window; where
//! none has, nearly all of it. Departures: the rate is the best of four round trips instead of a filtered mean, which a loss does not
//! lower; and no loss leaves less than RFC 9260 would.

use core::time::Duration;

use super::delivery::DeliveryRate;
use super::rfc9260::{Growth, Rfc9260};
use super::{Acknowledged, CongestionControl, CongestionWindow, PathCapacity};
use crate::config::LeastWindow;

/// Growth after RFC 9260, reductions after the rate of delivery.
#[derive(Clone, Debug)]
pub(crate) struct Westwood {
    growth: Rfc9260,
    delivery: DeliveryRate,
    min_rtt: Duration,
}

impl Westwood {
    pub(crate) fn new(capacity: PathCapacity) -> Self {
        let growth = Rfc9260::new(capacity, Growth::ByOctets);
        Self { growth, delivery: DeliveryRate::default(), min_rtt: Duration::ZERO }
    }

    pub(super) fn at_least(self, least: LeastWindow) -> Self {
        Self { growth: self.growth.at_least(least), ..self }
    }

    /// Returns the octets that the path carries without a queue, of a window of this size.
    fn carried(&self, cwnd: usize) -> usize {
        self.delivery.product(self.min_rtt).min(cwnd)
    }
}

impl CongestionControl for Westwood {
    fn window(&self) -> CongestionWindow {
        self.growth.window()
    }

    fn on_acknowledged(&mut self, acked: &Acknowledged) {
        self.min_rtt = acked.min_rtt;
        self.delivery.on_acknowledged(acked);
        self.growth.on_acknowledged(acked);
    }

    fn on_duplicates(&mut self, bytes: usize) {
        self.growth.on_duplicates(bytes);
    }

    fn on_loss(&mut self) {
        let carried = self.carried(self.window().cwnd);
        self.growth.on_loss();
        let CongestionWindow { cwnd, ssthresh } = self.growth.window();
        self.growth.raise(CongestionWindow { cwnd: cwnd.max(carried), ssthresh: ssthresh.max(carried) });
    }

    fn on_timeout(&mut self) {
        let carried = self.carried(self.window().cwnd);
        self.growth.on_timeout();
        let CongestionWindow { cwnd, ssthresh } = self.growth.window();
        self.growth.raise(CongestionWindow { cwnd, ssthresh: ssthresh.max(carried) });
    }

    fn on_spurious(&mut self) {
        self.growth.on_spurious();
    }

    fn on_packet_size(&mut self, pmdcs: usize) {
        self.growth.on_packet_size(pmdcs);
    }

    fn on_unused(&mut self, window: CongestionWindow) {
        self.growth.on_unused(window);
    }
}

#[cfg(test)]
mod tests {
    use virtual_time::Instant;

    use super::*;

    const MIN_RTT: Duration = Duration::from_millis(100);

    /// A window of 100 packets of 1000 octets, all of it acknowledged in each round trip of this length.
    fn running(round_trip_ms: u64) -> Westwood {
        let mut control = Westwood::new(PathCapacity { pmdcs: 1000, initial_window: 100_000 });
        for round in 0..4 {
            let now = Instant::from_millis(round * round_trip_ms);
            let srtt = Duration::from_millis(round_trip_ms);
            let sent =
                Acknowledged { now, bytes: 100_000, srtt, min_rtt: MIN_RTT, ..Acknowledged::default() };
            control.on_acknowledged(&sent);
        }
        assert_eq!(control.window().cwnd, 100_000);
        control
    }

    #[test]
    fn loss_without_a_queue_costs_nothing_and_one_with_a_queue_costs_the_queue() {
        for (round_trip_ms, cwnd) in [(100, 100_000), (125, 80_000), (160, 62_500), (400, 50_000)] {
            let mut control = running(round_trip_ms);
            control.on_loss();
            assert_eq!(control.window(), CongestionWindow { cwnd, ssthresh: cwnd }, "{round_trip_ms} ms");
        }
    }

    /// RFC 9260 §7.2.3, but slow start goes on until what the path carried.
    #[test]
    fn timeout_leaves_one_packet_and_remembers_what_the_path_carried() {
        let mut control = running(125);
        control.on_timeout();
        assert_eq!(control.window(), CongestionWindow { cwnd: 1000, ssthresh: 80_000 });
        control.on_spurious();
        assert_eq!(control.window().cwnd, 100_000);
    }

    /// RFC 9406 §4.2, as CUBIC has it.
    #[test]
    fn slow_start_counts_all_that_one_sack_acknowledges_if_packets_are_paced_and_eight_of_them_if_not() {
        for (is_paced, cwnd) in [(true, 40_000), (false, 18_000)] {
            let mut control = Westwood::new(PathCapacity { pmdcs: 1000, initial_window: 10_000 });
            let acked =
                Acknowledged { bytes: 30_000, flight_before: 30_000, is_paced, ..Acknowledged::default() };
            control.on_acknowledged(&acked);
            assert_eq!(control.window().cwnd, cwnd);
        }
    }

    #[test]
    fn loss_before_anything_was_measured_halves() {
        let mut control = Westwood::new(PathCapacity { pmdcs: 1000, initial_window: 10_000 });
        control.on_loss();
        assert_eq!(control.window().cwnd, 5000);
    }
}
