//! Where a comparison goes: terminal, JSON, and the folder with the report.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lab::{CompareResult, Comparison, EventFile, RawOutcome, report};

use super::CompareFailure;
use crate::output::{Output, check_folder};

/// Whether and where a report is written.
#[derive(Debug, Clone, Args)]
pub(crate) struct Destination {
    /// Folder for report.html, results.json and samples.csv
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "out")]
    no_report: bool,
}

/// What was measured, and what it means.
pub(crate) struct Outcome<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) raw: &'a RawOutcome,
    pub(crate) events: Option<EventFile>,
}

impl Destination {
    /// The folder, if a report is wanted.
    fn folder(&self) -> Option<&Path> {
        self.out.as_deref().filter(|_| !self.no_report)
    }

    /// Makes the folder before anything runs: half a minute later is too late to learn that it cannot be made.
    pub(crate) fn prepare(&self) -> Result<(), CompareFailure> {
        let Some(folder) = self.folder() else { return Ok(()) };
        check_folder(folder).map_err(|error| refused(folder, error.into()))
    }

    /// Writes and prints everything; an error if a run failed, or something could not be written: the table is printed all
    /// the same.
    pub(crate) fn publish(&self, outcome: &Outcome<'_>, output: &Output) -> Result<(), CompareFailure> {
        let result = &outcome.comparison.result;
        let reported = self.folder().map(|folder| {
            let written = report::write(folder, outcome.comparison, outcome.raw);
            written.map_err(|error| refused(folder, error)).map(|()| folder)
        });
        let report = reported.as_ref().and_then(|written| written.as_deref().ok());
        let printed = output.write(&text(result, report), result);
        reported.transpose()?;
        printed?;
        outcome.check_files()?;
        verdict(result)
    }
}

impl Outcome<'_> {
    /// Captures and events are written while it runs.
    fn check_files(&self) -> Result<(), CompareFailure> {
        let captures = self.raw.runs.iter().filter_map(|run| run.capture_failure.as_deref());
        let capture = captures.map(|because| format!("--pcap: {because}")).next();
        let events = self.events.as_ref().and_then(EventFile::failure);
        let events = events.map(|because| format!("--events: {because}"));
        let incomplete: Vec<_> = capture.into_iter().chain(events).collect();
        if incomplete.is_empty() { Ok(()) } else { Err(CompareFailure::Incomplete(incomplete.join("; "))) }
    }
}

fn text(result: &CompareResult, report: Option<&Path>) -> String {
    let mut text = report::table(result);
    if let Some(sentence) = report::reading(result).first() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{sentence}");
    }
    if let Some(folder) = report {
        let _ = writeln!(text, "Report: {}", folder.join("report.html").display());
    }
    text
}

fn refused(folder: &Path, error: report::ReportError) -> CompareFailure {
    CompareFailure::Report { path: folder.to_owned(), error }
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
