//! The congestion algorithms of a connection.

use core::time::Duration;

use congestion::cubic::{Acknowledged, Cubic, Measured};
use virtual_time::Instant;

use super::linux_cubic::LinuxCubic;
use super::model::Model;
use crate::config::{ByteCounting, CongestionAlgorithm, Reduction, SlowStartEnd, TcpConfig};

/// A congestion window, in octets.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    NewReno(NewReno),
    Cubic(Cubic, u64),
    /// CUBIC as Linux has it, with the octets of a segment.
    LinuxCubic(LinuxCubic, u64),
    /// A model of the path, which hears of each segment and sets the window itself, with the octets of a segment.
    Bbr(Box<Model>, u64),
}

/// NewReno's window (RFC 5681).
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    counting: ByteCounting,
    reduction: Reduction,
    slow_start: SlowStartEnd,
    /// Acknowledged since the last step in congestion avoidance.
    credit: u64,
}

/// The amount an acknowledgment covers: octets, and the same in the unit of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) octets: u64,
    pub(crate) charged: u64,
    /// What is in flight after it, in the unit of the window.
    pub(crate) flight: u64,
    /// The round trip of the segment acknowledged that was sent last.
    pub(crate) rtt: Option<Duration>,
}

impl Congestion {
    pub(crate) fn new(config: &TcpConfig, mss: u64) -> Self {
        let initial = mss * u64::from(config.initial_window_segments);
        match config.congestion {
            CongestionAlgorithm::NewReno => Self::NewReno(NewReno {
                mss,
                cwnd: initial,
                ssthresh: u64::MAX,
                counting: config.window.byte_counting,
                reduction: config.window.reduction,
                slow_start: config.window.slow_start,
                credit: 0,
            }),
            CongestionAlgorithm::Cubic => Self::Cubic(Cubic::new(mss, initial), mss),
            CongestionAlgorithm::LinuxCubic => {
                Self::LinuxCubic(LinuxCubic::new(u64::from(config.initial_window_segments)), mss)
            }
            CongestionAlgorithm::Bbr => Self::Bbr(Box::new(Model::new(mss, initial)), mss),
        }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        match self {
            Self::NewReno(reno) => reno.cwnd,
            Self::Cubic(cubic, _) => cubic.cwnd(),
            Self::LinuxCubic(cubic, mss) => cubic.cwnd() * mss,
            Self::Bbr(model, _) => model.cwnd(),
        }
    }

    /// Returns the model of the path, where the control has one.
    pub(crate) fn model(&self) -> Option<&Model> {
        match self {
            Self::Bbr(model, _) => Some(model),
            Self::NewReno(_) | Self::Cubic(..) | Self::LinuxCubic(..) => None,
        }
    }

    pub(crate) fn model_mut(&mut self) -> Option<&mut Model> {
        match self {
            Self::Bbr(model, _) => Some(model),
            Self::NewReno(_) | Self::Cubic(..) | Self::LinuxCubic(..) => None,
        }
    }

    fn ssthresh(&self) -> u64 {
        match self {
            Self::NewReno(reno) => reno.ssthresh,
            Self::Cubic(cubic, _) => cubic.ssthresh().unwrap_or(u64::MAX),
            Self::LinuxCubic(cubic, mss) => cubic.ssthresh().saturating_mul(*mss),
            Self::Bbr(model, _) => {
                if model.is_starting() {
                    u64::MAX
                } else {
                    0
                }
            }
        }
    }

    pub(crate) fn is_in_slow_start(&self) -> bool {
        match self {
            Self::NewReno(reno) => reno.is_in_slow_start(),
            Self::Cubic(..) | Self::LinuxCubic(..) | Self::Bbr(..) => self.cwnd() < self.ssthresh(),
        }
    }

