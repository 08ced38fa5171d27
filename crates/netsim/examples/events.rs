//! How fast the simulator itself is: trivial hosts that answer every packet at once.
//!
//! ```text
//! cargo run --release -p netsim --example events [seconds of virtual time]
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]
#![expect(clippy::disallowed_types, reason = "it measures the simulator by the wall clock")]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netem::{Impairments, Loss, Probability};
use netsim::{Counters, Host, LinkSpec, Outgoing, Packet, Protocol, World};
use virtual_time::Instant;

/// Sends back what it gets. A lost packet is made up for when none came for a second.
struct Echo {
    own: IpAddr,
    peer: IpAddr,
    to_send: usize,
    window: usize,
    payload: Vec<u8>,
    silent_at: Instant,
}

impl Host for Echo {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        self.to_send += usize::from(packet.source == self.peer);
        self.silent_at = now + SILENCE;
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.to_send = self.window;
        self.silent_at = now + SILENCE;
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        self.to_send = self.to_send.checked_sub(1)?;
        buffer.extend_from_slice(&self.payload);
        Some(Outgoing {
            source: Some(self.own),
            destination: self.peer,
            protocol: Protocol::Sctp,
            len: self.payload.len(),
            segment_bytes: None,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.silent_at)
    }
}

const SILENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let packets: u64 = std::env::args().nth(1).as_deref().unwrap_or("20000000").parse()?;
    println!("pairs  window  payload  loss   events/s  packets/s  trace hash");
    for (pairs, window, payload_bytes, loss) in [
        (1, 1, 100, 0.0),
        (1, 32, 100, 0.0),
        (1, 32, 100, 0.01),
        (1, 32, 1400, 0.0),
        (100, 8, 100, 0.0),
        (1000, 8, 100, 0.0),
    ] {
        let mut world = world(pairs, window, payload_bytes, loss)?;
        let begin = std::time::Instant::now();
        while world.counters().sent < packets {
            if world.step().is_none() {
                break;
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        let Counters { events, sent, .. } = *world.counters();
        println!(
            "{pairs:5}  {window:6}  {payload_bytes:7}  {loss:4}  {:7.2} M  {:7.2} M  {:016x}",
            millions(events) / seconds,
            millions(sent) / seconds,
            world.trace_hash()
        );
    }
    Ok(())
}

/// Pairs of hosts, each pair over a link of its own with a delay of its own.
fn world(pairs: u16, window: usize, payload_bytes: usize, loss: f64) -> Result<World<Echo>, Box<dyn Error>> {
    let mut world = World::new(1);
    let loss = if loss > 0.0 { Loss::Bernoulli(Probability::new(loss)?) } else { Loss::None };
    for pair in 0..pairs {
        let [high, low] = pair.to_be_bytes();
        let addresses = [1, 2].map(|side| IpAddr::V4(Ipv4Addr::new(10, high, low, side)));
        let mut interfaces = Vec::new();
        let mut hosts = Vec::new();
        for (own, peer) in [(addresses[0], addresses[1]), (addresses[1], addresses[0])] {
            let silent_at = Instant::EPOCH + SILENCE;
            let payload = vec![0; payload_bytes];
            hosts.push(world.add_host(Echo { own, peer, to_send: 0, window, payload, silent_at }));
            interfaces.push(world.add_interface(hosts[hosts.len() - 1], &[own])?);
        }
        let delay = Duration::from_micros(1_000 + u64::from(pair));
        let wan = Impairments { delay, loss, ..Impairments::default() };
        world.connect(interfaces[0], interfaces[1], LinkSpec::symmetric(wan))?;
        // Spread out, so that packets arrive one by one.
        for burst in 0..window {
            world.with_host(hosts[0], |host, _| host.to_send = 1);
            let now = world.now();
            if burst % 4 == 3 {
                world.run_until(now + Duration::from_nanos(13));
            }
        }
    }
    Ok(world)
}

fn millions(count: u64) -> f64 {
    u32::try_from(count / 1000).map_or(f64::INFINITY, f64::from) / 1000.0
}
