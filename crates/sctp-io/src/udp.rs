//! SCTP in UDP (RFC 6951): one UDP socket carries the packets of any number of associations.
//!
//! Owns the socket, its options and its counters. Which association a packet belongs to is the core's
//! business; the UDP ports only get it through middleboxes.

mod shards;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU16;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::io::Errno;
use sctp_core::{Destination, Dscp, Encapsulation, Fragmentation};
use socket2::{Domain, Protocol, Socket, Type};

use self::shards::deal_by_tag;
use crate::batch::{Message, ReceiveBatch, codepoint, from_codepoint};
use crate::header::{DontFragment, Families, Marked, Strictness};
use crate::kernel::{Counters, add, count, enlarge_buffers, past_reports, send_all};
use crate::packet_io::{IoStatistics, NetworkError, Outgoing, PacketIo, udp_address};

/// A UDP socket that carries SCTP packets.
///
/// Bound to exactly the address given. `0.0.0.0` serves every IPv4 address of the host; `[::]` serves every
/// IPv6 *and* every IPv4 address (dual-stack: `IPV6_V6ONLY` is switched off, whatever the system's default), so that
/// one endpoint with addresses of both families needs one port and one socket. IPv4 peers of a dual-stack
/// socket are reported with their IPv4 address. A specific address restricts the socket to it; several are served by
/// [`bind_addresses`](Self::bind_addresses).
///
/// Options set: segmentation and receive offload, ECN and local address of received packets, fragmentation (DF) as the
/// packets sent ask for it, ICMP errors by the error queue, 4 MiB of buffer each way.
#[derive(Debug)]
pub struct UdpEncapsulation {
    socket: Socket,
    state: UdpSocketState,
    local: SocketAddr,
    /// Local addresses whose packets are taken; none stands for all the socket gets.
    serves: Vec<IpAddr>,
    dont_fragment: DontFragment,
    counters: Counters,
}

