//! The hosts, routers, interfaces and links of a world.

use std::net::IpAddr;

use netem::{Impairments, InvalidImpairments, derive_indexed_seed};

use super::{HostSlot, World};
use crate::frames::FrameId;
use crate::host::Host;
use crate::id::{Direction, HostId, InterfaceId, LaneId, LinkId, Node};
use crate::queue::{Due, Seat};
use crate::routes::AddressTable;

impl<H: Host> World<H> {
    /// Adds a host; its timer runs from now on. What it already has to send leaves with the first
    /// [`wake`](World::wake), when its links are there.
    pub fn add_host(&mut self, host: H) -> HostId {
        self.add_host_with(|_, _| host)
    }

    /// Adds a host made from its id and its own entropy, which depends on the run's seed and its number alone.
    pub fn add_host_with(&mut self, make: impl FnOnce(HostId, [u8; 32]) -> H) -> HostId {
        let id = HostId(self.hosts.len());
        let host = make(id, self.entropy(id));
        let (addresses, neighbours) = (AddressTable::default(), AddressTable::default());
        let seat = self.queue.seat(Due::Host(id));
        self.hosts.push(HostSlot { host, seat, due: None, addresses, neighbours });
        self.arm_host(id);
        id
    }

    /// Adds an interface with these addresses to a host.
    ///
    /// # Errors
    /// When there is no address, or one that the host already has.
    pub fn add_interface(
        &mut self,
        host: HostId,
        addresses: &[IpAddr],
    ) -> Result<InterfaceId, InterfaceError> {
        let slot = &mut self.hosts[host.0];
        if addresses.is_empty() {
            return Err(InterfaceError::NoAddress { host });
        }
        for (position, address) in addresses.iter().enumerate() {
            if slot.addresses.find(*address).is_some() || addresses[..position].contains(address) {
                return Err(InterfaceError::AddressInUse { host, address: *address });
            }
        }
        let id = InterfaceId(self.interfaces.len());
        for address in addresses {
            slot.addresses.insert(*address, id);
        }
        self.interfaces.push(Interface { node: Node::Host(host), addresses: addresses.to_vec(), lane: None });
        Ok(id)
    }

    /// Connects two interfaces by a link; `a` to `b` is its request direction.
    ///
    /// Where two links lead to the same address, packets without source address take the one connected first.
    ///
    /// # Errors
    /// When `a` is `b`, one of them has a link already, or impairments are out of bounds.
    pub fn connect(
        &mut self,
        a: InterfaceId,
        b: InterfaceId,
        spec: LinkSpec,
    ) -> Result<LinkId, ConnectError> {
        if a == b {
            return Err(ConnectError::ToItself { interface: a });
        }
        for interface in [a, b] {
            if let Some(lane) = self.interfaces[interface.0].lane {
                return Err(ConnectError::AlreadyConnected { interface, link: lane.link() });
            }
        }
        let id = LinkId(self.lanes.len() / 2);
        let request = self.link(id, Direction::Request, spec.request)?;
        let response = self.link(id, Direction::Response, spec.response)?;
        self.add_lane(request, b);
        self.add_lane(response, a);
        self.attach(a, b, LaneId::new(id, Direction::Request));
        self.attach(b, a, LaneId::new(id, Direction::Response));
        Ok(id)
    }

    /// Changes what one direction of a link does to the packets offered from now on; packets under way arrive as
    /// decided, and its random streams go on.
    ///
    /// # Errors
    /// When a field is out of bounds; the link then stays as it was.
    pub fn set_impairments(
        &mut self,
        link: LinkId,
        direction: Direction,
        impairments: Impairments,
    ) -> Result<(), InvalidImpairments> {
        self.lanes[LaneId::new(link, direction).0].link.set_impairments(impairments)
    }

    /// Takes a link down or up, both directions. While it is down, packets sent into it and packets that would
    /// arrive are dropped; hosts are not told. A link begins up.
    pub fn set_link_state(&mut self, link: LinkId, state: LinkState) {
        for direction in [Direction::Request, Direction::Response] {
            self.lanes[LaneId::new(link, direction).0].state = state;
        }
    }

    /// Returns whether a link is up.
    #[must_use]
    pub fn link_state(&self, link: LinkId) -> LinkState {
        self.lanes[LaneId::new(link, Direction::Request).0].state
    }

