//! Transport addresses: `192.0.2.1:5000`, `[2001:db8::1]:5000`, `server.example:5000`, `ip:192.0.2.1:5000`, and the UDP ports that carry SCTP.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use lab::{Carrier, EncapsulationPorts};
use sctp::BindError;

use super::UsageError;

/// The mistake in an address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error(
        "write an address or a name, and a port, such as 192.0.2.1:5000, [2001:db8::1]:5000, server.example:5000 or \
         ip:192.0.2.1:5000"
    )]
    NotAnAddress,
    #[error("IPv6 addresses stand in brackets: write for example [::1]:5000")]
    NoBrackets,
    #[error("port 0 is no port that others could find: write 1 to 65535")]
    PortZero,
}

/// One address, or a name that stands for some, with the port, and whether SCTP travels there directly over IP (`ip:`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    host: AddressOrName,
    port: u16,
    over_ip: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AddressOrName {
    Ip(IpAddr),
    Name(String),
}

/// Parses one address or name with its port.
pub(crate) fn parse_address(text: &str) -> Result<Address, AddressError> {
    parse(text, None)
}

/// Reads an address as [`parse_address`] does; without a port it is that of `headway perf`.
pub(crate) fn parse_perf_address(text: &str) -> Result<Address, AddressError> {
    parse(text, Some(PERF_PORT))
}

fn parse(text: &str, default_port: Option<u16>) -> Result<Address, AddressError> {
    let (over_ip, text) = text.strip_prefix("ip:").map_or((false, text), |rest| (true, rest));
    let (host, port) = match text.rsplit_once(':') {
        // The colon is one of the address's own.
        Some((_, end)) if end.ends_with(']') => (text, None),
        Some((host, port)) => (host, Some(port.parse().map_err(|_| AddressError::NotAnAddress)?)),
        None => (text, None),
    };
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if in_brackets.is_none() && text.matches(':').count() > 1 {
        return Err(AddressError::NoBrackets);
    }
    let host = match in_brackets {
        Some(address) => {
            address.parse().map(IpAddr::V6).map(AddressOrName::Ip).map_err(|_| AddressError::NotAnAddress)
        }
        None => host.parse().map(IpAddr::V4).map(AddressOrName::Ip).or_else(|_| name(host)),
    }?;
    match port.or(default_port) {
        Some(0) => Err(AddressError::PortZero),
        Some(port) => Ok(Address { host, port, over_ip }),
        None => Err(AddressError::NotAnAddress),
    }
}

/// Returns the name of a host as resolvers take it; one of digits and dots alone is a damaged address.
fn name(text: &str) -> Result<AddressOrName, AddressError> {
    let fits = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_');
    let is_name = text.bytes().all(fits) && text.bytes().any(|octet| octet.is_ascii_alphabetic());
    if is_name { Ok(AddressOrName::Name(text.to_owned())) } else { Err(AddressError::NotAnAddress) }
}

/// The place of an endpoint: one address, or several if it is multi-homed, all with the same port. Clap asks
/// for one at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) over_ip: bool,
    /// Names that were given, and what each stands for.
    resolved: Vec<(String, Vec<IpAddr>)>,
}

impl Place {
    /// Creates a place; names stand for all their addresses.
    pub(crate) fn of(option: &'static str, given: &[Address]) -> Result<Self, UsageError> {
        let over_ip = given.first().is_some_and(|first| first.over_ip);
        let port = given.first().map(|first| first.port);
        let all = || given.iter().map(Address::to_string).collect::<Vec<_>>().join(" ");
        if given.iter().any(|address| address.over_ip != over_ip) {
            let because = "the addresses of one endpoint are reached in the same way";
            return Err(UsageError::value(
                option,
                all(),
                because,
                "write ip: before all of them or before none",
            ));
        }
        if given.iter().any(|address| Some(address.port) != port) {
            let because = "an SCTP endpoint has one port at all of its addresses";
            return Err(UsageError::value(option, all(), because, "give them the same port"));
        }
        let mut place = Self { addresses: Vec::new(), over_ip, resolved: Vec::new() };
        for address in given {
            match &address.host {
                AddressOrName::Ip(ip) => place.add(*ip, address.port),
                AddressOrName::Name(name) => place.resolve(option, address, name)?,
            }
        }
        Ok(place)
    }

