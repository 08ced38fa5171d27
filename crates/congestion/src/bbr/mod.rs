//! A model-based congestion control, BBRv3 (draft-ietf-ccwg-bbr), for SCTP and TCP alike.
//!
//! Owns a model of the path, the window and the rate at which packets leave. It does not find losses, does not know what is in flight unless it is
//! told, sends nothing and has no timers: a protocol reports what happened and asks for both.
//!
//! Other controls take a loss for a full path. This one measures what the path delivers and how long it takes, sends at that rate, keeps twice of what
//! that is in flight at most, and looks from time to time whether there is more; losses bound it where they are more than 2 % of what is in flight.
//!
//! ```text
//!   Startup ─► Drain ─► Down ─► Cruise ─► Refill ─► Up      one cycle of probing: two to three seconds
//!   2.77×      0.5×     0.9×    1×        1×        1.25×   of the rate that the path delivers
//!                        ▲                          │
//!                        └──────────────────────────┘
//!   ProbeRtt, every five seconds without so short a round trip as the shortest: half the window for 200 ms
//! ```
//!
//! All of it is integer arithmetic: equal events give equal windows on every machine. Sizes are octets, rates octets per second. What is remembered of
//! packets on their way is bounded ([1024 records](Bbr#limits)).
//!
//! ```
//! use core::time::Duration;
//! use congestion::bbr::{Acknowledgment, Bbr, Sent};
//! use virtual_time::Instant;
//!
//! // A path of 10 Mbit/s and 20 ms: a packet of 1250 octets takes a millisecond of it.
//! let mut bbr = Bbr::new(1250, 12_500, 1);
//! for ms in 0..4000_u64 {
//!     let now = Instant::from_millis(ms);
//!     if let Some(sent) = ms.checked_sub(20) {
//!         let sent_at = Instant::from_millis(sent);
//!         let rtt = Some(Duration::from_millis(20));
//!         bbr.on_acknowledged(&Acknowledgment { sent_at, rtt, ..Acknowledgment::new(now, 1250, 19 * 1250) });
//!     }
//!     bbr.on_sent(&Sent { now, bytes: 1250, flight: ms.min(19) * 1250 });
//! }
//! assert!((1_200_000..=1_300_000).contains(&bbr.bandwidth()));
//! assert!(bbr.cwnd() >= 2 * 25_000);
//! ```
mod arithmetic;
mod bounds;
mod cycle;
mod delivery;
mod filter;
mod phases;
mod pipe;
mod random;
#[cfg(test)]
mod tests;

use core::time::Duration;

use virtual_time::Instant;

use self::arithmetic::{octets, percent, rate};
use self::bounds::{Bounds, LossRound, flight_at_threshold, is_too_much};
use self::cycle::Cycle;
use self::delivery::{Delivery, Sample};
use self::filter::{Aggregation, MaxBandwidth, RoundTrip};
use self::phases::{Drained, Phase};
use self::pipe::FullPipe;

/// A model of a path, and the window and pacing rate that follow from it.
///
/// # Limits
///
/// No more than 1024 departures are remembered, of packets that left within a 128th of the shortest round trip of each other one: more than seven round trips.
/// A packet that is acknowledged or lost later is judged by the oldest of them.
#[derive(Clone, Debug)]
pub struct Bbr {
    sizes: Sizes,
    cwnd: u64,
    /// Octets per second; zero while nothing is known.
    pacing_rate: u64,
    phase: Phase,
    delivery: Delivery,
    rounds: Rounds,
    bandwidth: MaxBandwidth,
    round_trip: RoundTrip,
    drained: Drained,
    aggregation: Aggregation,
    pipe: FullPipe,
    losses: LossRound,
    bounds: Bounds,
    cycle: Cycle,
    /// The state that a loss changed, to be restored if it was none.
    before: Option<Before>,
}

/// The sizes of a segment and of the window at first, in octets.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    segment: u64,
    initial_window: u64,
}

/// Rounds of packets: one ends when a packet is acknowledged that left after it began.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    ends_at: u64,
    /// The last round of the drain that follows the start.
    last_of_drain: u64,
}

/// The window and bounds before something was lost.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: u64,
    bounds: Bounds,
}

/// A packet that leaves, and what is in flight then.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The time at which it leaves.
    pub now: Instant,
    /// The number of octets that count as in flight.
    pub bytes: u64,
    /// Octets in flight before it.
    pub flight: u64,
}

