//! The reason why a page could not be made.

use lab::TransportError;
use lab::plan::PlanError;
use lab::simulation::SimulationError;

/// The reason why a page could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StudyError {
    /// A plan of ours that is none.
    #[error("plan of {page}: {error}")]
    Plan {
        /// The page that the plan is for.
        page: &'static str,
        /// The mistake that the plan has.
        error: PlanError,
    },
    /// A cell that a page asks for is not one of its plan.
    #[error("{page}: {count} cells have {key}, and it takes one")]
    Cell {
        /// The page that asks for the cell.
        page: &'static str,
        /// The levels of the cell, by factor.
        key: String,
        /// The number of cells that have them.
        count: usize,
    },
    /// A run could not be carried out.
    #[error(transparent)]
    Run(#[from] SimulationError),
    /// A model has no answer for its arguments.
    #[error(transparent)]
    Model(#[from] models::ModelError),
    /// A transport of ours that is none.
    #[error(transparent)]
    Transport(TransportError),
    /// The user wants to stop before the end.
    #[error("interrupted")]
    Interrupted,
    /// A record of measurements that this crate carries cannot be read.
    #[error("{file}: {error}")]
    Recorded {
        /// The name of the file that the record is in.
        file: &'static str,
        /// The reason that the reader of the format gives.
        error: String,
    },
}
