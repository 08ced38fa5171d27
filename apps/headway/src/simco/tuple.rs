//! Address tuples as people write them: `10.1.8.3:12345/udp`, `10.0.0.0/8:*/tcp`, `[2001:db8::1]:5004+2/udp`, `*v4/any`.

use std::net::IpAddr;
use std::str::FromStr;

use simco::{AddressTuple, IpVersion, Location, TransportProtocol, TupleForm};

/// One side of a rule, its location still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side {
    protocol: TransportProtocol,
    prefix_length: u8,
    form: TupleForm,
}

impl Side {
    pub(super) const fn at(self, location: Location) -> AddressTuple {
        let Self { protocol, prefix_length, form } = self;
        AddressTuple { location, protocol, prefix_length, form }
    }
}

/// The mistake in a tuple.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TupleError {
    #[error("no protocol: write it behind the port, such as 10.1.8.3:12345/udp")]
    NoProtocol,
    #[error("`{0}` is no protocol: write udp, tcp, sctp, icmp, dccp, udplite, any or a number up to 255")]
    Protocol(String),
    #[error("no port: write one behind the address, * or 0 for all, such as 10.1.8.3:*/udp")]
    NoPort,
    #[error("`{0}` is no port: write 1 to 65535, 5004+2 for two of them, * for all")]
    Port(String),
    #[error("`{0}` is no address: write 10.1.8.3, 10.0.0.0/8, [2001:db8::1], [2001:db8::]/32, *v4 or *v6")]
    Address(String),
    #[error("`{0}` is no prefix length of this address")]
    Prefix(String),
}

impl FromStr for Side {
    type Err = TupleError;

    fn from_str(text: &str) -> Result<Self, TupleError> {
        let (rest, protocol) = text.rsplit_once('/').ok_or(TupleError::NoProtocol)?;
        let protocol = parse_protocol(protocol)?;
        let all = |version| Self { protocol, prefix_length: 0, form: TupleForm::ProtocolsOnly(version) };
        match rest {
            "*v4" => return Ok(all(IpVersion::V4)),
            "*v6" => return Ok(all(IpVersion::V6)),
            _ => {}
        }
        let (network, ports) = rest.rsplit_once(':').ok_or(TupleError::NoPort)?;
        let (address, prefix) = match network.rsplit_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (network, None),
        };
        let bare = address.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let parsed: Result<IpAddr, _> = bare.unwrap_or(address).parse();
        let address = parsed.ok().filter(|parsed| parsed.is_ipv6() == bare.is_some());
        let address = address.ok_or_else(|| TupleError::Address(network.to_owned()))?;
        let bits = IpVersion::of(address).address_bits();
        let prefix_length = match prefix {
            None => bits,
            Some(prefix) => {
                let length = prefix.parse().ok().filter(|length| *length <= bits);
                length.ok_or_else(|| TupleError::Prefix(prefix.to_owned()))?
            }
        };
        let (port, port_range) = parse_ports(ports)?;
        Ok(Self { protocol, prefix_length, form: TupleForm::Full { address, port, port_range } })
    }
}

/// Returns a protocol by name or number.
pub(super) fn parse_protocol(text: &str) -> Result<TransportProtocol, TupleError> {
    Ok(match text {
        "any" => TransportProtocol::ANY,
        "icmp" => TransportProtocol::ICMP,
        "tcp" => TransportProtocol::TCP,
        "udp" => TransportProtocol::UDP,
        "dccp" => TransportProtocol::DCCP,
        "sctp" => TransportProtocol::SCTP,
        "udplite" => TransportProtocol::UDP_LITE,
        number => {
            let number = number.parse().map_err(|_| TupleError::Protocol(text.to_owned()))?;
            TransportProtocol::new(number)
        }
    })
}

fn parse_ports(text: &str) -> Result<(u16, u16), TupleError> {
    let wrong = || TupleError::Port(text.to_owned());
    match text.split_once('+') {
        None if text == "*" => Ok((0, 1)),
        None => Ok((text.parse().map_err(|_| wrong())?, 1)),
        Some((port, range)) => {
            let range = range.parse().ok().filter(|range| *range > 0).ok_or_else(wrong)?;
            Ok((port.parse().map_err(|_| wrong())?, range))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_written() {
        for text in [
            "10.1.8.3:12345/udp",
            "10.1.8.3:5004+2/udp",
            "10.0.0.0/8:*/tcp",
            "[2001:db8::1]:5004/sctp",
            "[2001:db8::]/32:*/udp",
            "*v4/any",
            "*v6/udp",
            "10.1.8.3:*/47",
        ] {
            let side: Side = text.parse().unwrap();
            assert_eq!(side.at(Location::INTERNAL).to_string(), text);
        }
        let zero: Side = "203.0.113.9:0/udp".parse().unwrap();
        assert_eq!(zero.at(Location::EXTERNAL).to_string(), "203.0.113.9:*/udp");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| text.parse::<Side>().unwrap_err();
        assert_eq!(error("10.1.8.3:5"), TupleError::NoProtocol);
        assert_eq!(error("10.1.8.3/udp"), TupleError::NoPort);
        assert_eq!(error("10.1.8.3:5/upd"), TupleError::Protocol("upd".to_owned()));
        assert_eq!(error("10.1.8.3:65536/udp"), TupleError::Port("65536".to_owned()));
        assert_eq!(error("10.1.8.3:5+0/udp"), TupleError::Port("5+0".to_owned()));
        assert_eq!(error("10.1.8:5/udp"), TupleError::Address("10.1.8".to_owned()));
        assert_eq!(error("2001:db8::1:5/udp"), TupleError::Address("2001:db8::1".to_owned()));
        assert_eq!(error("10.0.0.0/33:5/udp"), TupleError::Prefix("33".to_owned()));
    }
}
