//! The transactions of calls, one after the other, whenever the next is wanted: the load of study S4 with arrivals of any
//! kind. Which transaction comes next, the calls say; when, the user.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use simco::TransactionId;
use simco::agent::{Agent, AgentEvent};
use virtual_time::Instant;
use workload::ArrivalsError;

use super::calls::{Calls, Due};
use super::{CallPlan, agent, hand_over, request};
use crate::traffic::{Asked, Greeting, Script, Told};

/// An agent that plays calls.
#[derive(Debug)]
pub(super) struct Transactions {
    plan: CallPlan,
    agent: Agent,
    calls: Calls,
    is_begun: bool,
    waiting: BTreeMap<TransactionId, Unanswered>,
}

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
struct Unanswered {
    number: u64,
    due: Instant,
    /// The time at which the call began, if this opens its pinhole. Calls have a clock of their own, which
    /// stands still between transactions.
    call_began: Option<Instant>,
}

impl Transactions {
    pub(super) fn new(plan: CallPlan, seed: u64) -> Result<Self, ArrivalsError> {
        Ok(Self {
            plan,
            agent: agent(seed),
            calls: Calls::new(plan.interval, seed)?.at_most(plan.most),
            is_begun: false,
            waiting: BTreeMap::new(),
        })
    }

    /// Returns the message the agent has just written.
    fn collect(&mut self, is_timed: bool) -> Option<Asked> {
        let (stream, octets) = self.agent.poll_transmit()?;
        Some(Asked { stream: stream.get(), octets: Bytes::from(octets), is_timed })
    }
}

impl Script for Transactions {
    /// Opens the session, once.
    fn begin(&mut self, now: Instant) -> Greeting {
        if core::mem::replace(&mut self.is_begun, true) {
            return Greeting::Said;
        }
        self.calls.begin(now, Duration::MAX);
        self.agent.connect(self.plan.framing);
        self.collect(false).map_or(Greeting::Said, Greeting::Message)
    }

    /// Returns the transaction that comes next; `None` without a session. An opening of a pinhole is what is timed.
    fn ask(&mut self, number: u64, due: Instant) -> Option<Asked> {
        let (at, what) = self.calls.pop()?;
        let transaction = self.agent.request(request(what)).ok()?;
        let call_began = (what == Due::Open).then_some(at);
        self.waiting.insert(transaction, Unanswered { number, due, call_began });
        self.collect(call_began.is_some())
    }

    /// Takes in a whole message of the middlebox; an error in words ends it all.
    fn handle_response(
        &mut self,
        now: Instant,
        stream: u16,
        wire: &[u8],
        _blocked: Option<Duration>,
    ) -> Result<Vec<Told>, String> {
        hand_over(&mut self.agent, self.plan.framing, now, stream, wire);
        let mut told = Vec::new();
        while let Some(event) = self.agent.poll_event() {
            if let AgentEvent::Closed { reason } = event {
                return Err(reason.to_string());
            } else if let AgentEvent::Answered { transaction, outcome, .. } = event {
                let reply = outcome.map_err(|code| format!("the middlebox refused: {}", code.meaning()))?;
                let Some(waiting) = self.waiting.remove(&transaction) else { continue };
                if let (Some(began), Some((rule, _))) = (waiting.call_began, reply.rule()) {
                    self.calls.opened(began, rule);
                }
                let Unanswered { number, due, call_began } = waiting;
                told.push(Told::Done { number, due, is_timed: call_began.is_some() });
            } else if let AgentEvent::Opened { .. } = event {
                told.push(Told::Open);
            }
        }
        Ok(told)
    }
}
