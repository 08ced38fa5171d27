//! Parameters of INIT and INIT ACK (RFC 9260 §3.2.1, §3.3.2.1, §3.3.3.1), read and written.

use core::fmt::{self, Display, Formatter};
use core::iter::FusedIterator;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::codepoints::{ChunkType, ParameterType, UnknownAction};
use crate::cursor::{Cursor, Tlv};
use crate::error::{DecodeError, Flaw, Layer};
use crate::list::Bracketed;
use crate::write::ValueWriter;

/// A list of parameters, decoded as it is walked over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Parameters<'a> {
    /// Encoded parameters, one after the other; offsets in errors count from here.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { cursor: Cursor::new(bytes, 0) }
    }

    pub(crate) const fn from_cursor(cursor: Cursor<'a>) -> Self {
        Self { cursor }
    }

    /// The encoded parameters.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Walks over the parameters.
    #[must_use]
    pub const fn iter(&self) -> ParametersIter<'a> {
        ParametersIter { cursor: self.cursor }
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

/// One parameter. The same type is read and written.
///
/// Parameters of AUTH, dynamic addresses and stream reconfiguration come as [`Parameter::Unknown`] with the
/// named constants of [`ParameterType`].
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
    /// In an INIT ACK: a whole parameter of the INIT that was not understood.
    UnrecognizedParameter(&'a [u8]),
    /// In an INIT: a wish for a longer life of the cookie.
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
        edmid: u32,
    },
    /// Chunk types of the extensions the sender speaks (RFC 5061 §4.2.7).
    SupportedExtensions(&'a [u8]),
    /// The sender speaks FORWARD TSN (RFC 3758).
    ForwardTsnSupported,
    /// A code point of the layer above (RFC 5061 §4.2.6).
    AdaptationLayerIndication(u32),
    /// Fills an INIT up (RFC 4820).
    Padding(&'a [u8]),
    /// A type this crate does not decode.
    Unknown(UnknownParameter<'a>),
}

impl<'a> Parameter<'a> {
    fn decode(tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let kind = ParameterType::new(u16::from_be_bytes(tlv.head));
        let value = tlv.value;
        let mut cursor = Cursor::new(value, tlv.offset + 4);
        let parameter = match kind {
            ParameterType::IPV4_ADDRESS => Self::Ipv4Address(cursor.array::<4>()?.into()),
            ParameterType::IPV6_ADDRESS => Self::Ipv6Address(cursor.array::<16>()?.into()),
            ParameterType::COOKIE_PRESERVATIVE => Self::CookiePreservative { increment_ms: cursor.u32()? },
            ParameterType::ECN_CAPABLE => Self::EcnCapable,
            ParameterType::ZERO_CHECKSUM_ACCEPTABLE => Self::ZeroChecksumAcceptable { edmid: cursor.u32()? },
            ParameterType::FORWARD_TSN_SUPPORTED => Self::ForwardTsnSupported,
            ParameterType::ADAPTATION_LAYER_INDICATION => Self::AdaptationLayerIndication(cursor.u32()?),
            ParameterType::SUPPORTED_ADDRESS_TYPES => {
                return ParameterTypes::decode(value).map(Self::SupportedAddressTypes);
            }
            ParameterType::HEARTBEAT_INFO => return Ok(Self::HeartbeatInfo(value)),
            ParameterType::STATE_COOKIE => return Ok(Self::StateCookie(value)),
            ParameterType::UNRECOGNIZED_PARAMETER => return Ok(Self::UnrecognizedParameter(value)),
            ParameterType::HOST_NAME_ADDRESS => return Ok(Self::HostNameAddress(value)),
            ParameterType::SUPPORTED_EXTENSIONS => return Ok(Self::SupportedExtensions(value)),
            ParameterType::PADDING => return Ok(Self::Padding(value)),
            _ => return Ok(Self::Unknown(UnknownParameter { kind, value, raw: tlv.raw })),
        };
        cursor.finish().map(|()| parameter)
    }

    /// The parameter's type.
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
            Self::Unknown(unknown) => unknown.kind,
        }
    }

    /// What a receiver that does not speak this parameter does with it; `UnrecognizedParameter` reports it.
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
            | Self::SupportedExtensions(octets)
            | Self::Padding(octets) => value.bytes(octets),
            Self::Ipv4Address(address) => value.bytes(&address.octets()),
            Self::Ipv6Address(address) => value.bytes(&address.octets()),
            Self::CookiePreservative { increment_ms: number }
            | Self::ZeroChecksumAcceptable { edmid: number }
            | Self::AdaptationLayerIndication(number) => value.u32(*number),
            Self::SupportedAddressTypes(types) => value.bytes(types.as_bytes()),
            Self::EcnCapable | Self::ForwardTsnSupported => {}
            Self::Unknown(unknown) => value.bytes(unknown.value),
        });
    }
}

