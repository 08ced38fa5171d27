//! How fast the simulator is with the SCTP that ships in the loop: clients keep a window of requests under way,
//! servers answer each with a message of the same size.
//!
//! ```text
//! cargo run --release -p netsim --example sctp [packets per line]
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]
#![expect(clippy::disallowed_types, reason = "it measures the simulator by the wall clock")]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netem::{Impairments, Loss, Probability, derive_indexed_seed};
use netsim::sctp::{Application, SctpHost};
use netsim::{Counters, LinkSpec, World};
use sctp_core::{
    AssociationConfig, AssociationId, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Message,
    SctpPort, StreamId,
};
use virtual_time::Instant;

/// Answers every message with the same one; a client begins with `window` of them.
struct Echo {
    opening: Option<Opening>,
    messages: u64,
    refused: u64,
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
            self.refused += u64::from(endpoint.send(now, id, received.message).is_err());
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let packets: u64 = std::env::args().nth(1).as_deref().unwrap_or("2000000").parse()?;
    println!("pairs  window  payload  loss   events/s  packets/s  messages/s  trace hash");
    for (pairs, window, payload_bytes, loss) in
        [(1, 1, 100, 0.0), (1, 32, 100, 0.0), (1, 32, 100, 0.01), (1, 32, 1000, 0.0), (100, 8, 100, 0.0)]
    {
        let mut world = world(pairs, window, payload_bytes, loss)?;
        let begin = std::time::Instant::now();
        while world.counters().sent < packets {
            if world.step().is_none() {
                break;
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        let Counters { events, sent, .. } = *world.counters();
        let messages = world.hosts().map(|(_, host)| host.application.messages).sum();
        let refused: u64 = world.hosts().map(|(_, host)| host.application.refused).sum();
        println!(
            "{pairs:5}  {window:6}  {payload_bytes:7}  {loss:4}  {:7.2} M  {:7.2} M  {:8.2} M  {:016x}{}",
            millions(events) / seconds,
            millions(sent) / seconds,
            millions(messages) / seconds,
            world.trace_hash(),
            if refused > 0 { "  (messages were refused)" } else { "" }
        );
    }
    Ok(())
}

/// Client and server pairs, each over a link of its own with a delay of its own.
fn world(
    pairs: u16,
    window: u16,
    payload_bytes: usize,
    loss: f64,
) -> Result<World<SctpHost<Echo>>, Box<dyn Error>> {
    let mut world = World::new(1);
    let port = SctpPort::try_from(7626)?;
    let loss = if loss > 0.0 { Loss::Bernoulli(Probability::new(loss)?) } else { Loss::None };
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

fn millions(count: u64) -> f64 {
    u32::try_from(count / 1000).map_or(f64::INFINITY, f64::from) / 1000.0
}
