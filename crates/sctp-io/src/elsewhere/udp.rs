//! SCTP in UDP (RFC 6951) by quinn-udp alone.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use sctp_core::{Destination, Encapsulation};
use socket2::{Domain, Protocol, Socket, Type};

use crate::batch::{Message, ReceiveBatch, codepoint, from_codepoint};
use crate::kernel::{BUFFER_BYTES, Counters, add, count, past_reports, send_all};
use crate::packet_io::{Descriptor, IoStatistics, NetworkError, Outgoing, PacketIo, udp_address};

/// A UDP socket that carries SCTP packets.
///
/// Bound to exactly the address given. `0.0.0.0` serves every IPv4 address of the host; `[::]` serves every IPv6 *and* every
/// IPv4 address. IPv4 peers of such a socket are reported with their IPv4 address.
///
/// Code points of packets are not heeded on this system, and packets are never fragmented by IP.
#[derive(Debug)]
pub struct UdpEncapsulation {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    /// Local addresses whose packets are taken; none stands for all the socket gets.
    serves: Vec<IpAddr>,
    counters: Counters,
}

impl UdpEncapsulation {
    /// Binds a socket to `address`; port 0 lets the system choose. The registered port for SCTP in UDP is 9899 (RFC 6951 §7).
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
            // The system does not look at what is bound by nobody.
            UdpSocket::bind((*address, 0))?;
        }
        let any_v4 = IpAddr::from(Ipv4Addr::UNSPECIFIED);
        let any = if addresses.iter().all(IpAddr::is_ipv4) { any_v4 } else { Ipv6Addr::UNSPECIFIED.into() };
        let serves = if addresses.contains(&any) { Vec::new() } else { addresses.to_vec() };
        Self::open(SocketAddr::new(any, port), serves)
    }

    /// Refuses more than one socket at a port: no filter of this system deals packets by their verification tag.
    ///
    /// # Errors
    ///
    /// `Unsupported` for more than one, and as [`bind`](Self::bind).
    pub fn bind_shards(address: SocketAddr, count: NonZeroU16) -> io::Result<Vec<Self>> {
        if count == NonZeroU16::MIN {
            return Ok(vec![Self::bind(address)?]);
        }
        let reason =
            "several endpoints at one port need Linux, whose kernel deals packets by their tags; bind one";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    /// Returns the sizes of the socket's send and receive buffers as the system granted them, in octets.
    ///
    /// # Errors
    ///
    /// None in practice; what the system says otherwise.
    pub fn buffer_bytes(&self) -> io::Result<(usize, usize)> {
        let socket = || (&self.socket).into();
        Ok((self.state.send_buffer_size(socket())?, self.state.recv_buffer_size(socket())?))
    }

    fn open(address: SocketAddr, serves: Vec<IpAddr>) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&address.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        // As much as the system grants; it says no where that is less.
        let _less = state.set_send_buffer_size((&socket).into(), BUFFER_BYTES);
        let _less = state.set_recv_buffer_size((&socket).into(), BUFFER_BYTES);
        let local = socket.local_addr()?.as_socket().unwrap_or(address);
        Ok(Self { socket: socket.into(), state, local, serves, counters: Counters::default() })
    }

    /// Sends as many of `packets` as one system call takes, and returns the number of their octets.
    fn send_some(&self, packets: &Outgoing<'_>, destination: SocketAddr) -> io::Result<usize> {
        let segment = packets.segment_bytes.unwrap_or(packets.contents.len()).max(1);
        let segments = (OFFLOAD_BYTES / segment).clamp(1, self.state.max_gso_segments());
        let len = packets.contents.len().min(segments * segment);
        let transmit = Transmit {
            destination,
            ecn: codepoint(packets.ecn),
            contents: &packets.contents[..len],
            segment_size: (len > segment).then_some(segment),
            src_ip: packets.source.filter(|address| *address != self.local.ip().to_canonical()),
        };
        self.state.try_send((&self.socket).into(), &transmit)?;
        count(&self.counters.send_calls);
        add(&self.counters.packets_sent, len.div_ceil(segment));
        Ok(len)
    }

    /// Returns what the system said about one message, in our words.
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

impl Descriptor for UdpEncapsulation {
    fn duplicate(&self) -> io::Result<UdpSocket> {
        self.socket.try_clone()
    }
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

    /// Returns none: this system reports nothing but by the errors of other calls, which are counted.
    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        Ok(None)
    }

    fn local_address(&self) -> SocketAddr {
        self.local
    }

    fn statistics(&self) -> IoStatistics {
        self.counters.snapshot()
    }
}

/// The most that one call with segmentation offload carries, in octets: a UDP datagram over IPv6 or IPv4,
/// rounded down.
const OFFLOAD_BYTES: usize = 65_000;
