//! The transports' rules of loss recovery, as chains of attempts.
//!
//! All times are extra delay: a packet sent at 0 would be acknowledged at RTT, and a retransmission at `D`
//! arrives by `D` later than the original would have.

use core::num::NonZeroU32;
use core::time::Duration;

use super::grid::Grid;
use super::recovery::{Attempt, Feedback, Recovery};
use super::waiting::Hindsight;
use super::{Profile, Scenario, Transport};
use crate::numeric::erlang_tail;
use crate::quantity::Probability;

/// A transport's recovery.
pub(super) struct Rules {
    attempts: Vec<Attempt>,
    rtt_s: f64,
    loss: Probability,
    /// `R` of a lost message.
    pub(super) recovery: Recovery,
    /// The mean time to the first retransmission, in seconds.
    pub(super) detection_s: f64,
}

impl Rules {
    pub(super) fn sctp(scenario: &Scenario) -> Self {
        match scenario.profile {
            Profile::Rfc9260 => Self::new(scenario, rfc9260(scenario)),
            Profile::Signalling => Self::new(scenario, signalling(scenario)),
        }
    }

    pub(super) fn tcp(scenario: &Scenario, connections: NonZeroU32) -> Self {
        Self::new(scenario, tcp(scenario, connections))
    }

    pub(super) fn quic(scenario: &Scenario) -> Self {
        Self::new(scenario, quic(scenario))
    }

    fn new(scenario: &Scenario, attempts: Vec<Attempt>) -> Self {
        let grid = Grid::new(scenario.rtt.max(LEAST_SCALE).as_secs_f64());
        let detection_s = attempts.first().map_or(0.0, |attempt| attempt.mean_s(&grid));
        let recovery = Recovery::from_attempts(grid, &attempts, 0, scenario.loss);
        Self { attempts, rtt_s: scenario.rtt.as_secs_f64(), loss: scenario.loss, recovery, detection_s }
    }

    /// Returns `R̄(t)` at the grid's times for a retransmission that feedback caused and that was lost: from
    /// its sending on.
    pub(super) fn repeated_tail(&self) -> Vec<f64> {
        let grid = self.recovery.grid().clone();
        let again = self.attempts.first().map_or(0, |first| first.after_feedback);
        Recovery::from_attempts(grid, &self.attempts, again, self.loss).tail()
    }

    /// Returns the timer of a lone packet, in seconds.
    pub(super) fn first_timer_s(&self) -> f64 {
        let timer = self.attempts.first().and_then(|first| first.timer.first());
        timer.map_or(f64::INFINITY, |(wait_s, _)| *wait_s)
    }

    /// Returns the knowledge that a message which has waited for a round-trip time has of a loss before it: it
    /// and the `apart − 1` messages between were packets that can reveal the loss. Only its first
    /// retransmission is judged anew.
    pub(super) fn hindsight(&self, apart: NonZeroU32) -> Hindsight {
        let grid = self.recovery.grid();
        let mut tail = self.recovery.tail();
        if let Some(first) = self.attempts.first() {
            let feedback = first.feedback.map(|feedback| feedback.after(apart.get()));
            let revealed = Attempt { feedback, ..first.clone() }.tail(grid);
            let reported = self.loss.complement();
            for (tail, (before, after)) in tail.iter_mut().zip(first.tail(grid).into_iter().zip(revealed)) {
                *tail -= reported * (before - after);
            }
        }
        Hindsight { from_s: self.rtt_s, tail }
    }
}

/// Returns the round-trip times at which the mean response time has a bend, in ascending order: there another timer is the
/// first to fire. Between them it is smooth, and can be interpolated.
#[must_use]
pub fn bends(transport: &Transport, profile: Profile, rto_min: Option<Duration>) -> Vec<Duration> {
    match (transport, profile) {
        (Transport::Sctp { .. } | Transport::SctpUnordered, Profile::Signalling) => {
            let rto = rto_min.unwrap_or(SHORT_RTO_MIN);
            vec![rto.div_f64(PROBE_RTTS), rto]
        }
        (Transport::Sctp { .. } | Transport::SctpUnordered, Profile::Rfc9260) => {
            vec![rto_min.unwrap_or(RFC9260_RTO_MIN)]
        }
        // Their timers are the round-trip time and something more.
        (Transport::Tcp { .. } | Transport::Quic { .. } | Transport::Udp { .. }, _) => Vec::new(),
    }
}

