//! Looks up where next hops are, by their names (RFC 3263 §4): which transports a domain has by NAPTR, its hosts by SRV, their
//! addresses by A and AAAA.
//!
//! Each name of a route has a task that looks it up ahead of the calls, and again when the answer is no longer valid. So a call
//! never waits for DNS, and nobody who calls can make this agent ask anything. When a name cannot be looked up again, what it
//! stood for stays.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use call_core::{HopAddress, HopName};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{RData, RecordType};
use sip::{Flow, Transport};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::server::Input;

/// A resolver, and what this agent has addresses for.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    resolver: TokioResolver,
    /// The transports, each with a family of addresses: whether it is that of IPv4.
    own: Vec<(Transport, bool)>,
}

/// A task for every name of a route.
#[derive(Debug)]
pub(crate) struct Followers {
    own: Vec<(Transport, SocketAddr)>,
    inputs: mpsc::Sender<Input>,
    servers: Vec<SocketAddr>,
    tasks: BTreeMap<HopName, AbortHandle>,
}

impl Followers {
    pub(crate) fn new(own: Vec<(Transport, SocketAddr)>, inputs: mpsc::Sender<Input>) -> Self {
        Self { own, inputs, servers: Vec::new(), tasks: BTreeMap::new() }
    }

    /// Follows these names from now on, and no others.
    ///
    /// # Errors
    ///
    /// The system does not say which servers it asks.
    pub(crate) fn follow<'a>(
        &mut self,
        servers: &[SocketAddr],
        names: impl Iterator<Item = &'a HopName>,
    ) -> Result<(), String> {
        let wanted: BTreeSet<&HopName> = names.collect();
        let is_same = self.servers == servers;
        self.tasks.retain(|name, task| {
            let stays = is_same && wanted.contains(name);
            if !stays {
                task.abort();
            }
            stays
        });
        servers.clone_into(&mut self.servers);
        let new: Vec<_> = wanted.into_iter().filter(|name| !self.tasks.contains_key(*name)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let names = Names::new(servers, &self.own).map_err(|error| error.to_string())?;
        for name in new {
            let task = tokio::spawn(names.clone().follow(name.clone(), self.inputs.clone()));
            self.tasks.insert(name.clone(), task.abort_handle());
        }
        Ok(())
    }
}

/// The outcome of a lookup.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) targets: Vec<HopAddress>,
    pub(crate) valid_until: Instant,
}

/// A service that a name may have.
struct Service {
    transport: Transport,
    /// The name of its SRV record, or of a host.
    at: At,
}

enum At {
    /// The place of an SRV record.
    Srv(String),
    /// A host and a port.
    Host(String, u16),
}

