//! The load generator against an echo server on another host, over whatever lies between.
//!
//! What the path does is not known here: neither its round-trip time nor its losses are in the results, and of
//! head-of-line blocking only the direction of the responses is seen.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use sctp::{
    Association, AssociationConfig, AssociationStatistics, BindError, Delivery, Destination, Endpoint,
    EndpointBuilder, EndpointConfig,
};
use sctp::{Incoming, SctpPort};
use sctp_io::Clock;
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tracing::Instrument;

use super::real::{Driven, RealError, sctp as over_sctp, tcp as over_tcp, udp as over_udp};
use super::{blocking, capture_path, never_begun, runs};
use crate::compare::{Backend, BackendError, BackendKind, CompareConfig, RawOutcome, RawRun};
use crate::events::run_span;
use crate::transport::TransportSpec;

/// The backend of `headway load`.
#[derive(Clone, Debug)]
pub struct Network {
    /// Where the echo server is, at least one address; the port, the same for all, is that of TCP, UDP or SCTP. TCP and
    /// UDP use the first.
    pub to: Vec<SocketAddr>,
    /// What carries SCTP.
    pub carrier: Carrier,
}

/// What carries SCTP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP, at these ports.
    Udp(EncapsulationPorts),
    /// IP itself, protocol 132.
    Ip,
}

/// UDP ports that carry SCTP (RFC 6951).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncapsulationPorts {
    /// Ours; 0 lets the system choose. Default 0.
    pub local: u16,
    /// The server's. Default 9899, the registered one.
    pub remote: u16,
}

impl Default for EncapsulationPorts {
    fn default() -> Self {
        Self { local: 0, remote: 9899 }
    }
}

impl Carrier {
    /// Binds a client's endpoint to any address of the families of the server's addresses `to`, which are one at least.
    ///
    /// # Errors
    ///
    /// The port is taken, or for IP protocol 132 the right to raw sockets is missing.
    pub async fn bind_client(
        self,
        builder: EndpointBuilder,
        to: &[SocketAddr],
    ) -> Result<Endpoint, BindError> {
        let any_v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let any_v6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let has_v6 = to.iter().any(SocketAddr::is_ipv6);
        match self {
            // Unspecified IPv6 serves IPv4 too.
            Self::Udp(ports) => {
                builder.bind(SocketAddr::new(if has_v6 { any_v6 } else { any_v4 }, ports.local)).await
            }
            Self::Ip => {
                let has_v4 = to.iter().any(SocketAddr::is_ipv4);
                let used = [(has_v4, any_v4), (has_v6, any_v6)].into_iter().filter(|(is_used, _)| *is_used);
                builder.bind_ip(&used.map(|(_, any)| any).collect::<Vec<_>>()).await
            }
        }
    }

    /// Where packets go that are for a server's address.
    pub fn destination(self, address: IpAddr) -> Destination {
        match self {
            Self::Udp(ports) => sctp::udp(SocketAddr::new(address, ports.remote)),
            Self::Ip => sctp::ip(address),
        }
    }
}

/// As in "no answer at … in UDP port 9899".
impl core::fmt::Display for Carrier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Udp(ports) => write!(f, "in UDP port {}", ports.remote),
            Self::Ip => f.write_str("over IP protocol 132"),
        }
    }
}

impl Backend for Network {
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError> {
        let failed = |error: std::io::Error| BackendError::Failed { because: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        if self.to.is_empty() {
            return Err(BackendError::Failed {
                because: "no address of an echo server was given".to_owned(),
            });
        }
        let mut raw = Vec::new();
        for batch in batches(config, transports) {
            if config.stop.is_raised() {
                break;
            }
            raw.extend(runtime.block_on(self.run_batch(config, batch)));
        }
        raw.sort_by_key(|(index, _)| *index);
        let runs: Vec<_> = raw.into_iter().map(|(_, run)| run).collect();
        Ok(RawOutcome {
            backend: BackendKind::Network,
            fallback: None,
            delay: None,
            device: None,
            skipped: never_begun(transports, &runs).collect(),
            runs,
        })
    }
}

/// One run: a transport in a repetition, and its place in the results.
#[derive(Clone, Copy, Debug)]
struct Planned {
    index: u16,
    transport: TransportSpec,
    repetition: u32,
}

/// What runs at the same time: the transports of one repetition, or each alone.
fn batches(config: &CompareConfig, transports: &[TransportSpec]) -> Vec<Vec<Planned>> {
    let planned = (0..).zip(runs(transports, config.repeat));
    let planned = planned.map(|(index, (transport, repetition))| Planned { index, transport, repetition });
    if !config.runs_concurrently() {
        return planned.map(|planned| vec![planned]).collect();
    }
    let planned: Vec<_> = planned.collect();
    let of = |repetition| planned.iter().copied().filter(move |planned| planned.repetition == repetition);
    (0..config.repeat.get()).map(|repetition| of(repetition).collect()).collect()
}

impl Network {
    async fn run_batch(&self, config: &CompareConfig, batch: Vec<Planned>) -> Vec<(u16, RawRun)> {
        let clock = Clock::start();
        let mut tasks = JoinSet::new();
        for planned in batch {
            let (network, config) = (self.clone(), config.clone());
            let span = run_span(planned.transport, planned.repetition);
            let load = async move {
                let done = network.load(&config, planned, clock).await;
                let done = done.unwrap_or_else(|error| Done::not_begun(&error, clock));
                (planned.index, done.into_raw(&config, planned))
            };
            tasks.spawn(load.instrument(span));
        }
        tasks.join_all().await
    }

