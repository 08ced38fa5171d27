//! Address tuples (RFC 4540 §4.2.9): an endpoint, or a set of them, and where it stands.
//!
//! ```text
//!   internal (A0) ──── inside (A1) [ middlebox ] outside (A2) ──── external (A3)
//! ```

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::codepoints::AttributeType;
use crate::error::AttributeError;
use crate::numbers::TransportProtocol;

/// An address tuple as it stands in a message. What it may say there is the middlebox' to check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressTuple {
    /// The location that the tuple describes, one of four.
    pub location: Location,
    /// The transport protocol; [`TransportProtocol::ANY`] is a wildcard for protocol and ports.
    pub protocol: TransportProtocol,
    /// Leading bits of the address that count: 32 or 128 for one host. May be more than the address has, which
    /// the middlebox refuses; without meaning in [`TupleForm::ProtocolsOnly`].
    pub prefix_length: u8,
    /// Address and ports, or neither.
    pub form: TupleForm,
}

/// Whether a tuple has an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TupleForm {
    /// The tuple means every address and port of a version.
    ProtocolsOnly(IpVersion),
    /// The tuple names addresses and ports.
    Full {
        /// The address; bits beyond the prefix length do not count.
        address: IpAddr,
        /// The first port; 0 is every port.
        port: u16,
        /// How many consecutive ports, from 1.
        port_range: u16,
    },
}

impl AddressTuple {
    /// Creates the tuple of one host with `port_range` ports from `port` on.
    #[must_use]
    pub const fn host(
        location: Location,
        protocol: TransportProtocol,
        address: IpAddr,
        port: u16,
        port_range: u16,
    ) -> Self {
        let prefix_length = IpVersion::of(address).address_bits();
        Self { location, protocol, prefix_length, form: TupleForm::Full { address, port, port_range } }
    }

    /// Creates the tuple of every address of a version, with prefix length 0, as RFC 4540 §5.3.3 has it for
    /// replies.
    #[must_use]
    pub const fn protocols_only(location: Location, protocol: TransportProtocol, version: IpVersion) -> Self {
        Self { location, protocol, prefix_length: 0, form: TupleForm::ProtocolsOnly(version) }
    }

    /// Returns the tuple at another location.
    #[must_use]
    pub const fn at(self, location: Location) -> Self {
        Self { location, ..self }
    }

    /// Returns the IP version of the tuple.
    #[must_use]
    pub const fn version(&self) -> IpVersion {
        match self.form {
            TupleForm::ProtocolsOnly(version) => version,
            TupleForm::Full { address, .. } => IpVersion::of(address),
        }
    }

    /// Address, first port and number of ports, where the tuple has them.
    #[must_use]
    pub const fn full(&self) -> Option<(IpAddr, u16, u16)> {
        match self.form {
            TupleForm::ProtocolsOnly(_) => None,
            TupleForm::Full { address, port, port_range } => Some((address, port, port_range)),
        }
    }

    /// Returns whether it matches more than one address.
    #[must_use]
    pub const fn has_address_wildcard(&self) -> bool {
        match self.form {
            TupleForm::ProtocolsOnly(_) => true,
            TupleForm::Full { address, .. } => self.prefix_length < IpVersion::of(address).address_bits(),
        }
    }

    /// Returns whether it matches every port, though its protocol has some. Without a protocol there are no
    /// ports to match.
    #[must_use]
    pub const fn has_port_wildcard(&self) -> bool {
        match self.form {
            TupleForm::ProtocolsOnly(_) => self.protocol.has_ports(),
            TupleForm::Full { port, .. } => port == 0 && self.protocol.has_ports(),
        }
    }

    /// Returns the number of octets of the value on the wire.
    #[must_use]
    pub const fn value_bytes(&self) -> usize {
        match self.form {
            TupleForm::ProtocolsOnly(_) => 4,
            TupleForm::Full { address: IpAddr::V4(_), .. } => 12,
            TupleForm::Full { address: IpAddr::V6(_), .. } => 24,
        }
    }

