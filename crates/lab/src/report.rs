//! What people see: the table, the files, the report.

mod difference;
mod html;
mod numbers;
mod reading;
mod samples;
mod table;

use std::io;
use std::path::Path;

pub(crate) use numbers::percent;

pub use difference::difference_table;
pub use html::{ReportError, html};
pub use reading::{closing_words, reading};
pub use samples::samples_csv;
pub use table::{table, table_within};

use crate::compare::RawOutcome;
use crate::summary::{CompareResult, Comparison};

/// Writes `report.html`, `results.json` and `samples.csv` into a directory, which is made if need be.
///
/// # Errors
///
/// [`ReportError`] when the directory or a file cannot be written.
pub fn write(directory: &Path, comparison: &Comparison, raw: &RawOutcome) -> Result<(), ReportError> {
    std::fs::create_dir_all(directory)?;
    let [report, results, samples] = FILES;
    std::fs::write(directory.join(report), html(comparison)?)?;
    std::fs::write(directory.join(results), results_json(&comparison.result)?)?;
    let csv = std::fs::File::create(directory.join(samples))?;
    samples_csv(raw, &mut io::BufWriter::new(csv))?;
    Ok(())
}

/// Names of the files that [`write()`] makes of a comparison.
pub const FILES: [&str; 3] = ["report.html", "results.json", "samples.csv"];

/// The result as JSON with a line end, for `results.json` and `--json`.
///
/// # Errors
///
/// [`ReportError::Json`], which the types rule out but the library's signature does not.
pub fn results_json(result: &CompareResult) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests;
