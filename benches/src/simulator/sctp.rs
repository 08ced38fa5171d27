//! The SCTP that ships in the loop: clients keep a window of requests under way, servers answer each with a message of the same size.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netem::{Impairments, derive_indexed_seed};
use netsim::sctp::{Application, SctpHost};
use netsim::{LinkSpec, World};
use sctp_core::{
    AssociationConfig, AssociationId, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Message,
    SctpPort, StreamId,
};
use virtual_time::Instant;

use super::Shape;

/// Answers every message with the same one; a client begins with `window` of them.
pub struct Echo {
    opening: Option<Opening>,
    /// Messages it got.
    pub messages: u64,
    /// Messages the transport did not take.
    pub refused: u64,
}

struct Opening {
    window: u16,
    payload_bytes: usize,
}

impl Application for Echo {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        if let (Event::CommunicationUp { .. }, Some(opening)) = (&event, &self.opening) {
            for number in 0..opening.window {
                let message = Message::ordered(StreamId::new(number % 4), vec![0; opening.payload_bytes]);
                self.refused += u64::from(endpoint.send(now, id, message).is_err());
            }
        }
        while let Some(received) = endpoint.receive(now, id) {
            self.messages += 1;
            self.refused += u64::from(endpoint.send(now, id, received.message.into()).is_err());
        }
    }
}

/// Client and server pairs, each over a link of its own with a delay of its own.
///
/// # Errors
/// When a network of ours cannot be made.
pub fn world(shape: Shape) -> Result<World<SctpHost<Echo>>, Box<dyn Error>> {
    let Shape { pairs, window, payload_bytes, .. } = shape;
    let mut world = World::new(1);
    let port = SctpPort::try_from(7626)?;
    let loss = shape.loss()?;
    for pair in 0..pairs {
        let [high, low] = pair.to_be_bytes();
        let addresses = [1, 2].map(|side| IpAddr::V4(Ipv4Addr::new(10, high, low, side)));
        let mut hosts = Vec::new();
        let mut interfaces = Vec::new();
        for (address, opening) in addresses.into_iter().zip([Some(Opening { window, payload_bytes }), None]) {
            let seed = derive_indexed_seed(1, "endpoint", u64::from(pair) * 2 + u64::from(opening.is_some()));
            let mut entropy = [0; 32];
            entropy[..8].copy_from_slice(&seed.to_le_bytes());
            let endpoint = Endpoint::new(EndpointConfig::new(port), entropy)?;
            let host = world.add_host(SctpHost::new(endpoint, Echo { opening, messages: 0, refused: 0 }));
            interfaces.push(world.add_interface(host, &[address])?);
            hosts.push(host);
        }
        let delay = Duration::from_micros(1_000 + u64::from(pair));
        let wan = Impairments { delay, loss, ..Impairments::default() };
        world.connect(interfaces[0], interfaces[1], LinkSpec::symmetric(wan))?;
        let to = Destination { address: addresses[1], encapsulation: Encapsulation::Ip };
        world.with_host(hosts[0], |host, now: Instant| {
            host.endpoint.connect(now, &[to], port, AssociationConfig::default())
        })?;
    }
    Ok(world)
}
