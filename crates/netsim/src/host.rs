//! The trait [`Host`] by which the simulator knows a host, and the packets that go in and out of it.

use std::net::IpAddr;

use virtual_time::Instant;

use crate::id::InterfaceId;

/// A host: a sans-IO core at the IP level.
///
/// The world drives it as a socket loop would: it hands in every packet and every due timeout, then takes packets
/// out until there are none, then reads when to come back. Time never goes back; extra calls must be harmless.
///
/// Several packets that leave one link at the same instant are handed in together before any is taken out, so
/// that a host acknowledges them as it would a batch read from a socket.
pub trait Host {
    /// A packet for one of the host's addresses.
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>);

    /// The instant [`poll_timeout`](Host::poll_timeout) named has come.
    ///
    /// Afterwards that instant must no longer be due, or virtual time stands still.
    fn handle_timeout(&mut self, now: Instant);

    /// Appends the next payload to `buffer` and says where it goes; `None` when there is nothing to send now.
    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing>;

    /// Returns whether IP may cut the packet that [`poll_transmit`](Host::poll_transmit) gave last into fragments. Default: it may.
    fn allows_fragments(&self) -> bool {
        true
    }

    /// Returns when to call [`handle_timeout`](Host::handle_timeout), or `None` when only a packet changes
    /// anything.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// A packet that arrives at a host, without its IP and UDP headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// The interface it came in by.
    pub interface: InterfaceId,
    /// The address of the sender.
    pub source: IpAddr,
    /// The address of the host it was sent to; not necessarily one of `interface`.
    pub destination: IpAddr,
    /// The protocol of the payload.
    pub protocol: Protocol,
    /// Everything behind the IP header, and behind the UDP header if there is one.
    pub payload: &'a [u8],
}

/// The packet that [`Host::poll_transmit`] appended to the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Source address, which also selects the interface; `None`: the interface that leads to `destination` and
    /// its first address of that family.
    pub source: Option<IpAddr>,
    /// The address of the receiver.
    pub destination: IpAddr,
    /// The protocol of the payload.
    pub protocol: Protocol,
    /// The number of octets appended.
    pub len: usize,
    /// Several packets of this many octets each, the last may be shorter; `None` or 0: one packet.
    pub segment_bytes: Option<usize>,
}

/// A protocol carried in an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    /// SCTP directly over IP; the payload begins with the common header.
    Sctp,
    /// UDP; the payload begins behind the UDP header.
    Udp {
        /// The UDP port of the sender.
        source_port: u16,
        /// The UDP port of the receiver.
        destination_port: u16,
    },
    /// TCP; the payload begins with the TCP header.
    Tcp,
    /// A part of an IP packet (RFC 791 §3.2, RFC 8200 §4.5); the payload is a part of what follows the IP header, the UDP
    /// header included.
    Fragment {
        /// The protocol of the whole packet, by its IANA number.
        protocol: u8,
        /// The number that all fragments of a packet share; IPv4 carries its lower 16 bits.
        identification: u32,
        /// The place of the part in the whole packet, in octets: a multiple of eight.
        offset: u16,
        /// Whether there are parts behind it.
        has_more: bool,
    },
}

impl Protocol {
    /// Returns the number of octets of the headers in front of the payload: 20 (IPv4) or 40 (IPv6), and 8 more
    /// with UDP and for fragments over IPv6.
    #[must_use]
    pub const fn overhead_bytes(self, destination: IpAddr) -> usize {
        let ip = match destination {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        };
        match self {
            Self::Sctp | Self::Tcp => ip,
            Self::Fragment { .. } if destination.is_ipv4() => ip,
            Self::Udp { .. } | Self::Fragment { .. } => ip + 8,
        }
    }
}
