//! The order of a comparison, and what it gets back from a backend.

mod backend;
mod config;
mod raw;
mod stop;

pub use backend::{Backend, BackendError, BackendKind, Fallback, RunError, run_compare};
pub use config::{
    Arrivals, BackendChoice, CONCURRENT_RATE_LIMIT, CompareConfig, CompareError, Schedule, TraceFileError,
    Traffic, UnknownName,
};
pub use raw::{
    Blocking, DirectionPackets, LoadCounters, MeasuredDelay, PacketCounts, Prediction, RawOutcome, RawRun,
    Skipped,
};
pub use stop::StopSignal;

#[cfg(test)]
mod tests;
