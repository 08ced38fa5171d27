//! The result of a plan as it is written: JSON, and one row per cell and seed as CSV.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::execute::PlanOutcome;
use super::file::Plan;
use super::tally::{CellTally, FlowTally};
use crate::simulation::RunOutcome;
use crate::statistics::{Distribution, half_width, mean};
use crate::summary::{FramesResult, ResponseResult, SCHEMA};
use crate::transport::settings;

/// Everything about a plan that was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SimulationResult {
    /// The number of the form of this result, which grows when keys change their meaning.
    pub schema: u32,
    /// The version of the program.
    pub headway: String,
    /// The world it ran in: `simulator` or `namespaces`.
    pub world: String,
    /// The title that the plan has.
    pub plan: String,
    /// The seeds of the runs of each cell.
    pub seeds: Vec<u64>,
    /// One per combination of levels.
    pub cells: Vec<CellResult>,
    /// The effort that the plan took.
    pub run: RunSummary,
    /// Congestion control and loss recovery of transports whose options do not say it, by protocol; absent without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub settings: BTreeMap<String, String>,
    /// Equal for equal plans, seeds and programs: over the hashes of all runs; null in real time.
    pub trace_hash: Option<String>,
    /// The part of packets that the hashes leave out; absent if it is nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace_leaves_out: Option<String>,
}

/// One combination of levels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CellResult {
    /// The level of each factor.
    pub factors: BTreeMap<String, Value>,
    /// Figures of the first flow that is not bulk, or of the first one.
    pub metrics: Map<String, Value>,
    /// Figures of every flow, where there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flows: BTreeMap<String, Map<String, Value>>,
    /// The packets at every link.
    pub links: BTreeMap<String, Value>,
    /// The hash of each run, in the order of the seeds.
    pub trace_hashes: Vec<Option<String>>,
}

/// One run by itself: what a campaign keeps of it. Nothing in it depends on the machine.
#[derive(Clone, Debug, Serialize)]
pub struct SeedResult {
    /// The seed that the run had.
    pub seed: u64,
    /// The figures of the run, as those of a cell with this seed alone.
    pub metrics: Map<String, Value>,
    /// Figures of every flow, where there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub flows: BTreeMap<String, Map<String, Value>>,
    /// The packets at every link.
    pub links: BTreeMap<String, Value>,
    /// The number of events handled.
    pub events: u64,
    /// The number of IP packets sent.
    pub packets: u64,
    /// The length of the run, in virtual time.
    pub virtual_s: f64,
    /// The hash over all packets, equal for equal runs.
    pub trace_hash: Option<String>,
}

impl SeedResult {
    /// Returns what is kept of a run.
    #[must_use]
    pub fn new(seed: u64, outcome: RunOutcome) -> Self {
        let (events, packets, length) = (outcome.events, outcome.packets, outcome.length);
        let mut tally = CellTally::new(1);
        tally.add(0, outcome);
        let CellResult { factors: _, metrics, flows, links, trace_hashes } = CellResult::new(&[], &tally);
        let trace_hash = trace_hashes.into_iter().next().flatten();
        Self { seed, metrics, flows, links, events, packets, virtual_s: length.as_secs_f64(), trace_hash }
    }
}

/// The effort that a plan took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// The number of events handled.
    pub events: u64,
    /// The number of IP packets sent.
    pub packets: u64,
    /// Virtual time of all runs; in namespaces their real time, of which many pass at once.
    pub virtual_s: f64,
    /// The time on the wall, in s.
    pub wall_s: f64,
    /// Packets per second of wall time, over all cores in use.
    pub packets_per_s: f64,
}

/// Mean with its interval, percentiles, maximum; and what only plans tell.
#[derive(Clone, Copy, Debug, Serialize)]
struct Numbers {
    #[serde(flatten)]
    times: ResponseResult,
    p95: Option<f64>,
    variance: Option<f64>,
}

impl Numbers {
    fn of(times: &Distribution) -> Self {
        let variance = mean(&times.variances());
        Self { times: ResponseResult::new(times), p95: times.quantile(0.95), variance }
    }
}

impl SimulationResult {
    /// Returns how many messages were handed over more than a millisecond late, of how many: the machine could not keep up.
    #[must_use]
    pub fn late_sends(&self) -> (u64, u64) {
        let flows = || self.cells.iter().flat_map(CellResult::by_flow);
        let sum = |figure: &str| flows().filter_map(|(_, metrics)| metrics.get(figure)?.as_u64()).sum();
        (sum("late_sends"), sum("messages"))
    }

