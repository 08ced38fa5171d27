//! The clients' side: a client for every flow of the batch, and the hosts of those that move.

use std::net::{IpAddr, SocketAddr};

use emulator::{SideContext, SideLink};
use sctp_io::Clock;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::host::{Host, obey};
use super::links::{HostOrder, Links};
use super::{CLIENT_PORT, FIRST_PORT, ScenarioRun, carrier};
use crate::stop::StopSignal;
use crate::traffic::ClientPlan;
use crate::transport::{Between, Carrier, Errand, FlowPlan, FlowRun, FlowSeed, Movement, RealError};

/// Runs the clients of the whole batch at the same time, on hosts that move as they are ordered; by run, then by flow.
pub(super) fn run(
    batch: &[ScenarioRun],
    side: &SideContext,
    clock: Clock,
    stop: &StopSignal,
    orders: UnboundedReceiver<HostOrder>,
) -> Result<Vec<Vec<FlowRun>>, String> {
    let links = Links::of(batch);
    let hosts: Result<Vec<_>, _> = links.iter().map(|links| Host::of(*links, &side.links)).collect();
    let hosts = hosts.map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for (at, run) in batch.iter().enumerate() {
            let Some((link, _)) = links[at].among(&side.links) else { continue };
            let movement = hosts[at].as_ref().zip(run.scenario.handover.as_ref());
            let movement = movement.map(|(host, handover)| host.movement(handover));
            for (number, (_, flow)) in (1..).zip(run.scenario.flows.iter()) {
                let plan = flow.client_plan(&run.scenario.stop, FlowSeed { run: run.seed, number });
                let plan = plan.map_err(|error| error.to_string())?;
                // Real time is not long enough for samples to fill the memory, and they tell what was late.
                let plan = ClientPlan { keeps_samples: true, ..plan };
                let own = Own {
                    flow: flow.clone(),
                    plan,
                    number,
                    link: link.clone(),
                    carrier: carrier(links[at], number),
                    movement: movement.clone(),
                };
                let stop = stop.clone();
                let done = async move { (at, number, load(own, clock, &stop).await) };
                tasks.spawn(done.instrument(run.span.clone()));
            }
        }
        let mut all = tokio::select! {
            all = tasks.join_all() => all,
            error = obey(&hosts, orders) => return Err(error.to_string()),
        };
        all.sort_by_key(|(at, number, _)| (*at, *number));
        let mut done: Vec<Vec<FlowRun>> = batch.iter().map(|_| Vec::new()).collect();
        for (at, _, run) in all {
            let not_begun = |error| FlowRun::not_begun(&error, clock);
            done[at].push(run.unwrap_or_else(not_begun));
        }
        Ok(done)
    })
}

/// The belongings of one client.
struct Own {
    flow: FlowPlan,
    plan: ClientPlan,
    /// The number of the flow in its run, from 1.
    number: u8,
    link: SideLink,
    carrier: Carrier,
    movement: Option<Movement>,
}

async fn load(own: Own, clock: Clock, stop: &StopSignal) -> Result<FlowRun, RealError> {
    let Own { flow, plan, number, link, carrier, movement } = own;
    let to = [SocketAddr::new(IpAddr::V4(link.peer_v4), FIRST_PORT + u16::from(number) - 1)];
    let errand = Errand {
        flow: &flow,
        plan,
        to: &to,
        reach: Between::Link(IpAddr::V4(link.local_v4)),
        movement,
        carrier,
        own_port: CLIENT_PORT,
        capture: None,
        clock,
        stop,
    };
    flow.transport.0.transport().load(errand).await
}
