//! The comparison of rules after a new connection: PRL asks which are still there, then PRS for each what it is
//! (RFC 4540 §8.7).

use virtual_time::Instant;

use super::config::Resynchronisation;
use super::event::{AgentEvent, Loss, PolicyReply};
use super::{Agent, AnswerFor};
use crate::codepoints::NegativeCode;
use crate::message::PolicyRequest;
use crate::numbers::PolicyRuleId;

/// A resynchronisation under way.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Rules not asked for yet.
    to_ask: Vec<PolicyRuleId>,
    /// Rules asked for and not answered.
    waiting: usize,
    listed: usize,
}

impl Agent {
    pub(super) fn begin_resynchronisation(&mut self) {
        let is_wanted = match self.settings.resynchronisation {
            Resynchronisation::IfRulesAreKnown => self.known.len() > 0,
            Resynchronisation::Always => true,
            Resynchronisation::Never => false,
        };
        if is_wanted {
            self.send_policy(PolicyRequest::List, AnswerFor::Resynchronisation);
        }
    }

    pub(super) fn resynchronise_with(
        &mut self,
        now: Instant,
        request: &PolicyRequest,
        outcome: Result<PolicyReply, NegativeCode>,
    ) {
        match (request.rule(), outcome) {
            (None, Ok(PolicyReply::List(listed))) => self.compare(listed),
            // Too many for a list, or none of this agent's business: ask for what it knows.
            (None, _) => {
                let known = self.known.iter().map(|(id, _)| id).collect();
                self.ask_for(known);
            }
            (Some(rule), outcome) => {
                match outcome {
                    Ok(status) => self.found(now, status),
                    Err(NegativeCode::NoSuchRule) => {
                        self.events.push_back(AgentEvent::RuleLost { rule, loss: Loss::NotListed });
                    }
                    Err(_) => {}
                }
                if let Some(progress) = &mut self.resynchronisation {
                    progress.waiting -= 1;
                }
                self.ask_on();
            }
        }
    }

    /// Compares the list with the rules of earlier sessions: those that the middlebox does not list are gone.
    fn compare(&mut self, mut listed: Vec<PolicyRuleId>) {
        listed.sort_unstable();
        let is_gone =
            |id: PolicyRuleId, session: u64| session < self.session && listed.binary_search(&id).is_err();
        let gone: Vec<_> =
            self.known.iter().filter(|(id, rule)| is_gone(*id, rule.session)).map(|(id, _)| id).collect();
        for rule in gone {
            self.lose(rule, Loss::NotListed);
        }
        self.ask_for(listed);
    }

    fn ask_for(&mut self, rules: Vec<PolicyRuleId>) {
        let listed = rules.len();
        self.resynchronisation = Some(Progress { to_ask: rules, waiting: 0, listed });
        self.ask_on();
    }

    /// Keeps a few requests under way; tells when all are answered.
    fn ask_on(&mut self) {
        let Some(mut progress) = self.resynchronisation.take() else { return };
        while progress.waiting < MOST_WAITING
            && let Some(rule) = progress.to_ask.pop()
        {
            self.send_policy(PolicyRequest::Status { rule }, AnswerFor::Resynchronisation);
            progress.waiting += 1;
        }
        if progress.waiting == 0 {
            self.events.push_back(AgentEvent::Resynchronised { listed: progress.listed });
        } else {
            self.resynchronisation = Some(progress);
        }
    }

    /// A rule of an earlier session is as the middlebox says; one that nobody here knew is news.
    fn found(&mut self, now: Instant, status: PolicyReply) {
        let Some((rule, lifetime)) = status.rule() else { return };
        if self.known.rule(rule).is_none() {
            self.update(now, rule, lifetime);
        }
        self.events.push_back(AgentEvent::Found { status });
    }
}

const MOST_WAITING: usize = 64;
