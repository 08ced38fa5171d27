//! A world from a scenario: stations, routers, links, and the two ends of each flow.
//!
//! Every flow has an address of its own on every interface of its two hosts, `10.host.interface.flow` or, of IPv6,
//! `fd00::host:interface:0:0:flow`, so that hosts tell flows apart by address alone.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netsim::{Fragmenting, HostId, InterfaceId, LinkId, LinkSpec, RouterId, World};

use super::error::SimulationError;
use super::scenario::{AddressFamily, Scenario};
use super::station::{SimulatedHost, Station};
use crate::traffic::Measure;
use crate::transport::{End, Ends, FlowError, FlowPlan, FlowSeed, Leaving};

/// A world, and where in it everything is.
pub(super) struct Built {
    pub(super) world: World<SimulatedHost>,
    /// The hosts in the order of the plan.
    pub(super) hosts: Vec<HostId>,
    pub(super) flows: Vec<FlowSeats>,
    pub(super) links: Vec<LinkId>,
}

/// The seats of the two ends of a flow: host, and position among its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowSeats {
    pub(super) client: (HostId, usize),
    pub(super) server: (HostId, usize),
    pub(super) measure: Measure,
}

/// A host while the world is built.
struct Site {
    id: HostId,
    number: u8,
    /// The interfaces of the host, each with the addresses of all flows.
    interfaces: Vec<InterfaceId>,
    family: AddressFamily,
}

enum Spot {
    Host(usize),
    Router(RouterId),
}

pub(super) fn build(scenario: &Scenario, seed: u64) -> Result<Built, SimulationError> {
    check_mtus(scenario)?;
    let mut world = World::new(seed);
    if scenario.has_random_octets() {
        world.leave_octets_out_of_trace();
    }
    let mut sites = Vec::new();
    let mut places = BTreeMap::new();
    for (index, name) in scenario.hosts.iter().enumerate() {
        let number = u8::try_from(index + 1).map_err(|_| SimulationError::TooMany { what: "hosts" })?;
        let id = world.add_host(simulated_host(scenario, name));
        sites.push(Site { id, number, interfaces: Vec::new(), family: scenario.addresses });
        places.insert(name.as_str(), Spot::Host(index));
    }
    for name in &scenario.routers {
        places.insert(name.as_str(), Spot::Router(world.add_router()));
    }
    let flows = u8::try_from(scenario.flows.iter().count())
        .map_err(|_| SimulationError::TooMany { what: "flows" })?;
    let mut links = Vec::new();
    for (name, plan) in scenario.links.iter() {
        let mut ends = Vec::new();
        for end in &plan.between {
            let place = places
                .get(end.as_str())
                .ok_or_else(|| SimulationError::unknown("links", name, "between", end))?;
            ends.push(interface(&mut world, &mut sites, place, flows)?);
        }
        let spec = LinkSpec { request: plan.request(), response: plan.response() };
        let link = world.connect(ends[0], ends[1], spec);
        links.push(link.map_err(|error| SimulationError::new(format!("links.{name}"), error.to_string()))?);
    }
    world.compute_routes();
    let mut seats = Vec::new();
    for (index, (name, plan)) in scenario.flows.iter().enumerate() {
        let site = |host: &String, key: &'static str| match places.get(host.as_str()) {
            Some(Spot::Host(index)) => Ok(&sites[*index]),
            Some(Spot::Router(_)) | None => Err(SimulationError::unknown("flows", name, key, host)),
        };
        let (from, to) = (site(&plan.from, "from")?, site(&plan.to, "to")?);
        let number = u8::try_from(index + 1).map_err(|_| SimulationError::TooMany { what: "flows" })?;
        let addresses = [addresses(from, number), addresses(to, number)];
        let seed = FlowSeed { run: seed, number };
        let [client, server] = ends(name, plan, scenario, seed, addresses.clone())?;
        let [client_addresses, server_addresses] = addresses;
        let position = |world: &mut World<SimulatedHost>, site: &Site, end, addresses| {
            let station = &mut world.host_mut(site.id).host;
            station.seat(end, addresses);
            (site.id, station.len() - 1)
        };
        seats.push(FlowSeats {
            client: position(&mut world, from, client, client_addresses),
            server: position(&mut world, to, server, server_addresses),
            measure: plan.workload.measure(),
        });
    }
    sites.iter().for_each(|site| world.wake(site.id));
    let hosts = sites.iter().map(|site| site.id).collect();
    Ok(Built { world, hosts, flows: seats, links })
}

