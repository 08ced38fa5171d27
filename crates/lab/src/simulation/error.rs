//! The reason why a scenario cannot be run.

use std::path::PathBuf;

use thiserror::Error;

/// The reason why a scenario cannot be run; `key` is where in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// A value that makes no sense where it stands.
    #[error("{key}: {because}")]
    Value {
        /// Dotted name of the value.
        key: String,
        /// The mistake, and the remedy.
        because: String,
    },
    /// More things than there are addresses for.
    #[error("there are more than 250 {what}")]
    TooMany {
        /// The name of what there are too many of.
        what: &'static str,
    },
    /// The world it was to run in cannot run it.
    #[error("{world}: {because}")]
    World {
        /// The name of the world that cannot.
        world: &'static str,
        /// The reason why not, and the remedy.
        because: String,
    },
    /// The packets could not be written down.
    #[error("the capture {}: {because}", path.display())]
    Capture {
        /// The path of the capture file.
        path: PathBuf,
        /// The error that the system returned.
        because: String,
    },
}

impl SimulationError {
    /// Creates the error of a value that makes no sense where it stands: its dotted name, the mistake and the remedy.
    pub fn new(key: impl Into<String>, because: impl Into<String>) -> Self {
        Self::Value { key: key.into(), because: because.into() }
    }

    /// Returns the place of the mistake, and the mistake.
    pub(crate) fn parts(&self) -> (String, String) {
        match self {
            Self::Value { key, because } => (key.clone(), because.clone()),
            Self::TooMany { .. } | Self::World { .. } | Self::Capture { .. } => {
                ("hosts".to_owned(), self.to_string())
            }
        }
    }

    pub(super) fn unknown(table: &str, name: &str, key: &str, what: &str) -> Self {
        Self::new(
            format!("{table}.{name}.{key}"),
            format!("there is no host or router `{what}`: name it in hosts or routers"),
        )
    }
}
