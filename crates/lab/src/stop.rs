//! Asking a comparison to end before its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the load generators of a comparison when it is raised, from whatever thread: what was measured until then
/// becomes the result. Clones are the same signal.
#[derive(Clone, Debug, Default)]
pub struct StopSignal {
    raised: Arc<AtomicBool>,
}

impl StopSignal {
    /// Asks the run to end early.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Returns whether somebody asked.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}

/// The reason why a run ended, or never began, that was asked to end.
pub(crate) const INTERRUPTED: &str = "interrupted";
