//! The step from the wait in one direction to the response time of a transaction.

use core::num::NonZeroU32;
use core::time::Duration;

use super::grid::Grid;
use super::rules::Rules;
use super::waiting::{Dealing, Waiting};
use super::{Scenario, Transport};
use crate::error::ModelError;
use crate::numeric::duration;
use crate::studies::s4;

/// A prediction of the response time.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The mean of the response time.
    pub mean: Duration,
    /// Mean extra delay in one direction; for UDP half of the mean extra delay of the transaction.
    pub one_way_extra: Duration,
    /// Mean time from sending a packet that is lost to sending it again; for UDP the first timeout.
    pub detection: Duration,
    /// The complementary distribution function, in ascending order; linear in between for SCTP and TCP, a
    /// step function for UDP. Ends below [`LEAST_PROBABILITY`].
    pub ccdf: Vec<CcdfPoint>,
}

/// A point of the distribution: a response takes longer than this time with this probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CcdfPoint {
    /// Response time in milliseconds.
    pub response_ms: f64,
    /// `P(response time > response_ms)`.
    pub probability: f64,
}

/// Returns the response time of a transaction: request and answer wait independently.
///
/// # Errors
/// [`ModelError::Diverges`] if the mean over UDP is infinite, [`ModelError::TooLarge`] if it does not fit.
pub fn response_time(scenario: &Scenario, transport: &Transport) -> Result<Prediction, ModelError> {
    match Recovering::of(scenario, transport) {
        Recovering::OneWay(rules, dealing) => {
            Prediction::of_both_directions(scenario, &rules, &waiting(scenario, &rules, dealing))
        }
        Recovering::Transaction { first_timeout } => udp(scenario, first_timeout),
    }
}

/// Returns the mean of [`response_time`] without its distribution, which takes most of the work.
///
/// # Errors
/// [`ModelError::Diverges`] if the mean over UDP is infinite, [`ModelError::TooLarge`] if it does not fit.
pub fn mean_response_time(scenario: &Scenario, transport: &Transport) -> Result<Duration, ModelError> {
    match Recovering::of(scenario, transport) {
        Recovering::OneWay(rules, dealing) => {
            mean_of_both_directions(scenario, &waiting(scenario, &rules, dealing))
        }
        Recovering::Transaction { first_timeout } => {
            s4::udp_response_time(scenario.rtt, scenario.loss, first_timeout, scenario.processing)
        }
    }
}

/// Returns the distribution of the extra delay in one direction; `None` for UDP, whose recovery spans both.
#[must_use]
pub fn one_way_waiting(scenario: &Scenario, transport: &Transport) -> Option<Waiting> {
    match Recovering::of(scenario, transport) {
        Recovering::OneWay(rules, dealing) => Some(waiting(scenario, &rules, dealing)),
        Recovering::Transaction { .. } => None,
    }
}

/// What finds that a message was lost.
enum Recovering {
    /// The transport, in each direction by itself.
    OneWay(Rules, Dealing),
    /// The client, which repeats the request if no answer comes.
    Transaction {
        /// Wait before the first retransmission.
        first_timeout: Duration,
    },
}

impl Recovering {
    fn of(scenario: &Scenario, transport: &Transport) -> Self {
        match *transport {
            Transport::Sctp { streams } => Self::OneWay(Rules::sctp(scenario), Dealing::RoundRobin(streams)),
            Transport::SctpUnordered => Self::OneWay(Rules::sctp(scenario), Dealing::Unordered),
            Transport::Tcp { connections } => {
                Self::OneWay(Rules::tcp(scenario, connections), Dealing::RoundRobin(connections))
            }
            Transport::Quic { streams } => Self::OneWay(Rules::quic(scenario), Dealing::RoundRobin(streams)),
            Transport::Udp { first_timeout } => Self::Transaction { first_timeout },
        }
    }
}

/// Returns the smallest number of SCTP streams whose mean response time is at most 1 % above that of unordered
/// delivery, or `None` if [`MOST_STREAMS`] are not enough.
#[must_use]
pub fn sufficient_streams(scenario: &Scenario) -> Option<NonZeroU32> {
    let rules = Rules::sctp(scenario);
    let fixed = scenario.rtt.as_secs_f64() + scenario.processing.as_secs_f64();
    let mean = |dealing| fixed + 2.0 * waiting(scenario, &rules, dealing).mean_s();
    let goal = mean(Dealing::Unordered) * SUFFICIENT_RATIO;
    let suffices = |streams| mean(Dealing::RoundRobin(streams)) <= goal;
    // Double until it is enough, then halve the interval.
    let mut high = NonZeroU32::MIN;
    while !suffices(high) {
        if high >= MOST_STREAMS {
            return None;
        }
        high = high.saturating_mul(NonZeroU32::MIN.saturating_add(1));
    }
    let mut low = high.get() / 2;
    while let Some(middle) = NonZeroU32::new(low.midpoint(high.get())).filter(|middle| middle.get() > low) {
        if suffices(middle) {
            high = middle;
        } else {
            low = middle.get();
        }
    }
    Some(high)
}

