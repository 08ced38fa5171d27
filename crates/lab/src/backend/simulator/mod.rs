//! Comparisons in virtual time: the shipped SCTP, the simulator's TCP and the UDP requester over simulated links.
//!
//! Every run is a world of its own with two hosts and one link. A run is a function of the configuration and its
//! seed; losses fall on the same packet numbers for every transport.

mod sctp;
mod tcp;
mod udp;

use std::fs::File;
use std::io::BufWriter;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::Path;

use netsim::{
    CapturePoint, CaptureScope, Direction, Host, HostId, LinkId, LinkSpec, Outgoing, Packet, World,
    sctp::SctpHost, tcp::TcpHost,
};
use sctp_core::{Destination, Encapsulation, Endpoint, EndpointConfig, SctpPort};
use tcp_core::{CongestionAlgorithm, TcpConfig};
use virtual_time::Instant;
use workload::{LoadCounters, Sample};

use self::sctp::{SctpEcho, SctpLoad};
use self::tcp::{TcpEcho, TcpLoad};
use self::udp::{UdpEcho, UdpLoad};
use super::{
    CLIENT_PORT, INTERRUPTED, SERVER_PORT, association_config, blocking, capture_path, never_begun, runs,
};
use crate::compare::{
    Backend, BackendError, BackendKind, Blocking, CompareConfig, DirectionPackets, PacketCounts, RawOutcome,
    RawRun, Skipped,
};
use crate::events::run_span;
use crate::traffic::Offer;
use crate::transport::TransportSpec;

/// The backend that needs no rights and no time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Backend for Simulator {
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError> {
        let because = tcp_config(config).err();
        let is_skipped =
            |transport: &TransportSpec| because.is_some() && matches!(transport, TransportSpec::Tcp { .. });
        let (skipped, simulated): (Vec<_>, Vec<_>) = transports.iter().copied().partition(is_skipped);
        let reason = because.clone().unwrap_or_default();
        let skipped =
            skipped.iter().map(|transport| Skipped { id: transport.to_string(), because: reason.clone() });
        let raw = runs(&simulated, config.repeat)
            .take_while(|_| !config.stop.is_raised())
            .map(|(transport, repetition)| run(config, transport, repetition))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(RawOutcome {
            backend: BackendKind::Simulator,
            fallback: None,
            device: None,
            delay: None,
            skipped: skipped.chain(never_begun(&simulated, &raw)).collect(),
            runs: raw,
        })
    }
}

/// A host of a comparison.
enum Station {
    SctpLoad(Box<SctpHost<SctpLoad>>),
    SctpEcho(Box<SctpHost<SctpEcho>>),
    TcpLoad(Box<TcpHost<TcpLoad>>),
    TcpEcho(Box<TcpHost<TcpEcho>>),
    UdpLoad(Box<UdpLoad>),
    UdpEcho(Box<UdpEcho>),
}

/// What a run left behind.
struct Outcome {
    start: Instant,
    samples: Vec<Sample>,
    counters: LoadCounters,
    retransmissions: Option<u64>,
    blocking: Option<Blocking>,
    ended_early: Option<String>,
}

fn run(config: &CompareConfig, transport: TransportSpec, repetition: u32) -> Result<RawRun, BackendError> {
    let _span = run_span(transport, repetition).entered();
    let mut world: World<Station> = World::new(config.repetition_seed("path", repetition));
    let (client, server, link) = build(&mut world, config, transport, repetition)?;
    if let Some(path) = &config.pcap {
        capture(&mut world, &capture_path(path, transport, repetition))?;
    }
    world.wake(client);
    // The handshake may need all its retries before the load generator's own deadline exists.
    let deadline = Instant::EPOCH + config.traffic.duration + config.drain(transport) + HANDSHAKE;
    let is_running = |world: &World<Station>| !world.host(client).is_finished(world.now());
    world.run_while(deadline, |world| is_running(world) && !config.stop.is_raised());
    world.finish_captures().map_err(|error| BackendError::Failed { because: error.to_string() })?;
    let outcome = world.host(client).outcome(world.host(server));
    let interrupted = is_running(&world) && config.stop.is_raised();
    Ok(RawRun {
        transport,
        repetition,
        profile: matches!(transport, TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered)
            .then(|| config.profile.clone()),
        start: outcome.start,
        samples: outcome.samples,
        counters: outcome.counters,
        retransmissions: outcome.retransmissions,
        blocking: outcome.blocking,
        packets: Some(packets(&world, link)),
        ended_early: outcome.ended_early.or_else(|| interrupted.then(|| INTERRUPTED.to_owned())),
        paths: None,
    })
}