/// Returns the attempts of RFC 9260 to the letter: the third SACK that misses a chunk causes its fast
/// retransmit (§7.2.4), once; after that only T3-rtx is left, which doubles (§6.3.3 E2) up to RTO.Max.
fn rfc9260(scenario: &Scenario) -> Vec<Attempt> {
    let rto = timeout(scenario, RFC9260_RTO_MIN);
    let reports = Feedback {
        rtt_s: scenario.rtt.as_secs_f64(),
        rate: revealing_rate(scenario),
        packets: MISSING_REPORTS,
        window_s: 0.0,
        packets_within_window: None,
    };
    let first = Attempt {
        feedback: Some(reports),
        timer: restarted(scenario, rto, NonZeroU32::MIN),
        stopped_before_s: 0.0,
        after_feedback: 1,
        after_timer: 2,
    };
    let mut attempts = vec![first];
    append_timers(&mut attempts, None, doubling(rto, SCTP_RTO_MAX_S).map(stopped_by_acknowledgment));
    attempts
}

/// Returns the attempts of RACK and tail loss probes on SCTP. A loss is found when a later packet has been
/// acknowledged and the reordering window of RTT/4 is over (RFC 8985 §6.2); if nothing later was sent for
/// 2·SRTT, the probe repeats the packet (§7.3). Retransmissions are found lost in the same way; probes that are
/// lost in a row double, and end in T3-rtx.
fn signalling(scenario: &Scenario) -> Vec<Attempt> {
    let rtt = scenario.rtt.as_secs_f64();
    let rto = timeout(scenario, SHORT_RTO_MIN);
    let rack = Feedback {
        rtt_s: rtt,
        rate: revealing_rate(scenario),
        packets: 1,
        window_s: rtt * REORDERING_WINDOW_RTTS,
        packets_within_window: None,
    };
    let probe = (PROBE_RTTS * rtt).max(LEAST_PROBE_S).min(rto);
    let first = Attempt {
        feedback: Some(rack),
        timer: restarted(scenario, probe, NonZeroU32::MIN),
        stopped_before_s: rtt,
        after_feedback: 1,
        after_timer: 2,
    };
    let probes = doubling(probe, f64::INFINITY).take_while(|&wait| wait < rto).map(|wait| (wait, rtt));
    let timers = doubling(rto, SCTP_RTO_MAX_S).map(stopped_by_acknowledgment);
    let mut attempts = vec![first];
    append_timers(&mut attempts, Some(rack), probes.chain(timers));
    attempts
}

/// Returns the attempts of TCP as Linux does it: RACK with a reordering window of RTT/4, given up at three
/// selective acknowledgments as long as no reordering was seen and within recovery; RTO = SRTT + max(4·RTTVAR,
/// 200 ms). A tail loss probe with one packet in flight waits 200 ms longer for a delayed acknowledgment, and
/// so never comes before the timer.
fn tcp(scenario: &Scenario, connections: NonZeroU32) -> Vec<Attempt> {
    let rtt = scenario.rtt.as_secs_f64();
    let rto = rtt + scenario.rto_min.unwrap_or(SHORT_RTO_MIN).as_secs_f64();
    let apart = connections.get();
    let outside_recovery = Feedback {
        rtt_s: rtt,
        rate: revealing_rate(scenario),
        packets: apart,
        window_s: rtt * REORDERING_WINDOW_RTTS,
        packets_within_window: Some(apart.saturating_mul(MISSING_REPORTS)),
    };
    let in_recovery = Feedback { window_s: 0.0, packets_within_window: None, ..outside_recovery };
    let first = Attempt {
        feedback: Some(outside_recovery),
        timer: restarted(scenario, rto, connections),
        stopped_before_s: 0.0,
        after_feedback: 1,
        after_timer: 2,
    };
    let mut attempts = vec![first];
    append_timers(
        &mut attempts,
        Some(in_recovery),
        doubling(rto, TCP_RTO_MAX_S).map(stopped_by_acknowledgment),
    );
    attempts
}

/// Returns the attempts of QUIC: a packet is lost when a later one has been acknowledged and it is itself older than 9/8 of
/// a round-trip time, or three packets older than the acknowledged one (RFC 9002 §6.1). A probe timeout is counted
/// from the last packet sent, waits for a delayed acknowledgment, and doubles (§6.2).
fn quic(scenario: &Scenario) -> Vec<Attempt> {
    let rtt = scenario.rtt.as_secs_f64();
    let feedback = Feedback {
        rtt_s: rtt,
        rate: revealing_rate(scenario),
        packets: 1,
        window_s: rtt * QUIC_WINDOW_RTTS,
        packets_within_window: Some(QUIC_PACKET_THRESHOLD),
    };
    let probe = rtt + LEAST_PROBE_S + QUIC_ACK_DELAY_S;
    let first = Attempt {
        feedback: Some(feedback),
        timer: vec![(probe, 1.0)],
        stopped_before_s: rtt,
        after_feedback: 1,
        after_timer: 2,
    };
    let mut attempts = vec![first];
    append_timers(&mut attempts, Some(feedback), doubling(probe, QUIC_PROBE_MAX_S).map(|wait| (wait, rtt)));
    attempts
}

