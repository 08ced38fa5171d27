//! Why a comparison could not be made.

use std::path::PathBuf;

use models::ModelError;
use netsim::{ConnectError, InterfaceError};
use sctp_core::ConfigError;

/// Why a comparison could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A model refuses the cell.
    #[error("the model has no answer: {0}")]
    Model(#[from] ModelError),
    /// The simulated network could not be built.
    #[error("the simulated network could not be built: {0}")]
    Interface(#[from] InterfaceError),
    /// The simulated link could not be built.
    #[error("the simulated link could not be built: {0}")]
    Link(#[from] ConnectError),
    /// The stack refuses its parameters.
    #[error("the stack refuses its parameters: {0}")]
    Config(#[from] ConfigError),
    /// The stack refuses to connect.
    #[error("the stack refuses to connect: {0}")]
    Connect(#[from] sctp_core::ConnectError),
    /// The loss probability is none.
    #[error("the loss probability is none: {0}")]
    Probability(#[from] netem::OutOfRange),
    /// The loss model is out of bounds.
    #[error("the loss model is out of bounds: {0}")]
    Loss(#[from] netem::InvalidGilbertElliott),
    /// The model knows no wait for this transport.
    #[error("the model knows no wait in one direction for this transport")]
    NoWaiting,
    /// Messages that should have arrived did not.
    #[error("{cell}: {arrived} of {sent} messages arrived: all have to")]
    Missing {
        /// The cell.
        cell: String,
        /// Messages delivered.
        arrived: usize,
        /// Messages sent.
        sent: usize,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file of results is not what this program writes.
    #[error("{}: {source}: write it again with `cargo run --release -p model-errors -- write`", path.display())]
    Results {
        /// Which.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The document has no place for a table.
    #[error("{document} has no line `{mark}`: put it where the table belongs")]
    NoPlace {
        /// The document.
        document: &'static str,
        /// What marks the place.
        mark: String,
    },
    /// The document differs from the results.
    #[error("{document} is not what the results say: run `cargo run --release -p model-errors -- write`")]
    Outdated {
        /// The document.
        document: &'static str,
    },
}
