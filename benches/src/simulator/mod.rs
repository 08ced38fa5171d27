//! The simulator: its loop alone, with the SCTP that ships, and as the laboratory runs a plan.

pub mod events;
pub mod sctp;
pub mod study;

use std::error::Error;

use netem::{Loss, OutOfRange, Probability};
use netsim::{Host, World};

/// How large a world is and what goes on in it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Pairs of hosts, each with a link of its own.
    pub pairs: u16,
    /// Packets or messages that each pair keeps under way.
    pub window: u16,
    /// Octets of each.
    pub payload_bytes: usize,
    /// Share of packets that are lost, in both directions.
    pub loss: f64,
}

impl Shape {
    fn loss(&self) -> Result<Loss, OutOfRange> {
        if self.loss > 0.0 { Probability::new(self.loss).map(Loss::Bernoulli) } else { Ok(Loss::None) }
    }
}

/// The shapes that the table has.
pub const SHAPES: [Shape; 6] = [
    Shape { pairs: 1, window: 1, payload_bytes: 100, loss: 0.0 },
    Shape { pairs: 1, window: 32, payload_bytes: 100, loss: 0.0 },
    Shape { pairs: 1, window: 32, payload_bytes: 100, loss: 0.01 },
    Shape { pairs: 1, window: 32, payload_bytes: 1400, loss: 0.0 },
    Shape { pairs: 100, window: 8, payload_bytes: 100, loss: 0.0 },
    Shape { pairs: 1000, window: 8, payload_bytes: 100, loss: 0.0 },
];

/// What is counted and timed again and again.
pub const TYPICAL: Shape = SHAPES[2];

/// Runs until hosts have sent so many packets more.
pub fn advance<H: Host>(world: &mut World<H>, packets: u64) {
    let until = world.counters().sent + packets;
    while world.counters().sent < until {
        if world.step().is_none() {
            return;
        }
    }
}

/// Counts what `packets` packets cost after as many that do not count.
///
/// # Errors
/// What making the world gives.
pub fn counted<H: Host>(
    world: Result<World<H>, Box<dyn Error>>,
    packets: u64,
) -> Result<u64, Box<dyn Error>> {
    let mut world = world?;
    advance(&mut world, packets);
    crate::counting::counted(&mut || advance(&mut world, packets));
    Ok(packets)
}
