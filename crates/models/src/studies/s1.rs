//! S1: head-of-line blocking in TCP and SCTP.

use core::num::NonZeroU32;
use core::time::Duration;

use super::{Conditions, Derivation, Flow, derive, revealing_interval_s, timer_delay_s};
use crate::error::ModelError;
use crate::numeric::{count_rounded, duration};
use crate::quantity::Rate;

/// Returns `D = min(RTT + 3d, RTO + max(RTT − d, 0))` — S1 (1); with `N` connections `N·d` for `d` — S1 (4).
///
/// Fast retransmit comes with the third acknowledgment that misses the packet, or the timer is first.
///
/// # Errors
/// [`ModelError::TooLarge`] if the result is beyond what a [`Duration`] holds.
pub fn detection_delay(conditions: &Conditions, flow: Flow) -> Result<Duration, ModelError> {
    let interval = revealing_interval_s(conditions.rate, flow);
    let fast_retransmit = conditions.rtt.as_secs_f64() + 3.0 * interval;
    let timer = timer_delay_s(conditions.rtt, conditions.rto, interval);
    duration(fast_retransmit.min(timer), "the detection delay")
}

/// Returns `R = RTT + 2W + δ` — S1 (5) from (1) and (2), (3) for unordered delivery, (4) for parallel
/// connections.
///
/// # Errors
/// [`ModelError::TooLarge`] if a result does not fit its type.
pub fn response_time(conditions: &Conditions, flow: Flow) -> Result<Derivation, ModelError> {
    derive(conditions, flow, detection_delay(conditions, flow)?)
}

/// How many parallel TCP connections a message rate wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimalConnections {
    /// `N_opt` as the formula gives it, not rounded; below one at low rates.
    pub optimum: f64,
    /// The nearest number that can be opened: at least one.
    pub connections: NonZeroU32,
}

/// Returns `N_opt = λ·RTT/(2√3)` — S1, from the minimum of (2) with the `D` of (4): more connections wait less
/// behind each other but find their losses later.
///
/// # Errors
/// [`ModelError::TooLarge`] if that is more than `u32::MAX`.
pub fn optimal_connections(rate: Rate, rtt: Duration) -> Result<OptimalConnections, ModelError> {
    let optimum = rate.value() * rtt.as_secs_f64() / (2.0 * 3f64.sqrt());
    Ok(OptimalConnections { optimum, connections: count_rounded(optimum, "the number of connections")? })
}

/// Returns `λ_min = 3/RTO` — S1: below so many messages per second and connection the timer is faster than fast
/// retransmit.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if `rto` is zero.
pub fn fast_retransmit_threshold(rto: Duration) -> Result<Rate, ModelError> {
    if rto.is_zero() {
        return Err(ModelError::ZeroDuration { quantity: "the retransmission timeout" });
    }
    Rate::per_second(3.0 / rto.as_secs_f64())
}
