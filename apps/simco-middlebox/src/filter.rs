//! The packet filters there are to choose from.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use nft_filter::{Damage, NftError, NftFilter, Passing};
use simco::filter::{Change, FilterError, FilterRule, MemoryFilter, Network, PacketFilter};
use simco::{Capabilities, PolicyRule};
use virtual_time::Instant;

use crate::config::FilterSettings;

/// A packet filter, chosen by the configuration.
#[derive(Debug)]
pub(crate) enum Filter {
    /// Touches no packet.
    Memory(MemoryFilter),
    /// The nftables of the Linux kernel.
    Nftables(Box<NftFilter>),
}

impl Filter {
    /// Opens the filter, and returns it with the rules it knows from before.
    ///
    /// `kept` is the socket by which an earlier process owned the table.
    pub(crate) fn open(
        settings: &FilterSettings,
        kept: Option<OwnedFd>,
        now: Instant,
    ) -> Result<(Self, Vec<PolicyRule>), NftError> {
        let config = match settings {
            FilterSettings::Memory => return Ok((Self::Memory(MemoryFilter::new()), Vec::new())),
            FilterSettings::Nftables { config, .. } => config.clone(),
        };
        let (filter, rules) = match kept {
            Some(socket) => NftFilter::open_inherited(config, socket, now)?,
            None => NftFilter::open(config, now)?,
        };
        Ok((Self::Nftables(Box::new(filter)), rules))
    }

    /// Returns the socket that owns the table, for somebody to keep when this process dies.
    pub(crate) fn to_keep(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Nftables(filter) if filter.is_owner() => Some(filter.owner_socket()),
            Self::Nftables(_) | Self::Memory(_) => None,
        }
    }

    /// Returns the names of other tables of ours, which close what they close.
    pub(crate) fn others(&self) -> &[String] {
        match self {
            Self::Nftables(filter) => filter.others(),
            Self::Memory(_) => &[],
        }
    }

    /// Returns whether packets obey and others might interfere.
    pub(crate) const fn is_watched(&self) -> bool {
        matches!(self, Self::Nftables(_))
    }

    /// Returns whether the kernel keeps all others off.
    pub(crate) const fn is_owner(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Nftables(filter) => filter.is_owner(),
        }
    }

    /// Returns what is known to have become of it behind our back.
    pub(crate) const fn damage(&self) -> Option<Damage> {
        match self {
            Self::Memory(_) => None,
            Self::Nftables(filter) => filter.damage(),
        }
    }

    /// Looks whether it is as we left it.
    pub(crate) fn inspect(&mut self) -> Result<Option<Damage>, NftError> {
        match self {
            Self::Memory(_) => Ok(None),
            Self::Nftables(filter) => filter.inspect(),
        }
    }

    /// Writes it anew.
    pub(crate) fn rewrite(&mut self, now: Instant, rules: &[Arc<PolicyRule>]) -> Result<(), NftError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Nftables(filter) => filter.rewrite(now, rules.iter().map(|rule| &**rule)),
        }
    }
}

impl Filter {
    /// Returns what passes, in a word.
    pub(crate) const fn passing(&self) -> &'static str {
        match self {
            Self::Memory(_) => "everything",
            Self::Nftables(filter) => match filter.passing() {
                Passing::Pinholes => "pinholes",
                Passing::Everything => "everything",
                Passing::Nothing => "nothing",
            },
        }
    }

    /// Lets other packets pass from now on.
    pub(crate) fn set_passing(&mut self, passing: Passing) -> Result<(), NftError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Nftables(filter) => filter.set_passing(passing),
        }
    }

    /// Closes other addresses from now on.
    pub(crate) fn set_closed(&mut self, closed: Vec<Network>) -> Result<(), NftError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Nftables(filter) => filter.set_closed(closed),
        }
    }

    /// Takes the table away, which opens the network until it is written anew.
    pub(crate) fn remove_table(&mut self) -> Result<(), NftError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Nftables(filter) => filter.remove_table(),
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
