//! The report as one HTML file that needs no network.

use std::io;

use askama::Template;
use serde::Serialize;
use thiserror::Error;

use super::numbers::short;
use super::table::{COLUMNS, HEADINGS, backend_in_words, cells, grouped, path_in_words, workload_in_words};
use crate::summary::{CompareResult, Comparison, RunCurves, RunResult};

/// Returns the whole file: figures, table, conditions, and the result in plain words.
///
/// # Errors
///
/// [`ReportError`] when the template or the data cannot be written out.
pub fn html(comparison: &Comparison) -> Result<String, ReportError> {
    let result = &comparison.result;
    let page = Page {
        path: path_in_words(&result.path),
        workload: workload_in_words(&result.workload),
        backend: backend_in_words(&result.path),
        reading: &result.reading,
        headings: HEADINGS,
        rows: rows(comparison),
        notes: notes(result),
        conditions: conditions(comparison),
        headway: &result.headway,
        uplot_js: UPLOT_JS,
        uplot_css: UPLOT_CSS,
        report_css: REPORT_CSS,
        report_js: REPORT_JS,
        figures: embed(&figures(comparison))?,
    };
    Ok(page.render()?)
}

fn notes(result: &CompareResult) -> Vec<String> {
    let skipped =
        result.skipped.iter().map(|skipped| format!("Not run — {}: {}", skipped.id, skipped.because));
    let unpredicted = grouped(&result.unpredicted).into_iter();
    let unpredicted = unpredicted.map(|(because, ids)| format!("No model — {}: {because}", ids.join(", ")));
    skipped.chain(unpredicted).collect()
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    path: String,
    workload: String,
    backend: String,
    reading: &'a [String],
    headings: [&'static str; COLUMNS],
    rows: Vec<TableRow>,
    notes: Vec<String>,
    conditions: Vec<(String, String)>,
    headway: &'a str,
    uplot_js: &'static str,
    uplot_css: &'static str,
    report_css: &'static str,
    report_js: &'static str,
    figures: String,
}

struct TableRow {
    colour: String,
    name: String,
    values: Vec<String>,
    has_failed: bool,
}

fn rows(comparison: &Comparison) -> Vec<TableRow> {
    let colours = colours(&comparison.curves);
    let row = |(run, colour): (&RunResult, usize)| {
        let [name, values @ ..] = cells(run);
        TableRow {
            colour: format!("--series-{colour}"),
            name,
            values: values.into(),
            has_failed: run.because.is_some(),
        }
    };
    comparison.result.runs.iter().zip(colours).map(row).collect()
}

/// The data of the figures that the script draws.
#[derive(Serialize)]
struct Figures<'a> {
    duration_s: f64,
    runs: Vec<Figure<'a>>,
}

#[derive(Serialize)]
struct Figure<'a> {
    id: String,
    name: String,
    colour: usize,
    p99: Option<f64>,
    measured: &'a [(f64, f64)],
    predicted: &'a [(f64, f64)],
    over_time: &'a [(f64, f64)],
    unanswered_s: &'a [f64],
}

fn figures(comparison: &Comparison) -> Figures<'_> {
    let runs = comparison.curves.iter().zip(&comparison.result.runs).zip(colours(&comparison.curves));
    let runs = runs.map(|((curves, run), colour)| Figure {
        id: run.id.clone(),
        name: curves.transport.in_words(),
        colour,
        p99: run.response_ms.p99,
        measured: &curves.measured,
        predicted: &curves.predicted,
        over_time: &curves.over_time,
        unanswered_s: &curves.unanswered_s,
    });
    Figures { duration_s: comparison.result.workload.duration_s, runs: runs.collect() }
}

/// Returns which colour of the style sheet each transport has: those of its protocol in turn.
fn colours(curves: &[RunCurves]) -> Vec<usize> {
    let colour = |(at, of): (usize, &RunCurves)| {
        let is_kin = |other: &&RunCurves| other.transport.protocol() == of.transport.protocol();
        let colours = of.transport.colours();
        colours.start + curves[..at].iter().filter(is_kin).count() % colours.len()
    };
    curves.iter().enumerate().map(colour).collect()
}

fn conditions(comparison: &Comparison) -> Vec<(String, String)> {
    let CompareResult { path, workload, host, headway, commit, command, started, .. } = &comparison.result;
    let mut rows = vec![
        ("Backend".to_owned(), backend_in_words(path)),
        ("Path, request direction".to_owned(), path.impairments.request.clone()),
        ("Path, response direction".to_owned(), path.impairments.response.clone()),
        ("Delay that the emulator really gave, one way".to_owned(), emulator_delay(comparison)),
        ("Workload".to_owned(), workload_in_words(workload)),
        ("Requests sent more than 1 ms late".to_owned(), workload.late_sends.to_string()),
    ];
    rows.extend(comparison.options.iter().cloned());
    rows.push(("Headway".to_owned(), built(headway, commit)));
    let told = [("Command", format!("headway {}", command.join(" "))), ("Started", started.clone())];
    rows.extend(
        told.into_iter().filter(|_| !started.is_empty()).map(|(name, value)| (name.to_owned(), value)),
    );
    rows.extend(host.iter().map(|(name, value)| (format!("Host: {name}"), value.clone())));
    rows
}

fn built(headway: &str, commit: &str) -> String {
    if commit.is_empty() { headway.to_owned() } else { format!("{headway}, commit {commit}") }
}

fn emulator_delay(comparison: &Comparison) -> String {
    match comparison.result.path.delay_ms {
        Some(delay) => format!("median {} ms, 99 % within {} ms", short(delay.p50), short(delay.p99)),
        None => "not measured; exact in virtual time".to_owned(),
    }
}

/// Returns JSON that cannot end the script element it stands in.
fn embed(figures: &Figures<'_>) -> Result<String, ReportError> {
    Ok(serde_json::to_string(figures)?.replace('<', "\\u003c"))
}

/// uPlot 1.6.32, MIT licence, as built by its author; `assets/README.md` says how to replace it.
const UPLOT_JS: &str = include_str!("../../assets/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../../assets/uPlot.min.css");
const REPORT_CSS: &str = include_str!("../../assets/report.css");
const REPORT_JS: &str = include_str!("../../assets/report.js");

/// The reason why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The template could not be filled in.
    #[error("the report cannot be laid out: {0}")]
    Template(#[from] askama::Error),
    /// The data could not be written as JSON.
    #[error("the results cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The file could not be written.
    #[error("the report cannot be written: {0}")]
    Io(#[from] io::Error),
}
