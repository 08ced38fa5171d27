//! The extensions of an association: what is offered, what the peer offers, what both agreed on.

use sctp_wire::{ChunkSet, ChunkType, ChunkTypes, ErrorDetectionMethod, Init, Parameter};
use smallvec::SmallVec;

use crate::config::{AssociationConfig, Extensions, Offer, Streams};

/// An extension both sides have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// FORWARD TSN, or I-FORWARD-TSN where interleaving is agreed (RFC 3758, RFC 8260 §2.3).
    PartialReliability,
    /// I-DATA: messages interleave (RFC 8260 §2).
    Interleaving,
    /// RE-CONFIG: streams are reset and added (RFC 6525).
    Reconfiguration,
    /// AUTH: chunks are authenticated (RFC 4895).
    Authentication,
    /// ASCONF: addresses come and go (RFC 5061).
    DynamicAddresses,
    /// Checksums of zero (RFC 9653).
    ZeroChecksum,
}

impl Capability {
    const ALL: [Self; 6] = [
        Self::PartialReliability,
        Self::Interleaving,
        Self::Reconfiguration,
        Self::Authentication,
        Self::DynamicAddresses,
        Self::ZeroChecksum,
    ];

    const fn bit(self) -> u8 {
        match self {
            Self::PartialReliability => 1,
            Self::Interleaving => 1 << 1,
            Self::Reconfiguration => 1 << 2,
            Self::Authentication => 1 << 3,
            Self::DynamicAddresses => 1 << 4,
            Self::ZeroChecksum => 1 << 5,
        }
    }

    /// Returns the chunk types that stand for it in Supported Extensions (RFC 5061 §4.2.7).
    const fn chunk_types(self) -> &'static [ChunkType] {
        match self {
            Self::PartialReliability => &[ChunkType::FORWARD_TSN],
            Self::Interleaving => &[ChunkType::I_DATA],
            Self::Reconfiguration => &[ChunkType::RE_CONFIG],
            Self::Authentication => &[ChunkType::AUTH],
            Self::DynamicAddresses => &[ChunkType::ASCONF, ChunkType::ASCONF_ACK],
            Self::ZeroChecksum => &[],
        }
    }
}

/// A set of extensions, agreed on or offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    bits: u8,
}

impl Capabilities {
    /// The empty set: plain RFC 9260.
    pub const NONE: Self = Self { bits: 0 };

    /// Returns whether `capability` is in it.
    #[must_use]
    pub const fn has(self, capability: Capability) -> bool {
        self.bits & capability.bit() != 0
    }

    /// Returns the set with `capability` in it.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self { bits: self.bits | capability.bit() }
    }

    pub(crate) fn offered_by(extensions: &Extensions) -> Self {
        let offers = [
            (extensions.partial_reliability, Capability::PartialReliability),
            (extensions.interleaving, Capability::Interleaving),
            (extensions.reconfiguration, Capability::Reconfiguration),
            (extensions.authentication, Capability::Authentication),
            (extensions.dynamic_addresses, Capability::DynamicAddresses),
            (extensions.zero_checksum, Capability::ZeroChecksum),
        ];
        let offered = offers.into_iter().filter(|(offer, _)| *offer == Offer::On);
        offered.fold(Self::NONE, |set, (_, capability)| set.with(capability))
    }

    /// Returns the set as the state cookie keeps it.
    pub(crate) const fn to_octet(self) -> u8 {
        self.bits
    }

    pub(crate) const fn from_octet(bits: u8) -> Self {
        Self { bits }
    }

    const fn intersection(self, other: Self) -> Self {
        Self { bits: self.bits & other.bits }
    }

    const fn without(self, capability: Capability) -> Self {
        Self { bits: self.bits & !capability.bit() }
    }
}

/// The parameters of an INIT or INIT ACK: as many as there usually are without a list elsewhere.
pub(crate) type ParameterList<'a> = SmallVec<[Parameter<'a>; 8]>;

/// Extensions as an INIT or INIT ACK offers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OfferedExtensions {
    pub(crate) capabilities: Capabilities,
    /// I-FORWARD-TSN, which partial reliability needs once interleaving is agreed (RFC 8260 §2.3.1).
    pub(crate) i_forward_tsn: bool,
}

