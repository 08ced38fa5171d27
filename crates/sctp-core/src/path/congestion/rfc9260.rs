//! The congestion control of RFC 9260 §7.2.

use core::time::Duration;

use virtual_time::Instant;

use super::Acknowledged;

/// Slow start, congestion avoidance, halving on loss.
#[derive(Clone, Debug)]
pub(crate) struct Rfc9260 {
    /// Octets of DATA chunks that fit one packet on this path (PMDCS, RFC 9260 §1.3).
    pmdcs: usize,
    cwnd: usize,
    ssthresh: usize,
    partial_bytes_acked: usize,
    /// When data was last sent, and how many idle RTOs have been charged since.
    last_sent: Option<Instant>,
    /// cwnd and ssthresh before the last cut, until it is undone.
    before_cut: Option<(usize, usize)>,
}

impl Rfc9260 {
    /// RFC 9260 §7.2.1: min(4·PMDCS, max(2·PMDCS, 4404)), with 4344 instead over IPv6.
    pub(crate) fn new(pmdcs: usize, is_ipv4: bool) -> Self {
        let floor = if is_ipv4 { 4404 } else { 4344 };
        let cwnd = (4 * pmdcs).min(floor.max(2 * pmdcs));
        Self { pmdcs, cwnd, ssthresh: usize::MAX, partial_bytes_acked: 0, last_sent: None, before_cut: None }
    }

    pub(crate) fn cwnd(&self) -> usize {
        self.cwnd
    }

    pub(crate) fn ssthresh(&self) -> usize {
        self.ssthresh
    }

    /// Before data is sent: an idle window shrinks once per RTO (RFC 9260 §7.2.1, last point).
    pub(crate) fn on_send(&mut self, now: Instant, rto: Duration, flight: usize) {
        let idle = self.last_sent.replace(now).map_or(Duration::ZERO, |sent| now.since(sent));
        if flight > 0 || idle < rto {
            return;
        }
        let floor = 4 * self.pmdcs;
        if self.cwnd > floor {
            self.ssthresh = self.cwnd;
        }
        let mut periods = idle.as_nanos() / rto.as_nanos().max(1);
        while periods > 0 && self.cwnd > floor {
            self.cwnd = (self.cwnd / 2).max(floor);
            periods -= 1;
        }
    }

    /// A SACK acknowledged something new on this path (RFC 9260 §7.2.1, §7.2.2).
    pub(crate) fn on_acknowledged(&mut self, acked: Acknowledged) {
        let fully_used = acked.flight_before >= self.cwnd;
        if self.cwnd <= self.ssthresh {
            if fully_used && !acked.in_recovery && acked.cumulative_advanced {
                self.cwnd += acked.bytes.min(self.pmdcs);
            }
        } else {
            self.avoid_congestion(acked.bytes, fully_used);
        }
        if acked.all_acknowledged {
            self.partial_bytes_acked = 0;
        }
    }

    fn avoid_congestion(&mut self, bytes: usize, fully_used: bool) {
        self.partial_bytes_acked += bytes;
        if self.partial_bytes_acked < self.cwnd {
            return;
        }
        if fully_used {
            self.partial_bytes_acked -= self.cwnd;
            self.cwnd += self.pmdcs;
        } else {
            self.partial_bytes_acked = self.cwnd;
        }
    }

    /// Losses found through SACKs (RFC 9260 §7.2.3). The caller makes sure it happens once per Fast Recovery.
    pub(crate) fn on_loss(&mut self) {
        self.before_cut = Some((self.cwnd, self.ssthresh));
        self.ssthresh = (self.cwnd / 2).max(4 * self.pmdcs);
        self.cwnd = self.ssthresh;
        self.partial_bytes_acked = 0;
    }

    /// T3-rtx expired (RFC 9260 §7.2.3): start over with one packet.
    pub(crate) fn on_timeout(&mut self) {
        self.before_cut = Some((self.cwnd, self.ssthresh));
        self.ssthresh = (self.cwnd / 2).max(4 * self.pmdcs);
        self.cwnd = self.pmdcs;
        self.partial_bytes_acked = 0;
    }

    /// Packets of the path carry this much from now on (RFC 9260 §7.3).
    pub(crate) fn on_packet_size(&mut self, pmdcs: usize) {
        self.pmdcs = pmdcs;
    }

    /// The last cut was needless: nothing was lost (RFC 4015 §3.2).
    pub(crate) fn on_spurious(&mut self) {
        if let Some((cwnd, ssthresh)) = self.before_cut.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PMDCS: usize = 1000;

    fn controller() -> Rfc9260 {
        Rfc9260::new(PMDCS, true)
    }

    fn full(bytes: usize, flight_before: usize) -> Acknowledged {
        Acknowledged { bytes, flight_before, cumulative_advanced: true, ..Acknowledged::default() }
    }

    #[test]
    fn initial_window_follows_section_7_2_1() {
        assert_eq!(Rfc9260::new(1000, true).cwnd(), 4000);
        assert_eq!(Rfc9260::new(1460, true).cwnd(), 4404);
        assert_eq!(Rfc9260::new(1440, false).cwnd(), 4344);
        assert_eq!(Rfc9260::new(8960, true).cwnd(), 17_920);
    }

    #[test]
    fn slow_start_grows_by_one_packet_per_sack_only_when_the_window_is_used() {
        let mut cc = controller();
        cc.on_acknowledged(full(2000, 4000));
        assert_eq!(cc.cwnd(), 5000);
        cc.on_acknowledged(full(2000, 3000));
        assert_eq!(cc.cwnd(), 5000);
    }

    #[test]
    fn loss_halves_but_never_below_four_packets() {
        let mut cc = controller();
        for _ in 0..20 {
            cc.on_acknowledged(full(1000, usize::MAX));
        }
        assert_eq!(cc.cwnd(), 24_000);
        cc.on_loss();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (12_000, 12_000));
        cc.on_loss();
        cc.on_loss();
        assert_eq!(cc.cwnd(), 4000);
    }

    #[test]
    fn congestion_avoidance_adds_one_packet_per_window_acknowledged() {
        let mut cc = controller();
        cc.on_timeout();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1000, 4000));
        for _ in 0..4 {
            cc.on_acknowledged(full(1000, usize::MAX));
        }
        assert_eq!(cc.cwnd(), 5000);
        for _ in 0..4 {
            cc.on_acknowledged(full(1000, 5000));
        }
        assert_eq!(cc.cwnd(), 5000);
        cc.on_acknowledged(full(1000, 5000));
        assert_eq!(cc.cwnd(), 6000);
    }

    #[test]
    fn idle_window_shrinks_once_per_rto_down_to_four_packets() {
        let mut cc = controller();
        for _ in 0..28 {
            cc.on_acknowledged(full(1000, usize::MAX));
        }
        let rto = Duration::from_secs(1);
        cc.on_send(Instant::EPOCH, rto, 0);
        cc.on_send(Instant::from_millis(2500), rto, 0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (8000, 32_000));
        cc.on_send(Instant::from_millis(60_000), rto, 0);
        assert_eq!(cc.cwnd(), 4000);
    }
}
