//! Parameters as an engineer reads them.

use core::fmt::{self, Display, Formatter};

use super::{Parameter, Parameters};
use crate::list::Bracketed;

impl Display for Parameter<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        match self {
            Self::HeartbeatInfo(octets)
            | Self::StateCookie(octets)
            | Self::HostNameAddress(octets)
            | Self::Random(octets)
            | Self::Padding(octets) => write!(f, " {} B", octets.len()),
            Self::Ipv4Address(address) => write!(f, " {address}"),
            Self::Ipv6Address(address) => write!(f, " {address}"),
            Self::UnrecognizedParameter(octets) => write!(f, " {}", types_of(octets)),
            Self::CookiePreservative { increment_ms } => write!(f, " {increment_ms} ms"),
            Self::SupportedAddressTypes(types) => write!(f, " {types}"),
            Self::ZeroChecksumAcceptable { edmid } => write!(f, " edmid={edmid}"),
            Self::ChunkList(types) | Self::SupportedExtensions(types) => write!(f, " {types}"),
            Self::HmacAlgorithms(algorithms) => write!(f, " {algorithms}"),
            Self::AdaptationLayerIndication(code) => write!(f, " {code:#010x}"),
            Self::AddIpAddress(request)
            | Self::DeleteIpAddress(request)
            | Self::SetPrimaryAddress(request) => write!(f, " {request}"),
            Self::ErrorCauseIndication(indication) => write!(f, " {indication}"),
            Self::SuccessIndication(correlation) => write!(f, " corr={correlation}"),
            Self::OutgoingSsnReset(reset) => write!(f, " {reset}"),
            Self::IncomingSsnReset(reset) => write!(f, " {reset}"),
            Self::SsnTsnReset { request } => write!(f, " seq={request}"),
            Self::ReconfigResponse(response) => write!(f, " {response}"),
            Self::AddOutgoingStreams(request) | Self::AddIncomingStreams(request) => write!(f, " {request}"),
            Self::EcnCapable | Self::ForwardTsnSupported => Ok(()),
            Self::Unknown(unknown) => write!(f, " {} B", unknown.value.len()),
        }
    }
}

/// Returns the types of reported parameters; their content is not shown, so that a report of a report cannot
/// nest.
pub(crate) fn types_of(reported: &[u8]) -> impl Display {
    Bracketed(", ", Parameters::new(reported).iter().flatten().map(|found| found.kind()))
}
