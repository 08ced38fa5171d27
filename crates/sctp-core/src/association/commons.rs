//! What the associations of an endpoint have in common: thousands of them have one copy.

use core::ops::Deref;
use std::sync::Arc;

use crate::config::AssociationConfig;
use crate::receiver::SpareBlocks;
use crate::transmit::Encapsulation;

/// A configuration, and the blocks that messages are put together in.
#[derive(Clone, Debug)]
pub(crate) struct Commons {
    config: AssociationConfig,
    pub(super) spare_blocks: SpareBlocks,
}

impl Commons {
    pub(crate) fn new(config: AssociationConfig, spare_blocks: SpareBlocks) -> Self {
        Self { config, spare_blocks }
    }

    /// Returns them as they hold for packets that travel like this.
    pub(super) fn over(mut self: Arc<Self>, encapsulation: Encapsulation) -> Arc<Self> {
        let extensions = self.extensions.over(encapsulation);
        if extensions != self.extensions {
            Self::change(&mut self).extensions = extensions;
        }
        self
    }

    /// Returns the configuration to be changed, for this association alone.
    pub(super) fn change(commons: &mut Arc<Self>) -> &mut AssociationConfig {
        &mut Arc::make_mut(commons).config
    }
}

impl Deref for Commons {
    type Target = AssociationConfig;

    fn deref(&self) -> &AssociationConfig {
        &self.config
    }
}