    fn resolve(&mut self, option: &'static str, address: &Address, name: &str) -> Result<(), UsageError> {
        let found = (name, address.port).to_socket_addrs().map_err(|error| {
            let because = format!("the name cannot be resolved ({error})");
            UsageError::value(option, address, &because, "correct it, or write an address")
        })?;
        let before = self.addresses.len();
        found.for_each(|found| self.add(found.ip(), address.port));
        let ips = self.addresses[before..].iter().map(SocketAddr::ip).collect();
        self.resolved.push((name.to_owned(), ips));
        Ok(())
    }

    fn add(&mut self, ip: IpAddr, port: u16) {
        let address = SocketAddr::new(ip, port);
        if !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }

    /// Returns a line for each name that was given, with the addresses it stands for.
    pub(crate) fn resolutions(&self) -> String {
        let line = |(name, ips): &(String, Vec<IpAddr>)| {
            let ips: Vec<_> = ips.iter().map(IpAddr::to_string).collect();
            format!("{name} is {}\n", ips.join(" and "))
        };
        self.resolved.iter().map(line).collect()
    }

    /// Returns the first name that was given.
    pub(crate) fn name(&self) -> Option<&str> {
        self.resolved.first().map(|(name, _)| name.as_str())
    }

    /// Checks that `ip:` is given for SCTP only.
    pub(crate) fn check_protocol(&self, option: &'static str, is_sctp: bool) -> Result<(), UsageError> {
        if is_sctp || !self.over_ip {
            return Ok(());
        }
        let value = format!("ip:{}", self.first());
        Err(UsageError::value(option, value, "TCP has its own protocol number", "leave ip: out"))
    }

    /// Returns the carrier of a client's SCTP: any UDP port to the registered one (RFC 6951 §5.1), unless others are given.
    pub(crate) fn carrier_of_client(&self, given: Option<EncapPort>) -> Result<Carrier, UsageError> {
        let EncapsulationPorts { local, remote } = EncapsulationPorts::default();
        let remote = given.and_then(|ports| ports.remote).unwrap_or(remote);
        self.carrier(given, EncapsulationPorts { local: given.map_or(local, |ports| ports.local), remote })
    }

    /// Returns the carrier of a server's SCTP: the registered UDP port, unless another is given.
    pub(crate) fn carrier_of_server(&self, given: Option<EncapPort>) -> Result<Carrier, UsageError> {
        let EncapsulationPorts { remote, .. } = EncapsulationPorts::default();
        self.carrier(given, EncapsulationPorts { local: given.map_or(remote, |ports| ports.local), remote })
    }

    fn carrier(&self, given: Option<EncapPort>, ports: EncapsulationPorts) -> Result<Carrier, UsageError> {
        match given {
            Some(given) if self.over_ip => Err(UsageError::value(
                "--encap-port",
                given.local.to_string(),
                "directly over IP (ip:) there are no UDP ports",
                "leave one of the two out",
            )),
            _ if self.over_ip => Ok(Carrier::Ip),
            _ => Ok(Carrier::Udp(ports)),
        }
    }

    pub(crate) fn first(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub(crate) fn ips(&self) -> Vec<IpAddr> {
        self.addresses.iter().map(SocketAddr::ip).collect()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prefix = if self.over_ip { "ip:" } else { "" };
        match &self.host {
            AddressOrName::Ip(ip) => write!(f, "{prefix}{}", SocketAddr::new(*ip, self.port)),
            AddressOrName::Name(name) => write!(f, "{prefix}{name}:{}", self.port),
        }
    }
}

/// The value of `--encap-port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EncapPort {
    pub(crate) local: u16,
    pub(crate) remote: Option<u16>,
}

/// The mistake in UDP ports.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write the UDP port of this end, 0 for any, and after a colon that of the other, such as 9899 or 0:9899"
)]
pub(crate) struct EncapPortError;

impl FromStr for EncapPort {
    type Err = EncapPortError;

