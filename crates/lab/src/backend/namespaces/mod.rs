//! Scenarios with real packets: two network namespaces, an emulated link for every run between them.
//!
//! One thread is the side of the clients, one that of the servers; each runs an event loop of its own with the sockets of
//! all runs of a batch, which take place at the same time. The emulator sits between them on a third.

mod client;
mod server;
mod suitable;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use emulator::{
    CaptureFile, DirectionReport, EmulatedLink, EmulatorError, EmulatorOptions, EmulatorReport, LinkEnd,
    LinkReport, LinkState, RunningEmulator, Side, World, beside, permission,
};
use sctp_io::Clock;
use tracing::Span;
use workload::Sample;

pub(crate) use self::suitable::can_run;
use super::{batches, in_order, never_begun, raw_run};
use crate::compare::{
    Backend, BackendError, BackendKind, CompareConfig, MeasuredDelay, RawOutcome, RawRun, sorted_out,
};
use crate::events::run_span;
use crate::simulation::{
    FlowOutcome, LinkOutcome, LinkPlan, RunOutcome, Scenario, SimulationError, SwitchState, Watch, changes,
};
use crate::statistics::{TransportCounts, WorkloadCounts};
use crate::transport::{
    Carrier, EncapsulationPorts, FlowPlan, FlowRun, SEVERAL_FLOWS, TransportSpec, own_losses,
    transport_payload,
};

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

    fn keeps_samples(&self) -> bool {
        self.scenario.flows.iter().any(|(_, flow)| flow.samples)
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
        for (number, batch) in (1..).zip(batches(config, &measured, MOST_LINKS)) {
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

/// Runs scenarios at the same time, [`MOST_LINKS`] at most; outcomes in their order.
///
/// # Errors
/// The host refuses namespaces or devices, or the emulator breaks.
pub(crate) fn run_batch(
    batch: &[ScenarioRun],
    watch: &Watch,
) -> Result<(Vec<RunOutcome>, EmulatorReport), BackendError> {
    permission().map_err(|refused| BackendError::Refused { because: refused.to_string() })?;
    let failed = |because: String| BackendError::Failed { because };
    let links: Vec<EmulatedLink> = (1..).zip(batch).filter_map(emulated_link).collect();
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
    let client = world
        .spawn_side("client", &clients, move |side| {
            let done = match is_ready.recv() {
                Ok(Ok(())) => client::run(&runs, &side, clock, &interrupt),
                Ok(Err(error)) => Err(error),
                Err(_gone) => Err("the server's side ended".to_owned()),
            };
            // The server may be gone already.
            let _unheard = stop.send(true);
            done
        })
        .map_err(refused)?;
    let keeps_lost_packets = batch.iter().any(ScenarioRun::keeps_samples);
    let capture = watch.capture.clone();
    let options = EmulatorOptions { capture, keeps_lost_packets, ..EmulatorOptions::default() };
    let emulator = world.start(options).map_err(|error| failed(error.to_string()))?;
    let begin = Instant::now();
    change_links(&emulator, batch, &client, begin).map_err(|error| failed(error.to_string()))?;
    let flows = client.join().map_err(|error| failed(error.to_string()))?;
    let length = begin.elapsed();
    let answered = server.join().map_err(|error| failed(error.to_string()))?;
    let report = emulator.stop().map_err(|error| failed(error.to_string()))?;
    let of_run = |(((at, run), flows), link): (((usize, &ScenarioRun), Vec<FlowRun>), &LinkReport)| {
        let capture_failure = report.capture_error.clone();
        let far = |flow| answered.counts(at, flow);
        RunOutcome { capture_failure, ..outcome(run, flows, far, link, length) }
    };
    let flows = flows.map_err(failed)?;
    let outcomes = batch.iter().enumerate().zip(flows).zip(&report.links).map(of_run).collect();
    Ok((outcomes, report))
}

/// Returns the path of the first run, `x.pcapng`, or of a later one, `x-2.pcapng`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    beside(path, number)
}

fn emulated_link((index, run): (u8, &ScenarioRun)) -> Option<EmulatedLink> {
    let (_, link) = run.link()?;
    Some(EmulatedLink { index, request: link.request(), response: link.response(), seed: run.seed })
}

/// Changes links when their plans say so, until all clients have finished.
fn change_links<T>(
    emulator: &RunningEmulator,
    batch: &[ScenarioRun],
    client: &Side<T>,
    begin: Instant,
) -> Result<(), EmulatorError> {
    let of_run = |(index, run): (u8, &ScenarioRun)| {
        changes(&run.scenario).into_iter().map(|(at, _, change)| (at, index, change)).collect::<Vec<_>>()
    };
    let mut all: Vec<(Duration, u8, usize)> = (1..).zip(batch).flat_map(of_run).collect();
    all.sort_by_key(|(at, ..)| *at);
    for (at, index, change) in all {
        while begin.elapsed() < at {
            if client.is_finished() {
                return Ok(());
            }
            std::thread::sleep(LOOK.min(at.saturating_sub(begin.elapsed())));
        }
        let Some((_, plan)) = batch.get(usize::from(index) - 1).and_then(ScenarioRun::link) else { continue };
        let [request, response] = plan.changed(change);
        emulator.set_impairments(index, emulator::Direction::Request, request)?;
        emulator.set_impairments(index, emulator::Direction::Response, response)?;
        match plan.changes[change].state {
            Some(SwitchState::Up) => emulator.set_link_state(index, LinkState::Up)?,
            Some(SwitchState::Down) => emulator.set_link_state(index, LinkState::Down)?,
            None => {}
        }
    }
    Ok(())
}

/// Returns what a run left behind; `far` is what a flow's server counted.
fn outcome(
    run: &ScenarioRun,
    flows: Vec<FlowRun>,
    far: impl Fn(usize) -> TransportCounts,
    link: &LinkReport,
    length: Duration,
) -> RunOutcome {
    let plans = run.scenario.flows.iter().zip(flows).enumerate();
    let flows = plans.map(|(index, ((name, plan), FlowRun { driven, counts, .. }))| FlowOutcome {
        name: name.to_owned(),
        messages: driven.messages.0,
        completed: driven.messages.1,
        responses: Some(driven.responses),
        one_way: None,
        goodput_bits_per_s: None,
        own_losses: own_losses_of(run, plan, &driven.samples, link),
        samples: if plan.samples { driven.samples } else { Vec::new() },
        untimed: if plan.samples { driven.untimed } else { Vec::new() },
        start: driven.start,
        strange: driven.counters.strange,
        late_sends: driven.counters.late_sends,
        transport: counts.and_far(far(index)),
        counts: WorkloadCounts { calls: driven.calls, frames: driven.frames },
        failure: driven.ended_early,
    });
    let way = |report: &DirectionReport| report.stats;
    let name = run.link().map(|(name, _)| name.to_owned()).unwrap_or_default();
    RunOutcome {
        flows: flows.collect(),
        links: vec![LinkOutcome { name, ways: [way(&link.request), way(&link.response)] }],
        events: 0,
        packets: link.request.stats.offered + link.response.stats.offered,
        trace_hash: None,
        length,
        capture_failure: None,
    }
}

/// Returns the requests of a flow that lost a packet on its link; why that cannot be told.
fn own_losses_of(
    run: &ScenarioRun,
    plan: &FlowPlan,
    samples: &[Sample],
    link: &LinkReport,
) -> Result<BTreeSet<u64>, &'static str> {
    if run.scenario.flows.iter().count() > 1 {
        return Err(SEVERAL_FLOWS);
    }
    // What is behind the IP and UDP headers, both ways.
    let payloads = |packets: fn(&DirectionReport) -> &Vec<Vec<u8>>| {
        let packets = packets(&link.request).iter().chain(packets(&link.response));
        packets.filter_map(|packet| transport_payload(packet)).collect::<Vec<_>>()
    };
    let first = payloads(|way| &way.first_packets);
    own_losses(plan, samples, &payloads(|way| &way.lost_packets), &first)
}

/// Returns the delay packets really got in either direction: the middle of the medians, the worst of the 99th
/// percentiles.
fn measured_delay(reports: &[EmulatorReport]) -> Option<MeasuredDelay> {
    let links = reports.iter().flat_map(|report| &report.links);
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

/// Runs at the same time at most; the emulator numbers their links with one octet.
pub(crate) const MOST_LINKS: usize = 64;

/// Returns what carries SCTP of a flow: UDP, at a port of its own at both ends (RFC 6951).
fn carrier(number: u8) -> Carrier {
    let port = FIRST_ENCAPSULATION_PORT + u16::from(number) - 1;
    Carrier::Udp(EncapsulationPorts { local: port, remote: port })
}

/// Port of the first flow's server; the others follow.
const FIRST_PORT: u16 = 5007;

/// UDP port that carries SCTP of the first flow; the others follow.
const FIRST_ENCAPSULATION_PORT: u16 = 9899;

/// SCTP port of clients.
const CLIENT_PORT: u16 = 5001;

/// How often somebody looks whether the clients have finished.
const LOOK: Duration = Duration::from_millis(20);