/// News that an acknowledgment brings.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgment {
    /// The time at which the acknowledgment came.
    pub now: Instant,
    /// Octets acknowledged for the first time.
    pub bytes: u64,
    /// The time at which that packet left, the last time, which left last of those that are acknowledged.
    pub sent_at: Instant,
    /// The round trip of that packet, if it is certain which of its transmissions is answered.
    pub rtt: Option<Duration>,
    /// Octets in flight after it.
    pub flight: u64,
    /// Whether the window was full before it came.
    pub is_window_used: bool,
    /// Whether the sender had nothing more to send before it came, though window and pacing would have let it.
    pub is_limited: bool,
    /// Whether losses that acknowledgments revealed are being repaired.
    pub is_recovering: bool,
}

impl Acknowledgment {
    /// Creates an acknowledgment of so many octets that leaves so many in flight; sent just now, of a sender with more to send whose window was not full.
    #[must_use]
    pub const fn new(now: Instant, bytes: u64, flight: u64) -> Self {
        let (is_window_used, is_limited, is_recovering) = (false, false, false);
        Self { now, bytes, sent_at: now, rtt: None, flight, is_window_used, is_limited, is_recovering }
    }
}

/// Packets that are declared lost, which left at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// The time at which they are declared lost.
    pub now: Instant,
    /// The number of octets that they had in flight.
    pub bytes: u64,
    /// The time at which they left, the last time.
    pub sent_at: Instant,
}

impl Bbr {
    /// Creates a control in its start, for segments of this many octets. The seed lets flows that begin at the same time fall out of step.
    #[must_use]
    pub fn new(segment_bytes: u64, initial_window: u64, seed: u64) -> Self {
        Self {
            sizes: Sizes { segment: segment_bytes.max(1), initial_window },
            cwnd: initial_window,
            pacing_rate: 0,
            phase: Phase::Startup,
            delivery: Delivery::default(),
            rounds: Rounds::default(),
            bandwidth: MaxBandwidth::default(),
            round_trip: RoundTrip::default(),
            drained: Drained::default(),
            aggregation: Aggregation::default(),
            pipe: FullPipe::default(),
            losses: LossRound::default(),
            bounds: Bounds::default(),
            cycle: Cycle::new(seed),
            before: None,
        }
    }

