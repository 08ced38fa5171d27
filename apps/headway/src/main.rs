//! `headway`: signalling transport without head-of-line blocking — measure, simulate and predict.
//!
//! This file knows the commands and the exit status, nothing else. Each command is a module with its own
//! arguments; what several commands take is in [`arguments`]. Exit status: 0 done, 1 the run failed, 2 wrong
//! usage.
#![forbid(unsafe_code)]

mod arguments;
mod output;
mod predict;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Signalling transport without head-of-line blocking: measure, simulate and predict.
#[derive(Debug, Parser)]
#[command(
    name = "headway",
    version,
    propagate_version = true,
    after_help = "Example:\n  headway predict response-time --transport sctp --streams 6 --rate 100 --study model"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What `headway` can do.
#[derive(Debug, Subcommand)]
enum Command {
    Predict(predict::Arguments),
}

impl Command {
    fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Predict(arguments) => Ok(predict::run(arguments)?),
        }
    }
}

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Predict(#[from] predict::PredictError),
}

impl Failure {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Predict(error) => error.exit_status(),
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is gone, the exit status still tells.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}
