//! The states of the control, and what leads from one to the next.

use core::time::Duration;

use virtual_time::Instant;

use super::arithmetic::percent;
use super::bounds::{BETA, is_too_much};
use super::delivery::Sample;
use super::{Acknowledgment, Bbr};

/// A state: how fast packets leave, and how many may be in flight, by what the path delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The rate doubles in each round until the path is full.
    Startup,
    /// The queue that this made is drained.
    Drain,
    /// Packets leave more slowly than the path delivers, so that its queue drains.
    Down,
    /// Packets leave as fast as the path delivers, and room is left to others.
    Cruise,
    /// The room is filled, so that losses of what follows mean what they seem to.
    Refill,
    /// More is sent than the path delivered, to find out whether it could.
    Up,
    /// Half of it is in flight, so that the shortest round trip shows.
    ProbeRtt,
}

impl Phase {
    /// Returns the rate at which packets leave, in hundredths of what the path delivers.
    pub(crate) const fn pacing_gain(self) -> u64 {
        match self {
            // 4·ln 2: the least that doubles the rate in each round.
            Self::Startup => 277,
            Self::Drain => 50,
            Self::Down => 90,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 100,
            Self::Up => 125,
        }
    }

    /// Returns what may be in flight, in hundredths of what fills the path.
    pub(crate) const fn window_gain(self) -> u64 {
        match self {
            Self::Up => 225,
            Self::Startup | Self::Drain | Self::Down | Self::Cruise | Self::Refill | Self::ProbeRtt => 200,
        }
    }

    /// Returns whether it looks for more than is known: losses tell nothing for the short run meanwhile.
    pub(crate) const fn is_probing(self) -> bool {
        match self {
            Self::Startup | Self::Refill | Self::Up => true,
            Self::Drain | Self::Down | Self::Cruise | Self::ProbeRtt => false,
        }
    }

    const fn is_cycling(self) -> bool {
        match self {
            Self::Down | Self::Cruise | Self::Refill | Self::Up => true,
            Self::Startup | Self::Drain | Self::ProbeRtt => false,
        }
    }
}

/// The measurement of the shortest round trip: how far it is, and the window to return to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drained {
    /// The time until which little is in flight, once it is.
    until: Option<Instant>,
    /// Whether a round has gone by with little in flight.
    has_round: bool,
    /// The window before.
    cwnd: u64,
    /// Nothing was in flight, and nothing has come back since: the path is drained anyway.
    is_restart: bool,
}

impl Drained {
    /// Returns whether little was in flight for long enough.
    fn is_over(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}

/// News of an acknowledgment beyond its sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// Whether a round begins with it.
    pub(crate) is_round_start: bool,
    /// Whether the shortest round trip was not seen for so long that it has to be looked for.
    pub(crate) is_rtt_due: bool,
}

impl Bbr {
    /// Goes from phase to phase, as an acknowledgment demands.
    pub(crate) fn advance(&mut self, acked: &Acknowledgment, sample: &Sample, news: News) {
        if self.phase == Phase::Startup && self.pipe.was_full() {
            self.rounds.begin_drain();
            self.phase = Phase::Drain;
        }
        // Beside others, what the start took for the path's rate may never come down to what is in flight.
        if self.phase == Phase::Drain && (acked.flight <= self.flight_of(100) || self.rounds.is_drain_over())
        {
            self.begin_down(acked.now);
        }
        if self.pipe.was_full() && !self.goes_on(sample, news.is_round_start) {
            self.adapt_bound(acked, sample, news.is_round_start);
            self.advance_cycle(acked, sample, news.is_round_start);
        }
        let was_restart = core::mem::take(&mut self.drained.is_restart);
        if self.phase != Phase::ProbeRtt && news.is_rtt_due && !was_restart {
            self.begin_probe_rtt();
        }
        if self.phase == Phase::ProbeRtt {
            self.advance_probe_rtt(acked, news.is_round_start);
        }
    }

    /// Sending begins anew after nothing was in flight: at the rate that the path delivered, without a burst.
    pub(crate) fn on_restart(&mut self, now: Instant) {
        self.aggregation.restart(now);
        self.drained.is_restart = true;
        if self.phase == Phase::ProbeRtt {
            self.end_probe_rtt_if_due(now);
        }
    }

    /// Takes in that too much was lost of what left while probing.
    pub(crate) fn on_too_much(&mut self, now: Instant, sample: &Sample) {
        self.cycle.judged();
        if !sample.is_limited {
            let least = percent(self.product(self.bandwidth.rate(), 100).min(self.cwnd), BETA);
            self.bounds.high = sample.flight.max(least);
        }
        if self.phase == Phase::Up {
            self.begin_down(now);
        }
    }

    /// Ends the measurements of a probing when all of it is answered for; returns whether it goes on at once, because it stopped by precaution alone.
    fn goes_on(&mut self, sample: &Sample, is_round_start: bool) -> bool {
        if !is_round_start || !self.cycle.answered() || !self.phase.is_cycling() {
            return false;
        }
        if !sample.is_limited {
            self.bandwidth.advance();
        }
        let goes_on = self.cycle.goes_on();
        if goes_on {
            self.begin_refill();
        }
        goes_on
    }

