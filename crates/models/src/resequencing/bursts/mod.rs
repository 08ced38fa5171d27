//! Resequencing with losses in bursts: a Gilbert–Elliott channel instead of independent losses.
//!
//! The independent model multiplies the probabilities that earlier messages are missing. In a burst they are missing
//! *together*: the acknowledgment that reveals one reveals all, and their retransmissions share a packet and its fate. So
//! here the arrivals are gone through backwards, from the instant at which it is asked whether a message has been
//! delivered, and what is carried along is the state of the channel and whether losses met from here on have been
//! repaired. `docs/models.md` derives it.
//!
//! ```
//! use core::num::NonZeroU32;
//! use core::time::Duration;
//! use models::resequencing::bursts::{GilbertElliott, one_way_waiting};
//! use models::resequencing::{Dealing, Profile, Scenario};
//! use models::{Probability, Rate};
//!
//! // Bursts of five packets on average, 1 % of the packets lost.
//! let channel = GilbertElliott::simple(Probability::new(0.01)?, 5.0)?;
//! let scenario = Scenario {
//!     rtt: Duration::from_millis(20),
//!     loss: channel.mean_loss(),
//!     rate: Rate::per_second(100.0)?,
//!     processing: Duration::ZERO,
//!     profile: Profile::Signalling,
//!     rto_min: None,
//! };
//! let ordered = one_way_waiting(&scenario, &channel, Dealing::RoundRobin(NonZeroU32::MIN))?;
//! let unordered = one_way_waiting(&scenario, &channel, Dealing::Unordered)?;
//! assert!(ordered.mean_s() > unordered.mean_s());
//! # Ok::<(), models::ModelError>(())
//! ```

mod channel;
mod scan;

use core::num::NonZeroU32;

use super::response::Prediction;
use super::rules::Rules;
use super::waiting::{Dealing, Waiting};
use super::{Profile, Scenario, Transport};
use crate::error::ModelError;

pub use channel::GilbertElliott;

/// Returns the response time of a transaction over SCTP: request and answer wait independently, each by
/// [`one_way_waiting`].
///
/// # Errors
/// As [`one_way_waiting`]; [`ModelError::NotModelled`] for TCP, QUIC and UDP.
pub fn response_time(
    scenario: &Scenario,
    channel: &GilbertElliott,
    transport: &Transport,
) -> Result<Prediction, ModelError> {
    let dealing = match *transport {
        Transport::Sctp { streams } => Dealing::RoundRobin(streams),
        Transport::SctpUnordered => Dealing::Unordered,
        Transport::Tcp { .. } | Transport::Quic { .. } | Transport::Udp { .. } => {
            return Err(ModelError::NotModelled { what: "losses in bursts over TCP, QUIC or UDP" });
        }
    };
    let scenario = Scenario { loss: channel.mean_loss(), ..*scenario };
    let rules = Rules::sctp(&scenario);
    let waiting = one_way_waiting(&scenario, channel, dealing)?;
    Prediction::of_both_directions(&scenario, &rules, &waiting)
}

/// Returns the distribution of a message's extra delay in one direction. `scenario.loss` is not used: `channel`
/// says what is lost towards the receiver, and of the acknowledgments its mean loss, each by itself.
///
/// The channel steps once per message, or goes with time ([`GilbertElliott::in_time`]). Everything else is as in the model of independent losses: messages of one packet,
/// Poisson arrivals, SACKs at once, windows never closed. With equal losses in both states it does not matter what the
/// channel does, and the model is one of independent losses.
///
/// # Errors
/// [`ModelError::TooMany`] for more than [`MOST_STREAMS`] streams, [`ModelError::NotModelled`] for
/// [`Dealing::Random`].
pub fn one_way_waiting(
    scenario: &Scenario,
    channel: &GilbertElliott,
    dealing: Dealing,
) -> Result<Waiting, ModelError> {
    let streams = match dealing {
        Dealing::RoundRobin(streams) if streams > MOST_STREAMS => {
            return Err(ModelError::TooMany { quantity: "streams", most: MOST_STREAMS.get() });
        }
        Dealing::RoundRobin(streams) => Some(streams),
        Dealing::Unordered => None,
        Dealing::Random(_) => {
            return Err(ModelError::NotModelled { what: "losses in bursts with messages dealt at random" });
        }
    };
    let scenario = Scenario { loss: channel.mean_loss(), ..*scenario };
    Ok(scan::waiting(&scenario, channel, streams))
}

/// The rules of a stack by which losses are found, as far as the scan needs them.
#[derive(Debug, Clone, Copy)]
struct Detection {
    /// The number of packets behind a lost one that have to be acknowledged.
    reports: u32,
    /// No loss is repaired earlier than this after it was sent, in seconds.
    window_s: f64,
}

impl Detection {
    fn of(scenario: &Scenario) -> Self {
        let rtt_s = scenario.rtt.as_secs_f64();
        match scenario.profile {
            Profile::Rfc9260 => Self { reports: 3, window_s: rtt_s },
            Profile::Signalling => Self { reports: 1, window_s: 1.25 * rtt_s },
        }
    }
}

/// The largest number of streams that is computed: the work grows with their number.
pub const MOST_STREAMS: NonZeroU32 = NonZeroU32::MIN.saturating_add(255);

#[cfg(test)]
mod tests;
