//! The transactions on policy rules (RFC 4540 §8): what a request does to the rule base and what is answered.
//!
//! A decision is made at once, before the packet filter is asked; if the filter refuses, it is taken back.

mod disable;
mod enable;
mod lifetime;
mod reserve;

use core::time::Duration;
use std::sync::Arc;

use virtual_time::Instant;

use super::checks::Against;
use super::config::{AgentPolicy, MiddleboxConfig};
use super::rules::RuleBase;
use super::translator::Translator;
use crate::codepoints::NegativeCode;
use crate::filter::{Change, RemovalCause};
use crate::message::{PolicyRequest, PositiveReply, RuleIds};
use crate::numbers::{GroupId, Lifetime, PolicyRuleId};
use crate::parameters::Capabilities;
use crate::rule::{Owner, PolicyRule};

/// The rule base and what decides about it.
#[derive(Debug)]
pub(crate) struct Policies {
    pub(crate) config: MiddleboxConfig,
    pub(crate) capabilities: Capabilities,
    pub(crate) rules: RuleBase,
    translator: Option<Translator>,
    /// The changes that were decided and not yet confirmed by the filter, in order.
    staged: Vec<Change>,
}

/// The agent that asks, and what it may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) agent: &'a Owner,
    pub(crate) policy: &'a AgentPolicy,
}

/// The content of an answer.
#[derive(Debug)]
pub(crate) enum Answer {
    Positive(PositiveReply<'static>),
    /// The status of this rule.
    Status(Arc<PolicyRule>),
    /// The answer lists these rules.
    List(Vec<PolicyRuleId>),
    Negative(NegativeCode),
}

impl Policies {
    pub(crate) fn new(config: MiddleboxConfig, capabilities: Capabilities) -> Self {
        let translator = Translator::new(&config.service);
        Self { config, capabilities, rules: RuleBase::default(), translator, staged: Vec::new() }
    }

    /// Decides one request; its changes are staged.
    pub(crate) fn decide(&mut self, now: Instant, asker: Asker<'_>, request: &PolicyRequest) -> Answer {
        let decision = match request {
            PolicyRequest::Reserve(request) => self.reserve(now, asker, request).map(Answer::Positive),
            PolicyRequest::Enable(request) => self.enable(now, asker, request).map(Answer::Positive),
            PolicyRequest::EnableReserved { rule, pinhole } => {
                self.enable_reserved(now, asker, *rule, pinhole).map(Answer::Positive)
            }
            PolicyRequest::Disable(request) => self.disable(now, asker, request).map(Answer::Positive),
            PolicyRequest::LifetimeChange { rule, lifetime } => {
                self.change_lifetime(now, asker, *rule, *lifetime).map(Answer::Positive)
            }
            PolicyRequest::Status { rule } => self.status(asker, *rule).map(Answer::Status),
            PolicyRequest::List => self.list(asker).map(Answer::List),
        };
        decision.unwrap_or_else(Answer::Negative)
    }

    /// Returns the changes that were decided since the last confirmation.
    pub(crate) fn staged(&self) -> &[Change] {
        &self.staged
    }

    /// Takes note that the filter agreed; returns the changes it agreed to.
    pub(crate) fn confirm(&mut self) -> Vec<Change> {
        core::mem::take(&mut self.staged)
    }

    /// The filter refused: everything is as it was.
    pub(crate) fn take_back(&mut self) {
        for change in core::mem::take(&mut self.staged).iter().rev() {
            self.rules.revert(change);
            self.count_translation(change.after(), change.before());
        }
    }

