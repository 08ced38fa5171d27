//! SCTP in UDP (RFC 6951): one UDP socket carries the packets of any number of associations.
//!
//! Owns the socket, its options and its counters. Which association a packet belongs to is the core's
//! business; the UDP ports only get it through middleboxes.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{EcnCodepoint, Transmit, TransportErrorPayload, UdpSocketState};
use sctp_core::{Destination, Ecn, Encapsulation};
use socket2::{Domain, Protocol, Socket, Type};

use crate::batch::ReceiveBatch;
use crate::packet_io::{IoStatistics, NetworkError, NetworkErrorKind, Outgoing, PacketIo};

/// A UDP socket that carries SCTP packets.
///
/// Bound to exactly the address given. `0.0.0.0` serves every IPv4 address of the host; `[::]` serves every
/// IPv6 *and* every IPv4 address (dual-stack: `IPV6_V6ONLY` is switched off, whatever the system's default), so that
/// one endpoint with addresses of both families needs one port and one socket. IPv4 peers of a dual-stack
/// socket are reported with their IPv4 address. A specific address restricts the socket to it.
///
/// Options set: segmentation and receive offload, ECN and local address of received packets, no
/// fragmentation by the kernel (DF), ICMP errors by the error queue, 4 MiB of buffer each way.
#[derive(Debug)]
pub struct UdpEncapsulation {
    socket: Socket,
    state: UdpSocketState,
    local: SocketAddr,
    counters: Counters,
}

impl UdpEncapsulation {
    /// Binds a socket to `address`; port 0 lets the system choose.
    ///
    /// The registered port for SCTP in UDP is 9899 (RFC 6951 §7).
    ///
    /// # Errors
    ///
    /// If the address is in use, not ours, or its family is not available.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&address.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        // Timestamps that nobody reads overflow the 96 octets quinn-udp keeps for control messages when
        // packets are coalesced; the kernel then drops what comes last, which is the ECN field.
        setsockopt(&socket, sockopt::ReceiveTimestampns, &false)?;
        state.enable_transport_errors((&socket).into())?;
        enlarge_buffers(&socket)?;
        let local = socket.local_addr()?.as_socket().unwrap_or(address);
        Ok(Self { socket, state, local, counters: Counters::default() })
    }

    /// The sizes of the socket's send and receive buffers as the system granted them, in octets.
    ///
    /// Linux counts its bookkeeping too and so reports twice what was asked for. Less than twice
    /// 4 MiB means `net.core.wmem_max` or `net.core.rmem_max` is in the way.
    ///
    /// # Errors
    ///
    /// None in practice; what the kernel says otherwise.
    pub fn buffer_bytes(&self) -> io::Result<(usize, usize)> {
        Ok((self.socket.send_buffer_size()?, self.socket.recv_buffer_size()?))
    }

    /// One system call with as many packets of `packets` as it takes; how many octets went.
    fn send_some(&self, packets: &Outgoing<'_>, destination: SocketAddr) -> io::Result<usize> {
        let segment = packets.segment_bytes.unwrap_or(packets.contents.len()).max(1);
        let segments = (OFFLOAD_BYTES / segment).clamp(1, self.state.max_gso_segments());
        let len = packets.contents.len().min(segments * segment);
        let transmit = Transmit {
            destination,
            ecn: codepoint(packets.ecn),
            contents: &packets.contents[..len],
            segment_size: (len > segment).then_some(segment),
            src_ip: packets.source,
        };
        self.state.try_send((&self.socket).into(), &transmit)?;
        count(&self.counters.send_calls);
        add(&self.counters.packets_sent, len.div_ceil(segment));
        Ok(len)
    }

    /// `destination` as this socket's family needs it.
    fn socket_address(&self, destination: Destination) -> io::Result<SocketAddr> {
        let Encapsulation::Udp { port } = destination.encapsulation else {
            let reason = "a UDP socket cannot send to a destination without UDP encapsulation";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        };
        match (self.local, destination.address) {
            (SocketAddr::V4(_), IpAddr::V4(_)) | (SocketAddr::V6(_), IpAddr::V6(_)) => {
                Ok(SocketAddr::new(destination.address, port))
            }
            (SocketAddr::V6(_), IpAddr::V4(address)) => {
                Ok(SocketAddr::new(address.to_ipv6_mapped().into(), port))
            }
            (SocketAddr::V4(_), IpAddr::V6(_)) => {
                let reason =
                    "a socket bound to an IPv4 address cannot reach an IPv6 destination; bind to [::]";
                Err(io::Error::new(io::ErrorKind::Unsupported, reason))
            }
        }
    }
}

