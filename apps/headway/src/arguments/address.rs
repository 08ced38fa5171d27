//! Transport addresses: `192.0.2.1:5000`, `[2001:db8::1]:5000`, and the UDP ports that carry SCTP.

use std::net::SocketAddr;
use std::str::FromStr;

use super::UsageError;

/// What is wrong with an address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("write an address and a port, such as 192.0.2.1:5000 or [2001:db8::1]:5000")]
    NotAnAddress,
    #[error("IPv6 addresses stand in brackets: write for example [::1]:5000")]
    NoBrackets,
    #[error("raw IP 132 is not there yet: leave ip: out and use UDP encapsulation (--encap-port)")]
    RawIp,
    #[error("port 0 is no port that others could find: write 1 to 65535")]
    PortZero,
}

/// Parses one address with its port.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, AddressError> {
    if text.starts_with("ip:") {
        return Err(AddressError::RawIp);
    }
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() == 0 => Err(AddressError::PortZero),
        Ok(address) => Ok(address),
        Err(_) if text.matches(':').count() > 1 && !text.starts_with('[') => Err(AddressError::NoBrackets),
        Err(_) => Err(AddressError::NotAnAddress),
    }
}

/// The only one of several addresses: multihoming is not there yet.
pub(crate) fn only_address(option: &'static str, addresses: &[SocketAddr]) -> Result<SocketAddr, UsageError> {
    match addresses {
        [address] => Ok(*address),
        _ => {
            let all: Vec<_> = addresses.iter().map(SocketAddr::to_string).collect();
            let because = "several paths per association are not there yet";
            Err(UsageError::value(option, all.join(" "), because, "give one address"))
        }
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
        assert_eq!(parse_address("127.0.0.1:5000"), Ok(([127, 0, 0, 1], 5000).into()));
        assert!(parse_address("[::1]:5000").unwrap().is_ipv6());
        assert_eq!(parse_address("::1:5000"), Err(AddressError::NoBrackets));
        assert_eq!(parse_address("127.0.0.1"), Err(AddressError::NotAnAddress));
        assert_eq!(parse_address("127.0.0.1:0"), Err(AddressError::PortZero));
        assert_eq!(parse_address("ip:[::1]:5000"), Err(AddressError::RawIp));
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
