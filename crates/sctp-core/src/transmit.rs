//! Packets at the border to the lower layer: where they go, how they came.

use core::fmt;
use core::str::FromStr;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// One path of an association: a pair of local and peer transport address (RFC 9260 §1.3, "path").
///
/// Paths are numbered from 0, in the order in which they became known as long as the peer deletes no address (RFC 5061).
/// A number belongs to one address of the peer for the life of the association. When the peer deletes that address, which
/// [`PathState::Removed`](crate::PathState::Removed) tells, the number names no path any more, and no other address ever
/// gets it. [`PathStatistics`](crate::PathStatistics) say which address a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathId(u32);

impl PathId {
    /// The path the association was set up on.
    pub const FIRST: Self = Self(0);

    /// The last generation of an index whose numbers fit: then it is not used again.
    pub(crate) const GENERATIONS: u32 = u32::MAX / INDICES - 1;

    /// Creates the identifier of the path with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number of the path.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the name of the path at an index that so many addresses have had before.
    pub(crate) const fn of(index: PathIndex, generation: u32) -> Self {
        Self(generation * INDICES + index.0 as u32)
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path{}", self.0)
    }
}

/// The index of a path in the tables of its association, below [`MAX_PATHS`]: another address may have had it before,
/// whose chunks are still on their way. Users get a [`PathId`], which is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PathIndex(u8);

impl PathIndex {
    /// The path the association was set up on.
    pub(crate) const FIRST: Self = Self(0);

    pub(crate) const fn new(index: u8) -> Self {
        Self(index)
    }

    /// Returns all indices there can be, ascending.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).map(Self)
    }

    /// Returns so many indices, from the first one on.
    pub(crate) fn below(len: usize) -> impl Iterator<Item = Self> {
        (0..u8::try_from(len).unwrap_or(u8::MAX)).map(Self)
    }

    /// Returns the index, to look into tables with.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PathIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path{}", self.0)
    }
}

/// How SCTP packets travel to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Encapsulation {
    /// Directly over IP, protocol number 132.
    Ip,
    /// The packet travels in UDP, to this port of the peer (RFC 6951; registered port 9899).
    Udp {
        /// The peer's UDP encapsulation port.
        port: u16,
    },
    /// The packet travels in datagrams that the caller carries, DTLS for example (RFC 8261): there are no IP
    /// addresses, and one path.
    Datagrams,
}

impl Encapsulation {
    /// Returns the number of octets the encapsulation puts in front of the SCTP packet, behind the IP header.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Ip | Self::Datagrams => 0,
            Self::Udp { .. } => 8,
        }
    }
}

/// The destination of packets: an IP address and how SCTP travels to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Destination {
    /// The IP address of the peer.
    pub address: IpAddr,
    /// How SCTP is carried to it.
    pub encapsulation: Encapsulation,
}

impl Destination {
    /// Creates the destination of a channel that carries the caller's datagrams. The number is the caller's
    /// too: associations of one endpoint over different channels need different ones. It never leaves this
    /// side.
    #[must_use]
    pub const fn channel(number: u32) -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::from_bits(number)), encapsulation: Encapsulation::Datagrams }
    }

    /// Returns the number of octets of IP and encapsulation headers in front of an SCTP packet to this
    /// destination.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        let ip = match (self.encapsulation, self.address) {
            (Encapsulation::Datagrams, _) => 0,
            (Encapsulation::Ip | Encapsulation::Udp { .. }, IpAddr::V4(_)) => 20,
            (Encapsulation::Ip | Encapsulation::Udp { .. }, IpAddr::V6(_)) => 40,
        };
        ip + self.encapsulation.header_bytes()
    }
}

/// UDP encapsulation at this address and port.
impl From<SocketAddr> for Destination {
    fn from(address: SocketAddr) -> Self {
        Self { address: address.ip(), encapsulation: Encapsulation::Udp { port: address.port() } }
    }
}

/// Directly over IP at this address.
impl From<IpAddr> for Destination {
    fn from(address: IpAddr) -> Self {
        Self { address, encapsulation: Encapsulation::Ip }
    }
}

/// Reads an address as directly over IP, an address with a port as UDP encapsulation to that port.
///
/// ```
/// use sctp_core::{Destination, Encapsulation};
///
/// let [direct, udp]: [Destination; 2] = ["192.0.2.1".parse()?, "[2001:db8::1]:9899".parse()?];
/// assert_eq!(direct.encapsulation, Encapsulation::Ip);
/// assert_eq!(udp.encapsulation, Encapsulation::Udp { port: 9899 });
/// assert!("192.0.2.1:port".parse::<Destination>().is_err());
/// # Ok::<(), sctp_core::ParseDestinationError>(())
/// ```
impl FromStr for Destination {
    type Err = ParseDestinationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let direct = || text.parse::<IpAddr>().map(Self::from);
        let udp = |_| text.parse::<SocketAddr>().map(Self::from);
        direct().or_else(udp).map_err(|_| ParseDestinationError)
    }
}

