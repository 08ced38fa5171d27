//! The servers' side: a server for every flow of the batch.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::Sender;

use emulator::{SideContext, SideLink};
use sctp::{Endpoint, EndpointConfig, SctpPort};
use sctp_io::Clock;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::super::real::{sctp as over_sctp, tcp as over_tcp, udp as over_udp};
use super::{FIRST_ENCAPSULATION_PORT, FIRST_PORT, SERVER_PORT, ScenarioRun};
use crate::simulation::{FlowPlan, TransportCounts};
use crate::traffic::ServerPlan;
use crate::transport::TransportSpec;

/// What the servers saw: by run and flow, what their end of the transport counted.
#[derive(Debug, Default)]
pub(super) struct Answered(BTreeMap<(usize, usize), TransportCounts>);

impl Answered {
    pub(super) fn counts(&self, run: usize, flow: usize) -> TransportCounts {
        self.0.get(&(run, flow)).copied().unwrap_or_default()
    }
}

/// An open server.
enum Listening {
    Sctp(Endpoint),
    Tcp(TcpListener),
    Udp(UdpSocket),
}

/// Opens all servers, says so, and serves until `stopped` turns true.
pub(super) fn run(
    batch: &[ScenarioRun],
    side: &SideContext,
    ready: &Sender<Result<(), String>>,
    stopped: &watch::Receiver<bool>,
) -> Answered {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _unheard = ready.send(Err(error.to_string()));
            return Answered::default();
        }
    };
    runtime.block_on(async {
        match listen_all(batch, side).await {
            Ok(open) => {
                let _unheard = ready.send(Ok(()));
                serve(open, stopped).await
            }
            Err(because) => {
                let _unheard = ready.send(Err(because));
                Answered::default()
            }
        }
    })
}

/// Whose server it is, by run and flow; what it does, and where.
type Open = ((usize, usize), ServerPlan, Listening);

async fn listen_all(batch: &[ScenarioRun], side: &SideContext) -> Result<Vec<Open>, String> {
    let mut open = Vec::new();
    for (at, (run, link)) in batch.iter().zip(&side.links).enumerate() {
        for (index, (_, flow)) in run.scenario.flows.iter().enumerate() {
            let plan = flow.server_plan(&run.scenario.stop).map_err(|error| error.to_string())?;
            let offset = u16::try_from(index).map_err(|error| error.to_string())?;
            let listening = listen(flow, link, offset).instrument(run.span.clone()).await;
            let listening = listening.map_err(|error| format!("{}: {error}", flow.transport.0))?;
            open.push(((at, index), plan, listening));
        }
    }
    Ok(open)
}

async fn listen(flow: &FlowPlan, link: &SideLink, offset: u16) -> Result<Listening, String> {
    let address = |port: u16| SocketAddr::new(IpAddr::V4(link.local_v4), port + offset);
    match flow.transport.0 {
        TransportSpec::Tcp { .. } => {
            let listener = over_tcp::listen(address(FIRST_PORT), flow.tcp_congestion());
            listener.map(Listening::Tcp).map_err(|error| error.to_string())
        }
        TransportSpec::Udp => {
            let socket = UdpSocket::bind(address(FIRST_PORT)).await;
            socket.map(Listening::Udp).map_err(|error| error.to_string())
        }
        TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => {
            let port = SctpPort::try_from(SERVER_PORT).map_err(|error| error.to_string())?;
            let association = flow.sctp_config()?;
            let endpoint = EndpointConfig { association, ..EndpointConfig::new(port) };
            let endpoint = Endpoint::bind(endpoint, address(FIRST_ENCAPSULATION_PORT)).await;
            endpoint.map(Listening::Sctp).map_err(|error| error.to_string())
        }
    }
}

async fn serve(open: Vec<Open>, stopped: &watch::Receiver<bool>) -> Answered {
    let clock = Clock::start();
    let mut tasks = JoinSet::new();
    for (whose, plan, listening) in open {
        let stop = until_true(stopped.clone());
        tasks.spawn(async move {
            let statistics = match listening {
                Listening::Tcp(listener) => {
                    over_tcp::echo(&listener, plan, clock, stop).await;
                    Vec::new()
                }
                Listening::Udp(socket) => {
                    // Without a timer nothing is echoed, which the client's side reports.
                    let _refused = over_udp::echo(&socket, plan, clock, stop).await;
                    Vec::new()
                }
                Listening::Sctp(endpoint) => {
                    let echoed = over_sctp::echo(&endpoint, plan, Some(1), clock);
                    tokio::select! {
                        statistics = echoed => statistics,
                        () = stop => Vec::new(),
                    }
                }
            };
            (whose, statistics.first().map(TransportCounts::from).unwrap_or_default())
        });
    }
    Answered(tasks.join_all().await.into_iter().collect())
}

async fn until_true(mut stopped: watch::Receiver<bool>) {
    // An error means that the other side is gone, which is as good.
    let _gone = stopped.wait_for(|stopped| *stopped).await;
}
