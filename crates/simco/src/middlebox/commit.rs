//! The way from requests that wait to answers: decide, ask the packet filter, answer, tell the others.

use std::sync::Arc;

use virtual_time::Instant;

use super::Middlebox;
use super::establish::Origin;
use super::event::MiddleboxEvent;
use super::policies::{Answer, Asker};
use super::session::SessionId;
use crate::codepoints::NegativeCode;
use crate::filter::{Change, FilterError, PacketFilter, RemovalCause};
use crate::message::{Body, NegativeReply, Notification, PolicyRequest, PositiveReply, RuleIds};
use crate::numbers::Lifetime;
use crate::rule::Owner;

/// A request on policy rules that waits.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) origin: Origin,
    pub(crate) agent: Owner,
    pub(crate) request: PolicyRequest,
}

/// An answer, and how many of the changes are the request's.
struct Decided {
    answer: Answer,
    changes: usize,
}

impl<F: PacketFilter> Middlebox<F> {
    /// Processes all that waits, with one call of the packet filter if that agrees.
    ///
    /// Requests are atomic in their order (RFC 5189 §2.1.4): each sees what those before it have done. If the filter
    /// refuses several together, they are all taken back and tried one by one.
    pub(super) fn commit(&mut self, now: Instant) {
        self.expire(now);
        let pending = core::mem::take(&mut self.pending);
        if pending.is_empty() || self.attempt(now, &pending).is_ok() {
            return;
        }
        for alone in pending.chunks(1) {
            if let Err(error) = self.attempt(now, alone) {
                let code = match error {
                    FilterError::Full | FilterError::Exhausted(_) => NegativeCode::NoResources,
                    FilterError::Refused(_) => NegativeCode::ConfigurationFailed,
                };
                self.events.push_back(MiddleboxEvent::FilterFailed { error: Arc::new(error) });
                self.answer(now, &alone[0], &Answer::Negative(code));
            }
        }
    }

    /// Takes rules out whose time is up, and tells everybody.
    pub(super) fn expire(&mut self, now: Instant) {
        self.policies.expire(now);
        self.confirm_removals(now);
    }

    /// Removals that nobody asked for: they hold whatever the filter says.
    pub(super) fn confirm_removals(&mut self, now: Instant) {
        if self.policies.staged().is_empty() {
            return;
        }
        let applied = self.filter.apply(now, self.policies.staged());
        for change in self.policies.confirm() {
            self.announce(now, None, &change);
            self.events.push_back(MiddleboxEvent::Changed { by: None, change });
        }
        if let Err(error) = applied {
            self.events.push_back(MiddleboxEvent::FilterFailed { error: Arc::new(error) });
        }
    }

    fn attempt(&mut self, now: Instant, requests: &[Pending]) -> Result<(), FilterError> {
        let decided: Vec<_> = requests.iter().map(|request| self.decide(now, request)).collect();
        if !self.policies.staged().is_empty()
            && let Err(error) = self.filter.apply(now, self.policies.staged())
        {
            self.policies.take_back();
            return Err(error);
        }
        let mut changes = self.policies.confirm().into_iter();
        for (pending, Decided { answer, changes: count }) in requests.iter().zip(decided) {
            self.answer(now, pending, &answer);
            for change in changes.by_ref().take(count) {
                self.announce(now, Some(pending.origin.session), &change);
                let by = Some((pending.origin.session, pending.agent.clone()));
                self.events.push_back(MiddleboxEvent::Changed { by, change });
            }
        }
        Ok(())
    }

    fn decide(&mut self, now: Instant, pending: &Pending) -> Decided {
        let before = self.policies.staged().len();
        let answer = match self.policy_of(&pending.agent).cloned() {
            None => Answer::Negative(NegativeCode::TransactionNotAuthorized),
            Some(policy) => {
                self.policies.decide(now, Asker { agent: &pending.agent, policy: &policy }, &pending.request)
            }
        };
        Decided { answer, changes: self.policies.staged().len() - before }
    }

    fn answer(&mut self, now: Instant, pending: &Pending, answer: &Answer) {
        let Pending { origin, request, .. } = pending;
        let body = match answer {
            Answer::Positive(reply) => Body::Positive(*reply),
            Answer::Status(rule) => Body::Positive(rule.status(now)),
            Answer::List(rules) => Body::Positive(PositiveReply::List(RuleIds::of(rules))),
            Answer::Negative(code) => {
                let (session, request) = (origin.session, request.sub_type());
                self.events.push_back(MiddleboxEvent::Refused { session, request, code: *code });
                Body::Negative(NegativeReply::new(*code))
            }
        };
        self.reply(*origin, body);
    }

    /// ARE, to every session whose agent may access the rule, but the one that asked (RFC 4540 §8.9). What a disable rule
    /// ended is told to that one, too: it cannot know which rules they were.
    fn announce(&mut self, now: Instant, asker: Option<SessionId>, change: &Change) {
        let Some(rule) = change.after().or(change.before()) else { return };
        let lifetime = change.after().map_or(Lifetime::ZERO, |rule| rule.remaining(now));
        let asker = match change {
            Change::Remove { cause: RemovalCause::Disabled, .. } => None,
            Change::Remove { .. } | Change::Insert(_) | Change::Replace { .. } | Change::Lifetime { .. } => {
                asker
            }
        };
        let owners = self.by_agent.get(&rule.owner).into_iter().flatten();
        let listeners: Vec<_> = owners
            .chain(&self.overseers)
            .copied()
            .filter(|session| Some(*session) != asker)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        for session in listeners {
            self.notify(session, Notification::RuleEvent { rule: rule.id, lifetime });
        }
    }
}