    /// Returns the number of octets that may be in flight.
    #[must_use]
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Returns the number of octets per second at which packets leave; `None` before the first round trip was measured.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate > 0).then_some(self.pacing_rate)
    }

    /// Returns the number of octets per second that the path delivers, as far as was measured.
    #[must_use]
    pub fn bandwidth(&self) -> u64 {
        self.bandwidth.rate()
    }

    /// Returns whether what the path holds is not yet known: the window grows as in slow start.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        !self.pipe.was_full()
    }

    /// Segments carry this many octets from now on; the window stays.
    pub fn set_segment_bytes(&mut self, bytes: u64) {
        self.sizes.segment = bytes.max(1);
    }

    /// The window is this from now on, for reasons of the protocol's own, such as idleness; the model stays.
    pub fn set_window(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.sizes.segment);
        self.before = None;
    }

    /// Takes note of a packet that leaves, in the order in which they do. A packet that is sent again leaves again.
    pub fn on_sent(&mut self, sent: &Sent) {
        if sent.flight == 0 && self.delivery.is_limited() {
            self.on_restart(sent.now);
        }
        let grain = self.round_trip.shortest().unwrap_or_default() / GRAINS;
        // A protocol may exceed its window by a part of a packet (RFC 9260 §6.1 (B)) or by a retransmission: that is no proof that the path holds more.
        let most = self.cwnd.max(self.bounds.high);
        self.delivery.on_sent(sent, grain, most);
    }

    /// Takes in an acknowledgment of something new: model, window and rate follow.
    pub fn on_acknowledged(&mut self, acked: &Acknowledgment) {
        let shortest = self.round_trip.shortest().unwrap_or_default();
        let sample = self.delivery.on_acknowledged(acked.now, acked.bytes, acked.sent_at, shortest);
        if acked.is_limited {
            self.delivery.on_limited(acked.flight);
        }
        let Some(sample) = sample else { return };
        let delivered = self.delivery.delivered();
        let is_round_start = self.rounds.on_sample(&sample, delivered);
        if is_round_start {
            self.cycle.on_round();
        }
        if sample.rate > 0 && (sample.rate >= self.bandwidth.rate() || !sample.is_limited) {
            self.bandwidth.on_sample(sample.rate);
        }
        let is_loss_round_start = self.losses.on_sample(&sample, delivered);
        self.on_loss_round(acked, &sample, is_loss_round_start);
        self.observe_aggregation(acked);
        self.pipe.on_sample(&sample, is_round_start);
        let is_rtt_due = self.round_trip.on_measured(acked.now, acked.rtt);
        self.advance(acked, &sample, phases::News { is_round_start, is_rtt_due });
        if is_loss_round_start {
            self.losses.advance(&sample);
        }
        self.set_pacing_rate(acked.rtt);
        self.resize(acked.bytes);
    }

    /// Takes in a loss that acknowledgments, or the time, have revealed; in the order in which packets left.
    pub fn on_lost(&mut self, lost: &Lost) {
        if self.losses.on_lost(self.delivery.delivered()) {
            self.remember();
        }
        let Some(sample) = self.delivery.on_lost(lost.bytes, lost.sent_at) else { return };
        if self.cycle.is_judged() && is_too_much(&sample) {
            let sample = Sample { flight: flight_at_threshold(&sample, lost.bytes), ..sample };
            self.on_too_much(lost.now, &sample);
            // At once: what leaves before the next acknowledgment would be taken for proof that the path holds more.
            self.set_pacing_rate(None);
            self.bound_window();
        }
    }

    /// The retransmission timer expired: one segment, and from there what is acknowledged.
    pub fn on_timeout(&mut self) {
        self.remember();
        self.cwnd = self.sizes.segment;
    }

    /// The last losses, or the last timeout, were none: window and bounds are at least what they were.
    pub fn on_spurious(&mut self) {
        let Some(before) = self.before.take() else { return };
        (self.cwnd, self.bounds) = before.restored(self.cwnd, &self.bounds);
    }

    fn remember(&mut self) {
        self.before = Some(Before { cwnd: self.cwnd, bounds: self.bounds });
    }

    /// Acts on the losses of the round that this sample ends.
    fn on_loss_round(&mut self, acked: &Acknowledgment, sample: &Sample, is_start: bool) {
        if !is_start {
            return;
        }
        if self.losses.is_lossy() && !self.phase.is_probing() {
            self.bounds.tighten(&self.losses, (self.bandwidth.rate(), self.cwnd));
        }
        let is_full = acked.is_recovering && self.losses.is_high() && is_too_much(sample);
        if self.is_starting() && is_full {
            self.pipe.on_high_loss();
            self.bounds.high = self.flight_of(100).max(self.losses.delivered());
        }
    }

    fn observe_aggregation(&mut self, acked: &Acknowledgment) {
        let rounds = if self.is_starting() { 1 } else { AGGREGATION_ROUNDS };
        let round = (self.rounds.count, rounds);
        let of = (self.rate(), self.cwnd);
        self.aggregation.on_acknowledged((acked.now, acked.bytes), of, round);
    }

    /// Returns the rate that the model allows, in octets per second.
    fn rate(&self) -> u64 {
        self.bandwidth.rate().min(self.bounds.rate)
    }

    /// Returns what is in flight at so many hundredths of the rate over the shortest round trip.
    fn product(&self, rate: u64, gain: u64) -> u64 {
        match self.round_trip.shortest() {
            Some(shortest) if rate > 0 => percent(octets(rate, shortest), gain),
            _ => percent(self.sizes.initial_window, gain),
        }
    }

    /// Returns what may be in flight for so many hundredths of the path to be in use, whatever leaves at once.
    fn flight_of(&self, gain: u64) -> u64 {
        self.quantized(self.product(self.rate(), gain))
    }

    /// Returns at least what three bursts of packets, which leave at once, take.
    fn quantized(&self, flight: u64) -> u64 {
        let probe = if self.phase == Phase::Up { 2 * self.sizes.segment } else { 0 };
        flight.max(3 * self.quantum()).max(self.least_window()).saturating_add(probe)
    }

    /// Returns the octets that may leave at once: a millisecond of them, two segments at least where a path is not slow, 64 KiB at most.
    fn quantum(&self) -> u64 {
        let segments = if self.pacing_rate < SLOW { 1 } else { 2 };
        let least = segments * self.sizes.segment;
        octets(self.pacing_rate, Duration::from_millis(1)).min(QUANTUM_MAX).max(least)
    }

    fn least_window(&self) -> u64 {
        self.sizes.least_window()
    }

    fn set_pacing_rate(&mut self, rtt: Option<Duration>) {
        if self.pacing_rate == 0 {
            let Some(rtt) = rtt else { return };
            let rtt = rtt.max(Duration::from_millis(1));
            self.pacing_rate = percent(rate(self.sizes.initial_window, rtt), self.phase.pacing_gain());
        }
        let paced = percent(percent(self.rate(), self.phase.pacing_gain()), 100 - PACING_MARGIN);
        if paced > 0 && (!self.is_starting() || paced > self.pacing_rate) {
            self.pacing_rate = paced;
        }
    }

    /// Grows the window by what was acknowledged, up to what the model allows.
    fn resize(&mut self, bytes: u64) {
        let most = self.quantized(
            self.product(self.rate(), self.phase.window_gain()).saturating_add(self.aggregation.octets()),
        );
        if !self.is_starting() {
            self.cwnd = self.cwnd.saturating_add(bytes).min(most);
        } else if self.cwnd < most || self.delivery.delivered() < self.sizes.initial_window {
            self.cwnd = self.cwnd.saturating_add(bytes);
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if self.phase == Phase::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        self.bound_window();
    }

    /// Keeps the window within what losses have said.
    fn bound_window(&mut self) {
        let cap = match self.phase {
            Phase::Startup | Phase::Drain => u64::MAX,
            Phase::Down | Phase::Refill | Phase::Up => self.bounds.high,
            Phase::Cruise | Phase::ProbeRtt => {
                self.bounds.with_headroom(self.sizes.segment, self.least_window())
            }
        };
        self.cwnd = self.cwnd.min(cap.min(self.bounds.low).max(self.least_window()));
    }

    fn probe_rtt_window(&self) -> u64 {
        self.product(self.rate(), PROBE_RTT_GAIN).max(self.least_window())
    }
}

