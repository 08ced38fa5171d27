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
pub mod throughput;
pub mod waiting;

pub use error::CompareError;
pub use markdown::Table;
pub use results::{Part, Results};

/// The half width of the 95 % confidence interval of the mean, by Student's t; zero of fewer than two.
fn half_width(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    let freedom = values.len().saturating_sub(1);
    let Some(t) = freedom.checked_sub(1).and_then(|index| T_97_5.get(index).or(T_97_5.last())) else {
        return 0.0;
    };
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
    t * (squares.iter().sum::<f64>() / f64::from(count - 1) / f64::from(count)).sqrt()
}

/// Student's t for 1, 2, … degrees of freedom, from the usual tables; the last one also for more, on the safe side.
const T_97_5: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// The mean; zero of nothing.
fn mean(values: &[f64]) -> f64 {
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX).max(1);
    values.iter().sum::<f64>() / f64::from(count)
}
