//! Configurations that associations have in common: thousands of associations have one copy.

use std::sync::Arc;

use crate::config::AssociationConfig;
use crate::error::ConfigError;

/// The configurations that the next associations share.
pub(super) struct SharedConfigs {
    accepted: Arc<AssociationConfig>,
    /// The configuration of the association opened here last.
    initiated: Arc<AssociationConfig>,
}

impl SharedConfigs {
    pub(super) fn new(config: &AssociationConfig) -> Self {
        let accepted = Arc::new(config.clone());
        Self { initiated: Arc::clone(&accepted), accepted }
    }

    /// Associations that peers open from now on have this one.
    pub(super) fn set_accepted(&mut self, config: &AssociationConfig) {
        self.accepted = Arc::new(config.clone());
    }

    /// Returns the configuration of an association that a peer opens.
    pub(super) fn accepted(&self) -> Arc<AssociationConfig> {
        Arc::clone(&self.accepted)
    }

    /// Returns the configuration of an association opened here: that of the one before, if it is the same.
    ///
    /// # Errors
    /// The configuration cannot work.
    pub(super) fn initiated(
        &mut self,
        config: AssociationConfig,
    ) -> Result<Arc<AssociationConfig>, ConfigError> {
        if *self.initiated != config {
            config.validate()?;
            self.initiated = Arc::new(config);
        }
        Ok(Arc::clone(&self.initiated))
    }
}