    /// Grows the window after an acknowledgment outside recovery.
    pub(crate) fn on_acknowledged(
        &mut self,
        now: Instant,
        acked: Acked,
        srtt: Duration,
        is_window_used: bool,
    ) {
        match self {
            Self::NewReno(reno) if is_window_used => reno.grow(acked),
            Self::NewReno(_) => {}
            Self::Cubic(cubic, mss) => {
                // In slow start it counts a segment per call; an acknowledgment may cover several.
                let mut left = acked.charged;
                let is_in_slow_start = cubic.ssthresh().is_none_or(|ssthresh| cubic.cwnd() < ssthresh);
                let step = if is_in_slow_start { *mss } else { left };
                while left > 0 {
                    let bytes = left.min(step);
                    left -= bytes;
                    // It is one measurement, whatever it covers.
                    let rtt = acked.rtt.filter(|_| left == 0);
                    let acknowledged = Acknowledged { now, bytes, srtt, is_window_used };
                    cubic.on_measured(&acknowledged, &Measured { rtt, flight: acked.flight });
                }
            }
            Self::LinuxCubic(cubic, mss) if is_window_used => {
                cubic.on_acknowledged(now, acked.charged.div_ceil(*mss), srtt);
            }
            Self::LinuxCubic(..) | Self::Bbr(..) => {}
        }
    }

    /// A recovery begins; once per window.
    pub(crate) fn on_loss(&mut self, flight: u64) {
        match self {
            Self::NewReno(reno) => {
                reno.halve(flight);
                reno.cwnd = reno.ssthresh;
            }
            Self::Cubic(cubic, _) => cubic.on_congestion(),
            Self::LinuxCubic(cubic, _) => cubic.on_loss(),
            // It hears of each loss.
            Self::Bbr(..) => {}
        }
    }

    /// One segment more than what is in flight still; `flight` is what is halved, `None` if it was before.
    pub(crate) fn on_timeout(&mut self, flight: Option<u64>, in_flight: u64) {
        match self {
            Self::NewReno(reno) => {
                flight.into_iter().for_each(|flight| reno.halve(flight));
                reno.cwnd = in_flight + reno.mss;
            }
            Self::Cubic(cubic, mss) => {
                if flight.is_some() {
                    cubic.on_timeout();
                }
                cubic.set_window(in_flight + *mss, cubic.ssthresh());
            }
            Self::LinuxCubic(cubic, mss) => {
                cubic.on_timeout(in_flight.div_ceil(*mss) + 1, flight.is_some());
            }
            Self::Bbr(model, mss) => model.on_timeout(in_flight + *mss),
        }
    }

    /// Something is sent again after a pause in which nothing was in flight.
    pub(crate) fn on_idle(&mut self, now: Instant, idle: Duration) {
        match self {
            Self::LinuxCubic(cubic, _) => cubic.on_idle(now, idle),
            Self::NewReno(_) | Self::Cubic(..) | Self::Bbr(..) => {}
        }
    }

    /// The window was not the limit for a timeout: half way to what was used (RFC 2861 §3).
    pub(crate) fn on_application_limited(&mut self, used: u64) {
        let cwnd = self.cwnd();
        if used < cwnd && self.model().is_none() {
            self.shrink_to(u64::midpoint(cwnd, used));
        }
    }

    /// The window is this from now on; where slow start ends does not fall below three quarters of what it was.
    pub(crate) fn shrink_to(&mut self, window: u64) {
        let cwnd = self.cwnd();
        if window >= cwnd {
            return;
        }
        // A threshold that was never set stays so: there was no congestion.
        let ssthresh = Some(self.ssthresh().max(cwnd / 4 * 3)).filter(|_| self.ssthresh() < u64::MAX);
        match self {
            Self::NewReno(reno) => {
                reno.cwnd = window;
                reno.ssthresh = ssthresh.unwrap_or(u64::MAX);
            }
            Self::Cubic(cubic, _) => cubic.set_window(window, ssthresh),
            Self::LinuxCubic(cubic, mss) => {
                let segments = |octets: u64| (octets / *mss).max(1);
                cubic.shrink_to(segments(window), ssthresh.map_or(u64::MAX, segments));
            }
            Self::Bbr(model, _) => model.set_window(window),
        }
    }
}

impl NewReno {
    fn is_in_slow_start(&self) -> bool {
        match self.slow_start {
            SlowStartEnd::AtThreshold => self.cwnd < self.ssthresh,
            // Part of a segment more is no segment more yet.
            SlowStartEnd::BeyondThreshold => self.cwnd < self.ssthresh.saturating_add(self.mss),
        }
    }

