//! The simulated start-up: a client that sends messages of equal size at equal intervals, a server that notes
//! when each arrives.

use std::net::IpAddr;
use std::time::Duration;

use models::startup::Startup;
use netem::{BitRate, Impairments};
use netsim::sctp::{Application, SctpHost};
use netsim::{HostId, LinkSpec, World};
use sctp_core::{
    AssociationConfig, AssociationId, Destination, Encapsulation, Endpoint, EndpointConfig, Event,
    InitialWindow, Message, Profile, SctpPort, StreamId,
};
use virtual_time::Instant;

use crate::error::CompareError;

/// Which of the stack's rules are set aside, as the study's assumptions have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// The study's: SACK for every packet, no limit to bursts, initial window 4380 octets.
    Assumptions,
    /// The same with Max.Burst 4, as RFC 9260 §6.1 (D) recommends, and its initial window of 4404 octets.
    Rfc9260,
    /// The same as [`Stack::Assumptions`] with a SACK for every second packet, or after 200 ms.
    DelayedSack,
    /// The same as [`Stack::Assumptions`], but packets that arrive at the same instant share a SACK, as they do where
    /// the receiver takes in all that is there before it answers.
    SharedSack,
}

/// The transfer time of each of the first `messages` messages: from handing it to SCTP to its delivery.
///
/// # Errors
/// [`CompareError::Missing`] if not all arrive within ten minutes of virtual time; others if the world could
/// not be built.
pub fn transfer_times(
    startup: &Startup,
    stack: Stack,
    messages: usize,
) -> Result<Vec<Duration>, CompareError> {
    let (mut world, client, server) = build(startup, stack, messages)?;
    let deadline = Instant::EPOCH + Duration::from_secs(600);
    world.run_while(deadline, |world| world.host(server).application.arrived.len() < messages);
    let sent = &world.host(client).application.sent;
    let arrived = &world.host(server).application.arrived;
    if arrived.len() < messages || sent.len() < messages {
        let cell =
            format!("{} octets every {:?}, RTT {:?}", startup.message_bytes, startup.interval, startup.rtt);
        return Err(CompareError::Missing { cell, arrived: arrived.len(), sent: messages });
    }
    Ok(sent.iter().zip(arrived).map(|(sent, arrived)| arrived.since(*sent)).collect())
}

type Built = (World<SctpHost<Source>>, HostId, HostId);

fn build(startup: &Startup, stack: Stack, messages: usize) -> Result<Built, CompareError> {
    let mut world = World::new(1);
    let config = config(startup, stack);
    let addresses = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
    let mut ends = Vec::new();
    for (index, address) in addresses.into_iter().enumerate() {
        let left = if index == 0 { messages } else { 0 };
        let mut of_endpoint = EndpointConfig::new(PORT);
        of_endpoint.association = config.clone();
        let endpoint = Endpoint::new(of_endpoint, [u8::from(index == 0); 32])?;
        let host = world.add_host(SctpHost::new(endpoint, Source::new(startup, left)));
        ends.push((host, world.add_interface(host, &[address])?));
    }
    let (client, server) = (ends[0], ends[1]);
    let rate = match stack {
        Stack::Assumptions | Stack::Rfc9260 | Stack::DelayedSack => {
            BitRate::from_bits_per_second(LINK_BITS_PER_S)
        }
        Stack::SharedSack => None,
    };
    let path = Impairments { delay: startup.rtt / 2, rate, ..Impairments::default() };
    world.connect(client.1, server.1, LinkSpec::symmetric(path))?;
    let to = Destination { address: addresses[1], encapsulation: Encapsulation::Ip };
    world.with_host(client.0, |host, now| host.endpoint.connect(now, &[to], PORT, config))?;
    Ok((world, client.0, server.0))
}

/// RFC 9260 without delayed SACKs, receiver window and send buffer out of reach.
fn config(startup: &Startup, stack: Stack) -> AssociationConfig {
    let mut config = AssociationConfig::profile(Profile::Rfc9260);
    config.path_mtu.bytes = usize::try_from(startup.mtu_bytes).unwrap_or(usize::MAX);
    config.buffers.send_bytes = BUFFER_BYTES;
    config.buffers.receive_bytes = BUFFER_BYTES;
    config.sack.every_packets = 1;
    config.congestion.initial_window = InitialWindow::Rfc4960;
    config.transmission.max_burst_packets = u32::from(u16::MAX);
    match stack {
        Stack::Assumptions | Stack::SharedSack => {}
        Stack::Rfc9260 => {
            config.congestion.initial_window = InitialWindow::Rfc9260;
            config.transmission.max_burst_packets = RFC9260_MAX_BURST;
        }
        Stack::DelayedSack => config.sack.every_packets = 2,
    }
    config
}

/// Sends `left` messages from the moment the association is up, and notes every delivery.
struct Source {
    message_bytes: usize,
    interval: Duration,
    left: usize,
    association: Option<AssociationId>,
    next: Option<Instant>,
    sent: Vec<Instant>,
    arrived: Vec<Instant>,
}

impl Source {
    fn new(startup: &Startup, left: usize) -> Self {
        Self {
            message_bytes: usize::try_from(startup.message_bytes.get()).unwrap_or(usize::MAX),
            interval: startup.interval,
            left,
            association: None,
            next: None,
            sent: Vec::new(),
            arrived: Vec::new(),
        }
    }
}

impl Application for Source {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        if matches!(event, Event::CommunicationUp { .. }) && self.left > 0 {
            self.association = Some(id);
            self.next = Some(now);
        }
        while endpoint.receive(now, id).is_some() {
            self.arrived.push(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.next = None;
        let Some(id) = self.association else { return };
        let message = Message::ordered(StreamId::new(0), vec![0; self.message_bytes]);
        // A refused message is missed at the end of the run.
        if endpoint.send(now, id, message).is_ok() {
            self.sent.push(now);
        }
        self.left -= 1;
        self.next = (self.left > 0).then(|| now + self.interval);
    }
}

/// Fast enough that sending a packet takes next to no time (1.2 µs), slow enough that two packets do not arrive at the
/// same instant: a host takes in all that is there before it answers, and would acknowledge them together.
const LINK_BITS_PER_S: u64 = 10_000_000_000;
const PORT: SctpPort = match SctpPort::new(7626) {
    Some(port) => port,
    None => panic!("a port is not zero"),
};
/// More than any start-up of the grid piles up.
const BUFFER_BYTES: usize = 1 << 28;
/// Max.Burst, RFC 9260 §16.
const RFC9260_MAX_BURST: u32 = 4;
