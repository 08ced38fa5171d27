//! The packet filters there are to choose from.

use nft_filter::{NftError, NftFilter};
use simco::filter::{Change, FilterError, FilterRule, MemoryFilter, PacketFilter};
use simco::{Capabilities, PolicyRule};
use virtual_time::Instant;

use crate::config::FilterSettings;

/// A packet filter, chosen by the configuration.
#[derive(Debug)]
pub(crate) enum Filter {
    /// Touches no packet.
    Memory(MemoryFilter),
    /// Linux.
    Nftables(Box<NftFilter>),
}

impl Filter {
    /// The filter, and the rules it knows from before.
    pub(crate) fn open(settings: &FilterSettings, now: Instant) -> Result<(Self, Vec<PolicyRule>), NftError> {
        match settings {
            FilterSettings::Memory => Ok((Self::Memory(MemoryFilter::new()), Vec::new())),
            FilterSettings::Nftables(config) => {
                let (filter, rules) = NftFilter::open(config.clone(), now)?;
                Ok((Self::Nftables(Box::new(filter)), rules))
            }
        }
    }
}

impl PacketFilter for Filter {
    fn capabilities(&self) -> Capabilities {
        match self {
            Self::Memory(filter) => filter.capabilities(),
            Self::Nftables(filter) => filter.capabilities(),
        }
    }

    fn apply(&mut self, now: Instant, changes: &[Change]) -> Result<(), FilterError> {
        match self {
            Self::Memory(filter) => filter.apply(now, changes),
            Self::Nftables(filter) => filter.apply(now, changes),
        }
    }

    fn list(&mut self, now: Instant) -> Result<Vec<FilterRule>, FilterError> {
        match self {
            Self::Memory(filter) => filter.list(now),
            Self::Nftables(filter) => filter.list(now),
        }
    }
}