    /// Returns the host an interface belongs to; `None` for that of a router.
    #[must_use]
    pub fn interface_host(&self, id: InterfaceId) -> Option<HostId> {
        match self.interfaces[id.0].node {
            Node::Host(host) => Some(host),
            Node::Router(_) => None,
        }
    }

    /// Returns the addresses of an interface.
    #[must_use]
    pub fn interface_addresses(&self, id: InterfaceId) -> &[IpAddr] {
        &self.interfaces[id.0].addresses
    }

    fn entropy(&self, id: HostId) -> [u8; 32] {
        let seed = derive_indexed_seed(self.seed, "host", number(id.0));
        let mut entropy = [0; 32];
        for (index, octets) in entropy.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *octets = derive_indexed_seed(seed, "entropy", number(index)).to_le_bytes();
        }
        entropy
    }

    fn link(
        &self,
        link: LinkId,
        direction: Direction,
        impairments: Impairments,
    ) -> Result<netem::Link<FrameId>, InvalidImpairments> {
        let label = match direction {
            Direction::Request => "link/request",
            Direction::Response => "link/response",
        };
        let seed = derive_indexed_seed(self.seed, label, number(link.0));
        netem::Link::new(impairments, seed)
    }

    fn add_lane(&mut self, link: netem::Link<FrameId>, to: InterfaceId) {
        let seat = self.queue.seat(Due::Lane(LaneId(self.lanes.len())));
        let node = self.interfaces[to.0].node;
        self.lanes.push(Lane { link, seat, state: LinkState::Up, interface: to, node });
    }

    /// Lets `from` send on `lane`, and its host know whom it reaches there.
    fn attach(&mut self, from: InterfaceId, to: InterfaceId, lane: LaneId) {
        self.interfaces[from.0].lane = Some(lane);
        let Node::Host(host) = self.interfaces[from.0].node else { return };
        let neighbours = &mut self.hosts[host.0].neighbours;
        for address in &self.interfaces[to.0].addresses {
            neighbours.insert(*address, from);
        }
    }
}

/// The impairments of the two directions of a link. The default is a perfect link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkSpec {
    /// The impairments from the first interface to the second. Default perfect.
    pub request: Impairments,
    /// The impairments from the second interface to the first. Default perfect.
    pub response: Impairments,
}

impl LinkSpec {
    /// Creates a link with equal impairments in both directions; each still has random numbers of its own.
    #[must_use]
    pub fn symmetric(impairments: Impairments) -> Self {
        Self { request: impairments.clone(), response: impairments }
    }
}

/// Whether a link carries packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkState {
    /// The link carries packets.
    Up,
    /// The link drops all packets.
    Down,
}

/// The reason why an interface was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InterfaceError {
    /// The interface would have no address, so no packet could ever leave or reach it.
    #[error("an interface of {host} without address: give it at least one")]
    NoAddress {
        /// The host of the interface.
        host: HostId,
    },
    /// An address can be on one interface of a host only.
    #[error("{host} already has the address {address}: give each interface its own")]
    AddressInUse {
        /// The host of the interface.
        host: HostId,
        /// The address that is taken.
        address: IpAddr,
    },
}

/// The reason why two interfaces were not connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// An interface was to be connected to itself.
    #[error("{interface} cannot be connected to itself: name two interfaces")]
    ToItself {
        /// The interface that was given.
        interface: InterfaceId,
    },
    /// Links are point to point: an interface has one at most.
    #[error("{interface} is already connected by {link}: add another interface")]
    AlreadyConnected {
        /// The interface that was given.
        interface: InterfaceId,
        /// The link that the interface has.
        link: LinkId,
    },
    /// One direction is out of bounds.
    #[error(transparent)]
    Impairments(#[from] InvalidImpairments),
}

/// An interface of a host or router.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) node: Node,
    pub(super) addresses: Vec<IpAddr>,
    /// The direction of a link that takes its packets; `None` while it is not connected.
    pub(super) lane: Option<LaneId>,
}

/// One direction of a link.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) link: netem::Link<FrameId>,
    pub(super) seat: Seat,
    pub(super) state: LinkState,
    /// The interface where packets arrive.
    pub(super) interface: InterfaceId,
    /// The owner of that interface.
    pub(super) node: Node,
}

/// Returns an index as it enters seeds; no platform has more than 64 bits of them.
fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
