//! The server's side: an echo server for every transport of the batch.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::Sender;

use sctp::{AssociationStatistics, Endpoint, EndpointConfig, SctpPort};
use sctp_io::Clock;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::super::SERVER_PORT;
use super::super::real::{sctp as over_sctp, tcp as over_tcp, udp as over_udp};
use super::{ECHO_PORT, ENCAPSULATION_PORT, Planned};
use crate::compare::CompareConfig;
use crate::events::run_span;
use crate::transport::TransportSpec;
use emulator::{SideContext, SideLink};

/// What the servers saw.
#[derive(Debug, Default)]
pub(super) struct Echoed {
    /// By link: the final counters of its association.
    pub(super) statistics: BTreeMap<u8, Vec<AssociationStatistics>>,
}

/// An open server.
enum Listening {
    Sctp(Endpoint),
    Tcp(TcpListener),
    Udp(UdpSocket),
}

/// Opens all servers, says so, and serves until `stopped` turns true.
pub(super) fn run(
    config: &CompareConfig,
    batch: &[Planned],
    side: &SideContext,
    ready: &Sender<Result<(), String>>,
    stopped: &watch::Receiver<bool>,
) -> Echoed {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _unheard = ready.send(Err(error.to_string()));
            return Echoed::default();
        }
    };
    runtime.block_on(async {
        let mut open = Vec::new();
        for (planned, link) in batch.iter().zip(&side.links) {
            let span = run_span(planned.transport, planned.repetition);
            match listen(config, *planned, link).instrument(span).await {
                Ok(listening) => open.push((*planned, listening)),
                Err(error) => {
                    let _unheard = ready.send(Err(format!("{}: {error}", planned.transport)));
                    return Echoed::default();
                }
            }
        }
        let _unheard = ready.send(Ok(()));
        serve(config, open, stopped).await
    })
}

async fn listen(config: &CompareConfig, planned: Planned, link: &SideLink) -> Result<Listening, String> {
    let address = |port| SocketAddr::new(IpAddr::V4(link.local_v4), port);
    match planned.transport {
        TransportSpec::Tcp { .. } => {
            let listener = over_tcp::listen(address(ECHO_PORT), &config.tcp_congestion);
            listener.map(Listening::Tcp).map_err(|error| error.to_string())
        }
        TransportSpec::Udp => {
            let socket = UdpSocket::bind(address(ECHO_PORT)).await;
            socket.map(Listening::Udp).map_err(|error| error.to_string())
        }
        TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => {
            let port = SctpPort::try_from(SERVER_PORT).map_err(|error| error.to_string())?;
            let association = config.flow(planned.transport).sctp_config()?;
            let endpoint = EndpointConfig { association, ..EndpointConfig::new(port) };
            let endpoint = Endpoint::bind(endpoint, address(ENCAPSULATION_PORT)).await;
            endpoint.map(Listening::Sctp).map_err(|error| error.to_string())
        }
    }
}

async fn serve(
    config: &CompareConfig,
    open: Vec<(Planned, Listening)>,
    stopped: &watch::Receiver<bool>,
) -> Echoed {
    let clock = Clock::start();
    let mut tasks = JoinSet::new();
    for (Planned { link, transport, .. }, listening) in open {
        let stop = until_true(stopped.clone());
        // A transport that cannot carry the workload is not among those that run.
        let Ok(plan) = config.server_plan(transport) else { continue };
        tasks.spawn(async move {
            match listening {
                Listening::Tcp(listener) => {
                    over_tcp::echo(&listener, plan, clock, stop).await;
                    (link, Vec::new())
                }
                Listening::Udp(socket) => {
                    // Without a timer nothing is echoed, which the client's side reports.
                    let _refused = over_udp::echo(&socket, plan, clock, stop).await;
                    (link, Vec::new())
                }
                Listening::Sctp(endpoint) => {
                    let echoed = over_sctp::echo(&endpoint, plan, Some(1), clock);
                    let statistics = tokio::select! {
                        statistics = echoed => statistics,
                        () = stop => Vec::new(),
                    };
                    (link, statistics)
                }
            }
        });
    }
    Echoed { statistics: tasks.join_all().await.into_iter().collect() }
}

async fn until_true(mut stopped: watch::Receiver<bool>) {
    // An error means that the other side is gone, which is as good.
    let _gone = stopped.wait_for(|stopped| *stopped).await;
}
