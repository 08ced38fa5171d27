//! The peer of an association: ports, tags, streams, addresses.

use std::net::IpAddr;

use sctp_wire::{SctpPort, Tsn, VerificationTag};
use smallvec::SmallVec;

use crate::capabilities::Negotiated;
use crate::event::Origin;

/// Identity of an association.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) origin: Origin,
    pub(crate) local_port: SctpPort,
    pub(crate) peer_port: SctpPort,
    /// The tag the peer must put into its packets.
    pub(crate) local_tag: VerificationTag,
    /// The tag we put into ours; unknown before INIT ACK.
    pub(crate) peer_tag: Option<VerificationTag>,
    pub(crate) local_initial_tsn: Tsn,
    pub(crate) agreed: Negotiated,
    /// The peer's adaptation code point (RFC 5061 §4.2.6).
    pub(crate) adaptation: Option<u32>,
    /// Every address the peer listed, and the one it wrote from.
    pub(crate) addresses: SmallVec<[IpAddr; 1]>,
}
