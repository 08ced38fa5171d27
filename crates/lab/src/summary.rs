//! The way from what a backend measured to what is reported.

mod curves;
mod late;
mod reading;
mod result;
mod verdict;

use workload::Sample;

pub use curves::RunCurves;
pub use reading::{closing_words, reading};
pub use result::{
    BlockingResult, CompareResult, FramesResult, HandoverResult, ImpairmentsResult, LateResult, LossSplit,
    PathResult, PeerPath, PredictedResult, RequestCounts, ResponseResult, RunResult, WorkloadResult,
};

use crate::compare::{
    BackendKind, Blocking, CompareConfig, PacketCounts, Prediction, RawOutcome, RawRun, Skipped,
};
use crate::conditions::Conditions;
use crate::numbers::percent;
use crate::statistics::{Distribution, milliseconds};
use crate::transport::{TransportSpec, settings};
use late::Bounds;

/// Everything that the table, the files and the report show.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The numbers; `results.json`.
    pub result: CompareResult,
    /// The figures, in the order of `result.runs`.
    pub curves: Vec<RunCurves>,
    /// Options that are not in the result but in the report.
    pub options: Vec<(String, String)>,
}

impl Comparison {
    /// Summarises all runs; repetitions of a transport become one row. `predict` tells what the models say of a
    /// transport, or why they say nothing.
    #[must_use]
    pub fn new(
        config: &CompareConfig,
        raw: &RawOutcome,
        conditions: Conditions,
        predict: impl Fn(TransportSpec) -> Result<Prediction, String>,
    ) -> Self {
        let rows = rows(raw);
        let path = PathResult::new(config, raw);
        // In two networks there are two of what a path alone takes.
        let bounds =
            path.rtt_ms.filter(|_| config.handover.is_none()).map(|_| Bounds::of(config, raw.backend));
        let mut runs = Vec::with_capacity(rows.len());
        let mut curves = Vec::with_capacity(rows.len());
        let mut unpredicted = Vec::new();
        for row in &rows {
            let prediction = predict(row.transport);
            let times = row.response_times();
            let late = bounds.and_then(|bounds| bounds.late(&row.runs));
            if let Err(because) = &prediction {
                unpredicted.push(Skipped { id: row.transport.to_string(), because: because.clone() });
            }
            let prediction = prediction.ok();
            runs.push(RunResult { late, ..row.result(&times, prediction.as_ref()) });
            curves.push(RunCurves::new(row.transport, &row.runs, &times, prediction));
        }
        let mut result = CompareResult {
            schema: SCHEMA,
            headway: env!("CARGO_PKG_VERSION").to_owned(),
            commit: conditions.origin.commit,
            command: conditions.origin.command,
            started: conditions.origin.started,
            path,
            workload: WorkloadResult::new(config, raw),
            runs,
            skipped: raw.skipped.clone(),
            unpredicted,
            reading: Vec::new(),
            settings: settings(config.transports.as_slice()),
            host: conditions.facts,
        };
        result.reading = reading(&result);
        Self { result, curves, options: options(config) }
    }
}

/// All repetitions of one transport.
struct TransportRow<'a> {
    transport: TransportSpec,
    runs: Vec<&'a RawRun>,
}

