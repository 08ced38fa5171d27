//! One interface: the facts about it, and the state that follows from them.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use virtual_time::Instant;

use crate::damping::Flaps;
use crate::event::{Family, InterfaceName, LinkState, Usability};

/// How far an interface has come. Each state includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterfaceState {
    /// No link of this number is known.
    Absent,
    /// The link is there, and switched off.
    Down,
    /// The link is switched on, and carries nothing yet.
    Up,
    /// The link carries packets: a cable with a carrier, a radio with its access point.
    Associated,
    /// The interface has an address that may be sent from.
    Addressed,
    /// Packets from one of its addresses have been answered.
    Verified,
}

impl InterfaceState {
    /// Returns the state's name, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Down => "down",
            Self::Up => "up",
            Self::Associated => "associated",
            Self::Addressed => "addressed",
            Self::Verified => "verified",
        }
    }
}

/// The facts about an interface, a value for each key: what came last holds, whatever came before or between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interface {
    pub(crate) link: Option<Link>,
    pub(crate) addresses: BTreeMap<IpAddr, Usability>,
    pub(crate) has_route_v4: bool,
    pub(crate) has_route_v6: bool,
    /// The end of the lifetime that a router has advertised.
    pub(crate) router_until: Option<Instant>,
    pub(crate) signal_dbm: Option<i16>,
    pub(crate) flaps: Flaps,
    /// Whether it could be used when the last instant was closed.
    pub(crate) was_usable: bool,
}

/// An interface that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) name: InterfaceName,
    pub(crate) state: LinkState,
}

impl Interface {
    /// Returns how far the interface has come, but for verification, which is known by address.
    pub(crate) fn state(&self) -> InterfaceState {
        match self.link.as_ref().map(|link| link.state) {
            None => InterfaceState::Absent,
            Some(LinkState::Down) => InterfaceState::Down,
            Some(LinkState::Up) => InterfaceState::Up,
            Some(LinkState::Operational) if self.has_address() => InterfaceState::Addressed,
            Some(LinkState::Operational) => InterfaceState::Associated,
        }
    }

    /// Returns whether packets can be sent from this address of it.
    pub(crate) fn can_send_from(&self, address: IpAddr) -> bool {
        let usability = self.addresses.get(&address);
        self.state() >= InterfaceState::Associated
            && usability.is_some_and(|usability| *usability != Usability::Tentative)
            && reaches_beyond_the_link(address)
    }

    /// Returns whether there is a default route of this family.
    pub(crate) fn has_default_route(&self, now: Instant, family: Family) -> bool {
        match family {
            Family::V4 => self.has_route_v4,
            Family::V6 => self.has_route_v6 || self.router_until.is_some_and(|until| until > now),
        }
    }

    /// Returns whether nothing is known that would be missed.
    pub(crate) fn is_forgettable(&self, now: Instant) -> bool {
        let has_route = self.has_route_v4 || self.has_route_v6 || self.router_until.is_some();
        self.link.is_none() && self.addresses.is_empty() && !has_route && self.flaps.is_empty(now)
    }

    fn has_address(&self) -> bool {
        let may_send = |(address, usability): (&IpAddr, &Usability)| {
            *usability != Usability::Tentative && reaches_beyond_the_link(*address)
        };
        self.addresses.iter().any(may_send)
    }
}

/// Returns whether packets from this address can go beyond its link, and come back.
pub(crate) fn reaches_beyond_the_link(address: IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(is_local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

#[cfg(test)]
mod tests;
