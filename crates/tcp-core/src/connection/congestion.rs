//! The congestion window of a connection.

use core::time::Duration;

use cubic::{Acknowledged, Cubic};
use virtual_time::Instant;

use crate::config::{CongestionAlgorithm, TcpConfig};

/// A congestion window, in octets.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    NewReno(NewReno),
    Cubic(Cubic),
}

/// RFC 5681, growth counted in octets (RFC 3465 §2.1).
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    acknowledged: u64,
}

impl Congestion {
    pub(crate) fn new(config: &TcpConfig, mss: u64) -> Self {
        let initial = mss * u64::from(config.initial_window_segments);
        match config.congestion {
            CongestionAlgorithm::NewReno => {
                Self::NewReno(NewReno { mss, cwnd: initial, ssthresh: u64::MAX, acknowledged: 0 })
            }
            CongestionAlgorithm::Cubic => Self::Cubic(Cubic::new(mss, initial)),
        }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        match self {
            Self::NewReno(reno) => reno.cwnd,
            Self::Cubic(cubic) => cubic.cwnd(),
        }
    }

    /// Outside recovery, and only while the window is used.
    pub(crate) fn on_acknowledged(&mut self, now: Instant, bytes: u64, srtt: Duration, is_window_used: bool) {
        match self {
            Self::NewReno(reno) if is_window_used => reno.grow(bytes),
            Self::NewReno(_) => {}
            Self::Cubic(cubic) => cubic.on_acknowledged(&Acknowledged { now, bytes, srtt, is_window_used }),
        }
    }

    /// A recovery begins; once per window.
    pub(crate) fn on_loss(&mut self, flight: u64) {
        match self {
            Self::NewReno(reno) => {
                reno.ssthresh = (flight / 2).max(2 * reno.mss);
                reno.cwnd = reno.ssthresh;
                reno.acknowledged = 0;
            }
            Self::Cubic(cubic) => cubic.on_congestion(),
        }
    }

    pub(crate) fn on_timeout(&mut self, flight: u64) {
        match self {
            Self::NewReno(reno) => {
                reno.ssthresh = (flight / 2).max(2 * reno.mss);
                reno.cwnd = reno.mss;
                reno.acknowledged = 0;
            }
            Self::Cubic(cubic) => cubic.on_timeout(),
        }
    }

    /// After an idle RTO a connection begins with the initial window again (RFC 5681 §4.1).
    pub(crate) fn on_idle(&mut self, initial_window: u64) {
        match self {
            Self::NewReno(reno) => reno.cwnd = reno.cwnd.min(initial_window),
            Self::Cubic(cubic) => cubic.set_window(cubic.cwnd().min(initial_window), cubic.ssthresh()),
        }
    }
}

impl NewReno {
    fn grow(&mut self, bytes: u64) {
        if self.cwnd < self.ssthresh {
            self.cwnd += bytes.min(self.mss);
            return;
        }
        self.acknowledged += bytes;
        if self.acknowledged >= self.cwnd {
            self.acknowledged -= self.cwnd;
            self.cwnd += self.mss;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reno_doubles_then_adds_one_segment_per_window_and_halves() {
        let config = TcpConfig { congestion: CongestionAlgorithm::NewReno, ..TcpConfig::default() };
        let mut window = Congestion::new(&config, 1000);
        let acknowledge = |window: &mut Congestion, bytes, is_used| {
            window.on_acknowledged(Instant::EPOCH, bytes, Duration::ZERO, is_used);
        };
        assert_eq!(window.cwnd(), 10_000);
        acknowledge(&mut window, 5000, true);
        acknowledge(&mut window, 1000, false);
        assert_eq!(window.cwnd(), 11_000);
        window.on_loss(12_000);
        assert_eq!(window.cwnd(), 6000);
        for _ in 0..6 {
            acknowledge(&mut window, 1000, true);
        }
        assert_eq!(window.cwnd(), 7000);
        window.on_timeout(3000);
        assert_eq!(window.cwnd(), 1000);
        acknowledge(&mut window, 1000, true);
        acknowledge(&mut window, 1000, true);
        assert_eq!(window.cwnd(), 2000);
        acknowledge(&mut window, 1000, true);
        assert_eq!(window.cwnd(), 3000);
        window.on_idle(2000);
        assert_eq!(window.cwnd(), 2000);
    }
}
