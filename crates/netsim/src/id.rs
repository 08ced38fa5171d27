//! Handles of the things in a world. They are valid in the world that gave them out, and only there.

use core::fmt;

/// A host, numbered in the order of [`World::add_host`](crate::World::add_host).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub(crate) usize);

/// A router, numbered in the order of [`World::add_router`](crate::World::add_router).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RouterId(pub(crate) usize);

/// An interface, numbered in the order of [`World::add_interface`](crate::World::add_interface).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InterfaceId(pub(crate) usize);

/// A link, numbered in the order of [`World::connect`](crate::World::connect).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) usize);

/// One of the two directions of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// The direction from the first interface given to [`World::connect`](crate::World::connect) to the second.
    Request,
    /// The direction from the second interface to the first.
    Response,
}

impl HostId {
    /// Returns the number of the host in its world, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl RouterId {
    /// Returns the number of the router in its world, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl InterfaceId {
    /// Returns the number of the interface in its world, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl LinkId {
    /// Returns the number of the link in its world, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.0)
    }
}

impl fmt::Display for RouterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "router {}", self.0)
    }
}

impl fmt::Display for InterfaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interface {}", self.0)
    }
}

impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {}", self.0)
    }
}

/// The owner of an interface, at the end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    Host(HostId),
    Router(RouterId),
}

/// One direction of one link, numbered: link × 2 + direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneId(pub(crate) usize);

impl LaneId {
    pub(crate) const fn new(link: LinkId, direction: Direction) -> Self {
        match direction {
            Direction::Request => Self(2 * link.0),
            Direction::Response => Self(2 * link.0 + 1),
        }
    }

    pub(crate) const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }
}
