//! Congestion control of one path.
//!
//! The sender reports what happened; a controller answers with a window. Sizes are octets of DATA chunks,
//! chunk header and padding included, as RFC 9260 §7.2 counts them.

mod rfc9260;

pub(crate) use self::rfc9260::Rfc9260;

/// What a SACK acknowledged on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Octets acknowledged for the first time, cumulatively or by gap ack blocks.
    pub(crate) bytes: usize,
    /// Octets in flight on the path before this SACK.
    pub(crate) flight_before: usize,
    /// Whether the Cumulative TSN Ack Point advanced.
    pub(crate) cumulative_advanced: bool,
    /// Whether nothing is outstanding any more.
    pub(crate) all_acknowledged: bool,
    /// Whether the association is in Fast Recovery.
    pub(crate) in_recovery: bool,
}
