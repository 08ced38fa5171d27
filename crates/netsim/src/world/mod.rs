//! The world: hosts, links, virtual time, and the loop that drives them.
//!
//! Here is who is next. What is connected to what is in `topology`, who forwards what in `routing`, how packets travel in
//! `traffic`.

mod routing;
mod topology;
mod traffic;

pub use topology::{ConnectError, InterfaceError, LinkSpec, LinkState};

use std::net::IpAddr;

use virtual_time::Instant;

use crate::capture::{Capture, CaptureError, CapturePoint, CaptureScope};
use crate::counters::Counters;
use crate::frames::{FrameId, Frames};
use crate::host::{Host, Protocol};
use crate::id::{Direction, HostId, LaneId, LinkId};
use crate::queue::{Due, EventQueue, Seat};
use crate::trace::TraceHash;
use routing::Router;
use topology::{Interface, Lane};

use crate::routes::AddressTable;

/// A simulated network of hosts of type `H` (an enum where they differ in kind).
///
/// Between two calls every host is at rest: its packets are on their links and its timer is in the queue.
/// Mutate a host through [`with_host`](World::with_host), or call [`wake`](World::wake) after
/// [`host_mut`](World::host_mut), so that this stays true.
///
/// # Panics
/// Methods that take an id panic when it comes from another world and is out of range here.
#[derive(Debug)]
pub struct World<H> {
    seed: u64,
    now: Instant,
    queue: EventQueue,
    hosts: Vec<HostSlot<H>>,
    routers: Vec<Router>,
    interfaces: Vec<Interface>,
    lanes: Vec<Lane>,
    frames: Frames,
    /// The frame that the next packet is written into.
    blank: FrameId,
    /// A packet with its flipped bit.
    damaged: Vec<u8>,
    trace: TraceHash,
    counters: Counters,
    captures: Vec<Capture>,
    kept: Option<KeptPackets>,
}