impl Names {
    /// Creates a resolver for these servers; with none, for those of the system.
    ///
    /// # Errors
    ///
    /// The system does not say which servers it asks.
    pub(crate) fn new(servers: &[SocketAddr], own: &[(Transport, SocketAddr)]) -> Result<Self, NetError> {
        let mut builder = if servers.is_empty() {
            TokioResolver::builder_tokio()?
        } else {
            let config =
                ResolverConfig::from_name_servers(servers.iter().copied().map(name_server).collect());
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let options = builder.options_mut();
        (options.timeout, options.attempts, options.cache_size) = (ASKED_AGAIN, ATTEMPTS, CACHED);
        let own = own.iter().map(|(transport, address)| (*transport, address.is_ipv4())).collect();
        Ok(Self { resolver: builder.build()?, own })
    }

    /// Looks a name up again and again, and tells of it; until nobody listens.
    pub(crate) async fn follow(self, name: HopName, inputs: mpsc::Sender<Input>) {
        while !inputs.is_closed() {
            let wait = match tokio::time::timeout(PATIENCE, self.find(&name)).await {
                Ok(Ok(found)) => {
                    let valid = found.valid_until.saturating_duration_since(Instant::now());
                    tracing::debug!(%name, targets = found.targets.len(), ?valid, "looked up");
                    let _over = inputs.send(Input::Found(name.clone(), found.targets)).await;
                    valid.clamp(SHORTEST, LONGEST)
                }
                Ok(Err(error)) => {
                    tracing::warn!(%name, %error, "the name of a next hop cannot be looked up");
                    RETRY
                }
                Err(_) => {
                    tracing::warn!(%name, "the name of a next hop cannot be looked up in time");
                    RETRY
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Looks a name up.
    pub(crate) async fn find(&self, name: &HopName) -> Result<Found, NetError> {
        let mut found = Found { targets: Vec::new(), valid_until: Instant::now() + LONGEST };
        let services = self.services(name, &mut found).await?;
        let mut has_services = false;
        for service in services {
            has_services |= self.add_service(&service, &mut found).await?;
        }
        if !has_services {
            // No service at all: the host itself (RFC 3263 §4.1, §4.2).
            let transport = name.transport.or_else(|| self.own.first().map(|(transport, _)| *transport));
            if let Some(transport) = transport {
                self.add_host(transport, &name.host, transport.default_port(), 0, &mut found).await?;
            }
        }
        Ok(found)
    }

    /// Returns the services to look for, in the order in which they are to be tried.
    async fn services(&self, name: &HopName, found: &mut Found) -> Result<Vec<Service>, NetError> {
        let srv = |transport| Service { transport, at: At::Srv(srv_name(transport, &name.host)) };
        match (name.transport, name.port) {
            (Some(transport), None) => Ok(vec![srv(transport)]),
            (transport, Some(port)) => {
                let transport = transport.unwrap_or(Transport::UDP);
                Ok(vec![Service { transport, at: At::Host(name.host.clone(), port) }])
            }
            (None, None) => {
                let offered = self.offered(&name.host, found).await?;
                let of_own = || ALL.into_iter().filter(|transport| self.has(*transport)).map(srv);
                Ok(if offered.is_empty() { of_own().collect() } else { offered })
            }
        }
    }

    /// Returns the services that a domain says it has (NAPTR), as far as this agent has their transports.
    async fn offered(&self, domain: &str, found: &mut Found) -> Result<Vec<Service>, NetError> {
        let Some(lookup) = self.ask(domain, RecordType::NAPTR, found).await? else { return Ok(Vec::new()) };
        let mut offered: Vec<(u16, u16, Service)> = Vec::new();
        for record in lookup.answers().iter().take(MOST_RECORDS) {
            let RData::NAPTR(naptr) = &record.data else { continue };
            let by_service =
                |transport: &Transport| naptr.services.eq_ignore_ascii_case(service(*transport).as_bytes());
            let Some(transport) = ALL.into_iter().find(by_service).filter(|transport| self.has(*transport))
            else {
                continue;
            };
            if naptr.flags.eq_ignore_ascii_case(b"s") {
                let at = At::Srv(naptr.replacement.to_utf8());
                offered.push((naptr.order, naptr.preference, Service { transport, at }));
            }
        }
        offered.sort_by_key(|(order, preference, _)| (*order, *preference));
        Ok(offered.into_iter().map(|(.., service)| service).collect())
    }

    /// Adds the addresses of a service; returns whether there is such a service, be it that nobody serves it.
    async fn add_service(&self, service: &Service, found: &mut Found) -> Result<bool, NetError> {
        let first_rank = found.targets.last().map_or(0, |target| target.rank + 1);
        let place = match &service.at {
            At::Host(host, port) => {
                self.add_host(service.transport, host, *port, 0, found).await?;
                return Ok(true);
            }
            At::Srv(place) => place,
        };
        let Some(lookup) = self.ask(place, RecordType::SRV, found).await? else { return Ok(false) };
        let mut hosts = Vec::new();
        for record in lookup.answers().iter().take(MOST_RECORDS) {
            let RData::SRV(srv) = &record.data else { continue };
            // A dot for a target says that the service is not there (RFC 2782).
            if !srv.target.is_root() {
                hosts.push((srv.priority, srv.weight, srv.port, srv.target.to_utf8()));
            }
        }
        hosts.sort();
        let mut priorities: Vec<u16> = hosts.iter().map(|(priority, ..)| *priority).collect();
        priorities.dedup();
        for (priority, weight, port, host) in hosts {
            let step = priorities.iter().position(|other| *other == priority).unwrap_or(0);
            let before = found.targets.len();
            self.add_host(service.transport, &host, port, weight, found).await?;
            let rank = first_rank.saturating_add(u32::try_from(step).unwrap_or(u32::MAX));
            found.targets[before..].iter_mut().for_each(|target| target.rank = rank);
        }
        Ok(true)
    }

    /// Adds the addresses of a host, with rank 0.
    async fn add_host(
        &self,
        transport: Transport,
        host: &str,
        port: u16,
        weight: u16,
        found: &mut Found,
    ) -> Result<(), NetError> {
        let mut addresses = Vec::new();
        for (kind, is_ipv4) in [(RecordType::AAAA, false), (RecordType::A, true)] {
            if !self.own.contains(&(transport, is_ipv4)) {
                continue;
            }
            let Some(lookup) = self.ask(host, kind, found).await? else { continue };
            addresses.extend(lookup.answers().iter().filter_map(|record| address(&record.data)));
        }
        for address in addresses.into_iter().take(MOST_ADDRESSES) {
            if found.targets.len() < MOST_TARGETS {
                let flow = Flow::new(transport, SocketAddr::new(address, port));
                found.targets.push(HopAddress { flow, rank: 0, weight });
            }
        }
        Ok(())
    }

    /// Asks for the records of a name; `None` if it has none of that kind.
    async fn ask(&self, name: &str, kind: RecordType, found: &mut Found) -> Result<Option<Lookup>, NetError> {
        // With a dot at the end it is the whole name: domains of the system are not tried.
        let whole = format!("{}.", name.trim_end_matches('.'));
        match self.resolver.lookup(whole, kind).await {
            Ok(lookup) => {
                found.valid_until = found.valid_until.min(lookup.valid_until());
                Ok(Some(lookup))
            }
            Err(error) if error.is_no_records_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn has(&self, transport: Transport) -> bool {
        self.own.iter().any(|(own, _)| *own == transport)
    }
}

fn name_server(at: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(at.ip());
    for connection in &mut server.connections {
        let port: &mut ConnectionConfig = connection;
        port.port = at.port();
    }
    server
}

fn address(data: &RData) -> Option<IpAddr> {
    if let RData::A(address) = data {
        return Some(address.0.into());
    }
    if let RData::AAAA(address) = data { Some(address.0.into()) } else { None }
}

/// Returns the service of a transport in NAPTR (RFC 3263 §4.1, RFC 4168 §6).
fn service(transport: Transport) -> &'static str {
    match transport {
        Transport::TCP => "SIP+D2T",
        Transport::TLS => "SIPS+D2T",
        Transport::SCTP => "SIP+D2S",
        _ => "SIP+D2U",
    }
}

/// Returns the name of the SRV record of a transport (RFC 3263 §4.2, RFC 4168 §6).
fn srv_name(transport: Transport, domain: &str) -> String {
    let prefix = match transport {
        Transport::TCP => "_sip._tcp",
        Transport::TLS => "_sips._tcp",
        Transport::SCTP => "_sip._sctp",
        _ => "_sip._udp",
    };
    format!("{prefix}.{domain}")
}

/// The transports that are looked for, in the order in which they are tried where the domain does not say.
const ALL: [Transport; 4] = [Transport::TLS, Transport::SCTP, Transport::TCP, Transport::UDP];
/// Records of an answer that are read.
const MOST_RECORDS: usize = 16;
/// Addresses of a host that are used.
const MOST_ADDRESSES: usize = 4;
/// Addresses of a name that are used.
const MOST_TARGETS: usize = 32;
/// How long a server has to answer, and how often it is asked.
const ASKED_AGAIN: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 2;
/// How long all lookups for a name may take together.
const PATIENCE: Duration = Duration::from_secs(20);
/// How soon a lookup that failed is tried again.
const RETRY: Duration = Duration::from_secs(10);
/// How soon a name is looked up again at the earliest, and at the latest.
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(3_600);
/// Answers that are remembered: none, for each is used when it comes.
const CACHED: u64 = 0;

#[cfg(test)]
mod tests;
