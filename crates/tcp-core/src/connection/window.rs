//! How much may be in flight: the congestion window in the unit that counts, its bound, and its validation.

use core::time::Duration;

use virtual_time::Instant;

use super::congestion::{Acked, Congestion};
use super::scoreboard::{Amount, Delivered, LostSegment};
use crate::config::{CongestionAlgorithm, TcpConfig, WindowRules, WindowUnit, WindowValidation};

/// The sender's window. All its figures are octets; where segments count, each counts as a full one.
#[derive(Debug)]
pub(crate) struct Window {
    rules: WindowRules,
    mss: u64,
    initial: u64,
    congestion: Congestion,
    usage: Usage,
}

/// How far the window was used, as Linux keeps it (`tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug)]
struct Usage {
    is_limiting: bool,
    /// The most segments outstanding in this round, and the offset that ends the round.
    most_segments: u64,
    round_ends: u64,
    /// The most outstanding since the window last was the limit, and when that was.
    used: u64,
    limited_at: Instant,
}

impl Window {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        let unit = match config.congestion {
            CongestionAlgorithm::Bbr => WindowUnit::Octets,
            CongestionAlgorithm::NewReno | CongestionAlgorithm::Cubic | CongestionAlgorithm::LinuxCubic => {
                config.window.unit
            }
        };
        Self {
            rules: WindowRules { unit, ..config.window },
            mss,
            initial: mss * u64::from(config.initial_window_segments),
            congestion: Congestion::new(config, mss),
            usage: Usage {
                is_limiting: false,
                most_segments: 0,
                round_ends: 0,
                used: 0,
                limited_at: Instant::EPOCH,
            },
        }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.congestion.cwnd()
    }

    /// Returns what an amount of segments takes of the window.
    pub(crate) fn charge(&self, amount: Amount) -> u64 {
        match self.rules.unit {
            WindowUnit::Octets => amount.bytes,
            WindowUnit::Segments => amount.segments * self.mss,
        }
    }

    /// Returns whether another segment fits beside what is in flight.
    pub(crate) fn has_room(&self, in_flight: Amount, bytes: u64) -> bool {
        let cap = self.rules.cap_segments.map_or(u64::MAX, |cap| u64::from(cap) * self.mss);
        let taken = self.charge(in_flight) + self.charge(Amount { segments: 1, bytes });
        taken <= self.cwnd().min(cap) || in_flight.segments == 0
    }

    /// Acknowledged outside recovery; `before` is what was in flight when the acknowledgment came.
    pub(crate) fn on_acknowledged(&mut self, now: Instant, told: &Delivered, srtt: Duration, before: Amount) {
        let was_full = self.charge(before) + self.mss > self.cwnd();
        let is_used = match self.rules.validation {
            WindowValidation::Never => true,
            WindowValidation::Restart | WindowValidation::Linux2006 => was_full,
            WindowValidation::Linux if self.congestion.is_in_slow_start() => {
                self.cwnd() < 2 * self.usage.most_segments * self.mss
            }
            WindowValidation::Linux => self.usage.is_limiting,
        };
        let charged = self.charge(told.acked);
        let acked = Acked {
            octets: told.acked.bytes,
            charged,
            flight: self.charge(before).saturating_sub(charged),
            rtt: told.latest.map(|(sent_at, _, _)| now.since(sent_at)),
        };
        self.congestion.on_acknowledged(now, acked, srtt, is_used);
    }

    /// Returns the time until which a segment has to wait for the rate of a model of the path; `None` if it need not.
    pub(crate) fn paced_until(&self, now: Instant) -> Option<Instant> {
        self.congestion.model().and_then(|model| model.paced_until(now))
    }

    /// A segment of so many octets leaves; `before` was in flight.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, before: Amount) {
        if let Some(model) = self.congestion.model_mut() {
            model.on_sent(now, bytes, before.bytes);
        }
    }

    /// Tells a model of the path what has arrived, in recovery or not.
    pub(crate) fn on_delivered(&mut self, now: Instant, told: &Delivered, standing: Standing) {
        let Some(model) = self.congestion.model_mut() else { return };
        let Some((sent_at, _, is_resent)) = told.latest else { return };
        let is_window_used = standing.before.bytes + self.mss > model.cwnd();
        let flight = standing.before.bytes.saturating_sub(told.new_bytes);
        model.on_acknowledged(&::congestion::bbr::Acknowledgment {
            sent_at,
            rtt: (!is_resent).then(|| now.since(sent_at)),
            is_window_used,
            is_limited: !standing.has_waiting && !is_window_used,
            is_recovering: standing.is_recovering,
            ..::congestion::bbr::Acknowledgment::new(now, told.new_bytes, flight)
        });
    }

    /// Tells a model of the path what was lost.
    pub(crate) fn on_lost(&mut self, now: Instant, lost: &LostSegment) {
        if let Some(model) = self.congestion.model_mut() {
            model.on_lost(now, lost.bytes, lost.sent_at);
        }
    }

    /// Something was sent, or the window kept it back.
    pub(crate) fn validate(&mut self, now: Instant, state: Validated) {
        match self.rules.validation {
            WindowValidation::Never | WindowValidation::Restart => return,
            WindowValidation::Linux | WindowValidation::Linux2006 => {}
        }
        let is_limiting = state.is_limiting || self.charge(state.in_flight) + self.mss > self.cwnd();
        let usage = &mut self.usage;
        let is_more = !usage.is_limiting && state.outstanding > usage.most_segments;
        if state.una >= usage.round_ends || is_limiting || is_more {
            usage.is_limiting = is_limiting;
            usage.most_segments = state.outstanding;
            usage.round_ends = state.next;
        }
        if is_limiting {
            (usage.used, usage.limited_at) = (0, now);
            return;
        }
        usage.used = usage.used.max(state.outstanding);
        if now.since(usage.limited_at) >= state.rto {
            let used = (usage.used * self.mss).max(self.initial);
            self.congestion.on_application_limited(used);
            (usage.used, usage.limited_at) = (0, now);
        }
    }

    /// Reduces the window after idleness, before something is sent.
    pub(crate) fn on_idle(&mut self, now: Instant, idle: Duration, rto: Duration) {
        self.congestion.on_idle(now, idle);
        if idle <= rto {
            return;
        }
        match self.rules.validation {
            WindowValidation::Never => {}
            WindowValidation::Restart => self.congestion.shrink_to(self.cwnd().min(self.initial)),
            WindowValidation::Linux | WindowValidation::Linux2006 => {
                let halvings = u32::try_from(idle.as_nanos() / rto.as_nanos().max(1)).unwrap_or(u32::MAX);
                let floor = self.initial.min(self.cwnd());
                self.congestion.shrink_to(self.cwnd().checked_shr(halvings).unwrap_or(0).max(floor));
                (self.usage.used, self.usage.limited_at) = (0, now);
            }
        }
    }

    pub(crate) fn on_loss(&mut self, outstanding: Amount) {
        let flight = self.charge(outstanding);
        self.congestion.on_loss(flight);
    }

    /// One segment beside what is in flight still; `outstanding` is what is halved, `None` if it was before.
    pub(crate) fn on_timeout(&mut self, outstanding: Option<Amount>, in_flight: Amount) {
        let flight = outstanding.map(|outstanding| self.charge(outstanding));
        let pipe = self.charge(in_flight);
        self.congestion.on_timeout(flight, pipe);
    }
}

/// How a sender stood when an acknowledgment came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// What was in flight.
    pub(crate) before: Amount,
    /// Data waited that had never been sent.
    pub(crate) has_waiting: bool,
    pub(crate) is_recovering: bool,
}

/// The facts by which [`Window::validate`] judges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validated {
    /// Data waits for the window.
    pub(crate) is_limiting: bool,
    pub(crate) in_flight: Amount,
    /// Segments not acknowledged cumulatively.
    pub(crate) outstanding: u64,
    pub(crate) una: u64,
    pub(crate) next: u64,
    pub(crate) rto: Duration,
}