impl<H: Host> World<H> {
    /// Creates an empty world at [`Instant::EPOCH`]. Equal seeds, topologies and hosts give equal runs.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut frames = Frames::default();
        let blank = frames.claim();
        Self {
            seed,
            now: Instant::EPOCH,
            queue: EventQueue::default(),
            hosts: Vec::new(),
            routers: Vec::new(),
            interfaces: Vec::new(),
            lanes: Vec::new(),
            frames,
            blank,
            damaged: Vec::new(),
            trace: TraceHash::new(seed),
            counters: Counters::default(),
            captures: Vec::new(),
            kept: None,
        }
    }

    /// Returns the virtual time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the seed of the run.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Handles everything due until `deadline`, inclusive; afterwards it is `deadline`.
    pub fn run_until(&mut self, deadline: Instant) {
        while self.step_until(deadline).is_some() {}
        self.now = self.now.max(deadline);
    }

    /// Runs as long as `condition` holds, checked before each event, and at most until `deadline`, inclusive.
    pub fn run_while(&mut self, deadline: Instant, mut condition: impl FnMut(&Self) -> bool) -> Ended {
        loop {
            if !condition(self) {
                return Ended::ConditionFailed;
            }
            if self.step_until(deadline).is_none() {
                break;
            }
        }
        if self.next_event().is_none() {
            return Ended::Idle;
        }
        self.now = self.now.max(deadline);
        Ended::Deadline
    }

    /// Handles the next event and says when it happened; `None` when nothing will ever happen again by itself.
    ///
    /// One event is one timer of one host, or all packets that leave one link direction at one instant.
    pub fn step(&mut self) -> Option<Instant> {
        self.step_until(Instant::MAX)
    }

    /// Returns when the next event will happen if nobody interferes; `None`: never.
    pub fn next_event_at(&mut self) -> Option<Instant> {
        self.next_event().map(|(at, _)| at)
    }

    /// Changes a host, then takes out the packets it has to send and reads its timer.
    pub fn with_host<R>(&mut self, id: HostId, change: impl FnOnce(&mut H, Instant) -> R) -> R {
        let result = change(&mut self.hosts[id.0].host, self.now);
        self.wake(id);
        result
    }

    /// Takes out the packets the host has to send and reads its timer; needed after [`host_mut`](World::host_mut).
    pub fn wake(&mut self, id: HostId) {
        self.drain(id);
        self.arm_host(id);
    }

    /// Returns the host with this number.
    #[must_use]
    pub fn host(&self, id: HostId) -> &H {
        &self.hosts[id.0].host
    }

    /// Returns a host, to change; call [`wake`](World::wake) afterwards.
    #[must_use]
    pub fn host_mut(&mut self, id: HostId) -> &mut H {
        &mut self.hosts[id.0].host
    }

    /// Returns all hosts, in the order they were added in.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, &H)> {
        self.hosts.iter().enumerate().map(|(index, slot)| (HostId(index), &slot.host))
    }

    /// Ends the world: its hosts, in the order they were added in.
    pub fn into_hosts(self) -> impl Iterator<Item = H> {
        self.hosts.into_iter().map(|slot| slot.host)
    }

    /// Returns a hash over time, link, direction, length, content and fate of every packet delivered or dropped
    /// so far. The same on every platform; recorded hashes stay valid.
    #[must_use]
    pub const fn trace_hash(&self) -> u64 {
        self.trace.value()
    }

    /// Leaves the octets of packets out of [`trace_hash`](Self::trace_hash) from now on, for hosts whose octets no seed
    /// decides, such as those of TLS.
    pub const fn leave_octets_out_of_trace(&mut self) {
        self.trace.leave_out_octets();
    }

    /// Returns the counters of the world.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the counters of one direction of a link.
    #[must_use]
    pub fn link_stats(&self, link: LinkId, direction: Direction) -> &netem::LinkStats {
        self.lanes[LaneId::new(link, direction).0].link.stats()
    }

    /// Writes packets from now on to `writer`, as pcapng with nanosecond times that Wireshark opens. There may be
    /// several captures at once.
    ///
    /// # Errors
    /// When the file header cannot be written.
    pub fn capture(
        &mut self,
        writer: Box<dyn std::io::Write + Send>,
        scope: CaptureScope,
        point: CapturePoint,
    ) -> Result<(), CaptureError> {
        self.captures.push(Capture::new(writer, scope, point)?);
        Ok(())
    }

    /// Keeps every packet from now on that does not arrive whole, in memory that grows with their number; and the first of
    /// all, with which streams begin.
    pub fn keep_lost_packets(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Returns the packets that did not arrive whole since [`keep_lost_packets`](World::keep_lost_packets), in the order of
    /// their fates.
    #[must_use]
    pub fn lost_packets(&self) -> &[KeptPacket] {
        self.kept.as_ref().map_or(&[], |kept| &kept.lost)
    }

    /// Returns the first thousand packets that hosts sent since [`keep_lost_packets`](World::keep_lost_packets).
    #[must_use]
    pub fn first_packets(&self) -> &[KeptPacket] {
        self.kept.as_ref().map_or(&[], |kept| &kept.first)
    }

    /// Ends all captures and flushes their writers.
    ///
    /// # Errors
    /// The first failure of any write since the capture began.
    pub fn finish_captures(&mut self) -> Result<(), CaptureError> {
        self.captures.drain(..).map(Capture::finish).fold(Ok(()), Result::and)
    }

    fn step_until(&mut self, deadline: Instant) -> Option<Instant> {
        let (at, seat) = self.next_event()?;
        if at > deadline {
            return None;
        }
        self.now = at;
        match self.queue.who(seat) {
            Due::Host(id) => self.time_out(id),
            Due::Lane(id) => self.unload(id),
        }
        Some(at)
    }

    /// Returns the next event that is really due, left at the top of the queue: hosts whose timers have moved are armed
    /// anew.
    fn next_event(&mut self) -> Option<(Instant, Seat)> {
        loop {
            let (at, seat) = self.queue.first()?;
            let due = match self.queue.who(seat) {
                Due::Host(id) => self.hosts[id.0].due,
                Due::Lane(_) => Some(at),
            };
            if due.is_some_and(|due| due <= at) {
                return Some((at, seat));
            }
            self.queue.rearm(seat, due);
        }
    }

    fn time_out(&mut self, id: HostId) {
        self.hosts[id.0].host.handle_timeout(self.now);
        self.counters.events += 1;
        self.counters.timeouts += 1;
        self.drain(id);
        let slot = &mut self.hosts[id.0];
        slot.due = slot.host.poll_timeout();
        self.queue.rearm(slot.seat, slot.due.map(|due| due.max(self.now)));
    }

    /// Reads the timer of a host that is at rest.
    fn arm_host(&mut self, id: HostId) {
        let slot = &mut self.hosts[id.0];
        slot.due = slot.host.poll_timeout();
        if let Some(due) = slot.due {
            self.queue.arm(slot.seat, due.max(self.now));
        }
    }
}

/// Packets that are kept for whoever wants to know what was in them.
#[derive(Debug, Default)]
struct KeptPackets {
    /// The packets that a link dropped, or damaged so that the receiver drops them.
    lost: Vec<KeptPacket>,
    first: Vec<KeptPacket>,
}

/// How many of a world's packets count as its first ones.
const FIRST_PACKETS: usize = 1000;

/// A packet as a host sent it, kept to be looked into after the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptPacket {
    /// The protocol of the payload.
    pub protocol: Protocol,
    /// The address that the packet was sent from.
    pub source: IpAddr,
    /// The address that the packet was sent to.
    pub destination: IpAddr,
    /// The octets behind the IP header, and behind the UDP header if there is one, as they were sent.
    pub payload: Vec<u8>,
}

/// The reason why [`World::run_while`] came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The condition no longer holds.
    ConditionFailed,
    /// The deadline has come; it is now that time.
    Deadline,
    /// No packet is under way and no timer runs; the time is that of the last event.
    Idle,
}

/// A host and what the world knows about it.
#[derive(Debug)]
struct HostSlot<H> {
    host: H,
    seat: Seat,
    /// The time for which its timer is set.
    due: Option<Instant>,
    /// The addresses of the host, and the interface that has each.
    addresses: AddressTable,
    /// The addresses it can reach, and its interface that leads to each.
    neighbours: AddressTable,
}
