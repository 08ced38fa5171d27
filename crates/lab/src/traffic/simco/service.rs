//! The middlebox that answers: the core that ships, with a packet filter in memory.

use bytes::Bytes;
use simco::filter::MemoryFilter;
use simco::middlebox::{
    AgentPolicy, Agents, Connection, Framing, Limits, Middlebox, MiddleboxConfig, Protection, SessionId,
};
use simco::{GroupId, Location, Owner, Pinhole, PolicyRule, PolicyRuleId, RuleKind, StreamNumber};
use virtual_time::Instant;

use super::calls::standing;
use super::{CallPlan, LIFETIME, pinhole};
use crate::traffic::{Reaction, Service};

/// One session of a middlebox.
#[derive(Debug)]
pub(super) struct Responder {
    /// `None`: nobody said what would come, and nothing is answered.
    plan: Option<CallPlan>,
    session: Option<Session>,
}

#[derive(Debug)]
struct Session {
    middlebox: Middlebox<MemoryFilter>,
    id: SessionId,
}

impl Responder {
    pub(super) fn new(plan: Option<CallPlan>) -> Self {
        Self { plan, session: None }
    }
}

impl Service for Responder {
    /// Hands a message to the middlebox, and returns what it answers.
    fn on_message(&mut self, now: Instant, _arrived: Instant, stream: u16, message: Bytes) -> Reaction {
        let Some(plan) = self.plan else { return Reaction::Nothing };
        if self.session.is_none() {
            self.session = Session::begin(now, plan);
        }
        // Without a middlebox nothing is answered, which the agent reports.
        let Some(Session { middlebox, id }) = &mut self.session else { return Reaction::Nothing };
        match plan.framing {
            Framing::Octets => middlebox.handle_octets(now, *id, &message),
            Framing::Messages { .. } => {
                middlebox.handle_message(now, *id, StreamNumber::new(stream), &message);
            }
        }
        let mut answers = Vec::new();
        while let Some(transmit) = middlebox.poll_transmit(now) {
            answers.push((transmit.stream.get(), Bytes::from(transmit.octets)));
        }
        // Nobody wants to know more.
        while middlebox.poll_event().is_some() {}
        Reaction::Answers(answers)
    }

    /// Returns no reaction: it needs a reliable transport.
    fn on_datagram(&mut self, _now: Instant, _wire: Bytes) -> Reaction {
        Reaction::Nothing
    }
}

impl Session {
    /// Begins with the pinholes of the long run; `None` for a configuration the core does not take.
    fn begin(now: Instant, plan: CallPlan) -> Option<Self> {
        let policy = AgentPolicy { most_rules: usize::MAX, ..AgentPolicy::default() };
        let config = MiddleboxConfig {
            agents: Agents { anonymous: Some(policy), ..Agents::default() },
            limits: Limits { rules: usize::MAX, ..Limits::default() },
            ..MiddleboxConfig::default()
        };
        let mut middlebox = Middlebox::new(config, MemoryFilter::new(), [0; 32]).ok()?;
        let peer = Owner::new(b"load").ok()?;
        let rules = (1..=standing(plan.interval).min(plan.most)).map(|number| rule(number, &peer, now));
        middlebox.restore(now, rules.collect()).ok()?;
        let (framing, authenticated, protection) = (plan.framing, None, Protection::None);
        let id = middlebox.open(now, Connection { framing, peer, authenticated, protection });
        Some(Self { middlebox, id })
    }
}

/// Returns a pinhole that stands at the beginning.
fn rule(number: u32, owner: &Owner, now: Instant) -> PolicyRule {
    let request = pinhole(LIFETIME);
    let kind = RuleKind::Enable(Pinhole {
        group: GroupId::new(number),
        parameters: request.parameters,
        internal: request.internal,
        external: request.external,
        outside: request.internal.at(Location::OUTSIDE),
        inside: Some(request.external.at(Location::INSIDE)),
        translation: None,
    });
    let deadline = now + core::time::Duration::from_secs(LIFETIME.as_secs().into());
    PolicyRule { id: PolicyRuleId::new(number), owner: owner.clone(), created: now, deadline, kind }
}
