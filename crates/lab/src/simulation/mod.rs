//! Networks in virtual time: what a plan describes becomes a world, runs, and leaves figures behind.
//!
//! ```text
//! Scenario ─► build ─► World<SimulatedHost> ─► run ─► RunOutcome
//!   hosts, routers,      a Station has an End per flow,     per flow: delays, losses,
//!   links, flows         IP below it cuts packets:          goodput; per queue: drops
//!                        transport below Client or Server
//! ```
//!
//! A run is a function of (scenario, seed). Memory does not grow with its length, unless samples are asked for.

mod build;
mod error;
mod movement;
mod outcome;
mod run;
mod scenario;
mod station;

pub use error::SimulationError;
pub(crate) use movement::NEW_LINK;
pub use outcome::{FlowOutcome, LinkOutcome, RunOutcome};
pub(crate) use run::{MOVED, changes, check};
pub use run::{Watch, simulate};
pub use scenario::{AddressFamily, LinkChange, LinkPlan, LinkWay, Named, Scenario, SwitchState};

pub use crate::statistics::{Delays, Moments, OneWay, Spread, TransportCounts, Trip, WorkloadCounts};
pub use crate::text::{Span, Text};
pub use crate::transport::{
    CarrierName, FlowPlan, Halving, InitialWindowName, Octets, PathOptions, SctpOptions, StartUpName,
    StopRule, StudyRules, TcpOptions, ValidationName, WindowOptions,
};
