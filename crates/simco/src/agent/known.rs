//! The rules an agent knows: their streams, their deadlines, when to refresh them.

use std::collections::{BTreeMap, BTreeSet};

use virtual_time::Instant;

use crate::numbers::{Lifetime, PolicyRuleId, StreamNumber};

/// The rules that the agent knows to be in the middlebox.
#[derive(Debug, Default)]
pub(crate) struct KnownRules {
    rules: BTreeMap<PolicyRuleId, KnownRule>,
    deadlines: BTreeSet<(Instant, PolicyRuleId)>,
    refreshes: BTreeSet<(Instant, PolicyRuleId)>,
}

/// A rule, as far as the agent knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KnownRule {
    /// The time at which the rule ends unless it is refreshed.
    pub(crate) deadline: Instant,
    /// The lifetime to ask for again and again; `None` lets it run out.
    pub(crate) held_for: Option<Lifetime>,
    /// The time at which to refresh it; `None` if it is not held.
    pub(crate) refresh_at: Option<Instant>,
    /// The session that told of it last.
    pub(crate) session: u64,
}

impl KnownRules {
    pub(crate) fn rule(&self, id: PolicyRuleId) -> Option<&KnownRule> {
        self.rules.get(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PolicyRuleId, &KnownRule)> {
        self.rules.iter().map(|(id, rule)| (*id, rule))
    }

    /// Puts a rule in or changes it.
    pub(crate) fn put(&mut self, id: PolicyRuleId, rule: KnownRule) {
        self.forget(id);
        self.deadlines.insert((rule.deadline, id));
        if let Some(at) = rule.refresh_at {
            self.refreshes.insert((at, id));
        }
        self.rules.insert(id, rule);
    }

    pub(crate) fn forget(&mut self, id: PolicyRuleId) -> Option<KnownRule> {
        let rule = self.rules.remove(&id)?;
        self.deadlines.remove(&(rule.deadline, id));
        if let Some(at) = rule.refresh_at {
            self.refreshes.remove(&(at, id));
        }
        Some(rule)
    }

    /// Returns a rule whose deadline has passed.
    pub(crate) fn expired(&self, now: Instant) -> Option<PolicyRuleId> {
        self.deadlines.first().filter(|(deadline, _)| *deadline <= now).map(|(_, id)| *id)
    }

    /// Returns a rule that is to be refreshed now.
    pub(crate) fn due(&self, now: Instant) -> Option<PolicyRuleId> {
        self.refreshes.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    pub(crate) fn next_refresh(&self) -> Option<Instant> {
        self.refreshes.first().map(|(at, _)| *at)
    }
}

/// The map from rules to streams: which stream a request takes, by draft-kiesel-midcom-simco-sctp §4.4.
///
/// What concerns a rule must stay in order, so that it takes the stream of the rule; the rest is dealt round.
#[derive(Debug)]
pub(crate) struct StreamMap {
    streams: u16,
    next: u16,
    of_rule: BTreeMap<PolicyRuleId, StreamNumber>,
}

impl StreamMap {
    pub(crate) const fn new(streams: u16) -> Self {
        Self { streams, next: 0, of_rule: BTreeMap::new() }
    }

    /// Returns the stream for a request that names `rule`, or none. What is chosen for a rule of which no
    /// stream is known is remembered.
    pub(crate) fn choose(&mut self, rule: Option<PolicyRuleId>) -> StreamNumber {
        if let Some(stream) = rule.and_then(|rule| self.of_rule.get(&rule)) {
            return *stream;
        }
        let stream = StreamNumber::new(self.next);
        self.next = (self.next + 1) % self.streams.max(1);
        if let Some(rule) = rule {
            self.of_rule.insert(rule, stream);
        }
        stream
    }

    /// The reply with this rule came on this stream.
    pub(crate) fn remember(&mut self, rule: PolicyRuleId, stream: StreamNumber) {
        self.of_rule.insert(rule, stream);
    }

    pub(crate) fn forget(&mut self, rule: PolicyRuleId) {
        self.of_rule.remove(&rule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_rule_go_round_and_those_with_rule_stay() {
        let mut map = StreamMap::new(3);
        let dealt: Vec<_> = (0..4).map(|_| map.choose(None).get()).collect();
        assert_eq!(dealt, [0, 1, 2, 0]);
        let (known, foreign) = (PolicyRuleId::new(7), PolicyRuleId::new(8));
        map.remember(known, StreamNumber::new(2));
        assert_eq!(map.choose(Some(known)).get(), 2);
        assert_eq!(map.choose(Some(foreign)).get(), 1, "in its turn");
        assert_eq!(map.choose(None).get(), 2);
        assert_eq!(map.choose(Some(foreign)).get(), 1, "and from then on");
    }
}
