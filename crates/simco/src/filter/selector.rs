//! The addresses and ports that a rule means, and what they become.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU16;

use crate::numbers::TransportProtocol;
use crate::tuple::{AddressTuple, IpVersion, TupleForm};

/// Addresses and ports of one side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Selector {
    /// The addresses that are meant.
    pub network: Network,
    /// The ports that are meant.
    pub ports: Ports,
}

impl Selector {
    /// Creates the selector of what a tuple means. A tuple without address means every address of its version.
    #[must_use]
    pub fn of(tuple: &AddressTuple) -> Self {
        match tuple.form {
            TupleForm::ProtocolsOnly(version) => Self { network: Network::all(version), ports: Ports::Any },
            TupleForm::Full { address, port, port_range } => {
                let ports = match (tuple.protocol.has_ports(), port, NonZeroU16::new(port_range)) {
                    (false, ..) | (true, 0, _) | (true, _, None) => Ports::Any,
                    (true, first, Some(count)) => Ports::Range { first, count },
                };
                Self { network: Network::new(address, tuple.prefix_length), ports }
            }
        }
    }
}

impl Selector {
    /// Returns the selector with as many ports as `reserved`, where both have some.
    pub(crate) fn as_many_as(self, reserved: Option<Ports>) -> Self {
        match (self.ports, reserved) {
            (Ports::Range { first, .. }, Some(Ports::Range { count, .. })) => {
                Self { ports: Ports::Range { first, count }, ..self }
            }
            (Ports::Any | Ports::Range { .. }, _) => self,
        }
    }
}

/// Addresses with the same leading bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Network {
    address: IpAddr,
    prefix_length: u8,
}

impl Network {
    /// Creates the network of the addresses that share `prefix_length` leading bits with `address`; more bits
    /// than it has count as all.
    #[must_use]
    pub fn new(address: IpAddr, prefix_length: u8) -> Self {
        let version = IpVersion::of(address);
        let prefix_length = prefix_length.min(version.address_bits());
        let address = match address {
            IpAddr::V4(v4) => Ipv4Addr::from(v4.to_bits() & mask_v4(prefix_length)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from(v6.to_bits() & mask_v6(prefix_length)).into(),
        };
        Self { address, prefix_length }
    }

    /// Returns every address of a version.
    #[must_use]
    pub const fn all(version: IpVersion) -> Self {
        Self { address: version.unspecified(), prefix_length: 0 }
    }

    /// Returns the first address: all other bits are zero.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the number of leading bits that count.
    #[must_use]
    pub const fn prefix_length(&self) -> u8 {
        self.prefix_length
    }

    /// Returns the IP version, 4 or 6.
    #[must_use]
    pub const fn version(&self) -> IpVersion {
        IpVersion::of(self.address)
    }

    /// Returns the host, if the network is a single one.
    #[must_use]
    pub fn host(&self) -> Option<IpAddr> {
        (self.prefix_length == self.version().address_bits()).then_some(self.address)
    }

    /// Returns the lower and the upper half; `None` of one host.
    #[must_use]
    pub fn halves(&self) -> Option<[Self; 2]> {
        let bits = self.version().address_bits();
        let length = self.prefix_length + 1;
        let upper: IpAddr = match self.address {
            _ if length > bits => return None,
            IpAddr::V4(v4) => Ipv4Addr::from(v4.to_bits() | 1 << (bits - length)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from(v6.to_bits() | 1 << (bits - length)).into(),
        };
        Some([Self::new(self.address, length), Self::new(upper, length)])
    }

    /// Returns whether `address` is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        Self::new(address, self.prefix_length) == *self
    }

    /// Returns whether they have an address in common: one contains the other.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let shorter = self.prefix_length.min(other.prefix_length);
        self.version() == other.version()
            && Self::new(self.address, shorter) == Self::new(other.address, shorter)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_length)
    }
}

/// The ports of one side of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ports {
    /// Every port; for protocols without ports, every packet.
    Any,
    /// A range of consecutive ports.
    Range {
        /// The lowest port, which is not 0.
        first: u16,
        /// The number of ports in the range.
        count: NonZeroU16,
    },
}

impl Ports {
    /// Creates the range of `count` ports from `first` on; all ports if either is 0.
    #[must_use]
    pub const fn new(first: u16, count: u16) -> Self {
        match NonZeroU16::new(count) {
            Some(count) if first != 0 => Self::Range { first, count },
            Some(_) | None => Self::Any,
        }
    }

    /// Returns the last port; 65535 for all.
    #[must_use]
    pub const fn last(self) -> u16 {
        match self {
            Self::Any => u16::MAX,
            Self::Range { first, count } => first.saturating_add(count.get() - 1),
        }
    }

    /// Returns whether `port` is among them.
    #[must_use]
    pub const fn contains(self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Range { first, .. } => first <= port && port <= self.last(),
        }
    }

    /// Returns whether they have a port in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Range { first, .. }, Self::Range { first: other_first, .. }) => {
                first <= other.last() && other_first <= self.last()
            }
        }
    }

    /// Returns the port `step` after the first, alone; of all ports, all.
    #[must_use]
    pub const fn nth(self, step: u16) -> Self {
        match self {
            Self::Any => Self::Any,
            Self::Range { first, .. } => Self::new(first.saturating_add(step), 1),
        }
    }
}

/// The translation of addresses and ports by a translator (RFC 5189 §2.3.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Translation {
    /// The protocol whose ports it occupies; [`TransportProtocol::ANY`] is the address with everything.
    pub protocol: TransportProtocol,
    /// The address and ports that stand for the internal endpoint outside, A2.
    pub outside: Mapping,
    /// The address and ports that stand for the external endpoint inside, A1; of twice NAT only.
    pub inside: Option<Mapping>,
}

impl Translation {
    /// Returns whether several hosts share the outside address, and ports are chosen as packets come.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.protocol.has_ports() && self.outside.ports == Ports::Any
    }
}

/// An address and ports that stand for others: the k-th port for the k-th.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mapping {
    /// The address of the translator.
    pub address: IpAddr,
    /// The ports of the translator. [`Ports::Any`]: if the translation occupies the whole address each port
    /// stands for itself; otherwise the address is shared, the rule is outbound, and the translator chooses
    /// ports as packets come.
    pub ports: Ports,
}

const fn mask_v4(prefix_length: u8) -> u32 {
    match prefix_length {
        0 => 0,
        bits => u32::MAX << (32 - bits),
    }
}

const fn mask_v6(prefix_length: u8) -> u128 {
    match prefix_length {
        0 => 0,
        bits => u128::MAX << (128 - bits),
    }
}
