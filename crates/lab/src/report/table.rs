//! The table on the terminal.

use core::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::numbers::{percent, plain_ms, plain_or_dash, short, tenths};
use crate::compare::Skipped;
use crate::summary::{
    CompareResult, LateResult, LossSplit, PathResult, ResponseResult, RunResult, WorkloadResult,
};

/// A heading with path, workload and backend, the table, and under it what went wrong.
#[must_use]
pub fn table(result: &CompareResult) -> String {
    format!("{}\n{}\n{}", heading(result), columns(result, &[]), notes(result))
}

/// As [`table`], at most so many columns of a terminal wide: what matters least is left out, and named. Text around the
/// table is the terminal's to wrap.
#[must_use]
pub fn table_within(result: &CompareResult, width: usize) -> String {
    let is_narrow = |table: &str| table.lines().all(|line| line.chars().count() <= width);
    let mut left_out = LEAST_FIRST.len();
    for count in 0..LEAST_FIRST.len() {
        if is_narrow(&columns(result, &LEAST_FIRST[..count])) {
            left_out = count;
            break;
        }
    }
    let names: Vec<_> = LEAST_FIRST[..left_out].iter().map(|column| HEADINGS[*column]).collect();
    let note = match names.as_slice() {
        [] => String::new(),
        _ => format!("left out, for the terminal is narrow: {} (--wide shows all)\n", names.join(", ")),
    };
    let table = columns(result, &LEAST_FIRST[..left_out]);
    format!("{}\n{table}\n{note}{}", heading(result), notes(result))
}

/// The table without some of its columns.
fn columns(result: &CompareResult, left_out: &[usize]) -> String {
    let shown: Vec<usize> = (0..HEADINGS.len()).filter(|column| !left_out.contains(column)).collect();
    let rows = result.runs.iter().map(|run| {
        let cells = cells(run);
        shown.iter().map(|column| cells[*column].clone()).collect()
    });
    let numbers = 1..shown.iter().take_while(|column| **column < STUDY).count();
    lined(shown.iter().map(|column| HEADINGS[*column].to_owned()), rows, numbers)
}

/// Draws a table with lines above, below and under its headings; the columns of `numbers` are at the right.
pub(super) fn lined(
    headings: impl Iterator<Item = String>,
    rows: impl Iterator<Item = Vec<String>>,
    numbers: core::ops::Range<usize>,
) -> String {
    let mut table = Table::new();
    table.load_style(LINES).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings);
    table.add_rows(rows);
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // Spaces at the ends of lines would wrap.
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The headings of the columns, here and in the report.
pub(super) const HEADINGS: [&str; COLUMNS] = [
    "transport",
    "answered",
    "late: own",
    "others' loss",
    "mean ±95 %",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "blocked",
    "model",
    "Δ %",
    "study",
];

pub(super) const COLUMNS: usize = 14;
/// The place of `study` among the headings.
const STUDY: usize = 13;
/// Columns in the order in which they are given up; transport, others' loss, mean and p90 stay.
const LEAST_FIRST: [usize; 10] = [STUDY, 12, 5, 11, 8, 9, 10, 7, 2, 1];

/// One row, here and in the report.
pub(super) fn cells(run: &RunResult) -> [String; COLUMNS] {
    let response = &run.response_ms;
    let predicted = run.predicted.as_ref();
    let study = predicted.and_then(|predicted| {
        let equations = predicted.study.as_deref().unwrap_or_default();
        Some(format!("{} {equations}", plain_ms(predicted.study_ms?)).trim_end().to_owned())
    });
    [
        run.id.clone(),
        format!("{}/{}", run.counts.responses, run.counts.requests),
        late(run, |losses| losses.by_own_loss),
        late(run, |losses| losses.by_others_loss),
        mean(response),
        percentile(run, response.p50, 0.5),
        percentile(run, response.p90, 0.9),
        percentile(run, response.p99, 0.99),
        percentile(run, response.p999, 0.999),
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
    for (because, ids) in grouped(&result.unpredicted) {
        let _infallible = writeln!(notes, "no model for {}: {because}", ids.join(", "));
    }
    if let Some(late) = late_sends_that_matter(result) {
        let _infallible = writeln!(notes, "{late} requests left more than 1 ms late: this machine is busy");
    }
    notes
}

/// Transports by what is told of them, in the order of their first.
pub(super) fn grouped(told: &[Skipped]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for Skipped { id, because } in told {
        match groups.iter_mut().find(|(known, _)| known == because) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((because, vec![id])),
        }
    }
    groups
}

/// A share of late requests; where it is not known whose loss it was, their whole share with a question mark.
fn late(run: &RunResult, share: impl Fn(&LossSplit) -> f64) -> String {
    match run.late {
        None => dash(),
        Some(LateResult { losses: Some(losses), .. }) => tenths(share(&losses)),
        Some(LateResult { share, losses: None, .. }) => format!("{}?", tenths(share)),
    }
}

/// A percentile that falls among requests without response is infinite.
fn percentile(run: &RunResult, value: Option<f64>, share: f64) -> String {
    let answered = run.counts.responses as f64;
    let due = answered + run.response_ms.unanswered as f64;
    let is_infinite = value.is_none() && due * share > answered && due * (1.0 - share) >= 5.0;
    if is_infinite { "∞".to_owned() } else { plain_or_dash(value) }
}

/// The mean with its interval, and how many requests are not in it.
fn mean(response: &ResponseResult) -> String {
    let mean = mean_of_answered(response);
    match response.unanswered {
        0 => mean,
        unanswered => format!("{mean} ({unanswered} unanswered)"),
    }
}

fn mean_of_answered(response: &ResponseResult) -> String {
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