    fn from_str(text: &str) -> Result<Self, EncapPortError> {
        let (local, remote) = match text.split_once(':') {
            Some((local, remote)) => (local, Some(remote)),
            None => (text, None),
        };
        let remote = remote.map(|port| port.parse().ok().filter(|port| *port > 0).ok_or(EncapPortError));
        Ok(Self { local: local.parse().map_err(|_| EncapPortError)?, remote: remote.transpose()? })
    }
}

/// Returns the remedy for an endpoint that cannot be bound.
pub(crate) fn bind_remedy(error: &BindError) -> &'static str {
    if let BindError::PortInUse { .. } = error {
        "end that program, or choose another UDP port with --encap-port"
    } else {
        ANOTHER_ADDRESS
    }
}

/// The port at which both ends of `headway perf` meet.
const PERF_PORT: u16 = 5201;

/// The remedy for a server that cannot be where it shall be.
pub(crate) const ANOTHER_ADDRESS: &str = "choose another address or port";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_carry_a_port_and_ipv6_brackets() {
        let plain = |host, port| Ok(Address { host, port, over_ip: false });
        let here = AddressOrName::Ip([127, 0, 0, 1].into());
        assert_eq!(parse_address("127.0.0.1:5000"), plain(here.clone(), 5000));
        assert_eq!(parse_address("[::1]:5000"), plain(AddressOrName::Ip("::1".parse().unwrap()), 5000));
        assert_eq!(parse_perf_address("127.0.0.1"), plain(here, PERF_PORT));
        assert_eq!(parse_perf_address("[::1]"), plain(AddressOrName::Ip("::1".parse().unwrap()), PERF_PORT));
        assert!(parse_address("ip:[::1]:5000").unwrap().over_ip);
        assert_eq!(parse_address("::1:5000"), Err(AddressError::NoBrackets));
        assert_eq!(parse_address("127.0.0.1"), Err(AddressError::NotAnAddress));
        assert_eq!(parse_address("127.0.0.1:0"), Err(AddressError::PortZero));
        assert_eq!(parse_perf_address("::1"), Err(AddressError::NoBrackets));
    }

    #[test]
    fn names_are_resolved_and_damaged_addresses_are_no_names() {
        let name = parse_address("ip:server-1.example:5000").unwrap();
        assert_eq!(name.to_string(), "ip:server-1.example:5000");
        for text in ["300.1.1.1:5000", "a b:5000", "server", "server:", ":5000", "[server]:5000", "server:x"]
        {
            assert_eq!(parse_address(text), Err(AddressError::NotAnAddress), "{text}");
        }
        let here = Place::of("--to", &[parse_address("localhost:5000").unwrap()]).unwrap();
        assert!(here.addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 5000));
        assert!(here.resolutions().starts_with("localhost is ") && here.name() == Some("localhost"));
        let nowhere = Place::of("--to", &[parse_address("no-such-host.invalid:5000").unwrap()]);
        assert!(nowhere.unwrap_err().to_string().contains("'no-such-host.invalid:5000'"));
    }

    #[test]
    fn several_addresses_share_port_and_carrier() {
        let place = |texts: &[&str]| {
            let given: Vec<_> = texts.iter().map(|text| parse_address(text).unwrap()).collect();
            Place::of("--to", &given).map_err(|error| error.to_string())
        };
        assert_eq!(place(&["127.0.0.1:5", "[::1]:5"]).unwrap().addresses.len(), 2);
        assert!(place(&["ip:127.0.0.1:5", "ip:127.0.0.2:5"]).unwrap().over_ip);
        assert!(place(&["127.0.0.1:5", "127.0.0.2:6"]).unwrap_err().contains("same port"));
        assert!(place(&["ip:127.0.0.1:5", "127.0.0.2:5"]).unwrap_err().contains("before none"));
    }

    #[test]
    fn encapsulation_ports_are_local_and_remote() {
        assert_eq!("9900".parse(), Ok(EncapPort { local: 9900, remote: None }));
        assert_eq!("0:9900".parse(), Ok(EncapPort { local: 0, remote: Some(9900) }));
        for text in ["", ":", "9900:", "9900:0", "65536", "-1", "any"] {
            assert_eq!(text.parse::<EncapPort>(), Err(EncapPortError), "{text}");
        }
    }
}
