//! Parameters of INIT and INIT ACK (RFC 9260 §3.2.1, §3.3.2.1, §3.3.3.1) and of the extensions' chunks, read
//! and written.

mod address;
mod display;
mod lists;
mod reconfig;

pub(crate) use address::take_address;
pub use address::{AddressRequest, ErrorCauseIndication};
pub(crate) use display::types_of;
pub use lists::{ChunkSet, ChunkTypes, HmacIds, ParameterTypes, StreamIds};
pub use reconfig::{
    AddStreams, IncomingSsnReset, NextTsns, OutgoingSsnReset, ReconfigResponse, ReconfigResult,
};

use core::iter::FusedIterator;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::codepoints::{ErrorDetectionMethod, ParameterType, UnknownAction};
use crate::cursor::{Cursor, Tlv};
use crate::error::{DecodeError, Flaw, Item, Layer};
use crate::numbers::{CorrelationId, ReconfigSequence};
use crate::write::ValueWriter;

/// A list of parameters, decoded as it is walked over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Parameters<'a> {
    /// Wraps encoded parameters, one after the other; offsets in errors count from here.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { cursor: Cursor::new(bytes, 0) }
    }

    pub(crate) const fn from_cursor(cursor: Cursor<'a>) -> Self {
        Self { cursor }
    }

    /// Returns the encoded parameters.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Walks over the parameters.
    #[must_use]
    pub const fn iter(&self) -> ParametersIter<'a> {
        ParametersIter { cursor: self.cursor }
    }

    /// Returns the malformed parameter that `error` of this walk is about, as it came; `None` if it has no
    /// sound length.
    ///
    /// A receiver that does not speak the parameter does what its type says, whatever is in it.
    #[must_use]
    pub fn undecoded(&self, error: &DecodeError) -> Option<UnknownParameter<'a>> {
        let DecodeError::Body { item: Item::Parameter(_), offset, .. } = error else { return None };
        self.cursor.tlv_at(Layer::Parameter, *offset).map(UnknownParameter::of)
    }
}

impl<'a> IntoIterator for Parameters<'a> {
    type Item = Result<Parameter<'a>, DecodeError>;
    type IntoIter = ParametersIter<'a>;

    fn into_iter(self) -> ParametersIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Parameters<'a> {
    type Item = Result<Parameter<'a>, DecodeError>;
    type IntoIter = ParametersIter<'a>;

    fn into_iter(self) -> ParametersIter<'a> {
        self.iter()
    }
}

/// Walks over [`Parameters`]; errors as in [`Chunks`](crate::Chunks).
#[derive(Clone, Debug)]
pub struct ParametersIter<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Iterator for ParametersIter<'a> {
    type Item = Result<Parameter<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let tlv = match self.cursor.tlv(Layer::Parameter)? {
            Ok(tlv) => tlv,
            Err(error) => return Some(Err(error)),
        };
        Some(Parameter::decode(tlv).map_err(|flaw| {
            let item = Layer::Parameter.item(tlv.head);
            DecodeError::Body { item, offset: tlv.offset, flaw }
        }))
    }
}

impl FusedIterator for ParametersIter<'_> {}

