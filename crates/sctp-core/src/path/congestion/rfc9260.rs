//! The congestion control of RFC 9260 §7.2.
//!
//! By the letter slow start adds a packet for each SACK at most: a peer that answers twenty packets with one SACK opens the
//! window twenty times more slowly than one that answers each. Where what a SACK acknowledges counts instead
//! ([`Growth::ByOctets`]), its number makes no difference.

use super::{Acknowledged, CongestionControl, CongestionWindow, PathCapacity};
use crate::config::LeastWindow;

/// Slow start, congestion avoidance, halving on loss.
#[derive(Clone, Debug)]
pub(crate) struct Rfc9260 {
    pmdcs: usize,
    growth: Growth,
    least: LeastWindow,
    window: CongestionWindow,
    partial_bytes_acked: usize,
    /// The window before the last cut, until that is undone; elsewhere, for most paths never have one.
    before_cut: Option<Box<CongestionWindow>>,
}

/// The quantity that slow start counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// SACKs, with L = 1 (RFC 9260 §7.2.1).
    BySack,
    /// Slow start counts the octets that SACKs acknowledge.
    ByOctets,
}

impl Rfc9260 {
    pub(super) fn new(capacity: PathCapacity, growth: Growth) -> Self {
        let window =
            CongestionWindow { cwnd: capacity.initial_window, ssthresh: CongestionWindow::NO_THRESHOLD };
        let (pmdcs, least) = (capacity.pmdcs, LeastWindow::FourPackets);
        Self { pmdcs, growth, least, window, partial_bytes_acked: 0, before_cut: None }
    }

    /// A loss leaves this much at least.
    pub(super) fn at_least(self, least: LeastWindow) -> Self {
        Self { least, ..self }
    }

    /// The last cut was deeper than it needed to be; what it cut is remembered.
    pub(super) fn raise(&mut self, window: CongestionWindow) {
        self.window = window;
    }

    /// Grows the window in congestion avoidance (RFC 9260 §7.2.2).
    fn avoid_congestion(&mut self, acked: &Acknowledged, is_fully_used: bool) {
        self.partial_bytes_acked += acked.bytes;
        let cwnd = self.window.cwnd;
        if self.partial_bytes_acked < cwnd {
            return;
        }
        if is_fully_used {
            self.partial_bytes_acked -= cwnd;
            self.window.cwnd += self.pmdcs;
        } else {
            self.partial_bytes_acked = cwnd;
        }
    }

    /// Returns half of the window, but at least four packets (RFC 9260 §7.2.3), or two where that is wanted.
    fn halved(&self) -> usize {
        (self.window.cwnd / 2).max(self.least.packets() * self.pmdcs)
    }
}

impl CongestionControl for Rfc9260 {
    #[inline]
    fn window(&self) -> CongestionWindow {
        self.window
    }

    fn on_acknowledged(&mut self, acked: &Acknowledged) {
        let is_fully_used = acked.flight_before >= self.window.cwnd;
        if self.window.is_slow_start() {
            if is_fully_used && !acked.in_recovery {
                self.window.cwnd += match self.growth {
                    Growth::BySack => acked.bytes.min(self.pmdcs),
                    Growth::ByOctets => acked.slow_start_bytes(self.pmdcs),
                };
            }
        } else {
            self.avoid_congestion(acked, is_fully_used);
        }
        if acked.all_acknowledged {
            self.partial_bytes_acked = 0;
        }
    }

    /// RFC 9260 §7.2.2; whether they make the window grow shows with the next chunk that is acknowledged for the first time.
    fn on_duplicates(&mut self, bytes: usize) {
        if !self.window.is_slow_start() {
            self.partial_bytes_acked += bytes;
        }
    }

    fn on_loss(&mut self) {
        self.before_cut = Some(Box::new(self.window));
        let halved = self.halved();
        self.window = CongestionWindow { cwnd: halved, ssthresh: halved };
        self.partial_bytes_acked = 0;
    }

