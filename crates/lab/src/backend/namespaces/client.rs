//! The clients' side: a client for every flow of the batch.

use std::net::{IpAddr, SocketAddr};

use emulator::{SideContext, SideLink};
use sctp::{Delivery, Endpoint, EndpointConfig, Incoming, SctpPort};
use sctp_io::Clock;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::super::real::{Driven, RealError, sctp as over_sctp, tcp as over_tcp, udp as over_udp};
use super::{CLIENT_PORT, FIRST_ENCAPSULATION_PORT, FIRST_PORT, SERVER_PORT, ScenarioRun};
use crate::compare::StopSignal;
use crate::simulation::{FlowPlan, FlowSeed, TransportCounts};
use crate::traffic::ClientPlan;
use crate::transport::TransportSpec;

/// What a client brought home.
#[derive(Debug)]
pub(super) struct FlowRun {
    pub(super) driven: Driven,
    /// What its end of the transport counted.
    pub(super) counts: TransportCounts,
}

/// Runs the clients of the whole batch at the same time; by run, then by flow.
pub(super) fn run(
    batch: &[ScenarioRun],
    side: &SideContext,
    stop: &StopSignal,
) -> Result<Vec<Vec<FlowRun>>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let clock = Clock::start();
        let mut tasks = JoinSet::new();
        for (at, (run, link)) in batch.iter().zip(&side.links).enumerate() {
            for (number, (_, flow)) in (1..).zip(run.scenario.flows.iter()) {
                let plan = flow.client_plan(&run.scenario.stop, FlowSeed { run: run.seed, number });
                let plan = plan.map_err(|error| error.to_string())?;
                // Real time is not long enough for samples to fill the memory, and they tell what was late.
                let plan = ClientPlan { keeps_samples: true, ..plan };
                let (flow, link, stop) = (flow.clone(), link.clone(), stop.clone());
                let done = async move { (at, number, load(&flow, plan, &link, number, clock, &stop).await) };
                tasks.spawn(done.instrument(run.span.clone()));
            }
        }
        let mut all = tasks.join_all().await;
        all.sort_by_key(|(at, number, _)| (*at, *number));
        let mut done: Vec<Vec<FlowRun>> = batch.iter().map(|_| Vec::new()).collect();
        for (at, _, run) in all {
            let not_begun = |error: RealError| FlowRun {
                driven: Driven::not_begun(&error, clock.now()),
                counts: TransportCounts::default(),
            };
            done[at].push(run.unwrap_or_else(not_begun));
        }
        Ok(done)
    })
}

async fn load(
    flow: &FlowPlan,
    plan: ClientPlan,
    link: &SideLink,
    number: u8,
    clock: Clock,
    stop: &StopSignal,
) -> Result<FlowRun, RealError> {
    let server = SocketAddr::new(IpAddr::V4(link.peer_v4), FIRST_PORT + u16::from(number) - 1);
    match flow.transport.0 {
        TransportSpec::Tcp { .. } => {
            let driven = over_tcp::load(server, flow.tcp_congestion(), plan, clock, stop).await?;
            Ok(FlowRun { driven, counts: TransportCounts::default() })
        }
        TransportSpec::Udp => {
            let socket = UdpSocket::bind(SocketAddr::new(IpAddr::V4(link.local_v4), 0)).await;
            let socket = socket.map_err(RealError::socket("cannot open a UDP socket"))?;
            let connected = socket.connect(server).await;
            connected.map_err(RealError::socket("cannot connect the UDP socket"))?;
            let (driven, retransmissions) = over_udp::load(&socket, plan, clock, stop).await?;
            let sent_again = Some(retransmissions);
            let counts = TransportCounts { timeouts: sent_again, retransmissions: sent_again, blocked: None };
            Ok(FlowRun { driven, counts })
        }
        TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => {
            // The endpoint drives the association until both are dropped.
            let (_endpoint, association) = connect(flow, link, number).await?;
            let ordered = flow.transport.0.is_ordered();
            let delivery = if ordered { Delivery::Ordered } else { Delivery::Unordered };
            let (driven, statistics) = over_sctp::load(association, delivery, plan, clock, stop).await?;
            Ok(FlowRun { driven, counts: TransportCounts::from(&statistics) })
        }
    }
}

async fn connect(
    flow: &FlowPlan,
    link: &SideLink,
    number: u8,
) -> Result<(Endpoint, sctp::Association), RealError> {
    let refused = |because: String| RealError::Configuration { because };
    let association = flow.sctp_config().map_err(refused)?;
    let port = |port: u16| SctpPort::try_from(port).map_err(|error| refused(error.to_string()));
    let own = EndpointConfig { incoming: Incoming::Refuse, ..EndpointConfig::new(port(CLIENT_PORT)?) };
    let encapsulation = FIRST_ENCAPSULATION_PORT + u16::from(number) - 1;
    let endpoint = Endpoint::bind(own, SocketAddr::new(IpAddr::V4(link.local_v4), encapsulation)).await?;
    let peer = sctp::udp(SocketAddr::new(IpAddr::V4(link.peer_v4), encapsulation));
    let association = endpoint.connect_with(&[peer], port(SERVER_PORT)?, association).await?;
    Ok((endpoint, association))
}
