//! The raw results that a backend measured.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;

use sctp_core::PathStatistics;
use serde::{Deserialize, Serialize};
use virtual_time::Instant;
use workload::Sample;

use crate::statistics::{FrameCounts, LoadCounters};
use crate::transport::TransportSpec;
use emulator::DeviceKind;

/// All runs of a comparison.
#[derive(Clone, Debug)]
pub struct RawOutcome {
    /// The backend that the runs were on.
    pub backend: BackendKind,
    /// The reason why it was not the one wanted first.
    pub fallback: Option<Fallback>,
    /// The devices the packets went through; `None` where there were none.
    pub device: Option<DeviceKind>,
    /// One-way delay that the emulator really gave to packets; `None` where delays are exact.
    pub delay: Option<MeasuredDelay>,
    /// One per transport and repetition.
    pub runs: Vec<RawRun>,
    /// Transports that were not run.
    pub skipped: Vec<Skipped>,
}

impl RawOutcome {
    /// Creates the outcome of runs on the backend that was wanted, of which no device and no delay is known.
    #[must_use]
    pub fn new(backend: BackendKind, runs: Vec<RawRun>) -> Self {
        Self { backend, fallback: None, device: None, delay: None, runs, skipped: Vec::new() }
    }
}

/// The kinds of backends that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// Real packets, kernel TCP and our SCTP.
    Namespaces,
    /// The simulator, in virtual time.
    Simulator,
    /// Two hosts and whatever lies between them (`load`).
    Network,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces",
            Self::Simulator => "simulator",
            Self::Network => "network",
        })
    }
}

/// Another backend ran than was wanted first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The backend that was wanted.
    pub wanted: BackendKind,
    /// The reason why it did not run.
    pub because: String,
}

/// One run of one transport.
#[derive(Clone, Debug)]
pub struct RawRun {
    /// The transport of the run; its name is the run's id.
    pub transport: TransportSpec,
    /// The number of the repetition, from 0.
    pub repetition: u32,
    /// Profile of the association; `None` for TCP and UDP.
    pub profile: Option<String>,
    /// The time at which the load generator started, on the clock of the samples.
    pub start: Instant,
    /// Every request that was due and whose response is timed.
    pub samples: Vec<Sample>,
    /// Every other request that was due: nobody asks how long these took, but their losses hold up the others.
    pub untimed: Vec<Sample>,
    /// The requests that lost a packet of their own, or of their response; why it cannot be told.
    pub own_losses: Result<BTreeSet<u64>, &'static str>,
    /// The counters of the load.
    pub counters: LoadCounters,
    /// The fate of the frames, where frames were sent.
    pub frames: Option<FrameCounts>,
    /// Requests repeated by the application; `None` but for UDP.
    pub retransmissions: Option<u64>,
    /// Head-of-line blocking at the receivers of both directions; `None` where it cannot be seen (TCP, UDP).
    pub blocking: Option<Blocking>,
    /// IP packets at the emulator, where they were counted.
    pub packets: Option<PacketCounts>,
    /// The paths of the association at its end; `None` where they are not asked for.
    pub paths: Option<Vec<PathStatistics>>,
    /// The reason why the run ended before its time, such as a lost connection.
    pub ended_early: Option<String>,
    /// The reason why the capture of its packets is not complete; `None` if it is, or none was asked for.
    pub capture_failure: Option<String>,
}

/// Messages that were complete and waited for an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocking {
    /// The number of messages that waited.
    pub messages_blocked: u64,
    /// The time that they waited, all together.
    pub total: Duration,
}

impl From<(u64, Duration)> for Blocking {
    fn from((messages_blocked, total): (u64, Duration)) -> Self {
        Self { messages_blocked, total }
    }
}

/// IP packets in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCounts {
    /// The packets from the load generator.
    pub request: DirectionPackets,
    /// The packets from the echo server.
    pub response: DirectionPackets,
}

/// IP packets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionPackets {
    /// The number of packets offered to the emulator.
    pub sent: u64,
    /// The number of those that it dropped for whatever reason.
    pub dropped: u64,
}

impl PacketCounts {
    /// Returns the sum of both, as when repetitions become one row.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self { request: self.request.plus(more.request), response: self.response.plus(more.response) }
    }
}

impl DirectionPackets {
    fn plus(self, more: Self) -> Self {
        Self { sent: self.sent + more.sent, dropped: self.dropped + more.dropped }
    }
}

/// One-way delay of packets in ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDelay {
    /// The median of the delays, in ms.
    pub p50: f64,
    /// 99 % of the packets had at most this.
    pub p99: f64,
}

/// A transport that was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The name on the command line.
    pub id: String,
    /// The reason why, and what to do.
    pub because: String,
}

/// The prediction of the models for one transport under the conditions of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Mean response time of our model.
    pub model_ms: f64,
    /// Mean response time of the published one, where it covers the case.
    pub study_ms: Option<f64>,
    /// The equations used, such as `S4 (1),(7)`.
    pub study: Option<String>,
    /// `(ms, share of longer response times)` by our model, ascending; empty if it gives none.
    pub ccdf: Vec<(f64, f64)>,
}