fn mean_of_both_directions(scenario: &Scenario, waiting: &Waiting) -> Result<Duration, ModelError> {
    let fixed_s = scenario.rtt.as_secs_f64() + scenario.processing.as_secs_f64();
    duration(fixed_s + 2.0 * waiting.mean_s(), "the response time")
}

impl Prediction {
    /// Combines request and answer, which wait independently, each as `waiting` says.
    pub(super) fn of_both_directions(
        scenario: &Scenario,
        rules: &Rules,
        waiting: &Waiting,
    ) -> Result<Self, ModelError> {
        let fixed_s = scenario.rtt.as_secs_f64() + scenario.processing.as_secs_f64();
        let both = rules.recovery.grid().convolve(&waiting.masses(), &waiting.masses());
        // Grid::tail counts half of a point's own mass, which at zero is nearly everything.
        let mut tail = Grid::tail(both.at());
        tail[0] = 1.0 - (1.0 - waiting.tail_at(0.0)).powi(2);
        Ok(Self {
            mean: mean_of_both_directions(scenario, waiting)?,
            one_way_extra: duration(waiting.mean_s(), "the one-way extra delay")?,
            detection: duration(rules.detection_s, "the detection delay")?,
            ccdf: thinned(rules.recovery.grid().times(), &tail, fixed_s),
        })
    }
}

fn waiting(scenario: &Scenario, rules: &Rules, dealing: Dealing) -> Waiting {
    let Scenario { rate, loss, .. } = *scenario;
    match dealing {
        Dealing::Unordered => Waiting::new(&rules.recovery, rate, loss, dealing),
        Dealing::RoundRobin(apart) => {
            Waiting::with_hindsight(&rules.recovery, &rules.hindsight(apart), rate, loss, dealing)
        }
        // The next message of the stream may follow at once.
        Dealing::Random(_) => {
            let hindsight = rules.hindsight(NonZeroU32::MIN);
            Waiting::with_hindsight(&rules.recovery, &hindsight, rate, loss, dealing)
        }
    }
}

/// Keeps the points at which the function has fallen by a fiftieth, and their predecessors, so that steps
/// stay steep.
fn thinned(times: &[f64], tail: &[f64], offset_s: f64) -> Vec<CcdfPoint> {
    let point = |index: usize| CcdfPoint {
        response_ms: (offset_s + times[index]) * 1e3,
        probability: tail[index].clamp(0.0, 1.0),
    };
    let mut kept = vec![point(0)];
    let mut last = 0;
    for index in 1..times.len() {
        if tail[index] > 0.98 * tail[last] {
            continue;
        }
        if index - 1 > last {
            kept.push(point(index - 1));
        }
        kept.push(point(index));
        last = index;
        if tail[index] < LEAST_PROBABILITY {
            break;
        }
    }
    kept
}

/// Predicts UDP: attempts fail independently with `1 − (1−p)²`, and the wait doubles: S4 (10), here with its
/// distribution.
fn udp(scenario: &Scenario, first_timeout: Duration) -> Result<Prediction, ModelError> {
    let Scenario { rtt, loss, rate: _, processing, profile: _, rto_min: _ } = *scenario;
    let mean = s4::udp_response_time(rtt, loss, first_timeout, processing)?;
    let fixed = rtt.checked_add(processing).ok_or(ModelError::TooLarge { quantity: "the response time" })?;
    let failure = 1.0 - loss.complement().powi(2);
    let mut ccdf = Vec::new();
    let (mut waited_s, mut wait_s, mut probability) = (0.0, first_timeout.as_secs_f64(), failure);
    loop {
        ccdf.push(CcdfPoint { response_ms: (fixed.as_secs_f64() + waited_s) * 1e3, probability });
        if probability < LEAST_PROBABILITY {
            break;
        }
        waited_s += wait_s;
        wait_s *= 2.0;
        probability *= failure;
    }
    let one_way_extra = mean.saturating_sub(fixed) / 2;
    Ok(Prediction { mean, one_way_extra, detection: first_timeout, ccdf })
}

/// A CCDF ends below this probability.
pub const LEAST_PROBABILITY: f64 = 1e-6;
/// [`sufficient_streams`] looks no further.
pub const MOST_STREAMS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);
/// How much slower than unordered is called the same.
const SUFFICIENT_RATIO: f64 = 1.01;
