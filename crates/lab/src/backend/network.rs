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
use super::{capture_path, never_begun, runs};
use crate::compare::{Backend, BackendError, BackendKind, Blocking, CompareConfig, RawOutcome, RawRun};
use crate::events::run_span;
use crate::simulation::TransportCounts;
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
                let to = self.reach_over_tcp().await?;
                let driven = over_tcp::load(to, &config.tcp_congestion, plan, clock, &config.stop).await?;
                Ok(Done { driven, statistics: None, retransmissions: None, capture_failure: None })
            }
            TransportSpec::Udp => {
                let socket = self.reach_over_udp().await?;
                let (driven, retransmissions) = over_udp::load(&socket, plan, clock, &config.stop).await?;
                let retransmissions = Some(retransmissions);
                Ok(Done { driven, statistics: None, retransmissions, capture_failure: None })
            }
            TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => {
                // The endpoint drives the association until both are dropped.
                let (endpoint, association) = self.associate(config, planned).await?;
                let ordered = planned.transport.is_ordered();
                let delivery = if ordered { Delivery::Ordered } else { Delivery::Unordered };
                let (driven, statistics) =
                    over_sctp::load(association, delivery, plan, clock, &config.stop).await?;
                let capture_failure = endpoint.capture_failure();
                Ok(Done { driven, statistics: Some(statistics), retransmissions: None, capture_failure })
            }
        }
    }

    /// The first address that accepts. A server that is not there is known before the first request is due.
    async fn reach_over_tcp(&self) -> Result<SocketAddr, RealError> {
        let mut refused = Vec::new();
        for to in &self.to {
            let connected = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(to)).await;
            match connected.unwrap_or_else(|_late| Err(std::io::ErrorKind::TimedOut.into())) {
                Ok(_closed_again) => return Ok(*to),
                Err(error) => refused.push(format!("at {to}: {error}")),
            }
        }
        Err(nobody("TCP", &refused))
    }

    /// A socket connected to the first address where a message comes back.
    async fn reach_over_udp(&self) -> Result<UdpSocket, RealError> {
        let mut refused = Vec::new();
        for to in &self.to {
            let socket = connected_socket(*to).await?;
            match answers(&socket).await {
                // What comes back late is not for the run.
                Ok(()) => return connected_socket(*to).await,
                Err(error) => refused.push(format!("at {to}: {error}")),
            }
        }
        Err(nobody("UDP", &refused))
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
        let absent = |because: String| {
            let to: Vec<_> = self.to.iter().map(SocketAddr::to_string).collect();
            nobody("SCTP", &[format!("at {} {}: {because}", to.join(" and "), self.carrier)])
        };
        let association = tokio::select! {
            connected = tokio::time::timeout(CONNECT_TIME, connecting) => {
                connected.map_err(|_late| absent(format!("no answer within {CONNECT_TIME:?}")))??
            }
            () = self.reported_absent(&endpoint) => {
                return Err(absent("the network reports that nobody is there (ICMP)".to_owned()));
            }
        };
        Ok((endpoint, association))
    }

    /// Returns when the network has reported each address unreachable. Reports about protocol 132 may be about others.
    async fn reported_absent(&self, endpoint: &Endpoint) {
        let addresses = u64::try_from(self.to.len()).unwrap_or(u64::MAX);
        let is_ours = matches!(self.carrier, Carrier::Udp(_));
        while !is_ours || endpoint.io_statistics().reported_unreachable < addresses {
            tokio::time::sleep(LOOK_FOR_REPORTS).await;
        }
    }
}

/// Nobody answers, so nothing is measured.
fn nobody(protocol: &str, refused: &[String]) -> RealError {
    let because = format!("no {protocol} server {}; start `headway echo` there", refused.join(", nor "));
    RealError::Configuration { because }
}

async fn connected_socket(to: SocketAddr) -> Result<UdpSocket, RealError> {
    let any = match to {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).await;
    let socket = socket.map_err(RealError::socket("cannot open a UDP socket"))?;
    socket.connect(to).await.map_err(RealError::socket("cannot connect the UDP socket"))?;
    Ok(socket)
}

/// Sends a message of no run until it comes back.
async fn answers(socket: &UdpSocket) -> std::io::Result<()> {
    let mut message = [0; 20];
    message[..4].copy_from_slice(&20_u32.to_be_bytes());
    message[4..12].copy_from_slice(&u64::MAX.to_be_bytes());
    for patience in PROBES {
        // An error of before, such as ICMP's, is told when sending or when receiving.
        socket.send(&message).await?;
        if let Ok(received) = tokio::time::timeout(patience, socket.recv(&mut [0; 64])).await {
            return received.map(drop);
        }
    }
    let patience: Duration = PROBES.iter().sum();
    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {patience:?}")))
}

/// What a load generator brought home.
struct Done {
    driven: Driven,
    statistics: Option<AssociationStatistics>,
    retransmissions: Option<u64>,
    capture_failure: Option<String>,
}

impl Done {
    /// A run that could not even connect: no request was due, and the reason is in the results.
    fn not_begun(error: &RealError, clock: Clock) -> Self {
        let driven = Driven::not_begun(error, clock.now());
        Self { driven, statistics: None, retransmissions: None, capture_failure: None }
    }

    fn into_raw(self, config: &CompareConfig, planned: Planned) -> RawRun {
        let Planned { index: _, transport, repetition } = planned;
        let counts = self.statistics.as_ref().map(TransportCounts::from);
        RawRun {
            transport,
            repetition,
            profile: config.profile_of(transport),
            start: self.driven.start,
            samples: self.driven.samples,
            counters: self.driven.counters,
            retransmissions: self.retransmissions,
            blocking: counts.and_then(|counts| counts.blocked).map(Blocking::from),
            paths: self.statistics.map(|statistics| statistics.paths),
            packets: None,
            ended_early: self.driven.ended_early,
            capture_failure: self.capture_failure,
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
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long each probe waits for its answer: any two of the three may be lost.
const PROBES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1500), Duration::from_secs(3)];
const LOOK_FOR_REPORTS: Duration = Duration::from_millis(20);
/// RFC 6335 §6: from here on ports are free for all.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u16 = 16_384;
/// Odd, so that no two processes start at the same port.
const PORTS_APART: u16 = 251;