    /// Puts the figures together.
    #[must_use]
    pub fn new(plan: &Plan, outcome: &PlanOutcome) -> Self {
        let runs = || outcome.cells.iter().flat_map(|cell| cell.runs.iter().flatten());
        let (events, packets) = runs().fold((0, 0), |sum, run| (sum.0 + run.events, sum.1 + run.packets));
        let wall_s = outcome.wall.as_secs_f64();
        let cells = plan.cells.iter().zip(&outcome.cells);
        let is_blind = plan.cells.iter().any(|cell| cell.scenario.has_random_octets());
        let trace_hash = runs().try_fold(0, |hash, run| run.trace_hash.map(|more| fold(hash, more))).map(hex);
        Self {
            schema: SCHEMA,
            headway: env!("CARGO_PKG_VERSION").to_owned(),
            world: outcome.world.name().to_owned(),
            plan: plan.title.clone(),
            seeds: plan.seeds.clone(),
            cells: cells.map(|(cell, tally)| CellResult::new(&cell.factors, tally)).collect(),
            settings: settings(plan.cells.iter().flat_map(|cell| cell.scenario.transports())),
            run: RunSummary {
                events,
                packets,
                virtual_s: runs().map(|run| run.length.as_secs_f64()).sum(),
                wall_s,
                packets_per_s: packets as f64 / wall_s.max(1e-9),
            },
            trace_leaves_out: (is_blind && trace_hash.is_some())
                .then(|| "octets, which TLS draws anew for each run".to_owned()),
            trace_hash,
        }
    }
}

impl CellResult {
    /// Returns the figures of every flow; of the only one under no name.
    pub(crate) fn by_flow(&self) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
        let alone = self.flows.is_empty().then_some(("", &self.metrics));
        alone.into_iter().chain(self.flows.iter().map(|(name, metrics)| (name.as_str(), metrics)))
    }

    fn new(factors: &[(String, Value)], tally: &CellTally) -> Self {
        let is_timed = |flow: &&FlowTally| flow.responses.count() + flow.delivered.count() > 0;
        let primary = tally.flows.iter().find(is_timed).or(tally.flows.first());
        let flows = tally.flows.iter().map(|flow| (flow.name.clone(), metrics(flow)));
        let link = |ways: &[(u64, u64); 2]| {
            let way = |(offered, dropped)| json!({"sent": offered, "dropped": dropped});
            json!({"there": way(ways[0]), "back": way(ways[1])})
        };
        Self {
            factors: factors.iter().cloned().collect(),
            metrics: primary.map(metrics).unwrap_or_default(),
            flows: if tally.flows.len() > 1 { flows.collect() } else { BTreeMap::new() },
            links: tally.links.iter().map(|tally| (tally.name.clone(), link(&tally.ways))).collect(),
            trace_hashes: tally.runs.iter().map(|run| run.and_then(|run| run.trace_hash).map(hex)).collect(),
        }
    }
}

fn metrics(flow: &FlowTally) -> Map<String, Value> {
    let mut metrics = Map::new();
    let sum = |figure: fn(&super::SeedTally) -> u64| flow.done().map(figure).sum::<u64>();
    let (messages, completed) = (sum(|seed| seed.messages), sum(|seed| seed.completed));
    let failed = messages.saturating_sub(completed);
    let mut put = |name: &str, value: Value| drop(metrics.insert(name.to_owned(), value));
    if flow.responses.count() > 0 {
        put("response_ms", json!(Numbers::of(&flow.responses)));
    }
    if flow.delivered.count() > 0 {
        put("delay_ms", json!(Numbers::of(&flow.delivered)));
        put("unordered_ms", json!(Numbers::of(&flow.unordered)));
        put("ordered_ms", json!(Numbers::of(&flow.ordered)));
        put("order_costs_ms", interval(&flow.by_seed(|seed| seed.difference.mean())));
        put(
            "blocked_share",
            interval(&flow.by_seed(|seed| Some(seed.blocked as f64 / seed.messages.max(1) as f64))),
        );
    }
    if messages > 0 {
        put("messages", messages.into());
        put("completed", completed.into());
        put("failed", failed.into());
    }
    let late_sends = sum(|seed| seed.late_sends);
    if late_sends > 0 {
        put("late_sends", late_sends.into());
    }
    let goodput = flow.by_seed(|seed| seed.goodput_bits_per_s.map(|bits| bits / 1e6));
    if !goodput.is_empty() {
        put("goodput_mbit_per_s", interval(&goodput));
    }
    let known = |figure: fn(&super::SeedTally) -> Option<u64>| {
        flow.done().map(figure).try_fold(0_u64, |sum, more| more.map(|more| sum + more))
    };
    put("timeouts", json!(known(|seed| seed.transport.timeouts)));
    put("retransmissions", json!(known(|seed| seed.transport.retransmissions)));
    let blocked: Vec<_> = flow.done().filter_map(|seed| seed.transport.blocked).collect();
    if !blocked.is_empty() {
        let messages: u64 = blocked.iter().map(|(messages, _)| messages).sum();
        let total: f64 = blocked.iter().map(|(_, time)| time.as_secs_f64() * 1e3).sum();
        let mean = if messages > 0 { total / messages as f64 } else { 0.0 };
        put("blocking", json!({"messages_blocked": messages, "mean_blocked_ms": mean}));
    }
    if let Some(calls) = calls(flow, messages) {
        put("calls", calls);
    }
    if let Some(frames) = frames(flow, messages, failed) {
        put("frames", json!(frames));
    }
    let failures: std::collections::BTreeSet<_> =
        flow.done().filter_map(|seed| seed.failure.clone()).collect();
    if !failures.is_empty() {
        put("because", json!(failures));
    }
    metrics
}

