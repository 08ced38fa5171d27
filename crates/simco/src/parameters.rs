//! Attributes of fixed length with fields of their own: version, capabilities, parameter sets.

use crate::codepoints::AttributeType;
use crate::error::AttributeError;
use crate::numbers::{Lifetime, TransportProtocol};
use crate::tuple::IpVersion;

/// Version of the protocol (RFC 4540 §4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    /// The major number of the version.
    pub major: u8,
    /// The minor number of the version.
    pub minor: u8,
}

impl Version {
    /// The only version there is, 3.0.
    pub const CURRENT: Self = Self { major: 3, minor: 0 };

    pub(crate) const fn to_octets(self) -> [u8; 4] {
        [self.major, self.minor, 0, 0]
    }

    pub(crate) const fn from_octets([major, minor, _, _]: [u8; 4]) -> Self {
        Self { major, minor }
    }
}

/// The capabilities of a middlebox (RFC 4540 §4.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Capabilities {
    /// The kind of middlebox, and the services it has.
    pub services: Services,
    /// The wildcards the middlebox takes.
    pub wildcards: Wildcards,
    /// Policy rules survive a restart of the middlebox.
    pub is_persistent: bool,
    /// IP versions of the protected network.
    pub internal_versions: IpVersions,
    /// IP versions of the outside network.
    pub external_versions: IpVersions,
    /// The longest lifetime that is granted.
    pub longest_lifetime: Lifetime,
}

/// The kind of a middlebox, and the services it has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Services {
    /// Whether the middlebox is a packet filter.
    pub is_firewall: bool,
    /// A network address translator.
    pub is_translator: bool,
    /// Policy disable rules can be asked for.
    pub can_disable: bool,
    /// Whether both sides can be translated; of translators only.
    pub can_translate_twice: bool,
    /// IPv4 to IPv6 or back; of translators only.
    pub can_translate_protocol: bool,
    /// Ports are translated, too; of translators only.
    pub can_translate_ports: bool,
}

/// Wildcards a middlebox takes in address tuples.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Wildcards {
    /// Whether internal addresses may be wildcards.
    pub internal_address: bool,
    /// Whether external addresses may be wildcards.
    pub external_address: bool,
    /// Whether ports may be wildcards.
    pub port: bool,
}

impl Wildcards {
    /// The set of all wildcards.
    pub const ALL: Self = Self { internal_address: true, external_address: true, port: true };
}

/// The IP versions one side speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct IpVersions {
    /// Whether IPv4 is among them.
    pub v4: bool,
    /// Whether IPv6 is among them.
    pub v6: bool,
}

impl IpVersions {
    /// Returns the versions that are in both.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self { v4: self.v4 && other.v4, v6: self.v6 && other.v6 }
    }

    /// The set that holds IPv4 alone.
    pub const V4: Self = Self { v4: true, v6: false };
    /// The set that holds IPv6 alone.
    pub const V6: Self = Self { v4: false, v6: true };
    /// The set that holds both versions.
    pub const BOTH: Self = Self { v4: true, v6: true };

    /// Returns whether `version` is among them.
    #[must_use]
    pub const fn contains(self, version: IpVersion) -> bool {
        match version {
            IpVersion::V4 => self.v4,
            IpVersion::V6 => self.v6,
        }
    }

    /// Returns the version to use where any will do: IPv4 if there is a choice.
    #[must_use]
    pub const fn preferred(self) -> Option<IpVersion> {
        match self {
            Self { v4: true, .. } => Some(IpVersion::V4),
            Self { v6: true, .. } => Some(IpVersion::V6),
            Self { .. } => None,
        }
    }

    const fn code(self) -> u8 {
        mask(self.v4, 1) | mask(self.v6, 2)
    }

    const fn from_code(code: u8) -> Self {
        Self { v4: code & 1 != 0, v6: code & 2 != 0 }
    }
}

impl Capabilities {
    pub(crate) fn to_octets(self) -> [u8; 8] {
        let Self { services, wildcards, .. } = self;
        let first = mask(services.is_firewall, 0x80)
            | mask(services.is_translator, 0x40)
            | mask(services.can_disable, 0x10)
            | mask(services.can_translate_twice, 0x04)
            | mask(services.can_translate_protocol, 0x02)
            | mask(services.can_translate_ports, 0x01);
        let second = mask(wildcards.internal_address, 0x80)
            | mask(wildcards.external_address, 0x40)
            | mask(wildcards.port, 0x20)
            | mask(self.is_persistent, 0x10)
            | (self.internal_versions.code() << 2)
            | self.external_versions.code();
        let [a, b, c, d] = self.longest_lifetime.as_secs().to_be_bytes();
        [first, second, 0, 0, a, b, c, d]
    }

    pub(crate) const fn from_octets([first, second, _, _, a, b, c, d]: [u8; 8]) -> Self {
        Self {
            services: Services {
                is_firewall: first & 0x80 != 0,
                is_translator: first & 0x40 != 0,
                can_disable: first & 0x10 != 0,
                can_translate_twice: first & 0x04 != 0,
                can_translate_protocol: first & 0x02 != 0,
                can_translate_ports: first & 0x01 != 0,
            },
            wildcards: Wildcards {
                internal_address: second & 0x80 != 0,
                external_address: second & 0x40 != 0,
                port: second & 0x20 != 0,
            },
            is_persistent: second & 0x10 != 0,
            internal_versions: IpVersions::from_code((second >> 2) & 3),
            external_versions: IpVersions::from_code(second & 3),
            longest_lifetime: Lifetime::from_secs(u32::from_be_bytes([a, b, c, d])),
        }
    }
}

