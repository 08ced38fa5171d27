//! The agent and its calls: what it sends, and how long an opening takes.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use simco::agent::{Agent, AgentEvent};
use simco::{Header, TransactionId};
use virtual_time::Instant;
use workload::{ConfigError, LATE_SEND_BOUND, Lane, LoadCounters, MessageNumber, Sample};

use super::calls::{Calls, Due};
use super::{MessageFramer, agent, hand_over, request};
use crate::traffic::Offer;

/// Opens pinholes, refreshes and deletes them, and notes how long an opening takes from when it was due.
#[derive(Debug)]
pub(crate) struct SimcoLoad {
    agent: Agent,
    offer: Offer,
    calls: Calls,
    created: Instant,
    start: Option<Instant>,
    outbox: VecDeque<Ready>,
    closed: BTreeSet<Lane>,
    serial: u64,
    /// Openings that are not answered: their samples.
    openings: BTreeMap<TransactionId, usize>,
    samples: Vec<Sample>,
    counters: LoadCounters,
    failure: Option<String>,
}

/// A message that waits for its lane.
#[derive(Debug)]
struct Ready {
    serial: u64,
    lane: Lane,
    message: Bytes,
    transaction: TransactionId,
    was_deferred: bool,
}

impl SimcoLoad {
    pub(crate) fn new(offer: Offer, now: Instant) -> Result<Self, ConfigError> {
        let calls = Calls::new(offer.load.interval, offer.load.seed)?;
        let mut agent = agent(offer.load.seed);
        agent.connect(offer.framing);
        let mut load = Self {
            agent,
            offer,
            calls,
            created: now,
            start: None,
            outbox: VecDeque::new(),
            closed: BTreeSet::new(),
            serial: 0,
            openings: BTreeMap::new(),
            samples: Vec::new(),
            counters: LoadCounters::default(),
            failure: None,
        };
        load.collect();
        Ok(load)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if self.peek().is_some() {
            // Something can leave at once.
            return Some(self.created);
        }
        let timers = [self.calls.poll_timeout(), self.agent.poll_timeout(), self.deadline()];
        timers.into_iter().flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.agent.handle_timeout(now);
        while let Some((at, due)) = self.calls.pop(now) {
            // A session that has ended has said why.
            let Ok(transaction) = self.agent.request(request(due)) else { return };
            if due == Due::Open {
                self.openings.insert(transaction, self.samples.len());
                let number = MessageNumber(u64::try_from(self.samples.len()).unwrap_or(u64::MAX));
                let (sent, response, blocked) = (None, None, None);
                self.samples.push(Sample { number, lane: Lane(0), intended: at, sent, response, blocked });
            }
        }
        self.collect();
    }

    /// The first message whose lane is open.
    pub(crate) fn peek(&self) -> Option<(u64, Lane, Bytes)> {
        let ready = self.outbox.iter().find(|ready| !self.closed.contains(&ready.lane))?;
        Some((ready.serial, ready.lane, ready.message.clone()))
    }

    pub(crate) fn commit(&mut self, serial: u64, sent: Instant) {
        let Some(index) = self.outbox.iter().position(|ready| ready.serial == serial) else { return };
        let Some(ready) = self.outbox.remove(index) else { return };
        let Some(sample) = self.openings.get(&ready.transaction).and_then(|at| self.samples.get_mut(*at))
        else {
            return;
        };
        (sample.sent, sample.lane) = (Some(sent), ready.lane);
        self.counters.requests += 1;
        if ready.was_deferred {
            self.counters.deferred_sends += 1;
        } else if sent.since(sample.intended) > LATE_SEND_BOUND {
            self.counters.late_sends += 1;
        }
    }

    pub(crate) fn defer(&mut self, lane: Lane) {
        self.closed.insert(lane);
        for ready in self.outbox.iter_mut().filter(|ready| ready.lane == lane) {
            ready.was_deferred = true;
        }
    }

    pub(crate) fn handle_response(
        &mut self,
        now: Instant,
        lane: Lane,
        wire: &[u8],
        blocked: Option<Duration>,
    ) {
        hand_over(&mut self.agent, self.offer.framing, now, lane.0, wire);
        while let Some(event) = self.agent.poll_event() {
            self.note(now, event, blocked);
        }
        self.collect();
    }

    pub(crate) fn is_finished(&self, now: Instant) -> bool {
        let is_late = self.deadline().is_some_and(|deadline| now >= deadline);
        let all_is_answered = self.start.is_some() && self.calls.are_over(now) && self.openings.is_empty();
        is_late || all_is_answered
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    pub(crate) fn into_parts(self) -> (Vec<Sample>, LoadCounters) {
        (self.samples, self.counters)
    }

    /// When patience ends: with the session, then with the answers.
    fn deadline(&self) -> Option<Instant> {
        let from = self.start.unwrap_or(self.created);
        Some(from + self.offer.load.duration + self.offer.load.drain)
    }

    fn note(&mut self, now: Instant, event: AgentEvent, blocked: Option<Duration>) {
        if let AgentEvent::Closed { reason } = event {
            self.failure = Some(reason.to_string());
        } else if let AgentEvent::Opened { .. } = event {
            self.start = Some(now);
            self.calls.begin(now, self.offer.load.duration);
        } else if let AgentEvent::Answered { transaction, outcome, .. } = event {
            let opening = self.openings.remove(&transaction).and_then(|at| self.samples.get_mut(at));
            match (outcome, opening) {
                (Ok(reply), Some(sample)) => {
                    sample.response = Some(now.since(sample.intended));
                    sample.blocked = blocked;
                    self.counters.responses += 1;
                    if let Some((rule, _)) = reply.rule() {
                        self.calls.opened(sample.intended, rule);
                    }
                }
                (Ok(_), None) => {}
                (Err(code), _) => {
                    self.counters.wrong_content += 1;
                    self.failure = Some(format!("the middlebox refused: {}", code.meaning()));
                }
            }
        }
    }

    /// Takes what the agent wants to send, message by message.
    fn collect(&mut self) {
        while let Some((stream, octets)) = self.agent.poll_transmit() {
            let mut framer = MessageFramer::default();
            framer.push(&octets);
            // What we have written ourselves is whole.
            while let Ok(Some(message)) = framer.next_message() {
                let Ok(header) = Header::decode(&message) else { break };
                self.serial += 1;
                let (serial, lane, transaction) = (self.serial, Lane(stream.get()), header.transaction);
                let was_deferred = self.closed.contains(&lane);
                self.outbox.push_back(Ready { serial, lane, message, transaction, was_deferred });
            }
        }
    }
}
