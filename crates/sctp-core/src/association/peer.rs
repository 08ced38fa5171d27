//! The peer of an association: ports, tags, streams, addresses.

use std::net::IpAddr;

use sctp_wire::{Chunk, SctpPort, TagOrigin, Tsn, VerificationTag};
use smallvec::SmallVec;

use super::StateCookie;
use crate::capabilities::Negotiated;
use crate::config::Streams;
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

impl Peer {
    /// Creates the identity of a peer that is asked for an association, before its addresses; `ports` are ours and its own.
    pub(crate) fn asked(
        ports: (SctpPort, SctpPort),
        local_tag: VerificationTag,
        local_initial_tsn: Tsn,
        streams: Streams,
    ) -> Self {
        Self {
            origin: Origin::Initiated,
            local_port: ports.0,
            peer_port: ports.1,
            local_tag,
            peer_tag: None,
            local_initial_tsn,
            agreed: Negotiated::alone(streams),
            adaptation: None,
            addresses: SmallVec::new(),
        }
    }

    /// Creates the identity of a peer whose valid cookie came back.
    pub(crate) fn accepted(cookie: &StateCookie) -> Self {
        Self {
            origin: Origin::Accepted,
            local_port: cookie.local_port,
            peer_port: cookie.peer_port,
            local_tag: cookie.local_tag,
            peer_tag: Some(cookie.peer_tag),
            local_initial_tsn: cookie.local_initial_tsn,
            agreed: cookie.agreed,
            adaptation: None,
            addresses: cookie.addresses.clone(),
        }
    }

    /// Returns the peer's tag; zero before it is known, which only INIT travels without (RFC 9260 §8.5.1 (A)).
    pub(super) fn tag(&self) -> VerificationTag {
        self.peer_tag.unwrap_or(VerificationTag::ZERO)
    }

    /// Returns whether a verification tag fits: the T bit says whose tag an ABORT or SHUTDOWN COMPLETE carries
    /// (RFC 9260 §8.5.1 (B), (C)).
    pub(super) fn tag_fits(&self, tag: VerificationTag, chunk: &Chunk<'_>) -> bool {
        match chunk.tag_origin() {
            TagOrigin::Receiver => tag == self.local_tag,
            TagOrigin::Reflected => Some(tag) == self.peer_tag,
        }
    }
}
