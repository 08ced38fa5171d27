//! The addresses of this host as they come and go, from `rtnetlink(7)`.
//!
//! An address can be used while it is assigned, its interface is up and has a carrier, and (IPv6) nobody else has
//! it. Pulling a cable takes no address away, yet nothing sent from it arrives: so links are watched too. Owns the
//! netlink socket and what it told; what a lost address means for associations is the core's business.

mod message;
mod table;

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};

use self::message::{Dump, Messages, News};
use self::table::AddressTable;

/// An address of this host that can be used now and could not before, or the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressEvent {
    /// The address can be used from now on.
    Up(IpAddr),
    /// The address is gone, or its interface is.
    Down(IpAddr),
}

/// Watches the addresses of the network namespace it was opened in.
///
/// Its descriptor becomes readable when [`poll_event`](Self::poll_event) may have something to say.
#[derive(Debug)]
pub struct AddressWatch {
    socket: OwnedFd,
    table: AddressTable,
    events: VecDeque<AddressEvent>,
    buffer: Vec<u8>,
}

impl AddressWatch {
    /// Begins to watch, and reads what is there now. Needs no privilege.
    ///
    /// # Errors
    ///
    /// If the kernel gives no netlink socket.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        // Subscribed before the state is read: no change falls between the two.
        bind(
            socket.as_raw_fd(),
            &NetlinkAddr::new(0, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR),
        )?;
        let mut watch = Self {
            socket,
            table: AddressTable::default(),
            events: VecDeque::new(),
            buffer: vec![0; MESSAGE_BYTES],
        };
        watch.read_all()?;
        // What was there from the beginning is no event.
        watch.events.clear();
        Ok(watch)
    }

    /// Returns the addresses that can be used now.
    pub fn usable(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.table.usable()
    }

    /// Returns the next change, if there was one. Does not block.
    ///
    /// # Errors
    ///
    /// If the netlink socket fails: no further change will be seen.
    pub fn poll_event(&mut self) -> io::Result<Option<AddressEvent>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Ok(length) => {
                    let _end = self.take(length);
                }
                Err(Errno::EAGAIN) => return Ok(None),
                // More changed than the socket could hold: look at everything again.
                Err(Errno::ENOBUFS) => self.read_all()?,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads links and addresses anew; differences to what was known become events.
    fn read_all(&mut self) -> io::Result<()> {
        let known = core::mem::take(&mut self.table);
        for dump in [Dump::Links, Dump::Addresses] {
            send(self.socket.as_raw_fd(), &dump.request(), MsgFlags::empty())?;
            self.read_dump()?;
        }
        self.events = known.changes_to(&self.table).collect();
        Ok(())
    }

    /// Reads the answer to a dump, which the kernel gives at once, within the calls that read it.
    fn read_dump(&mut self) -> io::Result<()> {
        loop {
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Ok(length) if self.take(length) == DumpEnd::Reached => return Ok(()),
                Ok(_) | Err(Errno::EINTR | Errno::ENOBUFS) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take(&mut self, length: usize) -> DumpEnd {
        let mut end = DumpEnd::NotYet;
        for news in Messages::new(&self.buffer[..length]) {
            if news == News::DumpDone {
                end = DumpEnd::Reached;
            } else {
                self.events.extend(self.table.apply(news));
            }
        }
        end
    }
}

impl AsFd for AddressWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for AddressWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Whether the answer to a dump request is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DumpEnd {
    NotYet,
    Reached,
}

const RTMGRP_LINK: u32 = 1;
const RTMGRP_IPV4_IFADDR: u32 = 0x10;
const RTMGRP_IPV6_IFADDR: u32 = 0x100;

/// The kernel sends dumps in pieces of at most 32 KiB.
const MESSAGE_BYTES: usize = 32 << 10;

#[cfg(test)]
mod tests;
