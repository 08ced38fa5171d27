//! What a backend measured.

use core::time::Duration;
use std::collections::BTreeSet;

use sctp_core::PathStatistics;
use serde::{Deserialize, Serialize};
use virtual_time::Instant;
use workload::{LATE_SEND_BOUND, Sample};

use super::backend::{BackendKind, Fallback};
use crate::transport::TransportSpec;
use emulator::DeviceKind;

/// All runs of a comparison.
#[derive(Clone, Debug)]
pub struct RawOutcome {
    /// Which backend ran.
    pub backend: BackendKind,
    /// Why it was not the one wanted first.
    pub fallback: Option<Fallback>,
    /// Which devices the packets went through; `None` where there were none.
    pub device: Option<DeviceKind>,
    /// One-way delay that the emulator really gave to packets; `None` where delays are exact.
    pub delay: Option<MeasuredDelay>,
    /// One per transport and repetition.
    pub runs: Vec<RawRun>,
    /// Transports that were not run.
    pub skipped: Vec<Skipped>,
}

/// One run of one transport.
#[derive(Clone, Debug)]
pub struct RawRun {
    /// Which transport; its name is the run's id.
    pub transport: TransportSpec,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// Profile of the association; `None` for TCP and UDP.
    pub profile: Option<String>,
    /// When the load generator started, on the clock of the samples.
    pub start: Instant,
    /// Every request that was due.
    pub samples: Vec<Sample>,
    /// Which of these lost a packet of their own, that of the request or of its response; `None` where it cannot be told.
    pub own_losses: Option<BTreeSet<u64>>,
    /// What was counted.
    pub counters: LoadCounters,
    /// Requests repeated by the application; `None` but for UDP.
    pub retransmissions: Option<u64>,
    /// Head-of-line blocking at the receivers of both directions; `None` where it cannot be seen (TCP, UDP).
    pub blocking: Option<Blocking>,
    /// IP packets at the emulator, where they were counted.
    pub packets: Option<PacketCounts>,
    /// The paths of the association at its end; `None` where they are not asked for.
    pub paths: Option<Vec<PathStatistics>>,
    /// Why the run ended before its time, such as a lost connection.
    pub ended_early: Option<String>,
    /// Why the capture of its packets is not complete; `None` if it is, or none was asked for.
    pub capture_failure: Option<String>,
}

/// Counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCounters {
    /// Requests handed to the transport.
    pub requests: u64,
    /// Requests answered, each counted once.
    pub responses: u64,
    /// Requests handed over later than [`LATE_SEND_BOUND`] after they were due: the machine could not keep up. 0 in virtual
    /// time.
    pub late_sends: u64,
    /// What came and answered no request.
    pub strange: u64,
}

impl LoadCounters {
    /// Counts requests and responses.
    #[must_use]
    pub fn of(samples: &[Sample], strange: u64) -> Self {
        let mut counters = Self { strange, ..Self::default() };
        for sample in samples {
            counters.requests += u64::from(sample.sent.is_some());
            counters.responses += u64::from(sample.response.is_some());
        }
        counters
    }

    /// Counts late sends, too.
    #[must_use]
    pub fn in_real_time(samples: &[Sample], strange: u64) -> Self {
        let is_late =
            |sample: &&Sample| sample.sent.is_some_and(|sent| sent.since(sample.intended) > LATE_SEND_BOUND);
        let late_sends = u64::try_from(samples.iter().filter(is_late).count()).unwrap_or(u64::MAX);
        Self { late_sends, ..Self::of(samples, strange) }
    }
}

/// Messages that were complete and waited for an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocking {
    /// How many.
    pub messages_blocked: u64,
    /// How long, all together.
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
    /// From the load generator.
    pub request: DirectionPackets,
    /// From the echo server.
    pub response: DirectionPackets,
}

/// IP packets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionPackets {
    /// Offered to the emulator.
    pub sent: u64,
    /// Of these, dropped by it for whatever reason.
    pub dropped: u64,
}

impl PacketCounts {
    /// Both together, as when repetitions become one row.
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
    /// The median.
    pub p50: f64,
    /// 99 % of the packets had at most this.
    pub p99: f64,
}

/// A transport that was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name on the command line.
    pub id: String,
    /// Why, and what to do.
    pub because: String,
}

/// What the models say about one transport under the conditions of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Mean response time of our model.
    pub model_ms: f64,
    /// Mean response time of the published one, where it covers the case.
    pub study_ms: Option<f64>,
    /// Which equations, such as `S4 (1),(7)`.
    pub study: Option<String>,
    /// `(ms, share of longer response times)` by our model, ascending; empty if it gives none.
    pub ccdf: Vec<(f64, f64)>,
}
