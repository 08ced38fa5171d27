//! Pacing: a window that has opened is spread over a round trip (in the manner of RFC 9002 §7.7).
//!
//! A leaky bucket, kept as one point in time: when everything sent so far would have drained. It drains a little faster
//! than the window is acknowledged, so that the window and not the bucket limits the rate, and holds a burst that
//! leaves at once: a flow that sends little never notices it.

use core::time::Duration;

use virtual_time::Instant;

use super::CongestionWindow;

/// The bucket of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Octets that may leave at once.
    burst: usize,
    drained_at: Instant,
}

impl Pacer {
    pub(super) fn new(burst: usize) -> Self {
        Self { burst, drained_at: Instant::EPOCH }
    }

    pub(super) fn set_burst(&mut self, octets: usize) {
        self.burst = octets;
    }

    /// Returns whether a packet may leave now.
    #[inline]
    pub(super) fn admits(&self, now: Instant, window: CongestionWindow, srtt: Duration) -> bool {
        self.drained_at <= now || self.drained_at.since(now) < self.depth(window, srtt)
    }

    /// Returns when one may leave that may not now; a little later than the first instant, so that a fast path
    /// is not woken for each packet.
    pub(super) fn admits_at(&self, window: CongestionWindow, srtt: Duration) -> Instant {
        let depth = self.depth(window, srtt);
        self.drained_at - depth + (depth / 4).min(QUANTUM)
    }

    /// Returns whether packets of so long a round trip are spread: of a shorter one the bucket holds a whole
    /// window.
    #[inline]
    pub(super) fn spreads(srtt: Duration) -> bool {
        srtt > DEPTH_AT_LEAST
    }

    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, bytes: usize, window: CongestionWindow, srtt: Duration) {
        if !Self::spreads(srtt) {
            return;
        }
        self.drained_at = self.drained_at.max(now) + drain_time(bytes, window, srtt);
    }

    /// Returns what the bucket holds, as time: the burst, or what drains between two looks at a coarse clock.
    fn depth(&self, window: CongestionWindow, srtt: Duration) -> Duration {
        drain_time(self.burst, window, srtt).max(DEPTH_AT_LEAST)
    }
}

/// Returns how long `bytes` octets take at 1.25 windows a round trip, at two while slow start doubles the
/// window in each.
fn drain_time(bytes: usize, window: CongestionWindow, srtt: Duration) -> Duration {
    let (numerator, denominator) = if window.is_slow_start() { (1, 2) } else { (4, 5) };
    // 64 bits: a burst of 64 MiB at round trips of a minute fits, and beyond that it is only waited too little.
    let octets = |octets: usize| u64::try_from(octets).unwrap_or(u64::MAX);
    let srtt = u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX);
    let shares = srtt.saturating_mul(octets(bytes)).saturating_mul(numerator);
    Duration::from_nanos(shares / octets(window.cwnd.max(1)).saturating_mul(denominator))
}

/// Drivers wake in milliseconds.
const QUANTUM: Duration = Duration::from_millis(1);
const DEPTH_AT_LEAST: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(100);
    /// 100 packets of 1000 octets in congestion avoidance: one leaves every 0.8 ms.
    const WINDOW: CongestionWindow = CongestionWindow { cwnd: 100_000, ssthresh: 50_000 };

    /// Sends packets of 1000 octets as soon as they are admitted; gives the microseconds.
    fn send(count: usize, window: CongestionWindow) -> Vec<u64> {
        let mut pacer = Pacer::new(4000);
        let mut now = Instant::from_millis(1000);
        let mut times = Vec::new();
        while times.len() < count {
            if pacer.admits(now, window, SRTT) {
                pacer.on_sent(now, 1000, window, SRTT);
                times.push(now.as_nanos() / 1000 - 1_000_000);
            } else {
                let at = pacer.admits_at(window, SRTT);
                assert!(at > now && pacer.admits(at, window, SRTT));
                now = at;
            }
        }
        times
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_one_and_a_quarter_windows_a_round_trip() {
        let times = send(104, WINDOW);
        assert_eq!(times[..5], [0, 0, 0, 0, 800]);
        assert!((79_000..=81_000).contains(&times[103]), "{}", times[103]);
    }

    #[test]
    fn slow_start_drains_two_windows_a_round_trip() {
        let times = send(104, CongestionWindow { ssthresh: CongestionWindow::NO_THRESHOLD, ..WINDOW });
        assert!((49_000..=51_000).contains(&times[103]), "{}", times[103]);
    }

    #[test]
    fn fast_paths_wake_once_a_millisecond_for_many_packets() {
        let times = send(2000, CongestionWindow { cwnd: 10_000_000, ssthresh: 1 });
        let mut wakes = times.clone();
        wakes.dedup();
        assert!(wakes.len() <= 40, "{} wakes for {} us", wakes.len(), times[1999]);
        assert!(times[1999] <= 16_000);
    }

    #[test]
    fn a_window_that_drains_between_two_looks_at_a_coarse_clock_leaves_at_once() {
        let (mut pacer, srtt) = (Pacer::new(4000), Duration::from_millis(2));
        for _ in 0..100 {
            assert!(pacer.admits(Instant::EPOCH, WINDOW, srtt));
            pacer.on_sent(Instant::EPOCH, 1000, WINDOW, srtt);
        }
    }

    #[test]
    fn an_idle_bucket_saves_up_no_more_than_a_burst() {
        let mut pacer = Pacer::new(4000);
        pacer.on_sent(Instant::EPOCH, 1000, WINDOW, SRTT);
        let later = Instant::from_millis(60_000);
        let sent = (0..10).take_while(|_| {
            let admitted = pacer.admits(later, WINDOW, SRTT);
            pacer.on_sent(later, 1000, WINDOW, SRTT);
            admitted
        });
        assert_eq!(sent.count(), 4);
    }
}
