//! Scenarios with real packets: two network namespaces, an emulated link for every run between them, and a second one for every run
//! whose client moves.
//!
//! One thread is the side of the clients, one that of the servers; each runs an event loop of its own with the sockets of
//! all runs of a batch, which take place at the same time. The emulator sits between them on a third.

mod client;
mod host;
mod links;
mod outcome;
mod server;
mod suitable;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;

use emulator::{
    CaptureFile, EmulatorError, EmulatorOptions, EmulatorReport, LinkEnd, World, beside, permission,
};
use sctp_io::Clock;
use tokio::sync::mpsc::unbounded_channel;
use tracing::Span;

use self::links::Links;
pub(crate) use self::suitable::can_run;
use super::{batches, in_order, never_begun, raw_run};
use crate::compare::{
    Backend, BackendError, BackendKind, CompareConfig, MeasuredDelay, RawOutcome, RawRun, sorted_out,
};
use crate::events::run_span;
use crate::simulation::{LinkPlan, RunOutcome, Scenario, SimulationError, Watch};
use crate::transport::{Carrier, EncapsulationPorts, FlowRun, TransportSpec};

/// The backend with real packets. The process must have entered a user namespace, or be privileged, before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Namespaces;

/// A scenario with the seed of its run.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioRun {
    scenario: Scenario,
    seed: u64,
    /// The span that its events belong to.
    span: Span,
}

impl ScenarioRun {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        Self { scenario: scenario.clone(), seed, span: Span::current() }
    }

    /// Returns whether requests are to be told that lost packets of their own, which are looked for in one network.
    fn looks_for_losses(&self) -> bool {
        self.scenario.handover.is_none() && self.scenario.flows.iter().any(|(_, flow)| flow.samples)
    }

    fn link(&self) -> Option<(&str, &LinkPlan)> {
        self.scenario.links.iter().next()
    }
}

impl Backend for Namespaces {
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError> {
        let refused = |transport| Some(can_run(&config.scenario(transport)).err()?.parts().1);
        let (measured, mut skipped) = sorted_out(transports, refused);
        let (mut raw, mut reports) = (Vec::<RawRun>::new(), Vec::new());
        for (number, batch) in (1..).zip(batches(config, &measured, MOST_RUNS)) {
            if config.stop.is_raised() {
                break;
            }
            let planned = batch.iter().map(|(transport, repetition)| ScenarioRun {
                scenario: config.scenario(*transport),
                seed: config.run_seed(*repetition),
                span: run_span(*transport, *repetition),
            });
            let file = |file: &CaptureFile| CaptureFile { path: numbered(&file.path, number), ..*file };
            let watch = Watch { stop: config.stop.clone(), capture: config.capture.as_ref().map(file) };
            let (outcomes, report) = run_batch(&planned.collect::<Vec<_>>(), &watch)?;
            let done = batch.iter().zip(outcomes);
            raw.extend(done.filter_map(|((transport, repetition), outcome)| {
                raw_run(config, *transport, *repetition, outcome)
            }));
            reports.push(report);
        }
        in_order(&mut raw, transports);
        skipped.extend(never_begun(&measured, &raw));
        Ok(RawOutcome {
            device: reports.first().map(|report| report.device),
            delay: measured_delay(&reports),
            skipped,
            ..RawOutcome::new(BackendKind::Namespaces, raw)
        })
    }
}

