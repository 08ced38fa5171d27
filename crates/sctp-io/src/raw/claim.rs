//! Whether this process may have an SCTP port of the host: neither the kernel nor another process answers for it.
//!
//! The kernel knows no ports of raw sockets. Two who answer for one port abort each other's associations, so what the
//! kernel does for UDP is done here: whoever binds first has the port.

use std::io;
use std::net::IpAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

use sctp_core::SctpPort;

use crate::raw_options::RawIpError;

/// An SCTP port at an address, ours as long as this lives.
///
/// A name in the abstract namespace of Unix sockets: belongs to the network namespace as the port does, and is
/// given up when the process ends, however it ends. All addresses of a family and one of them overlap, so whoever has taken
/// a name then looks who else has one. Of two who do that at the same time, both may be refused, and never none.
#[derive(Debug)]
pub(super) struct Claim {
    _name: UnixDatagram,
}

impl Claim {
    pub(super) fn new(address: IpAddr, port: SctpPort) -> Result<Self, RawIpError> {
        let name = format!("{PREFIX}{address}/{port}");
        let bound = SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name));
        let name = match bound {
            Ok(name) => name,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                return Err(RawIpError::PortInUse { address, port, holder: address });
            }
            Err(source) => return Err(RawIpError::Socket { address, source }),
        };
        let names =
            std::fs::read_to_string(UNIX_SOCKETS).map_err(|source| RawIpError::Socket { address, source })?;
        match overlapping(&names, address, port) {
            Some(holder) => Err(RawIpError::PortInUse { address, port, holder }),
            None => Ok(Self { _name: name }),
        }
    }
}

/// Returns the holder of the port among the kernel's Unix sockets (`proc_net_unix(5)`) whose claim overlaps
/// with `address`: all addresses of its family beside one, or one beside all.
fn overlapping(names: &str, address: IpAddr, port: SctpPort) -> Option<IpAddr> {
    let claims = names.lines().filter_map(|line| line.rsplit_once('@')?.1.strip_prefix(PREFIX));
    let holders = claims.filter_map(|claim| {
        let (holder, number) = claim.rsplit_once('/')?;
        (number.parse() == Ok(port.get())).then(|| holder.parse::<IpAddr>().ok())?
    });
    let overlaps = |holder: &IpAddr| {
        holder.is_ipv4() == address.is_ipv4() && holder.is_unspecified() != address.is_unspecified()
    };
    holders.into_iter().find(overlaps)
}

/// Fails if the kernel's SCTP is active in this network namespace, as `folder` tells.
pub(super) fn check_kernel_sctp(folder: &Path) -> Result<(), RawIpError> {
    if folder.exists() { Err(RawIpError::KernelSctp { evidence: folder.to_owned() }) } else { Ok(()) }
}

/// The beginning of the names of claims; address and port follow.
const PREFIX: &str = "sctp-over-ip/";
/// All Unix sockets of the calling thread's namespace.
const UNIX_SOCKETS: &str = "/proc/thread-self/net/unix";
/// There while the kernel's SCTP is, module or built in; of the namespace of the calling thread.
pub(super) const KERNEL_SCTP: &str = "/proc/thread-self/net/sctp";
