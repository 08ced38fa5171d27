//! S4: transport protocols for firewall control.

use core::num::NonZeroU32;
use core::time::Duration;

use super::{Conditions, Derivation, Flow, derive, revealing_interval_s, timer_delay_s};
use crate::error::ModelError;
use crate::numeric::{count_rounded_up, duration};
use crate::quantity::{Probability, Rate};

/// Returns `D = min(RTT + 3d/(1−p)², RTO + max(RTT − d, 0))` — S4 (4) to (6): as S1 (1), but a packet reveals the loss
/// only if neither it nor its acknowledgment is lost.
///
/// # Errors
/// [`ModelError::TooLarge`] if the result is beyond what a [`Duration`] holds.
pub fn detection_delay(conditions: &Conditions, flow: Flow) -> Result<Duration, ModelError> {
    let interval = revealing_interval_s(conditions.rate, flow);
    let fast_retransmit =
        conditions.rtt.as_secs_f64() + 3.0 * interval / conditions.loss.complement().powi(2);
    let timer = timer_delay_s(conditions.rtt, conditions.rto, interval);
    duration(fast_retransmit.min(timer), "the detection delay")
}

/// Returns `R = RTT + 2W + δ` — S4 (1) from (4) to (7). The study takes TCP as SCTP with one stream;
/// several connections follow S1 (4) with the `D` of S4 (6).
///
/// # Errors
/// [`ModelError::TooLarge`] if a result does not fit its type.
pub fn response_time(conditions: &Conditions, flow: Flow) -> Result<Derivation, ModelError> {
    derive(conditions, flow, detection_delay(conditions, flow)?)
}

/// Returns `R = RTT + δ + TO·(1 − p_S)/(2·p_S − 1)` with `p_S = (1−p)²` — S4 (10): the client repeats its
/// request after `first_timeout` and doubles the wait each time, until request and answer both get through.
///
/// # Errors
/// [`ModelError::Diverges`] if `p_S ≤ 1/2` (loss of 29.3 % and more): the mean is infinite.
/// [`ModelError::TooLarge`] if it is finite but does not fit.
pub fn udp_response_time(
    rtt: Duration,
    loss: Probability,
    first_timeout: Duration,
    processing: Duration,
) -> Result<Duration, ModelError> {
    let success = loss.complement().powi(2);
    if success <= 0.5 {
        return Err(ModelError::Diverges { loss });
    }
    let waiting = first_timeout.as_secs_f64() * (1.0 - success) / (2.0 * success - 1.0);
    duration(rtt.as_secs_f64() + processing.as_secs_f64() + waiting, "the response time")
}

/// The load of a SIMCO firewall: pinholes that are opened, refreshed while the call lasts, and closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimcoWorkload {
    /// `λ`: pinholes opened per second; a call opens two, one for each direction (study: 1 / 30 ms).
    pub opening_rate: Rate,
    /// `h`: mean of the exponentially distributed call duration (study: 180 s).
    pub call_duration: Duration,
    /// `L`: lifetime asked for, hence the refresh interval (study: 120 s).
    pub refresh: Duration,
}

/// The load that a [`SimcoWorkload`] puts on the SIMCO session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimcoLoad {
    /// `d ≈ (1/λ)·(3/2 + h/L)^(−1)` — S4 (3): mean time between transactions, in seconds.
    pub interval_s: f64,
    /// The mean interval of transactions from their exact mean number per pinhole, in seconds.
    pub interval_exact_s: f64,
    /// `1/d` of the approximation.
    pub transactions_per_second: f64,
    /// `E[2 + floor(T/L)] = 2 + 1/(e^(L/h) − 1)` for exponential `T`: open, refreshes, close.
    pub transactions_per_pinhole: f64,
    /// `λ·h/2`: calls in progress on average.
    pub calls: f64,
}

/// Returns the transaction load of a firewall — S4 (2) and (3), approximate and exact.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the call duration or the refresh interval is zero.
pub fn simco_load(workload: &SimcoWorkload) -> Result<SimcoLoad, ModelError> {
    let per_pinhole = approximate_transactions(workload)?;
    let (duration_s, refresh_s) = (workload.call_duration.as_secs_f64(), workload.refresh.as_secs_f64());
    let exact = 2.0 + (refresh_s / duration_s).exp_m1().recip();
    let opening_interval = workload.opening_rate.interval_s();
    Ok(SimcoLoad {
        interval_s: opening_interval / per_pinhole,
        interval_exact_s: opening_interval / exact,
        transactions_per_second: workload.opening_rate.value() * per_pinhole,
        transactions_per_pinhole: exact,
        calls: workload.opening_rate.value() * duration_s / 2.0,
    })
}

