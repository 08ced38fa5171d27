//! The page that shows the result of a plan.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::circumstances;
use super::comparison::{HANDOVER, HANDOVER_HEADINGS, colours, handover_cells};
use super::figure::parts;
use crate::conditions::Conditions;
use crate::difference::Saved;
use crate::numbers::beside_unanswered;
use crate::page::{Axis, Figure, Mark, Page, Series, Table};
use crate::plan::{SimulationResult, plain};
use crate::summary::HandoverResult;
use crate::transport::TransportSpec;

/// Returns the table of what handovers cost, one row per cell and flow with frames; `None` where no client moves.
fn handovers(result: &SimulationResult, names: &[&String]) -> Option<Table> {
    let mut rows = Vec::new();
    for cell in &result.cells {
        for (name, metrics) in cell.by_flow() {
            let cost = metrics.get("frames").and_then(|frames| frames.get("handover"));
            let Some(cost) = cost.and_then(|cost| HandoverResult::deserialize(cost).ok()) else { continue };
            let levels = names.iter().map(|name| cell.factors.get(*name).map(plain).unwrap_or_default());
            let row = levels.chain([name.to_owned()]).chain(handover_cells(&cost));
            rows.push(row.collect());
        }
    }
    let heads = names.iter().map(|name| name.rsplit('.').next().unwrap_or(name)).chain(["flow"]);
    let heads: Vec<_> = heads.chain(HANDOVER_HEADINGS).collect();
    (!rows.is_empty())
        .then(|| Table { hint: HANDOVER.to_owned(), ..Table::new("Handover", &heads, rows).without_empty() })
}

/// Returns a figure of the mean times, one row per cell and flow, and what the runs took.
#[must_use]
pub fn plan(result: &SimulationResult, conditions: &Conditions) -> Page {
    let names: Vec<&String> =
        result.cells.first().map(|cell| cell.factors.keys().collect()).unwrap_or_default();
    let mut rows = Vec::new();
    for cell in &result.cells {
        for (name, metrics) in cell.by_flow() {
            let levels = names.iter().map(|name| cell.factors.get(*name).map(plain).unwrap_or_default());
            rows.push(levels.chain(row(name, metrics)).collect());
        }
    }
    let heads = names.iter().map(|name| name.rsplit('.').next().unwrap_or(name));
    let columns = ["flow", "mean", "95 %", "p50", "p99", "max", "messages", "failed", "Mbit/s"];
    let left_out = result.trace_leaves_out.as_ref().map(|what| format!("The trace leaves out {what}."));
    let settings = result.settings.iter().map(|(protocol, words)| (protocol.to_uppercase(), words.clone()));
    let has_responses = result.cells.iter().any(|cell| cell.metrics.contains_key("response_ms"));
    let unpredicted = has_responses.then(|| UNPREDICTED.to_owned());
    let saved = Saved::from(result);
    Page {
        id: "plan".to_owned(),
        title: result.plan.clone(),
        conditions: busy(result).into_iter().collect(),
        figures: figure(&saved.axis, saved.rows.len()).into_iter().collect(),
        series: means(&saved, &saved, "", Mark::Points),
        tables: core::iter::once(
            Table::new("Cells", &heads.chain(columns).collect::<Vec<_>>(), rows).without_empty(),
        )
        .chain(handovers(result, &names))
        .collect(),
        notes: core::iter::once(effort(result)).chain(left_out).chain(unpredicted).collect(),
        facts: settings
            .chain(circumstances(&result.headway, &conditions.origin, &conditions.facts))
            .collect(),
        ..Page::default()
    }
}

/// Returns the figure of mean times, unless there are no rows to show.
pub(super) fn figure(axis: &Axis, rows: usize) -> Option<Figure> {
    let title = "Mean times with their 95 % intervals";
    (rows > 0).then(|| Figure::new(MEANS, title, axis.clone(), Axis::linear("ms")))
}

/// Returns the curves of a result, on the axis of `first`, each named after what it belongs to.
pub(super) fn means(first: &Saved, of: &Saved, owner: &str, mark: Mark) -> Vec<Series> {
    let mut curves: Vec<Series> = Vec::new();
    for row in &of.rows {
        let name =
            [owner, &row.curve].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        let on_axis = first.rows.iter().find(|known| known.id == row.id).map(|known| known.x);
        let Some((x, mean)) = on_axis.zip(row.times.mean) else { continue };
        // On an axis of things both would hide each other.
        let x = if mark == Mark::Measured && !first.axis.names.is_empty() { x + 0.12 } else { x };
        if curves.iter().all(|curve| curve.name != name) {
            curves.push(Series::new(MEANS, &name, mark, []));
        }
        if let Some(curve) = curves.iter_mut().find(|curve| curve.name == name) {
            curve.points.push(vec![x, mean]);
            curve.ci95.push(row.times.ci95);
        }
    }
    let transports: Result<Vec<TransportSpec>, _> =
        curves.iter().map(|curve| parts(&curve.name).1.parse()).collect();
    for (curve, colour) in curves.iter_mut().zip(transports.iter().flat_map(|transports| colours(transports)))
    {
        curve.colour = Some(colour);
    }
    curves
}

fn effort(result: &SimulationResult) -> String {
    let (run, is_real) = (&result.run, result.trace_hash.is_none());
    format!(
        "{} runs of {} cells in {}, times in ms; {} packets, {:.0} s of {} time in {:.1} s{}",
        result.cells.len() * result.seeds.len(),
        result.cells.len(),
        if is_real { "namespaces" } else { "the simulator" },
        run.packets,
        run.virtual_s,
        if is_real { "real" } else { "virtual" },
        run.wall_s,
        result.trace_hash.as_ref().map(|hash| format!(", trace {hash}")).unwrap_or_default(),
    )
}

/// Returns what to keep in mind where more than one message in a thousand was sent late.
fn busy(result: &SimulationResult) -> Option<String> {
    let (late, messages) = result.late_sends();
    (late.saturating_mul(1000) > messages).then(|| {
        format!(
            "{late} of {messages} messages left more than 1 ms late because this machine was busy; their delay is in the times, and fewer runs at the \
             same time have less of it"
        )
    })
}

fn row(name: &str, metrics: &Map<String, Value>) -> [String; 9] {
    let times = metrics.get("response_ms").or_else(|| metrics.get("delay_ms"));
    let time = |key: &str| number(times.and_then(|times| times.get(key)));
    let goodput = metrics.get("goodput_mbit_per_s").and_then(|goodput| goodput.get("mean"));
    let half = times.and_then(|times| {
        let [low, high] = [0, 1].map(|end| times.get("ci95")?.get(end)?.as_f64());
        Some(format!("± {:.2}", (high? - low?) / 2.0))
    });
    let count = |key: &str| metrics.get(key).map(Value::to_string).unwrap_or_default();
    let unanswered = times.and_then(|times| times.get("unanswered")?.as_u64()).unwrap_or(0);
    [
        name.to_owned(),
        beside_unanswered(time("mean"), unanswered),
        half.unwrap_or_default(),
        time("p50"),
        time("p99"),
        time("max"),
        count("messages"),
        count("failed"),
        number(goodput),
    ]
}

fn number(value: Option<&Value>) -> String {
    value.and_then(Value::as_f64).map(|value| format!("{value:.2}")).unwrap_or_default()
}

const UNPREDICTED: &str = "This page has no model beside what was simulated. There are models of requests over one link: headway compare shows them.";
/// The name of the figure of mean times.
const MEANS: &str = "means";
