//! `headway diff`: two saved results side by side.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use lab::report::{Page, Room};
use lab::{ResultDifference, Saved, report};

use crate::failure::{Failure, FolderError};
use crate::output::{OutputArguments, check_folder};
use crate::terminal;

/// Two saved results side by side: conditions that differ, and means that differ beyond their intervals
///
/// Two comparisons, or two runs of a plan, such as one in the simulator and one on real packets.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway diff headway-report.1 headway-report --out differences")]
pub(crate) struct Arguments {
    /// The first result: results.json of compare, load or simulate, or its folder
    #[arg(value_name = "FILE")]
    first: PathBuf,
    /// The second result
    #[arg(value_name = "FILE")]
    second: PathBuf,
    /// Folder for difference.html, difference.json and difference.csv
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let (first, second) = (Saved::read(&arguments.first)?, Saved::read(&arguments.second)?);
    let page = report::difference(&first, &second);
    let difference = ResultDifference::new(&first, &second);
    if let Some(folder) = &arguments.out {
        let written = write(folder, &page, &difference);
        written.map_err(|error| FolderError { path: folder.clone(), error })?;
    }
    let room = Room { columns: terminal::columns(), all: "--json" };
    Ok(output.write(&report::text(&page, room), &difference)?)
}

/// Writes the page, and its numbers beside it.
fn write(folder: &Path, page: &Page, difference: &ResultDifference) -> io::Result<()> {
    check_folder(folder)?;
    let html = report::html("Two results side by side", &[page]).map_err(io::Error::other)?;
    std::fs::write(folder.join("difference.html"), html)?;
    let json = serde_json::to_string_pretty(difference).map_err(io::Error::other)?;
    std::fs::write(folder.join("difference.json"), json + "\n")?;
    std::fs::write(
        folder.join("difference.csv"),
        page.tables.iter().map(report::table_csv).collect::<String>(),
    )
}
