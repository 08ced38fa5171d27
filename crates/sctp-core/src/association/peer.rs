//! Who the other end is: ports, tags, streams, addresses.

use std::net::IpAddr;

use sctp_wire::{SctpPort, Tsn, VerificationTag};
use smallvec::SmallVec;

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
    /// Stands for both tags in cookies (RFC 9260 §5.2.2); never zero.
    pub(crate) tie_tag: u64,
    pub(crate) local_initial_tsn: Tsn,
    pub(crate) streams: Negotiated,
    /// Every address the peer listed, and the one it wrote from.
    pub(crate) addresses: SmallVec<[IpAddr; 1]>,
}

/// Streams both sides agreed on (RFC 9260 §5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Negotiated {
    pub(crate) outbound: u16,
    pub(crate) inbound: u16,
}

impl Negotiated {
    /// The smaller of what one side asks and the other allows.
    pub(crate) fn new(ours: crate::config::Streams, peer_outbound: u16, peer_inbound: u16) -> Self {
        Self { outbound: ours.outbound.min(peer_inbound), inbound: ours.inbound.min(peer_outbound) }
    }
}
