//! The seam between a driver and the kernel: what every way of carrying SCTP packets offers.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};

use sctp_core::{Destination, Dscp, Ecn, Encapsulation, Fragmentation};

use crate::batch::ReceiveBatch;

/// A non-blocking socket that carries SCTP packets.
///
/// There are four: [`UdpEncapsulation`](crate::UdpEncapsulation), [`RawIp`](crate::RawIp),
/// [`DualStackRawIp`](crate::DualStackRawIp) and [`DatagramChannel`](crate::DatagramChannel). The file descriptor behind [`AsFd`](std::os::fd::AsFd) becomes readable when
/// [`receive`](Self::receive) may succeed, writable *or* readable when [`send`](Self::send) may again after
/// `WouldBlock`, and reports an error condition or becomes readable when [`receive_error`](Self::receive_error) has
/// something.
pub trait PacketIo: Descriptor + Debug + Send + Sync {
    /// Returns whether this socket can send to `destination` at all, wherever the network may end.
    ///
    /// # Errors
    ///
    /// `Unsupported`, saying why: another address family or another encapsulation.
    fn check(&self, destination: Destination) -> io::Result<()>;

    /// Hands packets to the kernel, all of them in as few system calls as offload allows.
    ///
    /// `packets.contents` advances past what the kernel took: when this returns `WouldBlock`, what is left
    /// in `packets` is what still has to be sent once the socket is writable.
    ///
    /// # Errors
    ///
    /// `WouldBlock` as above. Anything else concerns these packets and their destination only — too big,
    /// no route, a family or encapsulation this socket does not speak. It is counted in
    /// [`statistics`](Self::statistics), the packets are dropped, and the protocol recovers as it does from
    /// any loss.
    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()>;

    /// Fills `batch` with the packets that wait, replacing what it held.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if nothing waits; anything else means the socket is of no more use.
    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()>;

    /// Returns the next error the network reported about packets sent earlier (ICMP), if any.
    ///
    /// # Errors
    ///
    /// Anything but an empty queue, which is `Ok(None)`.
    fn receive_error(&self) -> io::Result<Option<NetworkError>>;

    /// Returns the address the socket is bound to, its port filled in.
    fn local_address(&self) -> SocketAddr;

    /// Returns what went through the socket so far.
    fn statistics(&self) -> IoStatistics;
}

impl IoStatistics {
    /// Calls `tell` with the name and the value of each counter of the socket, always in the same order. A counter never
    /// falls.
    pub fn each_counter(&self, mut tell: impl FnMut(&'static str, u64)) {
        macro_rules! tell_of {
            ($($counter:ident)*) => {
                let Self { $($counter),* } = self;
                $(tell(concat!("socket.", stringify!($counter)), *$counter);)*
            };
        }
        tell_of!(packets_sent send_calls packets_received packets_foreign receive_calls receive_empty send_blocked send_too_big send_refused reported_unreachable reported_too_big reported_other);
    }
}

/// A socket for whose readiness an event loop can wait: on Linux any that has a descriptor.
#[cfg(target_os = "linux")]
pub trait Descriptor: std::os::fd::AsFd {}

#[cfg(target_os = "linux")]
impl<T: std::os::fd::AsFd> Descriptor for T {}

/// A socket for whose readiness an event loop can wait.
#[cfg(not(target_os = "linux"))]
pub trait Descriptor {
    /// Returns another handle of the UDP socket, to be registered with an event loop.
    ///
    /// # Errors
    ///
    /// If the process can have no more handles.
    fn duplicate(&self) -> io::Result<std::net::UdpSocket>;
}

/// Returns `destination` in the form that a UDP socket bound to `local` needs.
pub(crate) fn udp_address(local: SocketAddr, destination: Destination) -> io::Result<SocketAddr> {
    let Encapsulation::Udp { port } = destination.encapsulation else {
        let reason = "a UDP socket cannot send to a destination without UDP encapsulation";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    };
    match (local, destination.address) {
        (SocketAddr::V4(_), IpAddr::V4(_)) | (SocketAddr::V6(_), IpAddr::V6(_)) => {
            Ok(SocketAddr::new(destination.address, port))
        }
        (SocketAddr::V6(_), IpAddr::V4(address)) => {
            Ok(SocketAddr::new(address.to_ipv6_mapped().into(), port))
        }
        (SocketAddr::V4(_), IpAddr::V6(_)) => {
            let reason = "a socket bound to an IPv4 address cannot reach an IPv6 destination; bind to [::]";
            Err(io::Error::new(io::ErrorKind::Unsupported, reason))
        }
    }
}

/// What went through both of two sockets.
impl core::ops::Add for IoStatistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            packets_sent: self.packets_sent + other.packets_sent,
            send_calls: self.send_calls + other.send_calls,
            packets_received: self.packets_received + other.packets_received,
            packets_foreign: self.packets_foreign + other.packets_foreign,
            receive_calls: self.receive_calls + other.receive_calls,
            receive_empty: self.receive_empty + other.receive_empty,
            send_blocked: self.send_blocked + other.send_blocked,
            send_too_big: self.send_too_big + other.send_too_big,
            send_refused: self.send_refused + other.send_refused,
            reported_unreachable: self.reported_unreachable + other.reported_unreachable,
            reported_too_big: self.reported_too_big + other.reported_too_big,
            reported_other: self.reported_other + other.reported_other,
        }
    }
}

