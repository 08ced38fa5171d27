//! Reno with timeouts and a limited window: Padhye, Firoiu, Towsley and Kurose, SIGCOMM 1998.
//!
//! The sender goes through cycles: the window grows by `1/b` packets per round until a packet is lost. That packet and
//! all behind it in its round are taken as lost. Three duplicate acknowledgments halve the window; if there cannot be three,
//! the timer doubles until a retransmission arrives.

use super::{BulkFlow, RATE, SendingRate};
use crate::error::ModelError;

/// Returns the rate of the full model, equations (31) and (32) of the report: all cases.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the RTT is zero, [`ModelError::Unlimited`] without loss and window,
/// [`ModelError::TooLarge`] if the rate is not finite.
pub fn rate(flow: &BulkFlow) -> Result<SendingRate, ModelError> {
    let rtt = flow.rtt_s()?;
    let window = flow.limited(|p| unlimited_window(p, b(flow)))?;
    let p = flow.loss.value();
    if p <= 0.0 {
        return SendingRate::from_packets(window / rtt, rtt, RATE);
    }
    let is_limited = window < unlimited_window(p, b(flow));
    let timeout = timeout_probability(window, p);
    let packets = (1.0 - p) / p + window + timeout / (1.0 - p);
    let rounds = if is_limited {
        b(flow) / 8.0 * window + (1.0 - p) / (p * window) + 2.0
    } else {
        b(flow) / 2.0 * window + 1.0
    };
    let pauses = timeout * flow.rto.as_secs_f64() * backoff(p) / (1.0 - p);
    SendingRate::from_packets(packets / (rtt * rounds + pauses), rtt, RATE)
}

/// Returns the rate of the approximation, equation (33): `1/(RTT·√(2bp/3) + T0·min(1, 3√(3bp/8))·p(1 + 32p²))`,
/// at most `Wm/RTT`.
///
/// # Errors
/// As [`rate`].
pub fn approximate_rate(flow: &BulkFlow) -> Result<SendingRate, ModelError> {
    let rtt = flow.rtt_s()?;
    let window = flow.limited(|p| {
        let pauses = f64::min(1.0, 3.0 * (3.0 * b(flow) * p / 8.0).sqrt()) * p * (1.0 + 32.0 * p * p);
        rtt / (rtt * (2.0 * b(flow) * p / 3.0).sqrt() + flow.rto.as_secs_f64() * pauses)
    })?;
    SendingRate::from_packets(window / rtt, rtt, RATE)
}

fn b(flow: &BulkFlow) -> f64 {
    f64::from(flow.packets_per_ack.get())
}

/// Returns `E[W_u]`, (13): the mean window at which a loss strikes.
fn unlimited_window(p: f64, b: f64) -> f64 {
    let half = (2.0 + b) / (3.0 * b);
    half + (8.0 * (1.0 - p) / (3.0 * b * p) + half * half).sqrt()
}

/// Returns `Q̂(w)`, (24): the probability that a loss in a window of `w` packets ends in a timeout. One where
/// three duplicate acknowledgments are not to be had.
fn timeout_probability(w: f64, p: f64) -> f64 {
    if w <= 3.0 {
        return 1.0;
    }
    let kept = 1.0 - p;
    let three = kept.powi(3);
    let all = -(w * (-p).ln_1p()).exp_m1();
    f64::min(1.0, (1.0 - three) * (1.0 + three * (1.0 - kept.powf(w - 3.0))) / all)
}

/// Returns `f(p)`, (29): the mean length of a sequence of timeouts in units of the first, without `1/(1 − p)`.
/// Doubles six times at most.
fn backoff(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}
