//! The pinholes that the firewall is asked for, which follow from where somebody listens.

use std::net::IpAddr;

use simco::filter::Network;
use simco::{
    AddressTuple, Direction, EnableParameters, EnableParity, EnableRequest, IpVersion, Lifetime, Location,
    NatMode, PolicyRequest, ReserveParameters, ReserveParity, ReserveRequest, TransportProtocol,
};

use crate::media::Stream;

/// A pinhole that a call needs, on one middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pinhole {
    /// The middlebox, by its place in the configuration.
    pub middlebox: usize,
    pub(crate) towards: Stream,
    pub(crate) from: Source,
    direction: Direction,
    /// The middlebox translates: the listener inside is reached at an address that the middlebox gives out.
    pub(crate) is_translated: bool,
}

/// The hosts from which media come; the port is never known before the first packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// One host, whose address is known.
    Host(IpAddr),
    /// Any host inside, of one network, because the other side has not said where it is.
    Inside(Network),
    /// Any host outside, because the other side has not said where it is.
    Outside,
    /// Nobody yet: the address outside is only reserved, because the other side has not said where it is.
    Nobody,
}

/// Returns whether an address is in one of the networks behind a middlebox.
pub(crate) fn is_inside(internal: &[Network], address: IpAddr) -> bool {
    internal.iter().any(|network| contains(network, address))
}

/// Returns the pinholes that media towards a stream need on a middlebox: none where they do not cross it.
pub(crate) fn needed(
    middlebox: usize,
    internal: &[Network],
    towards: Stream,
    source: Option<IpAddr>,
) -> Vec<Pinhole> {
    let is_source_inside = source.map(|address| is_inside(internal, address));
    let pinhole = |from, direction| Pinhole { middlebox, towards, from, direction, is_translated: false };
    match (is_inside(internal, towards.address), source, is_source_inside) {
        (true, _, Some(true)) | (false, _, Some(false)) => Vec::new(),
        (true, Some(host), _) => vec![pinhole(Source::Host(host), Direction::Inbound)],
        (true, None, _) => vec![pinhole(Source::Outside, Direction::Inbound)],
        (false, Some(host), _) => vec![pinhole(Source::Host(host), Direction::Outbound)],
        (false, None, _) => internal
            .iter()
            .filter(|network| network.address().is_ipv4() == towards.address.is_ipv4())
            .map(|network| pinhole(Source::Inside(*network), Direction::Outbound))
            .collect(),
    }
}

/// Returns the pinhole that media towards a stream need on a middlebox that translates, between a listener and a sender of whom one
/// is inside: towards the inside it has an address of its own outside, at first only reserved; towards the outside there is none
/// before the sender is known, for a wildcard has no translation.
pub(crate) fn needed_of_translator(
    middlebox: usize,
    towards: Stream,
    is_inside: bool,
    source: Option<IpAddr>,
) -> Option<Pinhole> {
    let pinhole =
        |from, direction, is_translated| Pinhole { middlebox, towards, from, direction, is_translated };
    if is_inside {
        return Some(pinhole(source.map_or(Source::Nobody, Source::Host), Direction::Inbound, true));
    }
    source.map(|host| pinhole(Source::Host(host), Direction::Outbound, false))
}

impl Pinhole {
    /// Returns whether this one lets everything pass that the other would.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_wide_enough = self.from == other.from
            || match (self.from, other.from) {
                (Source::Outside, Source::Host(_)) => true,
                (Source::Inside(network), Source::Host(host)) => contains(&network, host),
                // What is open is reserved, too.
                (Source::Host(_), Source::Nobody) => true,
                (Source::Host(_) | Source::Inside(_) | Source::Outside | Source::Nobody, _) => false,
            };
        self.middlebox == other.middlebox
            && self.towards == other.towards
            && self.direction == other.direction
            && self.is_translated == other.is_translated
            && is_wide_enough
    }

    /// Returns whether both are for the same listener inside, behind the same translator.
    pub(crate) fn shares_translation(&self, other: &Self) -> bool {
        self.is_translated && other.is_translation_of(self.middlebox, self.towards)
    }

    /// Returns whether it gives a listener, seen from inside, its address on the other side of a translator.
    pub(crate) fn is_translation_of(&self, middlebox: usize, listener: Stream) -> bool {
        self.is_translated && self.middlebox == middlebox && self.towards == listener
    }

    /// Returns whether it only reserves an address.
    pub(crate) fn is_reservation(&self) -> bool {
        self.from == Source::Nobody
    }

    /// Returns the reservation that comes before this pinhole.
    pub(crate) const fn reserved(self) -> Self {
        Self { from: Source::Nobody, ..self }
    }

    /// Returns the request that opens it (PER, RFC 4540 §5.3.5), or reserves its address outside (PRR, §5.3.4).
    #[must_use]
    pub fn request(&self, lifetime: Lifetime) -> PolicyRequest {
        if self.from == Source::Nobody {
            let parameters = reservation(self.towards);
            return PolicyRequest::Reserve(ReserveRequest { parameters, lifetime, group: None });
        }
        PolicyRequest::Enable(self.enable(lifetime))
    }

    /// Returns the content of PER and PEA.
    #[must_use]
    pub fn enable(&self, lifetime: Lifetime) -> EnableRequest {
        let Stream { address, port, ports } = self.towards;
        let (here, there) = match self.direction {
            Direction::Inbound => (Location::INTERNAL, Location::EXTERNAL),
            Direction::Outbound | Direction::BiDirectional => (Location::EXTERNAL, Location::INTERNAL),
        };
        let listener = AddressTuple::host(here, TransportProtocol::UDP, address, port, ports);
        let (from, prefix_length) = match self.from {
            Source::Host(host) => (host, None),
            Source::Inside(network) => (network.address(), Some(network.prefix_length())),
            Source::Outside | Source::Nobody => (unspecified(address), Some(0)),
        };
        let mut sender = AddressTuple::host(there, TransportProtocol::UDP, from, 0, 1);
        if let Some(prefix_length) = prefix_length {
            sender.prefix_length = prefix_length;
        }
        let is_inbound = here == Location::INTERNAL;
        let (internal, external) = if is_inbound { (listener, sender) } else { (sender, listener) };
        EnableRequest {
            parameters: EnableParameters { parity: EnableParity::Any, direction: self.direction },
            internal,
            external,
            lifetime,
            group: None,
        }
    }
}

