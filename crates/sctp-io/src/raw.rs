//! SCTP straight over IP, protocol 132: a raw socket carries the packets of one SCTP port.
//!
//! Owns the socket, its options, its filter and its counters. What is read from an IPv4 raw socket begins with the IP
//! header, from an IPv6 one with the SCTP packet; what is written is the SCTP packet in both cases.
//!
//! Why `quinn-udp` for a socket that is not UDP: `sendmsg`, `recvmmsg`, control messages and error queue are the same.
//! Raw sockets have no segmentation offload: a run of packets goes in one sendmmsg.

mod claim;
mod dual_stack;
mod filter;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{RecvMeta, UdpSocketState};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use sctp_core::{Destination, Encapsulation, SctpPort};
use socket2::{Domain, Protocol, Socket, Type};

use self::claim::{Claim, KERNEL_SCTP, check_kernel_sctp};
pub use self::dual_stack::DualStackRawIp;
use self::filter::{Family, attach, sctp_packet};
use crate::batch::{Message, ReceiveBatch, from_codepoint};
use crate::header::{DontFragment, Families, Marked, Strictness};
use crate::kernel::{Counters, add, count, enlarge_buffers, past_reports, send_all};
use crate::packet_io::{IoStatistics, NetworkError, Outgoing, PacketIo};
use crate::raw_options::{KernelSctp, PortFilter, RawIpError, RawIpOptions};

/// A raw socket that carries the SCTP packets of one port (RFC 9260 §1: protocol number 132).
///
/// Packets for other SCTP ports, or for addresses not bound, are somebody else's and never come out of
/// [`receive`](PacketIo::receive), so that nothing answers them.
///
/// Options set: ECN and local address of received packets, fragmentation as the packets sent ask for it (where it is
/// forbidden: DF, and packets beyond the path MTU the kernel knows are refused), ICMP errors by the error queue, 4 MiB of
/// buffer each way. SCTP has its own
/// checksum: the kernel computes none (`IPV6_CHECKSUM` is off for this protocol).
///
/// The kernel tells every raw socket of protocol 132 about every ICMP error, also those that other processes caused:
/// the counters of reports are the host's.
#[derive(Debug)]
pub struct RawIp {
    socket: Socket,
    state: UdpSocketState,
    /// The addresses bound: at least one, all of one family.
    addresses: Vec<IpAddr>,
    family: Family,
    port: SctpPort,
    dont_fragment: DontFragment,
    counters: Counters,
    _claims: Vec<Claim>,
}

impl RawIp {
    /// Binds a socket to an SCTP port at `addresses`, with all options as by default.
    ///
    /// `0.0.0.0` or `::` alone stands for all addresses of that family. A raw socket speaks one IP version; for both
    /// there is [`DualStackRawIp`].
    ///
    /// # Errors
    ///
    /// See [`RawIpError`].
    pub fn bind(addresses: &[IpAddr], port: SctpPort) -> Result<Self, RawIpError> {
        Self::bind_with(addresses, port, RawIpOptions::default())
    }

