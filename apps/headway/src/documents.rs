//! `headway completions` and `headway man`: made from the same definitions as the commands themselves.

use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::{CommandError, Failure};
use crate::output::{OutputError, print};

/// A completion script for a shell, on standard output
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway completions bash")]
pub(crate) struct CompletionsArguments {
    /// The shell to write completions for
    #[arg(value_enum)]
    shell: Shell,
}

/// Manual pages for all commands, one file each
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway man ./man1")]
pub(crate) struct ManArguments {
    /// Folder for the pages; it is made if need be
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// The reason why documents could not be written.
#[derive(Debug, thiserror::Error)]
#[error("DIR '{}' cannot be written: {error}; name a writable folder", directory.display())]
struct DirectoryError {
    directory: PathBuf,
    error: io::Error,
}

impl CommandError for DirectoryError {}

pub(crate) fn completions(arguments: &CompletionsArguments, mut command: Command) -> Result<(), OutputError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, NAME, &mut script);
    print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(arguments: &ManArguments, command: Command) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let written =
        std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(command, directory));
    Ok(written.map_err(|error| DirectoryError { directory: directory.clone(), error })?)
}

const NAME: &str = "headway";
