//! The options of sockets that carry SCTP directly over IP, and the reasons why there is none.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use sctp_core::SctpPort;

/// Options of a [`RawIp`](crate::RawIp) socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawIpOptions {
    /// The place where packets for other ports are dropped. Default: in the kernel. Change it to see them
    /// counted.
    pub port_filter: PortFilter,
    /// The choice to make when the kernel's own SCTP is there. Default: refuse.
    pub kernel_sctp: KernelSctp,
}

/// The reason why no raw socket could be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawIpError {
    /// The list of addresses to bind is empty.
    #[error("no address to bind to; 0.0.0.0 or :: stands for all of a family")]
    NoAddress,
    /// `0.0.0.0` or `::` beside others.
    #[error("{0} stands for all addresses already; bind to it alone, or leave it out")]
    AnyAmongOthers(IpAddr),
    /// IPv4 and IPv6 addresses together.
    #[error(
        "{first} and {other} are of different IP versions, and a raw socket speaks one; use two that are joined"
    )]
    MixedFamilies {
        /// The first address of the list.
        first: IpAddr,
        /// The first that does not fit to it.
        other: IpAddr,
    },
    /// The system is another than Linux.
    #[error("SCTP directly over IP needs raw sockets as Linux has them; on this system use SCTP in UDP")]
    NotOnThisSystem,
    /// The process lacks CAP_NET_RAW.
    #[error(
        "SCTP directly over IP needs the capability CAP_NET_RAW: run as root, grant it to the program \
         (setcap cap_net_raw+ep PROGRAM), or use SCTP in UDP, which needs none"
    )]
    NotPermitted,
    /// The kernel's own SCTP would abort our associations.
    #[error(
        "the kernel's own SCTP is active ({evidence} exists) and would abort our associations: keep it from loading (a \
         line `install sctp /bin/false` in /etc/modprobe.d) and restart the host, for a kernel rarely unloads it, or \
         use SCTP in UDP"
    )]
    KernelSctp {
        /// The file that shows that the kernel's SCTP is loaded.
        evidence: PathBuf,
    },
    /// Another socket of this library, perhaps in another process, answers for this port.
    #[error(
        "SCTP port {port} at {address} is in use: another program, or another of these servers, has it at {holder}"
    )]
    PortInUse {
        /// The address at which the port was wanted.
        address: IpAddr,
        /// The SCTP port that is taken.
        port: SctpPort,
        /// The address at which it is served: the wanted one, all addresses, or one of all that were wanted.
        holder: IpAddr,
    },
    /// The system refused otherwise: an address that is not ours, a family that is not available.
    #[error("cannot open a raw SCTP socket at {address}: {source}")]
    Socket {
        /// The local address in question.
        address: IpAddr,
        /// The error that the system returned.
        source: io::Error,
    },
}

/// The place where packets for other SCTP ports are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortFilter {
    /// The kernel drops them, by a packet filter on the socket: nobody is woken for them, they take no room in
    /// the receive buffer, and they are not counted. The default.
    #[default]
    Kernel,
    /// This process drops them, and counts them in [`packets_foreign`](crate::IoStatistics::packets_foreign).
    /// For diagnosis: every SCTP packet of the host wakes the process.
    Process,
}

/// The choice to make when the kernel's own SCTP is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelSctp {
    /// Refuse to bind: it would answer our peers' packets with ABORT (RFC 9260 §8.4), for it does not know our
    /// associations. The default.
    #[default]
    Refuse,
    /// Bind all the same. For hosts where something keeps the kernel's answers from leaving.
    Ignore,
}
