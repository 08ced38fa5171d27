//! Trivial hosts that answer every packet at once: the simulator's loop and nothing else.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netem::Impairments;
use netsim::{Host, LinkSpec, Outgoing, Packet, Protocol, World};
use virtual_time::Instant;

use super::Shape;

/// Sends back what it gets. A lost packet is made up for when none came for a second.
pub struct Echo {
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

/// Pairs of hosts, each pair over a link of its own with a delay of its own.
///
/// # Errors
/// When a network of ours cannot be made.
pub fn world(shape: Shape) -> Result<World<Echo>, Box<dyn Error>> {
    let Shape { pairs, window, payload_bytes, .. } = shape;
    let window = usize::from(window);
    let mut world = World::new(1);
    let loss = shape.loss()?;
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
