//! The places where a comparison goes: terminal, JSON, and the folder with the report.

use std::path::{Path, PathBuf};

use clap::Args;
use lab::report::Room;
use lab::{CompareResult, Comparison, EventFile, RawOutcome, ResultDifference, Saved, report};
use serde::Serialize;

use super::CompareFailure;
use crate::arguments::UsageError;
use crate::failure::Failure;
use crate::output::{Output, check_folder};
use crate::terminal;

/// Whether and where a report is written.
#[derive(Debug, Clone, Args)]
pub(crate) struct Destination {
    /// Folder for report.html, results.json and samples.csv
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "out")]
    no_report: bool,
    /// Overwrite a report that is there, instead of moving it to DIR.1, DIR.2, …
    #[arg(long)]
    force: bool,
    /// Put the result beside one that was saved: results.json, or its folder
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    /// Show all columns, however narrow the terminal is
    #[arg(long)]
    wide: bool,
}

/// The outcome of a comparison: what was measured, and what it means.
pub(crate) struct Outcome<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) raw: &'a RawOutcome,
    pub(crate) events: Option<EventFile>,
    /// A result to put beside.
    pub(crate) earlier: Option<Saved>,
}

/// What `--json` gets.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    result: &'a CompareResult,
    /// From the result of `--with`; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<ResultDifference>,
}

impl Destination {
    /// Returns the folder, if a report is wanted.
    fn folder(&self) -> Option<&Path> {
        self.out.as_deref().filter(|_| !self.no_report)
    }

    /// Makes the folder before anything runs: half a minute later is too late to learn that it cannot be made.
    pub(crate) fn prepare(&self) -> Result<(), CompareFailure> {
        let Some(folder) = self.folder() else { return Ok(()) };
        check_folder(folder).map_err(|error| refused(folder, error.into()))
    }

    /// Returns the result to compare with. Comes before the run, which may move its folder.
    pub(crate) fn earlier(&self) -> Result<Option<Saved>, UsageError> {
        let earlier = self.with.as_deref().map(Saved::read).transpose();
        earlier.map_err(|error| UsageError::With(error.to_string()))
    }

    /// Writes and prints everything; an error if a run failed, or something could not be written: the table is printed all
    /// the same.
    pub(crate) fn publish(&self, outcome: &Outcome<'_>, output: &Output) -> Result<(), Failure> {
        let result = &outcome.comparison.result;
        let reported = self.folder().map(|folder| self.report(folder, outcome));
        let report = reported.as_ref().and_then(|written| written.as_ref().ok());
        let room = Room { columns: terminal::columns().filter(|_| !self.wide), all: "--wide" };
        let [page, _over_time] = report::comparison(outcome.comparison);
        let mut text = report::text(&page, room) + &told(report);
        let saved = Saved::from(result);
        let difference = outcome.earlier.as_ref().map(|earlier| ResultDifference::new(earlier, &saved));
        if let Some(earlier) = &outcome.earlier {
            text += &format!("\n{}", report::text(&report::difference(earlier, &saved), room));
        }
        let printed = output.write(&text, &Answer { result, difference });
        reported.transpose()?;
        printed?;
        outcome.check_files()?;
        Ok(verdict(result)?)
    }

    fn report(&self, folder: &Path, outcome: &Outcome<'_>) -> Result<Reported, CompareFailure> {
        let kept = if self.force { Ok(None) } else { keep_earlier(folder).map_err(Into::into) };
        let written = kept.and_then(|earlier| {
            report::write(folder, outcome.comparison, outcome.raw)?;
            Ok(Reported { folder: folder.to_owned(), earlier })
        });
        written.map_err(|error| refused(folder, error))
    }
}

/// The place of a report.
struct Reported {
    folder: PathBuf,
    /// The place to which the report was moved that was there before.
    earlier: Option<PathBuf>,
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

fn told(report: Option<&Reported>) -> String {
    let Some(Reported { folder, earlier }) = report else { return String::new() };
    let line = |what: &str, folder: &Path| format!("{what}: {}\n", folder.join("report.html").display());
    let earlier = earlier.as_ref().map(|earlier| line("The one that was there", earlier));
    line("Report", folder) + &earlier.unwrap_or_default()
}

/// Moves a report that is there to `DIR.1`, or the next number that is free, and says where it is. Other files stay.
fn keep_earlier(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    let files: Vec<_> = report::FILES.iter().filter(|name| folder.join(name).exists()).collect();
    if files.is_empty() {
        return Ok(None);
    }
    // `.`, `..` and links stand for a folder with a name of its own.
    let has_name = folder.file_name().is_some() && !folder.is_symlink();
    let folder = if has_name { folder.to_owned() } else { folder.canonicalize()? };
    let name = folder.file_name().unwrap_or_default().to_os_string();
    let numbered = |number: u32| {
        let mut numbered = name.clone();
        numbered.push(format!(".{number}"));
        folder.with_file_name(numbered)
    };
    let Some(free) = (1..).map(numbered).find(|candidate| !candidate.exists()) else { return Ok(None) };
    std::fs::create_dir(&free)?;
    files.into_iter().try_for_each(|name| std::fs::rename(folder.join(name), free.join(name)))?;
    Ok(Some(free))
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
