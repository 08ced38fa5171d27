//! Plans: a scenario, factors and their levels, seeds. Written in TOML, readable without the code.
//!
//! ```text
//! text ─► file (where is what) ─► cells: every combination of levels, each a Scenario
//!                                   └─► run: (cell, seed) over the cores ─► CellTally ─► SimulationResult (JSON)
//! ```
//!
//! What can be said in a plan is what [`Scenario`](crate::simulation::Scenario) has fields for, and `title`, `description`,
//! `seeds`, `factors`, `cases`. `docs/plans.md` says it for readers of plans.

mod execute;
mod file;
mod result;
mod tally;
mod text;

pub(crate) use execute::spread;
pub use execute::{PlanOutcome, PlanWorld, Progress, RunOptions};
pub use file::{Cell, Plan, PlanError};
pub use result::{CellResult, Numbers, RunSummary, SimulationResult, write_plan_report};
pub(crate) use tally::mean;
pub use tally::{CellTally, Distribution, FlowTally, SeedTally};
pub use text::plan_table;
