//! Where comparisons run: real packets between namespaces, or virtual time.

mod namespaces;
mod network;
pub mod real;
mod simulator;

pub use namespaces::Namespaces;
pub use network::{Carrier, EncapsulationPorts, Network};
pub use simulator::Simulator;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use sctp_core::AssociationStatistics;

use crate::compare::{Blocking, RawRun, Skipped};
use crate::transport::TransportSpec;

/// What the receivers of both directions saw of head-of-line blocking.
fn blocking<'a>(ends: impl IntoIterator<Item = &'a AssociationStatistics>) -> Blocking {
    let mut sum = Blocking::default();
    for end in ends {
        for (_, stream) in end.receiver.blocked.streams() {
            sum.messages_blocked += stream.messages;
            sum.total += stream.total;
        }
    }
    sum
}

/// Every run of a comparison: transport and repetition, in the order of the table.
fn runs(transports: &[TransportSpec], repeat: NonZeroU32) -> impl Iterator<Item = (TransportSpec, u32)> + '_ {
    let each = move |transport: &TransportSpec| {
        let transport = *transport;
        (0..repeat.get()).map(move |repetition| (transport, repetition))
    };
    transports.iter().flat_map(each)
}

/// Transports that an interrupt left without any run.
fn never_begun<'a>(
    transports: &'a [TransportSpec],
    runs: &'a [RawRun],
) -> impl Iterator<Item = Skipped> + 'a {
    let has_run = |transport| runs.iter().any(|run| run.transport == transport);
    let left = transports.iter().filter(move |transport| !has_run(**transport));
    left.map(|transport| Skipped { id: transport.to_string(), because: INTERRUPTED.to_owned() })
}

/// `x.pcapng` becomes `x-sctp-6.pcapng`: one capture a run.
fn capture_path(path: &Path, transport: TransportSpec, repetition: u32) -> PathBuf {
    let name = path.file_stem().map_or_else(|| "headway".into(), |stem| stem.to_string_lossy().into_owned());
    let extension =
        path.extension().map_or_else(|| "pcapng".into(), |end| end.to_string_lossy().into_owned());
    let transport = transport.to_string().replace(':', "-");
    let number = if repetition == 0 { String::new() } else { format!("-{}", repetition + 1) };
    path.with_file_name(format!("{name}-{transport}{number}.{extension}"))
}

/// Why a run ended, or never began, that was asked to end.
const INTERRUPTED: &str = "interrupted";

/// SCTP port of the echo server.
const SERVER_PORT: u16 = 7;

/// SCTP port of the load generator.
const CLIENT_PORT: u16 = 5001;