    /// Stages the removal of rules whose time is up.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(rule) = self.rules.expired(now).map(Arc::clone) {
            self.stage(Change::Remove { rule, cause: RemovalCause::Expired });
        }
    }

    /// Takes rules in that were there before a restart.
    pub(crate) fn restore(&mut self, rule: &Arc<PolicyRule>) {
        self.rules.restore(rule);
        self.count_translation(None, Some(rule));
    }

    pub(crate) fn stage(&mut self, change: Change) {
        self.rules.apply(&change);
        self.count_translation(change.before(), change.after());
        self.staged.push(change);
    }

    fn count_translation(&mut self, gone: Option<&Arc<PolicyRule>>, new: Option<&Arc<PolicyRule>>) {
        let Some(translator) = &mut self.translator else { return };
        // In first, so that what both use is not free in between.
        if let Some(translation) = new.and_then(|rule| rule.translation()) {
            translator.take(translation);
        }
        if let Some(translation) = gone.and_then(|rule| rule.translation()) {
            translator.release(translation);
        }
    }

    fn status(&self, asker: Asker<'_>, rule: PolicyRuleId) -> Result<Arc<PolicyRule>, NegativeCode> {
        permitted(asker.policy.may_inspect)?;
        self.accessible(asker, rule).map(Arc::clone)
    }

    fn list(&self, asker: Asker<'_>) -> Result<Vec<PolicyRuleId>, NegativeCode> {
        permitted(asker.policy.may_inspect)?;
        let list: Vec<_> = if asker.policy.may_access_others {
            self.rules.iter().map(|rule| rule.id).take(RuleIds::MOST + 1).collect()
        } else {
            self.rules.ids_of(asker.agent).take(RuleIds::MOST + 1).collect()
        };
        if list.len() > RuleIds::MOST { Err(NegativeCode::ReplyTooBig) } else { Ok(list) }
    }

    /// Returns the rule if it exists and the agent may access it.
    fn accessible(&self, asker: Asker<'_>, rule: PolicyRuleId) -> Result<&Arc<PolicyRule>, NegativeCode> {
        let rule = self.rules.rule(rule).ok_or(NegativeCode::NoSuchRule)?;
        if rule.owner != *asker.agent && !asker.policy.may_access_others {
            return Err(NegativeCode::RuleNotAuthorized);
        }
        Ok(rule)
    }

    /// Checks that the group to join exists, and that all its members are the agent's (RFC 5189 §2.3.3).
    fn group_is_joinable(&self, asker: Asker<'_>, group: Option<GroupId>) -> Result<(), NegativeCode> {
        let Some(group) = group else { return Ok(()) };
        let owner = self.rules.group_owner(group).ok_or(NegativeCode::NoSuchGroup)?;
        if owner == asker.agent { Ok(()) } else { Err(NegativeCode::GroupNotAuthorized) }
    }

    /// Returns whether another rule fits in.
    fn has_room(&self, asker: Asker<'_>) -> Result<(), NegativeCode> {
        let is_full = self.rules.len() >= self.config.limits.rules
            || self.rules.count_of(asker.agent) >= asker.policy.most_rules;
        if is_full { Err(NegativeCode::NoResources) } else { Ok(()) }
    }

    /// Returns the lifetime of a new rule; zero is a refusal (RFC 4540 §6.2).
    fn grant(&self, requested: Lifetime) -> Result<Lifetime, NegativeCode> {
        let granted = self.cap(Duration::ZERO, requested);
        granted.filter(|lifetime| !lifetime.is_zero()).ok_or(NegativeCode::ConfigurationFailed)
    }

    /// Returns what may be granted to a rule of this age; `None` if it is too old for a second more.
    fn cap(&self, age: Duration, requested: Lifetime) -> Option<Lifetime> {
        let granted = requested.min(self.capabilities.longest_lifetime);
        let Some(longest_age) = self.config.longest_age else { return Some(granted) };
        let left = longest_age.checked_sub(age)?.as_secs();
        let left = Lifetime::from_secs(u32::try_from(left).unwrap_or(u32::MAX));
        (!left.is_zero()).then(|| granted.min(left))
    }

    fn against<'a>(&'a self, asker: Asker<'a>) -> Against<'a> {
        Against {
            scope: &asker.policy.scope,
            capabilities: &self.capabilities,
            realms: &self.config.realms,
            protocols: self.config.protocols.as_deref(),
        }
    }
}

/// Returns 0x0341 unless the agent may.
fn permitted(may: bool) -> Result<(), NegativeCode> {
    if may { Ok(()) } else { Err(NegativeCode::TransactionNotAuthorized) }
}
