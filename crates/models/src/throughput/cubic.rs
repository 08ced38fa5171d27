//! CUBIC's mean window: RFC 9438 §5.
//!
//! With a loss after every `1/p` packets CUBIC stays on the concave part of its curve, whose mean is known in closed form. Where Reno would
//! have more, CUBIC has what Reno has.

use super::{BulkFlow, RATE, SendingRate};
use crate::error::ModelError;

/// The two constants of CUBIC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CubicParameters {
    /// `C` in packets per second cubed. Default 0.4 (RFC 9438 §4.1).
    pub c: f64,
    /// `β`: what is left of the window after a loss, between 0 and 1. Default 0.7 (RFC 9438 §4.6).
    pub beta: f64,
}

impl Default for CubicParameters {
    fn default() -> Self {
        Self { c: 0.4, beta: 0.7 }
    }
}

/// The rule that the window follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Reno's growth is faster (RFC 9438 §4.3): the mean is that of Reno, `√(3/(2p))`.
    RenoFriendly,
    /// The window follows the cubic curve.
    Cubic,
}

/// Returns the mean window in packets: `(C·(3 + β)/(4·(1 − β)))^(1/4) · (RTT/p)^(3/4)`, or Reno's if that is
/// larger, at most `flow.window_packets`. Timeouts are not in it: `flow.rto` has no effect.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the RTT is zero, [`ModelError::Unlimited`] without loss and window,
/// [`ModelError::OutOfRange`] unless `C` is positive and finite and `0 < β < 1`, [`ModelError::TooLarge`] if the rate is not finite.
pub fn mean_window(
    flow: &BulkFlow,
    parameters: &CubicParameters,
) -> Result<(SendingRate, Region), ModelError> {
    let CubicParameters { c, beta } = *parameters;
    if !(c > 0.0 && c.is_finite()) {
        return Err(ModelError::OutOfRange { quantity: "CUBIC's C", value: c, range: "above 0" });
    }
    if !(beta > 0.0 && beta < 1.0) {
        return Err(ModelError::OutOfRange {
            quantity: "CUBIC's beta",
            value: beta,
            range: "between 0 and 1",
        });
    }
    let rtt = flow.rtt_s()?;
    let mut region = Region::Cubic;
    let window = flow.limited(|p| {
        let cubic = (c * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25) * (rtt / p).powf(0.75);
        let reno = (1.5 / p).sqrt();
        if reno > cubic {
            region = Region::RenoFriendly;
        }
        cubic.max(reno)
    })?;
    Ok((SendingRate::from_packets(window / rtt, rtt, RATE)?, region))
}
