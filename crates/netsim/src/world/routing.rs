//! Routers: who forwards what where.
//!
//! A router has interfaces and a table; it neither sends nor receives for itself, and a packet takes no time in it. What it
//! has to wait for is the queue of the next link.

use std::collections::VecDeque;
use std::net::IpAddr;

use netem::Delivery;

use super::topology::Interface;
use super::{LinkState, World};
use crate::frames::FrameId;
use crate::host::Host;
use crate::id::{InterfaceId, LaneId, Node, RouterId};
use crate::routes::AddressTable;
use crate::trace::{Fate, digest};

/// A router: the interface that leads to each address.
#[derive(Debug, Default)]
pub(super) struct Router {
    routes: AddressTable,
}

impl<H: Host> World<H> {
    /// Adds a router without interfaces.
    pub fn add_router(&mut self) -> RouterId {
        self.routers.push(Router::default());
        RouterId(self.routers.len() - 1)
    }

    /// Adds an interface to a router. It has no address: nothing is sent to a router.
    pub fn add_router_interface(&mut self, router: RouterId) -> InterfaceId {
        self.interfaces.push(Interface { node: Node::Router(router), addresses: Vec::new(), lane: None });
        InterfaceId(self.interfaces.len() - 1)
    }

    /// Lets a router send packets to `destination` by one of its interfaces, unless it has a route there already.
    pub fn add_route(&mut self, router: RouterId, destination: IpAddr, interface: InterfaceId) {
        self.routers[router.0].routes.insert(destination, interface);
    }

    /// Fills the tables of all routers and hosts: the way over the fewest links, of equals the one whose first link was
    /// connected first. A packet to an address takes the link of the interface that has this address. Routes there
    /// already stay. Call it when all links are there.
    pub fn compute_routes(&mut self) {
        for index in 0..self.interfaces.len() {
            if let (Node::Host(_), Some(lane)) = (self.interfaces[index].node, self.interfaces[index].lane) {
                self.spread(index, lane);
            }
        }
    }

    /// Tells everybody the way to the addresses of one interface, breadth first from the other end of its link.
    fn spread(&mut self, index: usize, outward: LaneId) {
        let owner = self.interfaces[index].node;
        let addresses = self.interfaces[index].addresses.clone();
        let mut is_visited = vec![false; self.routers.len()];
        let mut entrances = VecDeque::from([self.lanes[outward.0].interface]);
        while let Some(entrance) = entrances.pop_front() {
            let node = self.interfaces[entrance.0].node;
            match node {
                Node::Host(_) if node == owner => {}
                Node::Host(host) => {
                    let known = &mut self.hosts[host.0].neighbours;
                    addresses.iter().for_each(|address| known.insert(*address, entrance));
                }
                Node::Router(router) if is_visited[router.0] => {}
                Node::Router(router) => {
                    is_visited[router.0] = true;
                    let known = &mut self.routers[router.0].routes;
                    addresses.iter().for_each(|address| known.insert(*address, entrance));
                    let others = self.interfaces.iter().enumerate();
                    let others =
                        others.filter(|(other, interface)| *other != entrance.0 && interface.node == node);
                    let lanes = others.filter_map(|(_, interface)| interface.lane);
                    entrances.extend(lanes.map(|lane| self.lanes[lane.0].interface));
                }
            }
        }
    }

    /// One packet at the far end of a link, where a router is. In a function of its own: worlds without routers are many.
    #[inline(never)]
    pub(super) fn forward(&mut self, lane_id: LaneId, router: RouterId, delivery: &Delivery<FrameId>) {
        let mut id = delivery.packet;
        if let Some(bit) = delivery.flipped_bit {
            let mut payload = self.frames.frame(id).payload.clone();
            bit.apply(&mut payload);
            let damaged = self.frames.copy_damaged(id, &payload, digest(&payload));
            self.frames.release(id);
            self.frames.frame_mut(damaged).references = 1;
            id = damaged;
        }
        let frame = self.frames.frame_mut(id);
        frame.hops += 1;
        let (wire_bytes, digest) = (frame.wire_bytes(), frame.digest);
        let (is_looping, destination) = (frame.hops > HOP_LIMIT, frame.destination);
        let interface = self.routers[router.0].routes.find(destination);
        let onward = interface.and_then(|interface| self.interfaces[interface.0].lane);
        let fate = if self.lanes[lane_id.0].state == LinkState::Down {
            Fate::LinkDown
        } else if is_looping {
            Fate::HopLimit
        } else if onward.is_none() {
            Fate::Unroutable
        } else {
            Fate::Forwarded
        };
        self.trace.record(self.now, Some(lane_id), fate, wire_bytes, digest);
        self.counters.count(fate);
        if let (Fate::Forwarded, Some(onward)) = (fate, onward) {
            self.send_on(id, onward, wire_bytes);
        }
        self.frames.release(id);
    }

    /// Offers a frame that is held here to the next link.
    fn send_on(&mut self, id: FrameId, lane: LaneId, wire_bytes: usize) {
        let fate = if self.lanes[lane.0].state == LinkState::Down {
            Some(Fate::LinkDown)
        } else {
            self.offer(id, lane, wire_bytes)
        };
        if fate.is_some() {
            // The caller's reference is not the one that is given back here.
            self.frames.frame_mut(id).references += 1;
        }
        self.note_departure(id, lane, fate);
    }
}

/// The hop limit of packets where they are sent (RFC 1700).
const HOP_LIMIT: u8 = 64;
