//! A TUN device: the kernel's packets through `/dev/net/tun`.

use std::io;

use tun_rs::{DeviceBuilder, SyncDevice};

use super::super::link::LinkEnd;
use super::super::netlink::Netlink;
use super::{MTU, PREFIX_V4, PREFIX_V6, QUEUE_PACKETS, await_local_route, has_ipv6, silence};

/// Makes the device of `end` in the calling thread's namespace, with its addresses, and brings it up.
///
/// Offload stays off: every read is one IP packet, segmented and checksummed by the kernel, so that each is lost by
/// itself.
pub(super) fn open(end: LinkEnd) -> io::Result<SyncDevice> {
    let name = end.device_name();
    let has_ipv6 = has_ipv6();
    let mut builder = DeviceBuilder::new()
        .name(&name)
        .mtu(MTU)
        .offload(false)
        .packet_information(false)
        .ipv4(end.ipv4(), PREFIX_V4, None)
        .enable(false);
    if has_ipv6 {
        builder = builder.ipv6(end.ipv6(), PREFIX_V6);
    }
    let device = builder.build_sync()?;
    device.set_nonblocking(true)?;
    let queue = u32::try_from(QUEUE_PACKETS).unwrap_or(u32::MAX);
    Netlink::open()?.set_queue_length(device.if_index()?, queue)?;
    silence(&name);
    device.enabled(true)?;
    if has_ipv6 {
        await_local_route(end.ipv6())?;
    }
    Ok(device)
}
