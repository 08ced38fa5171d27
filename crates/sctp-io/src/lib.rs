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
//! Linux only for now: the timer is a timerfd, and offload is what the Linux kernel gives.
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

mod addresses;
mod batch;
mod channel;
mod clock;
mod entropy;
mod header;
mod kernel;
mod packet_io;
mod raw;
mod timer;
mod udp;
mod wait;

pub use addresses::{AddressEvent, AddressWatch};
pub use batch::{Notice, ReceiveBatch};
pub use channel::DatagramChannel;
pub use clock::Clock;
pub use entropy::os_entropy;
pub use packet_io::{IoStatistics, NetworkError, NetworkErrorKind, Outgoing, PacketIo};
pub use raw::{DualStackRawIp, KernelSctp, PortFilter, RawIp, RawIpError, RawIpOptions};
pub use timer::Timer;
pub use udp::UdpEncapsulation;
pub use wait::{Doorbell, Room, Sources, Woken};