/// Returns the reservation for a stream: as many ports in a row, the first even where it is, for media and their control protocol go
/// in pairs (RFC 3550 §11).
fn reservation(stream: Stream) -> ReserveParameters {
    let version = IpVersion::of(stream.address);
    ReserveParameters {
        nat_mode: Some(NatMode::Traditional),
        parity: if stream.port.is_multiple_of(2) { ReserveParity::Even } else { ReserveParity::Any },
        inside_version: Some(version),
        outside_version: Some(version),
        protocol: TransportProtocol::UDP,
        port_range: stream.ports,
    }
}

fn contains(network: &Network, address: IpAddr) -> bool {
    Network::new(address, network.prefix_length()) == *network
}

fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(address: &str) -> Stream {
        Stream { address: address.parse().unwrap(), port: 6000, ports: 2 }
    }

    fn inside() -> Vec<Network> {
        vec![Network::new("10.0.0.0".parse().unwrap(), 8), Network::new("fd00::".parse().unwrap(), 8)]
    }

    fn asked(towards: &str, source: Option<&str>) -> Vec<(Direction, String)> {
        let source = source.map(|source| source.parse().unwrap());
        let tuple = |tuple: AddressTuple| {
            let (address, port, range) = tuple.full().unwrap();
            format!("{address}/{}:{port}+{range}", tuple.prefix_length)
        };
        let requests = needed(0, &inside(), stream(towards), source).into_iter();
        requests
            .map(|pinhole| {
                let request = pinhole.request(Lifetime::from_secs(60));
                let PolicyRequest::Enable(request) = request else { panic!("{request:?}") };
                let text = format!("{} {}", tuple(request.internal), tuple(request.external));
                (request.parameters.direction, text)
            })
            .collect()
    }

    #[test]
    fn a_pinhole_is_as_narrow_as_what_is_known() {
        let inbound = |text: &str| vec![(Direction::Inbound, text.to_owned())];
        let outbound = |text: &str| vec![(Direction::Outbound, text.to_owned())];
        assert_eq!(asked("10.1.8.3", Some("192.0.2.9")), inbound("10.1.8.3/32:6000+2 192.0.2.9/32:0+1"));
        assert_eq!(asked("10.1.8.3", None), inbound("10.1.8.3/32:6000+2 0.0.0.0/0:0+1"));
        assert_eq!(asked("192.0.2.9", Some("10.1.8.3")), outbound("10.1.8.3/32:0+1 192.0.2.9/32:6000+2"));
        assert_eq!(asked("192.0.2.9", None), outbound("10.0.0.0/8:0+1 192.0.2.9/32:6000+2"));
        assert_eq!(asked("2001:db8::9", None), outbound("fd00::/8:0+1 2001:db8::9/128:6000+2"));
    }

    #[test]
    fn media_that_do_not_cross_the_middlebox_need_no_pinhole() {
        assert_eq!(asked("10.1.8.3", Some("10.1.8.4")), vec![]);
        assert_eq!(asked("192.0.2.9", Some("192.0.2.8")), vec![]);
    }

    #[test]
    fn a_wide_pinhole_covers_a_narrow_one_and_not_the_other_way_round() {
        let [wide] = needed(0, &inside(), stream("10.1.8.3"), None)[..] else { panic!() };
        let [narrow] = needed(0, &inside(), stream("10.1.8.3"), "192.0.2.9".parse().ok())[..] else {
            panic!()
        };
        let [other] = needed(1, &inside(), stream("10.1.8.3"), None)[..] else { panic!() };
        assert!(wide.covers(&narrow) && wide.covers(&wide) && narrow.covers(&narrow));
        assert!(!narrow.covers(&wide) && !other.covers(&wide));
    }

    #[test]
    fn a_translator_reserves_first_and_opens_once_both_ends_are_known() {
        let inner = |source: Option<&str>| {
            let source = source.map(|source| source.parse().unwrap());
            needed_of_translator(0, stream("10.1.8.3"), true, source).unwrap()
        };
        let PolicyRequest::Reserve(request) = inner(None).request(Lifetime::from_secs(60)) else { panic!() };
        assert_eq!(
            (request.parameters.port_range, request.parameters.parity, request.parameters.nat_mode),
            (2, ReserveParity::Even, Some(NatMode::Traditional))
        );
        let open = inner(Some("192.0.2.9"));
        assert!(matches!(open.request(Lifetime::from_secs(60)), PolicyRequest::Enable(_)));
        assert!(open.covers(&inner(None)) && !inner(None).covers(&open));
        assert!(open.shares_translation(&inner(Some("192.0.2.8"))) && open.reserved() == inner(None));
        assert_eq!(needed_of_translator(0, stream("192.0.2.9"), false, None), None);
        let outer = needed_of_translator(0, stream("192.0.2.9"), false, "10.1.8.3".parse().ok()).unwrap();
        assert!(!outer.is_translated);
    }
}
