//! The peer of an association: ports, tags, streams, addresses.

use std::net::IpAddr;

use sctp_wire::{Init, SctpPort, Tsn, VerificationTag};
use smallvec::SmallVec;

use super::{Capabilities, OfferedExtensions};
use crate::config::{AssociationConfig, Streams};
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

/// The agreement of both sides on streams (RFC 9260 §5.1.1) and extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Negotiated {
    pub(crate) outbound: u16,
    pub(crate) inbound: u16,
    pub(crate) capabilities: Capabilities,
}

impl Negotiated {
    /// Creates the agreement before the peer has said anything.
    pub(crate) fn alone(ours: Streams) -> Self {
        Self { outbound: ours.outbound, inbound: ours.inbound, capabilities: Capabilities::NONE }
    }

    /// Creates the agreement: the smaller of what one side asks and the other allows, and the extensions both
    /// offer.
    pub(crate) fn new(ours: &AssociationConfig, peer: &Init<'_>, offered: OfferedExtensions) -> Self {
        Self {
            outbound: ours.streams.outbound.min(peer.inbound_streams),
            inbound: ours.streams.inbound.min(peer.outbound_streams),
            capabilities: OfferedExtensions::of(&ours.extensions).agreed_with(offered),
        }
    }
}
