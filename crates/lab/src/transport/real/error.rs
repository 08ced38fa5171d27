//! The reason why a transport could not be run over real sockets.

use thiserror::Error;

/// The reason why a transport could not be run.
#[derive(Debug, Error)]
pub enum RealError {
    /// A call of the socket failed.
    #[error("{what}: {source}")]
    Socket {
        /// The name of what was tried.
        what: &'static str,
        /// The error that the system returned.
        source: std::io::Error,
    },
    /// A server could not be opened.
    #[error("{at}: {because}")]
    Listen {
        /// The address that was to be listened at.
        at: std::net::SocketAddr,
        /// The reason that the system gave.
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
        /// The mistake, and what to do.
        because: String,
    },
    /// The workload makes no sense.
    #[error(transparent)]
    Load(#[from] workload::ArrivalsError),
    /// The congestion control asked for does not exist here.
    #[error("TCP congestion control `{name}` is refused ({source}); allowed here: {allowed}")]
    Congestion {
        /// The name that was asked for.
        name: String,
        /// `net.ipv4.tcp_allowed_congestion_control`: what may be used without privileges.
        allowed: String,
        /// The error that the system returned.
        source: std::io::Error,
    },
}

impl RealError {
    /// Returns the error for a server that does not answer, so that nothing is measured.
    pub(crate) fn nobody(protocol: &str, refused: &[String]) -> Self {
        let because = format!("no {protocol} server {}; start `headway echo` there", refused.join(", nor "));
        Self::Configuration { because }
    }

    pub(crate) fn socket(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Socket { what, source }
    }
}
