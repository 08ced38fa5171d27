//! The formulas of the studies S1 and S4, as published.
//!
//! * **S1**: M. Scharf, S. Kiesel, "Head-of-line Blocking in TCP and SCTP: Analysis and Measurements",
//!   GLOBECOM 2006 — [`s1`].
//! * **S4**: S. Kiesel, M. Scharf, "Modeling and performance evaluation of transport protocols for firewall
//!   control", Computer Networks 51, 2007 — [`s4`].
//!
//! Both rest on the same idea: a lost message is `D` late, so are the messages behind it on its stream, each
//! by one interval less than the one before; the mean over all messages is the one-way extra delay
//! ([`one_way_extra`]). Messages are taken as equally spaced and a retransmission as never lost, which is
//! where [`crate::resequencing`] goes further.
//!
//! Equation numbers are those of `docs/models.md`.

pub mod s1;
pub mod s4;

use core::num::NonZeroU32;
use core::time::Duration;

use crate::error::ModelError;
use crate::numeric::{count_rounded_up, duration};
use crate::quantity::{Probability, Rate};

/// The conditions for which a study's formulas are evaluated. The studies' own values are in brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// `RTT`: round-trip time without loss (20 ms).
    pub rtt: Duration,
    /// `p`: loss probability of a packet, the same in both directions (1 %).
    pub loss: Probability,
    /// `λ = 1/d`: messages per second in one direction, over all streams and connections (100).
    pub rate: Rate,
    /// `RTO`: retransmission timeout (1 s).
    pub rto: Duration,
    /// `δ`: processing time of both ends together (0.5 ms).
    pub processing: Duration,
}

/// The way in which messages are spread and delivered; they are dealt round robin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// `N` streams of one SCTP association: losses are found by the packets of all of them.
    Streams(NonZeroU32),
    /// One SCTP association with unordered delivery: nothing waits for anything.
    Unordered,
    /// `N` TCP connections, each recovering alone.
    Connections(NonZeroU32),
}

impl Flow {
    /// The flow over one SCTP stream.
    pub const ONE_STREAM: Self = Self::Streams(NonZeroU32::MIN);
    /// The flow over one TCP connection.
    pub const ONE_CONNECTION: Self = Self::Connections(NonZeroU32::MIN);
}

/// A response time together with what it was derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derivation {
    /// `D`: from sending a packet that is lost to sending it again.
    pub detection: Duration,
    /// `W`: mean extra delay of a message in one direction.
    pub one_way_extra: Duration,
    /// `R = RTT + 2W + δ`: mean response time.
    pub response_time: Duration,
    /// `M = ceil(D/d)`: with so many streams no message waits behind another; `None` where there are no
    /// streams.
    pub sufficient_streams: Option<NonZeroU32>,
}

/// Returns `W = p·((Q+1)·D − Q(Q+1)/2·N·d)` with `Q = floor(D/(N·d))` — S1 (2): a lost message is `detection`
/// late, the `Q` messages behind it on its stream each one stream interval less.
///
/// # Errors
/// [`ModelError::TooLarge`] if the result is beyond what a [`Duration`] holds.
pub fn one_way_extra(
    detection: Duration,
    rate: Rate,
    streams: NonZeroU32,
    loss: Probability,
) -> Result<Duration, ModelError> {
    let late = detection.as_secs_f64();
    let stream_interval = f64::from(streams.get()) * rate.interval_s();
    let waiting = (late / stream_interval).floor();
    let sum = (waiting + 1.0) * late - waiting * (waiting + 1.0) / 2.0 * stream_interval;
    duration(loss.value() * sum, "the one-way extra delay")
}

/// Returns `W = p·D` — S1 (3): unordered delivery, or at least [`sufficient_streams`].
#[must_use]
pub fn unordered_one_way_extra(detection: Duration, loss: Probability) -> Duration {
    detection.mul_f64(loss.value())
}

/// Returns `M = ceil(D/d)` — S1 (3): with so many streams the next message of a stream comes after the repair.
///
/// # Errors
/// [`ModelError::TooLarge`] if that is more than `u32::MAX`.
pub fn sufficient_streams(detection: Duration, rate: Rate) -> Result<NonZeroU32, ModelError> {
    count_rounded_up(detection.as_secs_f64() * rate.value(), "the number of sufficient streams")
}

/// Returns `R = RTT + 2W + δ` — S1 (5), S4 (1), completed from a detection delay.
fn derive(conditions: &Conditions, flow: Flow, detection: Duration) -> Result<Derivation, ModelError> {
    let Conditions { rtt, loss, rate, rto: _, processing } = *conditions;
    let (extra, sufficient) = match flow {
        Flow::Streams(streams) => {
            (one_way_extra(detection, rate, streams, loss)?, Some(sufficient_streams(detection, rate)?))
        }
        Flow::Unordered => {
            (unordered_one_way_extra(detection, loss), Some(sufficient_streams(detection, rate)?))
        }
        Flow::Connections(connections) => (one_way_extra(detection, rate, connections, loss)?, None),
    };
    let response_time = extra
        .checked_mul(2)
        .and_then(|extra| extra.checked_add(rtt))
        .and_then(|time| time.checked_add(processing))
        .ok_or(ModelError::TooLarge { quantity: "the response time" })?;
    Ok(Derivation { detection, one_way_extra: extra, response_time, sufficient_streams: sufficient })
}

/// Returns the interval, in seconds, of the packets whose acknowledgments reveal a loss: all packets of an
/// association, those of the own connection with parallel connections (S1 (4)).
fn revealing_interval_s(rate: Rate, flow: Flow) -> f64 {
    match flow {
        Flow::Streams(_) | Flow::Unordered => rate.interval_s(),
        Flow::Connections(connections) => f64::from(connections.get()) * rate.interval_s(),
    }
}

/// Returns `D_rto = RTO + max(RTT − d, 0)` in seconds — S1 (1), S4 (5): the timer is restarted by the
/// acknowledgment of the packet before the lost one.
fn timer_delay_s(rtt: Duration, rto: Duration, interval_s: f64) -> f64 {
    rto.as_secs_f64() + (rtt.as_secs_f64() - interval_s).max(0.0)
}

#[cfg(test)]
mod tests;
