//! Load generator and echo server over real sockets: our SCTP, the kernel's TCP, UDP with SIP-like retransmission.
//!
//! The cores of `workload` decide when something is sent and what an answer means; here are only the tasks that
//! carry octets between them and the transports. Every lane (stream or connection) has a queue of its own, so that
//! a full connection holds up no other.

mod alarm;
mod drive;
pub mod sctp;
pub mod tcp;
pub mod udp;

pub use self::alarm::Alarm;
pub use self::drive::{Arrived, Driven, Outlet, drive};

use thiserror::Error;

/// Why a transport could not be run.
#[derive(Debug, Error)]
pub enum RealError {
    /// A socket call failed.
    #[error("{what}: {source}")]
    Socket {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The SCTP endpoint could not be set up.
    #[error("cannot open the SCTP endpoint: {0}")]
    Bind(#[from] ::sctp::BindError),
    /// The SCTP association could not be set up.
    #[error("cannot open the association: {0}")]
    Connect(#[from] ::sctp::ConnectError),
    /// The association's parameters cannot work.
    #[error("{because}")]
    Configuration {
        /// Which, and what to do.
        because: String,
    },
    /// The workload makes no sense.
    #[error(transparent)]
    Load(#[from] workload::ArrivalsError),
    /// The congestion control asked for does not exist here.
    #[error("TCP congestion control `{name}` is refused ({source}); allowed here: {allowed}")]
    Congestion {
        /// The one asked for.
        name: String,
        /// `net.ipv4.tcp_allowed_congestion_control`: what may be used without privileges.
        allowed: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl RealError {
    pub(crate) fn socket(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Socket { what, source }
    }
}
