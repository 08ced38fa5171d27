//! Our model of the response time: loss recovery as a distribution, then the wait behind a missing message.
//!
//! ```text
//!  recovery   how late does a lost message arrive?       R, from the transport's rules, attempt by attempt
//!     ▼
//!  waiting    how long is a message held back?           W: own loss, or an earlier loss of its stream
//!     ▼
//!  response   request and answer                         RTT + processing + W₁ + W₂
//! ```
//!
//! Where the studies take equally spaced messages, one fixed `D` and retransmissions that always arrive, this
//! model has Poisson arrivals dealt round robin, the distribution of the detection time, and retransmissions
//! that are lost again: at 1 % loss a few of those waits of a second weigh more in the mean of one ordered
//! stream than all first retransmissions together.
//!
//! Assumptions: messages of one packet each, losses independent, constant delay, congestion window never
//! closed, round-trip estimates settled, every packet acknowledged at once, and recovery times independent of
//! each other and of the arrivals that wait. `docs/models.md` derives the formulas and quantifies the last
//! one.
//!
//! ```
//! use core::num::NonZeroU32;
//! use core::time::Duration;
//! use models::resequencing::{Profile, Scenario, Transport, response_time};
//! use models::{Probability, Rate};
//!
//! let scenario = Scenario {
//!     rtt: Duration::from_millis(20),
//!     loss: Probability::new(0.01)?,
//!     rate: Rate::per_second(100.0)?,
//!     processing: Duration::ZERO,
//!     profile: Profile::Rfc9260,
//!     rto_min: None,
//! };
//! let one = response_time(&scenario, &Transport::Sctp { streams: NonZeroU32::MIN })?;
//! let unordered = response_time(&scenario, &Transport::SctpUnordered)?;
//! assert!(one.mean > unordered.mean + Duration::from_millis(10));
//! # Ok::<(), models::ModelError>(())
//! ```

pub mod bursts;
mod grid;
mod recovery;
mod response;
mod rules;
mod waiting;

use core::num::NonZeroU32;
use core::time::Duration;

use crate::quantity::{Probability, Rate};
use crate::studies::Flow;

pub use recovery::Recovery;
pub use response::{
    CcdfPoint, LEAST_PROBABILITY, MOST_STREAMS, Prediction, mean_response_time, one_way_waiting,
    response_time, sufficient_streams,
};
pub use rules::bends;
pub use waiting::{Dealing, Waiting};

/// The path, the load and the stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    /// Round-trip time without loss.
    pub rtt: Duration,
    /// Loss probability of a packet, the same and independent in both directions.
    pub loss: Probability,
    /// Messages per second in each direction, Poisson, over all streams and connections.
    pub rate: Rate,
    /// Processing time of both ends together.
    pub processing: Duration,
    /// How SCTP finds losses; without meaning for TCP and UDP.
    pub profile: Profile,
    /// Smallest retransmission timeout; `None`: 1 s for [`Profile::Rfc9260`] (RFC 9260 §16), 200 ms for
    /// [`Profile::Signalling`] and for TCP (what Linux does).
    pub rto_min: Option<Duration>,
}

/// The transport that carries the messages. They are dealt round robin where there are several streams or
/// connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// SCTP, ordered within each stream.
    Sctp {
        /// Streams in each direction.
        streams: NonZeroU32,
    },
    /// SCTP, unordered delivery.
    SctpUnordered,
    /// TCP as the Linux kernel has it, each connection recovering alone.
    Tcp {
        /// The number of parallel connections.
        connections: NonZeroU32,
    },
    /// QUIC as RFC 9002 has it, ordered within each stream of one connection.
    Quic {
        /// Streams in each direction.
        streams: NonZeroU32,
    },
    /// UDP with retransmission of the request by the client, as SIP does it: the wait doubles each time.
    Udp {
        /// Wait before the first retransmission.
        first_timeout: Duration,
    },
}

impl Transport {
    /// Returns what the studies call this; `None` for QUIC and UDP, whose messages they have no [`Flow`] of.
    #[must_use]
    pub const fn flow(self) -> Option<Flow> {
        match self {
            Self::Sctp { streams } => Some(Flow::Streams(streams)),
            Self::SctpUnordered => Some(Flow::Unordered),
            Self::Tcp { connections } => Some(Flow::Connections(connections)),
            Self::Quic { .. } | Self::Udp { .. } => None,
        }
    }
}

/// The rules by which SCTP finds losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The rules for signalling: RACK and tail loss probes after RFC 8985, SACK at once (I bit), RTO.Min 200
    /// ms.
    #[default]
    Signalling,
    /// The letter of RFC 9260: three missing reports, fast retransmit once per chunk (§7.2.4), T3-rtx with
    /// RTO.Min 1 s.
    Rfc9260,
}

#[cfg(test)]
mod tests;