    /// Appends the value.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let form = match self.form {
            TupleForm::ProtocolsOnly(_) => PROTOCOLS_ONLY,
            TupleForm::Full { .. } => FULL,
        };
        out.push(form | self.version().code());
        out.extend([self.prefix_length, self.protocol.get(), self.location.get()]);
        if let TupleForm::Full { address, port, port_range } = self.form {
            out.extend(port.to_be_bytes());
            out.extend(port_range.to_be_bytes());
            match address {
                IpAddr::V4(address) => out.extend(address.octets()),
                IpAddr::V6(address) => out.extend(address.octets()),
            }
        }
    }

    /// Reads a value.
    pub(crate) fn decode(value: &[u8]) -> Result<Self, AttributeError> {
        let kind = AttributeType::AddressTuple;
        let wrong_length = AttributeError::WrongLength { kind, length: value.len() };
        let Some((&[first, prefix_length, protocol, location], rest)) = value.split_first_chunk() else {
            return Err(wrong_length);
        };
        let undefined = AttributeError::UndefinedValue { kind, value: first };
        let version = IpVersion::from_code(first & 0x0F).ok_or(undefined)?;
        let form = match first & 0xF0 {
            PROTOCOLS_ONLY if rest.is_empty() => TupleForm::ProtocolsOnly(version),
            PROTOCOLS_ONLY => return Err(wrong_length),
            FULL => Self::decode_full(version, rest).ok_or(wrong_length)?,
            _ => return Err(undefined),
        };
        let protocol = TransportProtocol::new(protocol);
        Ok(Self { location: Location::new(location), protocol, prefix_length, form })
    }

    fn decode_full(version: IpVersion, value: &[u8]) -> Option<TupleForm> {
        let (&[port0, port1, range0, range1], address) = value.split_first_chunk()?;
        let address = match version {
            IpVersion::V4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(address).ok()?)),
            IpVersion::V6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?)),
        };
        let (port, port_range) = (u16::from_be_bytes([port0, port1]), u16::from_be_bytes([range0, range1]));
        Some(TupleForm::Full { address, port, port_range })
    }
}

/// `10.1.8.3:12345+2/udp`, `10.0.0.0/8:*/udp`, `*v4/any`.
impl fmt::Display for AddressTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TupleForm::Full { address, port, port_range } = self.form else {
            return write!(f, "*{}/{}", self.version(), self.protocol);
        };
        match address {
            IpAddr::V4(address) => address.fmt(f)?,
            IpAddr::V6(address) => write!(f, "[{address}]")?,
        }
        if self.has_address_wildcard() {
            write!(f, "/{}", self.prefix_length)?;
        }
        match (port, port_range) {
            (0, _) => f.write_str(":*")?,
            (port, 1) => write!(f, ":{port}")?,
            (port, range) => write!(f, ":{port}+{range}")?,
        }
        write!(f, "/{}", self.protocol)
    }
}

/// The location that an address tuple describes (RFC 4540 §4.2.9). Other values decode: the middlebox refuses
/// them as inconsistent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location(u8);

impl Location {
    /// The endpoint in the protected network, A0.
    pub const INTERNAL: Self = Self(0x00);
    /// The location that the internal endpoint talks to, A1.
    pub const INSIDE: Self = Self(0x01);
    /// The location that the external endpoint talks to, A2.
    pub const OUTSIDE: Self = Self(0x02);
    /// The endpoint in the outside network, A3.
    pub const EXTERNAL: Self = Self(0x03);

    /// Creates the location `value`.
    #[must_use]
    pub const fn new(value: u8) -> Self {
        Self(value)
    }

    /// Returns the location as a plain number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// IPv4 or IPv6; on the wire 1 or 2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IpVersion {
    /// The Internet Protocol, version 4.
    V4,
    /// The Internet Protocol, version 6.
    V6,
}

impl IpVersion {
    /// Returns the version of an address.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// Returns the number of bits of an address: 32 or 128.
    #[must_use]
    pub const fn address_bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    /// Returns the address of all zeros.
    #[must_use]
    pub const fn unspecified(self) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Self::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::V4 => 1,
            Self::V6 => 2,
        }
    }

    pub(crate) const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::V4),
            2 => Some(Self::V6),
            _ => None,
        }
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "v4",
            Self::V6 => "v6",
        })
    }
}

const FULL: u8 = 0x00;
const PROTOCOLS_ONLY: u8 = 0x10;
