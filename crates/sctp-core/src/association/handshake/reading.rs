//! The parameters of an INIT or INIT ACK, and what they say (RFC 9260 §3.3.2, §3.3.3).

use core::time::Duration;
use std::net::IpAddr;

use sctp_wire::{DecodeError, ErrorDetectionMethod, Init, Parameter, UnknownAction, encode_parameters};
use smallvec::SmallVec;

use crate::association::auth::{Found, WrongRandomLength};
use crate::association::{Announcement, Commons};
use crate::capabilities::{Capability, OfferedExtensions};
use crate::config::{Extensions, Offer};
use crate::error::ProtocolViolation;
use crate::transmit::MAX_PATHS;

/// The content of the parameters of an INIT or INIT ACK.
#[derive(Debug, Default)]
pub(crate) struct Reading<'a> {
    pub(crate) cookie: Option<&'a [u8]>,
    pub(crate) addresses: SmallVec<[IpAddr; 4]>,
    pub(crate) notes: PeerNotes,
    /// A Host Name Address, which nobody uses any more (RFC 9260 §5.1.2 (B)), encoded.
    pub(crate) host_name: Option<Vec<u8>>,
    /// How much longer than usual the cookie should live (RFC 9260 §3.3.2.1.3).
    pub(crate) cookie_increment: Duration,
    pub(crate) offered: OfferedExtensions,
    authentication: Found<'a>,
    /// Encoded parameters that we do not know and are asked to report, each by itself and without its padding.
    pub(crate) reports: Vec<Vec<u8>>,
}

/// Further facts that an INIT or INIT ACK gives about its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PeerNotes {
    /// Addresses beyond those that are used.
    pub(crate) addresses_ignored: u8,
    /// The address it would like to be sent to (RFC 5061 §4.2.4); the unspecified one stands for where it wrote from.
    pub(crate) primary: Option<IpAddr>,
    /// The adaptation code point of the sender (RFC 5061 §4.2.6).
    pub(crate) adaptation: Option<u32>,
}

impl<'a> Reading<'a> {
    /// Walks once; stops where an unknown parameter asks for it (RFC 9260 §3.2.1). Parameters of extensions that are
    /// not in `ours` count as unknown.
    pub(crate) fn of(init: &Init<'a>, ours: &Extensions) -> Self {
        let ours = OfferedExtensions::of(ours).capabilities;
        let mut reading = Self::default();
        for parameter in init.parameters.iter().filter_map(|found| readable(init, found)) {
            match parameter {
                Parameter::StateCookie(cookie) => reading.cookie = Some(cookie),
                Parameter::Ipv4Address(address) => reading.address(address.into()),
                Parameter::Ipv6Address(address) => reading.address(address.into()),
                // Skipped without a report by who does not know it: what it lists is compared with ours later.
                Parameter::SupportedExtensions(listed) => reading.offered.on_supported_extensions(listed),
                Parameter::ForwardTsnSupported if ours.has(Capability::PartialReliability) => {
                    reading.offered.add(Capability::PartialReliability);
                }
                Parameter::Random(_) | Parameter::ChunkList(_) | Parameter::HmacAlgorithms(_)
                    if ours.has(Capability::Authentication) =>
                {
                    reading.authentication.note(parameter);
                }
                Parameter::ZeroChecksumAcceptable { edmid: ErrorDetectionMethod::SCTP_OVER_DTLS }
                    if ours.has(Capability::ZeroChecksum) =>
                {
                    reading.offered.add(Capability::ZeroChecksum);
                }
                Parameter::SetPrimaryAddress(wish) if ours.has(Capability::DynamicAddresses) => {
                    reading.notes.primary = Some(wish.address);
                }
                Parameter::AdaptationLayerIndication(code) => reading.notes.adaptation = Some(code),
                Parameter::HostNameAddress(name) => reading.note_host_name(name),
                Parameter::CookiePreservative { increment_ms } => {
                    reading.cookie_increment = Duration::from_millis(increment_ms.into());
                }
                // Understood, and nothing to do: both address types are always supported here.
                Parameter::SupportedAddressTypes(_) | Parameter::UnrecognizedParameter(_) => {}
                other @ (Parameter::HeartbeatInfo(_)
                | Parameter::EcnCapable
                | Parameter::ZeroChecksumAcceptable { .. }
                | Parameter::ForwardTsnSupported
                | Parameter::Padding(_)
                | Parameter::Random(_)
                | Parameter::ChunkList(_)
                | Parameter::HmacAlgorithms(_)
                | Parameter::AddIpAddress(_)
                | Parameter::DeleteIpAddress(_)
                | Parameter::SetPrimaryAddress(_)
                | Parameter::ErrorCauseIndication(_)
                | Parameter::SuccessIndication(_)
                | Parameter::OutgoingSsnReset(_)
                | Parameter::IncomingSsnReset(_)
                | Parameter::SsnTsnReset { .. }
                | Parameter::ReconfigResponse(_)
                | Parameter::AddOutgoingStreams(_)
                | Parameter::AddIncomingStreams(_)
                | Parameter::Unknown(_)) => {
                    if reading.note_unknown(other).stops() {
                        break;
                    }
                }
            }
        }
        if reading.authentication.is_usable() {
            reading.offered.add(Capability::Authentication);
        }
        reading
    }