impl Display for Parameter<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        match self {
            Self::HeartbeatInfo(octets)
            | Self::StateCookie(octets)
            | Self::HostNameAddress(octets)
            | Self::Padding(octets) => write!(f, " {} B", octets.len()),
            Self::Ipv4Address(address) => write!(f, " {address}"),
            Self::Ipv6Address(address) => write!(f, " {address}"),
            Self::UnrecognizedParameter(octets) => write!(f, " {}", types_of(octets)),
            Self::CookiePreservative { increment_ms } => write!(f, " {increment_ms} ms"),
            Self::SupportedAddressTypes(types) => write!(f, " {types}"),
            Self::ZeroChecksumAcceptable { edmid } => write!(f, " edmid={edmid}"),
            Self::SupportedExtensions(types) => {
                write!(f, " {}", Bracketed(", ", types.iter().copied().map(ChunkType::new)))
            }
            Self::AdaptationLayerIndication(code) => write!(f, " {code:#010x}"),
            Self::EcnCapable | Self::ForwardTsnSupported => Ok(()),
            Self::Unknown(unknown) => write!(f, " {} B", unknown.value.len()),
        }
    }
}

/// The types of reported parameters; their content is not shown, so that a report of a report cannot nest.
pub(crate) fn types_of(reported: &[u8]) -> impl Display {
    Bracketed(", ", ParametersIter { cursor: Cursor::new(reported, 0) }.flatten().map(|found| found.kind()))
}

/// A parameter this crate does not decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownParameter<'a> {
    /// Its type.
    pub kind: ParameterType,
    /// Its value, without padding.
    pub value: &'a [u8],
    /// The whole parameter as received, without padding: what a report holds. Not used for writing.
    pub raw: &'a [u8],
}

impl UnknownParameter<'_> {
    /// What to do with it.
    #[must_use]
    pub const fn action(&self) -> UnknownAction {
        self.kind.unknown_action()
    }
}

/// A list of parameter types: address families, or what is missing.
///
/// ```
/// use sctp_wire::{ParameterType, ParameterTypes};
///
/// let wire = [ParameterType::IPV4_ADDRESS.to_wire(), ParameterType::IPV6_ADDRESS.to_wire()];
/// assert_eq!(ParameterTypes::new(&wire).to_string(), "[IPv4, IPv6]");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterTypes<'a>(&'a [[u8; 2]]);

impl<'a> ParameterTypes<'a> {
    /// Only IPv4.
    pub const IPV4: ParameterTypes<'static> = ParameterTypes(&[ParameterType::IPV4_ADDRESS.to_wire()]);
    /// Only IPv6.
    pub const IPV6: ParameterTypes<'static> = ParameterTypes(&[ParameterType::IPV6_ADDRESS.to_wire()]);
    /// Both families.
    pub const IPV4_AND_IPV6: ParameterTypes<'static> =
        ParameterTypes(&[ParameterType::IPV4_ADDRESS.to_wire(), ParameterType::IPV6_ADDRESS.to_wire()]);
    /// The one parameter an INIT ACK cannot do without.
    pub const STATE_COOKIE: ParameterTypes<'static> =
        ParameterTypes(&[ParameterType::STATE_COOKIE.to_wire()]);

    /// The list of these types, each as [`ParameterType::to_wire`] gives it.
    #[must_use]
    pub const fn new(types: &'a [[u8; 2]]) -> Self {
        Self(types)
    }

    fn decode(value: &'a [u8]) -> Result<Self, Flaw> {
        match value.as_chunks() {
            (types, []) => Ok(Self(types)),
            _ => Err(Flaw::OddList { octets: value.len() }),
        }
    }

    /// The types, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ParameterType> + Clone + use<'a> {
        self.0.iter().map(|&octets| ParameterType::new(u16::from_be_bytes(octets)))
    }

    /// Whether `kind` is in the list.
    #[must_use]
    pub fn contains(&self, kind: ParameterType) -> bool {
        self.0.contains(&kind.to_wire())
    }

    pub(crate) const fn as_bytes(&self) -> &'a [u8] {
        self.0.as_flattened()
    }
}

impl Display for ParameterTypes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Bracketed(", ", self.iter()).fmt(f)
    }
}

#[cfg(test)]
mod tests;
