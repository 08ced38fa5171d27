//! Round-trip time and retransmission timeout of one path (RFC 9260 §6.3.1).

use core::time::Duration;

use virtual_time::Instant;

use crate::config::RtoConfig;

/// SRTT, RTTVAR and RTO of a path, and the smallest recent round trip; nanoseconds all of them, for a path is small.
#[derive(Clone, Debug)]
pub(crate) struct RtoEstimator {
    bounds: Bounds,
    smoothed: Option<Smoothed>,
    rto: u64,
    min_rtt: MinRtt,
}

/// RTO.Initial, RTO.Min and RTO.Max.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    initial: u64,
    min: u64,
    max: u64,
}

impl Bounds {
    fn of(config: RtoConfig) -> Self {
        let RtoConfig { initial, min, max } = config;
        Self { initial: nanos(initial), min: nanos(min), max: nanos(max) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt: u64,
    rttvar: u64,
}

impl RtoEstimator {
    /// Creates the estimator, with RTO.Initial until the first measurement (RFC 9260 §6.3.1 (C1)).
    pub(crate) fn new(config: RtoConfig) -> Self {
        let bounds = Bounds::of(config);
        Self { bounds, smoothed: None, rto: bounds.initial, min_rtt: MinRtt::default() }
    }

    /// The bounds are others from now on; what was measured, and a back-off, stay.
    pub(crate) fn set_bounds(&mut self, config: RtoConfig) {
        let is_backed_off = self.rto > self.measured();
        self.bounds = Bounds::of(config);
        let at_least = self.measured();
        self.rto = if is_backed_off { self.rto.clamp(at_least, self.bounds.max) } else { at_least };
    }

    /// A measurement that Karn's rule allows (RFC 9260 §6.3.1 (C2), (C3), (C5)). Also ends a back-off.
    pub(crate) fn on_measurement(&mut self, now: Instant, rtt: Duration) {
        let rtt = nanos(rtt).min(LONGEST);
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
        self.rto = self.measured();
    }

    /// The way to the peer is another one, of which nothing is known (RFC 9260 §6.3.1 (C1)).
    pub(crate) fn begin_anew(&mut self) {
        *self = Self {
            bounds: self.bounds,
            smoothed: None,
            rto: self.bounds.initial,
            min_rtt: MinRtt::default(),
        };
    }

    /// Returns the RTO of the measurements, whatever ran out since.
    pub(crate) fn without_back_off(&self) -> Duration {
        Duration::from_nanos(self.measured())
    }

    fn measured(&self) -> u64 {
        let Bounds { initial, min, max } = self.bounds;
        self.smoothed.map_or(initial, |smoothed| {
            let variation = (smoothed.rttvar * 4).max(CLOCK_GRANULARITY);
            (smoothed.srtt + variation).clamp(min, max)
        })
    }

    /// T3-rtx, T1 or an unanswered HEARTBEAT ran out: double (RFC 9260 §6.3.3 (E2)).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.bounds.max);
    }

    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        Duration::from_nanos(self.rto)
    }

    #[inline]
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| Duration::from_nanos(smoothed.srtt))
    }

    #[inline]
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        let smallest = self.min_rtt.current.min(self.min_rtt.previous);
        (smallest != MinRtt::NONE).then(|| Duration::from_nanos(smallest))
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The smallest round trip of the last [`MinRtt::WINDOW`] to twice that: old routes are forgotten.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    current: u64,
    previous: u64,
    rotated_at: Instant,
}

impl Default for MinRtt {
    fn default() -> Self {
        Self { current: Self::NONE, previous: Self::NONE, rotated_at: Instant::EPOCH }
    }
}

impl MinRtt {
    const WINDOW: Duration = Duration::from_secs(30);
    const NONE: u64 = u64::MAX;

    fn on_measurement(&mut self, now: Instant, rtt: u64) {
        if now.since(self.rotated_at) >= Self::WINDOW {
            self.previous = core::mem::replace(&mut self.current, Self::NONE);
            self.rotated_at = now;
        }
        self.current = self.current.min(rtt);
    }
}

/// Round trips beyond this, 36 years, count as this: eight times as long is still a number.
const LONGEST: u64 = u64::MAX / 16;

/// RFC 9260 §6.3.1 (C4): what RTTVAR may not vanish below; our clock counts nanoseconds, drivers wake in milliseconds.
const CLOCK_GRANULARITY: u64 = 1_000_000;

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
