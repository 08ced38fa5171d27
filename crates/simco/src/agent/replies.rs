//! The changes of rules that replies and notifications tell of.

use virtual_time::Instant;

use super::event::{AgentEvent, Loss, PolicyReply};
use super::known::KnownRule;
use super::{Agent, AnswerFor};
use crate::codepoints::NegativeCode;
use crate::message::PolicyRequest;
use crate::numbers::{Lifetime, PolicyRuleId, StreamNumber, TransactionId};

impl Agent {
    /// A request was answered: the table of rules first, then whoever asked.
    pub(super) fn take_answer(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        stream: StreamNumber,
        outcome: Result<PolicyReply, NegativeCode>,
    ) {
        let Some(outstanding) = self.outstanding.remove(&transaction) else { return };
        let request = outstanding.request;
        let early = self.learn(now, stream, &request, &outcome);
        match outstanding.purpose {
            AnswerFor::User => self.events.push_back(AgentEvent::Answered { transaction, request, outcome }),
            AnswerFor::Refresh => self.refreshed(now, &request, &outcome),
            AnswerFor::Resynchronisation => self.resynchronise_with(now, &request, outcome),
        }
        if let Some((rule, lifetime)) = early {
            self.apply_event(now, rule, lifetime);
        }
        if !self.outstanding.values().any(|outstanding| creates(&outstanding.request)) {
            self.early_events.clear();
        }
    }

    /// Remembers what a reply says of a rule; returns an event about it that came before the reply.
    fn learn(
        &mut self,
        now: Instant,
        stream: StreamNumber,
        request: &PolicyRequest,
        outcome: &Result<PolicyReply, NegativeCode>,
    ) -> Option<(PolicyRuleId, Lifetime)> {
        match (request, outcome) {
            (PolicyRequest::LifetimeChange { rule, .. }, Ok(PolicyReply::LifetimeChange { lifetime })) => {
                self.update(now, *rule, *lifetime);
            }
            (PolicyRequest::LifetimeChange { rule, .. }, Ok(PolicyReply::Deletion))
            | (
                PolicyRequest::LifetimeChange { rule, .. } | PolicyRequest::Status { rule },
                Err(NegativeCode::NoSuchRule),
            ) => self.forget(*rule),
            (_, Ok(reply)) => {
                let (rule, lifetime) = reply.rule()?;
                if creates(request) {
                    self.streams.remember(rule, stream);
                    self.update(now, rule, lifetime);
                    return self.early_events.remove(&rule).map(|lifetime| (rule, lifetime));
                }
                if self.known.rule(rule).is_some() {
                    self.update(now, rule, lifetime);
                }
            }
            (_, Err(_)) => {}
        }
        None
    }

    /// Takes in an ARE, the notification of a rule's change. It may be about a rule whose reply has not come
    /// yet, for that takes another stream.
    pub(super) fn take_rule_event(&mut self, now: Instant, rule: PolicyRuleId, lifetime: Lifetime) {
        self.events.push_back(AgentEvent::RuleEvent { rule, lifetime });
        let is_reply_due = self.outstanding.values().any(|outstanding| creates(&outstanding.request));
        if self.known.rule(rule).is_none() && is_reply_due && self.early_events.len() < MOST_EARLY_EVENTS {
            self.early_events.insert(rule, lifetime);
        } else {
            self.apply_event(now, rule, lifetime);
        }
    }

    fn apply_event(&mut self, now: Instant, rule: PolicyRuleId, lifetime: Lifetime) {
        if self.known.rule(rule).is_none() {
            return;
        }
        if lifetime.is_zero() {
            self.lose(rule, Loss::Notified);
        } else {
            self.update(now, rule, lifetime);
        }
    }

    /// The rule has this lifetime from now on.
    pub(super) fn update(&mut self, now: Instant, id: PolicyRuleId, lifetime: Lifetime) {
        let held_for = self.known.rule(id).and_then(|rule| rule.held_for);
        let dice = self.nonces.fraction();
        let wait = self.settings.refresh.wait(lifetime.span(), dice);
        let rule = KnownRule {
            deadline: now + lifetime.span(),
            held_for,
            refresh_at: held_for.map(|_| now + wait),
            session: self.session,
        };
        self.known.put(id, rule);
    }

    /// A refresh was answered; what it was refused for may pass.
    fn refreshed(
        &mut self,
        now: Instant,
        request: &PolicyRequest,
        outcome: &Result<PolicyReply, NegativeCode>,
    ) {
        let (Some(id), Err(code)) = (request.rule(), outcome) else { return };
        if *code == NegativeCode::NoSuchRule {
            self.events.push_back(AgentEvent::RuleLost { rule: id, loss: Loss::NotFound });
            return;
        }
        self.events.push_back(AgentEvent::RefreshRefused { rule: id, code: *code });
        if let Some(rule) = self.known.rule(id).copied() {
            let again = now + rule.deadline.since(now) / 2;
            self.known.put(id, KnownRule { refresh_at: Some(again), ..rule });
        }
    }

    pub(super) fn lose(&mut self, rule: PolicyRuleId, loss: Loss) {
        self.forget(rule);
        self.events.push_back(AgentEvent::RuleLost { rule, loss });
    }

    pub(super) fn forget(&mut self, rule: PolicyRuleId) {
        self.known.forget(rule);
        self.streams.forget(rule);
    }
}

/// Returns whether the reply names a rule that the agent did not know, or knew as something else.
pub(super) const fn creates(request: &PolicyRequest) -> bool {
    match request {
        PolicyRequest::Reserve(_)
        | PolicyRequest::Enable(_)
        | PolicyRequest::EnableReserved { .. }
        | PolicyRequest::Disable(_) => true,
        PolicyRequest::LifetimeChange { .. } | PolicyRequest::Status { .. } | PolicyRequest::List => false,
    }
}

const MOST_EARLY_EVENTS: usize = 10_000;
