//! Paths that fail (RFC 7829), addresses that come and go (RFC 5061).

use super::{AutomaticAddresses, at_least};
use crate::error::ConfigError;

/// The rules for a path that fails, for the primary path (RFC 7829), and for addresses that come and go. That a
/// path fails for good after [`Attempts::path`](super::Attempts::path) errors is not changed by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct PathsConfig {
    /// PotentiallyFailed.Max.Retrans (RFC 7829 §3.2): after more consecutive errors than this a path is avoided while
    /// another is active, and probed every RTO. Default 0 by `signalling`, as RFC 7829 recommends; `None` by `rfc9260`,
    /// which knows no such state: new data then goes to a dead primary path for a minute, and only what timed out goes
    /// elsewhere. Without effect from [`Attempts::path`](super::Attempts::path) on.
    pub potentially_failed: Option<u32>,
    /// Whether the user sees that state. Default: yes, as RFC 7829 §3.2, point 12, asks for. Hide it from applications written
    /// for RFC 9260, which know active and inactive paths only.
    pub potentially_failed_state: Exposure,
    /// Primary.Switchover.Max.Retrans (RFC 7829 §5): after more consecutive errors than this on the primary path, the
    /// one used instead becomes the primary. At least `potentially_failed`, or [`Attempts::path`](super::Attempts::path)
    /// without that. Default `None`: data returns to the primary path as soon as that is active again. Set it where
    /// paths are equally good and going back gains nothing.
    pub primary_switchover: Option<u32>,
    /// Whether address events of this host become ASCONFs where
    /// [`Extensions::dynamic_addresses`](super::Extensions::dynamic_addresses) is agreed on. Default: no. Switch it on
    /// for hosts that change networks and whose addresses may all be told to the peer.
    pub automatic_addresses: AutomaticAddresses,
    /// Whether the peer is asked during the handshake to send to one address (SET PRIMARY in INIT and INIT ACK, RFC 5061
    /// §4.2.4), where [`Extensions::dynamic_addresses`](super::Extensions::dynamic_addresses) is offered. Default: no.
    /// Such a wish of the peer is granted in any case, once its address is confirmed.
    pub announced_primary: AnnouncedPrimary,
}

impl PathsConfig {
    /// Checks the bounds: other values of Primary.Switchover.Max.Retrans must be refused (RFC 7829 §5, point
    /// 1).
    pub(super) fn validate(&self, path_limit: u32) -> Result<(), ConfigError> {
        let Some(switchover) = self.primary_switchover else { return Ok(()) };
        let bound = self.potentially_failed.unwrap_or(path_limit);
        at_least("paths.primary_switchover", switchover as usize, bound as usize)
    }
}

/// Whether the user sees that a path is potentially failed (SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, RFC 7829 §7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Exposure {
    /// Events and statistics tell of it.
    #[default]
    Exposed,
    /// The state is hidden: to events and statistics the path is active until it is inactive. The events of
    /// [`trace`](crate::trace) tell all the same.
    Hidden,
}

/// The address that the peer is asked to prefer when an association begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AnnouncedPrimary {
    /// The peer is asked for nothing: it sends where the handshake went.
    #[default]
    Nothing,
    /// The first of the addresses that are listed.
    FirstAddress,
}
