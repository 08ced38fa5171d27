//! A run as the laboratory makes it: a cell of a plan, from its first packet to its statistics.

use std::error::Error;

use lab::plan::Plan;
use lab::simulation::{Scenario, Watch, simulate};

/// Requests over six streams with 1 % loss, of `plans/response-time.toml`.
///
/// # Errors
/// When that is no plan, or has no such cell.
pub fn scenario() -> Result<Scenario, Box<dyn Error>> {
    let plan = Plan::parse(PLAN)?;
    let is_wanted = |cell: &lab::plan::Cell| {
        ["1%", "sctp:6"]
            .iter()
            .all(|wanted| cell.factors.iter().any(|(_, level)| level.as_str() == Some(*wanted)))
    };
    let cell = plan.cells.into_iter().find(is_wanted).ok_or("the plan has no such cell")?;
    Ok(cell.scenario)
}

/// Runs it with one seed; the packets that were sent.
///
/// # Errors
/// When it cannot be run.
pub fn run(scenario: &Scenario) -> Result<u64, Box<dyn Error>> {
    Ok(simulate(scenario, 1, &Watch::default())?.packets)
}

/// Counts a run.
///
/// # Errors
/// As [`scenario`] and [`run`].
pub fn counted() -> Result<u64, Box<dyn Error>> {
    let scenario = scenario()?;
    let mut packets = Ok(0);
    crate::counting::counted(&mut || packets = run(&scenario));
    packets
}

const PLAN: &str = include_str!("../../../plans/response-time.toml");
