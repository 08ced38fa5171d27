//! The order of a comparison, and what it gets back from a backend.

mod backend;
mod config;
mod raw;

pub(crate) use backend::sorted_out;
pub use backend::{Backend, BackendError, RunError, run_compare};
pub(crate) use config::PATH;
pub use config::{BackendChoice, CONCURRENT_RATE_LIMIT, CompareConfig, CompareError, Schedule, Traffic};
pub use raw::{
    BackendKind, Blocking, DirectionPackets, Fallback, MeasuredDelay, PacketCounts, Prediction, RawOutcome,
    RawRun, Skipped,
};

#[cfg(test)]
mod tests;
