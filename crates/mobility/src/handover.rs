//! The handover of one association: its policy, what the peer knows, and the decisions.
//!
//! | module | owns |
//! |---|---|
//! | `judge` | which addresses of the host are fit for use, and which is the best: a pure function |
//! | `choose` | whether data moves, and where: a pure decision |
//! | `state` | what the peer knows, what was asked of it, and since when things are as they are |

mod choose;
mod judge;
mod state;

use core::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use virtual_time::Instant;

use self::choose::{Choice, Question};
use self::state::{Standing, State};
use crate::decision::{Action, Decision, Judgement, Rule, Verdict};
use crate::host::Settled;
use crate::policy::{Handing, Policy};

/// The handover of one association by a policy.
///
/// The contract: after each change of the [`Host`](crate::Host), and at [`poll_timeout`](Self::poll_timeout) at the latest, show the host
/// to [`handle_host`](Self::handle_host); carry out what [`poll_decision`](Self::poll_decision) says; pass on what became of it to
/// [`handle_answer`](Self::handle_answer). A call too many does no harm.
///
/// What holds whatever happens: an address that is added, probed or made the primary one can be sent from at that time; one
/// that is deleted is known to the peer, and never the last that works; changes of the primary address are at least
/// [`Policy::primary_interval`] apart while the one left can be sent from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    policy: Policy,
    state: State,
}

/// The outcome of an action, as the peer told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The peer has agreed, and the action is done.
    Done,
    /// The peer has refused, or could not be asked. It is decided anew after [`Policy::retry`].
    Refused,
}

/// Everything that a [`Handover`] knows besides its policy, as data. For a restart within the same epoch of [`Instant`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Snapshot(State);

impl Handover {
    /// Creates the handover of an association whose peer knows these addresses, and sends to `primary`.
    #[must_use]
    pub fn new(policy: Policy, known: impl IntoIterator<Item = IpAddr>, primary: Option<IpAddr>) -> Self {
        Self { policy, state: State::new(known, primary) }
    }

    /// Returns what is known, as data.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.state.clone())
    }

    /// Creates the handover that a snapshot was taken of. It decides as the other one would.
    #[must_use]
    pub fn restore(policy: Policy, snapshot: Snapshot) -> Self {
        Self { policy, state: snapshot.0 }
    }

    /// Replaces the policy; it holds from the next look at the host on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Returns the address that data goes by, as far as the peer has agreed.
    #[must_use]
    pub fn primary(&self) -> Option<IpAddr> {
        self.state.primary
    }

    /// Returns the addresses that the peer knows or is being told of, in their order.
    pub fn known(&self) -> impl Iterator<Item = IpAddr> {
        self.state.known.keys().copied()
    }

    /// Looks at the host as it stands, and decides.
    pub fn handle_host(&mut self, host: &Settled<'_>) {
        let found: Arc<[Judgement]> = self.judge(host).into();
        self.state.note(host.now(), &found);
        let mut turn = Turn { now: host.now(), found, policy: &self.policy, state: &mut self.state };
        let choice = turn.choose();
        turn.act(choice);
        turn.probe();
        turn.delete(choice);
        self.state.wake = self.state.next_look(host.now(), &self.policy);
    }

    /// Takes note of what became of a decision, and decides what follows. What was not decided, or is answered already, is
    /// not listened to.
    pub fn handle_answer(&mut self, host: &Settled<'_>, action: Action, answer: Answer) {
        self.state.on_answer(host.now(), action, answer, &self.policy);
        self.handle_host(host);
    }

    /// Returns the next decision, oldest first.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        self.state.decisions.pop_front()
    }

    /// Returns when the host is to be looked at again without any event.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.state.wake
    }

    /// Returns what the policy finds about the addresses of the host, the best first.
    #[must_use]
    pub fn judge(&self, host: &Settled<'_>) -> Vec<Judgement> {
        judge::all(&self.policy, &self.state, host)
    }
}

/// One look at the host.
struct Turn<'a> {
    now: Instant,
    found: Arc<[Judgement]>,
    policy: &'a Policy,
    state: &'a mut State,
}

