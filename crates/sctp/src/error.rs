//! The errors of this crate, one small enum per operation.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use sctp_core::{AssociationError, ConfigError, Destination, Message, StreamId};
use sctp_io::RawIpError;

/// The reason why an endpoint could not be bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Somebody has the UDP port.
    #[error(
        "UDP port {} at {} is in use: another program, or another of these servers, has bound it",
        address.port(),
        address.ip()
    )]
    PortInUse {
        /// The address at which the port was wanted.
        address: SocketAddr,
    },
    /// The UDP socket could not be bound.
    #[error("cannot bind a UDP socket to {address}: {source}")]
    Socket {
        /// The address to which the socket should have been bound.
        address: SocketAddr,
        /// The error that the system returned.
        source: io::Error,
    },
    /// The raw socket could not be bound.
    #[error(transparent)]
    RawIp(#[from] RawIpError),
    /// The socket given as a channel cannot be one.
    #[error("the socket cannot carry SCTP packets: {0}")]
    Channel(#[source] io::Error),
    /// The system provides no timer, no entropy or no event loop.
    #[error("the system refuses what an endpoint needs: {0}")]
    System(#[source] io::Error),
    /// The capture file could not be created.
    #[error("cannot write packets to {path}: {source}")]
    Capture {
        /// The path of the file to which packets should have gone.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
    /// The call was made outside a tokio runtime.
    #[error("no tokio runtime with IO enabled; call bind from within one")]
    NoRuntime,
}

impl BindError {
    /// Returns a function for `map_err` that says at which `address` no UDP socket was to be had.
    pub(crate) fn of_socket(address: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let is_taken = source.kind() == io::ErrorKind::AddrInUse;
            if is_taken { Self::PortInUse { address } } else { Self::Socket { address, source } }
        }
    }
}

/// The reason why an association could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The endpoint's socket cannot send there: wrong address family or encapsulation.
    #[error("{destination} cannot be reached from this endpoint: {source}")]
    Destination {
        /// The destination in question.
        destination: Destination,
        /// The error that the system returned.
        source: io::Error,
    },
    /// The request itself cannot be met.
    #[error(transparent)]
    Request(#[from] sctp_core::ConnectError),
    /// The peer did not answer, refused, or broke the protocol.
    #[error(transparent)]
    Failed(#[from] CommunicationLost),
    /// The association was not established within the time given; the attempt is aborted.
    #[error("the association was not established: {0}")]
    TimedOut(TimedOut),
    /// [`Endpoint::close`](crate::Endpoint::close) was called.
    #[error("the endpoint is closed")]
    EndpointClosed,
}

/// The reason why there is no peer to decide about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IncomingError {
    /// The endpoint was closed, or nobody drives it any more.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The endpoint does not ask: it accepts or refuses all peers.
    #[error(
        "this endpoint decides by itself; bind it with EndpointConfig::incoming as IncomingPolicy::ASK to be asked"
    )]
    NotAsked,
}

/// A call took longer than it was given. Nothing was sent or taken by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not within {0:?}")]
pub struct TimedOut(
    /// The time that the call was given.
    pub Duration,
);

/// The reason why a call that was given a time brought nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeoutError<E> {
    /// The time that the call was given is over.
    #[error(transparent)]
    TimedOut(TimedOut),
    /// The call failed before its time was over.
    #[error(transparent)]
    Failed(#[from] E),
}

#[cfg(target_os = "linux")]
impl<E> TimeoutError<E> {
    /// Returns the outcome of a call that was given a time.
    pub(crate) fn flatten<T>(outcome: Result<Result<T, E>, TimedOut>) -> Result<T, Self> {
        outcome.map_err(Self::TimedOut)?.map_err(Self::Failed)
    }
}

/// The reason why a message was not queued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full, and the message comes back; only from calls that do not wait, or not for ever
    /// ([`try_send`](crate::Association::try_send), [`send_timeout`](crate::blocking::Association::send_timeout)).
    #[error("the send buffer is full")]
    BufferFull(Message),
    /// The stream was not negotiated.
    #[error("stream {stream} does not exist; {negotiated} streams were negotiated")]
    UnknownStream {
        /// The number of the stream that was asked for.
        stream: StreamId,
        /// The number of streams that there are.
        negotiated: u16,
    },
    /// The message is longer than `AssociationConfig::buffers.message_bytes`.
    #[error("a message of {bytes} octets is longer than the limit of {limit}")]
    TooLong {
        /// The length of the message in octets.
        bytes: usize,
        /// The longest that can be sent, in octets.
        limit: usize,
    },
    /// SCTP has no message without payload (RFC 9260 §3.3.1).
    #[error("a message needs at least one octet")]
    Empty,
    /// One of the sides asked for the graceful end: nothing new is accepted.
    #[error("the association is shutting down or was shut down")]
    ShuttingDown,
    /// The association ended otherwise.
    #[error(transparent)]
    Lost(#[from] CommunicationLost),
}

/// The reason why a stream could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TakeStreamError {
    /// Somebody has a handle that reads it.
    #[error("stream {0} is taken: drop its reader first")]
    Taken(StreamId),
}

/// The reason why the reader of a stream gets nothing more, other than by agreement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamReadError {
    /// The association ended, and not by agreement.
    #[error(transparent)]
    Lost(#[from] CommunicationLost),
    /// The peer has lost its state and begun anew; messages may be missing. What comes now is for a new handle.
    #[error("the peer restarted, and the stream with it")]
    PeerRestarted,
    /// The reader was too far behind: see [`limit_unread`](crate::StreamReader::limit_unread).
    #[error("more than {limit} octets of the stream were unread: it is cut off")]
    Overrun {
        /// The limit that was set, in octets.
        limit: usize,
    },
}

/// What programs that read octets see: `ConnectionAborted`, for what comes is not all there was.
impl From<StreamReadError> for io::Error {
    fn from(error: StreamReadError) -> Self {
        Self::new(io::ErrorKind::ConnectionAborted, error)
    }
}

/// What programs that write octets see.
impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        let kind = match &error {
            SendError::BufferFull(_) => io::ErrorKind::WouldBlock,
            SendError::UnknownStream { .. } | SendError::TooLong { .. } | SendError::Empty => {
                io::ErrorKind::InvalidInput
            }
            SendError::ShuttingDown => io::ErrorKind::BrokenPipe,
            SendError::Lost(_) => io::ErrorKind::ConnectionAborted,
        };
        Self::new(kind, error)
    }
}

/// The reason why an association ended other than by agreement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommunicationLost {
    /// The association was ended by the protocol: the peer could not be reached, aborted it, or was aborted.
    #[error(transparent)]
    Association(#[from] AssociationError),
    /// The endpoint's socket failed.
    #[error("the endpoint's socket failed: {0}")]
    Socket(io::ErrorKind),
    /// The task that drives the endpoint is gone, because its tokio runtime was shut down.
    #[error("the endpoint's tokio runtime was shut down")]
    DriverStopped,
}