fn build(
    world: &mut World<Station>,
    config: &CompareConfig,
    transport: TransportSpec,
    repetition: u32,
) -> Result<(HostId, HostId, LinkId), BackendError> {
    let failed = |because: String| BackendError::Failed { because };
    let offer = config.offer(transport, repetition);
    let (client, server) = match transport {
        TransportSpec::Tcp { .. } => add_tcp(world, config, offer, repetition)?,
        TransportSpec::Udp => {
            let client =
                UdpLoad::new(offer.load, CLIENT, SERVER).map_err(|error| failed(error.to_string()))?;
            let client = world.add_host(Station::UdpLoad(Box::new(client)));
            let server = UdpEcho::new(config.processing, SERVER);
            (client, world.add_host(Station::UdpEcho(Box::new(server))))
        }
        TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => {
            let association = association_config(config, transport)?;
            let endpoint = |port: u16, entropy: [u8; 32]| {
                let port = SctpPort::try_from(port).map_err(|error| failed(error.to_string()))?;
                let config = EndpointConfig { association: association.clone(), ..EndpointConfig::new(port) };
                Endpoint::new(config, entropy).map_err(|error| failed(error.to_string()))
            };
            let seeds =
                [config.repetition_seed("client", repetition), config.repetition_seed("server", repetition)];
            let mut stack = endpoint(CLIENT_PORT, entropy(seeds[0]))?;
            let to = Destination { address: SERVER, encapsulation: Encapsulation::Udp { port: 9899 } };
            let port = SctpPort::try_from(SERVER_PORT).map_err(|error| failed(error.to_string()))?;
            let id = stack
                .connect(Instant::EPOCH, &[to], port, association.clone())
                .map_err(|error| failed(error.to_string()))?;
            let application = SctpLoad::new(offer, transport, id);
            let client = world.add_host(Station::SctpLoad(Box::new(SctpHost::new(stack, application))));
            let server = SctpHost::new(
                endpoint(SERVER_PORT, entropy(seeds[1]))?,
                SctpEcho::new(config.service(transport)),
            );
            (client, world.add_host(Station::SctpEcho(Box::new(server))))
        }
    };
    let spec = LinkSpec { request: config.request_path.clone(), response: config.response_path.clone() };
    let near = world.add_interface(client, &[CLIENT]).map_err(|error| failed(error.to_string()))?;
    let far = world.add_interface(server, &[SERVER]).map_err(|error| failed(error.to_string()))?;
    let link = world.connect(near, far, spec).map_err(|error| failed(error.to_string()))?;
    Ok((client, server, link))
}

/// Client and server with the simulator's TCP.
fn add_tcp(
    world: &mut World<Station>,
    config: &CompareConfig,
    offer: Offer,
    repetition: u32,
) -> Result<(HostId, HostId), BackendError> {
    let tcp = tcp_config(config).map_err(|because| BackendError::Failed { because })?;
    let sequence = |purpose| u32::try_from(config.repetition_seed(purpose, repetition) >> 32).unwrap_or(0);
    let mut client = TcpHost::new(CLIENT, tcp, sequence("client"), TcpLoad::new(offer));
    client.application.open(&mut client.connections, SERVER);
    let mut server = TcpHost::new(
        SERVER,
        tcp,
        sequence("server"),
        TcpEcho::new(config.service(TransportSpec::Tcp { connections: NonZeroU16::MIN })),
    );
    server.connections.listen(tcp::ECHO_PORT);
    let client = world.add_host(Station::TcpLoad(Box::new(client)));
    Ok((client, world.add_host(Station::TcpEcho(Box::new(server)))))
}

/// Today's Linux with the congestion control asked for; why not, if there is no such here.
fn tcp_config(config: &CompareConfig) -> Result<TcpConfig, String> {
    let congestion = match config.tcp_congestion.as_str() {
        "reno" => CongestionAlgorithm::NewReno,
        "cubic" => CongestionAlgorithm::LinuxCubic,
        other => {
            return Err(format!(
                "the simulator's TCP has no `{other}`: use reno or cubic, or the namespaces backend"
            ));
        }
    };
    Ok(TcpConfig { congestion, ..TcpConfig::default() })
}

