//! The backends of comparisons: real packets between namespaces, or virtual time.

pub(crate) mod namespaces;
mod network;
mod simulator;

pub use namespaces::Namespaces;
pub use network::Network;
pub use simulator::Simulator;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use emulator::beside;
use netem::LinkStats;

use crate::compare::{Blocking, CompareConfig, DirectionPackets, PATH, PacketCounts, RawRun, Skipped};
use crate::simulation::{LinkOutcome, NEW_LINK, RunOutcome};
use crate::statistics::LoadCounters;
use crate::stop::INTERRUPTED;
use crate::transport::TransportSpec;

/// Returns what a run of a comparison's scenario left behind, as a row is made of.
fn raw_run(
    config: &CompareConfig,
    transport: TransportSpec,
    repetition: u32,
    outcome: RunOutcome,
) -> Option<RawRun> {
    let capture_failure = outcome.capture_failure.clone();
    let is_over = outcome.length >= config.traffic.duration;
    let is_access = |link: &&LinkOutcome| [PATH, NEW_LINK].contains(&link.name.as_str());
    let access = outcome.links.iter().filter(is_access).map(|link| packets(&link.ways));
    let packets = access.reduce(PacketCounts::plus);
    let flow = outcome.flows.into_iter().next()?;
    let is_interrupted = config.stop.is_raised() && !(is_over && flow.completed == flow.messages);
    let counters =
        LoadCounters { late_sends: flow.late_sends, ..LoadCounters::of(&flow.samples, flow.strange) };
    Some(RawRun {
        transport,
        repetition,
        profile: config.profile_of(transport),
        start: flow.start,
        counters,
        own_losses: flow.own_losses,
        samples: flow.samples,
        untimed: flow.untimed,
        frames: flow.counts.frames,
        retransmissions: flow.transport.retransmissions.filter(|_| transport.is_unreliable()),
        blocking: flow.transport.blocked.map(Blocking::from),
        packets,
        ended_early: flow.failure.or_else(|| is_interrupted.then(|| INTERRUPTED.to_owned())),
        paths: None,
        capture_failure,
    })
}

fn packets(ways: &[LinkStats; 2]) -> PacketCounts {
    let [request, response] =
        ways.map(|stats| DirectionPackets { sent: stats.offered, dropped: stats.dropped() });
    PacketCounts { request, response }
}

/// Returns every run of a comparison: transport and repetition, in the order of the table.
fn runs(transports: &[TransportSpec], repeat: NonZeroU32) -> impl Iterator<Item = (TransportSpec, u32)> + '_ {
    let each = move |transport: &TransportSpec| {
        let transport = *transport;
        (0..repeat.get()).map(move |repetition| (transport, repetition))
    };
    transports.iter().flat_map(each)
}

/// Returns what runs at the same time: the transports of one repetition, `most` of them, or each alone.
fn batches(
    config: &CompareConfig,
    transports: &[TransportSpec],
    most: usize,
) -> Vec<Vec<(TransportSpec, u32)>> {
    let size = if config.runs_concurrently() { most } else { 1 };
    let of = |repetition| runs(transports, config.repeat).filter(move |(_, of)| *of == repetition);
    let repetitions = (0..config.repeat.get()).map(|repetition| of(repetition).collect::<Vec<_>>());
    repetitions.flat_map(|all| all.chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>()).collect()
}

/// Puts runs into the order of the table, in whatever order they ended.
fn in_order(runs: &mut [RawRun], transports: &[TransportSpec]) {
    let place = |of: TransportSpec| transports.iter().position(|known| *known == of);
    runs.sort_by_key(|run| (place(run.transport), run.repetition));
}

/// Returns the transports that an interrupt left without any run.
fn never_begun<'a>(
    transports: &'a [TransportSpec],
    runs: &'a [RawRun],
) -> impl Iterator<Item = Skipped> + 'a {
    let has_run = |transport| runs.iter().any(|run| run.transport == transport);
    let left = transports.iter().filter(move |transport| !has_run(**transport));
    left.map(|transport| Skipped { id: transport.to_string(), because: INTERRUPTED.to_owned() })
}

/// Returns the path of a run's capture: `x.pcapng` becomes `x-sctp-6.pcapng`.
fn capture_path(path: &Path, transport: TransportSpec, repetition: u32) -> PathBuf {
    let transport = transport.to_string().replace(':', "-");
    let number = if repetition == 0 { String::new() } else { format!("-{}", repetition + 1) };
    beside(path, format_args!("{transport}{number}"))
}
