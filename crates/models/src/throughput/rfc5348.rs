//! RFC 5348 §3.1: the throughput equation for congestion control by equation (TFRC).

use core::num::NonZeroU32;
use core::time::Duration;

use super::{BulkFlow, RATE, SendingRate};
use crate::error::ModelError;

/// Returns `X = s/(R·√(2bp/3) + t_RTO·3√(3bp/8)·p·(1 + 32p²))`, in packets: [`SendingRate::bytes_per_s`]
/// multiplies by `s`.
///
/// Other than [`super::pftk::approximate_rate`] it does not limit the probability of a timeout to one, and so falls
/// faster for `p` above 30 %. `flow.rto` is `t_RTO`; the RFC's own choice is [`recommended_rto`]. A window limit holds.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the RTT is zero, [`ModelError::Unlimited`] without loss and window,
/// [`ModelError::TooLarge`] if the rate is not finite.
pub fn rate(flow: &BulkFlow) -> Result<SendingRate, ModelError> {
    let rtt = flow.rtt_s()?;
    let b = f64::from(flow.packets_per_ack.get());
    let window = flow.limited(|p| {
        let pauses = 3.0 * (3.0 * b * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
        rtt / (rtt * (2.0 * b * p / 3.0).sqrt() + flow.rto.as_secs_f64() * pauses)
    })?;
    SendingRate::from_packets(window / rtt, rtt, RATE)
}

/// Returns the recommended `t_RTO = 4·R`.
#[must_use]
pub const fn recommended_rto(rtt: Duration) -> Duration {
    rtt.saturating_mul(4)
}

/// `b = 1`, whatever the receiver does.
pub const RECOMMENDED_PACKETS_PER_ACK: NonZeroU32 = NonZeroU32::MIN;
