//! The extensions that an association offers.

use crate::transmit::Encapsulation;

/// Extensions offered in INIT and INIT ACK. One is used when both sides offer it; see
/// [`Association::capabilities`](crate::Association::capabilities) for what was agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Extensions {
    /// Messages may be given up: FORWARD TSN (RFC 3758), by I-FORWARD-TSN where interleaving is agreed. On by
    /// `signalling`: it costs 8 octets in the handshake, and a request that is too old is not worth its retransmission. Off by
    /// `rfc9260`, which offers nothing beyond that document.
    pub partial_reliability: Offer,
    /// Fragments of different messages may interleave: I-DATA (RFC 8260). On by `webrtc` alone (RFC 8831 §6.1): it helps only where messages
    /// are longer than a packet, and a peer that begins many long ones at once can fill the receive buffer with pieces
    /// of which none is ever whole; the association is then aborted. Signalling messages fit one packet. Switch it on
    /// where long and short messages share an association, and make
    /// [`Buffers::receive_bytes`](crate::Buffers::receive_bytes) large enough for the longest message of every stream.
    pub interleaving: Offer,
    /// Streams may be reset and added: RE-CONFIG (RFC 6525).
    pub reconfiguration: Offer,
    /// Chunks may be authenticated: AUTH (RFC 4895); which, see [`AuthConfig`](crate::AuthConfig). On by `signalling`, for
    /// it costs some 50 octets in INIT and INIT ACK and nothing later unless one side demands something.
    pub authentication: Offer,
    /// Addresses may come and go: ASCONF (RFC 5061). Needs [`Extensions::authentication`]. Off by default: who saw the
    /// handshake can move the association elsewhere, unless the two ends share a key ([`AuthConfig::keys`](crate::AuthConfig::keys)).
    /// Switch it on for hosts that change networks.
    pub dynamic_addresses: Offer,
    /// Packets with a checksum of zero are accepted, and sent to a peer that accepts them (RFC 9653, error detection
    /// method 1). Has an effect over [`Encapsulation::Datagrams`](crate::Encapsulation::Datagrams) only; turn it on
    /// where that channel protects every datagram as DTLS does, and leave it off where it does not.
    pub zero_checksum: Offer,
    /// The adaptation code point that INIT and INIT ACK tell the peer (RFC 5061 §4.2.6), for applications on both sides that
    /// agree on layers above SCTP; the peer's is
    /// [`Association::peer_adaptation_layer`](crate::Association::peer_adaptation_layer). Default `None`: nothing is said.
    pub adaptation_layer: Option<u32>,
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
        adaptation_layer: None,
    };
}

impl Extensions {
    /// Returns those that make sense over this lower layer: zero checksums need one that detects errors.
    pub(crate) fn over(self, encapsulation: Encapsulation) -> Self {
        match encapsulation {
            Encapsulation::Ip | Encapsulation::Udp { .. } => Self { zero_checksum: Offer::Off, ..self },
            Encapsulation::Datagrams => self,
        }
    }
}

/// Whether the peer is told when this host's addresses change (SCTP_AUTO_ASCONF of RFC 6458 §8.1.24).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AutomaticAddresses {
    /// The peer is asked only for what [`add_local_address`](crate::Endpoint::add_local_address) and its like
    /// are called for.
    #[default]
    Off,
    /// [`local_address_up`](crate::Endpoint::local_address_up) and
    /// [`local_address_down`](crate::Endpoint::local_address_down) become ASCONFs.
    On,
}

/// Whether an extension is offered to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Offer {
    /// The extension is not mentioned; its chunks count as unknown.
    Off,
    /// Offered; used if the peer offers it too.
    On,
}
