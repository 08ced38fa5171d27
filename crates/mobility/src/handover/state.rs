//! The state of one handover: what the peer knows, what it was asked, and since when things are as they are.

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use virtual_time::Instant;

use super::Answer;
use crate::decision::{Action, Decision, Judgement, Rule, Verdict};
use crate::policy::Policy;

/// The knowledge that the peer has of an address of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Standing {
    Adding,
    Told,
    Deleting,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The addresses that the peer knows: at most as many as the policy says, and those that were there from the beginning.
    pub(super) known: BTreeMap<IpAddr, Standing>,
    pub(super) primary: Option<IpAddr>,
    /// The address that was asked for instead, while there is no answer.
    pub(super) changing: Option<IpAddr>,
    pub(super) changed_at: Option<Instant>,
    pub(super) fit_since: BTreeMap<IpAddr, Instant>,
    /// The times since which addresses that the peer knows cannot be sent from, though the host has them.
    pub(super) unusable_since: BTreeMap<IpAddr, Instant>,
    /// The times until which the peer is not asked again.
    pub(super) blocked: BTreeMap<IpAddr, Instant>,
    pub(super) probed: BTreeMap<IpAddr, Instant>,
    /// The last thing that was said about data that stays, so that it is said once.
    pub(super) held: Option<(Rule, Option<IpAddr>)>,
    pub(super) decisions: VecDeque<Decision>,
    pub(super) wake: Option<Instant>,
}

impl State {
    pub(super) fn new(known: impl IntoIterator<Item = IpAddr>, primary: Option<IpAddr>) -> Self {
        let known = known.into_iter().chain(primary);
        let known = known.map(|address| (address.to_canonical(), Standing::Told)).collect();
        Self { known, primary: primary.map(|address| address.to_canonical()), ..Self::default() }
    }

    /// Returns the primary address, or the one that was asked for in its place.
    pub(super) fn current(&self) -> Option<IpAddr> {
        self.changing.or(self.primary)
    }

    /// Returns what the peer knows and might be asked to forget.
    pub(super) fn deletable(&self) -> impl Iterator<Item = IpAddr> {
        let may_go = |(address, standing): (&IpAddr, &Standing)| {
            let is_primary = [self.primary, self.changing].contains(&Some(*address));
            let is_free = !is_primary && !self.blocked.contains_key(address);
            (is_free && *standing == Standing::Told).then_some(*address)
        };
        self.known.iter().filter_map(may_go)
    }

    /// Takes note of what was found.
    pub(super) fn note(&mut self, now: Instant, found: &[Judgement]) {
        self.blocked.retain(|_, until| *until > now);
        let has = |address: &IpAddr, verdict: fn(Verdict) -> bool| {
            found.iter().any(|judgement| judgement.address == *address && verdict(judgement.verdict))
        };
        let is_fit = |verdict| matches!(verdict, Verdict::Fit { .. });
        self.fit_since.retain(|address, _| has(address, is_fit));
        self.probed.retain(|address, _| has(address, |verdict| verdict == Verdict::Unknown));
        self.unusable_since.retain(|address, _| has(address, |verdict| verdict == Verdict::Unusable));
        for judgement in found {
            if is_fit(judgement.verdict) {
                self.fit_since.entry(judgement.address).or_insert(now);
            } else if judgement.verdict == Verdict::Unusable && self.known.contains_key(&judgement.address) {
                self.unusable_since.entry(judgement.address).or_insert(now);
            }
        }
    }

    /// Returns when something is to be looked at although nothing happens.
    pub(super) fn next_look(&self, now: Instant, policy: &Policy) -> Option<Instant> {
        let ripe = self.fit_since.values().map(|since| *since + policy.better_for);
        let changeable = self.changed_at.into_iter().map(|at| at + policy.primary_interval);
        let unkept = self.unusable_since.values().map(|since| *since + policy.keep);
        let probes = self.probed.values().map(|at| *at + policy.probe_every);
        let all = ripe.chain(changeable).chain(unkept).chain(probes).chain(self.blocked.values().copied());
        all.filter(|at| *at > now).min()
    }

    pub(super) fn on_answer(&mut self, now: Instant, action: Action, answer: Answer, policy: &Policy) {
        let (address, was_asked) = match action {
            Action::Add(address) => (address, self.known.get(&address) == Some(&Standing::Adding)),
            Action::Delete(address) => (address, self.known.get(&address) == Some(&Standing::Deleting)),
            Action::SetPrimary(address) => (address, self.changing == Some(address)),
            Action::Probe(_) | Action::Hold { .. } => return,
        };
        if !was_asked {
            return;
        }
        if answer == Answer::Refused {
            self.blocked.insert(address, now + policy.retry);
        }
        match (action, answer) {
            (Action::Add(_), Answer::Done) | (Action::Delete(_), Answer::Refused) => {
                self.known.insert(address, Standing::Told);
            }
            (Action::Add(_), Answer::Refused) | (Action::Delete(_), Answer::Done) => {
                self.known.remove(&address);
            }
            (Action::SetPrimary(_), Answer::Done) => {
                self.primary = self.changing.take();
            }
            (Action::SetPrimary(_), Answer::Refused) => self.changing = None,
            (Action::Probe(_) | Action::Hold { .. }, _) => {}
        }
    }
}
