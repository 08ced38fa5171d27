//! The network device at one end of a link, of whichever kind.

mod kind;
mod tun;
mod veth;

use std::net::Ipv6Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use tun_rs::SyncDevice;

use super::error::EmulatorError;
use super::link::LinkEnd;
use super::namespace;

pub use self::kind::DeviceKind;
use self::veth::Veth;
pub(super) use self::veth::try_pair;

/// The device at one end of a link: whole IP packets go out and in, never larger than the MTU.
pub(super) enum Device {
    /// A TUN device.
    Tun(SyncDevice),
    /// A pair of virtual Ethernet devices.
    Veth(Veth),
}

impl Device {
    /// Makes the device of `end` in the calling thread's namespace, with its addresses, and brings it up.
    pub(super) fn open(kind: DeviceKind, end: LinkEnd) -> Result<Self, EmulatorError> {
        let device = match kind {
            DeviceKind::Tun => tun::open(end).map(Self::Tun),
            DeviceKind::Veth => Veth::open(end).map(Self::Veth),
        };
        device.map_err(|source| EmulatorError::Device { kind, device: end.device_name(), source })
    }

    /// Reads the next packet that the kernel sends into `buffer`; how many octets it has. Does not wait.
    pub(super) fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tun(device) => device.recv(buffer),
            Self::Veth(veth) => veth.recv(buffer),
        }
    }

    /// Hands a packet to the kernel.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(device) => device.send(packet).map(drop),
            Self::Veth(veth) => veth.send(packet),
        }
    }

    /// Returns the number of packets that came faster than they were read and are lost, as far as this is
    /// known.
    pub(super) const fn missed(&self) -> Option<u32> {
        match self {
            Self::Tun(_) => None,
            Self::Veth(veth) => Some(veth.missed()),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(device) => device.as_fd(),
            Self::Veth(veth) => veth.as_fd(),
        }
    }
}

/// Keeps the kernel from sending on its own account. Where it may not be told, the emulator swallows what comes.
fn silence(device: &str) {
    for (parameter, value) in [("accept_dad", "0"), ("router_solicitations", "0"), ("addr_gen_mode", "1")] {
        let _swallowed_anyway =
            namespace::set_parameter(&format!("net.ipv6.conf.{device}.{parameter}"), value);
    }
}

/// Returns whether new devices of the calling thread's namespace get IPv6.
fn has_ipv6() -> bool {
    fs::read_to_string("/proc/sys/net/ipv6/conf/default/disable_ipv6").is_ok_and(|value| value.trim() == "0")
}

/// Waits until packets to `address` are taken in: a worker of the kernel sees to that, some time after the device is
/// up, and until then they vanish.
fn await_local_route(address: Ipv6Addr) -> io::Result<()> {
    // Destination and prefix length, in hexadecimal and without colons (`proc_net(5)`).
    let local = format!("{:032x} 80 ", address.to_bits());
    let deadline = Instant::now() + PATIENCE;
    while !fs::read_to_string("/proc/thread-self/net/ipv6_route")?
        .lines()
        .any(|route| route.starts_with(&local))
    {
        if Instant::now() > deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its IPv6 address does not become usable"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The MTU of the devices in octets, as on Ethernet.
const MTU: u16 = 1500;
/// Prefix length of a link's IPv4 addresses.
const PREFIX_V4: u8 = 24;
/// Prefix length of a link's IPv6 addresses.
const PREFIX_V6: u8 = 64;
/// Room for what a sender may burst before the emulator's thread runs; the kernel's default is 500.
pub(super) const QUEUE_PACKETS: usize = 10_000;
/// The kernel's worker takes microseconds; a machine that needs longer than this is not fit to measure on.
const PATIENCE: Duration = Duration::from_secs(5);
