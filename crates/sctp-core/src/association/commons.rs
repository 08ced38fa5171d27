//! What the associations of an endpoint have in common: thousands of them have one copy.

use core::ops::Deref;
use std::sync::Arc;

use super::auth::AnnouncedLists;
use crate::config::AssociationConfig;
use crate::receiver::SpareBlocks;
use crate::transmit::Encapsulation;

/// A configuration, what follows from it for authentication, and the blocks that messages are put together in.
#[derive(Clone, Debug)]
pub(crate) struct Commons {
    config: AssociationConfig,
    /// The lists that are announced for authentication, which no setting changes; `None` with the extension off.
    announced: Option<Arc<AnnouncedLists>>,
    pub(super) spare_blocks: SpareBlocks,
}

impl Commons {
    pub(crate) fn new(config: AssociationConfig, spare_blocks: SpareBlocks) -> Self {
        Self { announced: AnnouncedLists::ours(&config), config, spare_blocks }
    }

    /// Returns the lists that are announced for authentication; `None` with the extension off.
    pub(crate) fn announced(&self) -> Option<&Arc<AnnouncedLists>> {
        self.announced.as_ref()
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