    fn on_timeout(&mut self) {
        self.before_cut = Some(Box::new(self.window));
        self.window = CongestionWindow { cwnd: self.pmdcs, ssthresh: self.halved() };
        self.partial_bytes_acked = 0;
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.before_cut.take() {
            self.window.cwnd = self.window.cwnd.max(before.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        }
    }

    fn on_packet_size(&mut self, pmdcs: usize) {
        self.pmdcs = pmdcs;
    }

    fn on_unused(&mut self, window: CongestionWindow) {
        self.before_cut = None;
        self.window = window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PMDCS: usize = 1000;

    fn controller() -> Rfc9260 {
        Rfc9260::new(PathCapacity { pmdcs: PMDCS, initial_window: 4000 }, Growth::BySack)
    }

    fn acked(bytes: usize, flight_before: usize) -> Acknowledged {
        Acknowledged { bytes, flight_before, ..Acknowledged::default() }
    }

    #[test]
    fn loss_leaves_four_packets_or_two_where_that_is_wanted() {
        for (least, packets) in [(LeastWindow::FourPackets, 4), (LeastWindow::TwoPackets, 2)] {
            let mut cc = controller().at_least(least);
            (0..3).for_each(|_| cc.on_loss());
            assert_eq!(cc.window().cwnd, packets * PMDCS);
        }
    }

    fn grown(packets: usize) -> Rfc9260 {
        let mut cc = controller();
        for _ in 4..packets {
            cc.on_acknowledged(&acked(PMDCS, usize::MAX));
        }
        assert_eq!(cc.window().cwnd, packets * PMDCS);
        cc
    }

    /// RFC 9260 §7.2.1: both conditions are needed, and a SACK is worth one packet at most.
    #[test]
    fn robustness_12_slow_start_grows_by_one_packet_per_sack_while_the_window_is_used_and_no_recovery_runs() {
        let mut cc = controller();
        cc.on_acknowledged(&acked(2000, 4000));
        assert_eq!(cc.window().cwnd, 5000);
        cc.on_acknowledged(&acked(2000, 4999));
        assert_eq!(cc.window().cwnd, 5000);
        cc.on_acknowledged(&Acknowledged { in_recovery: true, ..acked(2000, 5000) });
        assert_eq!(cc.window().cwnd, 5000);
        cc.on_acknowledged(&acked(300, 5000));
        assert_eq!(cc.window().cwnd, 5300);
    }

    /// RFC 9260 §7.2.3.
    #[test]
    fn loss_halves_but_never_below_four_packets() {
        let mut cc = grown(24);
        cc.on_loss();
        assert_eq!(cc.window(), CongestionWindow { cwnd: 12_000, ssthresh: 12_000 });
        cc.on_loss();
        cc.on_loss();
        assert_eq!(cc.window().cwnd, 4000);
    }

    /// RFC 9260 §7.2.2.
    #[test]
    fn congestion_avoidance_adds_one_packet_per_window_acknowledged_while_it_is_used() {
        let mut cc = controller();
        cc.on_timeout();
        assert_eq!(cc.window(), CongestionWindow { cwnd: 1000, ssthresh: 4000 });
        for _ in 0..4 {
            cc.on_acknowledged(&acked(1000, usize::MAX));
        }
        assert_eq!(cc.window().cwnd, 5000);
        for _ in 0..4 {
            cc.on_acknowledged(&acked(1000, 5000));
        }
        assert_eq!(cc.window().cwnd, 5000);
        cc.on_acknowledged(&acked(1000, 5000));
        assert_eq!(cc.window().cwnd, 6000);
        for _ in 0..20 {
            cc.on_acknowledged(&acked(1000, 5000));
        }
        assert_eq!(cc.window().cwnd, 6000);
        cc.on_acknowledged(&acked(1000, 6000));
        assert_eq!(cc.window().cwnd, 7000, "what was acknowledged meanwhile counts for one window at most");
        cc.on_acknowledged(&acked(1000, 7000));
        assert_eq!(cc.window().cwnd, 7000);
    }

    /// RFC 9260 §7.2.2, second point.
    #[test]
    fn duplicates_that_the_peer_reports_count_for_the_window_in_congestion_avoidance_only() {
        let mut cc = controller();
        cc.on_duplicates(4000);
        cc.on_acknowledged(&acked(100, 4000));
        assert_eq!(cc.window().cwnd, 4100, "slow start goes by what is acknowledged for the first time");
        let mut cc = grown(9);
        cc.on_loss();
        cc.on_acknowledged(&acked(PMDCS, usize::MAX));
        assert_eq!(cc.window().cwnd, 5500);
        cc.on_duplicates(4500);
        assert_eq!(cc.window().cwnd, 5500);
        cc.on_acknowledged(&acked(PMDCS, 5500));
        assert_eq!(cc.window().cwnd, 6500);
    }

    /// RFC 9260 §7.2.2: with nothing outstanding the count begins anew.
    #[test]
    fn everything_acknowledged_clears_what_was_counted() {
        let mut cc = grown(8);
        cc.on_loss();
        cc.on_acknowledged(&acked(1000, 4000));
        cc.on_acknowledged(&Acknowledged { all_acknowledged: true, ..acked(2000, 4000) });
        let begun = cc.window().cwnd;
        cc.on_acknowledged(&acked(begun - 1, begun));
        assert_eq!(cc.window().cwnd, begun);
        cc.on_acknowledged(&acked(1, begun));
        assert_eq!(cc.window().cwnd, begun + 1000);
    }
}
