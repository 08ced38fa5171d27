//! Limits to what the peer may re-configure.

/// The changes that the peer may make in a running association (RFC 6525), where
/// [`Extensions::reconfiguration`](super::Extensions::reconfiguration) is agreed. What it may not is denied,
/// and the association goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct ReconfigConfig {
    /// Whether the peer may reset its streams, and ask us to reset ours. Default [`Acceptance::Accept`]; deny where the
    /// application cannot bear that message numbers start again.
    pub stream_reset: Acceptance,
    /// Whether the peer may have TSNs and all streams start anew. Default [`Acceptance::Accept`]: nothing is lost by it.
    pub association_reset: Acceptance,
    /// Streams the peer may send on at most, those it adds included (RFC 6525 §5.2.5). Default 2048. Raise it where
    /// streams stand for many users; each stream in use costs some hundred octets.
    pub max_inbound_streams: u16,
    /// Streams we send on at most when the peer asks for more (RFC 6525 §5.2.6). Default 2048.
    pub max_outbound_streams: u16,
}

impl Default for ReconfigConfig {
    fn default() -> Self {
        Self {
            stream_reset: Acceptance::Accept,
            association_reset: Acceptance::Accept,
            max_inbound_streams: 2048,
            max_outbound_streams: 2048,
        }
    }
}

/// The answer to a wish of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Acceptance {
    /// The wish is granted, as far as it can be.
    Accept,
    /// The wish is denied, always.
    Deny,
}