/// A parameter of a chunk, for reading and writing alike.
///
/// Which parameters a chunk may hold is for the association to judge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter<'a> {
    /// The content of a HEARTBEAT.
    HeartbeatInfo(&'a [u8]),
    /// A transport address of the sender.
    Ipv4Address(Ipv4Addr),
    /// A transport address of the sender.
    Ipv6Address(Ipv6Addr),
    /// The state an INIT ACK hands to the peer to keep.
    StateCookie(&'a [u8]),
    /// A whole parameter of the INIT that was not understood (INIT ACK).
    UnrecognizedParameter(&'a [u8]),
    /// A wish for a longer life of the cookie (INIT).
    CookiePreservative {
        /// Milliseconds to add to the cookie's life.
        increment_ms: u32,
    },
    /// Deprecated: never sent, and received a reason to abort (RFC 9260 §3.3.2.1.4).
    HostNameAddress(&'a [u8]),
    /// Address families the sender of an INIT can use.
    SupportedAddressTypes(ParameterTypes<'a>),
    /// Reserved for explicit congestion notification.
    EcnCapable,
    /// The sender accepts packets with a checksum of zero (RFC 9653).
    ZeroChecksumAcceptable {
        /// The error detection method that takes the checksum's place; 1 is SCTP over DTLS.
        edmid: ErrorDetectionMethod,
    },
    /// The sender's part of the association's key; 32 octets from a sound peer (RFC 4895 §3.1).
    Random(&'a [u8]),
    /// Chunks the sender accepts only when authenticated (RFC 4895 §3.2).
    ChunkList(ChunkTypes<'a>),
    /// Message authentication codes the sender can verify (RFC 4895 §3.3).
    HmacAlgorithms(HmacIds<'a>),
    /// Chunk types of the extensions the sender speaks (RFC 5061 §4.2.7).
    SupportedExtensions(ChunkTypes<'a>),
    /// The sender speaks FORWARD TSN (RFC 3758).
    ForwardTsnSupported,
    /// A code point of the layer above (RFC 5061 §4.2.6).
    AdaptationLayerIndication(u32),
    /// Fills an INIT up (RFC 4820 §4).
    Padding(&'a [u8]),
    /// The sender can be reached at this address, too (ASCONF; RFC 5061 §4.2.1).
    AddIpAddress(AddressRequest),
    /// The sender cannot be reached at this address any more (ASCONF; RFC 5061 §4.2.2).
    DeleteIpAddress(AddressRequest),
    /// The sender would like to be sent to here (RFC 5061 §4.2.4).
    SetPrimaryAddress(AddressRequest),
    /// A request failed (ASCONF-ACK; RFC 5061 §4.2.3).
    ErrorCauseIndication(ErrorCauseIndication<'a>),
    /// A request was met (ASCONF-ACK; RFC 5061 §4.2.5).
    SuccessIndication(CorrelationId),
    /// The sender resets streams it sends on (RE-CONFIG).
    OutgoingSsnReset(OutgoingSsnReset<'a>),
    /// The sender asks the peer to reset streams the peer sends on (RE-CONFIG).
    IncomingSsnReset(IncomingSsnReset<'a>),
    /// All streams and the TSNs of both sides start anew (RE-CONFIG; RFC 6525 §4.3).
    SsnTsnReset {
        /// The number of this request.
        request: ReconfigSequence,
    },
    /// The outcome of a request (RE-CONFIG).
    ReconfigResponse(ReconfigResponse),
    /// The sender wants to send on more streams (RE-CONFIG).
    AddOutgoingStreams(AddStreams),
    /// The sender wants the peer to send on more streams (RE-CONFIG).
    AddIncomingStreams(AddStreams),
    /// A type this crate does not decode.
    Unknown(UnknownParameter<'a>),
}

impl<'a> Parameter<'a> {
    fn decode(tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let kind = ParameterType::from(tlv.head);
        let value = tlv.value;
        let mut cursor = Cursor::new(value, tlv.offset + 4);
        let parameter = match kind {
            ParameterType::IPV4_ADDRESS => Self::Ipv4Address(cursor.array::<4>()?.into()),
            ParameterType::IPV6_ADDRESS => Self::Ipv6Address(cursor.array::<16>()?.into()),
            ParameterType::COOKIE_PRESERVATIVE => Self::CookiePreservative { increment_ms: cursor.u32()? },
            ParameterType::ECN_CAPABLE => Self::EcnCapable,
            ParameterType::SUPPORTED_ADDRESS_TYPES => {
                return ParameterTypes::decode(value).map(Self::SupportedAddressTypes);
            }
            ParameterType::HEARTBEAT_INFO => return Ok(Self::HeartbeatInfo(value)),
            ParameterType::STATE_COOKIE => return Ok(Self::StateCookie(value)),
            ParameterType::UNRECOGNIZED_PARAMETER => return Ok(Self::UnrecognizedParameter(value)),
            ParameterType::HOST_NAME_ADDRESS => return Ok(Self::HostNameAddress(value)),
            _ => return Self::decode_extension(kind, tlv, cursor),
        };
        cursor.finish().map(|()| parameter)
    }

    fn decode_extension(kind: ParameterType, tlv: Tlv<'a>, mut cursor: Cursor<'a>) -> Result<Self, Flaw> {
        let (value, fields) = (tlv.value, &mut cursor);
        let parameter = match kind {
            ParameterType::ZERO_CHECKSUM_ACCEPTABLE => {
                Self::ZeroChecksumAcceptable { edmid: ErrorDetectionMethod::new(fields.u32()?) }
            }
            ParameterType::FORWARD_TSN_SUPPORTED => Self::ForwardTsnSupported,
            ParameterType::ADAPTATION_LAYER_INDICATION => Self::AdaptationLayerIndication(fields.u32()?),
            ParameterType::ADD_IP_ADDRESS => Self::AddIpAddress(AddressRequest::decode(fields)?),
            ParameterType::DELETE_IP_ADDRESS => Self::DeleteIpAddress(AddressRequest::decode(fields)?),
            ParameterType::SET_PRIMARY_ADDRESS => Self::SetPrimaryAddress(AddressRequest::decode(fields)?),
            ParameterType::SUCCESS_INDICATION => Self::SuccessIndication(CorrelationId::new(fields.u32()?)),
            ParameterType::SSN_TSN_RESET_REQUEST => {
                Self::SsnTsnReset { request: ReconfigSequence::new(fields.u32()?) }
            }
            ParameterType::RE_CONFIGURATION_RESPONSE => {
                Self::ReconfigResponse(ReconfigResponse::decode(fields)?)
            }
            ParameterType::ADD_OUTGOING_STREAMS_REQUEST => {
                Self::AddOutgoingStreams(AddStreams::decode(fields)?)
            }
            ParameterType::ADD_INCOMING_STREAMS_REQUEST => {
                Self::AddIncomingStreams(AddStreams::decode(fields)?)
            }
            ParameterType::OUTGOING_SSN_RESET_REQUEST => {
                return OutgoingSsnReset::decode(cursor).map(Self::OutgoingSsnReset);
            }
            ParameterType::INCOMING_SSN_RESET_REQUEST => {
                return IncomingSsnReset::decode(cursor).map(Self::IncomingSsnReset);
            }
            ParameterType::ERROR_CAUSE_INDICATION => {
                return ErrorCauseIndication::decode(cursor).map(Self::ErrorCauseIndication);
            }
            ParameterType::HMAC_ALGORITHMS => return HmacIds::decode(value).map(Self::HmacAlgorithms),
            ParameterType::RANDOM => return Ok(Self::Random(value)),
            ParameterType::CHUNK_LIST => return Ok(Self::ChunkList(ChunkTypes::new(value))),
            ParameterType::SUPPORTED_EXTENSIONS => {
                return Ok(Self::SupportedExtensions(ChunkTypes::new(value)));
            }
            ParameterType::PADDING => return Ok(Self::Padding(value)),
            _ => return Ok(Self::Unknown(UnknownParameter::of(tlv))),
        };
        cursor.finish().map(|()| parameter)
    }

    /// Returns the parameter's type.
    #[must_use]
    pub const fn kind(&self) -> ParameterType {
        match self {
            Self::HeartbeatInfo(_) => ParameterType::HEARTBEAT_INFO,
            Self::Ipv4Address(_) => ParameterType::IPV4_ADDRESS,
            Self::Ipv6Address(_) => ParameterType::IPV6_ADDRESS,
            Self::StateCookie(_) => ParameterType::STATE_COOKIE,
            Self::UnrecognizedParameter(_) => ParameterType::UNRECOGNIZED_PARAMETER,
            Self::CookiePreservative { .. } => ParameterType::COOKIE_PRESERVATIVE,
            Self::HostNameAddress(_) => ParameterType::HOST_NAME_ADDRESS,
            Self::SupportedAddressTypes(_) => ParameterType::SUPPORTED_ADDRESS_TYPES,
            Self::EcnCapable => ParameterType::ECN_CAPABLE,
            Self::ZeroChecksumAcceptable { .. } => ParameterType::ZERO_CHECKSUM_ACCEPTABLE,
            Self::SupportedExtensions(_) => ParameterType::SUPPORTED_EXTENSIONS,
            Self::ForwardTsnSupported => ParameterType::FORWARD_TSN_SUPPORTED,
            Self::AdaptationLayerIndication(_) => ParameterType::ADAPTATION_LAYER_INDICATION,
            Self::Padding(_) => ParameterType::PADDING,
            Self::Random(_) => ParameterType::RANDOM,
            Self::ChunkList(_) => ParameterType::CHUNK_LIST,
            Self::HmacAlgorithms(_) => ParameterType::HMAC_ALGORITHMS,
            Self::AddIpAddress(_) => ParameterType::ADD_IP_ADDRESS,
            Self::DeleteIpAddress(_) => ParameterType::DELETE_IP_ADDRESS,
            Self::SetPrimaryAddress(_) => ParameterType::SET_PRIMARY_ADDRESS,
            Self::ErrorCauseIndication(_) => ParameterType::ERROR_CAUSE_INDICATION,
            Self::SuccessIndication(_) => ParameterType::SUCCESS_INDICATION,
            Self::OutgoingSsnReset(_) => ParameterType::OUTGOING_SSN_RESET_REQUEST,
            Self::IncomingSsnReset(_) => ParameterType::INCOMING_SSN_RESET_REQUEST,
            Self::SsnTsnReset { .. } => ParameterType::SSN_TSN_RESET_REQUEST,
            Self::ReconfigResponse(_) => ParameterType::RE_CONFIGURATION_RESPONSE,
            Self::AddOutgoingStreams(_) => ParameterType::ADD_OUTGOING_STREAMS_REQUEST,
            Self::AddIncomingStreams(_) => ParameterType::ADD_INCOMING_STREAMS_REQUEST,
            Self::Unknown(unknown) => unknown.kind,
        }
    }

    /// Returns what a receiver that does not speak this parameter does with it; `UnrecognizedParameter` reports
    /// it.
    #[must_use]
    pub const fn action(&self) -> UnknownAction {
        self.kind().unknown_action()
    }

    pub(crate) fn write(&self, writer: &mut ValueWriter<'_>) {
        writer.tlv(self.kind().get(), |value| match self {
            Self::HeartbeatInfo(octets)
            | Self::StateCookie(octets)
            | Self::UnrecognizedParameter(octets)
            | Self::HostNameAddress(octets)
            | Self::Random(octets)
            | Self::Padding(octets) => value.bytes(octets),
            Self::Ipv4Address(address) => value.bytes(&address.octets()),
            Self::Ipv6Address(address) => value.bytes(&address.octets()),
            Self::CookiePreservative { increment_ms: number } | Self::AdaptationLayerIndication(number) => {
                value.u32(*number);
            }
            Self::ZeroChecksumAcceptable { edmid } => value.u32(edmid.get()),
            Self::SuccessIndication(correlation) => value.u32(correlation.get()),
            Self::SsnTsnReset { request } => value.u32(request.get()),
            Self::SupportedAddressTypes(types) => value.bytes(types.as_bytes()),
            Self::ChunkList(types) | Self::SupportedExtensions(types) => value.bytes(types.as_bytes()),
            Self::HmacAlgorithms(algorithms) => value.bytes(algorithms.as_bytes()),
            Self::AddIpAddress(request)
            | Self::DeleteIpAddress(request)
            | Self::SetPrimaryAddress(request) => request.write(value),
            Self::ErrorCauseIndication(indication) => indication.write(value),
            Self::OutgoingSsnReset(reset) => reset.write(value),
            Self::IncomingSsnReset(reset) => reset.write(value),
            Self::ReconfigResponse(response) => response.write(value),
            Self::AddOutgoingStreams(request) | Self::AddIncomingStreams(request) => request.write(value),
            Self::EcnCapable | Self::ForwardTsnSupported => {}
            Self::Unknown(unknown) => value.bytes(unknown.value),
        });
    }
}

impl From<IpAddr> for Parameter<'_> {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::Ipv4Address(address),
            IpAddr::V6(address) => Self::Ipv6Address(address),
        }
    }
}

/// A parameter this crate does not decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownParameter<'a> {
    /// The type that is not known.
    pub kind: ParameterType,
    /// The value of the parameter, without padding.
    pub value: &'a [u8],
    /// The whole parameter as received, without padding: what a report holds. Not used for writing.
    pub raw: &'a [u8],
}

impl<'a> UnknownParameter<'a> {
    fn of(tlv: Tlv<'a>) -> Self {
        Self { kind: ParameterType::from(tlv.head), value: tlv.value, raw: tlv.raw }
    }

    /// Returns what a receiver does with it, by the two top bits of its type.
    #[must_use]
    pub const fn action(&self) -> UnknownAction {
        self.kind.unknown_action()
    }
}

#[cfg(test)]
mod tests;
