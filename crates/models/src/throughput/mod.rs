//! How fast a sender with always something to send is, over a path that loses packets.
//!
//! * [`pftk`]: Reno's rate with timeouts and a limited window (J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling
//!   TCP Throughput: A Simple Model and its Empirical Validation", SIGCOMM 1998).
//! * [`rfc5348`]: the equation that RFC 5348 §3.1 makes of it, for congestion control by equation.
//! * [`cubic`]: CUBIC's mean window (RFC 9438 §5).
//! * [`square_root`]: the limit of all Reno models for few losses.
//!
//! In all of them `p` is the probability of a loss *event*: the share of packets that are the first to be lost in their
//! window. Losses in the same window count once, so that for independent losses `p` is below the loss probability,
//! the more so the larger the window.
//!
//! ```
//! use core::time::Duration;
//! use models::Probability;
//! use models::throughput::{BulkFlow, pftk};
//!
//! let flow = BulkFlow {
//!     loss: Probability::new(0.01)?,
//!     rtt: Duration::from_millis(100),
//!     rto: Duration::from_secs(1),
//!     ..BulkFlow::default()
//! };
//! assert_eq!(pftk::rate(&flow)?.packets_per_s.round(), 99.0);
//! # Ok::<(), models::ModelError>(())
//! ```

pub mod cubic;
pub mod pftk;
pub mod rfc5348;

use core::num::NonZeroU32;
use core::time::Duration;

use crate::error::ModelError;
use crate::quantity::Probability;

/// A sender with always something to send, and its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BulkFlow {
    /// `p`: loss events per packet. Must be above zero unless there is a [`BulkFlow::window_packets`].
    pub loss: Probability,
    /// The round-trip time `RTT`, above zero.
    pub rtt: Duration,
    /// `T0`: the first retransmission timeout of a packet. Default 1 s (RFC 6298 §2.4).
    pub rto: Duration,
    /// `b`: packets acknowledged by one acknowledgment, where the window grows by acknowledgments. Default 1, which is
    /// also right for stacks that count octets (RFC 5681 §3.1) however they delay acknowledgments.
    pub packets_per_ack: NonZeroU32,
    /// `Wm`: the largest window, in packets; `None`: no limit. Default none.
    pub window_packets: Option<NonZeroU32>,
}

/// 100 ms and 1 % of loss events, the defaults of the fields for the rest.
impl Default for BulkFlow {
    fn default() -> Self {
        Self {
            loss: Probability::ONE_PERCENT,
            rtt: Duration::from_millis(100),
            rto: Duration::from_secs(1),
            packets_per_ack: NonZeroU32::MIN,
            window_packets: None,
        }
    }
}

/// A sending rate, and the mean window behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SendingRate {
    /// Packets sent per second, retransmissions included.
    pub packets_per_s: f64,
    /// The mean window that goes with it: packets per round-trip time.
    pub window_packets: f64,
}

impl SendingRate {
    fn from_packets(packets_per_s: f64, rtt_s: f64, quantity: &'static str) -> Result<Self, ModelError> {
        if packets_per_s.is_finite() {
            Ok(Self { packets_per_s, window_packets: packets_per_s * rtt_s })
        } else {
            Err(ModelError::TooLarge { quantity })
        }
    }

    /// Returns the rate in octets per second, for packets that carry `segment_bytes` octets of user data.
    #[must_use]
    pub fn bytes_per_s(&self, segment_bytes: NonZeroU32) -> f64 {
        self.packets_per_s * f64::from(segment_bytes.get())
    }
}

/// Returns `√(3/(2bp))/RTT`: a saw tooth between `W` and `W/2` without timeouts. All Reno models approach it
/// for small `p`.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the RTT is zero, [`ModelError::Unlimited`] without loss and window.
pub fn square_root(flow: &BulkFlow) -> Result<SendingRate, ModelError> {
    let (rtt, packets) = (flow.rtt_s()?, f64::from(flow.packets_per_ack.get()));
    let window = flow.limited(|p| (1.5 / (packets * p)).sqrt())?;
    SendingRate::from_packets(window / rtt, rtt, RATE)
}

impl BulkFlow {
    fn rtt_s(&self) -> Result<f64, ModelError> {
        if self.rtt.is_zero() {
            return Err(ModelError::ZeroDuration { quantity: "the round-trip time" });
        }
        Ok(self.rtt.as_secs_f64())
    }

    /// Returns the window that losses allow, or the largest there is.
    fn limited(&self, by_loss: impl FnOnce(f64) -> f64) -> Result<f64, ModelError> {
        let limit = self.window_packets.map(|window| f64::from(window.get()));
        match (self.loss.value(), limit) {
            (0.0, None) => Err(ModelError::Unlimited),
            (0.0, Some(limit)) => Ok(limit),
            (p, limit) => Ok(by_loss(p).min(limit.unwrap_or(f64::INFINITY))),
        }
    }
}

const RATE: &str = "the sending rate";

#[cfg(test)]
mod tests;