    async fn load(&self, config: &CompareConfig, planned: Planned, clock: Clock) -> Result<Done, RealError> {
        let plan = config.client_plan(planned.transport, planned.repetition);
        let plan = plan.map_err(|because| RealError::Configuration { because })?;
        match planned.transport {
            TransportSpec::Tcp { .. } => {
                self.reach_over_tcp().await?;
                let driven =
                    over_tcp::load(self.to[0], &config.tcp_congestion, plan, clock, &config.stop).await?;
                Ok(Done { driven, statistics: None, retransmissions: None })
            }
            TransportSpec::Udp => {
                let socket = UdpSocket::bind(self.any_address(0)).await;
                let socket = socket.map_err(RealError::socket("cannot open a UDP socket"))?;
                let connected = socket.connect(self.to[0]).await;
                connected.map_err(RealError::socket("cannot connect the UDP socket"))?;
                let (driven, retransmissions) = over_udp::load(&socket, plan, clock, &config.stop).await?;
                Ok(Done { driven, statistics: None, retransmissions: Some(retransmissions) })
            }
            TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => {
                // The endpoint drives the association until both are dropped.
                let (_endpoint, association) = self.associate(config, planned).await?;
                let ordered = planned.transport.is_ordered();
                let delivery = if ordered { Delivery::Ordered } else { Delivery::Unordered };
                let (driven, statistics) =
                    over_sctp::load(association, delivery, plan, clock, &config.stop).await?;
                Ok(Done { driven, statistics: Some(statistics), retransmissions: None })
            }
        }
    }

    /// A server that is not there is known before the first request is due.
    async fn reach_over_tcp(&self) -> Result<(), RealError> {
        let to = self.to[0];
        let connected = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(to)).await;
        let connected = connected.unwrap_or_else(|_late| Err(std::io::ErrorKind::TimedOut.into()));
        let refused = |error| format!("no TCP server at {to}: {error}; start `headway echo` there");
        connected.map(drop).map_err(|error| RealError::Configuration { because: refused(error) })
    }

    async fn associate(
        &self,
        config: &CompareConfig,
        planned: Planned,
    ) -> Result<(Endpoint, Association), RealError> {
        let refused = |because: String| RealError::Configuration { because };
        let port = |port: u16| SctpPort::try_from(port).map_err(|error| refused(error.to_string()));
        let association = config.flow(planned.transport).sctp_config().map_err(refused)?;
        // The path may be narrower than the emulated ones.
        let association =
            AssociationConfig { path_mtu: AssociationConfig::default().path_mtu, ..association };
        let own = EndpointConfig {
            incoming: Incoming::Refuse,
            ..EndpointConfig::new(port(own_port(planned.index))?)
        };
        let mut builder = Endpoint::builder(own);
        if let Some(path) = &config.pcap {
            builder = builder.capture(capture_path(path, planned.transport, planned.repetition));
        }
        let endpoint = self.carrier.bind_client(builder, &self.to).await?;
        let peer: Vec<_> = self.to.iter().map(|to| self.carrier.destination(to.ip())).collect();
        let connecting = endpoint.connect_with(&peer, port(self.to[0].port())?, association);
        let association = tokio::time::timeout(CONNECT_TIME, connecting).await.map_err(|_late| {
            let (to, carrier) = (self.to[0], self.carrier);
            refused(format!(
                "no SCTP server answered at {to} {carrier} within {CONNECT_TIME:?}; start `headway echo` there"
            ))
        })??;
        Ok((endpoint, association))
    }

    fn any_address(&self, port: u16) -> SocketAddr {
        let any = match self.to[0] {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        SocketAddr::new(any, port)
    }
}

/// What a load generator brought home.
struct Done {
    driven: Driven,
    statistics: Option<AssociationStatistics>,
    retransmissions: Option<u64>,
}

impl Done {
    /// A run that could not even connect: no request was due, and the reason is in the results.
    fn not_begun(error: &RealError, clock: Clock) -> Self {
        let driven = Driven::not_begun(error, clock.now());
        Self { driven, statistics: None, retransmissions: None }
    }

    fn into_raw(self, config: &CompareConfig, planned: Planned) -> RawRun {
        let Planned { index: _, transport, repetition } = planned;
        let is_sctp = matches!(transport, TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered);
        RawRun {
            transport,
            repetition,
            profile: config.profile_of(transport),
            start: self.driven.start,
            samples: self.driven.samples,
            counters: self.driven.counters,
            retransmissions: self.retransmissions,
            blocking: is_sctp.then(|| blocking(&self.statistics)),
            paths: self.statistics.map(|statistics| statistics.paths),
            packets: None,
            ended_early: self.driven.ended_early,
        }
    }
}

/// An SCTP port for the `index`-th association of this process. An association is known by addresses and SCTP ports,
/// not by UDP ports: those of two processes on one host must differ.
fn own_port(index: u16) -> u16 {
    let base = u16::try_from(std::process::id() % u32::from(DYNAMIC_PORTS)).unwrap_or(0);
    FIRST_DYNAMIC_PORT + base.wrapping_mul(PORTS_APART).wrapping_add(index) % DYNAMIC_PORTS
}

/// How long the server may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// RFC 6335 §6: from here on ports are free for all.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u16 = 16_384;
/// Odd, so that no two processes start at the same port.
const PORTS_APART: u16 = 251;
