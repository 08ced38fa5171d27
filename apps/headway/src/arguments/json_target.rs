//! The target of JSON: a file, or `-` for standard output.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

/// The value of `--json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonTarget {
    /// `-`: nothing else is printed there.
    StandardOutput,
    File(PathBuf),
}

impl FromStr for JsonTarget {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "-" { Self::StandardOutput } else { Self::File(PathBuf::from(text)) })
    }
}