impl UdpEncapsulation {
    /// Binds a socket to `address`; port 0 lets the system choose. The port is had by one socket at a time.
    ///
    /// The registered port for SCTP in UDP is 9899 (RFC 6951 §7).
    ///
    /// # Errors
    ///
    /// If the address is in use, not ours, or its family is not available.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::open(address, Vec::new())
    }

    /// Binds a socket to the same port at each of `addresses`: a multi-homed endpoint's.
    ///
    /// The socket is bound to the port at every address of the host, and packets for other addresses than these are
    /// ignored and counted. One address is bound as [`bind`](Self::bind) does. `port` 0 lets the system choose.
    ///
    /// # Errors
    ///
    /// If there is no address, one is not this host's, or the port is in use at any address.
    pub fn bind_addresses(addresses: &[IpAddr], port: u16) -> io::Result<Self> {
        if let [address] = addresses {
            return Self::bind(SocketAddr::new(*address, port));
        }
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no address to bind to"));
        }
        for address in addresses {
            // The kernel does not look at what is bound by nobody.
            std::net::UdpSocket::bind((*address, 0))?;
        }
        let any_v4 = IpAddr::from(Ipv4Addr::UNSPECIFIED);
        let any = if addresses.iter().all(IpAddr::is_ipv4) { any_v4 } else { Ipv6Addr::UNSPECIFIED.into() };
        let serves = if addresses.contains(&any) { Vec::new() } else { addresses.to_vec() };
        Self::open(SocketAddr::new(any, port), serves)
    }

    /// Binds `count` sockets to the same `address`, among which the kernel deals packets: socket *i* is given those whose
    /// verification tag leaves *i* when divided by `count`, so that each association stays with one of them
    /// ([`TagShare`](sctp_core::TagShare)). Packets without a tag of ours, INIT above all, are dealt by where they come
    /// from. Port 0 lets the system choose.
    ///
    /// The port is had by these sockets alone, as by [`bind`](Self::bind): a second call for it fails, in whatever process.
    /// Another program of the same user can only join in by `SO_REUSEPORT` of its own, and is then dealt nothing.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub fn bind_shards(address: SocketAddr, count: NonZeroU16) -> io::Result<Vec<Self>> {
        // The first is bound alone: where anybody has the port, it is refused. Then it lets the others in.
        let first = Self::open(address, Vec::new())?;
        if count == NonZeroU16::MIN {
            return Ok(vec![first]);
        }
        first.socket.set_reuse_port(true)?;
        let address = first.local;
        let mut shards = vec![first];
        for _ in 1..count.get() {
            // The kernel numbers the sockets in the order in which they are bound.
            shards.push(Self::open_with(address, Vec::new(), Sharing::WithOthers)?);
        }
        // Not before, for there is no group as long as there is but one.
        deal_by_tag(&shards[0].socket, count)?;
        Ok(shards)
    }

    fn open(address: SocketAddr, serves: Vec<IpAddr>) -> io::Result<Self> {
        Self::open_with(address, serves, Sharing::Alone)
    }

    fn open_with(address: SocketAddr, serves: Vec<IpAddr>, sharing: Sharing) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        if sharing == Sharing::WithOthers {
            socket.set_reuse_port(true)?;
        }
        socket.bind(&address.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        // Timestamps that nobody reads overflow the 96 octets quinn-udp keeps for control messages when
        // packets are coalesced; the kernel then drops what comes last, which is the ECN field.
        setsockopt(&socket, sockopt::ReceiveTimestampns, &false)?;
        state.enable_transport_errors((&socket).into())?;
        enlarge_buffers(&socket)?;
        let local = socket.local_addr()?.as_socket().unwrap_or(address);
        if !local.ip().is_unspecified() {
            // It is known, and telling it with each packet takes time.
            match local {
                SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4PacketInfo, &false)?,
                SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &false)?,
            }
        }
        let families = if address.is_ipv6() { Families::Both } else { Families::V4 };
        // As quinn-udp leaves it, but over IPv6 the kernel keeps to itself what it knows of the path.
        let dont_fragment = DontFragment::new(families, Strictness::Interface);
        Ok(Self { socket, state, local, serves, dont_fragment, counters: Counters::default() })
    }

    /// Returns the sizes of the socket's send and receive buffers as the system granted them, in octets.
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

    /// Sends as many of `packets` as one system call takes, and returns the number of their octets.
    fn send_some(&self, packets: &Outgoing<'_>, destination: SocketAddr) -> io::Result<usize> {
        let segment = packets.segment_bytes.unwrap_or(packets.contents.len()).max(1);
        let segments = (OFFLOAD_BYTES / segment).clamp(1, self.state.max_gso_segments());
        let len = packets.contents.len().min(segments * segment);
        let is_run = len > segment;
        match self.hand_over(packets, destination, &packets.contents[..len], is_run.then_some(segment)) {
            // The kernel segments nothing that it would have to fragment, so it gets the first packet by itself.
            Err(error) if is_run && packets.fragmentation == Fragmentation::Allowed && is_unfit(&error) => {
                self.hand_over(packets, destination, &packets.contents[..segment], None)?;
                count(&self.counters.send_calls);
                count(&self.counters.packets_sent);
                return Ok(segment);
            }
            outcome => outcome?,
        }
        count(&self.counters.send_calls);
        add(&self.counters.packets_sent, len.div_ceil(segment));
        Ok(len)
    }

    fn hand_over(
        &self,
        packets: &Outgoing<'_>,
        destination: SocketAddr,
        contents: &[u8],
        segment_bytes: Option<usize>,
    ) -> io::Result<()> {
        let _held = self.dont_fragment.set(&self.socket, packets.fragmentation)?;
        let Outgoing { dscp, ecn, .. } = *packets;
        let source = self.source(packets.source);
        if dscp == Dscp::CS0 && segment_bytes.is_some() {
            // quinn-udp learns which devices cannot segment.
            let ecn = codepoint(ecn);
            let transmit =
                Transmit { destination, ecn, contents, segment_size: segment_bytes, src_ip: source };
            return self.state.try_send((&self.socket).into(), &transmit);
        }
        let segment_bytes = segment_bytes.and_then(|octets| u16::try_from(octets).ok());
        Marked { destination, source, dscp, ecn, contents, segment_bytes }.send(&self.socket)
    }

    /// Returns the address the kernel must be told that packets leave from: none where the socket has but one.
    fn source(&self, wanted: Option<IpAddr>) -> Option<IpAddr> {
        wanted.filter(|address| *address != self.local.ip().to_canonical())
    }

    /// Returns what the kernel said about one message, in our words.
    fn message(&self, meta: &RecvMeta) -> Message {
        let encapsulation = Encapsulation::Udp { port: meta.addr.port() };
        let bound = Some(self.local.ip()).filter(|address| !address.is_unspecified());
        Message {
            source: Destination { address: meta.addr.ip().to_canonical(), encapsulation },
            local: meta.dst_ip.or(bound).map(|address| address.to_canonical()),
            ecn: from_codepoint(meta.ecn),
            contents: 0..meta.len,
            stride: meta.stride,
        }
    }

    fn is_served(&self, local: Option<IpAddr>) -> bool {
        self.serves.is_empty() || local.is_none_or(|local| self.serves.contains(&local))
    }
}

/// Whether other sockets may be bound to the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    Alone,
    WithOthers,
}

impl PacketIo for UdpEncapsulation {
    fn check(&self, destination: Destination) -> io::Result<()> {
        udp_address(self.local, destination).map(|_| ())
    }

    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        let destination = udp_address(self.local, packets.destination)
            .inspect_err(|_| count(&self.counters.send_refused))?;
        send_all(packets, &self.counters, |packets| self.send_some(packets, destination))
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        let outcome = batch.fill_with(|buffers, metas, arrived| {
            let messages = past_reports(self, || self.state.recv((&self.socket).into(), buffers, metas))?;
            for (slot, meta) in metas.iter().take(messages).enumerate() {
                let message = self.message(meta);
                if self.is_served(message.local) {
                    arrived.push(slot, message);
                } else {
                    add(&self.counters.packets_foreign, meta.len.div_ceil(meta.stride.max(1)));
                }
            }
            Ok(messages)
        });
        self.counters.received(batch, outcome)
    }

    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        let report = self.state.recv_transport_error((&self.socket).into())?;
        Ok(report.map(|report| self.counters.report(&report)))
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

/// Returns whether the kernel could not cut a run into packets that need no fragments.
fn is_unfit(error: &io::Error) -> bool {
    let reasons = [Errno::MSGSIZE, Errno::INVAL, Errno::IO];
    error.raw_os_error().is_some_and(|number| reasons.iter().any(|reason| reason.raw_os_error() == number))
}

/// The most that one call with segmentation offload carries, in octets: a UDP datagram over IPv6 or IPv4,
/// rounded down.
const OFFLOAD_BYTES: usize = 65_000;

#[cfg(test)]
mod tests;