/// Appends one attempt per timer, given as its wait and `stopped_before_s`. A lost retransmission leads to
/// the first of them if feedback caused it, to the next one if the timer did, the last being repeated.
fn append_timers(
    attempts: &mut Vec<Attempt>,
    feedback: Option<Feedback>,
    timers: impl Iterator<Item = (f64, f64)>,
) {
    let base = attempts.len();
    for (wait, stopped_before_s) in timers {
        attempts.push(Attempt {
            feedback,
            timer: vec![(wait, 1.0)],
            stopped_before_s,
            after_feedback: base,
            after_timer: attempts.len() + 1,
        });
    }
    let last = attempts.len() - 1;
    for attempt in attempts {
        attempt.after_timer = attempt.after_timer.min(last);
        attempt.after_feedback = attempt.after_feedback.min(last);
    }
}

/// Returns when T3-rtx or TCP's timer is stopped, which a transmission does not re-arm.
fn stopped_by_acknowledgment(wait: f64) -> (f64, f64) {
    (wait, 0.0)
}

/// Returns `first`, twice, four times … that, and finally `most` once.
fn doubling(first: f64, most: f64) -> impl Iterator<Item = f64> {
    let mut next = Some(first);
    core::iter::from_fn(move || {
        let wait = next?.min(most);
        next = (wait < most).then_some(2.0 * wait);
        Some(wait)
    })
}

/// Returns the timer of a packet sent at 0: restarted when the packet before it, if still in flight, is
/// acknowledged (RFC 9260 §6.3.2 R3). Every `apart`-th message goes the same way as the lost one.
fn restarted(scenario: &Scenario, wait_s: f64, apart: NonZeroU32) -> Vec<(f64, f64)> {
    let rtt = scenario.rtt.as_secs_f64();
    let older_than = |age: f64| erlang_tail(apart.get(), scenario.rate.value(), age);
    let mut timer = vec![(wait_s, older_than(rtt))];
    for slice in 0..RESTART_SLICES {
        let (young, old) = (f64::from(slice), f64::from(slice + 1));
        let share = rtt / f64::from(RESTART_SLICES);
        let weight = older_than(young * share) - older_than(old * share);
        timer.push((wait_s + rtt - f64::midpoint(young, old) * share, weight));
    }
    timer
}

/// Returns the rate of later packets that reveal the loss: neither the packet nor its acknowledgment is lost.
fn revealing_rate(scenario: &Scenario) -> f64 {
    scenario.rate.value() * scenario.loss.complement().powi(2)
}

/// Returns the RTO in seconds, once the round-trip time is known and does not vary.
fn timeout(scenario: &Scenario, default_rto_min: Duration) -> f64 {
    scenario.rto_min.unwrap_or(default_rto_min).max(scenario.rtt).as_secs_f64().max(LEAST_PROBE_S)
}

/// The number of missing reports that cause a fast retransmit (RFC 9260 §7.2.4).
const MISSING_REPORTS: u32 = 3;
/// RTO.Min of RFC 9260 §16.
const RFC9260_RTO_MIN: Duration = Duration::from_secs(1);
/// RTO.Min of the signalling profile and of Linux TCP.
const SHORT_RTO_MIN: Duration = Duration::from_millis(200);
/// RTO.Max, RFC 9260 §16.
const SCTP_RTO_MAX_S: f64 = 60.0;
/// The longest RTO that Linux allows, in seconds.
const TCP_RTO_MAX_S: f64 = 120.0;
/// RFC 9002 §6.1.2: the time threshold is 9/8 of a round-trip time.
const QUIC_WINDOW_RTTS: f64 = 0.125;
/// RFC 9002 §6.1.1: the packet threshold.
const QUIC_PACKET_THRESHOLD: u32 = 3;
/// RFC 9000 §18.2: the longest delay of an acknowledgment that an endpoint announces by default.
const QUIC_ACK_DELAY_S: f64 = 0.025;
/// Probes are not followed beyond this.
const QUIC_PROBE_MAX_S: f64 = 120.0;
/// RFC 8985 §6.2: a quarter of the smallest round-trip time.
const REORDERING_WINDOW_RTTS: f64 = 0.25;
/// The round-trip times before a tail loss probe (RFC 8985 §7.2).
const PROBE_RTTS: f64 = 2.0;
/// No timer is faster: keeps chains finite on a path without delay.
const LEAST_PROBE_S: f64 = 1e-3;
/// A path with less delay is computed on the grid of this one.
const LEAST_SCALE: Duration = Duration::from_micros(10);
const RESTART_SLICES: u32 = 32;
