//! What worlds of real packets and transports say to each other.

use core::fmt;
use core::pin::Pin;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use sctp_core::{PathStatistics, Profile};
use sctp_io::Clock;

use super::Carrier;
use crate::backend::{Driven, RealError};
use crate::compare::StopSignal;
use crate::simulation::{FlowPlan, TransportCounts};
use crate::traffic::{ClientPlan, ServerPlan};

/// A future of one of several kinds.
pub(crate) type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Resolves when a server is to end.
pub(crate) type Stop = Task<'static, ()>;

/// What a client is sent out to do.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) flow: &'a FlowPlan,
    pub(crate) plan: ClientPlan,
    /// Where the server is, at least one address, all with the same port.
    pub(crate) to: &'a [SocketAddr],
    pub(crate) reach: Reach,
    /// What carries SCTP.
    pub(crate) carrier: Carrier,
    /// Its own port of SCTP.
    pub(crate) own_port: u16,
    /// Where transports of ours write their packets.
    pub(crate) capture: Option<PathBuf>,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a StopSignal,
}

/// What lies between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A link that we made, with this address at our end; the server is there.
    Link(IpAddr),
    /// A network: whether somebody is there has to be asked first, and nobody knows how long packets may be.
    Network,
}

impl Reach {
    /// Where a socket is bound that is for a server at `to`.
    pub(crate) fn local(self, to: SocketAddr) -> IpAddr {
        match (self, to) {
            (Self::Link(address), _) => address,
            (Self::Network, SocketAddr::V4(_)) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            (Self::Network, SocketAddr::V6(_)) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        }
    }
}

/// What a client brought home.
#[derive(Debug)]
pub(crate) struct FlowRun {
    pub(crate) driven: Driven,
    /// What its end of the transport counted.
    pub(crate) counts: TransportCounts,
    /// The paths of its association at the end; `None` where there is none.
    pub(crate) paths: Option<Vec<PathStatistics>>,
    /// Why the capture of its packets is not complete; `None` if it is, or none was asked for.
    pub(crate) capture_failure: Option<String>,
}

impl FlowRun {
    pub(crate) fn new(driven: Driven, counts: TransportCounts) -> Self {
        Self { driven, counts, paths: None, capture_failure: None }
    }

    /// A run that could not even connect: no request was due, and the reason is in the results.
    pub(crate) fn not_begun(error: &RealError, clock: Clock) -> Self {
        Self::new(Driven::not_begun(error, clock.now()), TransportCounts::default())
    }
}

/// Where and how servers are opened.
#[derive(Clone, Debug)]
pub struct Listening<'a> {
    /// At least one, all with the same port.
    pub addresses: &'a [SocketAddr],
    /// What carries SCTP; its UDP port here is the local one.
    pub carrier: Carrier,
    /// Who will come.
    pub expected: Expected<'a>,
    /// Where transports of ours write their packets. Default nowhere.
    pub capture: Option<&'a Path>,
}

/// Whom a server is for.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// The client of one flow.
    Flow(&'a FlowPlan),
    /// Whoever comes, with any number of streams and messages of any size.
    Anybody {
        /// The profile of associations.
        profile: Profile,
        /// Congestion control of the kernel's TCP.
        tcp_congestion: &'a str,
    },
}

/// An open server.
pub struct Listener {
    /// The protocol's name.
    pub protocol: &'static str,
    /// Where it is, at least one address.
    pub addresses: Vec<SocketAddr>,
    /// The UDP port that carries SCTP; `None` for others, and where IP carries it.
    pub encap_port: Option<u16>,
    pub(super) serving: Box<dyn Serving>,
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
        self.serving.serve(plan, clock, Box::pin(stop)).await
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

/// The sockets of an open server, and what is done with them.
pub(crate) trait Serving: Send {
    fn serve(
        self: Box<Self>,
        plan: ServerPlan,
        clock: Clock,
        stop: Stop,
    ) -> Task<'static, Result<TransportCounts, RealError>>;
}
