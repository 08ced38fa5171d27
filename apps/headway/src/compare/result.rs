//! Where a comparison goes: terminal, JSON, and the folder with the report.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use lab::{CompareResult, Comparison, RawOutcome, report};

use super::CompareFailure;
use crate::output::OutputArguments;

/// Whether and where a report is written.
#[derive(Debug, Clone, Args)]
pub(crate) struct Destination {
    /// Folder for report.html, results.json and samples.csv
    #[arg(long, value_name = "DIR", default_value = "headway-report")]
    out: PathBuf,
    /// Write no report
    #[arg(long, conflicts_with = "out")]
    no_report: bool,
}

/// What was measured, and what it means.
pub(crate) struct Outcome<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) raw: &'a RawOutcome,
}

impl Destination {
    /// Makes the folder before anything runs: half a minute later is too late to learn that it cannot be made.
    pub(crate) fn prepare(&self) -> Result<(), CompareFailure> {
        if self.no_report {
            return Ok(());
        }
        std::fs::create_dir_all(&self.out).map_err(|error| self.refused(error.into()))
    }

    /// Writes and prints everything; an error if a run failed.
    pub(crate) fn publish(
        &self,
        outcome: &Outcome<'_>,
        output: &OutputArguments,
    ) -> Result<(), CompareFailure> {
        let result = &outcome.comparison.result;
        if !self.no_report {
            report::write(&self.out, outcome.comparison, outcome.raw).map_err(|error| self.refused(error))?;
        }
        output.write(&self.text(result), result)?;
        verdict(result)
    }

    fn text(&self, result: &CompareResult) -> String {
        let mut text = report::table(result);
        if let Some(sentence) = report::reading(result).first() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{sentence}");
        }
        if !self.no_report {
            let _ = writeln!(text, "Report: {}", self.out.join("report.html").display());
        }
        text
    }

    fn refused(&self, error: report::ReportError) -> CompareFailure {
        CompareFailure::Report { path: self.out.clone(), error }
    }
}

fn verdict(result: &CompareResult) -> Result<(), CompareFailure> {
    let failed: Vec<&str> =
        result.runs.iter().filter(|run| run.because.is_some()).map(|run| run.id.as_str()).collect();
    if !failed.is_empty() || !result.is_success() {
        return Err(CompareFailure::Runs(format!(
            "not a full success: {}; see above why",
            failed.join(", ")
        )));
    }
    if result.runs.is_empty() {
        let reasons: Vec<_> =
            result.skipped.iter().map(|skipped| format!("{}: {}", skipped.id, skipped.because)).collect();
        return Err(CompareFailure::Runs(format!("nothing was run; {}", reasons.join("; "))));
    }
    Ok(())
}
