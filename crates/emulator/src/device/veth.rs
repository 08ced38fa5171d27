//! A pair of virtual Ethernet devices: the side's end with the addresses, and the far end, which belongs to the
//! emulator and is read and written through a packet socket (`packet(7)`).
//!
//! ```text
//!   the side's namespace          a namespace of the pair's own
//!   headway1 (addresses) ◄──────► headway1 ── packet socket ── emulator
//! ```
//!
//! The far end's namespace has no name and nobody in it. It lives by the socket: however the process ends, the kernel
//! removes it, the far end with it, and the side's end with that.
//!
//! What a TUN device does by itself takes care here. Segments: the side's end allows one at a time, so the kernel
//! splits before it sends. Checksums: [`checksum::complete`]. Neighbours: none are looked for, frames go to the
//! sender's own address, which the far end's namespace ignores as somebody else's.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::thread;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, RxqOvfl};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg,
    sendmsg, setsockopt, socket,
};

use super::super::link::LinkEnd;
use super::super::netlink::{Netlink, VethPair};
use super::super::{checksum, namespace};
use super::{MTU, PREFIX_V4, PREFIX_V6, QUEUE_PACKETS, await_local_route, has_ipv6, silence};

/// A pair of virtual Ethernet devices, seen from its far end.
pub(crate) struct Veth {
    far: FarEnd,
    /// Hardware address of the side's end.
    side: HardwareAddress,
    control: Vec<u8>,
    missed: u32,
    /// The side's namespace, kept open when nobody is in it any more, as a TUN device would.
    _namespace: OwnedFd,
}

/// The end that belongs to the emulator. Dropped, it removes the pair.
struct FarEnd {
    socket: OwnedFd,
    netlink: Netlink,
    index: u32,
    address: HardwareAddress,
}

type HardwareAddress = [u8; 6];

impl Veth {
    /// Makes the pair of `end`, its side's end in the calling thread's namespace, with its addresses, and brings it
    /// up.
    pub(super) fn open(end: LinkEnd) -> io::Result<Self> {
        let namespace = OwnedFd::from(File::open("/proc/thread-self/ns/net")?);
        let side = hardware_address(end, Whose::Side);
        let far = thread::scope(|scope| {
            let far = scope.spawn(|| FarEnd::open(end, side, &namespace));
            far.join().map_err(|_panicked| io::ErrorKind::Other)?
        })?;
        set_up_side(end)?;
        let control = nix::cmsg_space!(u32);
        Ok(Self { far, side, control, missed: 0, _namespace: namespace })
    }

    /// Reads the next packet that the side sends into `buffer`; how many octets it has. Does not wait.
    pub(super) fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut header = [0; HEADER_BYTES];
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
            let socket = self.far.socket.as_raw_fd();
            let frame = recvmsg::<()>(socket, &mut parts, Some(&mut self.control), MsgFlags::empty())?;
            for message in frame.cmsgs()? {
                if let ControlMessageOwned::RxqOvfl(missed) = message {
                    self.missed = missed;
                }
            }
            let length = frame.bytes;
            // The socket sees as well what the far end's kernel sends on its own account.
            let is_from_side = header[6..12] == self.side;
            if let (true, Some(length)) = (is_from_side, length.checked_sub(HEADER_BYTES)) {
                checksum::complete(&mut buffer[..length]);
                return Ok(length);
            }
        }
    }

    /// Hands a packet to the side's kernel. Like a TUN device it refuses what is neither IPv4 nor IPv6.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        let ethertype: [u8; 2] = match packet.first().map(|octet| octet >> 4) {
            Some(4) => [0x08, 0x00],
            Some(6) => [0x86, 0xdd],
            Some(_) | None => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let parts = [&self.side[..], &self.far.address, &ethertype, packet].map(IoSlice::new);
        sendmsg::<()>(self.far.socket.as_raw_fd(), &parts, &[], MsgFlags::empty(), None)?;
        Ok(())
    }

    /// Returns the number of packets that found the socket's buffer full, as far as known: the kernel tells
    /// with the next one.
    pub(super) const fn missed(&self) -> u32 {
        self.missed
    }
}