impl TransportRow<'_> {
    fn response_times(&self) -> Distribution {
        let of_run = |run: &&RawRun| run.samples.iter().filter_map(|sample| sample.response).collect();
        let repetitions: Vec<Vec<_>> = self.runs.iter().map(of_run).collect();
        let unanswered =
            self.sum(|run| run.samples.iter().filter(|sample| is_unanswered(sample)).count() as u64);
        Distribution::of_runs(&repetitions, unanswered)
    }

    fn result(&self, times: &Distribution, prediction: Option<&Prediction>) -> RunResult {
        let requests = self.sum(|run| run.counters.requests);
        let responses = self.sum(|run| run.counters.responses);
        RunResult {
            id: self.transport.to_string(),
            transport: self.transport.protocol().to_owned(),
            streams: self.transport.streams(),
            connections: self.transport.connections(),
            ordered: self.transport.is_ordered(),
            profile: self.runs.iter().find_map(|run| run.profile.clone()),
            counts: RequestCounts {
                requests,
                responses,
                failed: requests.saturating_sub(responses),
                frames: self.frames(),
            },
            because: verdict::because(&self.runs, self.transport.drain()),
            response_ms: ResponseResult::new(times),
            blocking: self.blocking().map(BlockingResult::new),
            late: None,
            predicted: prediction.map(PredictedResult::new),
            packets: self.packets(),
            retransmissions: self.optional_sum(|run| run.retransmissions),
            paths: self.paths(),
        }
    }

    fn sum(&self, count: impl Fn(&RawRun) -> u64) -> u64 {
        self.runs.iter().map(|run| count(run)).sum()
    }

    fn optional_sum(&self, count: impl Fn(&RawRun) -> Option<u64>) -> Option<u64> {
        self.runs.iter().filter_map(|run| count(run)).reduce(|sum, more| sum + more)
    }

    /// Returns the fate of the frames. One without a receipt is lost, even if it was never handed over.
    fn frames(&self) -> Option<FramesResult> {
        let due = self.sum(|run| run.samples.len() as u64);
        let lost = self.sum(|run| run.samples.iter().filter(|sample| is_unanswered(sample)).count() as u64);
        FramesResult::sum(self.runs.iter().filter_map(|run| run.frames), due, lost)
    }

    fn blocking(&self) -> Option<Blocking> {
        self.runs.iter().filter_map(|run| run.blocking).reduce(|sum, more| Blocking {
            messages_blocked: sum.messages_blocked + more.messages_blocked,
            total: sum.total.saturating_add(more.total),
        })
    }

    /// Returns those of the last repetition: states and timers of several cannot be added.
    fn paths(&self) -> Option<Vec<PeerPath>> {
        let paths = self.runs.iter().rev().find_map(|run| run.paths.as_ref())?;
        Some(paths.iter().map(PeerPath::new).collect())
    }

    fn packets(&self) -> Option<PacketCounts> {
        self.runs.iter().filter_map(|run| run.packets).reduce(PacketCounts::plus)
    }
}

fn rows(raw: &RawOutcome) -> Vec<TransportRow<'_>> {
    let mut rows: Vec<TransportRow<'_>> = Vec::new();
    for run in &raw.runs {
        match rows.iter_mut().find(|row| row.transport == run.transport) {
            Some(row) => row.runs.push(run),
            None => rows.push(TransportRow { transport: run.transport, runs: vec![run] }),
        }
    }
    rows
}

impl ResponseResult {
    /// Returns the numbers of a distribution.
    #[must_use]
    pub fn new(times: &Distribution) -> Self {
        let quantile = |share| times.quantile(share).map(to_nanoseconds);
        Self {
            mean: times.mean().map(to_nanoseconds),
            unanswered: times.unanswered(),
            ci95: times.ci95().map(|bounds| bounds.map(to_nanoseconds)),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: times.max().map(to_nanoseconds),
        }
    }
}

impl BlockingResult {
    fn new(blocking: Blocking) -> Self {
        let messages = blocking.messages_blocked;
        let mean = if messages == 0 { 0.0 } else { milliseconds(blocking.total) / messages as f64 };
        Self { messages_blocked: messages, mean_blocked_ms: to_nanoseconds(mean) }
    }
}

impl PredictedResult {
    fn new(prediction: &Prediction) -> Self {
        Self {
            model_ms: to_nanoseconds(prediction.model_ms),
            study_ms: prediction.study_ms.map(to_nanoseconds),
            study: prediction.study.clone(),
        }
    }
}

