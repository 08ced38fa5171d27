//! One driver for all stacks without IO: what they are compared by is not what drives them.

use std::net::SocketAddr;
use std::time::Instant;

use crate::link::Link;
use crate::tally::{RoundTrips, Tally};
use crate::task::{AT_ONCE, End, Task};

/// A protocol without IO, with one association.
pub trait Stack {
    /// A packet came in.
    fn take(&mut self, now: Instant, source: SocketAddr, packet: &[u8]);
    /// The association is established.
    fn is_up(&self) -> bool;
    /// Queues the next message if there is room.
    fn send(&mut self, now: Instant) -> bool;
    /// The next message's length, its octets in one piece.
    fn receive(&mut self, now: Instant) -> Option<usize>;
    /// Hands all packets that may leave to the link.
    fn transmit(&mut self, now: Instant, link: &mut Link);
    /// When to look at timers next.
    fn due(&self) -> Option<Instant>;
    /// Looks at timers.
    fn on_time(&mut self, now: Instant);
}

/// Drives a stack until its task is over, and ends the process.
pub fn run(stack: &mut impl Stack, task: &Task) -> ! {
    let mut link = Link::bind(task);
    let mut tally = Tally::new(task);
    let mut round_trips = None;
    loop {
        let now = Instant::now();
        let has_received = link.receive(|source, packet| stack.take(now, source, packet));
        if stack.due().is_some_and(|due| due <= now) {
            stack.on_time(now);
        }
        let mut is_busy = false;
        while let Some(octets) = stack.receive(now) {
            match task.end {
                End::Receive | End::Send => tally.add(octets),
                End::Echo => is_busy |= stack.send(now),
                End::Ping => {
                    round_trips.get_or_insert_with(|| RoundTrips::begin(task)).next();
                    is_busy |= stack.send(now);
                }
            }
        }
        tally.look();
        if stack.is_up() {
            match task.end {
                End::Send => is_busy |= (0..AT_ONCE).take_while(|_| stack.send(now)).count() > 0,
                End::Ping if round_trips.is_none() => {
                    round_trips = Some(RoundTrips::begin(task));
                    stack.send(now);
                }
                End::Ping | End::Receive | End::Echo => {}
            }
        }
        stack.transmit(now, &mut link);
        link.flush();
        let is_idle = !link.has_sent() && !has_received && !is_busy;
        // Some learn only while they transmit that they are up: the first message is still to be sent then.
        let is_to_begin = stack.is_up() && task.end == End::Ping && round_trips.is_none();
        if is_idle || matches!(task.end, End::Ping | End::Echo) && !is_to_begin {
            link.wait(stack.due().map(|due| due.saturating_duration_since(Instant::now())));
        }
    }
}
