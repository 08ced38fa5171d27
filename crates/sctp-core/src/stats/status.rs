//! The status of an association: who it joins, and how it stands.

use std::net::IpAddr;

use sctp_wire::SctpPort;

use super::PathStatistics;
use crate::event::{AssociationState, Origin};
use crate::transmit::Destination;

/// The status of an association at one moment: who it joins, and how it stands (SCTP_STATUS, RFC 6458 §8.2.1). What was counted so far is in
/// [`AssociationStatistics`](crate::AssociationStatistics).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AssociationStatus {
    /// The state of RFC 9260 §4 that it is in.
    pub state: AssociationState,
    /// The side that opened the association.
    pub origin: Origin,
    /// The SCTP port of this side.
    pub local_port: SctpPort,
    /// The SCTP port of the peer.
    pub peer_port: SctpPort,
    /// The addresses of this side that packets are sent from; none where the routing table chooses.
    pub local_addresses: Vec<IpAddr>,
    /// The addresses of the peer, each with how SCTP travels to it: the UDP port, where there is one.
    pub peer_addresses: Vec<Destination>,
    /// Streams this side may send on: 0 to this, exclusive. Before the handshake is over, those asked for.
    pub outbound_streams: u16,
    /// Streams the peer may send on.
    pub inbound_streams: u16,
    /// The payload that was handed in and is not acknowledged.
    pub buffered: Buffered,
    /// The window that the peer last advertised, in octets.
    pub peer_window_bytes: usize,
    /// The path that new data takes: its address, round trip, congestion window and path MTU.
    pub path: PathStatistics,
}

/// Octets of payload that were handed in and are not acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Buffered {
    /// Octets that have not left yet.
    pub unsent_bytes: usize,
    /// Octets that have left, at least once.
    pub unacknowledged_bytes: usize,
}

impl Buffered {
    /// Returns the sum of both numbers of octets.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.unsent_bytes + self.unacknowledged_bytes
    }
}