/// The parameters of a reservation (RFC 4540 §4.2.10).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReserveParameters {
    /// The translation that is asked for; `None` where the field has no defined value, which only firewalls
    /// take.
    pub nat_mode: Option<NatMode>,
    /// Parity of the first port.
    pub parity: ReserveParity,
    /// IP version inside; `None` for any.
    pub inside_version: Option<IpVersion>,
    /// IP version outside; `None` for any.
    pub outside_version: Option<IpVersion>,
    /// Transport protocol; [`TransportProtocol::ANY`] reserves an address without ports.
    pub protocol: TransportProtocol,
    /// How many consecutive ports; [`ReserveParameters::ALL_PORTS`] for all.
    pub port_range: u16,
}

/// The kind of translation that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NatMode {
    /// The internal endpoint alone is translated.
    Traditional,
    /// Both endpoints are translated; the choice of an agent without preference.
    Twice,
}

/// Parity of the first port reserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReserveParity {
    /// The first port may be odd or even.
    Any,
    /// The first port has to be odd.
    Odd,
    /// The first port has to be even.
    Even,
}

impl ReserveParity {
    /// Returns whether `port` has it.
    #[must_use]
    pub const fn admits(self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Odd => port % 2 == 1,
            Self::Even => port.is_multiple_of(2),
        }
    }
}

impl ReserveParameters {
    /// The port range that asks for every port of the protocol; only here.
    pub const ALL_PORTS: u16 = 0xFFFF;

    pub(crate) fn to_octets(self) -> [u8; 4] {
        let mode = match self.nat_mode {
            None => 0,
            Some(NatMode::Traditional) => 0x40,
            Some(NatMode::Twice) => 0x80,
        };
        let parity = match self.parity {
            ReserveParity::Any => 0,
            ReserveParity::Odd => 0x10,
            ReserveParity::Even => 0x20,
        };
        let inside = self.inside_version.map_or(0, IpVersion::code) << 2;
        let outside = self.outside_version.map_or(0, IpVersion::code);
        let [range0, range1] = self.port_range.to_be_bytes();
        [mode | parity | inside | outside, self.protocol.get(), range0, range1]
    }

    pub(crate) fn from_octets([first, protocol, range0, range1]: [u8; 4]) -> Result<Self, AttributeError> {
        let undefined =
            AttributeError::UndefinedValue { kind: AttributeType::ReserveParameters, value: first };
        let version = |code: u8| match code & 3 {
            0 => Ok(None),
            code => IpVersion::from_code(code).map(Some).ok_or(undefined),
        };
        Ok(Self {
            nat_mode: match first & 0xC0 {
                0x40 => Some(NatMode::Traditional),
                0x80 => Some(NatMode::Twice),
                _ => None,
            },
            parity: match first & 0x30 {
                0x00 => ReserveParity::Any,
                0x10 => ReserveParity::Odd,
                0x20 => ReserveParity::Even,
                _ => return Err(undefined),
            },
            inside_version: version(first >> 2)?,
            outside_version: version(first)?,
            protocol: TransportProtocol::new(protocol),
            port_range: u16::from_be_bytes([range0, range1]),
        })
    }
}

/// The parameters of a pinhole (RFC 4540 §4.2.11).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EnableParameters {
    /// Whether translation keeps the parity of ports.
    pub parity: EnableParity,
    /// The direction in which packets, of TCP first segments, may go.
    pub direction: Direction,
}

/// Whether translation keeps the parity of ports (RFC 5189 §2.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EnableParity {
    /// The parity of ports need not be kept.
    Any,
    /// A0 and A2, A1 and A3 have ports of the same parity.
    Same,
}

/// The direction in which packets, of TCP first segments, may go (RFC 5189 §2.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Packets may go from outside to inside.
    Inbound,
    /// Packets may go from inside to outside.
    Outbound,
    /// Packets may go in both directions.
    BiDirectional,
}

impl EnableParameters {
    pub(crate) const fn to_octets(self) -> [u8; 4] {
        let parity = match self.parity {
            EnableParity::Any => 0,
            EnableParity::Same => 3,
        };
        let direction = match self.direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
            Direction::BiDirectional => 3,
        };
        [parity, direction, 0, 0]
    }

    pub(crate) const fn from_octets([parity, direction, _, _]: [u8; 4]) -> Result<Self, AttributeError> {
        let kind = AttributeType::EnableParameters;
        let parity = match parity {
            0 => EnableParity::Any,
            3 => EnableParity::Same,
            value => return Err(AttributeError::UndefinedValue { kind, value }),
        };
        let direction = match direction {
            1 => Direction::Inbound,
            2 => Direction::Outbound,
            3 => Direction::BiDirectional,
            value => return Err(AttributeError::UndefinedValue { kind, value }),
        };
        Ok(Self { parity, direction })
    }
}

const fn mask(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}
