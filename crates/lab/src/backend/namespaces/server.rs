//! The servers' side: a server for every flow of the batch.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::Sender;

use emulator::SideContext;
use sctp_io::Clock;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::links::Links;
use super::{FIRST_PORT, ScenarioRun, carrier};
use crate::statistics::TransportCounts;
use crate::traffic::ServerPlan;
use crate::transport::{Expected, Listener, Listening};

/// The counters of the servers: by run and flow, what their end of the transport counted.
#[derive(Debug, Default)]
pub(super) struct Answered(BTreeMap<(usize, usize), TransportCounts>);

impl Answered {
    pub(super) fn counts(&self, run: usize, flow: usize) -> TransportCounts {
        self.0.get(&(run, flow)).copied().unwrap_or_default()
    }
}

/// Opens all servers, says so, and serves until `stopped` turns true.
pub(super) fn run(
    batch: &[ScenarioRun],
    side: &SideContext,
    clock: Clock,
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
                serve(open, clock, stopped).await
            }
            Err(because) => {
                let _unheard = ready.send(Err(because));
                Answered::default()
            }
        }
    })
}

/// A server that is open: its run and flow, what it does, and where.
type Open = ((usize, usize), ServerPlan, Listener);

async fn listen_all(batch: &[ScenarioRun], side: &SideContext) -> Result<Vec<Open>, String> {
    let mut open = Vec::new();
    for (at, (run, links)) in batch.iter().zip(Links::of(batch)).enumerate() {
        let Some((link, new)) = links.among(&side.links) else { continue };
        for ((index, number), (_, flow)) in (0..).zip(1_u8..).zip(run.scenario.flows.iter()) {
            let plan = flow.server_plan(&run.scenario.stop).map_err(|error| error.to_string())?;
            let port = FIRST_PORT + u16::from(number) - 1;
            let all = [link].into_iter().chain(new);
            let addresses: Vec<_> =
                all.map(|link| SocketAddr::new(IpAddr::V4(link.local_v4), port)).collect();
            let listening = Listening {
                addresses: &addresses,
                carrier: carrier(links, number),
                expected: Expected::Flow { flow, handover: run.scenario.handover.as_ref() },
                capture: None,
            };
            let transport = flow.transport.0;
            let listeners = transport.transport().listen(listening).instrument(run.span.clone()).await;
            let listeners = listeners.map_err(|error| format!("{transport}: {error}"))?;
            open.extend(listeners.into_iter().map(|listener| ((at, index), plan, listener)));
        }
    }
    Ok(open)
}

async fn serve(open: Vec<Open>, clock: Clock, stopped: &watch::Receiver<bool>) -> Answered {
    let mut tasks = JoinSet::new();
    for (whose, plan, listener) in open {
        let stop = until_true(stopped.clone());
        // Without a timer nothing is echoed, which the client's side reports.
        tasks.spawn(async move { (whose, listener.serve(plan, clock, stop).await.unwrap_or_default()) });
    }
    Answered(tasks.join_all().await.into_iter().collect())
}

async fn until_true(mut stopped: watch::Receiver<bool>) {
    // An error means that the other side is gone, which is as good.
    let _gone = stopped.wait_for(|stopped| *stopped).await;
}
