//! The ledger of elements: which rules need one, and until when. Not: what an element is to the kernel.
//!
//! Rules may overlap (RFC 5189 §2.3.9), even be identical; the kernel has an element once. It lives as long as the last
//! of the rules that hold it.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};

use simco::PolicyRuleId;
use smallvec::SmallVec;
use virtual_time::Instant;

use crate::ruleset::{Key, Lookup, TranslationMap};

/// An element of one of the kernel's sets or maps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Element {
    pub(crate) place: Place,
    pub(crate) key: Key,
}

/// A set or a map.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Place {
    Set(Lookup),
    Map(TranslationMap),
}

impl Place {
    /// Returns the kernel's name for it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Set(lookup) => lookup.to_string(),
            Self::Map(map) => map.name(),
        }
    }
}

/// The elements that should be in the kernel, with an undo log for the transaction in work.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: HashMap<Element, Entry>,
    undo: Vec<(Element, Option<Entry>)>,
    /// How many elements a set should have; none is not listed.
    counts: BTreeMap<Lookup, usize>,
}

/// The reason why an element is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The data that it maps to; empty in a set.
    pub(crate) data: Key,
    holders: SmallVec<[(PolicyRuleId, Instant); 1]>,
}

impl Entry {
    /// Returns when the last of its rules ends.
    pub(crate) fn deadline(&self) -> Instant {
        self.holders.iter().map(|(_, deadline)| *deadline).max().unwrap_or(Instant::EPOCH)
    }
}

/// The change that an element needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// Nothing: another rule decides.
    None,
    /// The element is new, and ends then.
    Add(Instant),
    /// The element ends at another time.
    Retime(Instant),
    /// The element is to be removed.
    Remove,
}

/// A rule wants an address translated otherwise than another does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contradiction;

impl Ledger {
    /// Notes that a rule needs the element until `deadline`, and returns the change that this takes.
    pub(crate) fn hold(
        &mut self,
        element: Element,
        data: &Key,
        rule: PolicyRuleId,
        deadline: Instant,
    ) -> Result<Effect, Contradiction> {
        match self.entries.entry(element) {
            Slot::Vacant(slot) => {
                self.undo.push((slot.key().clone(), None));
                count(&mut self.counts, slot.key());
                slot.insert(Entry { data: data.clone(), holders: SmallVec::from_iter([(rule, deadline)]) });
                Ok(Effect::Add(deadline))
            }
            Slot::Occupied(mut slot) => {
                if slot.get().data != *data {
                    return Err(Contradiction);
                }
                self.undo.push((slot.key().clone(), Some(slot.get().clone())));
                let entry = slot.get_mut();
                let before = entry.deadline();
                match entry.holders.iter_mut().find(|(holder, _)| *holder == rule) {
                    Some((_, own)) => *own = deadline,
                    None => entry.holders.push((rule, deadline)),
                }
                Ok(retimed(before, entry.deadline()))
            }
        }
    }

    /// Notes that a rule needs the element no longer, and returns the change that this takes.
    pub(crate) fn release(&mut self, element: Element, rule: PolicyRuleId) -> Effect {
        let Slot::Occupied(mut slot) = self.entries.entry(element) else { return Effect::None };
        self.undo.push((slot.key().clone(), Some(slot.get().clone())));
        let entry = slot.get_mut();
        let before = entry.deadline();
        entry.holders.retain(|(holder, _)| *holder != rule);
        if entry.holders.is_empty() {
            discount(&mut self.counts, slot.key());
            slot.remove();
            return Effect::Remove;
        }
        retimed(before, entry.deadline())
    }

    /// The transaction took effect.
    pub(crate) fn commit(&mut self) {
        self.undo.clear();
    }

    /// The transaction did not: everything as before.
    pub(crate) fn roll_back(&mut self) {
        for (element, before) in self.undo.drain(..).rev() {
            match before {
                Some(entry) => {
                    if !self.entries.contains_key(&element) {
                        count(&mut self.counts, &element);
                    }
                    self.entries.insert(element, entry);
                }
                None => {
                    discount(&mut self.counts, &element);
                    self.entries.remove(&element);
                }
            }
        }
    }

    /// Returns everything that should be in the kernel.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Element, &Entry)> {
        self.entries.iter()
    }

    /// Returns the sets that should have an element.
    pub(crate) fn lookups(&self) -> impl Iterator<Item = Lookup> {
        self.counts.keys().copied()
    }

    /// Returns whether the set should have an element.
    pub(crate) fn uses(&self, lookup: &Lookup) -> bool {
        self.counts.contains_key(lookup)
    }

    /// Returns whether the element should be in the kernel.
    pub(crate) fn contains(&self, element: &Element) -> bool {
        self.entries.contains_key(element)
    }
}

fn count(counts: &mut BTreeMap<Lookup, usize>, element: &Element) {
    if let Place::Set(lookup) = element.place {
        *counts.entry(lookup).or_default() += 1;
    }
}

fn discount(counts: &mut BTreeMap<Lookup, usize>, element: &Element) {
    let Place::Set(lookup) = element.place else { return };
    let Some(count) = counts.get_mut(&lookup) else { return };
    *count -= 1;
    if *count == 0 {
        counts.remove(&lookup);
    }
}

fn retimed(before: Instant, after: Instant) -> Effect {
    if before == after { Effect::None } else { Effect::Retime(after) }
}

#[cfg(test)]
mod tests;
