//! A wide-area network inside one Linux process, for real packets of the kernel and of our own stacks.
//!
//! Not here: what a link does to packets (crate `netem`), and what flows through it (crate `lab`).
//!
//! Every *side* is a thread in a network namespace of its own. Between two sides lies an [`EmulatedLink`]: a network
//! device at each end and the emulator's thread in the middle, which reads IP packets, asks a [`netem::Link`] per
//! direction what becomes of each, and writes them at their due time.
//!
//! ```text
//!   side "client" (netns)                emulator thread                  side "server" (netns)
//!   ┌──────────────────────┐    ┌─────────────────────────────┐    ┌──────────────────────┐
//!   │ sockets ── headway1 ─┼───►│ netem::Link  (request)      ├───►┼─ headway1 ── sockets │
//!   │ 10.77.1.1  fd77:1::1 │◄───┤ netem::Link  (response)     │◄───┤ 10.77.1.2  fd77:1::2 │
//!   └──────────────────────┘    └─────────────────────────────┘    └──────────────────────┘
//! ```
//!
//! Namespaces have no names and devices are not persistent: however the process ends, nothing stays behind.
//!
//! **Which packets count.** TCP, UDP, SCTP and ICMP echo are numbered from 1 per direction and impaired. ICMP
//! errors cross with the plain delay, unnumbered and never lost. Whatever the kernel says on its own account
//! (neighbour and router discovery, multicast groups) is swallowed and counted, so that a seed and
//! a list of numbers always mean the same packets.
//!
//! **Times.** The emulator waits in nanoseconds, wakes a little early and spins, and with root rights runs before all
//! ordinary threads. How late it was all the same is in the [`EmulatorReport`]. Octets, for rates and queues, are
//! those of the IP packet.
//!
//! **Privileges.** Root, or a user namespace: [`enter_user_namespace`] must be the first thing `main` does,
//! before any thread exists. [`permission`] tells beforehand what is missing.
//!
//! **Devices.** TUN devices, or pairs of virtual Ethernet devices where `/dev/net/tun` cannot be opened: [`device_kind`]
//! tells, and the report says which they were. Either way every packet is one IP packet of at most 1500 octets with its
//! checksums complete.
//!
//! ```no_run
//! use std::time::Duration;
//! use emulator::{EmulatedLink, EmulatorOptions, LinkEnd, World, enter_user_namespace};
//! use netem::Impairments;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! enter_user_namespace()?;
//! let wan = Impairments { delay: Duration::from_millis(10), ..Impairments::default() };
//! let mut world = World::new(vec![EmulatedLink::symmetric(1, wan, 1)])?;
//! let server = world.spawn_side("server", &[LinkEnd::server(1)], |side| {
//!     std::net::UdpSocket::bind((side.links[0].local_v4, 5000))
//! })?;
//! let client = world.spawn_side("client", &[LinkEnd::client(1)], |side| side.links[0].peer_v4)?;
//! let emulator = world.start(EmulatorOptions::default())?;
//! server.join()??;
//! println!("the server was {}", client.join()?);
//! println!("{} packets", emulator.stop()?.links[0].request.stats.offered);
//! # Ok(()) }
//! ```
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod capture;
mod checksum;
mod classify;
mod command;
mod device;
mod engine;
mod error;
mod host;
mod lane;
mod link;
mod namespace;
mod nat;
mod netlink;
mod permission;
mod report;
mod running;
mod world;

pub use capture::{CaptureFile, CapturePoint, beside};
pub use command::{CommandHandle, between, namespace_path, run_command};
pub use device::DeviceKind;
pub use error::{EmulatorError, SideError};
pub use host::{add_host_address, route_by_source, switch_device};
pub use link::{Direction, EmulatedLink, End, LinkEnd, LinkState, SideLink};
pub use nat::Outside;
pub use permission::{Permission, Refused, device_kind, enter_user_namespace, permission};
pub use report::{DelaySummary, DirectionReport, DroppedPacket, EmulatorReport, LATE_SEND, LinkReport};
pub use running::{EmulatorOptions, RunningEmulator, Scheduling, StopHandle};
pub use world::{Side, SideContext, World};
