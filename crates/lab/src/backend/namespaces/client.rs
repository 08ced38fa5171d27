//! The clients' side: a client for every flow of the batch.

use std::net::{IpAddr, SocketAddr};

use emulator::{SideContext, SideLink};
use sctp_io::Clock;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::{CLIENT_PORT, FIRST_PORT, ScenarioRun, carrier};
use crate::stop::StopSignal;
use crate::traffic::ClientPlan;
use crate::transport::{Between, Errand, FlowPlan, FlowRun, FlowSeed, RealError};

/// Runs the clients of the whole batch at the same time; by run, then by flow.
pub(super) fn run(
    batch: &[ScenarioRun],
    side: &SideContext,
    clock: Clock,
    stop: &StopSignal,
) -> Result<Vec<Vec<FlowRun>>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
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
            let not_begun = |error| FlowRun::not_begun(&error, clock);
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
    let to = [SocketAddr::new(IpAddr::V4(link.peer_v4), FIRST_PORT + u16::from(number) - 1)];
    let errand = Errand {
        flow,
        plan,
        to: &to,
        reach: Between::Link(IpAddr::V4(link.local_v4)),
        carrier: carrier(number),
        own_port: CLIENT_PORT,
        capture: None,
        clock,
        stop,
    };
    flow.transport.0.transport().load(errand).await
}
