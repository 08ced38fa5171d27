//! What the next associations have in common with those before.

use std::sync::Arc;

use crate::association::Commons;
use crate::config::AssociationConfig;
use crate::error::ConfigError;
use crate::receiver::SpareBlocks;

/// The configurations that the next associations share.
pub(super) struct SharedConfigs {
    accepted: Arc<Commons>,
    /// The configuration of the association opened here last.
    initiated: Arc<Commons>,
    spare_blocks: SpareBlocks,
}

impl SharedConfigs {
    pub(super) fn new(config: &AssociationConfig, spare_blocks: SpareBlocks) -> Self {
        let accepted = Arc::new(Commons::new(config.clone(), spare_blocks.clone()));
        Self { initiated: Arc::clone(&accepted), accepted, spare_blocks }
    }

    /// Associations that peers open from now on have this one.
    pub(super) fn set_accepted(&mut self, config: &AssociationConfig) {
        self.accepted = Arc::new(Commons::new(config.clone(), self.spare_blocks.clone()));
    }

    /// Returns the configuration of an association that a peer opens.
    pub(super) fn accepted(&self) -> &Arc<Commons> {
        &self.accepted
    }

    /// Returns the configuration of an association opened here: that of the one before, if it is the same.
    ///
    /// # Errors
    /// The configuration cannot work.
    pub(super) fn initiated(&mut self, config: AssociationConfig) -> Result<Arc<Commons>, ConfigError> {
        if **self.initiated != config {
            config.validate()?;
            self.initiated = Arc::new(Commons::new(config, self.spare_blocks.clone()));
        }
        Ok(Arc::clone(&self.initiated))
    }
}
