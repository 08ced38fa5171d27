//! The congestion window of CUBIC (RFC 9438) with the slow start of HyStart++ (RFC 9406), for SCTP and TCP alike.
//!
//! Owns window, slow-start threshold and the curve between two congestion events. It does not find losses, does not
//! know what is in flight and has no timers: a protocol reports what happened and asks for the window.
//!
//! ```text
//!  cwnd                                     ╱      W_cubic(t) = C·(t − K)³ + W_max
//!   │ W_max ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄╭─────────────╯       K = ∛((W_max − cwnd at t = 0) / C)
//!   │      │            ╭────╯                     never below what Reno would reach: W_est
//!   │      ╰── 0.7 ·  ╭─╯
//!   │          W_max  │
//!   └─────────────────┴──────┴─────────────► t
//!                     0      K
//! ```
//!
//! All of it is integer arithmetic: equal events give equal windows on every machine. Times count in microseconds,
//! the Reno estimate in 1/1024 of an octet.
//!
//! ```
//! use core::time::Duration;
//! use congestion::cubic::{Acknowledged, Cubic};
//! use virtual_time::Instant;
//!
//! let mut cubic = Cubic::new(1000, 10_000);
//! cubic.on_congestion();
//! assert_eq!((cubic.cwnd(), cubic.ssthresh()), (7000, Some(7000)));
//! let srtt = Duration::from_millis(100);
//! for round in 0..30 {
//!     let now = Instant::from_millis(100 * round);
//!     cubic.on_acknowledged(&Acknowledged { now, bytes: cubic.cwnd(), srtt, is_window_used: true });
//! }
//! assert!(cubic.cwnd() > 10_000);
//! ```
mod curve;
mod hystart;
#[cfg(test)]
mod tests;

use core::time::Duration;

use virtual_time::Instant;

use self::curve::Epoch;
use self::hystart::{Growth, HyStart, SLOW_DIVISOR};

/// A congestion window that follows RFC 9438.
#[derive(Clone, Debug)]
pub struct Cubic {
    segment: u64,
    state: State,
    /// The state before the last congestion event, to return to if there was none after all (RFC 9438 §4.9).
    before: Option<Box<State>>,
}

/// The part of a window that a congestion event changes.
#[derive(Clone, Debug)]
struct State {
    cwnd: u64,
    ssthresh: Option<u64>,
    /// The first slow start, then the last congestion event; boxed, because most flows are over before they have filled a window.
    memory: Option<Box<Memory>>,
}

/// The first slow start, and a congestion event, as far as the window has to remember them.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// The window in which the last loss showed, lowered by fast convergence; zero after a timeout.
    w_max: u64,
    /// The window before the last reduction.
    cwnd_prior: u64,
    /// The curve of this stage of congestion avoidance, once it has begun.
    epoch: Option<Epoch>,
    /// The round trips of the first slow start.
    slow_start: HyStart,
}

impl State {
    fn w_max(&self) -> u64 {
        self.memory.as_ref().map_or(0, |memory| memory.w_max)
    }
}

/// An acknowledgment outside recovery.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// The time at which the acknowledgment came.
    pub now: Instant,
    /// Octets acknowledged for the first time.
    pub bytes: u64,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Whether the window was full before: one that limits nobody does not grow (RFC 9438 §5.8).
    pub is_window_used: bool,
}

/// What an acknowledgment tells of the path, for the first slow start to end before anything is lost.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The round trip that it has measured, if it has.
    pub rtt: Option<Duration>,
    /// Octets in flight after it.
    pub flight: u64,
}

impl Cubic {
    /// Creates a window in slow start, for segments of this many octets.
    #[must_use]
    pub fn new(segment_bytes: u64, initial_window: u64) -> Self {
        let state = State { cwnd: initial_window, ssthresh: None, memory: None };
        Self { segment: segment_bytes.max(1), state, before: None }
    }

    /// Returns the number of octets that may be in flight.
    #[must_use]
    pub fn cwnd(&self) -> u64 {
        self.state.cwnd
    }

    /// Returns where slow start ends; `None` while there was no congestion.
    #[must_use]
    pub fn ssthresh(&self) -> Option<u64> {
        self.state.ssthresh
    }

