//! The table on the terminal.

use core::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::numbers::{percent, plain_ms, plain_or_dash, short};
use crate::summary::{CompareResult, PathResult, ResponseResult, RunResult, WorkloadResult};

/// A heading with path, workload and backend, the table, and under it what went wrong.
#[must_use]
pub fn table(result: &CompareResult) -> String {
    let mut table = Table::new();
    table.load_style(LINES).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(HEADINGS);
    for run in &result.runs {
        table.add_row(cells(run));
    }
    for column in table.column_iter_mut().skip(1).take(HEADINGS.len() - 2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n{table}\n{}", heading(result), notes(result))
}

/// The headings of the columns, here and in the report.
pub(super) const HEADINGS: [&str; 11] =
    ["transport", "answered", "mean ±95 %", "p50", "p90", "p99", "max", "blocked", "model", "Δ %", "study"];

/// One row, here and in the report.
pub(super) fn cells(run: &RunResult) -> [String; 11] {
    let response = &run.response_ms;
    let predicted = run.predicted.as_ref();
    let study = predicted.and_then(|predicted| {
        let equations = predicted.study.as_deref().unwrap_or_default();
        Some(format!("{} {equations}", plain_ms(predicted.study_ms?)).trim_end().to_owned())
    });
    [
        run.id.clone(),
        format!("{}/{}", run.counts.responses, run.counts.requests),
        mean(response),
        plain_or_dash(response.p50),
        plain_or_dash(response.p90),
        plain_or_dash(response.p99),
        plain_or_dash(response.max),
        run.blocking.map_or_else(dash, |b| match b.messages_blocked {
            0 => "0".to_owned(),
            messages => format!("{messages} × {}", plain_ms(b.mean_blocked_ms)),
        }),
        plain_or_dash(predicted.map(|predicted| predicted.model_ms)),
        deviation(run).map_or_else(dash, |percent| format!("{percent:+.1}")),
        study.unwrap_or_else(dash),
    ]
}

/// Late sends, if they are more than one in a thousand requests: enough to move the 99.9th percentile.
pub(super) fn late_sends_that_matter(result: &CompareResult) -> Option<u64> {
    let requests: u64 = result.runs.iter().map(|run| run.counts.requests).sum();
    let late = result.workload.late_sends;
    (late.saturating_mul(1000) > requests).then_some(late)
}

/// How far the measured mean lies above the model's, in per cent of the latter.
pub(super) fn deviation(run: &RunResult) -> Option<f64> {
    let model = run.predicted.as_ref()?.model_ms;
    (model > 0.0).then_some((run.response_ms.mean? - model) / model * 100.0)
}

/// `RTT 20 ms, loss 1 %`, or that nobody set them.
pub(super) fn path_in_words(path: &PathResult) -> String {
    match (path.rtt_ms, path.loss) {
        (Some(rtt_ms), Some(loss)) => format!("RTT {} ms, loss {}", short(rtt_ms), percent(loss)),
        _ => "over the network as it is".to_owned(),
    }
}

/// `echo, poisson every 10 ms, 64 octets, 20 s, seed 1`.
pub(super) fn workload_in_words(workload: &WorkloadResult) -> String {
    format!(
        "{}, {} arrivals every {} ms, {} octets, {} s, seed {}",
        workload.kind,
        workload.arrivals,
        short(workload.interval_ms),
        workload.message_bytes,
        short(workload.duration_s),
        workload.seed
    )
}

/// `simulator, because namespaces were refused: …`.
pub(super) fn backend_in_words(path: &PathResult) -> String {
    let devices = path.device.map(|kind| format!(" ({kind} devices)")).unwrap_or_default();
    match &path.fallback {
        None => format!("{}{devices}", path.backend),
        Some(fallback) => {
            format!("{}, because {} did not run: {}", path.backend, fallback.wanted, fallback.because)
        }
    }
}

fn heading(result: &CompareResult) -> String {
    let path = path_in_words(&result.path);
    let workload = workload_in_words(&result.workload);
    format!("{path} · {workload}\nbackend {} · all times in ms", backend_in_words(&result.path))
}

fn notes(result: &CompareResult) -> String {
    let mut notes = String::new();
    for run in &result.runs {
        if let Some(because) = &run.because {
            let _infallible = writeln!(notes, "{}: {because}", run.id);
        }
    }
    for skipped in &result.skipped {
        let _infallible = writeln!(notes, "{} was not run: {}", skipped.id, skipped.because);
    }
    if let Some(late) = late_sends_that_matter(result) {
        let _infallible = writeln!(notes, "{late} requests left more than 1 ms late: this machine is busy");
    }
    notes
}

fn mean(response: &ResponseResult) -> String {
    match (response.mean, response.ci95) {
        (Some(mean), Some([low, high])) => {
            let (mean, half) = (plain_ms(mean), (high - low) / 2.0);
            let decimals = mean.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            format!("{mean} ±{half:.decimals$}")
        }
        (mean, _) => plain_or_dash(mean),
    }
}

/// Lines above and below the heading and at the end; none between rows.
const LINES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

fn dash() -> String {
    "–".to_owned()
}
