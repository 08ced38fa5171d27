//! The few things that the emulator asks of `rtnetlink(7)`.
//!
//! Written out because a netlink library would bring an async runtime into every side for a handful of messages. All
//! fields are in the machine's own byte order.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use super::link::LinkState;

/// A socket to the kernel's network configuration. It speaks of the network namespace in which it was opened,
/// whichever thread uses it.
pub(super) struct Netlink {
    socket: OwnedFd,
}

/// A pair of virtual Ethernet devices to be made.
pub(super) struct VethPair<'a> {
    /// The name of both.
    pub(super) name: &'a str,
    /// The octets of an IP packet that they carry.
    pub(super) mtu: u32,
    /// The hardware address of the device that stays here and comes up at once.
    pub(super) here: [u8; 6],
    /// The hardware address of the other, which stays down.
    pub(super) there: [u8; 6],
    /// The network namespace of the other.
    pub(super) its_namespace: &'a OwnedFd,
}

impl Netlink {
    /// Opens a netlink socket in the calling thread's network namespace.
    pub(super) fn open() -> nix::Result<Self> {
        let kind = SockType::Raw;
        let socket =
            socket(AddressFamily::Netlink, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        Ok(Self { socket })
    }

    /// Brings the loopback device up, which is device 1 in every namespace.
    pub(super) fn bring_up_loopback(&self) -> nix::Result<()> {
        self.change_device(LOOPBACK, IFF_UP, &[])
    }

    /// Sets how many packets may wait at the entrance of device `index`. The older `ioctl` refuses this to a user
    /// namespace.
    pub(super) fn set_queue_length(&self, index: u32, packets: u32) -> nix::Result<()> {
        self.change_device(index, 0, &number(IFLA_TXQLEN, packets))
    }

    /// Makes a pair of virtual Ethernet devices, without neighbour discovery.
    pub(super) fn create_veth_pair(&self, pair: &VethPair<'_>) -> nix::Result<()> {
        let namespace = u32::try_from(pair.its_namespace.as_raw_fd()).map_err(|_| Errno::EBADF)?;
        let ends_of = |address: [u8; 6]| {
            [&name(pair.name), &*number(IFLA_MTU, pair.mtu), &attribute(IFLA_ADDRESS, &address)].concat()
        };
        let peer =
            [&device(0, IFF_NOARP), &*ends_of(pair.there), &number(IFLA_NET_NS_FD, namespace)].concat();
        let kind = attribute(IFLA_INFO_KIND, b"veth");
        let data = attribute(IFLA_INFO_DATA, &attribute(VETH_INFO_PEER, &peer));
        let info = attribute(IFLA_LINKINFO, &[kind, data].concat());
        let message = [device(0, IFF_UP | IFF_NOARP), ends_of(pair.here), info].concat();
        self.request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &message)
    }

    /// Brings device `index` up, without neighbour discovery, and lets nobody hand it more than one segment at a
    /// time.
    pub(super) fn bring_up_without_offload(&self, index: u32) -> nix::Result<()> {
        self.change_device(index, IFF_UP | IFF_NOARP, &number(IFLA_GSO_MAX_SEGS, 1))
    }