    /// Returns the number of octets a segment carries.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.segment
    }

    /// Segments carry this many octets from now on; the window stays.
    pub fn set_segment_bytes(&mut self, bytes: u64) {
        self.segment = bytes.max(1);
    }

    /// RFC 9438 §4.2 to §4.5. Slow start (§4.10) adds all that was acknowledged: how much of it counts is for the caller to
    /// say, who knows how acknowledgments come and whether packets are paced.
    pub fn on_acknowledged(&mut self, acked: &Acknowledged) {
        self.grow(acked, None);
    }

    /// Takes in an acknowledgment as [`on_acknowledged`](Self::on_acknowledged) does, and what it tells of the path: the first slow
    /// start may end with a queue that builds up (RFC 9406 §4.2), where it otherwise ends with a loss.
    pub fn on_measured(&mut self, acked: &Acknowledged, measured: &Measured) {
        self.grow(acked, Some(measured));
    }

    fn grow(&mut self, acked: &Acknowledged, measured: Option<&Measured>) {
        if self.state.ssthresh.is_none_or(|ssthresh| self.state.cwnd < ssthresh) {
            if acked.is_window_used {
                self.slow_start(acked.bytes, measured);
            }
            return;
        }
        let state = &mut self.state;
        let Memory { w_max, cwnd_prior, epoch, .. } = &mut **state.memory.get_or_insert_default();
        let epoch = match epoch {
            Some(epoch) => epoch,
            None => {
                // §4.8: after a timeout the curve begins at its plateau.
                *w_max = (*w_max).max(state.cwnd);
                epoch.insert(Epoch::new(acked.now, state.cwnd, *w_max, self.segment))
            }
        };
        if acked.is_window_used {
            state.cwnd = epoch.grow(acked, state.cwnd, *cwnd_prior);
        } else {
            epoch.pause(acked.now);
        }
    }

    /// Grows in slow start: the first one may end before anything is lost (RFC 9406 §4.2); one after a congestion event has a
    /// threshold that says where it ends.
    fn slow_start(&mut self, bytes: u64, measured: Option<&Measured>) {
        let state = &mut self.state;
        if let Some(ssthresh) = state.ssthresh {
            state.cwnd = state.cwnd.saturating_add(bytes).min(ssthresh);
            return;
        }
        let growth = match measured {
            Some(seen) => state.memory.get_or_insert_default().slow_start.on_acknowledged(bytes, seen),
            None => Growth::Full,
        };
        match growth {
            Growth::Full => state.cwnd = state.cwnd.saturating_add(bytes),
            Growth::Slow => state.cwnd = state.cwnd.saturating_add(bytes / SLOW_DIVISOR),
            Growth::Over => state.ssthresh = Some(state.cwnd),
        }
    }

    /// Losses showed in acknowledgments (RFC 9438 §4.6, §4.7); once per recovery.
    pub fn on_congestion(&mut self) {
        let cwnd = self.state.cwnd;
        // Fast convergence: a flow whose maximum falls makes room for others.
        let w_max = if cwnd < self.state.w_max() { cwnd * 17 / 20 } else { cwnd };
        let reduced = self.reduced();
        self.change(reduced, Memory { w_max, cwnd_prior: cwnd, ..Memory::default() });
    }

    /// The retransmission timer expired: one segment (RFC 9438 §4.8).
    pub fn on_timeout(&mut self) {
        let cwnd_prior = self.state.cwnd;
        self.change(self.segment, Memory { cwnd_prior, ..Memory::default() });
    }

    /// The window is this, and the threshold what a reduction leaves; kept is what was before.
    fn change(&mut self, cwnd: u64, memory: Memory) {
        let state = State { cwnd, ssthresh: Some(self.reduced()), memory: Some(Box::new(memory)) };
        self.before = Some(Box::new(core::mem::replace(&mut self.state, state)));
    }

    /// The last congestion event or timeout was none: as if it had not been (RFC 9438 §4.9), unless the window has outgrown
    /// what it was.
    pub fn on_spurious_congestion(&mut self) {
        if let Some(before) = self.before.take()
            && before.cwnd > self.state.cwnd
        {
            self.state = *before;
        }
    }

    /// Idleness or a validation of the window says what it is from now on; the curve begins anew.
    pub fn set_window(&mut self, cwnd: u64, ssthresh: Option<u64>) {
        self.before = None;
        self.state = State { cwnd, ssthresh, memory: None };
    }

    /// Returns the window after a reduction by β = 0.7, but never less than two segments (RFC 9438 §4.6).
    fn reduced(&self) -> u64 {
        (self.state.cwnd * 7 / 10).max(2 * self.segment)
    }
}
