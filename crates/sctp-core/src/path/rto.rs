//! Round-trip time and retransmission timeout of one path (RFC 9260 §6.3.1).

use core::time::Duration;

use virtual_time::Instant;

use crate::config::RtoConfig;

/// SRTT, RTTVAR and RTO of a path, and the smallest recent round trip.
#[derive(Clone, Debug)]
pub(crate) struct RtoEstimator {
    config: RtoConfig,
    smoothed: Option<Smoothed>,
    rto: Duration,
    min_rtt: MinRtt,
}

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt: Duration,
    rttvar: Duration,
}

impl RtoEstimator {
    /// RFC 9260 §6.3.1 (C1): RTO.Initial until the first measurement.
    pub(crate) fn new(config: RtoConfig) -> Self {
        Self { config, smoothed: None, rto: config.initial, min_rtt: MinRtt::default() }
    }

    /// A measurement that Karn's rule allows (RFC 9260 §6.3.1 (C2), (C3), (C5)). Also ends a back-off.
    pub(crate) fn on_measurement(&mut self, now: Instant, rtt: Duration) {
        self.min_rtt.on_measurement(now, rtt);
        let smoothed = match self.smoothed {
            None => Smoothed { srtt: rtt, rttvar: rtt / 2 },
            // RTO.Beta = 1/4 first, with the old SRTT; then RTO.Alpha = 1/8.
            Some(Smoothed { srtt, rttvar }) => {
                Smoothed { rttvar: (rttvar * 3 + srtt.abs_diff(rtt)) / 4, srtt: (srtt * 7 + rtt) / 8 }
            }
        };
        self.smoothed = Some(smoothed);
        self.end_back_off();
    }

    /// The timeouts that led to the back-off turned out to have been needless: the RTO is that of the measurements again.
    pub(crate) fn end_back_off(&mut self) {
        self.rto = self.without_back_off();
    }

    /// The RTO of the measurements, whatever ran out since.
    pub(crate) fn without_back_off(&self) -> Duration {
        self.smoothed.map_or(self.config.initial, |smoothed| {
            let variation = (smoothed.rttvar * 4).max(CLOCK_GRANULARITY);
            (smoothed.srtt + variation).clamp(self.config.min, self.config.max)
        })
    }

    /// T3-rtx, T1 or an unanswered HEARTBEAT ran out: double (RFC 9260 §6.3.3 (E2)).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.config.max);
    }

    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.smallest()
    }
}

/// The smallest round trip of the last [`MinRtt::WINDOW`] to twice that: old routes are forgotten.
#[derive(Clone, Copy, Debug, Default)]
struct MinRtt {
    current: Option<Duration>,
    previous: Option<Duration>,
    rotated_at: Instant,
}

impl MinRtt {
    const WINDOW: Duration = Duration::from_secs(30);

    fn on_measurement(&mut self, now: Instant, rtt: Duration) {
        if now.since(self.rotated_at) >= Self::WINDOW {
            self.previous = self.current.take();
            self.rotated_at = now;
        }
        self.current = Some(self.current.map_or(rtt, |smallest| smallest.min(rtt)));
    }

    fn smallest(&self) -> Option<Duration> {
        match (self.current, self.previous) {
            (Some(current), Some(previous)) => Some(current.min(previous)),
            (current, previous) => current.or(previous),
        }
    }
}

/// RFC 9260 §6.3.1 (C4): what RTTVAR may not vanish below; our clock counts nanoseconds, drivers wake in milliseconds.
const CLOCK_GRANULARITY: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RtoEstimator {
        let ms = Duration::from_millis;
        RtoEstimator::new(RtoConfig { initial: ms(1000), min: ms(100), max: ms(60_000) })
    }

    #[test]
    fn first_measurement_sets_rto_to_three_round_trips() {
        let mut rto = estimator();
        assert_eq!(rto.rto(), Duration::from_secs(1));
        rto.on_measurement(Instant::EPOCH, Duration::from_millis(100));
        assert_eq!(rto.srtt(), Some(Duration::from_millis(100)));
        assert_eq!(rto.rto(), Duration::from_millis(300));
    }

    #[test]
    fn later_measurements_are_smoothed_by_one_eighth_and_one_quarter() {
        let mut rto = estimator();
        rto.on_measurement(Instant::EPOCH, Duration::from_millis(80));
        rto.on_measurement(Instant::EPOCH, Duration::from_millis(160));
        assert_eq!(rto.srtt(), Some(Duration::from_millis(90)));
        assert_eq!(rto.rto(), Duration::from_millis(90 + 4 * 50));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_a_measurement_ends_it() {
        let mut rto = estimator();
        rto.on_measurement(Instant::EPOCH, Duration::from_millis(100));
        for expected in [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000] {
            rto.back_off();
            assert_eq!(rto.rto(), Duration::from_millis(expected));
        }
        rto.on_measurement(Instant::EPOCH, Duration::from_millis(100));
        assert!(rto.rto() < Duration::from_millis(300));
    }

    #[test]
    fn smallest_round_trip_forgets_after_two_windows() {
        let mut rto = estimator();
        let ms = Duration::from_millis;
        rto.on_measurement(Instant::from_millis(0), ms(10));
        rto.on_measurement(Instant::from_millis(31_000), ms(40));
        assert_eq!(rto.min_rtt(), Some(ms(10)));
        rto.on_measurement(Instant::from_millis(62_000), ms(50));
        assert_eq!(rto.min_rtt(), Some(ms(40)));
    }
}
