//! How far the models are from the simulation: the tables of `docs/models.md`.
//!
//! Each part predicts and simulates the same cells, with the SCTP that ships or the simulator's TCP in the loop, and
//! keeps the two numbers side by side. What the tables show is in `docs/models.json`, so that a table can be checked
//! against its numbers in no time and its numbers against the code by simulating again.
//!
//! ```
//! use model_errors::startup::{grid, row};
//!
//! let cell = grid().into_iter().find(|cell| cell.published_error.is_some()).ok_or("a cell of the study")?;
//! assert!(row(&cell)?.overbooking.mean_relative < 0.03);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod document;
mod error;
mod markdown;
mod results;
pub mod startup;

pub use error::CompareError;
pub use markdown::Table;
pub use results::{Part, Results};

/// The mean; zero of nothing.
fn mean(values: &[f64]) -> f64 {
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX).max(1);
    values.iter().sum::<f64>() / f64::from(count)
}