/// A text that is no destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neither an IP address nor one with a UDP port, as in 192.0.2.1:9899 and [2001:db8::1]:9899")]
pub struct ParseDestinationError;

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encapsulation {
            Encapsulation::Ip => write!(f, "{} (ip)", self.address),
            Encapsulation::Udp { port } => write!(f, "{} (udp {port})", self.address),
            Encapsulation::Datagrams => match self.address {
                IpAddr::V4(number) => write!(f, "channel {}", number.to_bits()),
                IpAddr::V6(_) => f.write_str("channel"),
            },
        }
    }
}

/// The two ECN bits of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// 00: the sender does not do ECN.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint 10 (RFC 3168 §5).
    Ect0,
    /// ECN-capable transport, codepoint 01 (RFC 3168 §5).
    Ect1,
    /// 11: a router met congestion.
    Ce,
}

/// A differentiated services code point (RFC 2474 §3): what treatment routers are asked to give a packet.
///
/// What is usual (RFC 4594 §2.3): CS5 for signalling, AF41 for video conferences, EF for telephony, AF21 for interactive
/// data, CS2 for operation and maintenance, CS0 (the default) for everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u8", into = "u8"))]
pub struct Dscp(u8);

impl Dscp {
    /// The code point for packets without treatment of their own.
    pub const CS0: Self = Self(0);
    /// Operation, administration and maintenance.
    pub const CS2: Self = Self(16);
    /// Low-latency data: interactive requests.
    pub const AF21: Self = Self(18);
    /// The code point for multimedia conferencing.
    pub const AF41: Self = Self(34);
    /// Signalling: what SIP, SIGTRAN and the like ask for.
    pub const CS5: Self = Self(40);
    /// The code point for telephony, which never waits.
    pub const EF: Self = Self(46);

    /// Creates the code point with this number; `None` from 64 on, for there are six bits.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 64 { Some(Self(number)) } else { None }
    }

    /// Returns the number of the code point.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl From<Dscp> for u8 {
    fn from(dscp: Dscp) -> Self {
        dscp.get()
    }
}

impl TryFrom<u8> for Dscp {
    type Error = NoDscp;

    fn try_from(number: u8) -> Result<Self, NoDscp> {
        Self::new(number).ok_or(NoDscp(number))
    }
}

/// A number that is no code point: there are six bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no code point; they go from 0 to 63")]
pub struct NoDscp(pub u8);

/// A packet as it came from the network, lower headers removed.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The address of the sender, and its encapsulation.
    pub source: Destination,
    /// The local address it arrived on, where the driver knows it.
    pub local: Option<IpAddr>,
    /// ECN bits of its IP header.
    pub ecn: Ecn,
    /// The SCTP packet, from its common header on.
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// A packet from a carrier that tells neither the local address nor the bits of ECN, as DTLS, pipes and most sockets do.
    #[must_use]
    pub const fn new(source: Destination, payload: &'a [u8]) -> Self {
        Self { source, local: None, ecn: Ecn::NotEct, payload }
    }
}

/// Says what [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit) appended to the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The path it belongs to; path 0 for packets outside any association.
    pub path: PathId,
    /// The local address to send from; `None` leaves it to the routing table.
    pub source: Option<IpAddr>,
    /// The destination of the packet.
    pub destination: Destination,
    /// Octets appended to the buffer.
    pub len: usize,
    /// Whether IP may fragment it on the way. A driver whose lower layer does not let it choose by packet forbids it for
    /// all.
    pub fragmentation: Fragmentation,
    /// The code point of the IP header: what it asks of routers. Packets of different code points do not go in
    /// one run.
    pub dscp: Dscp,
    /// `Some(n)`: several packets of `n` octets each, the last one possibly shorter (for GSO). `None`: one packet.
    pub segment_bytes: Option<usize>,
}

/// Whether IP may fragment a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragmentation {
    /// The lower layer may fragment the packet: the path MTU is not searched for, or the packet holds a chunk
    /// that was numbered before it fell and cannot be cut any more (RFC 9260 §6.9).
    #[default]
    Allowed,
    /// The packet must not be fragmented, neither here nor on the way (DF over IPv4): the size is what is being
    /// tried (RFC 8899 §3, point 3). Packets have this only where
    /// [`PathMtuConfig::discovery`](crate::PathMtuConfig::discovery) is on.
    Forbidden,
}

/// Returns whether packets can be sent to and from an address.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !broadcast
}

/// The most addresses of a peer that are used, and remembered in a cookie: each costs HEARTBEATs and a congestion
/// window.
pub(crate) const MAX_PATHS: usize = INDICES as usize;

/// The number of indices of paths.
const INDICES: u32 = 8;
