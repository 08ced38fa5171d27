//! The runs of a plan in virtual time.

use std::sync::Arc;

use lab::plan::{Plan, PlanError, RunOptions, SimulationResult};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::PyAnyMethods;
use pyo3::{Bound, PyAny, PyErr, PyResult, Python, pyfunction};

use crate::waiting::wait_for;

/// Runs a plan, the text of a TOML file, in the simulator; returns the result as JSON.
///
/// `progress(done, all)` is called some ten times a second. What it raises ends the run, and so does an interrupt.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    plan: &str,
    seeds: Option<Vec<u64>>,
    jobs: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let mut plan = Plan::parse(plan).map_err(|error| wrong(py, &error))?;
    plan.seeds = seeds.unwrap_or(plan.seeds);
    let plan = Arc::new(plan);
    let options = RunOptions { jobs, ..RunOptions::default() };
    let (stop, counter) = (options.stop.clone(), options.progress.clone());
    counter.expect(plan.cells.len() * plan.seeds.len());
    let running = Arc::clone(&plan);
    let look = || progress.map_or(Ok(()), |progress| progress.call1(counter.get()).map(drop));
    let outcome = wait_for(py, &stop, look, move || running.run(&options))?;
    let outcome = outcome.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let result = SimulationResult::new(&plan, &outcome);
    py.detach(|| serde_json::to_string(&result)).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Returns the TOML of a plan that was written as JSON.
#[pyfunction]
pub(crate) fn plan_of_json(json: &str) -> PyResult<String> {
    let refused = |because: String| crate::PlanError::new_err(because);
    let plan: toml::Table = serde_json::from_str(json).map_err(|error| refused(error.to_string()))?;
    toml::to_string(&plan).map_err(|error| refused(error.to_string()))
}

/// Says what is wrong with a plan, and where.
pub(crate) fn wrong(py: Python<'_>, error: &PlanError) -> PyErr {
    let refused = crate::PlanError::new_err(error.to_string());
    let value = refused.value(py);
    let placed = value.setattr("line", error.line).and_then(|()| value.setattr("key", &error.key));
    placed.map_or_else(|error| error, |()| refused)
}
