//! The part that people see: pages, and how they are drawn.
//!
//! ```text
//! Comparison, SimulationResult, ResultDifference, studies ─► Page ─► terminal, HTML with SVG, CSV
//! ```

mod comparison;
mod csv;
mod difference;
mod figure;
mod html;
mod plan;
mod samples;
mod scale;
mod terminal;

use std::io;
use std::path::Path;

use thiserror::Error;

pub use crate::numbers::percent;
pub use crate::page::{
    Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Scale, Series, Statement, Table, Verdict,
};
pub use crate::summary::{closing_words, reading};
pub use comparison::comparison;
pub use csv::{series as series_csv, statements as statements_csv, table as table_csv};
pub use difference::difference;
pub use html::{Overview, html, index_html, lone_html, study_html};
pub use plan::plan;
pub use samples::samples_csv;
pub use terminal::{Room, text, verdicts};

use crate::compare::RawOutcome;
use crate::conditions::{HostFacts, Origin};
use crate::summary::{CompareResult, Comparison};

/// Writes `report.html`, `results.json` and `samples.csv` into a directory, which is made if need be.
///
/// # Errors
///
/// [`ReportError`] when the directory or a file cannot be written.
pub fn write(directory: &Path, comparison: &Comparison, raw: &RawOutcome) -> Result<(), ReportError> {
    std::fs::create_dir_all(directory)?;
    let [report, results, samples] = FILES;
    let [result, over_time] = self::comparison(comparison);
    let title = "Response times of signalling transactions";
    std::fs::write(directory.join(report), html(title, &[&result, &over_time])?)?;
    std::fs::write(directory.join(results), results_json(&comparison.result)?)?;
    let csv = std::fs::File::create(directory.join(samples))?;
    samples_csv(raw, &mut io::BufWriter::new(csv))?;
    Ok(())
}

/// Names of the files that [`write()`] makes of a comparison.
pub const FILES: [&str; 3] = ["report.html", "results.json", "samples.csv"];

/// Returns the result as JSON with a line end, for `results.json`.
///
/// # Errors
///
/// [`ReportError::Json`], which the types rule out but the library's signature does not.
pub fn results_json(result: &CompareResult) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    Ok(text)
}

/// Returns which program made a result, how, when and where.
fn circumstances(headway: &str, origin: &Origin, host: &HostFacts) -> Vec<(String, String)> {
    let Origin { commit, command, started } = origin;
    let built = if commit.is_empty() { headway.to_owned() } else { format!("{headway}, commit {commit}") };
    let told = [("Command", format!("headway {}", command.join(" "))), ("Started", started.clone())];
    let told = told.into_iter().filter(|_| !started.is_empty());
    let facts =
        core::iter::once(("Headway", built)).chain(told).map(|(name, value)| (name.to_owned(), value));
    facts.chain(host.iter().map(|(name, value)| (format!("Host: {name}"), value.clone()))).collect()
}

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

#[cfg(test)]
mod tests;