impl Station {
    fn is_finished(&self, now: Instant) -> bool {
        match self {
            Self::SctpLoad(host) => host.application.is_finished(now),
            Self::TcpLoad(host) => host.application.is_finished(now),
            Self::UdpLoad(host) => host.is_finished(now),
            Self::SctpEcho(_) | Self::TcpEcho(_) | Self::UdpEcho(_) => true,
        }
    }

    fn outcome(&self, server: &Self) -> Outcome {
        match (self, server) {
            (Self::SctpLoad(client), Self::SctpEcho(server)) => {
                let near = client.application.statistics(&client.endpoint);
                let far = server.application.statistics(&server.endpoint);
                Outcome { blocking: Some(blocking(near.iter().chain(&far))), ..client.application.outcome() }
            }
            (Self::TcpLoad(client), _) => client.application.outcome(&client.connections),
            (Self::UdpLoad(client), _) => client.outcome(),
            (Self::SctpLoad(client), _) => client.application.outcome(),
            (Self::SctpEcho(_) | Self::TcpEcho(_) | Self::UdpEcho(_), _) => Outcome::nothing(),
        }
    }
}

impl Outcome {
    fn nothing() -> Self {
        Self {
            start: Instant::EPOCH,
            samples: Vec::new(),
            counters: LoadCounters::default(),
            retransmissions: None,
            blocking: None,
            ended_early: Some("no load generator".to_owned()),
        }
    }
}

impl Host for Station {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        match self {
            Self::SctpLoad(host) => host.handle_packet(now, packet),
            Self::SctpEcho(host) => host.handle_packet(now, packet),
            Self::TcpLoad(host) => host.handle_packet(now, packet),
            Self::TcpEcho(host) => host.handle_packet(now, packet),
            Self::UdpLoad(host) => host.handle_packet(now, packet),
            Self::UdpEcho(host) => host.handle_packet(now, packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::SctpLoad(host) => host.handle_timeout(now),
            Self::SctpEcho(host) => host.handle_timeout(now),
            Self::TcpLoad(host) => host.handle_timeout(now),
            Self::TcpEcho(host) => host.handle_timeout(now),
            Self::UdpLoad(host) => host.handle_timeout(now),
            Self::UdpEcho(host) => host.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        match self {
            Self::SctpLoad(host) => host.poll_transmit(now, buffer),
            Self::SctpEcho(host) => host.poll_transmit(now, buffer),
            Self::TcpLoad(host) => host.poll_transmit(now, buffer),
            Self::TcpEcho(host) => host.poll_transmit(now, buffer),
            Self::UdpLoad(host) => host.poll_transmit(now, buffer),
            Self::UdpEcho(host) => host.poll_transmit(now, buffer),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::SctpLoad(host) => host.poll_timeout(),
            Self::SctpEcho(host) => host.poll_timeout(),
            Self::TcpLoad(host) => host.poll_timeout(),
            Self::TcpEcho(host) => host.poll_timeout(),
            Self::UdpLoad(host) => host.poll_timeout(),
            Self::UdpEcho(host) => host.poll_timeout(),
        }
    }
}

fn packets(world: &World<Station>, link: LinkId) -> PacketCounts {
    let direction = |direction| {
        let stats = world.link_stats(link, direction);
        DirectionPackets { sent: stats.offered, dropped: stats.dropped() }
    };
    PacketCounts { request: direction(Direction::Request), response: direction(Direction::Response) }
}

fn capture(world: &mut World<Station>, path: &Path) -> Result<(), BackendError> {
    let failed =
        |error: String| BackendError::Failed { because: format!("--pcap {}: {error}", path.display()) };
    let file = File::create(path).map_err(|error| failed(error.to_string()))?;
    world
        .capture(Box::new(BufWriter::new(file)), CaptureScope::World, CapturePoint::Departure)
        .map_err(|error| failed(error.to_string()))
}

fn entropy(seed: u64) -> [u8; 32] {
    let mut entropy = [0; 32];
    entropy[..8].copy_from_slice(&seed.to_be_bytes());
    entropy
}

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 77, 0, 1));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 77, 0, 2));

/// Time for the handshake with all its retries.
const HANDSHAKE: core::time::Duration = core::time::Duration::from_secs(600);
