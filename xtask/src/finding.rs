//! A finding of a check and how it is printed; not who decides that it is wrong.

use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that is not as it should be, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether it fails the check.
    pub(crate) weight: Weight,
    /// The file, relative to the repository.
    pub(crate) path: PathBuf,
    /// The line, counted from 1; 1 where the file as a whole is meant.
    pub(crate) line: usize,
    /// The fault that was found, with its value.
    pub(crate) what: String,
    /// The remedy: what to do.
    pub(crate) remedy: String,
}

/// Whether a finding fails the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Must be mended.
    Error,
    /// Worth a look in review.
    Note,
}

impl Finding {
    /// Creates a finding that must be mended.
    pub(crate) fn error(path: &Path, line: usize, what: String, remedy: &str) -> Self {
        Self { weight: Weight::Error, path: path.to_owned(), line, what, remedy: remedy.to_owned() }
    }

    /// Creates a finding that is worth a look.
    pub(crate) fn note(path: &Path, line: usize, what: String, remedy: &str) -> Self {
        Self { weight: Weight::Note, ..Self::error(path, line, what, remedy) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.weight {
            Weight::Error => "error",
            Weight::Note => "note",
        };
        let Self { path, line, what, remedy, .. } = self;
        write!(f, "{}:{line}: {word}: {what}\n    remedy: {remedy}", path.display())
    }
}

/// The one place of this program that prints.
#[expect(clippy::print_stdout, reason = "a command-line tool reports on standard output")]
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}