    /// Learns from what was probed how much may be in flight.
    fn adapt_bound(&mut self, acked: &Acknowledgment, sample: &Sample, is_round_start: bool) {
        if is_too_much(sample) {
            if self.cycle.is_judged() {
                self.on_too_much(acked.now, sample);
            }
            return;
        }
        if self.bounds.high == u64::MAX {
            return;
        }
        self.bounds.high = self.bounds.high.max(sample.flight);
        if self.phase == Phase::Up {
            self.raise_bound(acked, is_round_start);
        }
    }

    /// Raises the bound while it is what holds back: by one segment in the first round, by twice as much in each further one.
    fn raise_bound(&mut self, acked: &Acknowledgment, is_round_start: bool) {
        if !acked.is_window_used || self.cwnd < self.bounds.high {
            return;
        }
        let grown = self.cycle.grow(acked.bytes, self.cwnd);
        self.bounds.high = self.bounds.high.saturating_add(grown);
        if is_round_start {
            self.cycle.accelerate(self.sizes.segment);
        }
    }

    fn advance_cycle(&mut self, acked: &Acknowledgment, sample: &Sample, is_round_start: bool) {
        match self.phase {
            Phase::Startup | Phase::Drain | Phase::ProbeRtt => {}
            Phase::Down => {
                if !self.refill_if_due(acked.now) && self.is_drained(acked.flight) {
                    self.phase = Phase::Cruise;
                }
            }
            Phase::Cruise => {
                self.refill_if_due(acked.now);
            }
            Phase::Refill if is_round_start => self.begin_up(sample),
            Phase::Refill => {}
            Phase::Up => {
                let flight_before = acked.flight.saturating_add(acked.bytes);
                if self.cycle.is_cautious() && flight_before >= self.bounds.high {
                    self.cycle.stopped_short();
                    self.begin_down(acked.now);
                } else if acked.is_window_used && self.cwnd >= self.bounds.high {
                    // The bound holds back, not the path: what it delivers says nothing yet.
                    self.pipe.restart(sample.rate);
                } else if self.pipe.is_full_now() {
                    self.cycle.passed();
                    self.begin_down(acked.now);
                }
            }
        }
    }

    fn refill_if_due(&mut self, now: Instant) -> bool {
        let segments = self.product(self.rate(), 100).min(self.cwnd) / self.sizes.segment;
        if !self.cycle.is_due(now, segments) {
            return false;
        }
        self.begin_refill();
        true
    }

    /// Returns whether no queue is left, and room for others.
    fn is_drained(&self, flight: u64) -> bool {
        let full = self.quantized(self.product(self.bandwidth.rate(), 100));
        flight <= self.bounds.with_headroom(self.sizes.segment, self.least_window()).min(full)
    }

    fn begin_refill(&mut self) {
        self.bounds.loosen();
        self.cycle.refill();
        self.rounds.begin(self.delivery.delivered());
        self.phase = Phase::Refill;
    }

    fn begin_up(&mut self, sample: &Sample) {
        self.cycle.probe(self.sizes.segment);
        self.rounds.begin(self.delivery.delivered());
        self.pipe.restart(sample.rate);
        self.phase = Phase::Up;
    }

    fn begin_down(&mut self, now: Instant) {
        self.losses.forget();
        self.cycle.begin(now);
        self.rounds.begin(self.delivery.delivered());
        self.phase = Phase::Down;
    }

    fn begin_probe_rtt(&mut self) {
        self.drained = Drained { cwnd: self.cwnd, ..Drained::default() };
        self.cycle.stop();
        self.rounds.begin(self.delivery.delivered());
        self.phase = Phase::ProbeRtt;
    }

    /// Keeps little in flight for 200 ms and a round at least, once it is.
    fn advance_probe_rtt(&mut self, acked: &Acknowledgment, is_round_start: bool) {
        self.delivery.on_limited(acked.flight);
        if self.drained.until.is_none() {
            if acked.flight <= self.probe_rtt_window() {
                self.drained.until = Some(acked.now + PROBE_RTT_TIME);
                self.rounds.begin(self.delivery.delivered());
            }
            return;
        }
        self.drained.has_round |= is_round_start;
        if self.drained.has_round {
            self.end_probe_rtt_if_due(acked.now);
        }
    }

    fn end_probe_rtt_if_due(&mut self, now: Instant) {
        if !self.drained.is_over(now) {
            return;
        }
        self.round_trip.on_probed(now);
        self.cwnd = self.cwnd.max(self.drained.cwnd);
        self.bounds.loosen();
        if self.pipe.was_full() {
            self.begin_down(now);
            self.phase = Phase::Cruise;
        } else {
            self.phase = Phase::Startup;
        }
    }
}

/// The time for which little is in flight while the shortest round trip is measured (ProbeRTTDuration).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