impl PacketIo for UdpEncapsulation {
    fn check(&self, destination: Destination) -> io::Result<()> {
        self.socket_address(destination).map(|_| ())
    }

    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        let destination =
            self.socket_address(packets.destination).inspect_err(|_| count(&self.counters.send_refused))?;
        let mut is_retry = false;
        while !packets.contents.is_empty() {
            match self.send_some(packets, destination) {
                Ok(len) => packets.contents = &packets.contents[len..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    count(&self.counters.send_blocked);
                    return Err(error);
                }
                // The error may be an ICMP report about an earlier packet, perhaps of another destination,
                // or quinn-udp may just have learned that the device cannot segment: the second try tells.
                Err(_) if !is_retry => is_retry = true,
                Err(error) if quinn_udp::is_msg_size_err(&error) => {
                    count(&self.counters.send_too_big);
                    return Err(error);
                }
                Err(error) => {
                    count(&self.counters.send_refused);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        loop {
            match batch.fill_with(|slots| self.state.recv((&self.socket).into(), slots.buffers, slots.metas))
            {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                // A pending ICMP report makes the call fail once; without one the socket is broken.
                Err(error) => match self.receive_error()? {
                    Some(_) => {}
                    None if is_report(&error) => {}
                    None => return Err(error),
                },
            }
        }
        count(&self.counters.receive_calls);
        add(&self.counters.packets_received, batch.datagrams().count());
        Ok(())
    }

    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        let Some(report) = self.state.recv_transport_error((&self.socket).into())? else {
            return Ok(None);
        };
        let kind = match report.payload {
            TransportErrorPayload::Unreachable => {
                count(&self.counters.reported_unreachable);
                NetworkErrorKind::Unreachable
            }
            TransportErrorPayload::TooBig { mtu } => {
                count(&self.counters.reported_too_big);
                NetworkErrorKind::TooBig { mtu_bytes: mtu }
            }
            // The enum is marked as growing, so what is not known yet counts as other too.
            TransportErrorPayload::Other | _ => {
                count(&self.counters.reported_other);
                NetworkErrorKind::Other(report.raw_errno)
            }
        };
        Ok(Some(NetworkError { reporter: report.addr.map(|address| address.ip().to_canonical()), kind }))
    }

    fn local_address(&self) -> SocketAddr {
        self.local
    }

    fn statistics(&self) -> IoStatistics {
        self.counters.snapshot()
    }
}

impl AsFd for UdpEncapsulation {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// [`IoStatistics`], countable from several threads.
#[derive(Debug, Default)]
struct Counters {
    packets_sent: AtomicU64,
    send_calls: AtomicU64,
    packets_received: AtomicU64,
    receive_calls: AtomicU64,
    send_blocked: AtomicU64,
    send_too_big: AtomicU64,
    send_refused: AtomicU64,
    reported_unreachable: AtomicU64,
    reported_too_big: AtomicU64,
    reported_other: AtomicU64,
}

impl Counters {
    fn snapshot(&self) -> IoStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        IoStatistics {
            packets_sent: read(&self.packets_sent),
            send_calls: read(&self.send_calls),
            packets_received: read(&self.packets_received),
            receive_calls: read(&self.receive_calls),
            send_blocked: read(&self.send_blocked),
            send_too_big: read(&self.send_too_big),
            send_refused: read(&self.send_refused),
            reported_unreachable: read(&self.reported_unreachable),
            reported_too_big: read(&self.reported_too_big),
            reported_other: read(&self.reported_other),
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn add(counter: &AtomicU64, packets: usize) {
    counter.fetch_add(u64::try_from(packets).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Asks for [`BUFFER_BYTES`] each way: beyond the system's limit where the process may (CAP_NET_ADMIN), up to
/// it otherwise.
fn enlarge_buffers(socket: &Socket) -> io::Result<()> {
    use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force};
    if set_socket_send_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        socket.set_send_buffer_size(BUFFER_BYTES)?;
    }
    if set_socket_recv_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        socket.set_recv_buffer_size(BUFFER_BYTES)?;
    }
    Ok(())
}

/// Whether `error` is one an ICMP report leaves on a socket.
fn is_report(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable
    ) || quinn_udp::is_msg_size_err(error)
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

/// Buffer asked for in each direction: 40 ms of a 1 Gbit/s link, and a burst of thousands of small requests.
const BUFFER_BYTES: usize = 4 << 20;

/// What one call with segmentation offload may carry: a UDP datagram over IPv6 or IPv4, rounded down.
const OFFLOAD_BYTES: usize = 65_000;

#[cfg(test)]
mod tests;
