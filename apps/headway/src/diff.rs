//! `headway diff`: two saved results side by side.

use std::io;
use std::path::PathBuf;

use clap::Args;
use lab::report::Room;
use lab::{ResultDifference, ResultFileError, Saved, report};

use crate::output::{OutputArguments, OutputError, check_folder};

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
    /// Folder for difference.html
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// Why results are not compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiffError {
    #[error(transparent)]
    File(#[from] ResultFileError),
    #[error("--out '{}' cannot be written: {error}; name a writable folder", path.display())]
    Out { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl DiffError {
    /// 1 if the output failed, 2 if what was asked for makes no sense.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::File(_) => 2,
            Self::Out { .. } | Self::Output(_) => 1,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), DiffError> {
    let output = arguments.output.open()?;
    let (first, second) = (Saved::read(&arguments.first)?, Saved::read(&arguments.second)?);
    let page = report::difference(&first, &second);
    if let Some(folder) = &arguments.out {
        let html = report::html("Two results side by side", &[&page]).map_err(io::Error::other);
        let written = check_folder(folder).and(html);
        let written = written.and_then(|html| std::fs::write(folder.join("difference.html"), html));
        written.map_err(|error| DiffError::Out { path: folder.clone(), error })?;
    }
    Ok(output.write(&report::text(&page, Room::UNBOUNDED), &ResultDifference::new(&first, &second))?)
}