    /// Returns what the peer announces for authentication, or why there can be no association with it.
    pub(crate) fn announcement(&self, ours: &Commons) -> Result<Option<Announcement>, ProtocolViolation> {
        let announced = self.authentication.announcement(ours.announced());
        let announced =
            announced.map_err(|WrongRandomLength { octets }| ProtocolViolation::RandomLength { octets })?;
        // What the user wants authenticated is not taken otherwise, whoever removed the parameters on the way.
        if announced.is_none() && !ours.authentication.chunks.is_empty() {
            return Err(ProtocolViolation::NoAuthentication);
        }
        let offers_asconf = self.offered.capabilities.has(Capability::DynamicAddresses);
        if announced.is_none() && offers_asconf && ours.extensions.dynamic_addresses == Offer::On {
            return Err(ProtocolViolation::AsconfWithoutAuthentication);
        }
        Ok(announced)
    }

    /// RFC 9260 §3.3.10.5: the parameter goes back with the refusal, unless it is longer than names are.
    fn note_host_name(&mut self, name: &[u8]) {
        let parameter = [Parameter::HostNameAddress(name)];
        let encoded =
            (name.len() <= HOST_NAME_BYTES).then(|| encode_parameters(&parameter).unwrap_or_default());
        self.host_name.get_or_insert(encoded.unwrap_or_default());
    }

    /// Returns what the type of a parameter that is not spoken says is done about it (RFC 9260 §3.2.1).
    fn note_unknown(&mut self, parameter: Parameter<'_>) -> UnknownAction {
        let action = parameter.action();
        // Nothing is encoded that has no room: an INIT may hold thousands of them.
        if action.reports() && self.reports.len() < REPORTS && self.reported_bytes() < REPORTED_BYTES {
            self.report(encode_parameters(&[parameter]).unwrap_or_default());
        }
        action
    }

    /// Notes a parameter to report, as far as the answer has room.
    fn report(&mut self, encoded: Vec<u8>) {
        if self.reported_bytes() + encoded.len() <= REPORTED_BYTES && self.reports.len() < REPORTS {
            self.reports.push(encoded);
        }
    }

    fn reported_bytes(&self) -> usize {
        self.reports.iter().map(|report| report.len().next_multiple_of(4)).sum()
    }

    /// Returns the reports as the content of one error cause: padding stands between them and does not end them
    /// (RFC 9260 §3.2).
    pub(crate) fn all_reports(&self) -> Vec<u8> {
        self.reports.iter().fold(Vec::new(), |mut all, report| {
            all.resize(all.len().next_multiple_of(4), 0);
            all.extend_from_slice(report);
            all
        })
    }

    /// The address it came from counts as listed (RFC 9260 §5.1.2 (C)), and before all others.
    pub(crate) fn add_source(&mut self, source: IpAddr) {
        if self.addresses.contains(&source) {
            return;
        }
        if self.addresses.len() >= MAX_PATHS {
            self.addresses.pop();
            self.notes.addresses_ignored = self.notes.addresses_ignored.saturating_add(1);
        }
        self.addresses.insert(0, source);
    }

    fn address(&mut self, address: IpAddr) {
        if self.addresses.len() < MAX_PATHS {
            self.addresses.push(address);
        } else {
            self.notes.addresses_ignored = self.notes.addresses_ignored.saturating_add(1);
        }
    }
}

/// Returns a parameter as far as it can be read; others are passed over.
fn readable<'a>(init: &Init<'a>, found: Result<Parameter<'a>, DecodeError>) -> Option<Parameter<'a>> {
    found.map_or_else(|error| unspoken(init, &error), Some)
}

/// Returns a malformed parameter of an extension as an unknown one, if the extension is not spoken (RFC 9260
/// §3.2.1).
fn unspoken<'a>(init: &Init<'a>, error: &DecodeError) -> Option<Parameter<'a>> {
    init.parameters.undecoded(error).filter(|parameter| parameter.kind.is_extension()).map(Parameter::Unknown)
}

/// Octets of a host name, and the zero behind it (RFC 9260 §3.3.2.1.4).
const HOST_NAME_BYTES: usize = 256;
/// Unknown parameters reported at most: each report is 4 octets longer than what it reports.
const REPORTS: usize = 16;
/// Octets of unknown parameters reported at most.
const REPORTED_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_padded_between_and_not_behind() {
        let mut reading = Reading::default();
        assert_eq!(reading.all_reports(), []);
        for report in [&[0xc0, 1, 0, 5, 7][..], &[0xc0, 2, 0, 6, 7, 8]] {
            reading.report(report.to_vec());
        }
        assert_eq!(reading.all_reports(), [0xc0, 1, 0, 5, 7, 0, 0, 0, 0xc0, 2, 0, 6, 7, 8]);
    }

    #[test]
    fn reports_have_a_bound_with_their_padding() {
        let mut reading = Reading::default();
        (0..100).for_each(|_| reading.report(vec![0; 5]));
        assert_eq!(reading.reports.len(), REPORTS);
        let mut reading = Reading::default();
        (0..100).for_each(|_| reading.report(vec![0; 101]));
        assert_eq!((reading.reports.len(), reading.all_reports().len() <= REPORTED_BYTES), (4, true));
    }
}
