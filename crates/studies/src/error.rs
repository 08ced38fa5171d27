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
}