impl AsFd for Veth {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.far.socket.as_fd()
    }
}

impl FarEnd {
    /// Moves the calling thread into a new namespace and makes the pair there, the side's end in `its_namespace`.
    fn open(end: LinkEnd, side: HardwareAddress, its_namespace: &OwnedFd) -> io::Result<Self> {
        namespace::enter_new().map_err(io::Error::other)?;
        // Where it may not be told, the far end's kernel sends a little, and the side's ignores it.
        let _ignored = namespace::set_parameter("net.ipv6.conf.default.disable_ipv6", "1");
        let name = end.device_name();
        let address = hardware_address(end, Whose::Emulator);
        let netlink = Netlink::open()?;
        let mtu = u32::from(MTU);
        netlink.create_veth_pair(&VethPair {
            name: &name,
            mtu,
            here: address,
            there: side,
            its_namespace,
        })?;
        // From here on, an error removes the pair with its namespace.
        let (flags, protocol) = (SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, SockProtocol::EthAll);
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, protocol)?;
        if setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER_BYTES).is_err() {
            // In a user namespace: as much as the host grants to everybody (`net.core.rmem_max`).
            setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER_BYTES)?;
        }
        setsockopt(&socket, RxqOvfl, &1)?;
        let device = link_address(&name)?;
        bind(socket.as_raw_fd(), &device)?;
        let index = u32::try_from(device.ifindex()).map_err(io::Error::other)?;
        Ok(Self { socket, netlink, index, address })
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        // The side may have removed its own end already.
        let _removed = self.netlink.remove_device(self.index);
    }
}

/// Returns whether this process may make a pair, tried in a namespace that is gone afterwards.
pub(crate) fn try_pair() -> io::Result<()> {
    let attempt = thread::spawn(|| {
        namespace::enter_new().map_err(io::Error::other)?;
        Veth::open(LinkEnd::client(1)).map(drop)
    });
    attempt.join().map_err(|_panicked| io::ErrorKind::Other)?
}

/// Gives the side's end its addresses and brings it up, in the calling thread's namespace.
fn set_up_side(end: LinkEnd) -> io::Result<()> {
    let name = end.device_name();
    let index = u32::try_from(link_address(&name)?.ifindex()).map_err(io::Error::other)?;
    let netlink = Netlink::open()?;
    let has_ipv6 = has_ipv6();
    netlink.add_address(index, end.ipv4().into(), PREFIX_V4)?;
    silence(&name);
    if has_ipv6 {
        netlink.add_address(index, end.ipv6().into(), PREFIX_V6)?;
    }
    netlink.bring_up_without_offload(index)?;
    if has_ipv6 {
        await_local_route(end.ipv6())?;
    }
    Ok(())
}

/// Returns the address of a device for a packet socket. This list is the one place to get it from without
/// `unsafe`.
fn link_address(device: &str) -> io::Result<LinkAddr> {
    let mut entries = getifaddrs()?.filter(|entry| entry.interface_name == device);
    let address = entries.find_map(|entry| entry.address?.as_link_addr().copied());
    address.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The owner of an end of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Side,
    Emulator,
}

/// Returns a locally administered address (IEEE 802 §8.4), which tells links, ends, and ends of the pair apart.
const fn hardware_address(end: LinkEnd, whose: Whose) -> HardwareAddress {
    let whose = match whose {
        Whose::Side => 0,
        Whose::Emulator => 1,
    };
    [0x02, b'H', b'W', end.link, end.end.host(), whose]
}

/// Destination, source, and type.
const HEADER_BYTES: usize = 14;
/// The octets that the kernel sets aside for a full-sized packet in a receive buffer, rounded up.
const PACKET_COST_BYTES: usize = 2560;
/// Room for as many packets as a TUN device has, since no queue is in front of this one.
const RECEIVE_BUFFER_BYTES: usize = QUEUE_PACKETS * PACKET_COST_BYTES;
