//! The use of shapes by the rules of agents, and sets that nobody uses any more. Not: what a shape is.

use std::collections::{BTreeMap, BTreeSet};

use simco::Owner;
use simco::filter::FilterRule;

use super::{NftFilter, elements_of};
use crate::error::NftError;
use crate::ledger::Place;
use crate::ruleset::{Lookup, write_lookup_set, write_lookups, write_removal};

/// The shapes that each agent's rules use, but for the common ones, with an undo log for the transaction in work.
#[derive(Debug, Default)]
pub(super) struct ShapeUses {
    rules: BTreeMap<Owner, BTreeMap<Lookup, usize>>,
    undo: Vec<(Owner, Lookup, Use)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Begun,
    Ended,
}

impl ShapeUses {
    /// Notes that an agent's rule uses these shapes from now on, unless that makes more than `most` of a kind.
    pub(super) fn begin(&mut self, owner: &Owner, rule: &FilterRule, most: usize) -> Result<(), NftError> {
        for lookup in odd(rule) {
            let uses = self.rules.entry(owner.clone()).or_default();
            let of_kind = uses.keys().filter(|known| known.is_like(&lookup)).count();
            if !uses.contains_key(&lookup) && of_kind >= most {
                return Err(NftError::TooManyShapesOfAgent { agent: owner.to_string(), most });
            }
            self.change(owner, lookup, Use::Begun);
            self.undo.push((owner.clone(), lookup, Use::Ended));
        }
        Ok(())
    }

    /// The rule is gone.
    pub(super) fn end(&mut self, owner: &Owner, rule: &FilterRule) {
        for lookup in odd(rule) {
            self.change(owner, lookup, Use::Ended);
            self.undo.push((owner.clone(), lookup, Use::Begun));
        }
    }

    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }

    pub(super) fn roll_back(&mut self) {
        for (owner, lookup, what) in core::mem::take(&mut self.undo).into_iter().rev() {
            self.change(&owner, lookup, what);
        }
    }

    fn change(&mut self, owner: &Owner, lookup: Lookup, what: Use) {
        let uses = self.rules.entry(owner.clone()).or_default();
        let count = uses.entry(lookup).or_default();
        match what {
            Use::Begun => *count += 1,
            Use::Ended => *count = count.saturating_sub(1),
        }
        if *count == 0 {
            uses.remove(&lookup);
        }
        if uses.is_empty() {
            self.rules.remove(owner);
        }
    }
}

impl NftFilter {
    /// Makes a set in the transaction in work, and gives others back for it if there are too many, but for
    /// those in `keep`.
    pub(super) fn have_set(&mut self, lookup: Lookup, keep: &BTreeSet<Lookup>) -> Result<(), NftError> {
        if self.sets.contains_key(&lookup) {
            return Ok(());
        }
        if self.sets.keys().filter(|known| known.is_like(&lookup)).count() >= self.config.most_shapes {
            self.give_back(&lookup, 1, keep);
        }
        if self.sets.keys().filter(|known| known.is_like(&lookup)).count() >= self.config.most_shapes {
            return Err(NftError::TooManyShapes { most: self.config.most_shapes });
        }
        write_lookup_set(&mut self.batch, &self.config, lookup);
        write_lookups(&mut self.batch, &self.config, lookup);
        self.sets.insert(lookup, lookup.to_string());
        self.new_sets.push(lookup);
        Ok(())
    }

    /// Gives back the sets of a rule that is gone, once there are several: each costs every packet a look.
    pub(super) fn tidy(&mut self, rule: &FilterRule) {
        for lookup in odd(rule) {
            if !self.ledger.uses(&lookup) {
                self.give_back(&lookup, SPARE, &BTreeSet::new());
            }
        }
    }

    /// Gives back all sets that nobody uses.
    pub(super) fn tidy_all(&mut self) {
        for lookup in self.sets.keys().copied().collect::<Vec<_>>() {
            if self.sets.contains_key(&lookup) && self.is_spare(&lookup) {
                self.give_back(&lookup, 1, &BTreeSet::new());
            }
        }
    }

    /// Takes the sets like this one away that nobody uses, if they are `least` or more.
    fn give_back(&mut self, like: &Lookup, least: usize, keep: &BTreeSet<Lookup>) {
        let alike = self.sets.keys().copied().filter(|known| known.is_like(like));
        let is_free = |lookup: &Lookup| self.is_spare(lookup) && !keep.contains(lookup);
        let (gone, remaining): (Vec<Lookup>, Vec<Lookup>) = alike.partition(is_free);
        if gone.len() < least {
            return;
        }
        write_removal(&mut self.batch, &self.config, &remaining, &gone);
        // A transaction that takes something away that is there is a generation.
        self.has_additions = true;
        for lookup in gone {
            self.sets.remove(&lookup);
            self.gone_sets.push(lookup);
        }
    }

    /// Returns whether nobody uses a set that need not be there. What the transaction in work has made, a rule
    /// is to use.
    fn is_spare(&self, lookup: &Lookup) -> bool {
        !lookup.shape.is_common() && !self.ledger.uses(lookup) && !self.new_sets.contains(lookup)
    }
}

/// Returns the sets that a rule needs beside the common ones.
fn odd(rule: &FilterRule) -> BTreeSet<Lookup> {
    let lookups = elements_of(rule).filter_map(|(element, _)| match element.place {
        Place::Set(lookup) => (!lookup.shape.is_common()).then_some(lookup),
        Place::Map(_) => None,
    });
    lookups.collect()
}

/// Sets without use that may stand until they are given back.
const SPARE: usize = 8;