/// Packets for one destination, as a core's `poll_transmit` hands them out.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The address and port the packets go to.
    pub destination: Destination,
    /// The local address they leave from; the routing table decides if `None`.
    pub source: Option<IpAddr>,
    /// The ECN field of the IP header: what it says about congestion (RFC 3168).
    pub ecn: Ecn,
    /// The code point of the IP header: what it asks of routers (RFC 2474).
    pub dscp: Dscp,
    /// Whether IP may fragment them, here or on the way (DF over IPv4).
    pub fragmentation: Fragmentation,
    /// The packets, back to back.
    pub contents: &'a [u8],
    /// Octets of each packet in `contents`, the last may be shorter; `None` for a single packet.
    pub segment_bytes: Option<usize>,
}

impl<'a> Outgoing<'a> {
    /// Creates one packet, sent from wherever the routing table says, of which nothing is asked and which is
    /// not fragmented.
    #[must_use]
    pub const fn single(destination: Destination, contents: &'a [u8]) -> Self {
        Self {
            destination,
            source: None,
            ecn: Ecn::NotEct,
            dscp: Dscp::CS0,
            fragmentation: Fragmentation::Forbidden,
            contents,
            segment_bytes: None,
        }
    }
}

/// A report of the network about packets sent earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkError {
    /// The address of the reporter: the destination itself or a router on the way.
    pub reporter: Option<IpAddr>,
    /// The kind of error that was reported.
    pub kind: NetworkErrorKind,
}

/// A kind of error that the network reports by ICMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkErrorKind {
    /// Host, port or protocol cannot be reached (ICMP type 3, ICMPv6 type 1).
    Unreachable,
    /// The packet exceeded the MTU of a link on the way.
    TooBig {
        /// The largest packet the reporter can forward, in octets with the IP header.
        mtu_bytes: u32,
    },
    /// Anything else, by the operating system's error number.
    Other(i32),
}

/// Counters of a socket since it was bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct IoStatistics {
    /// SCTP packets handed to the kernel.
    pub packets_sent: u64,
    /// System calls that took them; fewer than packets where segmentation offload works.
    pub send_calls: u64,
    /// The number of SCTP packets received.
    pub packets_received: u64,
    /// Packets that concern another SCTP port or address of this host, ignored. A UDP socket sees those for addresses
    /// it does not serve; a raw socket those that the kernel's filter lets through
    /// ([`PortFilter`](crate::PortFilter)).
    pub packets_foreign: u64,
    /// System calls that brought them.
    pub receive_calls: u64,
    /// System calls that found none.
    pub receive_empty: u64,
    /// How often the send buffer was full and sending had to wait.
    pub send_blocked: u64,
    /// Packets the kernel refused because they exceed the interface's MTU.
    pub send_too_big: u64,
    /// Packets the kernel refused for any other reason: no route, forbidden by a filter.
    pub send_refused: u64,
    /// Destinations reported unreachable (ICMP).
    pub reported_unreachable: u64,
    /// Packets reported too big by a router (ICMP).
    pub reported_too_big: u64,
    /// Other reports of the network.
    pub reported_other: u64,
}