impl Turn<'_> {
    fn choose(&self) -> Choice {
        choose::choose(&Question {
            now: self.now,
            found: &self.found,
            primary: self.state.current(),
            is_blocked: &|address| self.state.blocked.contains_key(&address),
            ripe_at: &|address| {
                self.state.fit_since.get(&address).map(|since| *since + self.policy.better_for)
            },
            may_change_at: self.state.changed_at.map(|at| at + self.policy.primary_interval),
        })
    }

    fn act(&mut self, choice: Choice) {
        match choice {
            Choice::Stay => self.state.held = None,
            Choice::Hold { instead_of, rule, until } => {
                let reason = Some((rule, instead_of));
                if core::mem::replace(&mut self.state.held, reason) != reason {
                    self.decide(Action::Hold { instead_of, until }, rule);
                }
            }
            Choice::Move { to, rule } => {
                self.state.held = None;
                self.make_primary(to, rule);
            }
        }
        if self.policy.handing == Handing::MakeBeforeBreak {
            self.add_standbys();
        }
    }

    fn make_primary(&mut self, to: IpAddr, rule: Rule) {
        match self.state.known.get(&to) {
            Some(Standing::Told) => {
                self.state.changing = Some(to);
                self.state.changed_at = Some(self.now);
                self.decide(Action::SetPrimary(to), rule);
            }
            Some(Standing::Adding | Standing::Deleting) => {}
            None if self.has_room() => self.add(to, rule),
            None => self.make_room(),
        }
    }

    fn has_room(&self) -> bool {
        self.state.known.len() < self.policy.addresses
    }

    fn add(&mut self, address: IpAddr, rule: Rule) {
        self.state.known.insert(address, Standing::Adding);
        self.decide(Action::Add(address), rule);
    }

    fn add_standbys(&mut self) {
        let found = Arc::clone(&self.found);
        let is_fit = |judgement: &&Judgement| matches!(judgement.verdict, Verdict::Fit { .. });
        for address in found.iter().filter(is_fit).map(|judgement| judgement.address) {
            let is_free =
                !self.state.known.contains_key(&address) && !self.state.blocked.contains_key(&address);
            if is_free && self.has_room() {
                self.add(address, Rule::Standby);
            }
        }
    }

    /// Deletes the worst of the addresses that the peer knows, unless one is being deleted already.
    fn make_room(&mut self) {
        if self.state.known.values().any(|standing| *standing == Standing::Deleting) {
            return;
        }
        let place = |address: &IpAddr| self.found.iter().position(|judgement| judgement.address == *address);
        let rank = |address: &IpAddr| place(address).unwrap_or(usize::MAX);
        let worst = self.state.deletable().max_by_key(rank);
        if let Some(worst) = worst.filter(|worst| self.leaves_a_way(*worst)) {
            self.ask_to_delete(worst, Rule::MakesRoom);
        }
    }

    fn probe(&mut self) {
        let found = Arc::clone(&self.found);
        for judgement in found.iter().filter(|judgement| judgement.verdict == Verdict::Unknown) {
            let probed_at = self.state.probed.get(&judgement.address);
            if probed_at.is_none_or(|at| *at + self.policy.probe_every <= self.now) {
                self.state.probed.insert(judgement.address, self.now);
                self.decide(Action::Probe(judgement.address), Rule::Unknown);
            }
        }
    }

    /// Deletes what the peer need not know any more.
    fn delete(&mut self, choice: Choice) {
        let known: Vec<IpAddr> = self.state.deletable().collect();
        for address in known {
            if let Some(rule) = self.reason_to_delete(address, choice)
                && self.leaves_a_way(address)
            {
                self.ask_to_delete(address, rule);
            }
        }
    }

    fn reason_to_delete(&self, address: IpAddr, choice: Choice) -> Option<Rule> {
        let Some(judgement) = self.found.iter().find(|judgement| judgement.address == address) else {
            return Some(Rule::AddressGone);
        };
        let unusable_since = self.state.unusable_since.get(&address);
        let is_kept = unusable_since.is_none_or(|since| *since + self.policy.keep > self.now);
        let is_settled = match choice {
            Choice::Stay | Choice::Hold { .. } => true,
            Choice::Move { .. } => false,
        };
        match self.policy.handing {
            _ if !is_kept => Some(Rule::OutOfUse),
            _ if judgement.verdict == Verdict::NotWanted => Some(Rule::Unwanted),
            Handing::BreakBeforeMake if is_settled => Some(Rule::Unwanted),
            Handing::BreakBeforeMake | Handing::MakeBeforeBreak => None,
        }
    }

    /// Returns whether the peer would still know an address that can be sent from.
    fn leaves_a_way(&self, without: IpAddr) -> bool {
        let is_way = |judgement: &Judgement| {
            judgement.address != without
                && judgement.verdict != Verdict::Unusable
                && self.state.known.get(&judgement.address) == Some(&Standing::Told)
        };
        self.found.iter().any(is_way)
    }

    fn ask_to_delete(&mut self, address: IpAddr, rule: Rule) {
        self.state.known.insert(address, Standing::Deleting);
        self.decide(Action::Delete(address), rule);
    }

    fn decide(&mut self, action: Action, rule: Rule) {
        let found = Arc::clone(&self.found);
        self.state.decisions.push_back(Decision { at: self.now, action, rule, found });
    }
}

#[cfg(test)]
mod tests;
