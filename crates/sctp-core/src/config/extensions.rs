//! Which extensions an association offers.

/// Extensions offered in INIT and INIT ACK. One is used when both sides offer it; see
/// [`Association::capabilities`](crate::Association::capabilities) for what was agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// Messages may be given up: FORWARD TSN (RFC 3758), by I-FORWARD-TSN where interleaving is agreed.
    pub partial_reliability: Offer,
    /// Fragments of different messages may interleave: I-DATA (RFC 8260).
    pub interleaving: Offer,
    /// Streams may be reset and added: RE-CONFIG (RFC 6525).
    pub reconfiguration: Offer,
    /// Chunks may be authenticated: AUTH (RFC 4895); which, see [`AuthConfig`](crate::AuthConfig). On by `signalling`, for
    /// it costs some 50 octets in INIT and INIT ACK and nothing later unless one side demands something.
    pub authentication: Offer,
    /// Addresses may come and go: ASCONF (RFC 5061). Needs [`Extensions::authentication`].
    pub dynamic_addresses: Offer,
    /// Packets with a checksum of zero are accepted where the lower layer detects errors better (RFC 9653).
    pub zero_checksum: Offer,
}

impl Extensions {
    /// RFC 9260 and nothing else.
    pub const NONE: Self = Self {
        partial_reliability: Offer::Off,
        interleaving: Offer::Off,
        reconfiguration: Offer::Off,
        authentication: Offer::Off,
        dynamic_addresses: Offer::Off,
        zero_checksum: Offer::Off,
    };
}

/// Whether an extension is offered to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Not mentioned; its chunks count as unknown.
    Off,
    /// Offered; used if the peer offers it too.
    On,
}
