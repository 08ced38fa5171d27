//! S5's start-up model against the SCTP that ships, over the grid of the study's validation and beyond.

mod grid;
mod points;
mod tables;
mod world;

#[cfg(test)]
mod tests;

use models::startup::{Startup, WindowRule, predict};
use serde::{Deserialize, Serialize};

use crate::error::CompareError;

pub use grid::{Cell, grid};
pub use points::{Reading, readings};
pub(crate) use tables::{table_of_grid, table_of_readings};
pub use world::{Stack, transfer_times};

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The cell.
    pub cell: Cell,
    /// Messages until the start-up was over.
    pub messages: usize,
    /// `Θmax` in the simulation, in milliseconds.
    pub simulated_penalty_ms: f64,
    /// The model with overbooking.
    pub overbooking: Error,
    /// The model as in the study, the flight never above the window.
    pub within_window: Error,
}

/// A model beside the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// `Θmax` by the model, in milliseconds.
    pub penalty_ms: f64,
    /// Mean over the messages of `|model − simulation| / simulation`, of the transfer time.
    pub mean_relative: f64,
    /// The largest of these.
    pub max_relative: f64,
}

/// Every cell of the grid.
///
/// # Errors
/// As [`transfer_times`].
pub fn table() -> Result<Vec<Row>, CompareError> {
    grid().iter().map(row).collect()
}

/// One cell: simulated once, predicted by both rules.
///
/// # Errors
/// As [`transfer_times`].
pub fn row(cell: &Cell) -> Result<Row, CompareError> {
    let messages = predict(&cell.startup(WindowRule::WithinWindow))?.messages.len();
    let simulated: Vec<f64> =
        transfer_times(&cell.startup(WindowRule::Overbooking), Stack::Assumptions, messages)?
            .iter()
            .map(|time| time.as_secs_f64() * 1e3)
            .collect();
    let one_way = cell.rtt_ms / 2.0;
    Ok(Row {
        cell: cell.clone(),
        messages,
        simulated_penalty_ms: simulated.iter().fold(0.0, |most, time| f64::max(most, time - one_way)),
        overbooking: error(&cell.startup(WindowRule::Overbooking), &simulated)?,
        within_window: error(&cell.startup(WindowRule::WithinWindow), &simulated)?,
    })
}

/// The model beside simulated transfer times. Messages beyond the end of the predicted start-up wait for nothing.
fn error(startup: &Startup, simulated_ms: &[f64]) -> Result<Error, CompareError> {
    let prediction = predict(startup)?;
    let one_way_ms = startup.rtt.as_secs_f64() * 1e3 / 2.0;
    let predicted_ms = prediction.messages.iter().map(|message| message.transfer.as_secs_f64() * 1e3);
    let predicted_ms = predicted_ms.chain(core::iter::repeat(one_way_ms));
    let errors: Vec<f64> = simulated_ms
        .iter()
        .zip(predicted_ms)
        .map(|(simulated, model)| (model / simulated - 1.0).abs())
        .collect();
    Ok(Error {
        penalty_ms: prediction.penalty.as_secs_f64() * 1e3,
        mean_relative: crate::mean(&errors),
        max_relative: errors.iter().copied().fold(0.0, f64::max),
    })
}