/// Checks that every link carries what IP wants a link to carry.
fn check_mtus(scenario: &Scenario) -> Result<(), SimulationError> {
    let least = scenario.addresses.least_mtu_bytes();
    let refuse = |key: String| Err(SimulationError::new(key, format!("must be at least {least} octets")));
    for (name, plan) in scenario.links.iter() {
        if plan.mtu.is_some_and(|mtu| mtu < least) {
            return refuse(format!("links.{name}.mtu"));
        }
        if plan.changes.iter().filter_map(|change| change.mtu).any(|mtu| mtu < least) {
            return refuse(format!("links.{name}.changes.mtu"));
        }
    }
    Ok(())
}

/// Creates a host without ends, with IP as its links and flows want it.
fn simulated_host(scenario: &Scenario, name: &str) -> SimulatedHost {
    let mtu = scenario.mtu_of(name, Duration::ZERO).unwrap_or(usize::MAX);
    Fragmenting::new(Station::default(), mtu)
}

fn interface(
    world: &mut World<SimulatedHost>,
    sites: &mut [Site],
    place: &Spot,
    flows: u8,
) -> Result<InterfaceId, SimulationError> {
    let index = match place {
        Spot::Router(router) => return Ok(world.add_router_interface(*router)),
        Spot::Host(index) => *index,
    };
    let site = &mut sites[index];
    let number = u8::try_from(site.interfaces.len())
        .map_err(|_| SimulationError::TooMany { what: "links of one host" })?;
    let all: Vec<IpAddr> = (1..=flows.max(1)).map(|flow| address(site, number, flow)).collect();
    let id = world
        .add_interface(site.id, &all)
        .map_err(|error| SimulationError::new("links", error.to_string()))?;
    site.interfaces.push(id);
    Ok(id)
}

fn address(site: &Site, interface: u8, flow: u8) -> IpAddr {
    match site.family {
        AddressFamily::Ipv4 => IpAddr::V4(Ipv4Addr::new(10, site.number, interface, flow)),
        AddressFamily::Ipv6 => {
            let [host, interface, flow] = [site.number, interface, flow].map(u16::from);
            IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, host, interface, 0, 0, flow))
        }
    }
}

/// Returns the addresses of one flow on a host, one per interface.
fn addresses(site: &Site, flow: u8) -> Vec<IpAddr> {
    let numbers = 0..u8::try_from(site.interfaces.len()).unwrap_or(u8::MAX);
    numbers.map(|interface| address(site, interface, flow)).collect()
}

/// Returns the two ends of a flow, client first.
fn ends(
    name: &str,
    plan: &FlowPlan,
    scenario: &Scenario,
    seed: FlowSeed,
    addresses: [Vec<IpAddr>; 2],
) -> Result<[Box<dyn End>; 2], SimulationError> {
    let error = |key: &str, because: String| SimulationError::new(format!("flows.{name}.{key}"), because);
    let [Some(here), Some(there)] = [0, 1].map(|side| addresses[side].first().copied()) else {
        return Err(error("from", "its hosts have no link".to_owned()));
    };
    let leaving = Leaving {
        switch_after: scenario.switch_after.map(|span| span.0),
        handover: scenario.handover.as_ref(),
    };
    let ends = Ends { plan, stop: &scenario.stop, seed, leaving, first: [here, there], addresses };
    let made = plan.transport.0.transport().simulated(&ends);
    made.map_err(|FlowError { key, because }| error(key, because))
}
