//! Transport addresses: `192.0.2.1:5000`, `[2001:db8::1]:5000`, `ip:192.0.2.1:5000`, and the UDP ports that carry SCTP.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use lab::Carrier;

use super::UsageError;

/// What is wrong with an address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("write an address and a port, such as 192.0.2.1:5000, [2001:db8::1]:5000 or ip:192.0.2.1:5000")]
    NotAnAddress,
    #[error("IPv6 addresses stand in brackets: write for example [::1]:5000")]
    NoBrackets,
    #[error("port 0 is no port that others could find: write 1 to 65535")]
    PortZero,
}

/// One address with its port, and whether SCTP travels there directly over IP (`ip:`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    socket: SocketAddr,
    over_ip: bool,
}

/// Parses one address with its port.
pub(crate) fn parse_address(text: &str) -> Result<Address, AddressError> {
    let (over_ip, text) = text.strip_prefix("ip:").map_or((false, text), |rest| (true, rest));
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() == 0 => Err(AddressError::PortZero),
        Ok(socket) => Ok(Address { socket, over_ip }),
        Err(_) if text.matches(':').count() > 1 && !text.starts_with('[') => Err(AddressError::NoBrackets),
        Err(_) => Err(AddressError::NotAnAddress),
    }
}

/// Where an endpoint is: one address, or several if it is multi-homed, all with the same port. Clap asks for one at
/// least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) over_ip: bool,
}

impl Place {
    pub(crate) fn of(option: &'static str, given: &[Address]) -> Result<Self, UsageError> {
        let over_ip = given.first().is_some_and(|first| first.over_ip);
        let port = given.first().map(|first| first.socket.port());
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
        if given.iter().any(|address| Some(address.socket.port()) != port) {
            let because = "an SCTP endpoint has one port at all of its addresses";
            return Err(UsageError::value(option, all(), because, "give them the same port"));
        }
        Ok(Self { addresses: given.iter().map(|address| address.socket).collect(), over_ip })
    }

    /// `ip:` is for SCTP.
    pub(crate) fn check_protocol(&self, option: &'static str, is_sctp: bool) -> Result<(), UsageError> {
        if is_sctp || !self.over_ip {
            return Ok(());
        }
        let value = format!("ip:{}", self.first());
        Err(UsageError::value(option, value, "TCP has its own protocol number", "leave ip: out"))
    }

    /// How SCTP travels, with these UDP ports where it needs some.
    pub(crate) fn carrier(
        &self,
        option: Option<EncapPort>,
        ports: lab::EncapsulationPorts,
    ) -> Result<Carrier, UsageError> {
        match option {
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
        write!(f, "{prefix}{}", self.socket)
    }
}

/// The value of `--encap-port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EncapPort {
    pub(crate) local: u16,
    pub(crate) remote: Option<u16>,
}

/// What is wrong with UDP ports.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_carry_a_port_and_ipv6_brackets() {
        let udp = |socket: SocketAddr| Ok(Address { socket, over_ip: false });
        assert_eq!(parse_address("127.0.0.1:5000"), udp(([127, 0, 0, 1], 5000).into()));
        assert!(parse_address("[::1]:5000").unwrap().socket.is_ipv6());
        assert!(parse_address("ip:[::1]:5000").unwrap().over_ip);
        assert_eq!(parse_address("::1:5000"), Err(AddressError::NoBrackets));
        assert_eq!(parse_address("127.0.0.1"), Err(AddressError::NotAnAddress));
        assert_eq!(parse_address("127.0.0.1:0"), Err(AddressError::PortZero));
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
