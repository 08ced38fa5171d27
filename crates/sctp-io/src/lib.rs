//! The kernel side of the stack: how SCTP packets, time and entropy come in and go out.
//!
//! ```text
//!   sctp (tokio)      any other driver
//!        │                   │
//!        ▼                   ▼
//!   PacketIo::send      PacketIo::receive ─► ReceiveBatch ─► Datagram, Datagram, …
//!        │                   ▲
//!   UdpEncapsulation: one UDP socket, many associations (RFC 6951); RawIp: directly over IP, protocol 132;
//!   DatagramChannel: in datagrams of the caller's, DTLS for example (RFC 8261)
//!        │ GSO (UDP), ECN    │ GRO (UDP), recvmmsg, ECN, local address
//!        ▼                   │
//!      kernel ───────────────┘        Clock + Timer: CLOCK_MONOTONIC and a timerfd, in nanoseconds
//! ```
//!
//! What is here: non-blocking sockets behind [`PacketIo`], batches of received packets, the [`Clock`] that
//! turns the kernel's monotonic time into `virtual_time::Instant`, a [`Timer`] without the millisecond
//! rounding of event loops, the [`AddressWatch`] that tells of addresses that come and go, and [`os_entropy`]. What is not: any protocol knowledge, threads, an async
//! runtime. Sockets and timers are file descriptors ([`AsFd`](std::os::fd::AsFd)): a driver registers them
//! with whatever event loop it has.
//!
//! All of this is for Linux. On other systems there is SCTP in UDP by quinn-udp, a clock and entropy, and whatever else has a
//! name here refuses with an error that says why (`docs/decisions/0034`).
//!
//! ```
//! use sctp_core::{Destination, Encapsulation};
//! use sctp_io::{Outgoing, PacketIo, ReceiveBatch, UdpEncapsulation};
//!
//! # fn main() -> std::io::Result<()> {
//! let here = UdpEncapsulation::bind("127.0.0.1:0".parse().map_err(std::io::Error::other)?)?;
//! let there = UdpEncapsulation::bind("127.0.0.1:0".parse().map_err(std::io::Error::other)?)?;
//! let destination = Destination {
//!     address: there.local_address().ip(),
//!     encapsulation: Encapsulation::Udp { port: there.local_address().port() },
//! };
//! let mut packets = Outgoing::single(destination, b"one packet");
//! here.send(&mut packets)?;
//!
//! let mut batch = ReceiveBatch::new();
//! while there.receive(&mut batch).is_err() {} // a driver waits for readiness instead
//! let received: Vec<_> = batch.datagrams().map(|datagram| datagram.payload.to_vec()).collect();
//! assert_eq!(received, [b"one packet"]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod addresses;
mod batch;
#[cfg(target_os = "linux")]
mod channel;
mod clock;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod entropy;
#[cfg(target_os = "linux")]
mod header;
mod kernel;
mod packet_io;
#[cfg(target_os = "linux")]
mod raw;
mod raw_options;
#[cfg(target_os = "linux")]
mod timer;
#[cfg(target_os = "linux")]
mod udp;
#[cfg(target_os = "linux")]
mod wait;
#[cfg(target_os = "linux")]
mod watchdog;

#[cfg(target_os = "linux")]
pub use addresses::{AddressEvent, AddressWatch};
pub use batch::{Notice, ReceiveBatch};
#[cfg(target_os = "linux")]
pub use channel::DatagramChannel;
pub use clock::Clock;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{DualStackRawIp, RawIp, Timer, UdpEncapsulation};
pub use entropy::os_entropy;
pub use packet_io::{Descriptor, IoStatistics, NetworkError, NetworkErrorKind, Outgoing, PacketIo};
#[cfg(target_os = "linux")]
pub use raw::{DualStackRawIp, RawIp};
pub use raw_options::{KernelSctp, PortFilter, RawIpError, RawIpOptions};
#[cfg(target_os = "linux")]
pub use timer::Timer;
#[cfg(target_os = "linux")]
pub use udp::UdpEncapsulation;
#[cfg(target_os = "linux")]
pub use wait::{Doorbell, Room, Sources, Woken};
#[cfg(target_os = "linux")]
pub use watchdog::Watchdog;
