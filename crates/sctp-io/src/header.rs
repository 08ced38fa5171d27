//! The parts of the IP header beyond addresses: the code point packet by packet, DF for the whole socket.
//!
//! quinn-udp writes the ECN bits of each packet and zeros beside them, whatever the socket's options say; a packet with a
//! code point is therefore handed to the kernel here. DF is an option of the socket and changed when it has to be.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::cmsg_space;
use nix::libc::{c_int, in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{
    ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg, sendmsg, setsockopt, sockopt,
};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use sctp_core::{Dscp, Ecn, Fragmentation};
use socket2::Socket;

/// One message as `sendmsg` takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marked<'a> {
    pub(crate) destination: SocketAddr,
    pub(crate) source: Option<IpAddr>,
    pub(crate) dscp: Dscp,
    pub(crate) ecn: Ecn,
    pub(crate) contents: &'a [u8],
    /// Octets of each packet, if there are several.
    pub(crate) segment_bytes: Option<u16>,
}

impl Marked<'_> {
    /// Hands it to the kernel with the code point it asks for.
    pub(crate) fn send(&self, socket: &Socket) -> io::Result<()> {
        if self.is_plain() {
            return self.send_plain(socket);
        }
        let segments = self.segment_bytes.as_ref().map(ControlMessage::UdpGsoSegments);
        let (octets, to) = ([IoSlice::new(self.contents)], SockaddrStorage::from(self.destination));
        self.with_control(segments, |messages| {
            loop {
                match sendmsg(socket.as_raw_fd(), &octets, messages, MsgFlags::empty(), Some(&to)) {
                    Ok(_len) => return Ok(()),
                    Err(nix::errno::Errno::EINTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        })
    }

    /// Returns whether nothing is asked that the socket does not do by itself.
    fn is_plain(&self) -> bool {
        self.octet() == 0 && self.source.is_none() && self.segment_bytes.is_none()
    }

    /// Sends by the shortest way into the kernel: without control messages, for which it would take memory.
    fn send_plain(&self, socket: &Socket) -> io::Result<()> {
        loop {
            match rustix::net::sendto(socket, self.contents, SendFlags::empty(), &self.destination) {
                Ok(_len) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns code point and ECN bits as the header has them. A zero is what the socket writes by itself.
    fn octet(&self) -> u8 {
        self.dscp.get() << 2 | ecn_bits(self.ecn)
    }

    /// Hands its packets, of `segment` octets each and the last perhaps shorter, to the kernel one by one but in a single
    /// system call (sendmmsg), for sockets that know no segmentation. How many packets it took.
    pub(crate) fn send_each(&self, socket: &Socket, segment: usize) -> io::Result<usize> {
        let packets = self.contents.chunks(segment.max(1)).take(PACKETS_AT_ONCE);
        let packets: Vec<_> = packets.map(|packet| [IoSlice::new(packet)]).collect();
        let to = vec![Some(SockaddrStorage::from(self.destination)); packets.len()];
        // Exactly what is used: the kernel takes the rest for malformed messages.
        let is_v4 = self.destination.ip().to_canonical().is_ipv4();
        let room = match (is_v4, self.octet() != 0, self.source.is_some()) {
            (_, false, false) => None,
            (true, true, false) => Some(cmsg_space!(u8)),
            (true, false, true) => Some(cmsg_space!(in_pktinfo)),
            (true, true, true) => Some(cmsg_space!(u8, in_pktinfo)),
            (false, true, false) => Some(cmsg_space!(c_int)),
            (false, false, true) => Some(cmsg_space!(in6_pktinfo)),
            (false, true, true) => Some(cmsg_space!(c_int, in6_pktinfo)),
        };
        let mut headers = MultiHeaders::preallocate(packets.len(), room);
        self.with_control(None, |messages| {
            loop {
                let empty = MsgFlags::empty();
                match sendmmsg(socket.as_raw_fd(), &mut headers, &packets, &to, messages, empty) {
                    Ok(sent) => return Ok(sent.count()),
                    Err(nix::errno::Errno::EINTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        })
    }

    /// Calls `send` with the control messages for what this asks for.
    fn with_control<R>(
        &self,
        segments: Option<ControlMessage<'_>>,
        send: impl FnOnce(&[ControlMessage<'_>]) -> R,
    ) -> R {
        let octet = self.octet();
        let class = i32::from(octet);
        let is_v4 = self.destination.ip().to_canonical().is_ipv4();
        let mark = if is_v4 { ControlMessage::Ipv4Tos(&octet) } else { ControlMessage::Ipv6TClass(&class) };
        let (v4, v6);
        let source = match self.source {
            None => None,
            Some(IpAddr::V4(address)) => {
                let address = in_addr { s_addr: u32::from_ne_bytes(address.octets()) };
                v4 = in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: address, ipi_addr: in_addr { s_addr: 0 } };
                Some(ControlMessage::Ipv4PacketInfo(&v4))
            }
            Some(IpAddr::V6(address)) => {
                v6 = in6_pktinfo { ipi6_ifindex: 0, ipi6_addr: in6_addr { s6_addr: address.octets() } };
                Some(ControlMessage::Ipv6PacketInfo(&v6))
            }
        };
        let messages: Vec<_> =
            [(octet != 0).then_some(mark), source, segments].into_iter().flatten().collect();
        send(&messages)
    }
}

/// Whether the kernel may fragment what a socket sends: by its options, as they are now.
#[derive(Debug)]
pub(crate) struct DontFragment {
    families: Families,
    when_forbidden: Strictness,
    now: Mutex<Fragmentation>,
}

/// The IP versions a socket sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Families {
    V4,
    V6,
    Both,
}

/// Whether the kernel refuses what its own notion of the path MTU does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// The kernel refuses only packets longer than the interface's MTU.
    Interface,
    /// The kernel also refuses packets longer than the path MTU that ICMP reported.
    Path,
}

impl DontFragment {
    /// Creates the state of a socket whose options forbid fragmentation.
    pub(crate) fn new(families: Families, when_forbidden: Strictness) -> Self {
        Self { families, when_forbidden, now: Mutex::new(Fragmentation::Forbidden) }
    }

    /// Sees to it that the socket sends with or without DF, as long as the answer is held. No system call if it does so
    /// already.
    pub(crate) fn set(
        &self,
        socket: &Socket,
        wanted: Fragmentation,
    ) -> io::Result<MutexGuard<'_, Fragmentation>> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if *now != wanted {
            let (v4, v6) = self.options(wanted);
            if self.families != Families::V6 {
                set_ip_mtu_discover(socket, v4)?;
            }
            if self.families != Families::V4 {
                set_ipv6_mtu_discover(socket, v6)?;
                setsockopt(socket, sockopt::Ipv6DontFrag, &(wanted == Fragmentation::Forbidden))?;
            }
            *now = wanted;
        }
        Ok(now)
    }

    fn options(&self, wanted: Fragmentation) -> (Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery) {
        match (wanted, self.when_forbidden) {
            (Fragmentation::Allowed, _) => (Ipv4PathMtuDiscovery::DONT, Ipv6PathMtuDiscovery::DONT),
            (Fragmentation::Forbidden, Strictness::Interface) => {
                (Ipv4PathMtuDiscovery::PROBE, Ipv6PathMtuDiscovery::PROBE)
            }
            (Fragmentation::Forbidden, Strictness::Path) => {
                (Ipv4PathMtuDiscovery::DO, Ipv6PathMtuDiscovery::DO)
            }
        }
    }
}

/// Returns the two ECN bits of the IP header (RFC 3168 §5).
fn ecn_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

/// The largest number of packets one call hands over, so that the descriptions of a run are short-lived and
/// small.
const PACKETS_AT_ONCE: usize = 64;

#[cfg(test)]
pub(crate) mod observer;
#[cfg(test)]
mod tests;
