//! A world from a scenario: stations, routers, links, and the two ends of each flow.
//!
//! Every flow has an address of its own on every interface of its two hosts, `10.host.interface.flow`, so that hosts tell
//! flows apart by address alone.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use netsim::sctp::SctpHost;
use netsim::{HostId, InterfaceId, LinkId, LinkSpec, RouterId, World};
use sctp_core::{Delivery, Destination, Encapsulation, Endpoint, EndpointConfig, SctpPort};
use virtual_time::Instant;

use super::ends::End;
use super::ends::sctp::{Opening, SctpClient, SctpServer};
use super::ends::tcp::{Place, TcpClient, TcpServer};
use super::ends::udp::{UdpClient, UdpServer};
use super::options::CarrierName;
use super::run::SimulationError;
use super::scenario::{FlowError, FlowPlan, FlowSeed, Scenario};
use super::station::Station;
use crate::traffic::{Client, Server, Workload};
use crate::transport::TransportSpec;

/// A world, and where in it everything is.
pub(super) struct Built {
    pub(super) world: World<Station>,
    pub(super) flows: Vec<FlowSeats>,
    pub(super) links: Vec<LinkId>,
}

/// Where the two ends of a flow sit: host, and position among its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowSeats {
    pub(super) client: (HostId, usize),
    pub(super) server: (HostId, usize),
    pub(super) workload: Workload,
}

/// A host while the world is built.
struct Site {
    id: HostId,
    number: u8,
    /// Its interfaces, each with the addresses of all flows.
    interfaces: Vec<InterfaceId>,
}

enum Spot {
    Host(usize),
    Router(RouterId),
}

pub(super) fn build(scenario: &Scenario, seed: u64) -> Result<Built, SimulationError> {
    let mut world = World::new(seed);
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
        let ends = Ends {
            name,
            plan,
            scenario,
            seed: FlowSeed { run: seed, number },
            addresses: [addresses(from, number), addresses(to, number)],
        };
        let (client, server) = ends.make()?;
        let [client_addresses, server_addresses] = ends.addresses.clone();
        let position = |world: &mut World<Station>, site: &Site, end, addresses| {
            let station = world.host_mut(site.id);
            station.seat(end, addresses);
            (site.id, station.len() - 1)
        };
        seats.push(FlowSeats {
            client: position(&mut world, from, client, client_addresses),
            server: position(&mut world, to, server, server_addresses),
            workload: plan.workload,
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

/// The addresses of one flow on a host, one per interface.
fn addresses(site: &Site, flow: u8) -> Vec<IpAddr> {
    let numbers = 0..u8::try_from(site.interfaces.len()).unwrap_or(u8::MAX);
    numbers.map(|interface| address(site.number, interface, flow)).collect()
}

/// What the two ends of one flow are made from.
struct Ends<'a> {
    name: &'a str,
    plan: &'a FlowPlan,
    scenario: &'a Scenario,
    seed: FlowSeed,
    addresses: [Vec<IpAddr>; 2],
}

impl Ends<'_> {
    fn make(&self) -> Result<(End, End), SimulationError> {
        let client = self.plan.client_plan(&self.scenario.stop, self.seed);
        let client = Client::new(client.map_err(|error| self.flow_error(error))?);
        let client = client.map_err(|error| self.error("rate", error.to_string()))?;
        let begins_at = Instant::EPOCH + self.plan.start.0;
        let [here, there] = [0, 1].map(|side| self.addresses[side].first().copied());
        let (Some(here), Some(there)) = (here, there) else {
            return Err(self.error("from", "its hosts have no link"));
        };
        let (near, far) = (Place { local: here, peer: there }, Place { local: there, peer: here });
        match self.plan.transport.0 {
            TransportSpec::Sctp { .. } => self.sctp(client, begins_at, Delivery::Ordered),
            TransportSpec::SctpUnordered => self.sctp(client, begins_at, Delivery::Unordered),
            TransportSpec::Tcp { connections } => {
                let config = self.plan.tcp_config().map_err(|because| self.error("profile", because))?;
                let initial = |label| u32::try_from(self.seed.of(label) >> 32).unwrap_or(1);
                let count = connections.get();
                let client = TcpClient::new(client, near, config, begins_at, count, initial("client"));
                let is_bulk = self.plan.workload == Workload::Bulk;
                let server = TcpServer::new(self.server()?, far, config, is_bulk, initial("server"));
                Ok((End::TcpClient(Box::new(client)), End::TcpServer(Box::new(server))))
            }
            TransportSpec::Udp => {
                let client = UdpClient::new(client, begins_at, here, there);
                let server = UdpServer::new(self.server()?, there);
                Ok((End::UdpClient(Box::new(client)), End::UdpServer(Box::new(server))))
            }
        }
    }

    fn sctp(&self, client: Client, at: Instant, delivery: Delivery) -> Result<(End, End), SimulationError> {
        let config = self.plan.sctp_config().map_err(|because| self.error("profile", because))?;
        let port =
            SctpPort::try_from(SCTP_PORT).map_err(|error| self.error("transport", error.to_string()))?;
        let endpoint = |side: usize, label| {
            let mut of_endpoint = EndpointConfig { association: config.clone(), ..EndpointConfig::new(port) };
            if self.addresses[side].len() > 1 {
                of_endpoint.local_addresses.clone_from(&self.addresses[side]);
            }
            let mut entropy = [0; 32];
            entropy[..8].copy_from_slice(&self.seed.of(label).to_le_bytes());
            Endpoint::new(of_endpoint, entropy).map_err(|error| self.error("sctp", error.to_string()))
        };
        let encapsulation = match self.plan.sctp.carrier {
            Some(CarrierName::Udp) => Encapsulation::Udp { port: ENCAPSULATION_PORT },
            Some(CarrierName::Ip) | None => Encapsulation::Ip,
        };
        let to = |address: &IpAddr| Destination { address: *address, encapsulation };
        let to = self.addresses[1].iter().take(1).map(to).collect();
        let opening = Opening { at, to, port, config: config.clone() };
        let client = SctpClient::new(client, opening, delivery);
        let server = SctpServer::new(self.server()?);
        let client = SctpHost::new(endpoint(0, "client")?, client);
        let server = SctpHost::new(endpoint(1, "server")?, server);
        Ok((End::SctpClient(Box::new(client)), End::SctpServer(Box::new(server))))
    }

    fn server<L: Clone>(&self) -> Result<Server<L>, SimulationError> {
        let plan = self.plan.server_plan(&self.scenario.stop).map_err(|error| self.flow_error(error))?;
        Ok(Server::new(plan))
    }

    fn flow_error(&self, error: FlowError) -> SimulationError {
        self.error(error.key, error.because)
    }

    fn error(&self, key: &str, because: impl Into<String>) -> SimulationError {
        SimulationError::new(format!("flows.{}.{key}", self.name), because)
    }
}

/// The port of SIMCO; any would do.
const SCTP_PORT: u16 = 7626;

/// The registered port of SCTP in UDP (RFC 6951 §7).
const ENCAPSULATION_PORT: u16 = 9899;
