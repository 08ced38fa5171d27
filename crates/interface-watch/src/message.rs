//! The meaning of one message of the kernel, as facts: pure.

#![allow(clippy::wildcard_enum_match_arm, reason = "what the kernel may say is much, and not ours")]

use std::net::IpAddr;

use mobility::{Event, InterfaceId, LinkState, Usability};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};

use crate::routes::DefaultRoutes;

/// Adds the facts that a message tells; most messages tell one, those of other kinds none.
pub(super) fn read(message: &RouteNetlinkMessage, routes: &mut DefaultRoutes, events: &mut Vec<Event>) {
    match message {
        RouteNetlinkMessage::NewLink(link) => {
            let state = state(link);
            // The kernel drops the IPv4 routes of a link that goes down without a word.
            if state == LinkState::Down {
                routes.on_link_down(link.header.index, events);
            }
            if let Some(name) = name(link) {
                events.push(Event::Link { interface: id(link), name, state });
            }
        }
        RouteNetlinkMessage::DelLink(link) => {
            routes.on_link_down(link.header.index, events);
            events.push(Event::LinkGone { interface: id(link) });
        }
        RouteNetlinkMessage::NewAddress(message) => {
            let interface = InterfaceId::new(message.header.index);
            let usability = usability(message);
            events.extend(local(message).map(|address| Event::Address { interface, address, usability }));
        }
        RouteNetlinkMessage::DelAddress(message) => {
            let interface = InterfaceId::new(message.header.index);
            events.extend(local(message).map(|address| Event::AddressGone { interface, address }));
        }
        RouteNetlinkMessage::NewRoute(route) => routes.on_new(route, events),
        RouteNetlinkMessage::DelRoute(route) => routes.on_gone(route, events),
        _ => {}
    }
}

fn id(link: &LinkMessage) -> InterfaceId {
    InterfaceId::new(link.header.index)
}

fn name(link: &LinkMessage) -> Option<mobility::InterfaceName> {
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => name.parse().ok(),
        _ => None,
    })
}

fn state(link: &LinkMessage) -> LinkState {
    let flags = link.header.flags;
    if !flags.contains(LinkFlags::Up) {
        LinkState::Down
    } else if flags.contains(LinkFlags::Running) {
        LinkState::Operational
    } else {
        LinkState::Up
    }
}

/// Returns our address. On a point-to-point link IFA_ADDRESS is the other end's, and IFA_LOCAL ours.
fn local(message: &AddressMessage) -> Option<IpAddr> {
    let attributes = message.attributes.iter();
    let local = attributes.clone().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let address = || {
        attributes.clone().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    };
    local.or_else(address)
}

fn usability(message: &AddressMessage) -> Usability {
    let written = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Flags(flags) => Some(*flags),
        _ => None,
    });
    let short = || AddressFlags::from_bits_truncate(message.header.flags.bits().into());
    let flags = written.unwrap_or_else(short);
    if flags.intersects(AddressFlags::Tentative | AddressFlags::Dadfailed) {
        Usability::Tentative
    } else if flags.contains(AddressFlags::Deprecated) {
        Usability::Deprecated
    } else {
        Usability::Preferred
    }
}