    /// Gives device `index` an address, without looking whether a neighbour has it.
    pub(super) fn add_address(&self, index: u32, address: IpAddr, prefix_length: u8) -> nix::Result<()> {
        let (family, octets) = match address {
            IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
            IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
        };
        let header = [&[family, prefix_length, IFA_F_NODAD, RT_SCOPE_UNIVERSE][..], &index.to_ne_bytes()];
        let addresses = [attribute(IFA_LOCAL, &octets), attribute(IFA_ADDRESS, &octets)];
        self.request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &[header.concat(), addresses.concat()].concat())
    }

    /// Sends everything that has no other way to `gateway`, a neighbour.
    pub(super) fn add_default_route(&self, gateway: Ipv4Addr) -> nix::Result<()> {
        // Family; lengths of destination and source; type of service; table, protocol, scope and type; flags.
        let route =
            [AF_INET, 0, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_UNIVERSE, RTN_UNICAST, 0, 0, 0, 0];
        let message = [&route[..], &attribute(RTA_GATEWAY, &gateway.octets())].concat();
        self.request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &message)
    }

    /// Sends what goes to one address through device `index`, unless a route with a lower priority is there.
    pub(super) fn replace_main_route(&self, index: u32, to: Ipv4Addr, priority: u8) -> nix::Result<()> {
        self.put_route(RT_TABLE_MAIN, index, to, priority)
    }

    /// Sends what goes to one address through device `index` where a rule refers to this table.
    pub(super) fn replace_route(&self, index: u32, to: Ipv4Addr, table: u8) -> nix::Result<()> {
        self.put_route(table, index, to, table)
    }

    fn put_route(&self, table: u8, index: u32, to: Ipv4Addr, priority: u8) -> nix::Result<()> {
        let route = [AF_INET, 32, 0, 0, table, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0, 0, 0, 0];
        let priority = number(RTA_PRIORITY, priority.into());
        let message = [&route[..], &attribute(RTA_DST, &to.octets()), &number(RTA_OIF, index), &priority];
        self.request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &message.concat())
    }

    /// Lets a table say where what comes from an address goes.
    pub(super) fn add_rule(&self, from: Ipv4Addr, table: u8) -> nix::Result<()> {
        // Family; lengths of destination and source; type of service; table, nothing twice, what to do; flags.
        let rule = [AF_INET, 0, 32, 0, table, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
        let message = [&rule[..], &attribute(FRA_SRC, &from.octets())].concat();
        self.request(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &message)
    }

    /// Switches device `index` on or off, and leaves everything else of it as it is.
    pub(super) fn switch_device(&self, index: u32, state: LinkState) -> nix::Result<()> {
        let flags = match state {
            LinkState::Up => IFF_UP,
            LinkState::Down => 0,
        };
        self.request(RTM_NEWLINK, 0, &device_with(index, flags, IFF_UP))
    }

    /// Removes device `index`; of a pair, both.
    pub(super) fn remove_device(&self, index: u32) -> nix::Result<()> {
        self.request(RTM_DELLINK, 0, &device(index, 0))
    }

    fn change_device(&self, index: u32, flags: u32, attributes: &[u8]) -> nix::Result<()> {
        self.request(RTM_NEWLINK, 0, &[&device(index, flags), attributes].concat())
    }

    /// Sends a request and waits for its acknowledgement.
    fn request(&self, kind: u16, flags: u16, message: &[u8]) -> nix::Result<()> {
        let length = u32::try_from(16 + message.len()).map_err(|_| Errno::EMSGSIZE)?;
        let mut request = length.to_ne_bytes().to_vec();
        request.extend(kind.to_ne_bytes());
        request.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
        request.extend([0; 8]); // sequence number, port
        request.extend(message);
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())?;

        // The header of the answer, then the negative error number or 0.
        let mut answer = [0; 128];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        let code = answer[..length].get(16..20).and_then(|code| <[u8; 4]>::try_from(code).ok());
        match code.map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(negative) => Err(Errno::from_raw(negative.saturating_neg())),
            None => Err(Errno::EBADMSG),
        }
    }
}

/// Returns what a message about a device begins with: the device, 0 for a new one, and the flags to set.
fn device(index: u32, flags: u32) -> Vec<u8> {
    device_with(index, flags, flags)
}

/// Returns the beginning of a message about a device whose flags change where `which` says so.
fn device_with(index: u32, flags: u32, which: u32) -> Vec<u8> {
    let mut header = vec![0; 4]; // family, padding, type
    header.extend(index.to_ne_bytes());
    header.extend(flags.to_ne_bytes());
    header.extend(which.to_ne_bytes());
    header
}

fn name(name: &str) -> Vec<u8> {
    attribute(IFLA_IFNAME, &[name.as_bytes(), &[0]].concat())
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_ne_bytes())
}

/// Returns an attribute, filled up to a multiple of four octets, which its length does not tell.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut attribute = [&length.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
}

/// The loopback device of every namespace.
pub(super) const LOOPBACK: u32 = 1;
const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWRULE: u16 = 32;
const NLM_F_REQUEST: u16 = 0x001;
const NLM_F_ACK: u16 = 0x004;
const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const IFF_UP: u32 = 0x01;
const IFF_NOARP: u32 = 0x80;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_F_NODAD: u8 = 0x02;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RTN_UNICAST: u8 = 1;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const FRA_SRC: u16 = 2;
const FR_ACT_TO_TBL: u8 = 1;
const RT_SCOPE_LINK: u8 = 253;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
