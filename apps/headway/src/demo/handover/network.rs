//! The two access networks between the mobile host and the fixed one, each an emulated link.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use emulator::{EmulatedLink, EmulatorError, LinkEnd, LinkState, route_by_source, switch_device};
use netem::Impairments;
use serde::Serialize;

/// An access network of the mobile host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(into = "u8")]
pub(super) enum Network {
    /// The mobile network, which is there from the beginning: far away, and costs money.
    Mobile,
    /// The WLAN: near, and costs nothing.
    Wlan,
}

impl Network {
    pub(super) const BOTH: [Self; 2] = [Self::Mobile, Self::Wlan];

    /// Returns its number: that of the key, of the link and in the JSON.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Mobile => 1,
            Self::Wlan => 2,
        }
    }

    /// Returns its place among both.
    pub(super) fn index(self) -> usize {
        usize::from(self.number()) - 1
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mobile => "network 1 (mobile)",
            Self::Wlan => "network 2 (WLAN)",
        }
    }

    pub(super) const fn round_trip(self) -> Duration {
        match self {
            Self::Mobile => Duration::from_millis(200),
            Self::Wlan => Duration::from_millis(30),
        }
    }

    /// Returns the network in which the mobile host has this address.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        Self::BOTH.into_iter().find(|network| network.mobile_address() == address)
    }

    pub(super) fn mobile_address(self) -> Ipv4Addr {
        LinkEnd::client(self.number()).ipv4()
    }

    pub(super) fn link(self) -> EmulatedLink {
        let delay = self.round_trip() / 2;
        EmulatedLink::symmetric(self.number(), Impairments { delay, ..Impairments::default() }, 1)
    }

    /// Switches the interface of the mobile host on or off, of which nobody is told but by the kernel. For a thread of that host.
    pub(super) fn switch(self, state: LinkState) -> Result<(), EmulatorError> {
        let device = LinkEnd::client(self.number()).device_name();
        switch_device(&device, state)?;
        match state {
            LinkState::Up => route_by_source(&device, self.number(), self.mobile_address(), FIXED_HOST),
            LinkState::Down => Ok(()),
        }
    }
}

impl From<Network> for u8 {
    fn from(network: Network) -> Self {
        network.number()
    }
}

/// The address of the fixed host, to which both networks lead.
pub(super) const FIXED_HOST: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
