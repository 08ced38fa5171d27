//! The numbers of a comparison as JSON.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::IpAddr;

use sctp_core::PathStatistics;
use serde::{Deserialize, Serialize};

use super::to_nanoseconds;
use crate::compare::{BackendKind, Fallback, MeasuredDelay, PacketCounts, Skipped};
use crate::conditions::HostFacts;
use crate::statistics::{FrameCounts, HandoverCounts, mean, milliseconds};
use emulator::DeviceKind;

/// A comparison: `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareResult {
    /// The number of the form of this result, which grows when keys change their meaning; 0 before there was one.
    #[serde(default)]
    pub schema: u32,
    /// The version of Headway that ran.
    pub headway: String,
    /// The commit it was built from.
    #[serde(default)]
    pub commit: String,
    /// The command line, without the program's name.
    #[serde(default)]
    pub command: Vec<String>,
    /// The time at which the run began, in UTC.
    #[serde(default)]
    pub started: String,
    /// The conditions that lay between the ends.
    pub path: PathResult,
    /// The traffic that was sent.
    pub workload: WorkloadResult,
    /// One row per transport, in the order asked for.
    pub runs: Vec<RunResult>,
    /// Transports that were not run.
    pub skipped: Vec<Skipped>,
    /// Transports of which the models say nothing, and why.
    #[serde(default)]
    pub unpredicted: Vec<Skipped>,
    /// The meaning of the numbers, in sentences, the most important first.
    #[serde(default)]
    pub reading: Vec<String>,
    /// Congestion control and loss recovery in words, by protocol, where no option says them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub settings: BTreeMap<String, String>,
    /// Facts about the host that bear on the numbers.
    #[serde(default)]
    pub host: HostFacts,
}

impl CompareResult {
    /// Says whether every run answered every request; otherwise the command ends with status 1.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.runs.iter().all(|run| run.because.is_none())
    }
}

/// The conditions that lay between the ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathResult {
    /// The backend that it ran on.
    pub backend: BackendKind,
    /// The reason why it was not the backend wanted first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback: Option<Fallback>,
    /// Delay of both directions together; null over a network whose delay nobody set.
    pub rtt_ms: Option<f64>,
    /// Mean loss probability in the request direction; null over a network.
    pub loss: Option<f64>,
    /// The devices that the packets went through, `tun` or `veth`; absent where there were none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<DeviceKind>,
    /// One-way delay that the emulator really gave; null where delays are exact.
    pub delay_ms: Option<MeasuredDelay>,
    /// All impairments in words.
    pub impairments: ImpairmentsResult,
    /// The handover as on the command line; absent where the client stays.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handover: Option<String>,
}

/// The impairments of both directions in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpairmentsResult {
    /// The impairments of packets from the load generator.
    pub request: String,
    /// The impairments of packets from the echo server.
    pub response: String,
}

/// The traffic that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// The name of the workload, such as `echo`.
    pub kind: String,
    /// The arrival process as on the command line.
    pub arrivals: String,
    /// Mean time between requests.
    pub interval_ms: f64,
    /// The number of octets of a request; null where messages have lengths of their own.
    pub message_bytes: Option<u32>,
    /// How old a frame may be when it is delivered; absent where age does not matter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline_ms: Option<f64>,
    /// How long requests were sent.
    pub duration_s: f64,
    /// Seed of send times and losses.
    pub seed: u64,
    /// Requests of all runs that the machine, not a transport, sent late.
    pub late_sends: u64,
}

/// One row of the table of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Name on the command line.
    pub id: String,
    /// The protocol: `tcp`, `sctp` or `udp`.
    pub transport: String,
    /// Streams of the association; null for TCP and UDP.
    pub streams: Option<u16>,
    /// Connections or associations; null for UDP.
    pub connections: Option<u16>,
    /// Whether a message waits for those before it on its stream or connection.
    pub ordered: bool,
    /// Profile of the association; null for TCP and UDP.
    pub profile: Option<String>,
    /// The fate of the requests.
    #[serde(flatten)]
    pub counts: RequestCounts,
    /// The reason why something went wrong; absent if nothing did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub because: Option<String>,
    /// Response times of the answered requests.
    pub response_ms: ResponseResult,
    /// Requests that were late; null over a network whose round trip nobody set, and without requests.
    #[serde(default)]
    pub late: Option<LateResult>,
    /// Head-of-line blocking; null where it cannot be seen.
    pub blocking: Option<BlockingResult>,
    /// The prediction of the models; null without a prediction.
    pub predicted: Option<PredictedResult>,
    /// IP packets at the emulator; null where they were not counted.
    pub packets: Option<PacketCounts>,
    /// Requests repeated by the application; UDP only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmissions: Option<u64>,
    /// The paths of the association at the end of the last repetition; `headway load` over SCTP only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub paths: Option<Vec<PeerPath>>,
}

