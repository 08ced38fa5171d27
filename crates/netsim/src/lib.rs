//! A deterministic discrete-event simulator that runs shipping protocol code.
//!
//! A [`World`] holds hosts, the interfaces they have and the links between them. Hosts are sans-IO cores behind
//! the [`Host`] trait; a link is one [`netem::Link`] per direction. Time is virtual: it jumps from one event to
//! the next, so that an hour of idle heartbeats costs nothing and a busy second costs what its packets cost.
//!
//! ```text
//!              ┌─────────────────────────── World ───────────────────────────┐
//!              │   event queue: (time, order, which host or link is due)     │
//!              │        │ timer due                     │ packet due         │
//!  with_host ──┼─► Host ◄┘  poll_transmit ─► route ─► netem::Link ─► Host     │
//!              │   (mutate → drain poll_transmit → read poll_timeout)        │
//!              └──────────────┬───────────────────────────────┬──────────────┘
//!                        pcapng capture                   trace hash
//! ```
//!
//! * **Determinism.** Everything is a function of the topology, the hosts and the seed. Events of the same time
//!   happen in the order they were armed in. Each link direction and each host has random streams of its own,
//!   derived from the seed and its own number: another host changes no one's losses.
//!   [`World::trace_hash`] is equal for equal runs.
//! * **Addresses.** A packet leaves by the interface that owns its source address or, without one, by the
//!   interface whose link leads to the destination. A host takes every packet for one of its addresses, whichever
//!   interface it comes in by.
//! * **Speed.** Events are plain values, packets live in recycled buffers, timers that move later cost nothing.
//!
//! * **Routers** forward what comes by one interface to another one; [`World::compute_routes`] finds the shortest ways.
//!   Queues belong to links: the limit and discipline of [`netem::Impairments::queue`].
//!
//! * **Fragments.** A host in [`Fragmenting`] cuts what exceeds its MTU and puts together what arrives cut.
//!
//! What is not here: MTUs of links, ICMP, checksums of SCTP and TCP (their cores
//! compute them). A bit flipped in a UDP packet makes it fail the UDP checksum, so its receiver never sees it;
//! other protocols get the damaged payload.
//!
//! ```
//! use core::time::Duration;
//! use netem::Impairments;
//! use netsim::{Host, LinkSpec, Outgoing, Packet, Protocol, World};
//! use virtual_time::Instant;
//!
//! /// Sends one packet when asked to and remembers when one came.
//! #[derive(Default)]
//! struct Peer { outbox: Option<Outgoing>, received_at: Option<Instant> }
//!
//! impl Host for Peer {
//!     fn handle_packet(&mut self, now: Instant, _: Packet<'_>) { self.received_at = Some(now); }
//!     fn handle_timeout(&mut self, _: Instant) {}
//!     fn poll_transmit(&mut self, _: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
//!         let outgoing = self.outbox.take()?;
//!         buffer.extend_from_slice(b"hello");
//!         Some(outgoing)
//!     }
//!     fn poll_timeout(&self) -> Option<Instant> { None }
//! }
//!
//! let mut world = World::new(1);
//! let (left, right) = (world.add_host(Peer::default()), world.add_host(Peer::default()));
//! let a = world.add_interface(left, &["10.0.0.1".parse()?])?;
//! let b = world.add_interface(right, &["10.0.0.2".parse()?])?;
//! let wan = Impairments { delay: Duration::from_millis(20), ..Impairments::default() };
//! world.connect(a, b, LinkSpec::symmetric(wan))?;
//!
//! let destination = "10.0.0.2".parse()?;
//! world.with_host(left, |peer, _| {
//!     peer.outbox =
//!         Some(Outgoing { source: None, destination, protocol: Protocol::Sctp, len: 5, segment_bytes: None });
//! });
//! world.run_until(Instant::from_millis(1000));
//! assert_eq!(world.host(right).received_at, Some(Instant::from_millis(20)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod capture;
mod checksum;
mod counters;
mod fragmentation;
mod frames;
mod host;
mod id;
mod queue;
mod routes;
pub mod sctp;
pub mod tcp;
mod trace;
mod world;

pub use capture::{CaptureError, CapturePoint, CaptureScope};
pub use counters::Counters;
pub use fragmentation::{FragmentCounters, Fragmenting};
pub use host::{Host, Outgoing, Packet, Protocol};
pub use id::{Direction, HostId, InterfaceId, LinkId, RouterId};
pub use world::{ConnectError, Ended, InterfaceError, KeptPacket, LinkSpec, LinkState, World};