    /// Binds like [`bind`](Self::bind), with options.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub fn bind_with(
        addresses: &[IpAddr],
        port: SctpPort,
        options: RawIpOptions,
    ) -> Result<Self, RawIpError> {
        let family = common_family(addresses)?;
        match options.kernel_sctp {
            KernelSctp::Refuse => check_kernel_sctp(Path::new(KERNEL_SCTP))?,
            KernelSctp::Ignore => {}
        }
        let any = unspecified(family);
        let bound = if let [address] = addresses { *address } else { any };
        let at = |source| RawIpError::Socket { address: bound, source };
        let socket = open(family)?;
        match options.port_filter {
            PortFilter::Kernel => attach(&socket, family, port).map_err(at)?,
            PortFilter::Process => {}
        }
        for address in addresses {
            check_is_local(*address)?;
        }
        socket.bind(&SocketAddr::new(bound, 0).into()).map_err(at)?;
        let claims = addresses.iter().map(|address| Claim::new(*address, port)).collect::<Result<_, _>>()?;
        let state = configure(&socket, family).map_err(at)?;
        let addresses = addresses.to_vec();
        let families = match family {
            Family::V4 => Families::V4,
            Family::V6 => Families::V6,
        };
        let dont_fragment = DontFragment::new(families, Strictness::Path);
        let counters = Counters::default();
        Ok(Self { socket, state, addresses, family, port, dont_fragment, counters, _claims: claims })
    }

    /// Returns the sizes of the socket's send and receive buffers as the system granted them, in octets; see
    /// [`UdpEncapsulation::buffer_bytes`](crate::UdpEncapsulation::buffer_bytes).
    ///
    /// # Errors
    ///
    /// None in practice; what the kernel says otherwise.
    pub fn buffer_bytes(&self) -> io::Result<(usize, usize)> {
        Ok((self.socket.send_buffer_size()?, self.socket.recv_buffer_size()?))
    }

    /// Sends as many packets as one system call takes, and returns the number of their octets.
    fn send_some(&self, packets: &Outgoing<'_>, source: Option<IpAddr>) -> io::Result<usize> {
        let Some(segment) = packets.segment_bytes.filter(|segment| packets.contents.len() > *segment) else {
            return self.send_one(packets, source);
        };
        let destination = SocketAddr::new(packets.destination.address, 0);
        let Outgoing { dscp, ecn, contents, .. } = *packets;
        let marked = Marked { destination, source, dscp, ecn, contents, segment_bytes: None };
        let _held = self.dont_fragment.set(&self.socket, packets.fragmentation)?;
        let sent = marked.send_each(&self.socket, segment)?;
        count(&self.counters.send_calls);
        add(&self.counters.packets_sent, sent);
        Ok((sent * segment.max(1)).min(contents.len()))
    }

    /// Sends the first of `packets`; how many octets went.
    fn send_one(&self, packets: &Outgoing<'_>, source: Option<IpAddr>) -> io::Result<usize> {
        let len = packets.contents.len().min(packets.segment_bytes.unwrap_or(usize::MAX).max(1));
        // A raw IPv6 socket takes a port for a protocol number; zero leaves it at 132.
        let destination = SocketAddr::new(packets.destination.address, 0);
        let contents = &packets.contents[..len];
        let _held = self.dont_fragment.set(&self.socket, packets.fragmentation)?;
        let Outgoing { dscp, ecn, .. } = *packets;
        Marked { destination, source, dscp, ecn, contents, segment_bytes: None }.send(&self.socket)?;
        count(&self.counters.send_calls);
        count(&self.counters.packets_sent);
        Ok(len)
    }

    /// Returns the address the kernel must be told that packets to `peer` leave from: none where the socket has
    /// but one. Where the protocol does not say and there are several, it is the one the routing table chooses.
    ///
    /// With several addresses bound the routing table may choose one that is not among them; then it is the first.
    /// This happens before the first packet of a path was received, that is, for INIT: looking it up is cheap enough.
    fn source_towards(&self, peer: IpAddr, wanted: Option<IpAddr>) -> Option<IpAddr> {
        let [first, _, ..] = self.addresses.as_slice() else {
            return wanted.filter(|address| !self.addresses.contains(address));
        };
        if wanted.is_some() {
            return wanted;
        }
        let routed = routed_source(peer).ok().filter(|address| self.addresses.contains(address));
        Some(routed.unwrap_or(*first))
    }

    /// Returns what the kernel said about one message, in our words; `None` if it is somebody else's.
    fn message(&self, meta: &RecvMeta, contents: &[u8]) -> Option<Message> {
        let contents = sctp_packet(self.family, self.port, contents)?;
        // Also if the kernel looks at the address: packets from before the socket was bound may be of any.
        let is_ours = |address| self.addresses.iter().any(|ours| ours.is_unspecified() || *ours == address);
        let is_local = meta.dst_ip.is_none_or(is_ours);
        is_local.then(|| Message {
            source: Destination { address: meta.addr.ip(), encapsulation: Encapsulation::Ip },
            local: meta.dst_ip,
            ecn: from_codepoint(meta.ecn),
            stride: contents.len(),
            contents,
        })
    }
}

