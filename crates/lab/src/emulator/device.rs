//! The TUN device at one end of a link.

use std::net::Ipv6Addr;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use tun_rs::{DeviceBuilder, SyncDevice};

use super::error::EmulatorError;
use super::link::LinkEnd;
use super::namespace;
use super::netlink;

/// Makes the device of `end` in the calling thread's namespace, with its addresses, and brings it up.
///
/// Offload stays off: every read is one IP packet, segmented and checksummed by the kernel, so that each is lost by
/// itself.
pub(super) fn open(end: LinkEnd) -> Result<SyncDevice, EmulatorError> {
    let name = end.device_name();
    let failed = |source| EmulatorError::Device { device: end.device_name(), source };
    let has_ipv6 = has_ipv6();
    let mut builder = DeviceBuilder::new()
        .name(&name)
        .mtu(MTU)
        .offload(false)
        .packet_information(false)
        .ipv4(end.ipv4(), 24, None)
        .enable(false);
    if has_ipv6 {
        builder = builder.ipv6(end.ipv6(), 64);
    }
    let device = builder.build_sync().map_err(failed)?;
    device.set_nonblocking(true).map_err(failed)?;
    let index = device.if_index().map_err(failed)?;
    netlink::set_queue_length(index, QUEUE_PACKETS).map_err(|errno| failed(errno.into()))?;
    silence(&name);
    device.enabled(true).map_err(failed)?;
    if has_ipv6 {
        await_local_route(end.ipv6()).map_err(failed)?;
    }
    Ok(device)
}

/// Keeps the kernel from sending on its own account. Where it may not be told, the emulator swallows what comes.
fn silence(device: &str) {
    for (parameter, value) in [("accept_dad", "0"), ("router_solicitations", "0"), ("addr_gen_mode", "1")] {
        let _swallowed_anyway =
            namespace::set_parameter(&format!("net.ipv6.conf.{device}.{parameter}"), value);
    }
}

/// Whether new devices of the calling thread's namespace get IPv6.
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

/// As on Ethernet.
pub(super) const MTU: u16 = 1500;
/// Room for what a sender may burst before the emulator's thread runs; the kernel's default is 500.
const QUEUE_PACKETS: u32 = 10_000;
/// The kernel's worker takes microseconds; a machine that needs longer than this is not fit to measure on.
const PATIENCE: Duration = Duration::from_secs(5);
