//! Comparisons with real packets: two network namespaces, an emulated link for every transport between them.
//!
//! One thread is the client's side, one the server's; each runs an event loop of its own with the sockets of all
//! transports that run at the same time. The emulator sits between them on a third.

mod client;
mod server;

use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::compare::{
    Backend, BackendError, BackendKind, CompareConfig, DirectionPackets, MeasuredDelay, PacketCounts,
    RawOutcome, RawRun,
};
use crate::transport::TransportSpec;
use emulator::{
    CaptureFile, DirectionReport, EmulatedLink, EmulatorOptions, EmulatorReport, LinkEnd, LinkReport, World,
    permission,
};

use self::client::ClientRun;
use super::{blocking, never_begun, runs};

/// The backend with real packets. The process must have entered a user namespace, or be privileged, before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Namespaces;

impl Backend for Namespaces {
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError> {
        permission().map_err(|refused| BackendError::Refused { because: refused.to_string() })?;
        let mut raw = Vec::new();
        let mut reports = Vec::new();
        for (number, batch) in (1..).zip(batches(config, transports)) {
            if config.stop.is_raised() {
                break;
            }
            let (more, report) = run_batch(config, &batch, number)?;
            raw.extend(more);
            reports.push(report);
        }
        raw.sort_by_key(|run| (position(transports, run.transport), run.repetition));
        Ok(RawOutcome {
            backend: BackendKind::Namespaces,
            fallback: None,
            device: reports.first().map(|report| report.device),
            delay: measured_delay(&reports),
            skipped: never_begun(transports, &raw).collect(),
            runs: raw,
        })
    }
}

/// One run: a transport in a repetition.
#[derive(Clone, Copy, Debug)]
struct Planned {
    transport: TransportSpec,
    repetition: u32,
    /// The emulated link it has for itself.
    link: u8,
}

/// What runs at the same time: the transports of one repetition, or each alone.
fn batches(config: &CompareConfig, transports: &[TransportSpec]) -> Vec<Vec<Planned>> {
    let size = if config.runs_concurrently() { MOST_LINKS } else { 1 };
    let mut batches = Vec::new();
    for repetition in 0..config.repeat.get() {
        let of_repetition: Vec<_> =
            runs(transports, config.repeat).filter(|(_, of)| *of == repetition).collect();
        for chunk in of_repetition.chunks(size) {
            let planned = (1..).zip(chunk).map(|(link, &(transport, repetition))| Planned {
                transport,
                repetition,
                link,
            });
            batches.push(planned.collect());
        }
    }
    batches
}

fn run_batch(
    config: &CompareConfig,
    batch: &[Planned],
    number: u32,
) -> Result<(Vec<RawRun>, EmulatorReport), BackendError> {
    let failed = |because: String| BackendError::Failed { because };
    let links = batch.iter().map(|planned| emulated_link(config, *planned)).collect();
    let mut world = World::new(links).map_err(|error| failed(error.to_string()))?;
    let (ready, is_ready) = mpsc::channel();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let ends: Vec<_> = batch.iter().map(|planned| LinkEnd::server(planned.link)).collect();
    let (its_config, its_batch) = (config.clone(), batch.to_vec());
    let server = world
        .spawn_side("server", &ends, move |side| {
            server::run(&its_config, &its_batch, &side, &ready, &stopped)
        })
        .map_err(refused_or_failed)?;
    let ends: Vec<_> = batch.iter().map(|planned| LinkEnd::client(planned.link)).collect();
    let (its_config, its_batch) = (config.clone(), batch.to_vec());
    let client = world
        .spawn_side("client", &ends, move |side| {
            let runs = match is_ready.recv() {
                Ok(Ok(())) => client::run(&its_config, &its_batch, &side),
                Ok(Err(error)) => Err(error),
                Err(_gone) => Err("the server's side ended".to_owned()),
            };
            // The server may be gone already.
            let _unheard = stop.send(true);
            runs
        })
        .map_err(refused_or_failed)?;
    let file = |path: &PathBuf| CaptureFile { path: numbered(path, number), point: config.pcap_at };
    let options = EmulatorOptions { capture: config.pcap.as_ref().map(file), ..EmulatorOptions::default() };
    let emulator = world.start(options).map_err(|error| failed(error.to_string()))?;
    let runs = client.join().map_err(|error| failed(error.to_string()))?;
    let echoed = server.join().map_err(|error| failed(error.to_string()))?;
    let report = emulator.stop().map_err(|error| failed(error.to_string()))?;
    let runs = runs.map_err(failed)?;
    let raw = batch.iter().zip(runs).zip(&report.links);
    let raw = raw.map(|((planned, run), link)| RawRun {
        capture_failure: report.capture_error.clone(),
        ..raw_run(config, *planned, run, &echoed, link)
    });
    let raw = raw.collect();
    Ok((raw, report))
}

