//! The right to make network namespaces: obtained first thing, before any thread exists, and remembered.

use emulator::{Permission, enter_user_namespace};
use lab::{Backend, BackendError, CompareConfig, Namespaces, RawOutcome, TransportSpec};

/// The outcome of the request for rights.
#[derive(Debug)]
pub(crate) struct Rights(Result<Permission, String>);

impl Rights {
    /// Asks the kernel. Must come first in `main`: only a process with one thread may move into a user namespace.
    pub(crate) fn obtain() -> Self {
        Self(enter_user_namespace().map_err(|refused| refused.to_string()))
    }

    /// Creates the value for commands that need no rights.
    pub(crate) fn not_wanted() -> Self {
        Self(Err("not asked for".to_owned()))
    }

    /// Returns whether namespaces can be made.
    pub(crate) fn are_granted(&self) -> bool {
        self.0.is_ok()
    }

    /// Returns the permission, or why there is none and what to do.
    pub(crate) fn permission(self) -> Result<Permission, String> {
        self.0
    }
}

/// The namespaces backend; it refuses with the reason why the rights were refused.
pub(crate) struct WithRights(pub(crate) Rights);

impl Backend for WithRights {
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError> {
        match &self.0.0 {
            Ok(_granted) => Namespaces.run(config, transports),
            Err(because) => Err(BackendError::Refused { because: because.clone() }),
        }
    }
}
