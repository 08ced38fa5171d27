//! `headway diff`: two saved results side by side.

use std::path::PathBuf;

use clap::Args;
use lab::{CompareResult, ResultDifference, ResultFileError, report};

use crate::output::{OutputArguments, OutputError};

/// Two saved results side by side: conditions that differ, and means that differ beyond their intervals
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway diff headway-report.1 headway-report")]
pub(crate) struct Arguments {
    /// The first result: results.json of compare or load, or its folder
    #[arg(value_name = "FILE")]
    first: PathBuf,
    /// The second result
    #[arg(value_name = "FILE")]
    second: PathBuf,
    #[command(flatten)]
    output: OutputArguments,
}

/// Why results are not compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiffError {
    #[error(transparent)]
    File(#[from] ResultFileError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl DiffError {
    /// 1 if the output failed, 2 if what was asked for makes no sense.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::File(_) => 2,
            Self::Output(_) => 1,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), DiffError> {
    let output = arguments.output.open()?;
    let (first, second) = (CompareResult::read(&arguments.first)?, CompareResult::read(&arguments.second)?);
    let difference = ResultDifference::new(&first, &second);
    Ok(output.write(&report::difference_table(&difference), &difference)?)
}
