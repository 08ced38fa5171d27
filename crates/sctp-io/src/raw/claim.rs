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

use super::RawIpError;

/// An SCTP port at an address, ours as long as this lives.
///
/// A name in the abstract namespace of Unix sockets: belongs to the network namespace as the port does, and is
/// given up when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Claim {
    _name: UnixDatagram,
}

impl Claim {
    pub(super) fn new(address: IpAddr, port: SctpPort) -> Result<Self, RawIpError> {
        let name = format!("sctp-over-ip/{address}/{port}");
        let bound = SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name));
        match bound {
            Ok(name) => Ok(Self { _name: name }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(RawIpError::PortInUse { address, port })
            }
            Err(source) => Err(RawIpError::Socket { address, source }),
        }
    }
}

/// What to do when the kernel's own SCTP is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelSctp {
    /// Refuse to bind: it would answer our peers' packets with ABORT (RFC 9260 §8.4), for it does not know our
    /// associations. The default.
    #[default]
    Refuse,
    /// Bind all the same. For hosts where something keeps the kernel's answers from leaving.
    Ignore,
}

/// Fails if the kernel's SCTP is active in this network namespace, as `folder` tells.
pub(super) fn check_kernel_sctp(folder: &Path) -> Result<(), RawIpError> {
    if folder.exists() { Err(RawIpError::KernelSctp { evidence: folder.to_owned() }) } else { Ok(()) }
}

/// There while the kernel's SCTP is, module or built in; of the namespace of the calling thread.
pub(super) const KERNEL_SCTP: &str = "/proc/thread-self/net/sctp";
