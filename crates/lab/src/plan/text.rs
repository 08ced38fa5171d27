//! The result of a plan as a table for the terminal.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::{Map, Value};

use super::result::{SimulationResult, plain};

/// One row per cell and flow.
#[must_use]
pub fn plan_table(result: &SimulationResult) -> String {
    let mut table = Table::new();
    table.load_style(LINES);
    let names: Vec<String> =
        result.cells.first().map(|cell| cell.factors.keys().cloned().collect()).unwrap_or_default();
    let heads = names.iter().map(|name| name.rsplit('.').next().unwrap_or(name).to_owned());
    let columns =
        ["flow", "mean", "95 %", "p50", "p99", "max", "messages", "failed", "Mbit/s"].map(str::to_owned);
    table.set_header(heads.chain(columns));
    for cell in &result.cells {
        let alone = [(String::new(), cell.metrics.clone())];
        let flows = if cell.flows.is_empty() { alone.into_iter().collect() } else { cell.flows.clone() };
        for (name, metrics) in flows {
            let levels = names.iter().map(|name| cell.factors.get(name).map(plain).unwrap_or_default());
            table.add_row(levels.chain(row(name, &metrics)));
        }
    }
    table
        .column_iter_mut()
        .skip(names.len() + 1)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let (run, is_real) = (&result.run, result.trace_hash.is_none());
    format!(
        "{}\n\n{table}\n\n{} runs of {} cells in {}, times in ms; {} packets, {:.0} s of {} time in {:.1} s{}\n",
        result.plan,
        result.cells.len() * result.seeds.len(),
        result.cells.len(),
        if is_real { "namespaces" } else { "the simulator" },
        run.packets,
        run.virtual_s,
        if is_real { "real" } else { "virtual" },
        run.wall_s,
        result.trace_hash.as_ref().map(|hash| format!(", trace {hash}")).unwrap_or_default(),
    ) + &result.trace_leaves_out.map(|what| format!("The trace leaves out {what}.\n")).unwrap_or_default()
}

fn row(name: String, metrics: &Map<String, Value>) -> [String; 9] {
    let times = metrics.get("response_ms").or_else(|| metrics.get("delay_ms"));
    let time = |key: &str| number(times.and_then(|times| times.get(key)));
    let goodput = metrics.get("goodput_mbit_per_s").and_then(|goodput| goodput.get("mean"));
    let half = times.and_then(|times| {
        let [low, high] = [0, 1].map(|end| times.get("ci95")?.get(end)?.as_f64());
        Some(format!("± {:.2}", (high? - low?) / 2.0))
    });
    let count = |key: &str| metrics.get(key).map(Value::to_string).unwrap_or_default();
    let unanswered = times.and_then(|times| times.get("unanswered")?.as_u64()).filter(|count| *count > 0);
    let unanswered = unanswered.map(|count| format!(" ({count} unanswered)")).unwrap_or_default();
    [
        name,
        time("mean") + &unanswered,
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

const LINES: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
