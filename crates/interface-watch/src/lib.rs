//! Reads what the Linux kernel says of links, addresses and default routes, as facts for [`mobility::Host`].
//!
//! ```text
//!  rtnetlink(7) ─► InterfaceWatch ─► mobility::Event ─► mobility::Host
//!                     │ ▲
//!                     └─┘ Told::Missed: read everything anew
//! ```
//!
//! What is here: a netlink socket that does not block, what its messages mean, and the reading of everything there is. What is not:
//! waiting (the descriptor becomes readable; under tokio, with the feature of this name, `LiveWatch` waits), and what follows from facts, which is `mobility`. No privilege is needed.
//!
//! ```no_run
//! use interface_watch::{InterfaceWatch, Told};
//! use mobility::{Damping, Host};
//! use virtual_time::Instant;
//!
//! # fn main() -> std::io::Result<()> {
//! let (now, mut host) = (Instant::from_millis(1), Host::new(Damping::default()));
//! let mut watch = InterfaceWatch::open()?;
//! host.read_anew(now, watch.read_all()?);
//! // Whenever the descriptor is readable:
//! match watch.poll()? {
//!     Told::Events(events) => {
//!         for event in events {
//!             let _counted = host.handle_event(now, event);
//!         }
//!     }
//!     Told::Missed => host.read_anew(now, watch.read_all()?),
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

#[cfg(feature = "tokio")]
mod live;
mod message;
mod routes;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use mobility::Event;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::route::RouteMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

#[cfg(feature = "tokio")]
pub use self::live::LiveWatch;
use self::routes::DefaultRoutes;

/// Watches the interfaces of the network namespace that it was opened in.
pub struct InterfaceWatch {
    socket: Socket,
    routes: DefaultRoutes,
    buffer: Vec<u8>,
    /// The number of the dump that is read.
    sequence: u32,
}

/// The news of the kernel since it was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The kernel has told these facts, in their order; none if nothing has changed.
    Events(Vec<Event>),
    /// More than the socket could hold: [`InterfaceWatch::read_all`] says how things stand.
    Missed,
}

impl InterfaceWatch {
    /// Begins to watch. What is there already says [`read_all`](Self::read_all).
    ///
    /// # Errors
    ///
    /// If the kernel gives no netlink socket.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, GROUPS))?;
        socket.set_non_blocking(true)?;
        Ok(Self { socket, routes: DefaultRoutes::default(), buffer: vec![0; MESSAGE_BYTES], sequence: 0 })
    }

    /// Returns what has changed. Does not block.
    ///
    /// # Errors
    ///
    /// If the socket fails: no further change will be seen.
    pub fn poll(&mut self) -> io::Result<Told> {
        let mut events = Vec::new();
        loop {
            match self.receive() {
                Ok(length) => {
                    self.take(length, &mut events)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Told::Events(events)),
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => return Ok(Told::Missed),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads links, addresses and routes as they are now, for [`Host::read_anew`](mobility::Host::read_anew). Changes that come
    /// meanwhile are among them; where one of them was lost, everything is read once more.
    ///
    /// # Errors
    ///
    /// If the socket fails, the kernel refuses, or so much changes that again and again the socket cannot hold it (ENOBUFS).
    pub fn read_all(&mut self) -> io::Result<Vec<Event>> {
        for _ in 0..READINGS {
            // What waits is older than what is read now, and may lack what took it back. The kernel drops changes without a word until an
            // overrun socket is empty.
            self.empty()?;
            if let Some(events) = self.read_once()? {
                return Ok(events);
            }
        }
        Err(io::Error::from_raw_os_error(ENOBUFS))
    }

    /// Drops what waits, at most a bounded number of messages.
    fn empty(&mut self) -> io::Result<()> {
        for _ in 0..DROPPED_MOST {
            match self.receive() {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads everything once; `None` where a change was lost meanwhile.
    fn read_once(&mut self) -> io::Result<Option<Vec<Event>>> {
        self.routes = DefaultRoutes::default();
        let mut events = Vec::new();
        let requests = [
            RouteNetlinkMessage::GetLink(LinkMessage::default()),
            RouteNetlinkMessage::GetAddress(AddressMessage::default()),
            RouteNetlinkMessage::GetRoute(RouteMessage::default()),
        ];
        for request in requests {
            self.ask(request)?;
            if self.read_dump(&mut events)? == DumpEnd::Lost {
                return Ok(None);
            }
        }
        Ok(Some(events))
    }

    fn ask(&mut self, request: RouteNetlinkMessage) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
        message.finalize();
        let mut octets = vec![0; message.buffer_len()];
        message.serialize(&mut octets);
        self.socket.send(&octets, 0).map(|_| ())
    }

    /// Reads the answer to a dump, which the kernel gives at once, within the calls that read it.
    fn read_dump(&mut self, events: &mut Vec<Event>) -> io::Result<DumpEnd> {
        loop {
            match self.receive() {
                Ok(length) if self.take(length, events)? == DumpEnd::Reached => return Ok(DumpEnd::Reached),
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => return Ok(DumpEnd::Lost),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        self.socket.recv(&mut &mut self.buffer[..], 0)
    }

    /// Takes in the messages of one read. One that cannot be read ends it: where the next begins is not known then.
    #[allow(clippy::wildcard_enum_match_arm, reason = "what the kernel may say is much, and not ours")]
    fn take(&mut self, length: usize, events: &mut Vec<Event>) -> io::Result<DumpEnd> {
        let mut rest = self.buffer.get(..length).unwrap_or_default();
        let mut end = DumpEnd::NotYet;
        while rest.len() >= HEADER_BYTES {
            let Some(message_bytes) = message_length(rest) else { break };
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&rest[..message_bytes]);
            rest = rest.get(message_bytes.next_multiple_of(4)..).unwrap_or_default();
            // The library refuses what it does not know; that is about none of our facts.
            let Ok(message) = message else { continue };
            let is_ours = message.header.sequence_number == self.sequence;
            match message.payload {
                NetlinkPayload::InnerMessage(inner) => message::read(&inner, &mut self.routes, events),
                NetlinkPayload::Done(_) if is_ours => end = DumpEnd::Reached,
                NetlinkPayload::Error(error) if is_ours && error.code.is_some() => return Err(error.to_io()),
                _ => {}
            }
        }
        Ok(end)
    }
}

/// Returns the length that the message at the beginning says it has, if it can be that long.
fn message_length(octets: &[u8]) -> Option<usize> {
    let length = usize::try_from(u32::from_ne_bytes(*octets.first_chunk()?)).ok()?;
    (length >= HEADER_BYTES && length <= octets.len()).then_some(length)
}

/// Whether the answer to a dump is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DumpEnd {
    NotYet,
    Reached,
    /// A change was lost while it was read.
    Lost,
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for InterfaceWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl std::fmt::Debug for InterfaceWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InterfaceWatch").field("routes", &self.routes).finish_non_exhaustive()
    }
}

/// The groups RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR and RTMGRP_IPV6_ROUTE of `rtnetlink(7)`.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;
/// The error of a socket whose buffer was full.
const ENOBUFS: i32 = 105;
/// How often everything is read, at most, until nothing is lost meanwhile.
const READINGS: usize = 16;
/// Messages that are dropped at once at most: a socket of the usual size holds some hundred.
const DROPPED_MOST: usize = 65_536;
const HEADER_BYTES: usize = 16;
/// The kernel makes no dump message longer than this.
const MESSAGE_BYTES: usize = 32 << 10;

#[cfg(test)]
mod tests;
