//! SCTP packets in datagrams of the caller's: below WebRTC's data channels these are DTLS records (RFC 8261).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use sctp_core::{Destination, Ecn};

use crate::batch::{Message, ReceiveBatch};
use crate::kernel::{Counters, count, send_all};
use crate::packet_io::{IoStatistics, NetworkError, Outgoing, PacketIo};

/// A connected socket whose datagrams are SCTP packets.
///
/// One end of a `UnixDatagram::pair`, whose other end the program that encrypts reads and writes; or a connected UDP
/// socket, where nothing encrypts. There are no addresses: the peer is [`DatagramChannel::PEER`], and the association
/// has one path. The channel must keep the boundaries of datagrams; it may lose, double and reorder them.
///
/// The longest packet is the association's [`path_mtu.bytes`](sctp_core::PathMtuConfig); what the channel itself adds
/// is not counted.
#[derive(Debug)]
pub struct DatagramChannel {
    socket: OwnedFd,
    counters: Counters,
}

impl DatagramChannel {
    /// The peer at the other end, to connect to.
    pub const PEER: Destination = Destination::channel(0);

    /// Takes over `socket`, connected already, and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// If it is not a socket, or not one of datagrams (`InvalidInput`).
    pub fn new(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        use rustix::net::{SocketType, sockopt::socket_type};
        let socket = socket.into();
        if ![SocketType::DGRAM, SocketType::SEQPACKET].contains(&socket_type(&socket)?) {
            let reason = "a channel for SCTP must keep the boundaries of datagrams";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self { socket, counters: Counters::default() })
    }
}

impl PacketIo for DatagramChannel {
    fn check(&self, destination: Destination) -> io::Result<()> {
        if destination == Self::PEER {
            return Ok(());
        }
        let reason = "a channel of the caller's leads to one peer, DatagramChannel::PEER";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        self.check(packets.destination).inspect_err(|_| count(&self.counters.send_refused))?;
        send_all(packets, &self.counters, |packets| {
            let len = packets.segment_bytes.unwrap_or(usize::MAX).min(packets.contents.len());
            match rustix::net::send(&self.socket, &packets.contents[..len], SendFlags::NOSIGNAL) {
                // A Unix socket says so when the queue at the other end is full; it becomes writable like a full one.
                Err(Errno::NOBUFS) => return Err(Errno::AGAIN.into()),
                outcome => outcome?,
            };
            count(&self.counters.send_calls);
            count(&self.counters.packets_sent);
            Ok(len)
        })
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        let outcome = batch.fill_with(|buffers, _metas, arrived| {
            let (mut used, buffers_offered) = (0, buffers.len());
            for (slot, buffer) in buffers.iter_mut().enumerate() {
                let len = match rustix::net::recv(&self.socket, &mut **buffer, RecvFlags::empty()) {
                    Ok((len, _)) => len,
                    Err(Errno::AGAIN) if slot > 0 => break,
                    // What a connected UDP socket tells about an earlier packet: the peer is not there yet.
                    Err(Errno::CONNREFUSED) => {
                        self.counters.unreachable();
                        // More may wait behind it.
                        return Ok(buffers_offered);
                    }
                    Err(error) => return Err(error.into()),
                };
                let source = Self::PEER;
                arrived.push(
                    slot,
                    Message { source, local: None, ecn: Ecn::NotEct, contents: 0..len, stride: len },
                );
                used = slot + 1;
            }
            Ok(used)
        });
        self.counters.received(batch, outcome)
    }

    /// Returns no error ever: a channel reports nothing in this way.
    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        Ok(None)
    }

    /// Returns `0.0.0.0` with port 0, because a channel has no address.
    fn local_address(&self) -> SocketAddr {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    }

    fn statistics(&self) -> IoStatistics {
        self.counters.snapshot()
    }
}

impl AsFd for DatagramChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests;
