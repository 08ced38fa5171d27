//! The law by which messages fall due, with the name that reports have for it.

use core::time::Duration;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};
use thiserror::Error;
use workload::{ArrivalSpec, TraceError, parse_trace};

use crate::text::Text;

/// An arrival process together with its name in the reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// The name, as a plan has it: `poisson`, `trace:calls.txt`.
    pub name: String,
    /// The process that the load generator draws from.
    pub law: workload::Arrivals,
}

impl Arrivals {
    /// Returns arrivals by a clock.
    #[must_use]
    pub fn constant() -> Self {
        Self { name: ArrivalSpec::Constant.to_string(), law: workload::Arrivals::Constant }
    }

    /// Reads the trace file, if there is one.
    ///
    /// # Errors
    ///
    /// [`TraceFileError`] when it cannot be read or is no trace.
    pub fn load(spec: ArrivalSpec) -> Result<Self, TraceFileError> {
        let name = spec.to_string();
        let law = match spec.into_arrivals() {
            Ok(law) => law,
            Err(path) => workload::Arrivals::Trace(read_trace(path.as_ref())?),
        };
        Ok(Self { name, law })
    }
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(spec) = Text::<ArrivalSpec>::deserialize(deserializer)?;
        let name = spec.to_string();
        let no_trace = "a plan reads no trace files: use poisson, constant, onoff or ticks";
        Ok(Self { name, law: spec.into_arrivals().map_err(|_path| de::Error::custom(no_trace))? })
    }
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { name: ArrivalSpec::Poisson.to_string(), law: workload::Arrivals::Poisson }
    }
}

fn read_trace(path: &Path) -> Result<Vec<Duration>, TraceFileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| TraceFileError::Unreadable { path: path.to_owned(), error })?;
    parse_trace(&text).map_err(|error| TraceFileError::NotATrace { path: path.to_owned(), error })
}

/// The reason why a trace file gives no arrivals.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// The trace file could not be read.
    #[error("trace:{path}: {error}", path = path.display())]
    Unreadable {
        /// The path of the trace file.
        path: PathBuf,
        /// The error that the system returned.
        error: std::io::Error,
    },
    /// The text of the file is no trace.
    #[error("trace:{path}: {error}", path = path.display())]
    NotATrace {
        /// The path of the trace file.
        path: PathBuf,
        /// The line with the fault, and the reason.
        error: TraceError,
    },
}
