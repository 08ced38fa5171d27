//! The load generator against an echo server on another host, over whatever lies between.
//!
//! What the path does is not known here: neither its round-trip time nor its losses are in the results, and of
//! head-of-line blocking only the direction of the responses is seen.

use std::net::SocketAddr;

use sctp_io::Clock;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::{batches, capture_path, in_order, never_begun};
use crate::compare::{Backend, BackendError, BackendKind, Blocking, CompareConfig, RawOutcome, RawRun};
use crate::events::run_span;
use crate::transport::{Between, Carrier, Errand, FlowRun, RealError, TransportSpec};

/// The backend of `headway load`.
#[derive(Clone, Debug)]
pub struct Network {
    /// The addresses of the echo server, at least one; the port, the same for all, is that of TCP, UDP or SCTP.
    /// TCP and UDP use the first.
    pub to: Vec<SocketAddr>,
    /// The carrier of SCTP packets.
    pub carrier: Carrier,
}

impl Backend for Network {
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError> {
        let failed = |error: std::io::Error| BackendError::Failed { because: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        if self.to.is_empty() {
            return Err(BackendError::Failed {
                because: "no address of an echo server was given".to_owned(),
            });
        }
        if !config.workload.is_echoed() {
            return Err(BackendError::Failed {
                because: format!("an echo server answers no messages of workload {}", config.workload),
            });
        }
        let mut runs = Vec::new();
        let mut numbers = 0..;
        for batch in batches(config, transports, usize::MAX) {
            if config.stop.is_raised() {
                break;
            }
            let numbered = batch.into_iter().zip(numbers.by_ref());
            let planned =
                numbered.map(|((transport, repetition), index)| Planned { index, transport, repetition });
            let planned = planned.collect();
            runs.extend(runtime.block_on(self.run_batch(config, planned)));
        }
        in_order(&mut runs, transports);
        let skipped = never_begun(transports, &runs).collect();
        Ok(RawOutcome { skipped, ..RawOutcome::new(BackendKind::Network, runs) })
    }
}

/// One run: a transport in a repetition, and its number among all.
#[derive(Clone, Copy, Debug)]
struct Planned {
    index: u16,
    transport: TransportSpec,
    repetition: u32,
}

impl Network {
    async fn run_batch(&self, config: &CompareConfig, batch: Vec<Planned>) -> Vec<RawRun> {
        let clock = Clock::start();
        let mut tasks = JoinSet::new();
        for planned in batch {
            let (network, config) = (self.clone(), config.clone());
            let span = run_span(planned.transport, planned.repetition);
            let load = async move {
                let run = network.load(&config, planned, clock).await;
                let run = run.unwrap_or_else(|error| FlowRun::not_begun(&error, clock));
                raw(run, &config, planned)
            };
            tasks.spawn(load.instrument(span));
        }
        tasks.join_all().await
    }

    async fn load(
        &self,
        config: &CompareConfig,
        planned: Planned,
        clock: Clock,
    ) -> Result<FlowRun, RealError> {
        let Planned { index, transport, repetition } = planned;
        let plan = config.client_plan(transport, repetition);
        let errand = Errand {
            flow: &config.flow(transport),
            plan: plan.map_err(|because| RealError::Configuration { because })?,
            to: &self.to,
            reach: Between::Network,
            movement: None,
            carrier: self.carrier,
            own_port: own_port(index),
            capture: config.capture.as_ref().map(|file| capture_path(&file.path, transport, repetition)),
            clock,
            stop: &config.stop,
        };
        transport.transport().load(errand).await
    }
}

fn raw(run: FlowRun, config: &CompareConfig, planned: Planned) -> RawRun {
    let Planned { index: _, transport, repetition } = planned;
    let FlowRun { driven, counts, paths, capture_failure } = run;
    RawRun {
        transport,
        repetition,
        profile: config.profile_of(transport),
        start: driven.start,
        own_losses: Err("nobody sees what the network loses"),
        samples: driven.samples,
        untimed: driven.untimed,
        frames: driven.frames,
        counters: driven.counters,
        retransmissions: counts.retransmissions.filter(|_| transport.is_unreliable()),
        blocking: counts.blocked.map(Blocking::from),
        paths,
        packets: None,
        ended_early: driven.ended_early,
        capture_failure,
    }
}

/// Returns an SCTP port for the `index`-th association of this process. An association is known by addresses
/// and SCTP ports, not by UDP ports: those of two processes on one host must differ.
fn own_port(index: u16) -> u16 {
    let base = u16::try_from(std::process::id() % u32::from(DYNAMIC_PORTS)).unwrap_or(0);
    FIRST_DYNAMIC_PORT + base.wrapping_mul(PORTS_APART).wrapping_add(index) % DYNAMIC_PORTS
}

/// RFC 6335 §6: from here on ports are free for all.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u16 = 16_384;
/// Odd, so that no two processes start at the same port.
const PORTS_APART: u16 = 251;
