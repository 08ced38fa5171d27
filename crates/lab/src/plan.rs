//! Plans: a scenario, factors and their levels, seeds. Written in TOML, readable without the code.
//!
//! ```text
//! text ─► file (where is what) ─► cells: every combination of levels, each a Scenario
//!                                   └─► run: (cell, seed) over the cores ─► CellTally ─► SimulationResult (JSON)
//! ```
//!
//! What can be said in a plan is what [`Scenario`](crate::simulation::Scenario) has fields for, and `title`, `description`,
//! `seeds`, `factors`, `cases`, `campaign`. `docs/plans.md` says it for readers of plans.

mod execute;
mod file;
mod result;
mod tally;

pub use execute::{PlanOutcome, PlanWorld, Progress, RunOptions, spread};
pub use file::{Cell, Plan, PlanError, Precision};
pub(crate) use result::plain;
pub use result::{CellResult, RunSummary, SeedResult, SimulationResult, write_plan_report};
pub use tally::{CellTally, FlowTally, LinkTally, SeedTally};
