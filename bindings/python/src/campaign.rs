//! The cells of a plan, and single runs of a cell, for campaigns.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lab::StopSignal;
use lab::plan::{Plan, SeedResult};
use lab::simulation::{Scenario, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyErr, PyResult, Python, pyfunction};
use serde::Serialize;

use crate::simulate::wrong;
use crate::waiting::wait_for;

/// The part of a plan that a campaign goes by.
#[derive(Serialize)]
struct PlanParts<'p> {
    title: &'p str,
    seeds: &'p [u64],
    precision: Option<Aim<'p>>,
    cells: Vec<(&'p [(String, serde_json::Value)], &'p str)>,
}

/// The precision at which a cell has had seeds enough.
#[derive(Serialize)]
struct Aim<'p> {
    figure: &'p str,
    half_width: f64,
    every: usize,
}

/// The outcome of a run: its figures, or why there are none.
#[derive(Serialize)]
#[serde(untagged)]
enum Ran {
    Well(Box<SeedResult>),
    Badly { seed: u64, error: String },
}

/// Returns title, seeds, precision and cells of a plan as JSON; a cell is its factors, and its text.
#[pyfunction]
pub(crate) fn cells(py: Python<'_>, plan: &str) -> PyResult<String> {
    let plan = Plan::parse(plan).map_err(|error| wrong(py, &error))?;
    let precision = plan.precision.as_ref().map(|precision| Aim {
        figure: &precision.figure,
        half_width: precision.half_width.0.value(),
        every: precision.every,
    });
    let cells = plan.cells.iter().map(|cell| (cell.factors.as_slice(), cell.text.as_str())).collect();
    json(&PlanParts { title: &plan.title, seeds: &plan.seeds, precision, cells })
}

/// Runs a cell, which is given as its text, with each of some seeds; returns a line of JSON for each run.
///
/// A run that fails or panics is a line with its seed and its error.
#[pyfunction]
pub(crate) fn run_cell(py: Python<'_>, cell: &str, seeds: Vec<u64>) -> PyResult<Vec<String>> {
    let plan = Plan::parse(&format!("title = \"cell\"\n{cell}")).map_err(|error| wrong(py, &error))?;
    let stop = StopSignal::default();
    let watch = Watch::from(&stop);
    let runs = move || {
        let scenario = plan.cells.first().map(|cell| &cell.scenario);
        let runs = scenario.into_iter().flat_map(|scenario| seeds.iter().map(move |seed| (scenario, *seed)));
        runs.take_while(|_| !watch.stop.is_raised())
            .map(|(scenario, seed)| run(scenario, seed, &watch))
            .collect::<Vec<_>>()
    };
    wait_for(py, &stop, || Ok(()), runs)?.iter().map(json).collect()
}

/// Returns half the width of the 95 % interval of the mean of independent values; `None` with too few of them.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "values come from Python")]
pub(crate) fn half_width(values: Vec<f64>) -> Option<f64> {
    lab::half_width(&values)
}

fn run(scenario: &Scenario, seed: u64, watch: &Watch) -> Ran {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "faults")]
        fault(seed);
        lab::simulation::simulate(scenario, seed, watch).map(|outcome| SeedResult::new(seed, outcome))
    }));
    match outcome {
        Ok(Ok(result)) => Ran::Well(Box::new(result)),
        Ok(Err(error)) => Ran::Badly { seed, error: error.to_string() },
        Err(panic) => Ran::Badly { seed, error: format!("panicked: {}", last_words(panic.as_ref())) },
    }
}

/// Panics in the run that a test names. What ships is built without the feature and has no such thing.
#[cfg(feature = "faults")]
fn fault(seed: u64) {
    let named = std::env::var("HEADWAY_PANIC_AT_SEED").ok().and_then(|named| named.parse().ok());
    assert!(named != Some(seed), "a test asked for it");
}

/// Returns what a panic said.
fn last_words(panic: &(dyn Any + Send)) -> &str {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value)
        .map_err(|error: serde_json::Error| -> PyErr { PyRuntimeError::new_err(error.to_string()) })
}
