//! Networks in virtual time: what a plan describes becomes a world, runs, and leaves figures behind.
//!
//! ```text
//! Scenario ─► build ─► World<Station> ─► run ─► RunOutcome
//!   hosts, routers,      a Station has an End per flow:     per flow: delays, losses,
//!   links, flows         transport                          goodput; per queue: drops
//!                        below Client or Server
//! ```
//!
//! A run is a function of (scenario, seed). Memory does not grow with its length, unless samples are asked for.

mod build;
mod delays;
mod one_way;
mod outcome;
mod run;
mod scenario;
mod spread;
mod station;
mod text;

pub use delays::{Delays, Moments};
pub use one_way::{OneWay, Trip};
pub use outcome::{FlowOutcome, LinkOutcome, RunOutcome, TransportCounts};
pub use run::{SimulationError, Watch, simulate};
pub(crate) use run::{changes, check};
pub(crate) use scenario::{FlowError, FlowSeed};
pub use scenario::{FlowPlan, LinkChange, LinkPlan, LinkWay, Named, Scenario, StopRule, SwitchState};
pub use spread::Spread;
pub use text::{Span, Text};

pub use crate::transport::{CarrierName, Halving, InitialWindowName, SctpOptions, StudyRules, TcpOptions};