/// Returns what became of the calls of a flow, of which `asked` were asked for: those that came up, the share of all that did so
/// within two seconds, and how many waited for a loss of another call, where that is known. `None` for a flow without calls.
fn calls(flow: &FlowTally, asked: u64) -> Option<Value> {
    let counts: Vec<_> = flow.done().filter_map(|seed| seed.calls).collect();
    let up: u64 = counts.iter().map(|calls| calls.up).sum();
    let touched = counts.iter().try_fold(0, |sum, calls| calls.touched.map(|touched| sum + touched));
    let within = flow.responses.ccdf().into_iter().take_while(|(ms, _)| *ms < SOON_MS).last();
    let soon = within.map_or(0.0, |(_, longer)| 1.0 - longer);
    let share = touched.map(|touched| touched as f64 / asked.max(1) as f64);
    (!counts.is_empty())
        .then(|| json!({"up": up, "within_2s": soon, "touched": touched, "touched_share": share}))
}

/// Returns what became of the frames of a flow, of which so many fell due and so many were lost; `None` for a flow without frames.
fn frames(flow: &FlowTally, due: u64, lost: u64) -> Option<FramesResult> {
    FramesResult::sum(flow.done().filter_map(|seed| seed.frames), due, lost)
}

fn interval(values: &[f64]) -> Value {
    let mean = mean(values);
    let ci95 = mean.zip(half_width(values)).map(|(mean, half)| [mean - half, mean + half]);
    json!({"mean": mean, "ci95": ci95})
}

fn fold(hash: u64, more: u64) -> u64 {
    (hash.rotate_left(5) ^ more).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Writes `results.json` and `cells.csv` into a folder, which is made if need be.
///
/// # Errors
/// When a file cannot be written.
pub fn write_plan_report(folder: &Path, result: &SimulationResult) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut text = serde_json::to_string_pretty(result).map_err(std::io::Error::other)?;
    text.push('\n');
    std::fs::write(folder.join("results.json"), text)?;
    std::fs::write(folder.join("cells.csv"), csv(result))
}

/// Writes one row per cell and figure: factors, flow, name of the figure, value.
fn csv(result: &SimulationResult) -> String {
    let names: Vec<&String> =
        result.cells.first().map(|cell| cell.factors.keys().collect()).unwrap_or_default();
    let mut text: String = names.iter().map(|name| format!("{},", quoted(name))).collect();
    text.push_str("flow,figure,value\n");
    for cell in &result.cells {
        let levels: String =
            cell.factors.values().map(|level| format!("{},", quoted(&plain(level)))).collect();
        for (flow, metrics) in cell.by_flow() {
            let mut figures = Vec::new();
            metrics.iter().for_each(|(name, value)| numbers(name, value, &mut figures));
            for (name, value) in figures {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{levels}{},{name},{value}", quoted(flow));
            }
        }
    }
    text
}

/// Returns a level without the quotes of JSON.
pub(crate) fn plain(level: &Value) -> String {
    level.as_str().map_or_else(|| level.to_string(), str::to_owned)
}

fn numbers(prefix: &str, value: &Value, figures: &mut Vec<(String, String)>) {
    match value {
        Value::Number(number) => figures.push((prefix.to_owned(), number.to_string())),
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(index, value)| numbers(&format!("{prefix}.{index}"), value, figures));
        }
        Value::Object(object) => {
            object.iter().for_each(|(name, value)| numbers(&format!("{prefix}.{name}"), value, figures));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The time in ms within which a caller should hear that a call is up.
const SOON_MS: f64 = 2_000.0;