impl RunResult {
    /// Returns how far the measured mean lies above the model's, in per cent of the latter.
    pub(crate) fn deviation(&self) -> Option<f64> {
        let model = self.predicted.as_ref()?.model_ms;
        (model > 0.0).then_some((self.response_ms.mean? - model) / model * 100.0)
    }
}

/// The fate of the requests of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests handed to the transport.
    pub requests: u64,
    /// The number of these that were answered.
    pub responses: u64,
    /// The number of these that were not answered by the end of the drain time.
    pub failed: u64,
    /// The fate of the frames; absent where none were sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frames: Option<FramesResult>,
}

/// The fate of the frames of a video.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FramesResult {
    /// How old a frame may be when it is delivered.
    pub deadline_ms: f64,
    /// The number of frames that were delivered, but older than that.
    pub late: u64,
    /// The number of frames that were not delivered by the end of the drain time.
    pub lost: u64,
    /// The share of all frames that were late or lost.
    pub missed_share: f64,
    /// The cost of the handovers to them; absent where the client stays.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handover: Option<HandoverResult>,
}

/// The cost of the handovers of several runs, in the mean of those runs; null where no run knows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandoverResult {
    /// The number of handovers, one a run.
    pub handovers: u64,
    /// Frames around a handover that came too late, or never.
    pub late: f64,
    /// The longest time without a frame delivered.
    pub gap_ms: Option<f64>,
    /// The time from the beginning of the change until frames are in time again, of those handovers after which they are.
    pub recovery_ms: Option<f64>,
    /// The number of handovers after which no second followed with all frames in time.
    pub not_recovered: u64,
    /// The most that a frame waited beyond the new network's delay once the client was there: study S5's Θmax.
    pub penalty_ms: Option<f64>,
}

impl HandoverResult {
    /// Adds what several handovers cost; `None` without any.
    fn of(counts: &[HandoverCounts]) -> Option<Self> {
        let mean_ms = |time: fn(&HandoverCounts) -> Option<Duration>| {
            let times: Vec<f64> = counts.iter().filter_map(time).map(milliseconds).collect();
            mean(&times).map(to_nanoseconds)
        };
        let late: Vec<f64> = counts.iter().map(|counts| counts.late as f64).collect();
        Some(Self {
            handovers: counts.len() as u64,
            late: mean(&late)?,
            gap_ms: mean_ms(|counts| counts.gap),
            recovery_ms: mean_ms(|counts| counts.recovery),
            not_recovered: counts.iter().filter(|counts| counts.recovery.is_none()).count() as u64,
            penalty_ms: mean_ms(|counts| counts.penalty),
        })
    }
}

impl FramesResult {
    /// Adds what several runs counted, in which so many frames fell due and so many were lost; `None` without any.
    pub(crate) fn sum(counts: impl Iterator<Item = FrameCounts>, due: u64, lost: u64) -> Option<Self> {
        let counts: Vec<FrameCounts> = counts.collect();
        let deadline = counts.first()?.deadline;
        let late = counts.iter().map(|counts| counts.late).sum();
        let missed_share = (late + lost) as f64 / due.max(1) as f64;
        let handovers: Vec<HandoverCounts> = counts.iter().filter_map(|counts| counts.handover).collect();
        let handover = HandoverResult::of(&handovers);
        Some(Self { deadline_ms: milliseconds(deadline), late, lost, missed_share, handover })
    }
}