impl PathResult {
    fn new(config: &CompareConfig, raw: &RawOutcome) -> Self {
        let is_emulated = match raw.backend {
            BackendKind::Namespaces | BackendKind::Simulator => true,
            BackendKind::Network => false,
        };
        let described = |impairments| {
            if !is_emulated {
                return "those of the network".to_owned();
            }
            let parts: Vec<String> =
                describe(impairments).into_iter().map(|(what, value)| format!("{what} {value}")).collect();
            if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
        };
        Self {
            backend: raw.backend,
            fallback: raw.fallback.clone(),
            rtt_ms: is_emulated.then(|| milliseconds(config.rtt())),
            loss: is_emulated.then(|| config.request_path.loss.mean()),
            device: raw.device,
            delay_ms: raw.delay,
            impairments: ImpairmentsResult {
                request: described(&config.request_path),
                response: described(&config.response_path),
            },
            handover: config.handover.as_ref().map(ToString::to_string),
        }
    }
}

impl WorkloadResult {
    fn new(config: &CompareConfig, raw: &RawOutcome) -> Self {
        Self {
            kind: config.workload.to_string(),
            arrivals: config.traffic.arrivals.name.clone(),
            interval_ms: milliseconds(config.traffic.interval),
            message_bytes: (!config.workload.kind().facts().has_own_lengths)
                .then(|| config.traffic.message_bytes.get()),
            deadline_ms: config.deadline().map(milliseconds),
            duration_s: config.traffic.duration.as_secs_f64(),
            seed: config.seed,
            late_sends: raw.runs.iter().map(|run| run.counters.late_sends).sum(),
        }
    }
}

/// Returns what one direction does to packets, only where it does something.
fn describe(path: &netem::Impairments) -> Vec<(&'static str, String)> {
    let chance = |what, p: netem::Probability| p.is_possible().then(|| (what, percent(p.value())));
    let span = |what, span: core::time::Duration| (!span.is_zero()).then(|| (what, format!("{span:?}")));
    let drops: Vec<String> = path.drop_packets.iter().map(u64::to_string).collect();
    [
        span("delay", path.delay),
        span("jitter", path.jitter),
        (path.loss.mean() > 0.0).then(|| ("loss", loss_in_words(path.loss))),
        (!drops.is_empty()).then(|| ("dropped packets", drops.join(","))),
        path.rate.map(|rate| ("link rate", rate.to_string())),
        path.queue.map(|queue| ("queue", queue.to_string())),
        chance("reorder", path.reorder),
        chance("duplicate", path.duplicate),
        chance("corrupt", path.corrupt),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn loss_in_words(loss: netem::Loss) -> String {
    match loss {
        netem::Loss::Bernoulli(p) => percent(p.value()),
        netem::Loss::None | netem::Loss::Bursts(_) | netem::Loss::GilbertElliott(_) => {
            format!("{loss}, {} in the mean", percent(loss.mean()))
        }
    }
}

fn options(config: &CompareConfig) -> Vec<(String, String)> {
    let schedule = if config.runs_concurrently() { "at the same time" } else { "one after the other" };
    let processing =
        if config.processing.is_zero() { "none".to_owned() } else { format!("{:?}", config.processing) };
    let rows = [
        ("Transports run", schedule.to_owned()),
        ("Repetitions", config.repeat.to_string()),
        ("SCTP profile", config.profile.clone()),
        ("TCP congestion control", config.tcp_congestion.clone()),
        ("Processing time at the server", processing),
    ];
    let rows = rows.into_iter().map(|(what, value)| (what.to_owned(), value));
    let settings = settings(config.transports.as_slice())
        .into_iter()
        .map(|(protocol, words)| (protocol.to_uppercase(), words));
    rows.chain(settings).collect()
}

/// Returns milliseconds without digits below the nanosecond, which are noise of the arithmetic.
pub(crate) fn to_nanoseconds(ms: f64) -> f64 {
    (ms * 1e6).round() / 1e6
}

/// Returns samples by number with their offsets in seconds, for the files.
pub(crate) fn offset_s(run: &RawRun, instant: virtual_time::Instant) -> f64 {
    instant.since(run.start).as_secs_f64()
}

pub(crate) fn is_unanswered(sample: &Sample) -> bool {
    sample.response.is_none()
}

/// The form of results that this version writes, of comparisons and of plans.
pub const SCHEMA: u32 = 1;

#[cfg(test)]
mod tests;
