//! The links and addresses known, and the changes that a message means for those who use them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::AddressEvent;
use super::message::News;

/// Links and addresses, by interface.
#[derive(Debug, Default)]
pub(super) struct AddressTable {
    running: BTreeSet<u32>,
    /// The addresses of each interface, and whether each is known to be ours alone.
    assigned: BTreeMap<(u32, IpAddr), Uniqueness>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uniqueness {
    Checked,
    /// Duplicate address detection is under way or has failed (RFC 4862 §5.4).
    Tentative,
}

impl AddressTable {
    /// Returns the addresses that can be used, each once.
    pub(super) fn usable(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let usable = self.assigned.iter().filter(|((index, _), uniqueness)| {
            self.running.contains(index) && **uniqueness == Uniqueness::Checked
        });
        usable.map(|((_, address), _)| *address).collect::<BTreeSet<_>>().into_iter()
    }

    /// Takes a message in and says what it changed.
    pub(super) fn apply(&mut self, news: News) -> impl Iterator<Item = AddressEvent> + use<> {
        let before: BTreeSet<IpAddr> = self.usable().collect();
        match news {
            News::Link { index, is_running: true } => {
                self.running.insert(index);
            }
            News::Link { index, is_running: false } => {
                self.running.remove(&index);
            }
            News::LinkGone { index } => {
                self.running.remove(&index);
                self.assigned.retain(|(interface, _), _| *interface != index);
            }
            News::Address { index, address, is_tentative } => {
                let uniqueness = if is_tentative { Uniqueness::Tentative } else { Uniqueness::Checked };
                self.assigned.insert((index, address), uniqueness);
            }
            News::AddressGone { index, address } => {
                self.assigned.remove(&(index, address));
            }
            News::DumpDone => {}
        }
        changes(&before, &self.usable().collect()).into_iter()
    }

    /// Returns what has changed between this table and a newer one.
    pub(super) fn changes_to(&self, newer: &Self) -> impl Iterator<Item = AddressEvent> + use<> {
        changes(&self.usable().collect(), &newer.usable().collect()).into_iter()
    }
}

/// Returns the differences, new addresses first: who loses one may find another already there.
fn changes(before: &BTreeSet<IpAddr>, after: &BTreeSet<IpAddr>) -> Vec<AddressEvent> {
    let up = after.difference(before).copied().map(AddressEvent::Up);
    up.chain(before.difference(after).copied().map(AddressEvent::Down)).collect()
}
