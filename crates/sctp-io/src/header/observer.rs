//! A plain socket that is told the traffic class of what it receives: for tests.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use socket2::{Domain, Protocol, Socket, Type};

pub(crate) struct Observer(Socket);

impl Observer {
    /// Observes UDP at an address.
    pub(crate) fn of_udp(address: SocketAddr) -> Self {
        Self::new(address, Type::DGRAM, None)
    }

    /// Observes SCTP directly over IP at an address: all of it, whatever its ports.
    pub(crate) fn of_sctp(address: IpAddr) -> Self {
        Self::new(SocketAddr::new(address, 0), Type::RAW, Some(Protocol::from(132)))
    }

    fn new(address: SocketAddr, kind: Type, protocol: Option<Protocol>) -> Self {
        let socket = Socket::new(Domain::for_address(address), kind, protocol).unwrap();
        socket.bind(&address.into()).unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        if address.is_ipv4() {
            socket.set_recv_tos_v4(true).unwrap();
        } else {
            socket.set_recv_tclass_v6(true).unwrap();
        }
        Self(socket)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap().as_socket().unwrap()
    }

    /// Reads until there were so many of the packets meant; returns the traffic class octet of each of these.
    pub(crate) fn class_octets(&self, expected: usize, is_meant: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut seen = Vec::new();
        while seen.len() < expected {
            let (mut octets, mut space) = ([0; 2_000], cmsg_space!(i32));
            let mut slices = [io::IoSliceMut::new(&mut octets)];
            let (fd, flags) = (self.0.as_raw_fd(), MsgFlags::empty());
            let received = recvmsg::<()>(fd, &mut slices, Some(&mut space), flags).unwrap();
            let class = received.cmsgs().unwrap().find_map(class);
            let len = received.bytes;
            if is_meant(&octets[..len]) {
                seen.push(class.unwrap());
            }
        }
        seen
    }
}

fn class(message: ControlMessageOwned) -> Option<u8> {
    if let ControlMessageOwned::Ipv4Tos(octet) = message {
        return Some(octet);
    }
    let ControlMessageOwned::Ipv6TClass(class) = message else { return None };
    u8::try_from(class).ok()
}
