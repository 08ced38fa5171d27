//! The default routes there are: an interface has one of a family as long as any of several is left.

#![allow(clippy::wildcard_enum_match_arm, reason = "what the kernel may say is much, and not ours")]

use std::collections::BTreeSet;
use std::net::IpAddr;

use mobility::{Event, Family, InterfaceId};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};

/// The default routes that the kernel has told of.
#[derive(Debug, Default)]
pub(super) struct DefaultRoutes {
    known: BTreeSet<DefaultRoute>,
}

/// A default route, by what tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DefaultRoute {
    interface: u32,
    family: Family,
    table: u32,
    priority: u32,
    gateway: Option<IpAddr>,
}

impl DefaultRoutes {
    /// A route is there.
    pub(super) fn on_new(&mut self, route: &RouteMessage, events: &mut Vec<Event>) {
        for route in default_routes(route) {
            if self.known.len() < MAX_ROUTES {
                self.known.insert(route);
                let interface = InterfaceId::new(route.interface);
                events.push(Event::DefaultRoute { interface, family: route.family });
            }
        }
    }

    /// A route is gone.
    pub(super) fn on_gone(&mut self, route: &RouteMessage, events: &mut Vec<Event>) {
        for route in default_routes(route) {
            if self.known.remove(&route) {
                self.tell_if_last(route.interface, route.family, events);
            }
        }
    }

    /// A link is down, and what went through it is gone.
    pub(super) fn on_link_down(&mut self, interface: u32, events: &mut Vec<Event>) {
        for family in [Family::V4, Family::V6] {
            let before = self.known.len();
            self.known.retain(|route| (route.interface, route.family) != (interface, family));
            if self.known.len() < before {
                self.tell_if_last(interface, family, events);
            }
        }
    }

    fn tell_if_last(&self, interface: u32, family: Family, events: &mut Vec<Event>) {
        let is_other = |route: &DefaultRoute| (route.interface, route.family) == (interface, family);
        if !self.known.iter().any(is_other) {
            events.push(Event::DefaultRouteGone { interface: InterfaceId::new(interface), family });
        }
    }
}

/// Returns the default routes in a message: none, one, or one for each way of several.
fn default_routes(message: &RouteMessage) -> Vec<DefaultRoute> {
    let family = match message.header.address_family {
        AddressFamily::Inet => Family::V4,
        AddressFamily::Inet6 => Family::V6,
        _ => return Vec::new(),
    };
    if message.header.destination_prefix_length != 0 || message.header.kind != RouteType::Unicast {
        return Vec::new();
    }
    let mut route =
        DefaultRoute { interface: 0, family, table: message.header.table.into(), priority: 0, gateway: None };
    let mut ways = Vec::new();
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(index) => ways.push((*index, None)),
            RouteAttribute::Table(table) => route.table = *table,
            RouteAttribute::Priority(priority) => route.priority = *priority,
            RouteAttribute::Gateway(gateway) => route.gateway = ip(gateway),
            RouteAttribute::MultiPath(hops) => {
                ways.extend(hops.iter().map(|hop| (hop.interface_index, gateway_of(&hop.attributes))));
            }
            _ => {}
        }
    }
    ways.into_iter()
        .map(|(interface, gateway)| DefaultRoute { interface, gateway: gateway.or(route.gateway), ..route })
        .collect()
}

fn gateway_of(attributes: &[RouteAttribute]) -> Option<IpAddr> {
    attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(gateway) => ip(gateway),
        _ => None,
    })
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

/// The default routes that are kept; a host has a handful, and more would be somebody's attack.
const MAX_ROUTES: usize = 1_024;
