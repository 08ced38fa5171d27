//! The interface between worlds of real packets and transports.

mod alarm;
mod drive;
mod error;
mod movement;

use core::fmt;
use core::pin::Pin;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use sctp_core::{PathStatistics, Profile};
use sctp_io::Clock;

pub(crate) use self::alarm::Alarm;
pub(crate) use self::drive::{Arrived, Driven, LOOK_FOR_STOP, Pipes, Reconnecting, drive};
pub use self::error::RealError;
pub(crate) use self::movement::{Movement, Networks, arrival};
use super::{Carrier, FlowPlan, Protocol};
use crate::handover::Handover;
use crate::statistics::TransportCounts;
use crate::stop::StopSignal;
use crate::traffic::{ClientPlan, ServerPlan};

/// A future of one of several kinds.
pub(crate) type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The sockets of an open server, and what is done with them.
pub(crate) type Serving =
    Box<dyn FnOnce(ServerPlan, Clock, Stop) -> Task<'static, Result<TransportCounts, RealError>> + Send>;

/// Resolves when a server is to end.
pub(crate) type Stop = Task<'static, ()>;

/// The errand of a client: what it is sent out to do.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) flow: &'a FlowPlan,
    pub(crate) plan: ClientPlan,
    /// The addresses of the server, at least one, all with the same port.
    pub(crate) to: &'a [SocketAddr],
    pub(crate) reach: Between,
    /// The movement of the client to another network; `None`: it stays.
    pub(crate) movement: Option<Movement>,
    /// The carrier of SCTP packets.
    pub(crate) carrier: Carrier,
    /// The client's own port of SCTP.
    pub(crate) own_port: u16,
    /// The path to which transports of ours write their packets.
    pub(crate) capture: Option<PathBuf>,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a StopSignal,
}

/// The network between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// A link that we made, with this address at our end; the server is there.
    Link(IpAddr),
    /// A network: whether somebody is there has to be asked first, and nobody knows how long packets may be.
    Network,
}

impl Between {
    /// Returns the address to bind a socket to that is for a server at `to`.
    pub(crate) fn local(self, to: SocketAddr) -> IpAddr {
        match (self, to) {
            (Self::Link(address), _) => address,
            (Self::Network, SocketAddr::V4(_)) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            (Self::Network, SocketAddr::V6(_)) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        }
    }
}

/// The results that a client brought home.
#[derive(Debug)]
pub(crate) struct FlowRun {
    pub(crate) driven: Driven,
    /// The counters of its end of the transport.
    pub(crate) counts: TransportCounts,
    /// The paths of its association at the end; `None` where there is none.
    pub(crate) paths: Option<Vec<PathStatistics>>,
    /// The reason why the capture of its packets is not complete; `None` if it is, or none was asked for.
    pub(crate) capture_failure: Option<String>,
}

impl FlowRun {
    pub(crate) fn new(driven: Driven, counts: TransportCounts) -> Self {
        Self { driven, counts, paths: None, capture_failure: None }
    }

    /// Creates the results of a run that could not even connect: no request was due, and the reason is in them.
    pub(crate) fn not_begun(error: &RealError, clock: Clock) -> Self {
        Self::new(Driven::not_begun(error, clock.now()), TransportCounts::default())
    }
}

/// The addresses at which servers are opened, and how.
#[derive(Clone, Debug)]
pub struct Listening<'a> {
    /// The addresses to listen at: at least one, all with the same port.
    pub addresses: &'a [SocketAddr],
    /// The carrier of SCTP packets; its UDP port here is the local one.
    pub carrier: Carrier,
    /// The clients that are expected.
    pub expected: Expected<'a>,
    /// The path to which transports of ours write their packets. Default none.
    pub capture: Option<&'a Path>,
}

/// The clients that a server is for.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// The client of one flow alone.
    Flow {
        /// The flow whose messages come.
        flow: &'a FlowPlan,
        /// The movement of its client: all addresses are those of one server. Default none.
        handover: Option<&'a Handover>,
    },
    /// Whoever comes, with any number of streams and messages of any size.
    Anybody {
        /// The profile of associations.
        profile: Profile,
        /// Congestion control of the kernel's TCP.
        tcp_congestion: &'a str,
    },
}

/// A server that listens for clients.
pub struct Listener {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The addresses of the server, at least one.
    pub addresses: Vec<SocketAddr>,
    /// The UDP port that carries SCTP; `None` for others, and where IP carries it.
    pub encap_port: Option<u16>,
    pub(super) serving: Serving,
}

impl Protocol {
    /// Opens servers for it on real sockets: one for each address, or one for all.
    ///
    /// # Errors
    /// An address is taken or not ours, or the system refuses something else.
    pub async fn listen(self, at: Listening<'_>) -> Result<Vec<Listener>, RealError> {
        self.0.listen(at).await
    }
}

impl Listener {
    /// Serves until `stop` resolves; gives what its end of the transport counted, where there was one client.
    ///
    /// # Errors
    /// The system refuses a timer.
    pub async fn serve(
        self,
        plan: ServerPlan,
        clock: Clock,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<TransportCounts, RealError> {
        (self.serving)(plan, clock, Box::pin(stop)).await
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("protocol", &self.protocol)
            .field("addresses", &self.addresses)
            .finish()
    }
}