impl PacketIo for RawIp {
    fn check(&self, destination: Destination) -> io::Result<()> {
        let reason = match (destination.encapsulation, Family::of(destination.address) == self.family) {
            (Encapsulation::Ip, true) => return Ok(()),
            (Encapsulation::Ip, false) => "a raw socket speaks one IP version; bind to addresses of both",
            (Encapsulation::Udp { .. }, _) => {
                "a raw socket cannot send to a destination with UDP encapsulation"
            }
            (Encapsulation::Datagrams, _) => "a raw socket cannot send into a channel of the caller's",
        };
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        self.check(packets.destination).inspect_err(|_| count(&self.counters.send_refused))?;
        let source = self.source_towards(packets.destination.address, packets.source);
        send_all(packets, &self.counters, |packets| self.send_some(packets, source))
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        let outcome = batch.fill_with(|buffers, metas, arrived| {
            let messages = past_reports(self, || self.state.recv((&self.socket).into(), buffers, metas))?;
            for (slot, (meta, buffer)) in metas.iter().zip(buffers.iter()).take(messages).enumerate() {
                let contents = buffer.get(..meta.len).unwrap_or_default();
                match self.message(meta, contents) {
                    Some(message) => arrived.push(slot, message),
                    None => count(&self.counters.packets_foreign),
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

    /// Returns the address bound, all zero if there are several; the port is the SCTP port.
    fn local_address(&self) -> SocketAddr {
        let address = match self.addresses.as_slice() {
            [address] => *address,
            _ => unspecified(self.family),
        };
        SocketAddr::new(address, self.port.get())
    }

    fn statistics(&self) -> IoStatistics {
        self.counters.snapshot()
    }
}

impl AsFd for RawIp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn common_family(addresses: &[IpAddr]) -> Result<Family, RawIpError> {
    let [first, others @ ..] = addresses else { return Err(RawIpError::NoAddress) };
    let family = Family::of(*first);
    if let Some(other) = others.iter().find(|address| Family::of(**address) != family) {
        return Err(RawIpError::MixedFamilies { first: *first, other: *other });
    }
    match addresses.iter().find(|address| address.is_unspecified()) {
        Some(any) if !others.is_empty() => Err(RawIpError::AnyAmongOthers(*any)),
        _ => Ok(family),
    }
}

fn open(family: Family) -> Result<Socket, RawIpError> {
    let domain = match family {
        Family::V4 => Domain::IPV4,
        Family::V6 => Domain::IPV6,
    };
    Socket::new(domain, Type::RAW, Some(Protocol::from(PROTOCOL_SCTP))).map_err(|source| {
        if source.kind() == io::ErrorKind::PermissionDenied {
            RawIpError::NotPermitted
        } else {
            RawIpError::Socket { address: unspecified(family), source }
        }
    })
}

fn configure(socket: &Socket, family: Family) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(socket.into())?;
    // See `UdpEncapsulation::bind`: room in the control buffer.
    setsockopt(socket, sockopt::ReceiveTimestampns, &false)?;
    match family {
        Family::V4 => {
            set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::DO)?;
            setsockopt(socket, sockopt::Ipv4RecvErr, &true)?;
        }
        Family::V6 => {
            set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::DO)?;
            setsockopt(socket, sockopt::Ipv6DontFrag, &true)?;
            setsockopt(socket, sockopt::Ipv6RecvErr, &true)?;
        }
    }
    enlarge_buffers(socket)?;
    Ok(state)
}

/// Checks that `address` is one of this host's by binding to it, because the kernel does not bind a raw socket
/// to several.
fn check_is_local(address: IpAddr) -> Result<(), RawIpError> {
    UdpSocket::bind((address, 0)).map(|_| ()).map_err(|source| RawIpError::Socket { address, source })
}

/// Asks the routing table by connecting a socket that sends nothing.
fn routed_source(peer: IpAddr) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((unspecified(Family::of(peer)), 0))?;
    socket.connect((peer, 9))?;
    Ok(socket.local_addr()?.ip())
}

fn unspecified(family: Family) -> IpAddr {
    match family {
        Family::V4 => std::net::Ipv4Addr::UNSPECIFIED.into(),
        Family::V6 => std::net::Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// SCTP's number among the protocols over IP (RFC 9260 §1).
const PROTOCOL_SCTP: i32 = 132;

#[cfg(test)]
mod tests;