/// A path of an association as it stood at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerPath {
    /// The number of the path, from 0.
    pub path: usize,
    /// The peer's address on the path.
    pub address: IpAddr,
    /// `unconfirmed`, `active`, `potentially_failed`, `inactive` or `removed`.
    pub state: String,
    /// Whether it is the primary path.
    pub primary: bool,
    /// Smoothed round-trip time; null without a measurement.
    pub srtt_ms: Option<f64>,
    /// The retransmission timeout in ms.
    pub rto_ms: f64,
    /// Congestion window in octets.
    pub cwnd: usize,
    /// The number of packets sent.
    pub packets_sent: u64,
    /// The number of packets received.
    pub packets_received: u64,
    /// The number of T3-rtx expirations.
    pub timeouts: u64,
    /// Recoveries from losses that acknowledgments told of.
    pub recoveries: u64,
    /// Tail-loss probes sent for what was in flight there.
    pub probes: u64,
}

impl PeerPath {
    pub(super) fn new(path: &PathStatistics) -> Self {
        Self {
            path: path.path.number() as usize,
            address: path.address,
            state: path.state.name().to_owned(),
            primary: path.is_primary,
            srtt_ms: path.srtt.map(milliseconds),
            rto_ms: milliseconds(path.rto),
            cwnd: path.cwnd_bytes,
            packets_sent: path.counters.packets_sent,
            packets_received: path.counters.packets_received,
            timeouts: path.counters.timeouts,
            recoveries: path.counters.recoveries,
            probes: path.counters.probes,
        }
    }
}

/// Response times in ms; a number that the samples do not support is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseResult {
    /// The mean of the answered requests.
    pub mean: Option<f64>,
    /// Requests that were due and are not in the mean, because they were not answered. To percentiles they are longer than
    /// everything: one that falls among them is null.
    #[serde(default)]
    pub unanswered: u64,
    /// The 95 % confidence interval by batch means.
    pub ci95: Option<[f64; 2]>,
    /// The median of the response times.
    pub p50: Option<f64>,
    /// The 90th percentile of the response times.
    pub p90: Option<f64>,
    /// The 99th percentile of the response times.
    pub p99: Option<f64>,
    /// The 99.9th percentile of the response times.
    pub p999: Option<f64>,
    /// The longest response time.
    pub max: Option<f64>,
}

/// Requests that were answered later than the path alone explains, or never. Shares are of all requests that were due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateResult {
    /// Responses that took longer are late: a millisecond above what delay, jitter, processing and link rates make.
    pub threshold_ms: f64,
    /// Round trip and processing, without which there is no response.
    pub shortest_ms: f64,
    /// The share of late requests.
    pub share: f64,
    /// The split by whose loss it was; null where it cannot be told.
    pub losses: Option<LossSplit>,
    /// The reason why it cannot be told, as that packets are encrypted; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unsplit: Option<String>,
    /// How much longer than `shortest_ms` the answered requests took in the mean.
    pub mean_excess_ms: Option<f64>,
}

/// Late requests by whose packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossSplit {
    /// Late because a packet of the request itself, or of its response, was lost.
    pub by_own_loss: f64,
    /// Late because of somebody else's loss: none of its own packets was lost, but one that it had to wait for. In virtual time
    /// without narrow links, where nothing else makes anybody late, that is any packet lost at that time or up to 50 round trips
    /// before, since a loss makes the sender's window small; elsewhere, one of the same ordered stream or connection that was
    /// missing meanwhile.
    pub by_others_loss: f64,
    /// Late without a loss that explains it: behind a queue or a small window, or on a busy machine.
    pub without_loss: f64,
    /// The time that the answered ones of `by_others_loss` waited beyond `shortest_ms`, all together.
    pub others_loss_ms: f64,
}

/// Head-of-line blocking at the receivers of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockingResult {
    /// Messages that were complete and had to wait for an earlier one.
    pub messages_blocked: u64,
    /// How long they waited in the mean; 0 if there were none.
    pub mean_blocked_ms: f64,
}

/// The prediction of the models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedResult {
    /// Mean response time of our model.
    pub model_ms: f64,
    /// Mean response time of the published one; null where it does not cover the case.
    pub study_ms: Option<f64>,
    /// The equations of the study.
    pub study: Option<String>,
}
