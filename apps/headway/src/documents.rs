//! `headway completions` and `headway man`: made from the same definitions as the commands themselves.

use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::CommandError;
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
pub(crate) enum DocumentError {
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("DIR '{}' cannot be written: {error}; name a writable folder", directory.display())]
    Directory { directory: PathBuf, error: io::Error },
}

impl CommandError for DocumentError {
    fn exit_status(&self) -> u8 {
        1
    }
}

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
) -> Result<(), DocumentError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, NAME, &mut script);
    Ok(print(&String::from_utf8_lossy(&script))?)
}

pub(crate) fn man(arguments: &ManArguments, command: Command) -> Result<(), DocumentError> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .map_err(|error| DocumentError::Directory { directory: directory.clone(), error })
}

const NAME: &str = "headway";
