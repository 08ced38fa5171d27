//! A world from a scenario: stations, routers, links, and the two ends of each flow.
//!
//! Every flow has an address of its own on every interface of its two hosts, `10.host.interface.flow`, so that hosts tell
//! flows apart by address alone.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use netsim::{HostId, InterfaceId, LinkId, LinkSpec, RouterId, World};

use super::error::SimulationError;
use super::scenario::Scenario;
use super::station::Station;
use crate::traffic::Measure;
use crate::transport::{End, Ends, FlowError, FlowPlan, FlowSeed, StopRule};

/// A world, and where in it everything is.
pub(super) struct Built {
    pub(super) world: World<Station>,
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
}

enum Spot {
    Host(usize),
    Router(RouterId),
}

pub(super) fn build(scenario: &Scenario, seed: u64) -> Result<Built, SimulationError> {
    let mut world = World::new(seed);
    if scenario.has_random_octets() {
        world.leave_octets_out_of_trace();
    }
    let mut sites = Vec::new();
    let mut places = BTreeMap::new();
    for (index, name) in scenario.hosts.iter().enumerate() {
        let number = u8::try_from(index + 1).map_err(|_| SimulationError::TooMany { what: "hosts" })?;
        sites.push(Site { id: world.add_host(Station::default()), number, interfaces: Vec::new() });
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
        let [client, server] = ends(name, plan, &scenario.stop, seed, addresses.clone())?;
        let [client_addresses, server_addresses] = addresses;
        let position = |world: &mut World<Station>, site: &Site, end, addresses| {
            let station = world.host_mut(site.id);
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
    Ok(Built { world, flows: seats, links })
}

fn interface(
    world: &mut World<Station>,
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
    let all: Vec<IpAddr> = (1..=flows.max(1)).map(|flow| address(site.number, number, flow)).collect();
    let id = world
        .add_interface(site.id, &all)
        .map_err(|error| SimulationError::new("links", error.to_string()))?;
    site.interfaces.push(id);
    Ok(id)
}

fn address(host: u8, interface: u8, flow: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, host, interface, flow))
}

/// Returns the addresses of one flow on a host, one per interface.
fn addresses(site: &Site, flow: u8) -> Vec<IpAddr> {
    let numbers = 0..u8::try_from(site.interfaces.len()).unwrap_or(u8::MAX);
    numbers.map(|interface| address(site.number, interface, flow)).collect()
}

/// Returns the two ends of a flow, client first.
fn ends(
    name: &str,
    plan: &FlowPlan,
    stop: &StopRule,
    seed: FlowSeed,
    addresses: [Vec<IpAddr>; 2],
) -> Result<[Box<dyn End>; 2], SimulationError> {
    let error = |key: &str, because: String| SimulationError::new(format!("flows.{name}.{key}"), because);
    let [Some(here), Some(there)] = [0, 1].map(|side| addresses[side].first().copied()) else {
        return Err(error("from", "its hosts have no link".to_owned()));
    };
    let ends = Ends { plan, stop, seed, first: [here, there], addresses };
    let made = plan.transport.0.transport().simulated(&ends);
    made.map_err(|FlowError { key, because }| error(key, because))
}
