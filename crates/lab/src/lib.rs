//! The laboratory: one signalling workload over several transports, side by side with the models.
//!
//! ```text
//! CompareConfig ─► Backend (namespaces | simulator) ─► RawOutcome ─► Comparison ─► table, results.json,
//!   what to run      real packets or virtual time       samples        statistics    samples.csv, report.html
//! ```
//!
//! A [`Backend`] runs transports and returns what happened to each request; everything from there to the report is
//! the same for all backends. The models' predictions come in as plain numbers ([`Prediction`]).
//!
//! ```no_run
//! use lab::{Backend, Comparison, CompareConfig, Conditions, run_compare};
//!
//! # fn example(mut namespaces: impl Backend, mut simulator: impl Backend) -> Result<(), Box<dyn std::error::Error>> {
//! let config = CompareConfig::default();
//! let raw = run_compare(&config, &mut namespaces, &mut simulator)?;
//! let comparison = Comparison::new(&config, &raw, Conditions::of_this_host(), |_transport| Err("no model".to_owned()));
//! println!("{}", lab::report::text(&lab::report::comparison(&comparison)[0], lab::report::Room::UNBOUNDED));
//! lab::report::write("headway-report".as_ref(), &comparison, &raw)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod backend;
mod compare;
mod conditions;
mod difference;
mod events;
mod handover;
mod lanes;
mod numbers;
mod page;
pub mod plan;
pub mod report;
pub mod simulation;
mod statistics;
mod stop;
mod summary;
#[cfg(test)]
mod testing;
mod text;
mod traffic;
mod transport;

pub use backend::{Namespaces, Network, Simulator};
pub use compare::{
    Backend, BackendChoice, BackendError, BackendKind, Blocking, CONCURRENT_RATE_LIMIT, CompareConfig,
    CompareError, DirectionPackets, Fallback, MeasuredDelay, PacketCounts, Prediction, RawOutcome, RawRun,
    RunError, Schedule, Skipped, Traffic, run_compare,
};
pub use conditions::{Conditions, HostFacts, Origin};
pub use difference::{
    ConditionDifference, DifferenceVerdict, ResultDifference, ResultFileError, Saved, TransportDifference,
};
pub use events::{EventFile, write_events};
pub use handover::{Coverage, Handover, HandoverError};
pub use statistics::{
    CallCounts, Distribution, FrameCounts, HandoverCounts, LoadCounters, MIN_BATCHES, half_width, mean,
    milliseconds,
};
pub use stop::StopSignal;
pub use summary::{
    BlockingResult, CompareResult, Comparison, FramesResult, HandoverResult, ImpairmentsResult, LateResult,
    LossSplit, PathResult, PeerPath, PredictedResult, RequestCounts, ResponseResult, RunCurves, RunResult,
    SCHEMA, WorkloadResult,
};
pub use text::UnknownName;
pub use traffic::{Arrivals, ClientPlan, ServerPlan, TraceFileError, WORKLOADS, Workload, pinhole};
pub use transport::{
    Carrier, EncapsulationPorts, Expected, Lanes, Listener, Listening, MAX_CONNECTIONS, Protocol, RealError,
    TRANSPORTS, TransportError, TransportList, TransportSpec, described as described_transports,
    set_tcp_congestion,
};
