//! Round-trip time and retransmission timeout (RFC 6298).

use core::time::Duration;

use crate::config::{RtoFloor, TcpConfig};

/// SRTT, RTTVAR, RTO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtoEstimator {
    smoothed: Option<(Duration, Duration)>,
    rto: Duration,
    bounds: (Duration, Duration),
    floor: RtoFloor,
}

impl RtoEstimator {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let bounds = (config.rto_min, config.rto_max);
        Self { smoothed: None, rto: config.rto_initial, bounds, floor: config.timers.floor }
    }

    /// A measurement of a segment sent once (RFC 6298 §2.2, §2.3).
    pub(crate) fn on_measurement(&mut self, rtt: Duration) {
        let (srtt, rttvar) = match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => ((srtt * 7 + rtt) / 8, (rttvar * 3 + srtt.abs_diff(rtt)) / 4),
        };
        self.smoothed = Some((srtt, rttvar));
        let (least, most) = self.bounds;
        let rto = match self.floor {
            RtoFloor::Timeout => (srtt + rttvar * 4).max(least),
            RtoFloor::Variation => srtt + (rttvar * 4).max(least),
        };
        self.rto = rto.min(most);
    }

    /// Doubles the timeout after it has expired (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.bounds.1);
    }

    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn rto_follows_the_measurements_and_doubles_on_timeouts() {
        let ms = Duration::from_millis;
        let mut rto = RtoEstimator::new(&TcpConfig::default());
        assert_eq!(rto.rto(), ms(1000));
        rto.on_measurement(ms(100));
        assert_eq!((rto.srtt(), rto.rto()), (Some(ms(100)), ms(300)));
        rto.on_measurement(ms(180));
        assert_eq!((rto.srtt(), rto.rto()), (Some(ms(110)), ms(110 + 4 * 575 / 10)));
        rto.back_off();
        assert_eq!(rto.rto(), ms(680));
        for _ in 0..20 {
            rto.back_off();
        }
        assert_eq!(rto.rto(), ms(120_000));
    }

    /// At 20 ms: what studies S1 and S2 state of the stacks.
    #[test]
    fn least_timeouts_of_the_profiles_are_those_of_the_studies() {
        for (profile, expected) in
            [(Profile::Linux2006, 220), (Profile::Solaris10, 500), (Profile::Ns2Sack, 1000)]
        {
            let mut rto = RtoEstimator::new(&TcpConfig::profile(profile));
            (0..50).for_each(|_| rto.on_measurement(Duration::from_millis(20)));
            assert_eq!(rto.rto(), Duration::from_millis(expected), "{profile}");
        }
    }
}