impl Sizes {
    fn least_window(self) -> u64 {
        LEAST_SEGMENTS * self.segment
    }
}

impl Before {
    /// Returns what the window and the bounds are at least when the loss was none.
    fn restored(&self, cwnd: u64, bounds: &Bounds) -> (u64, Bounds) {
        let bounds = Bounds {
            high: bounds.high.max(self.bounds.high),
            low: bounds.low.max(self.bounds.low),
            rate: bounds.rate.max(self.bounds.rate),
        };
        (cwnd.max(self.cwnd), bounds)
    }
}

impl Rounds {
    fn on_sample(&mut self, sample: &Sample, delivered: u64) -> bool {
        let is_start = sample.prior_delivered >= self.ends_at;
        if is_start {
            self.count += 1;
            self.ends_at = delivered;
        }
        is_start
    }

    /// The queue that the start made is drained, in three rounds at most.
    fn begin_drain(&mut self) {
        self.last_of_drain = self.count + DRAIN_ROUNDS;
    }

    fn is_drain_over(&self) -> bool {
        self.count > self.last_of_drain
    }

    /// A round begins for reasons of the model.
    fn begin(&mut self, delivered: u64) {
        self.ends_at = delivered;
    }
}

/// Packets that left within a 128th of the shortest round trip of each other share a record.
const GRAINS: u32 = 128;
/// Segments that may always be in flight (MinPipeCwnd).
const LEAST_SEGMENTS: u64 = 4;
/// Rounds in which the queue that the start made is drained at most.
const DRAIN_ROUNDS: u64 = 3;
/// Rounds for which heaps of acknowledgments are remembered at least (half of ExtraAckedFilterLen, of which there are two).
const AGGREGATION_ROUNDS: u64 = 5;
/// Hundredths by which less is sent than the path delivers, so that queues drain in the long run (PacingMarginPercent).
const PACING_MARGIN: u64 = 1;
/// The part of the path that is in use while its shortest round trip is measured, in hundredths (ProbeRTTCwndGain).
const PROBE_RTT_GAIN: u64 = 50;
/// Octets per second below which packets leave one by one: 1.2 Mbit/s.
const SLOW: u64 = 150_000;
const QUANTUM_MAX: u64 = 64 << 10;
