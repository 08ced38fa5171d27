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

    /// Returns whether everything sent so far has drained, so that a packet may leave whatever the pace is.
    #[inline]
    pub(super) fn is_drained(&self, now: Instant) -> bool {
        self.drained_at <= now
    }

    /// Returns whether a packet may leave now.
    #[inline]
    pub(super) fn admits(&self, now: Instant, pace: Pace) -> bool {
        self.is_drained(now) || self.drained_at.since(now) < self.depth(pace)
    }

    /// Returns when one may leave that may not now; a little later than the first instant, so that a fast path
    /// is not woken for each packet.
    pub(super) fn admits_at(&self, pace: Pace) -> Instant {
        let depth = self.depth(pace);
        self.drained_at - depth + (depth / 4).min(QUANTUM)
    }

    /// Returns whether packets of so long a round trip are spread: of a shorter one the bucket holds a whole
    /// window.
    #[inline]
    pub(super) fn spreads(srtt: Duration) -> bool {
        srtt > DEPTH_AT_LEAST
    }

    /// A packet leaves on a path that [is spread over](Self::spreads).
    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, bytes: usize, pace: Pace) {
        self.drained_at = self.drained_at.max(now) + pace.time_of(bytes);
    }

    /// Returns what the bucket holds, as time: the burst, or what drains between two looks at a coarse clock.
    fn depth(&self, pace: Pace) -> Duration {
        pace.time_of(self.burst).max(DEPTH_AT_LEAST)
    }
}

/// The rate at which the bucket drains: so many octets in so many nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    octets: u64,
    nanos: u64,
}

impl Pace {
    /// Creates the pace of a window: 1.25 of it a round trip, two while slow start doubles it in each.
    #[inline]
    pub(super) fn of(window: CongestionWindow, srtt: Duration) -> Self {
        let (numerator, denominator) = if window.is_slow_start() { (1, 2) } else { (4, 5) };
        let octets = u64::try_from(window.cwnd.max(1)).unwrap_or(u64::MAX).saturating_mul(denominator);
        let nanos = u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX).saturating_mul(numerator);
        Self { octets, nanos }
    }

    /// Creates a pace of so many octets a second.
    pub(super) fn per_second(octets: u64) -> Self {
        Self { octets: octets.max(1), nanos: NANOS_PER_SECOND }
    }

    /// Returns how long so many octets take.
    #[inline]
    fn time_of(self, bytes: usize) -> Duration {
        // 64 bits: a burst of 64 MiB at round trips of a minute fits, and beyond that it is only waited too little.
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Duration::from_nanos(self.nanos.saturating_mul(bytes) / self.octets)
    }
}

/// Drivers wake in milliseconds.
const QUANTUM: Duration = Duration::from_millis(1);
const DEPTH_AT_LEAST: Duration = Duration::from_millis(2);
const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(100);
    /// 100 packets of 1000 octets in congestion avoidance: one leaves every 0.8 ms.
    const WINDOW: CongestionWindow = CongestionWindow { cwnd: 100_000, ssthresh: 50_000 };

    /// Sends packets of 1000 octets as soon as they are admitted; gives the microseconds.
    fn send(count: usize, window: CongestionWindow) -> Vec<u64> {
        send_at(count, Pace::of(window, SRTT))
    }

    fn send_at(count: usize, pace: Pace) -> Vec<u64> {
        let mut pacer = Pacer::new(4000);
        let mut now = Instant::from_millis(1000);
        let mut times = Vec::new();
        while times.len() < count {
            if pacer.admits(now, pace) {
                pacer.on_sent(now, 1000, pace);
                times.push(now.as_nanos() / 1000 - 1_000_000);
            } else {
                let at = pacer.admits_at(pace);
                assert!(at > now && pacer.admits(at, pace));
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
    fn rate_of_a_control_is_octets_per_second() {
        let times = send_at(104, Pace::per_second(1_000_000));
        assert_eq!(times[..5], [0, 0, 0, 0, 1000]);
        assert!((99_000..=101_000).contains(&times[103]), "{}", times[103]);
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
        assert!(!Pacer::spreads(Duration::from_millis(2)) && Pacer::spreads(SRTT));
    }

    #[test]
    fn an_idle_bucket_saves_up_no_more_than_a_burst() {
        let (mut pacer, pace) = (Pacer::new(4000), Pace::of(WINDOW, SRTT));
        pacer.on_sent(Instant::EPOCH, 1000, pace);
        let later = Instant::from_millis(60_000);
        let sent = (0..10).take_while(|_| {
            let admitted = pacer.admits(later, pace);
            pacer.on_sent(later, 1000, pace);
            admitted
        });
        assert_eq!(sent.count(), 4);
    }
}