    fn grow(&mut self, acked: Acked) {
        if self.is_in_slow_start() {
            self.cwnd += match self.counting {
                ByteCounting::Off => self.mss,
                ByteCounting::Segments => acked.charged,
                ByteCounting::Octets { limit_segments }
                | ByteCounting::OctetsInSlowStart { limit_segments } => {
                    acked.octets.min(u64::from(limit_segments) * self.mss)
                }
            };
            return;
        }
        self.credit += match self.counting {
            ByteCounting::Off | ByteCounting::OctetsInSlowStart { .. } => self.mss,
            ByteCounting::Segments => acked.charged,
            ByteCounting::Octets { .. } => acked.octets,
        };
        if self.credit >= self.cwnd {
            self.credit -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    fn halve(&mut self, flight: u64) {
        let basis = match self.reduction {
            Reduction::OfFlight => flight,
            Reduction::OfWindow => self.cwnd,
        };
        self.ssthresh = (basis / 2).max(2 * self.mss);
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WindowRules;
    use crate::profile::Profile;

    fn reno(byte_counting: ByteCounting) -> Congestion {
        let default = TcpConfig::default();
        let window = WindowRules { byte_counting, reduction: Reduction::OfFlight, ..default.window };
        Congestion::new(&TcpConfig { congestion: CongestionAlgorithm::NewReno, window, ..default }, 1000)
    }

    fn acknowledge(window: &mut Congestion, octets: u64, is_used: bool) {
        let acked = Acked { octets, charged: octets.next_multiple_of(1000), flight: 0, rtt: None };
        window.on_acknowledged(Instant::EPOCH, acked, Duration::ZERO, is_used);
    }

    #[test]
    fn reno_doubles_then_adds_one_segment_per_window_and_halves() {
        let mut window = reno(ByteCounting::Octets { limit_segments: 1 });
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
        window.on_timeout(Some(3000), 0);
        assert_eq!(window.cwnd(), 1000);
        acknowledge(&mut window, 1000, true);
        acknowledge(&mut window, 1000, true);
        assert_eq!(window.cwnd(), 2000);
        acknowledge(&mut window, 1000, true);
        assert_eq!(window.cwnd(), 3000);
    }

    /// RFC 3465: small segments enlarge a window that counts octets slowly, one that counts acknowledgments at once.
    #[test]
    fn byte_counting_keeps_small_messages_from_enlarging_the_window() {
        for (counting, grown) in [
            (ByteCounting::Off, 20_000),
            (ByteCounting::Segments, 20_000),
            (ByteCounting::Octets { limit_segments: 1 }, 10_640),
            (ByteCounting::OctetsInSlowStart { limit_segments: 1 }, 10_640),
        ] {
            let mut window = reno(counting);
            (0..10).for_each(|_| acknowledge(&mut window, 64, true));
            assert_eq!(window.cwnd(), grown, "{counting:?}");
        }
        let mut avoiding = reno(ByteCounting::OctetsInSlowStart { limit_segments: 1 });
        avoiding.on_loss(8000);
        assert!(!avoiding.is_in_slow_start());
        (0..4).for_each(|_| acknowledge(&mut avoiding, 64, true));
        assert_eq!(avoiding.cwnd(), 5000, "beyond slow start four acknowledgments are a window of four");
        for (counting, grown) in [
            (ByteCounting::Off, 11_000),
            (ByteCounting::Segments, 14_000),
            (ByteCounting::Octets { limit_segments: 2 }, 12_000),
        ] {
            let mut window = reno(counting);
            acknowledge(&mut window, 4000, true);
            assert_eq!(window.cwnd(), grown, "{counting:?}, one acknowledgment of four segments");
        }
    }
    /// Linux until 4.3 with byte counting: a window of two segments takes 16 small segments to become one of three.
    #[test]
    fn slow_start_that_includes_its_threshold_is_left_slowly_by_small_segments() {
        let mut window = Congestion::new(&TcpConfig::profile(Profile::Linux2006), 1000);
        window.on_loss(3000);
        for _ in 0..15 {
            acknowledge(&mut window, 64, true);
            assert!(window.is_in_slow_start() && window.cwnd() < 3000);
        }
        acknowledge(&mut window, 64, true);
        assert!(!window.is_in_slow_start() && window.cwnd() == 3024);
        (0..4).for_each(|_| acknowledge(&mut window, 64, true));
        assert_eq!(window.cwnd(), 4024, "beyond it each acknowledgment counts");
    }
}
