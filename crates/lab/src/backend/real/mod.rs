//! The loop of a client over real sockets, whatever the transport.
//!
//! Every lane (stream or connection) has a queue of its own, which a task of the transport empties, so that a full
//! connection holds up no other.

mod alarm;
mod drive;

pub(crate) use self::alarm::Alarm;
pub(crate) use self::drive::{Arrived, Driven, LOOK_FOR_STOP, drive};

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
    /// A server could not be opened.
    #[error("{at}: {because}")]
    Listen {
        /// Where.
        at: std::net::SocketAddr,
        /// What the system said.
        because: String,
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
    /// Nobody answers, so nothing is measured.
    pub(crate) fn nobody(protocol: &str, refused: &[String]) -> Self {
        let because = format!("no {protocol} server {}; start `headway echo` there", refused.join(", nor "));
        Self::Configuration { because }
    }

    pub(crate) fn socket(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Socket { what, source }
    }
}
