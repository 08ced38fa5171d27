//! Links, their two ends, and the addresses there.

use std::net::{Ipv4Addr, Ipv6Addr};

use netem::Impairments;
use serde::Serialize;

/// A link between two sides.
#[derive(Clone, PartialEq, Debug)]
pub struct EmulatedLink {
    /// Distinguishes the links of a world and gives them their addresses; not 0.
    pub index: u8,
    /// The impairments from the client's end to the server's.
    pub request: Impairments,
    /// The impairments from the server's end to the client's.
    pub response: Impairments,
    /// Seed of the link's two random streams. Links with the same seed lose the same packet numbers.
    pub seed: u64,
}

impl EmulatedLink {
    /// Creates a link with the same impairments both ways.
    #[must_use]
    pub fn symmetric(index: u8, impairments: Impairments, seed: u64) -> Self {
        Self { index, request: impairments.clone(), response: impairments, seed }
    }

    /// Returns the impairments of one direction.
    #[must_use]
    pub const fn impairments(&self, direction: Direction) -> &Impairments {
        match direction {
            Direction::Request => &self.request,
            Direction::Response => &self.response,
        }
    }

    /// Returns the seed of one direction.
    #[must_use]
    pub fn seed(&self, direction: Direction) -> u64 {
        netem::derive_seed(self.seed, direction.name())
    }
}

/// A direction in which packets cross a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The direction from the client's end to the server's.
    Request,
    /// The direction from the server's end to the client's.
    Response,
}

impl Direction {
    /// Returns the name of the direction: `request` or `response`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// Whether a link carries packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkState {
    /// The link carries packets.
    Up,
    /// The link loses all packets, those under way too, and numbers none.
    Down,
}

/// One of the two ends of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// Host number 1, where requests come from.
    Client,
    /// Host number 2, where they go to.
    Server,
}

impl End {
    /// Returns the other end of the link.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    pub(super) const fn host(self) -> u8 {
        match self {
            Self::Client => 1,
            Self::Server => 2,
        }
    }
}

/// An end of a link, with the link's index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkEnd {
    /// The link's [`EmulatedLink::index`].
    pub link: u8,
    /// The end of the link that is meant.
    pub end: End,
}

impl LinkEnd {
    /// Creates the client's end of link `link`.
    #[must_use]
    pub const fn client(link: u8) -> Self {
        Self { link, end: End::Client }
    }

    /// Creates the server's end of link `link`.
    #[must_use]
    pub const fn server(link: u8) -> Self {
        Self { link, end: End::Server }
    }

    /// Returns the address `10.77.<link>.1` at the client's end, `.2` at the server's; the prefix length is 24.
    #[must_use]
    pub const fn ipv4(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.link, self.end.host())
    }

    /// Returns the address `fd77:<link>::1` at the client's end, `::2` at the server's; the prefix length is
    /// 64. The link is in hexadecimal.
    #[must_use]
    pub fn ipv6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd77, u16::from(self.link), 0, 0, 0, 0, 0, u16::from(self.end.host()))
    }

    /// Returns the name of the network device: `headway<link>`, at both ends.
    #[must_use]
    pub fn device_name(self) -> String {
        format!("headway{}", self.link)
    }
}

/// A link as a side sees it that is attached to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideLink {
    /// The link and our end of it.
    pub end: LinkEnd,
    /// The name of the network device.
    pub device: String,
    /// The IPv4 address of this side.
    pub local_v4: Ipv4Addr,
    /// The IPv4 address of the other end.
    pub peer_v4: Ipv4Addr,
    /// Our IPv6 address; not configured where the kernel has no IPv6.
    pub local_v6: Ipv6Addr,
    /// The IPv6 address of the other end.
    pub peer_v6: Ipv6Addr,
}

impl From<LinkEnd> for SideLink {
    fn from(end: LinkEnd) -> Self {
        let peer = LinkEnd { link: end.link, end: end.end.peer() };
        Self {
            end,
            device: end.device_name(),
            local_v4: end.ipv4(),
            peer_v4: peer.ipv4(),
            local_v6: end.ipv6(),
            peer_v6: peer.ipv6(),
        }
    }
}
