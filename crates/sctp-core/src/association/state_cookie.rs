//! The content of a state cookie; `endpoint::cookie` writes, signs and reads it.

use std::net::IpAddr;

use sctp_wire::{SctpPort, Tsn, VerificationTag};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::{KeyMaterial, Negotiated, PeerNotes};
use crate::transmit::Destination;

/// The content of a state cookie (RFC 9260 §5.1.3): everything needed to build an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateCookie {
    /// Valid.Cookie.Life from its making, and what the INIT asked for beyond it (RFC 9260 §3.3.2.1.3).
    pub(crate) expires_at: Instant,
    /// The time when the INIT ACK with it left.
    pub(crate) issued_at: Instant,
    pub(crate) local_port: SctpPort,
    pub(crate) peer_port: SctpPort,
    pub(crate) local_tag: VerificationTag,
    pub(crate) peer_tag: VerificationTag,
    /// The tie-tag of the association that existed when the cookie was made; zero if none did.
    pub(crate) tie_tag: u64,
    pub(crate) local_initial_tsn: Tsn,
    pub(crate) peer_initial_tsn: Tsn,
    pub(crate) peer_window: u32,
    pub(crate) agreed: Negotiated,
    /// Present if authentication is among what was agreed.
    pub(crate) key_material: Option<KeyMaterial>,
    /// The address that the INIT came from.
    pub(crate) source: Destination,
    /// The addresses the INIT listed, at most [`MAX_PATHS`](crate::transmit::MAX_PATHS).
    pub(crate) addresses: SmallVec<[IpAddr; 1]>,
    pub(crate) notes: PeerNotes,
}
