//! How many of the associations that peers have opened each source network has, and which of them may give way.
//!
//! A peer that has sent no user data yet has shown little: where room gets short, the oldest such association of the network
//! with the most of them ends for each new one. So a network that holds many of them loses them first, its own
//! newcomers take the places of its own, and who comes from elsewhere finds room.

use std::collections::{BTreeMap, BTreeSet};

use virtual_time::Instant;

use super::Endpoint;
use super::init_limiter::{InitLimiter, Network, network};
use super::newcomers::Newcomers;
use super::table::Entry;
use crate::error::AssociationError;
use crate::receiver::Receiver;
use crate::transmit::{Destination, Encapsulation};

/// The packets and associations of peers, by the network they come from.
pub(super) struct Sources {
    pub(super) inits: InitLimiter,
    pub(super) crowds: Crowds,
    pub(super) newcomers: Newcomers,
}

/// Associations opened by peers, by their network. What it does for one takes steps by the logarithm of their number.
#[derive(Default)]
pub(super) struct Crowds {
    by_network: BTreeMap<Network, Crowd>,
    /// Networks by how many quiet associations they seem to have.
    by_quiet: BTreeSet<(usize, Network)>,
}

#[derive(Default)]
struct Crowd {
    associations: usize,
    /// The associations that have not been found to have been used, by age; with their slots.
    quiet: BTreeSet<(u32, usize)>,
}

impl Crowds {
    /// Returns the number of associations of this network that are open.
    pub(super) fn count(&self, network: Network) -> usize {
        self.by_network.get(&network).map_or(0, |crowd| crowd.associations)
    }

    /// A peer has opened an association. `generation` rises from one to the next.
    pub(super) fn enter(&mut self, network: Network, generation: u32, slot: usize) {
        self.change(network, |crowd| {
            crowd.associations += 1;
            crowd.quiet.insert((generation, slot));
        });
    }

    /// Removes an association, which is over.
    pub(super) fn leave(&mut self, network: Network, generation: u32, slot: usize) {
        self.change(network, |crowd| {
            crowd.associations = crowd.associations.saturating_sub(1);
            crowd.quiet.remove(&(generation, slot));
        });
    }

    /// Returns the slot of the association that gives way first, if there is any of which `is_quiet` is true.
    /// Those found to have been used are not looked at again, and no more than a few for each call.
    pub(super) fn first_to_go(&mut self, is_quiet: impl Fn(usize) -> bool) -> Option<usize> {
        for _ in 0..LOOKS {
            let &(_, network) = self.by_quiet.last()?;
            let &(generation, slot) = self.by_network.get(&network)?.quiet.first()?;
            if is_quiet(slot) {
                return Some(slot);
            }
            self.change(network, |crowd| {
                crowd.quiet.remove(&(generation, slot));
            });
        }
        None
    }

    /// Keeps both tables in step, and no network without associations.
    fn change(&mut self, network: Network, change: impl FnOnce(&mut Crowd)) {
        let crowd = self.by_network.entry(network).or_default();
        let before = crowd.quiet.len();
        change(crowd);
        let after = crowd.quiet.len();
        if before != after {
            self.by_quiet.remove(&(before, network));
            if after > 0 {
                self.by_quiet.insert((after, network));
            }
        }
        if crowd.associations == 0 {
            self.by_network.remove(&network);
            self.by_quiet.remove(&(after, network));
        }
    }
}

impl Endpoint {
    /// Returns whether a peer in this network may open one more association. Where there are nearly as many as
    /// there may be, another one ends for it, if there is one that may.
    pub(super) fn has_room(&mut self, now: Instant, network: Option<Network>) -> bool {
        let (limit, crowds) = (self.config.association_limit, self.config.crowds);
        let is_crowd = |network| self.sources.crowds.count(network) >= crowds.of_network(limit);
        if self.table.len() >= limit || network.is_some_and(is_crowd) {
            return false;
        }
        if self.table.len() >= limit - crowds.reserve(limit) {
            self.make_room(now);
        }
        true
    }

    fn make_room(&mut self, now: Instant) {
        let associations = &self.table.associations;
        let has_data = |entry: &Entry| entry.association.receiver().is_some_and(Receiver::has_received);
        let is_quiet = |slot| associations.get(slot).is_some_and(|entry| !has_data(entry));
        if let Some(slot) = self.sources.crowds.first_to_go(is_quiet) {
            self.statistics.handshake.gave_way += 1;
            self.with(now, slot, |association| association.abort_exhausted(AssociationError::GaveWay));
        }
    }

    /// A peer has opened an association.
    pub(super) fn enter_crowd(&mut self, slot: usize, network: Option<Network>) {
        let Some(entry) = self.table.associations.get_mut(slot) else { return };
        entry.network = network;
        if let Some(network) = network {
            self.sources.crowds.enter(network, entry.generation, slot);
        }
    }

    /// An association is over.
    pub(super) fn leave_crowd(&mut self, slot: usize) {
        let Some(entry) = self.table.associations.get_mut(slot) else { return };
        if let Some(network) = entry.network.take() {
            self.sources.crowds.leave(network, entry.generation, slot);
        }
    }
}

/// Returns the network that an association with this peer counts for. Who can write into a channel has shown
/// who it is to the layer below.
pub(super) fn network_of(peer: Destination) -> Option<Network> {
    (peer.encapsulation != Encapsulation::Datagrams).then(|| network(peer.address))
}

/// Associations looked at to find one that may give way. Each is passed over once.
const LOOKS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(last: u8) -> Network {
        network([192, 0, last, 1].into())
    }

    #[test]
    fn oldest_quiet_association_of_the_network_with_the_most_of_them_goes_first() {
        let mut crowds = Crowds::default();
        for (generation, network) in (1..).zip([1, 2, 2, 2, 1, 3]) {
            crowds.enter(of(network), generation, generation as usize);
        }
        assert_eq!((crowds.count(of(1)), crowds.count(of(2)), crowds.count(of(9))), (2, 3, 0));
        assert_eq!(crowds.first_to_go(|_| true), Some(2));
        assert_eq!(crowds.first_to_go(|slot| slot != 2), Some(3));
        crowds.leave(of(2), 3, 3);
        assert_eq!(
            crowds.first_to_go(|_| true),
            Some(1),
            "2 has been used, 3 is over: network 2 has one left"
        );
        for (generation, network) in [(1, 1), (2, 2), (4, 2), (5, 1), (6, 3)] {
            crowds.leave(of(network), generation, generation as usize);
        }
        assert_eq!(crowds.first_to_go(|_| true), None);
        assert!(crowds.by_network.is_empty() && crowds.by_quiet.is_empty());
    }

    #[test]
    fn each_used_association_is_passed_over_once_and_few_at_a_time() {
        let mut crowds = Crowds::default();
        (1..=100_u32).for_each(|generation| crowds.enter(of(1), generation, generation as usize));
        let looks = core::cell::Cell::new(0);
        let is_quiet = |slot| {
            looks.set(looks.get() + 1);
            slot == 100
        };
        assert_eq!(crowds.first_to_go(is_quiet), None);
        assert_eq!(looks.get(), LOOKS);
        assert_eq!(crowds.first_to_go(is_quiet), Some(100));
        assert_eq!((looks.get(), crowds.count(of(1))), (100, 100));
    }
}
