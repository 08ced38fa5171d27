//! The rule base: rules, groups, owners, deadlines. Decides nothing; a change can be taken back.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use virtual_time::Instant;

use crate::filter::{Change, FilterRule};
use crate::numbers::{GroupId, PolicyRuleId};
use crate::rule::{Owner, PolicyRule, RuleKind};

/// All policy rules of a middlebox.
#[derive(Debug, Default)]
pub(crate) struct RuleBase {
    rules: BTreeMap<PolicyRuleId, Arc<PolicyRule>>,
    deadlines: BTreeSet<(Instant, PolicyRuleId)>,
    groups: BTreeMap<GroupId, Group>,
    owners: BTreeMap<Owner, BTreeSet<PolicyRuleId>>,
    /// The packets that disable rules block; few, so that every new pinhole is compared with all.
    blocks: BTreeMap<PolicyRuleId, FilterRule>,
    /// Pinholes with a translation, by internal address.
    translated: BTreeMap<IpAddr, BTreeSet<PolicyRuleId>>,
    newest_rule: PolicyRuleId,
    newest_group: GroupId,
}

/// A group lives while it has members.
#[derive(Debug)]
struct Group {
    owner: Owner,
    members: usize,
}

impl RuleBase {
    pub(crate) fn rule(&self, id: PolicyRuleId) -> Option<&Arc<PolicyRule>> {
        self.rules.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<PolicyRule>> {
        self.rules.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn count_of(&self, owner: &Owner) -> usize {
        self.owners.get(owner).map_or(0, BTreeSet::len)
    }

    pub(crate) fn ids_of(&self, owner: &Owner) -> impl Iterator<Item = PolicyRuleId> {
        self.owners.get(owner).into_iter().flatten().copied()
    }

    pub(crate) fn group_owner(&self, group: GroupId) -> Option<&Owner> {
        self.groups.get(&group).map(|group| &group.owner)
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &FilterRule> {
        self.blocks.values()
    }

    /// Returns the pinholes with a translation for this internal host.
    pub(crate) fn translated(&self, internal: IpAddr) -> impl Iterator<Item = &Arc<PolicyRule>> {
        self.translated.get(&internal).into_iter().flatten().filter_map(|id| self.rules.get(id))
    }

    /// Returns an identifier not used for as long as possible (ruling R10).
    pub(crate) fn new_rule_id(&mut self) -> PolicyRuleId {
        loop {
            self.newest_rule = self.newest_rule.next();
            if !self.rules.contains_key(&self.newest_rule) {
                return self.newest_rule;
            }
        }
    }

    /// Returns an identifier not used for as long as possible.
    pub(crate) fn new_group_id(&mut self) -> GroupId {
        loop {
            self.newest_group = self.newest_group.next();
            if !self.groups.contains_key(&self.newest_group) {
                return self.newest_group;
            }
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the rule whose time is up at `now`, the earliest first.
    pub(crate) fn expired(&self, now: Instant) -> Option<&Arc<PolicyRule>> {
        let (deadline, id) = self.deadlines.first()?;
        if *deadline > now {
            return None;
        }
        self.rules.get(id)
    }

    /// Makes a change.
    pub(crate) fn apply(&mut self, change: &Change) {
        self.exchange(change.before(), change.after());
    }

    /// Takes a change back; the latest first.
    pub(crate) fn revert(&mut self, change: &Change) {
        self.exchange(change.after(), change.before());
    }

    /// Takes a rule in that was there before a restart.
    pub(crate) fn restore(&mut self, rule: &Arc<PolicyRule>) {
        self.exchange(None, Some(rule));
        self.newest_rule = self.newest_rule.max(rule.id);
        self.newest_group = self.newest_group.max(rule.group().unwrap_or_default());
    }

    fn exchange(&mut self, gone: Option<&Arc<PolicyRule>>, new: Option<&Arc<PolicyRule>>) {
        // In first, so that a group that goes from one to the other does not end in between.
        if let Some(new) = new {
            self.join_group(new);
        }
        if let Some(gone) = gone {
            self.remove(gone);
        }
        if let Some(new) = new {
            self.insert(new);
        }
    }

    fn insert(&mut self, rule: &Arc<PolicyRule>) {
        self.deadlines.insert((rule.deadline, rule.id));
        self.owners.entry(rule.owner.clone()).or_default().insert(rule.id);
        if let (RuleKind::Disable(_), Some(block)) = (&rule.kind, rule.filter_rule()) {
            self.blocks.insert(rule.id, block);
        }
        if let Some(internal) = translated_host(rule) {
            self.translated.entry(internal).or_default().insert(rule.id);
        }
        self.rules.insert(rule.id, Arc::clone(rule));
    }

    fn remove(&mut self, rule: &Arc<PolicyRule>) {
        self.rules.remove(&rule.id);
        self.deadlines.remove(&(rule.deadline, rule.id));
        self.blocks.remove(&rule.id);
        remove_from(&mut self.owners, &rule.owner, rule.id);
        if let Some(internal) = translated_host(rule) {
            remove_from(&mut self.translated, &internal, rule.id);
        }
        let Some(group) = rule.group() else { return };
        let Some(entry) = self.groups.get_mut(&group) else { return };
        entry.members -= 1;
        if entry.members == 0 {
            self.groups.remove(&group);
        }
    }

    fn join_group(&mut self, rule: &PolicyRule) {
        let Some(group) = rule.group() else { return };
        let entry = self.groups.entry(group);
        entry.or_insert_with(|| Group { owner: rule.owner.clone(), members: 0 }).members += 1;
    }
}

fn translated_host(rule: &PolicyRule) -> Option<IpAddr> {
    let RuleKind::Enable(pinhole) = &rule.kind else { return None };
    pinhole.translation.as_ref()?;
    pinhole.internal.full().map(|(address, ..)| address)
}

fn remove_from<K: Ord>(lists: &mut BTreeMap<K, BTreeSet<PolicyRuleId>>, key: &K, id: PolicyRuleId) {
    let Some(list) = lists.get_mut(key) else { return };
    list.remove(&id);
    if list.is_empty() {
        lists.remove(key);
    }
}