/// Returns `M ≈ RTT·λ·(3/2 + h/L) + 3`, rounded up — S4 (8), the study's own number: the streams that a SIMCO
/// session needs so that no transaction waits behind another, at a loss near zero.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the call duration or the refresh interval is zero,
/// [`ModelError::TooLarge`] if the result is more than `u32::MAX`.
pub fn simco_sufficient_streams(workload: &SimcoWorkload, rtt: Duration) -> Result<NonZeroU32, ModelError> {
    let transactions_per_second = workload.opening_rate.value() * approximate_transactions(workload)?;
    count_rounded_up(rtt.as_secs_f64() * transactions_per_second + 3.0, "the number of sufficient streams")
}

/// Returns `3/2 + h/L`: the study's approximation of the transactions per pinhole.
fn approximate_transactions(workload: &SimcoWorkload) -> Result<f64, ModelError> {
    if workload.call_duration.is_zero() {
        return Err(ModelError::ZeroDuration { quantity: "the call duration" });
    }
    if workload.refresh.is_zero() {
        return Err(ModelError::ZeroDuration { quantity: "the refresh interval" });
    }
    Ok(1.5 + workload.call_duration.as_secs_f64() / workload.refresh.as_secs_f64())
}

/// One cell of the study's table of response times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedCell {
    /// The transport of the cell.
    pub transport: PublishedTransport,
    /// The number of transactions per second.
    pub rate_per_second: f64,
    /// The printed response time in milliseconds, one decimal.
    pub response_ms: f64,
}

/// The transports of the study's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishedTransport {
    /// SCTP with so many streams.
    Sctp(NonZeroU32),
    /// The transport is one TCP connection.
    Tcp,
    /// UDP with retransmission by the application, as SIP does it.
    Udp,
}

/// Returns the study's table of response times as printed: RTT 20 ms, loss 1 %, RTO 1 s, first timeout of UDP
/// 500 ms, processing 0.5 ms.
#[must_use]
pub fn published_table() -> [PublishedCell; 8] {
    let many = NonZeroU32::MIN.saturating_add(1023);
    let cell =
        |transport, rate_per_second, response_ms| PublishedCell { transport, rate_per_second, response_ms };
    [
        cell(PublishedTransport::Sctp(NonZeroU32::MIN), 1.0, 40.5),
        cell(PublishedTransport::Sctp(NonZeroU32::MIN), 100.0, 23.5),
        cell(PublishedTransport::Sctp(many), 1.0, 40.5),
        cell(PublishedTransport::Sctp(many), 100.0, 21.5),
        cell(PublishedTransport::Tcp, 1.0, 40.5),
        cell(PublishedTransport::Tcp, 100.0, 23.5),
        cell(PublishedTransport::Udp, 1.0, 30.9),
        cell(PublishedTransport::Udp, 100.0, 30.9),
    ]
}

/// Returns what the study's own formulas give for a cell of its table, not rounded.
///
/// # Errors
/// As [`response_time`] and [`udp_response_time`]; none of the study's cells fails.
pub fn recompute(cell: &PublishedCell) -> Result<Duration, ModelError> {
    let conditions = Conditions {
        rtt: Duration::from_millis(20),
        loss: Probability::new(0.01)?,
        rate: Rate::per_second(cell.rate_per_second)?,
        rto: Duration::from_secs(1),
        processing: Duration::from_micros(500),
    };
    let flow = match cell.transport {
        PublishedTransport::Sctp(streams) => Flow::Streams(streams),
        PublishedTransport::Tcp => Flow::ONE_CONNECTION,
        PublishedTransport::Udp => {
            let first_timeout = Duration::from_millis(500);
            return udp_response_time(conditions.rtt, conditions.loss, first_timeout, conditions.processing);
        }
    };
    Ok(response_time(&conditions, flow)?.response_time)
}
