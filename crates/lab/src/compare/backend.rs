//! The backend that a comparison runs on.

use thiserror::Error;

use super::config::{BackendChoice, CompareConfig, CompareError};
use super::raw::{BackendKind, Fallback, RawOutcome, Skipped};
use crate::transport::TransportSpec;

/// Something that can run transports over an impaired path.
pub trait Backend {
    /// Runs each transport as often as the configuration says.
    ///
    /// # Errors
    ///
    /// [`BackendError::Refused`] before anything ran, when this host does not allow it;
    /// [`BackendError::Failed`] when it broke underway. A single transport that cannot run is no error but goes into
    /// [`RawOutcome::skipped`].
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError>;
}

/// Runs a comparison on the backend of its choice.
///
/// # Errors
///
/// [`RunError`] for a configuration that makes no sense, and when the backend refuses or fails. With
/// [`BackendChoice::Auto`] a refusal by the namespaces leads to the simulator, and the outcome says so.
pub fn run_compare(
    config: &CompareConfig,
    namespaces: &mut impl Backend,
    simulator: &mut impl Backend,
) -> Result<RawOutcome, RunError> {
    config.validate()?;
    let (transports, unsuitable) = suitable(config);
    let mut outcome = match config.backend {
        BackendChoice::Namespaces => namespaces.run(config, &transports)?,
        BackendChoice::Simulator => simulator.run(config, &transports)?,
        BackendChoice::Auto => match namespaces.run(config, &transports) {
            Err(BackendError::Refused { because }) => {
                let outcome = simulator.run(config, &transports)?;
                let fallback = Fallback { wanted: BackendKind::Namespaces, because };
                RawOutcome { fallback: Some(fallback), ..outcome }
            }
            outcome => outcome?,
        },
    };
    outcome.skipped.extend(unsuitable);
    Ok(outcome)
}

/// Returns the transports that the workload runs over, and why not over the others.
fn suitable(config: &CompareConfig) -> (Vec<TransportSpec>, Vec<Skipped>) {
    let because = |transport: TransportSpec| config.client_plan(transport, 0).err();
    let (skipped, suitable): (Vec<TransportSpec>, Vec<TransportSpec>) =
        config.transports.as_slice().iter().partition(|transport| because(**transport).is_some());
    let skipped = skipped.into_iter().map(|transport| Skipped {
        id: transport.to_string(),
        because: because(transport).unwrap_or_default(),
    });
    (suitable, skipped.collect())
}

/// The reason why a backend has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BackendError {
    /// The backend is not to be had on this host, or not with these rights; nothing has run.
    #[error("the backend cannot run here: {because}")]
    Refused {
        /// The part that is missing, and what to do.
        because: String,
    },
    /// The backend broke while it ran.
    #[error("the run failed: {because}")]
    Failed {
        /// The event that broke the run.
        because: String,
    },
}

/// The reason why a comparison has no outcome.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RunError {
    /// The comparison makes no sense: exit status 2.
    #[error(transparent)]
    Config(#[from] CompareError),
    /// The backend failed: exit status 1.
    #[error(transparent)]
    Backend(#[from] BackendError),
}
