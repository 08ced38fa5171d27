//! The end of a command that did not go well.

use std::io;
use std::path::PathBuf;

/// An error that ends a command: standard error gets its words, the shell its number. What kind of error it is, its type says.
pub(crate) trait CommandError: std::error::Error {
    /// Returns the exit status: 1 if the run failed, which is the default, 2 if what was asked for makes no sense.
    fn exit_status(&self) -> u8 {
        1
    }
}

/// Whatever ended a command.
pub(crate) type Failure = Box<dyn CommandError>;

impl<E: CommandError + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}

/// Ctrl-C ended the command; what is said of its results, if there are any.
#[derive(Debug, thiserror::Error)]
#[error("interrupted{0}")]
pub(crate) struct Interrupted(pub(crate) &'static str);

impl CommandError for Interrupted {
    /// Returns 130, as shells have it.
    fn exit_status(&self) -> u8 {
        crate::interrupt::INTERRUPTED
    }
}

/// The folder of `--out` cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("--out '{}' cannot be written: {error}; name a writable folder", path.display())]
pub(crate) struct FolderError {
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

impl CommandError for FolderError {}
