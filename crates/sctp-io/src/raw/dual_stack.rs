//! IPv4 and IPv6 together: two raw sockets that look like one, for associations with paths over both.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll;
use sctp_core::{Destination, SctpPort};

use super::RawIp;
use super::filter::Family;
use crate::batch::ReceiveBatch;
use crate::packet_io::{IoStatistics, NetworkError, Outgoing, PacketIo};
use crate::raw_options::{RawIpError, RawIpOptions};

/// Protocol 132 over both IP versions at one SCTP port.
///
/// There is no dual-stack raw socket, so there are two, joined by an epoll descriptor: it is readable when either socket
/// can be read, has an error, or has room to send again after it was full.
#[derive(Debug)]
pub struct DualStackRawIp {
    v4: RawIp,
    v6: RawIp,
    either: OwnedFd,
    /// Whether the IPv6 socket is read first next time, so that a flood on one does not silence the other.
    v6_first: AtomicBool,
    /// The epoll descriptor watches for room to send, too.
    watches_room: AtomicBool,
}

impl DualStackRawIp {
    /// Binds to an SCTP port at `addresses`, of which at least one is of either family; see [`RawIp::bind_with`].
    ///
    /// # Errors
    ///
    /// See [`RawIpError`]; [`RawIpError::NoAddress`] if a family is missing.
    pub fn bind_with(
        addresses: &[IpAddr],
        port: SctpPort,
        options: RawIpOptions,
    ) -> Result<Self, RawIpError> {
        let (v4, v6): (Vec<_>, Vec<_>) =
            addresses.iter().copied().partition(|address| Family::of(*address) == Family::V4);
        let v4 = RawIp::bind_with(&v4, port, options)?;
        let v6 = RawIp::bind_with(&v6, port, options)?;
        let at = |source| RawIpError::Socket { address: v6.local_address().ip(), source };
        let either = join([v4.as_fd(), v6.as_fd()]).map_err(at)?;
        Ok(Self { v4, v6, either, v6_first: AtomicBool::new(false), watches_room: AtomicBool::new(false) })
    }

    /// Asks to be woken when there is room to send, only while somebody waits for it: a socket nearly always
    /// has room.
    fn watch_room(&self, wanted: bool) -> io::Result<()> {
        if self.watches_room.swap(wanted, Ordering::Relaxed) == wanted {
            return Ok(());
        }
        let room = if wanted { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
        for socket in [&self.v4, &self.v6] {
            epoll::modify(&self.either, socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN | room)?;
        }
        Ok(())
    }

    fn leg(&self, destination: Destination) -> &RawIp {
        match Family::of(destination.address) {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        }
    }
}

fn join(sockets: [BorrowedFd<'_>; 2]) -> io::Result<OwnedFd> {
    let either = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for socket in sockets {
        epoll::add(&either, socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    }
    Ok(either)
}

impl PacketIo for DualStackRawIp {
    fn check(&self, destination: Destination) -> io::Result<()> {
        self.leg(destination).check(destination)
    }

    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        let outcome = self.leg(packets.destination).send(packets);
        let is_full = outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        self.watch_room(is_full)?;
        outcome
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        let v6_first = self.v6_first.fetch_xor(true, Ordering::Relaxed);
        let (first, second) = if v6_first { (&self.v6, &self.v4) } else { (&self.v4, &self.v6) };
        let outcome = match first.receive(batch) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => second.receive(batch),
            outcome => outcome,
        };
        batch.expect_more();
        outcome
    }

    /// Returns the next error of either socket.
    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        match self.v4.receive_error()? {
            Some(report) => Ok(Some(report)),
            None => self.v6.receive_error(),
        }
    }

    /// Returns `::`, which stands for all addresses, with the SCTP port.
    fn local_address(&self) -> SocketAddr {
        SocketAddr::new(std::net::Ipv6Addr::UNSPECIFIED.into(), self.v4.local_address().port())
    }

    fn statistics(&self) -> IoStatistics {
        self.v4.statistics() + self.v6.statistics()
    }
}

impl AsFd for DualStackRawIp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.either.as_fd()
    }
}
