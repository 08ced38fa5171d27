//! The client's side: a load generator for every transport of the batch.

use std::net::{IpAddr, SocketAddr};

use sctp::{AssociationStatistics, Delivery, Endpoint, EndpointConfig, Incoming, SctpPort};
use sctp_io::Clock;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::super::real::{Driven, RealError, sctp as over_sctp, tcp as over_tcp, udp as over_udp};
use super::super::{CLIENT_PORT, SERVER_PORT};
use super::{ECHO_PORT, ENCAPSULATION_PORT, Planned};
use crate::compare::CompareConfig;
use crate::events::run_span;
use crate::transport::TransportSpec;
use emulator::{SideContext, SideLink};

/// What a load generator brought home.
#[derive(Debug)]
pub(super) struct ClientRun {
    pub(super) driven: Driven,
    pub(super) statistics: Option<AssociationStatistics>,
    pub(super) retransmissions: Option<u64>,
}

/// Runs all load generators of the batch at the same time; results in the order of the batch.
pub(super) fn run(
    config: &CompareConfig,
    batch: &[Planned],
    side: &SideContext,
) -> Result<Vec<ClientRun>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let clock = Clock::start();
        let mut tasks = JoinSet::new();
        for (planned, link) in batch.iter().copied().zip(side.links.iter().cloned()) {
            let config = config.clone();
            let span = run_span(planned.transport, planned.repetition);
            let load = async move { (planned.link, load(&config, planned, &link, clock).await) };
            tasks.spawn(load.instrument(span));
        }
        let mut runs = tasks.join_all().await;
        runs.sort_by_key(|(link, _)| *link);
        let not_begun = |error: RealError| ClientRun {
            driven: Driven::not_begun(&error, clock.now()),
            statistics: None,
            retransmissions: None,
        };
        Ok(runs.into_iter().map(|(_, run)| run.unwrap_or_else(not_begun)).collect())
    })
}

async fn load(
    config: &CompareConfig,
    planned: Planned,
    link: &SideLink,
    clock: Clock,
) -> Result<ClientRun, RealError> {
    let plan = config.client_plan(planned.transport, planned.repetition);
    let plan = plan.map_err(|because| RealError::Configuration { because })?;
    let peer = |port| SocketAddr::new(IpAddr::V4(link.peer_v4), port);
    match planned.transport {
        TransportSpec::Tcp { .. } => {
            let driven =
                over_tcp::load(peer(ECHO_PORT), &config.tcp_congestion, plan, clock, &config.stop).await?;
            Ok(ClientRun { driven, statistics: None, retransmissions: None })
        }
        TransportSpec::Udp => {
            let socket = UdpSocket::bind(SocketAddr::new(IpAddr::V4(link.local_v4), 0)).await;
            let socket = socket.map_err(RealError::socket("cannot open a UDP socket"))?;
            socket
                .connect(peer(ECHO_PORT))
                .await
                .map_err(RealError::socket("cannot connect the UDP socket"))?;
            let (driven, retransmissions) = over_udp::load(&socket, plan, clock, &config.stop).await?;
            Ok(ClientRun { driven, statistics: None, retransmissions: Some(retransmissions) })
        }
        TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => {
            let (endpoint, association) = connect(config, planned, link).await?;
            let ordered = planned.transport.is_ordered();
            let delivery = if ordered { Delivery::Ordered } else { Delivery::Unordered };
            let (driven, statistics) =
                over_sctp::load(association, delivery, plan, clock, &config.stop).await?;
            drop(endpoint);
            Ok(ClientRun { driven, statistics: Some(statistics), retransmissions: None })
        }
    }
}

async fn connect(
    config: &CompareConfig,
    planned: Planned,
    link: &SideLink,
) -> Result<(Endpoint, sctp::Association), RealError> {
    let association = config.flow(planned.transport).sctp_config();
    let association = association.map_err(|because| RealError::Configuration { because })?;
    let port = |port: u16| {
        SctpPort::try_from(port).map_err(|error| RealError::Configuration { because: error.to_string() })
    };
    let own = EndpointConfig { incoming: Incoming::Refuse, ..EndpointConfig::new(port(CLIENT_PORT)?) };
    let local = SocketAddr::new(IpAddr::V4(link.local_v4), ENCAPSULATION_PORT);
    let endpoint = Endpoint::bind(own, local).await?;
    let peer = SocketAddr::new(IpAddr::V4(link.peer_v4), ENCAPSULATION_PORT);
    let association = endpoint.connect_with(&[sctp::udp(peer)], port(SERVER_PORT)?, association).await?;
    Ok((endpoint, association))
}