/// `x.pcapng` for what runs first, `x-2.pcapng` for what runs after that.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or("pcapng".as_ref()).to_string_lossy();
    path.with_file_name(format!("{stem}-{number}.{extension}"))
}

fn emulated_link(config: &CompareConfig, planned: Planned) -> EmulatedLink {
    EmulatedLink {
        index: planned.link,
        request: config.request_path.clone(),
        response: config.response_path.clone(),
        seed: config.run_seed(planned.repetition),
    }
}

fn raw_run(
    config: &CompareConfig,
    planned: Planned,
    run: ClientRun,
    echoed: &server::Echoed,
    link: &LinkReport,
) -> RawRun {
    let is_sctp = matches!(planned.transport, TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered);
    let far = echoed.statistics.get(&planned.link);
    RawRun {
        transport: planned.transport,
        repetition: planned.repetition,
        profile: config.profile_of(planned.transport),
        start: run.driven.start,
        samples: run.driven.samples,
        counters: run.driven.counters,
        retransmissions: run.retransmissions,
        blocking: is_sctp.then(|| blocking(run.statistics.iter().chain(far.into_iter().flatten()))),
        packets: Some(packets(link)),
        ended_early: run.driven.ended_early,
        paths: None,
        capture_failure: None,
    }
}

fn packets(link: &LinkReport) -> PacketCounts {
    let direction = |report: &DirectionReport| DirectionPackets {
        sent: report.stats.offered,
        dropped: u64::try_from(report.dropped.len()).unwrap_or(u64::MAX),
    };
    PacketCounts { request: direction(&link.request), response: direction(&link.response) }
}

/// The delay packets really got in either direction: the middle of the medians, the worst of the 99th percentiles.
fn measured_delay(reports: &[EmulatorReport]) -> Option<MeasuredDelay> {
    let links = reports.iter().flat_map(|report| &report.links);
    let delays: Vec<_> = links.flat_map(|link| [&link.request.delay, &link.response.delay]).collect();
    let mut p50: Vec<f64> = delays.iter().filter_map(|delay| delay.p50_ms).collect();
    p50.sort_by(f64::total_cmp);
    let p99 = delays.iter().filter_map(|delay| delay.p99_ms).reduce(f64::max)?;
    Some(MeasuredDelay { p50: *p50.get(p50.len() / 2)?, p99 })
}

fn position(transports: &[TransportSpec], transport: TransportSpec) -> usize {
    transports.iter().position(|known| *known == transport).unwrap_or(transports.len())
}

/// A namespace or device that is refused when it is made refuses the backend: nothing has run yet.
fn refused_or_failed(error: emulator::EmulatorError) -> BackendError {
    BackendError::Refused { because: error.to_string() }
}

/// Links at the same time at most; the emulator numbers them with one octet.
const MOST_LINKS: usize = 64;

/// UDP port of the emulated servers, and their TCP port.
const ECHO_PORT: u16 = 5007;

/// UDP encapsulation port of both ends (RFC 6951).
const ENCAPSULATION_PORT: u16 = 9899;