impl OfferedExtensions {
    /// Returns what a configuration offers.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let capabilities = Capabilities::offered_by(extensions);
        let both =
            capabilities.has(Capability::Interleaving) && capabilities.has(Capability::PartialReliability);
        Self { capabilities, i_forward_tsn: both }
    }

    /// Notes what the peer lists in Supported Extensions.
    pub(crate) fn on_supported_extensions(&mut self, listed: ChunkTypes<'_>) {
        let listed: ChunkSet = listed.iter().collect();
        // AUTH in the list is not enough: RANDOM and HMAC-ALGO say what authentication needs (RFC 4895 §3).
        for &capability in Capability::ALL.iter().filter(|other| **other != Capability::Authentication) {
            let types = capability.chunk_types();
            if !types.is_empty() && types.iter().all(|kind| listed.contains(*kind)) {
                self.add(capability);
            }
        }
        self.i_forward_tsn |= listed.contains(ChunkType::I_FORWARD_TSN);
    }

    /// Notes a capability that a parameter of its own stands for.
    pub(crate) fn add(&mut self, capability: Capability) {
        self.capabilities = self.capabilities.with(capability);
    }

    /// Returns what is left for a peer that does not do authentication.
    pub(crate) const fn without_authentication(self) -> Self {
        let capabilities = self.capabilities.without(Capability::Authentication);
        Self { capabilities: capabilities.without(Capability::DynamicAddresses), ..self }
    }

    /// Returns what both sides offer, and can be used together.
    pub(crate) fn agreed_with(self, peer: Self) -> Capabilities {
        let mut agreed = self.capabilities.intersection(peer.capabilities);
        if agreed.has(Capability::Interleaving) && self.i_forward_tsn && peer.i_forward_tsn {
            agreed = agreed.with(Capability::PartialReliability);
        } else if agreed.has(Capability::Interleaving) {
            agreed = agreed.without(Capability::PartialReliability);
        }
        // RFC 5061 §4.1.1: ASCONF travels authenticated or not at all.
        if !agreed.has(Capability::Authentication) {
            agreed = agreed.without(Capability::DynamicAddresses);
        }
        agreed
    }

    /// Returns the types for the Supported Extensions parameter, one octet each.
    pub(crate) fn chunk_types(self) -> SmallVec<[u8; 8]> {
        let mut types = SmallVec::new();
        for capability in Capability::ALL.iter().filter(|offered| self.capabilities.has(**offered)) {
            capability.chunk_types().iter().for_each(|kind| types.push(kind.get()));
        }
        if self.i_forward_tsn {
            types.push(ChunkType::I_FORWARD_TSN.get());
        }
        types
    }

    /// Adds the parameters that say so; `chunk_types` is what [`chunk_types`](Self::chunk_types) gave.
    pub(crate) fn add_to<'a>(self, parameters: &mut ParameterList<'a>, chunk_types: &'a [u8]) {
        if !chunk_types.is_empty() {
            parameters.push(Parameter::SupportedExtensions(ChunkTypes::new(chunk_types)));
        }
        if self.capabilities.has(Capability::PartialReliability) {
            parameters.push(Parameter::ForwardTsnSupported);
        }
        if self.capabilities.has(Capability::ZeroChecksum) {
            let edmid = ErrorDetectionMethod::SCTP_OVER_DTLS;
            parameters.push(Parameter::ZeroChecksumAcceptable { edmid });
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(capabilities: &[Capability]) -> OfferedExtensions {
        let set = capabilities.iter().fold(Capabilities::NONE, |set, capability| set.with(*capability));
        let i_forward_tsn = set.has(Capability::Interleaving) && set.has(Capability::PartialReliability);
        OfferedExtensions { capabilities: set, i_forward_tsn }
    }

    #[test]
    fn what_is_written_into_supported_extensions_is_read_back() {
        use Capability as C;
        for ours in
            [offer(&[]), offer(&[C::Reconfiguration]), offer(&[C::PartialReliability, C::Interleaving])]
        {
            let types = ours.chunk_types();
            let (mut read, mut parameters) = (OfferedExtensions::default(), ParameterList::new());
            ours.add_to(&mut parameters, &types);
            for parameter in parameters {
                if let Parameter::SupportedExtensions(listed) = parameter {
                    read.on_supported_extensions(listed);
                } else {
                    assert_eq!(parameter, Parameter::ForwardTsnSupported);
                    read.add(C::PartialReliability);
                }
            }
            assert_eq!(read, ours);
        }
    }

    #[test]
    fn asconf_is_not_agreed_without_authentication_rfc_5061_4_1_1() {
        use Capability as C;
        let ours = offer(&[C::DynamicAddresses, C::Authentication]);
        assert_eq!(ours.agreed_with(offer(&[C::DynamicAddresses])), Capabilities::NONE);
        assert!(ours.agreed_with(ours).has(C::DynamicAddresses));
    }

    #[test]
    fn interleaving_takes_partial_reliability_along_only_with_i_forward_tsn_rfc_8260_2_3_1() {
        use Capability as C;
        let ours = offer(&[C::Interleaving, C::PartialReliability]);
        let without = OfferedExtensions { i_forward_tsn: false, ..ours };
        assert!(ours.agreed_with(ours).has(C::PartialReliability));
        assert!(!ours.agreed_with(without).has(C::PartialReliability));
        assert!(ours.agreed_with(offer(&[C::PartialReliability])).has(C::PartialReliability));
    }
}
