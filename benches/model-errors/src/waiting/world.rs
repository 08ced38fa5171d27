//! One-way messages over a link that loses packets towards the receiver, with the SCTP that ships.

use std::net::IpAddr;
use std::time::Duration;

use netem::{BitRate, Impairments, Loss, Probability, derive_indexed_seed};
use netsim::sctp::{Application, SctpHost};
use netsim::{HostId, LinkSpec, World};
use sctp_core::{
    AssociationConfig, AssociationId, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Message,
    Profile, SctpPort, StreamId,
};
use virtual_time::Instant;

use super::{Cell, Stack};
use crate::error::CompareError;

/// Sends `messages` and gives by how much each was late, in seconds.
pub(super) fn run(cell: &Cell, messages: u32, seed: u64) -> Result<Vec<f64>, CompareError> {
    let (mut world, client, server) = build(cell, messages, seed)?;
    let wanted = usize::try_from(messages).unwrap_or(usize::MAX);
    let deadline = Instant::EPOCH + Duration::from_secs_f64(60.0 + 2.0 * f64::from(messages) / cell.rate);
    world.run_while(deadline, |world| world.host(server).application.late.len() < wanted);
    let late = &world.host(server).application.late;
    if late.len() < wanted {
        let refused = world.host(client).application.refused;
        let cell = format!("{cell:?} ({refused} refused)");
        return Err(CompareError::Missing { cell, arrived: late.len(), sent: wanted });
    }
    let one_way_s = cell.rtt_ms / 2e3;
    Ok(late.iter().map(|late| (late - one_way_s).max(0.0)).collect())
}

type Built = (World<SctpHost<User>>, HostId, HostId);

fn build(cell: &Cell, messages: u32, seed: u64) -> Result<Built, CompareError> {
    let mut world = World::new(derive_indexed_seed(seed, "waiting", 0));
    let config = config(cell);
    let addresses = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
    let mut ends = Vec::new();
    for (address, left) in addresses.into_iter().zip([messages, 0]) {
        let mut of_endpoint = EndpointConfig::new(PORT);
        of_endpoint.association = config.clone();
        let mut entropy = [0; 32];
        entropy[..8].copy_from_slice(&derive_indexed_seed(seed, "entropy", u64::from(left)).to_le_bytes());
        let user = User::new(cell, left, seed);
        let host = world.add_host(SctpHost::new(Endpoint::new(of_endpoint, entropy)?, user));
        ends.push((host, world.add_interface(host, &[address])?));
    }
    let (client, server) = (ends[0], ends[1]);
    let rate = BitRate::from_bits_per_second(LINK_BITS_PER_S);
    let delay = Duration::from_secs_f64(cell.rtt_ms / 2e3);
    let clean = Impairments { delay, rate, ..Impairments::default() };
    let request = Impairments { loss: cell.loss_towards_receiver()?, ..clean.clone() };
    let response = Impairments { loss: Loss::Bernoulli(Probability::new(cell.loss)?), ..clean };
    world.connect(client.1, server.1, LinkSpec { request, response })?;
    let to = Destination { address: addresses[1], encapsulation: Encapsulation::Ip };
    world.with_host(client.0, |host, now| host.endpoint.connect(now, &[to], PORT, config))?;
    Ok((world, client.0, server.0))
}

/// The profile with a SACK for every packet, as the model has it.
fn config(cell: &Cell) -> AssociationConfig {
    let mut config = AssociationConfig::profile(match cell.profile {
        Stack::Rfc9260 => Profile::Rfc9260,
        Stack::Signalling => Profile::Signalling,
    });
    config.sack.every_packets = 1;
    config.heartbeat.interval = None;
    config
}

/// Sends `left` messages as a Poisson process, or notes when each arrives.
struct User {
    rate: f64,
    streams: Option<u16>,
    seed: u64,
    left: u32,
    number: u32,
    association: Option<AssociationId>,
    next: Option<Instant>,
    refused: u64,
    /// Time from sending to delivery, in seconds.
    late: Vec<f64>,
}

impl User {
    fn new(cell: &Cell, left: u32, seed: u64) -> Self {
        let (rate, streams) = (cell.rate, cell.streams);
        Self {
            rate,
            streams,
            seed,
            left,
            number: 0,
            association: None,
            next: None,
            refused: 0,
            late: Vec::new(),
        }
    }

    /// Exponentially distributed.
    fn gap(&self) -> Duration {
        let drawn = derive_indexed_seed(self.seed, "gap", u64::from(self.number));
        let top = u32::try_from(drawn >> 32).unwrap_or(u32::MAX);
        let uniform = (f64::from(top) + 1.0) / (f64::from(u32::MAX) + 1.0);
        Duration::from_secs_f64(-uniform.ln() / self.rate)
    }
}

impl Application for User {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        if matches!(event, Event::CommunicationUp { .. }) && self.left > 0 {
            self.association = Some(id);
            self.next = Some(now + self.gap());
        }
        while let Some(received) = endpoint.receive(now, id) {
            let stamp = received.message.payload.first_chunk::<8>().map(|octets| u64::from_be_bytes(*octets));
            let sent = stamp.map_or(now, Instant::from_nanos);
            self.late.push(now.since(sent).as_secs_f64());
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.next = None;
        let Some(id) = self.association else { return };
        let mut payload = vec![0; MESSAGE_BYTES];
        payload[..8].copy_from_slice(&now.as_nanos().to_be_bytes());
        let message = match self.streams {
            Some(streams) => {
                let stream = u16::try_from(self.number % u32::from(streams)).unwrap_or(0);
                Message::ordered(StreamId::new(stream), payload)
            }
            None => Message::unordered(StreamId::new(0), payload),
        };
        self.refused += u64::from(endpoint.send(now, id, message).is_err());
        self.number += 1;
        self.left -= 1;
        self.next = (self.left > 0).then(|| now + self.gap());
    }
}

const PORT: SctpPort = match SctpPort::new(7626) {
    Some(port) => port,
    None => panic!("a port is not zero"),
};
const MESSAGE_BYTES: usize = 64;
/// Fast enough that sending takes no time, slow enough that packets do not arrive at the same instant.
const LINK_BITS_PER_S: u64 = 10_000_000_000;
