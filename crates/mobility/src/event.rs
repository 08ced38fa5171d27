//! The events that a host is told: each is one fact, by whoever knows it.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

/// A fact about an interface or an address, as the kernel, a probe or an application reports it.
///
/// Facts come in any order: an address before its link, a route after the link is gone. The later of two facts about one thing
/// holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The interface exists, and this is how its link stands.
    Link {
        /// The number of the interface.
        interface: InterfaceId,
        /// The name of the interface, by which policies know it.
        name: InterfaceName,
        /// Whether packets can leave through it.
        state: LinkState,
    },
    /// The interface does not exist any more.
    LinkGone {
        /// The number that the interface had.
        interface: InterfaceId,
    },
    /// The interface has an address.
    Address {
        /// The number of the interface.
        interface: InterfaceId,
        /// The address that the interface has.
        address: IpAddr,
        /// Whether the address may be sent from.
        usability: Usability,
    },
    /// The interface has an address no more.
    AddressGone {
        /// The number of the interface.
        interface: InterfaceId,
        /// The address that the interface had.
        address: IpAddr,
    },
    /// There is a default route through the interface.
    DefaultRoute {
        /// The number of the interface.
        interface: InterfaceId,
        /// The family of addresses that the route is for.
        family: Family,
    },
    /// The last default route of a family through the interface is gone.
    DefaultRouteGone {
        /// The number of the interface.
        interface: InterfaceId,
        /// The family of addresses that the route was for.
        family: Family,
    },
    /// A router has advertised itself on the interface (RFC 4861 §4.2). For its lifetime this is a default route of IPv6.
    Router {
        /// The number of the interface.
        interface: InterfaceId,
        /// The router lifetime; zero takes the advertisement back.
        lifetime: Duration,
    },
    /// The strength at which the interface receives its access point.
    Signal {
        /// The number of the interface.
        interface: InterfaceId,
        /// The strength in dBm, negative as a rule.
        dbm: i16,
    },
    /// Somebody has measured the way from an address to the peer.
    Measured {
        /// The address that was sent from.
        address: IpAddr,
        /// The quality that was found.
        quality: Quality,
    },
    /// Packets from the address have been answered.
    Verified {
        /// The address that was sent from.
        address: IpAddr,
    },
    /// Packets from the address get nowhere, although the interface is up: a portal that wants a login, for instance.
    Refuted {
        /// The address that was sent from.
        address: IpAddr,
    },
}

/// The number by which the kernel knows an interface. Another interface may have it after this one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InterfaceId(u32);

impl InterfaceId {
    /// Creates the number from the kernel's index.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Returns the number as the kernel has it.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// The name of an interface: 1 to 15 octets without space, slash or control character, as Linux wants it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InterfaceName(String);

impl InterfaceName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for InterfaceName {
    type Err = InterfaceNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for InterfaceName {
    type Error = InterfaceNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '/';
        if text.is_empty() || text.len() > MAX_NAME_BYTES || text.contains(is_odd) {
            return Err(InterfaceNameError(text));
        }
        Ok(Self(text))
    }
}

impl From<InterfaceName> for String {
    fn from(name: InterfaceName) -> Self {
        name.0
    }
}

/// The refusal of a text that cannot be the name of an interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no name of an interface: 1 to 15 octets without space, slash or control character are needed"
)]
pub struct InterfaceNameError(String);

/// Whether packets can leave through a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// The link is switched off.
    Down,
    /// The link is switched on, and has no carrier, no access point or no login yet.
    Up,
    /// The link carries packets.
    Operational,
}

/// Whether an address may be sent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Usability {
    /// The address may not be used, yet or at all: whether a neighbour has it, too, is not known, or one has (RFC 4862 §5.4).
    Tentative,
    /// The address may be used for what runs already, and for nothing new (RFC 4862 §5.5.4).
    Deprecated,
    /// The address may be used for everything.
    Preferred,
}

/// A family of addresses, which have routes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The family is that of IPv4 addresses.
    V4,
    /// The family is that of IPv6 addresses.
    V6,
}

impl Family {
    /// Returns the family of an address.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

/// The quality of the way from an address to the peer, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quality {
    /// The time that a packet and its answer took.
    pub rtt: Duration,
    /// Packets lost of a thousand.
    pub loss_permille: u16,
}

/// The longest name that Linux gives an interface: `IFNAMSIZ` without the zero at its end.
const MAX_NAME_BYTES: usize = 15;
