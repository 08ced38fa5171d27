//! The order in which streams are served.

use core::num::NonZeroU16;

/// The stream scheduler (RFC 8260 §3): which stream the next DATA chunk is taken from.
///
/// Without interleaving a message that was begun is finished first (RFC 9260 §6.9), so a scheduler chooses
/// between messages; with it the choice is made anew for every chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StreamScheduler {
    /// SCTP_SS_FCFS (§3.1): messages in the order in which they were handed in.
    #[default]
    FirstComeFirstServed,
    /// Streams take turns, a message each; with interleaving a chunk each (SCTP_SS_RR, RFC 8260 §3.2).
    RoundRobin,
    /// SCTP_SS_RR_PKT (§3.3): streams take turns, a packet each, so that a lost packet concerns one stream only.
    RoundRobinPerPacket,
    /// SCTP_SS_PRIO (§3.4): the stream with the lowest [`StreamShare::priority`] first, others wait; equals take
    /// turns.
    Priority,
    /// SCTP_SS_FC (§3.5): every stream gets the same octets, however long its messages are.
    FairCapacity,
    /// SCTP_SS_WFQ (§3.6): octets in proportion to [`StreamShare::weight`]. What WebRTC data channels ask for.
    WeightedFair,
}

/// The share of a stream beside others. One value serves one scheduler; the others ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamShare {
    /// The priority under [`StreamScheduler::Priority`]: lower goes first. Default 256.
    pub priority: u16,
    /// The weight under [`StreamScheduler::WeightedFair`]: twice the weight, twice the octets. Default 256, the
    /// "normal" of WebRTC (RFC 8831 §6.4).
    pub weight: NonZeroU16,
}

impl Default for StreamShare {
    fn default() -> Self {
        Self { priority: 256, weight: const { NonZeroU16::new(256).unwrap() } }
    }
}
