//! `headway reproduce`: figures and tables of the studies, ours beside the published values.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use lab::StopSignal;
use lab::report::{Page, verdicts};
use serde::Serialize;
use studies::{
    Effort, Measurement, PAGES, PageSpec, StoreError, Stored, StudyError, VideoTrace, page, search, write_all,
};

use crate::failure::CommandError;
use crate::interrupt;
use crate::output::{Output, OutputArguments, OutputError, check_folder};
use crate::progress::Bar;
use crate::rights::{Rights, WithRights};

/// Figures and tables of the studies S1–S5 rebuilt, and questions of today (now): ours, the published values, a verdict on each statement
///
/// In the folder of --out each page is a JSON file, from which the HTML pages (index.html, S1.html, …) and CSV files are
/// drawn. A page that is there with the same effort is not made again: what was interrupted goes on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway reproduce S1-fig4 S4-table1 --quick --out out")]
pub(crate) struct Arguments {
    /// The pages to make, such as S1-fig4; a study such as S1 means all of its pages
    #[arg(value_name = "ID", required_unless_present_any = ["list", "all", "search", "redraw"])]
    ids: Vec<String>,
    /// List the pages there are, and make none
    #[arg(long, conflicts_with_all = ["ids", "all"])]
    list: bool,
    /// Make all pages there are
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Search for what S2 does not publish: buffer, headers, windows; the nearest settings are told, for plans/settings/s2.toml
    #[arg(long, conflicts_with_all = ["ids", "all", "list"])]
    search: bool,
    /// Draw HTML and CSV again from the JSON files in the folder of --out, and run nothing
    #[arg(long, requires = "out", conflicts_with_all = ["ids", "all", "list", "search"])]
    redraw: bool,
    /// A video for S5-fig3: a text file of a public trace library (number, type, time, size; or sizes alone)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Measure a reduced set of cells of S1 and S4 too, with real packets between network namespaces; some minutes more
    #[arg(long, conflicts_with_all = ["list", "search", "redraw"])]
    measure: bool,
    /// 3 seeds instead of 30, a tenth of the messages: an impression within a minute or so
    #[arg(long)]
    quick: bool,
    /// Runs at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Folder for pages, JSON and CSV
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The reason why pages were not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReproduceError {
    #[error("ID '{0}': there is no such page; headway reproduce --list says which there are")]
    Unknown(String),
    #[error(transparent)]
    Study(StudyError),
    #[error("--trace '{}': {because}", path.display())]
    Trace { path: PathBuf, because: String },
    #[error("--out '{}' cannot be written: {error}; name a writable folder", path.display())]
    Out { path: PathBuf, error: std::io::Error },
    #[error("--out: {0}; name a writable folder")]
    Store(#[from] StoreError),
    #[error("interrupted: the pages made so far are there")]
    Interrupted,
    #[error(transparent)]
    Output(#[from] OutputError),
}

fn video(path: &Path) -> Result<VideoTrace, ReproduceError> {
    let failed = |because: String| ReproduceError::Trace { path: path.to_owned(), because };
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    VideoTrace::parse(&text).map_err(|error| failed(error.to_string()))
}

/// How long a cell is measured.
const CELL: Duration = Duration::from_secs(60);
const QUICK_CELL: Duration = Duration::from_secs(5);
/// Seeds per setting and cell of a search.
const SEARCH_SEEDS: u64 = 6;

impl ReproduceError {
    fn of(error: StudyError) -> Self {
        match error {
            StudyError::Interrupted => Self::Interrupted,
            error @ (StudyError::Plan { .. }
            | StudyError::Cell { .. }
            | StudyError::Run(_)
            | StudyError::Model(_)
            | StudyError::Recorded { .. }
            | StudyError::Transport(_)) => Self::Study(error),
        }
    }
}

impl CommandError for ReproduceError {
    /// Returns 1 if the run failed, 2 if what was asked for makes no sense.
    fn exit_status(&self) -> u8 {
        match self {
            Self::Unknown(_) | Self::Trace { .. } => 2,
            Self::Study(_) | Self::Out { .. } | Self::Store(_) | Self::Output(_) => 1,
            Self::Interrupted => interrupt::INTERRUPTED,
        }
    }
}

#[derive(Serialize)]
struct Answer {
    headway: &'static str,
    pages: Vec<Page>,
}

pub(crate) fn run(arguments: &Arguments, rights: Rights) -> Result<(), ReproduceError> {
    let output = arguments.output.open()?;
    if arguments.list {
        let ids: Vec<&str> = PAGES.iter().map(|page| page.id).collect();
        let lines = PAGES.iter().map(|page| format!("{:<11} {}\n", page.id, page.title));
        return Ok(output.write(&lines.collect::<String>(), &ids)?);
    }
    let wanted = arguments.wanted()?;
    if let Some(folder) = &arguments.out {
        check_folder(folder).map_err(|error| ReproduceError::Out { path: folder.clone(), error })?;
    }
    if let Some(folder) = arguments.out.as_ref().filter(|_| arguments.redraw) {
        redraw(folder)?;
        let pages = stored(folder);
        return tell(&output, pages);
    }
    let stop = StopSignal::default();
    interrupt::stop_on_interrupt(&stop);
    let mut effort = if arguments.quick { Effort::quick() } else { Effort::default() };
    effort.options.stop = stop;
    effort.trace = arguments.trace.as_ref().map(|path| video(path)).transpose()?;
    if arguments.measure {
        let seconds = if arguments.quick { QUICK_CELL } else { CELL };
        effort.measurement = Some(Measurement::new(WithRights(rights), seconds));
    }
    effort.options.jobs = arguments.jobs.map(usize::from);
    let bar = Bar::of_runs(&arguments.output, &effort.options.progress);
    if arguments.search {
        effort.seeds = if arguments.quick { 3 } else { SEARCH_SEEDS };
        let found = search(&effort);
        bar.finish();
        let found = found.map_err(ReproduceError::of)?;
        return Ok(output.write(&found, &found)?);
    }
    let made = arguments.make(&wanted, &effort);
    bar.finish();
    let (pages, ended) = made?;
    let drawn = arguments.out.as_ref().map_or(Ok(()), |folder| redraw(folder));
    tell(&output, pages)?;
    drawn?;
    ended
}

impl Arguments {
    /// Returns whether network namespaces may be used.
    pub(crate) fn wants_namespaces(&self) -> bool {
        self.measure
    }

    fn wanted(&self) -> Result<Vec<&'static PageSpec>, ReproduceError> {
        if self.all {
            return Ok(PAGES.iter().collect());
        }
        let mut wanted = Vec::new();
        for id in &self.ids {
            let of_study = |page: &&PageSpec| {
                page.id.split('-').next().is_some_and(|study| study.eq_ignore_ascii_case(id))
            };
            let of_study: Vec<_> = PAGES.iter().filter(of_study).collect();
            match page(id) {
                Some(page) => wanted.push(page),
                None if !of_study.is_empty() => wanted.extend(of_study),
                None => return Err(ReproduceError::Unknown(id.clone())),
            }
        }
        Ok(wanted)
    }

    /// Makes the pages, those that are there already from the folder; returns also whether it was interrupted.
    #[allow(clippy::type_complexity, reason = "pages, and how it ended")]
    fn make(
        &self,
        wanted: &[&PageSpec],
        effort: &Effort,
    ) -> Result<(Vec<Page>, Result<(), ReproduceError>), ReproduceError> {
        let mut pages = Vec::new();
        for spec in wanted {
            let stored =
                self.out.as_ref().and_then(|folder| Stored::find(folder, spec.id, &spec.effort(effort)));
            if let Some(stored) = stored {
                pages.push(stored.page);
                continue;
            }
            let page = match spec.make(effort) {
                Ok(page) => page,
                Err(StudyError::Interrupted) => return Ok((pages, Err(ReproduceError::Interrupted))),
                Err(error) => return Err(ReproduceError::Study(error)),
            };
            if let Some(folder) = &self.out {
                Stored::write(folder, &page)?;
            }
            pages.push(page);
        }
        Ok((pages, Ok(())))
    }
}

/// Draws everything from all pages that are in the folder, whoever made them: a page that is made does not make the others
/// disappear.
fn redraw(folder: &Path) -> Result<(), ReproduceError> {
    Ok(write_all(folder, &stored(folder))?)
}

fn stored(folder: &Path) -> Vec<Page> {
    PAGES.iter().filter_map(|page| Stored::read(folder, page.id)).collect()
}

fn tell(output: &Output, pages: Vec<Page>) -> Result<(), ReproduceError> {
    Ok(output.write(&verdicts(&pages), &Answer { headway: env!("CARGO_PKG_VERSION"), pages })?)
}
