//! CUBIC (RFC 9438) for SCTP: the algorithm is the crate `congestion`'s, the units are those of RFC 9260 §7.2.

use ::congestion::cubic;

use super::{Acknowledged, CongestionControl, CongestionWindow, PathCapacity, length, octets};

/// Grows along a cubic curve towards the window of the last loss, and by seven tenths after one.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    curve: cubic::Cubic,
}

impl Cubic {
    pub(crate) fn new(capacity: PathCapacity) -> Self {
        Self { curve: cubic::Cubic::new(octets(capacity.pmdcs), octets(capacity.initial_window)) }
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> CongestionWindow {
        let cwnd = length(self.curve.cwnd());
        CongestionWindow {
            cwnd,
            ssthresh: self.curve.ssthresh().map_or(CongestionWindow::NO_THRESHOLD, length),
        }
    }

    fn on_acknowledged(&mut self, acked: &Acknowledged) {
        // RFC 9438 §4.1: nothing grows while a recovery is under way.
        if acked.in_recovery {
            return;
        }
        let bytes = if self.window().is_slow_start() {
            acked.slow_start_bytes(length(self.curve.segment_bytes()))
        } else {
            acked.bytes
        };
        let acknowledged = cubic::Acknowledged {
            now: acked.now,
            bytes: octets(bytes),
            // How far the window looks ahead (RFC 9438 §4.2): TCP's smoothed round trip follows each acknowledgment.
            srtt: acked.present_rtt(),
            is_window_used: acked.flight_before >= length(self.curve.cwnd()),
        };
        match acked.latest_rtt {
            Some(rtt) => {
                let flight = octets(acked.flight_before.saturating_sub(acked.bytes));
                self.curve.on_measured(&acknowledged, &cubic::Measured { rtt: Some(rtt), flight });
            }
            None => self.curve.on_acknowledged(&acknowledged),
        }
    }

    /// RFC 9438 counts what is newly acknowledged alone.
    fn on_duplicates(&mut self, _bytes: usize) {}

    fn on_loss(&mut self) {
        self.curve.on_congestion();
    }

    fn on_timeout(&mut self) {
        self.curve.on_timeout();
    }

    /// Takes the last reduction back (RFC 9438 §4.9).
    fn on_spurious(&mut self) {
        self.curve.on_spurious_congestion();
    }

    fn on_packet_size(&mut self, pmdcs: usize) {
        self.curve.set_segment_bytes(octets(pmdcs));
    }

    fn on_unused(&mut self, window: CongestionWindow) {
        let ssthresh = (window.ssthresh != CongestionWindow::NO_THRESHOLD).then(|| octets(window.ssthresh));
        self.curve.set_window(octets(window.cwnd), ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use virtual_time::Instant;

    use super::*;

    fn grown() -> Cubic {
        Cubic::new(PathCapacity { pmdcs: 1000, initial_window: 100_000 })
    }

    fn acked(millis: u64, flight_before: usize) -> Acknowledged {
        let srtt = Duration::from_millis(200);
        Acknowledged {
            now: Instant::from_millis(millis),
            bytes: 50_000,
            flight_before,
            srtt,
            ..Acknowledged::default()
        }
    }

    /// RFC 9438 §4.6.
    #[test]
    fn loss_leaves_seven_tenths_and_a_timeout_one_packet() {
        let mut cubic = grown();
        assert_eq!(
            cubic.window(),
            CongestionWindow { cwnd: 100_000, ssthresh: CongestionWindow::NO_THRESHOLD }
        );
        cubic.on_loss();
        assert_eq!(cubic.window(), CongestionWindow { cwnd: 70_000, ssthresh: 70_000 });
        cubic.on_timeout();
        assert_eq!(cubic.window(), CongestionWindow { cwnd: 1000, ssthresh: 49_000 });
    }

    /// RFC 9438 §4.2, §5.8: by hand, ∛(30/0.4) = 4.2 s.
    #[test]
    fn window_returns_to_where_it_was_only_while_it_is_used_and_no_recovery_runs() {
        let (mut used, mut unused, mut recovering) = (grown(), grown(), grown());
        for cubic in [&mut used, &mut unused, &mut recovering] {
            cubic.on_loss();
        }
        for millis in (0..4500).step_by(100) {
            used.on_acknowledged(&acked(millis, usize::MAX));
            unused.on_acknowledged(&acked(millis, 69_999));
            recovering.on_acknowledged(&Acknowledged { in_recovery: true, ..acked(millis, usize::MAX) });
        }
        assert!((99_000..101_000).contains(&used.window().cwnd), "{:?}", used.window());
        assert_eq!([unused, recovering].map(|cubic| cubic.window().cwnd), [70_000; 2]);
    }

    /// RFC 9406 §4.2.
    #[test]
    fn slow_start_counts_all_that_one_sack_acknowledges_if_packets_are_paced_and_eight_of_them_if_not() {
        let capacity = PathCapacity { pmdcs: 1000, initial_window: 20_000 };
        for (is_paced, cwnd) in [(true, 70_000), (false, 28_000)] {
            let mut cubic = Cubic::new(capacity);
            cubic.on_acknowledged(&Acknowledged { is_paced, ..acked(0, usize::MAX) });
            assert_eq!(cubic.window().cwnd, cwnd);
        }
    }

    #[test]
    fn window_that_was_unused_begins_a_new_curve() {
        let mut cubic = grown();
        cubic.on_loss();
        cubic.on_unused(CongestionWindow { cwnd: 4000, ssthresh: 4000 });
        for millis in (0..2000).step_by(200) {
            cubic.on_acknowledged(&acked(millis, usize::MAX));
        }
        assert!(cubic.window().cwnd < 50_000, "{:?}", cubic.window());
    }
}
