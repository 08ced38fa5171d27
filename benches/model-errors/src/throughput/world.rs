//! A TCP that always has something to send, over a link that loses packets in one direction.

use std::net::IpAddr;
use std::time::Duration;

use netem::{BitRate, Impairments, Loss, Probability, derive_indexed_seed};
use netsim::{Host, HostId, LinkSpec, Outgoing, Packet, Protocol, World};
use tcp_core::{CongestionAlgorithm, Connection, Segment, TcpConfig};
use virtual_time::Instant;

use super::Cell;
use crate::error::CompareError;

/// What one run counted after its warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Counted {
    /// Segments sent per second, retransmissions included.
    pub(super) segments_per_s: f64,
    /// Recoveries and sequences of timeouts per segment.
    pub(super) events_per_segment: f64,
}

/// One run of a cell.
pub(super) fn run(cell: &Cell, algorithm: CongestionAlgorithm, seed: u64) -> Result<Counted, CompareError> {
    let (mut world, client) = build(cell, algorithm, seed)?;
    world.run_until(Instant::EPOCH + WARM_UP);
    let before = counters(&world, client);
    world.run_until(Instant::EPOCH + WARM_UP + MEASURED);
    let after = counters(&world, client);
    let segments = to_f64(after.0 - before.0);
    Ok(Counted {
        segments_per_s: segments / MEASURED.as_secs_f64(),
        events_per_segment: to_f64(after.1 - before.1) / segments.max(1.0),
    })
}

fn build(
    cell: &Cell,
    algorithm: CongestionAlgorithm,
    seed: u64,
) -> Result<(World<End>, HostId), CompareError> {
    let mut world = World::new(derive_indexed_seed(seed, "bulk", 0));
    let addresses = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
    let config = TcpConfig {
        congestion: algorithm,
        rto_min: cell.rto(),
        receive_bytes: BUFFER_BYTES,
        send_bytes: BUFFER_BYTES,
        ..TcpConfig::default()
    };
    let client = world.add_host(End::client(config, addresses));
    let server = world.add_host(End::server(config, addresses));
    let a = world.add_interface(client, &[addresses[0]])?;
    let b = world.add_interface(server, &[addresses[1]])?;
    let rate = BitRate::from_bits_per_second(LINK_BITS_PER_S);
    let clean = Impairments { delay: cell.rtt() / 2, rate, ..Impairments::default() };
    let probability = Probability::new(cell.loss)?;
    let lossy = Impairments { loss: Loss::Bernoulli(probability), ..clean.clone() };
    world.connect(a, b, LinkSpec { request: lossy, response: clean })?;
    world.wake(client);
    Ok((world, client))
}

/// Segments sent, and loss events.
fn counters(world: &World<End>, client: HostId) -> (u64, u64) {
    let sender = world.host(client).connection.as_ref().map(|connection| connection.statistics().sender);
    sender.map_or((0, 0), |sender| (sender.segments, sender.recoveries + sender.timeouts))
}

/// One end: the client writes without pause, the server reads.
struct End {
    config: TcpConfig,
    address: IpAddr,
    peer: IpAddr,
    is_client: bool,
    connection: Option<Connection>,
    read: Vec<u8>,
}

impl End {
    fn client(config: TcpConfig, [address, peer]: [IpAddr; 2]) -> Self {
        let connection = Some(Connection::connect(config, PORT, PORT, 1));
        Self { config, address, peer, is_client: true, connection, read: Vec::new() }
    }

    fn server(config: TcpConfig, [peer, address]: [IpAddr; 2]) -> Self {
        Self { config, address, peer, is_client: false, connection: None, read: Vec::new() }
    }
}

impl Host for End {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        match &mut self.connection {
            Some(connection) => connection.handle_packet(now, packet.payload),
            None => {
                let syn = Segment::decode(packet.payload).ok();
                self.connection = syn.and_then(|syn| Connection::accept(self.config, &syn, 1));
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let connection = self.connection.as_mut()?;
        while connection.poll_event().is_some() {}
        if self.is_client {
            while connection.write(&ZEROS) > 0 {}
        } else {
            connection.read(&mut self.read);
            self.read.clear();
        }
        let len = connection.poll_transmit(now, buffer)?;
        let (source, destination) = (Some(self.address), self.peer);
        Some(Outgoing { source, destination, protocol: Protocol::Tcp, len, segment_bytes: None })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(Connection::poll_timeout)
    }
}

fn to_f64(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

const PORT: u16 = 5001;
static ZEROS: [u8; 16_384] = [0; 16_384];
/// Larger than any window of the grid.
const BUFFER_BYTES: usize = 1 << 22;
/// Fast enough that sending takes no time, slow enough that packets do not arrive at the same instant.
const LINK_BITS_PER_S: u64 = 10_000_000_000;
/// Slow start and the first losses.
const WARM_UP: Duration = Duration::from_secs(30);
const MEASURED: Duration = Duration::from_secs(200);
