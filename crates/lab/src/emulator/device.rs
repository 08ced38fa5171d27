//! The TUN device at one end of a link.

use std::path::Path;

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
    let device = DeviceBuilder::new()
        .name(&name)
        .mtu(MTU)
        .offload(false)
        .packet_information(false)
        .ipv4(end.ipv4(), 24, None)
        .enable(false)
        .build_sync()
        .map_err(failed)?;
    device.set_nonblocking(true).map_err(failed)?;
    let index = device.if_index().map_err(failed)?;
    netlink::set_queue_length(index, QUEUE_PACKETS).map_err(|errno| failed(errno.into()))?;
    if has_ipv6() {
        netlink::add_ipv6(index, end.ipv6(), 64).map_err(|errno| failed(errno.into()))?;
    }
    silence(&name);
    device.enabled(true).map_err(failed)?;
    Ok(device)
}

/// Keeps the kernel from sending on its own account. Where it may not be told, the emulator swallows what comes.
fn silence(device: &str) {
    for (parameter, value) in [("accept_dad", "0"), ("router_solicitations", "0"), ("addr_gen_mode", "1")] {
        let _swallowed_anyway =
            namespace::set_parameter(&format!("net.ipv6.conf.{device}.{parameter}"), value);
    }
}

fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").exists()
}

/// As on Ethernet.
pub(super) const MTU: u16 = 1500;
/// Room for what a sender may burst before the emulator's thread runs; the kernel's default is 500.
const QUEUE_PACKETS: u32 = 10_000;
