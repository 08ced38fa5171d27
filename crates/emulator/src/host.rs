//! A host in several networks: its devices come and go, and each network has a way of its own to the others. All of it concerns the
//! network namespace of the calling thread.

use std::net::Ipv4Addr;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use super::error::EmulatorError;
use super::link::LinkState;
use super::netlink::{LOOPBACK, Netlink};

/// Switches a network device on or off, as `ip link set DEVICE up` and `down` do. Its IPv4 addresses stay; its routes go with the
/// state `Down`, and of these the one to its own network comes back by itself.
///
/// # Errors
/// When there is no such device, or the kernel refuses.
pub fn switch_device(device: &str, state: LinkState) -> Result<(), EmulatorError> {
    let switched = if_nametoindex(device).and_then(|index| Netlink::open()?.switch_device(index, state));
    switched.map_err(|errno| EmulatorError::Configure { device: device.to_owned(), errno })
}

/// Gives this host an address that belongs to none of its links: it is reached through each of them.
///
/// # Errors
/// When the kernel refuses, for example because the host has the address already.
pub fn add_host_address(address: Ipv4Addr) -> Result<(), EmulatorError> {
    let added = Netlink::open().and_then(|netlink| netlink.add_address(LOOPBACK, address.into(), 32));
    added.map_err(|errno| EmulatorError::Configure { device: "lo".to_owned(), errno })
}

/// Lets what `source` sends to `destination` leave through a device that is on. What has no source yet goes through the device with the
/// lowest `number`, from 1 to 199, which stands for the device in the tables of routes.
///
/// # Errors
/// When there is no such device, it is off, or the kernel refuses.
pub fn route_by_source(
    device: &str,
    number: u8,
    source: Ipv4Addr,
    destination: Ipv4Addr,
) -> Result<(), EmulatorError> {
    let routed = if_nametoindex(device).and_then(|index| {
        let netlink = Netlink::open()?;
        netlink.replace_main_route(index, destination, number)?;
        netlink.replace_route(index, destination, number)?;
        match netlink.add_rule(source, number) {
            Err(Errno::EEXIST) => Ok(()),
            added => added,
        }
    });
    routed.map_err(|errno| EmulatorError::Configure { device: device.to_owned(), errno })
}
