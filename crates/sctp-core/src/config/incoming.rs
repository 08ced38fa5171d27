//! The rule for associations that peers want to open.

use core::time::Duration;

use super::{at_least, duration};
use crate::error::ConfigError;

/// The answer of an endpoint to peers that want to open associations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum IncomingPolicy {
    /// Every peer may open an association.
    #[default]
    Accept,
    /// The user decides about each: who asks is told by [`Endpoint::poll_newcomer`](crate::Endpoint::poll_newcomer) when its
    /// COOKIE ECHO has come. For servers that tell peers apart by their address, or serve them differently.
    Ask(AskLimits),
    /// ABORT, as from a port nobody listens on (RFC 9260 §8.4 (8)): a pure client.
    Refuse,
}

impl IncomingPolicy {
    /// The user decides, within the default limits.
    pub const ASK: Self = Self::Ask(AskLimits::DEFAULT);

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Accept | Self::Refuse => Ok(()),
            Self::Ask(AskLimits { waiting, patience }) => {
                at_least("incoming.waiting", *waiting, 1)?;
                let hour = Duration::from_secs(3600);
                duration("incoming.patience", *patience, Duration::from_millis(1), hour)
            }
        }
    }
}

/// How many peers may wait for the user's decision, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AskLimits {
    /// Peers that may wait at once, each with some 2 KB; one network may have the share of
    /// [`CrowdLimits::network_percent`](super::CrowdLimits). Who finds no place is not answered and comes again with its
    /// T1-cookie timer. Default 1024, at least 1. Raise it where many come at once and decisions take long.
    pub waiting: usize,
    /// How long a peer waits since its last COOKIE ECHO: then it is forgotten, as if that had been lost. Default 10 s, which is
    /// longer than a peer by the defaults of RFC 9260 is silent before its fifth attempt; 1 ms to 1 hour.
    pub patience: Duration,
}

impl AskLimits {
    /// The defaults: 1024 peers may wait, for 10 s each.
    pub const DEFAULT: Self = Self { waiting: 1024, patience: Duration::from_secs(10) };
}

impl Default for AskLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
