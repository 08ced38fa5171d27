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
    // Those that the workload does not run over.
    let refused = |transport| config.client_plan(transport, 0).err();
    let (transports, unsuitable) = sorted_out(config.transports.as_slice(), refused);
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

/// Returns the transports that can be run, and why the others cannot.
pub(crate) fn sorted_out(
    transports: &[TransportSpec],
    refused: impl Fn(TransportSpec) -> Option<String>,
) -> (Vec<TransportSpec>, Vec<Skipped>) {
    let (mut suitable, mut skipped) = (Vec::new(), Vec::new());
    for transport in transports {
        match refused(*transport) {
            None => suitable.push(*transport),
            Some(because) => skipped.push(Skipped { id: transport.to_string(), because }),
        }
    }
    (suitable, skipped)
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