/// Runs scenarios at the same time, [`MOST_RUNS`] at most; outcomes in their order.
///
/// # Errors
/// The host refuses namespaces or devices, or the emulator breaks.
pub(crate) fn run_batch(
    batch: &[ScenarioRun],
    watch: &Watch,
) -> Result<(Vec<RunOutcome>, EmulatorReport), BackendError> {
    permission().map_err(|refused| BackendError::Refused { because: refused.to_string() })?;
    let failed = |because: String| BackendError::Failed { because };
    let links = links::emulated(batch);
    let ends = |end: fn(u8) -> LinkEnd| links.iter().map(|link| end(link.index)).collect::<Vec<_>>();
    let (clients, servers) = (ends(LinkEnd::client), ends(LinkEnd::server));
    let mut world = World::new(links).map_err(|error| failed(error.to_string()))?;
    let (ready, is_ready) = mpsc::channel();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    // Receivers say when they had something: both sides have one clock.
    let clock = Clock::start();
    let runs = batch.to_vec();
    let server = world
        .spawn_side("server", &servers, move |side| server::run(&runs, &side, clock, &ready, &stopped))
        .map_err(refused)?;
    let (runs, interrupt) = (batch.to_vec(), watch.stop.clone());
    let (orders, ordered) = unbounded_channel();
    let client = world
        .spawn_side("client", &clients, move |side| {
            let done = match is_ready.recv() {
                Ok(Ok(())) => client::run(&runs, &side, clock, &interrupt, ordered),
                Ok(Err(error)) => Err(error),
                Err(_gone) => Err("the server's side ended".to_owned()),
            };
            // The server may be gone already.
            let _unheard = stop.send(true);
            done
        })
        .map_err(refused)?;
    let keeps_lost_packets = batch.iter().any(ScenarioRun::looks_for_losses);
    let capture = watch.capture.clone();
    let options = EmulatorOptions { capture, keeps_lost_packets, ..EmulatorOptions::default() };
    let emulator = world.start(options).map_err(|error| failed(error.to_string()))?;
    let (begin, begun) = (Instant::now(), clock.now());
    links::change(&emulator, batch, &orders, &client, begin).map_err(|error| failed(error.to_string()))?;
    let flows = client.join().map_err(|error| failed(error.to_string()))?;
    let length = begin.elapsed();
    let answered = server.join().map_err(|error| failed(error.to_string()))?;
    let report = emulator.stop().map_err(|error| failed(error.to_string()))?;
    let of_run = |(((at, run), flows), links): (((usize, &ScenarioRun), Vec<FlowRun>), Links)| {
        let (far, links) = (|flow| answered.counts(at, flow), links.reports(run, &report));
        let capture_failure = report.capture_error.clone();
        RunOutcome { capture_failure, length, ..outcome::of(run, flows, far, &links, begun) }
    };
    let flows = flows.map_err(failed)?;
    let outcomes = batch.iter().enumerate().zip(flows).zip(Links::of(batch)).map(of_run).collect();
    Ok((outcomes, report))
}

/// Returns the path of the first run, `x.pcapng`, or of a later one, `x-2.pcapng`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    beside(path, number)
}

/// Returns the delay packets really got in either direction of the links that scenarios have: the middle of the medians, the worst of
/// the 99th percentiles.
fn measured_delay(reports: &[EmulatorReport]) -> Option<MeasuredDelay> {
    let links = reports.iter().flat_map(|report| &report.links).filter(|link| link.index <= MOST_LINKS);
    let delays: Vec<_> = links.flat_map(|link| [&link.request.delay, &link.response.delay]).collect();
    let mut p50: Vec<f64> = delays.iter().filter_map(|delay| delay.p50_ms).collect();
    p50.sort_by(f64::total_cmp);
    let p99 = delays.iter().filter_map(|delay| delay.p99_ms).reduce(f64::max)?;
    Some(MeasuredDelay { p50: *p50.get(p50.len() / 2)?, p99 })
}

/// Returns the error for a namespace or device that is refused when it is made, which refuses the world:
/// nothing has run yet.
fn refused(error: EmulatorError) -> BackendError {
    BackendError::Refused { because: error.to_string() }
}

impl From<BackendError> for SimulationError {
    fn from(error: BackendError) -> Self {
        Self::World { world: "namespaces", because: error.to_string() }
    }
}

/// Runs at the same time at most: the emulator numbers their links with one octet, and each may have a second one.
pub(crate) const MOST_RUNS: usize = MOST_LINKS as usize;

/// The links that scenarios have; those that clients move to are numbered from here on.
const MOST_LINKS: u8 = 64;

/// Returns what carries SCTP of a flow: UDP, at a port of its own at both ends (RFC 6951). Of a run whose client moves
/// no other run has the port: an endpoint at two addresses has it at all of its host.
fn carrier(links: Links, number: u8) -> Carrier {
    let moving = if links.new.is_some() { u16::from(links.own) * PORTS_OF_RUN } else { 0 };
    let port = FIRST_ENCAPSULATION_PORT + moving + u16::from(number) - 1;
    Carrier::Udp(EncapsulationPorts { local: port, remote: port })
}

/// The ports that a run whose client moves has for its flows: those of all runs end below the ports that the system gives away.
const PORTS_OF_RUN: u16 = 256;

/// Port of the first flow's server; the others follow.
const FIRST_PORT: u16 = 5007;

/// UDP port that carries SCTP of the first flow; the others follow.
const FIRST_ENCAPSULATION_PORT: u16 = 9899;

/// SCTP port of clients.
const CLIENT_PORT: u16 = 5001;
