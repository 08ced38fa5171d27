//! An agent: a session with a middlebox, requests, rules that are kept alive (RFC 4540 §7, §8; ruling R20).
//!
//! ```text
//!  request ─► stream map ─► outbox          octets ─► framer ─┬─► establish (SE, SA, ST)
//!  hold ────► refreshes ──────┘                               └─► replies ─► known rules ─► events
//! ```

mod config;
mod establish;
mod event;
mod known;
mod reconnection;
mod replies;
mod resynchronise;

use std::collections::{BTreeMap, VecDeque};

use virtual_time::Instant;

pub use self::config::{AgentSettings, Credentials, Refresh, Resynchronisation};
pub use self::event::{AgentCloseReason, AgentEvent, Loss, PolicyReply};
pub use self::reconnection::Reconnection;

use self::establish::SessionStep;
use self::known::{KnownRule, KnownRules, StreamMap};
use self::reconnection::Attempts;
use self::resynchronise::Progress;
use crate::auth::Nonces;
use crate::framer::{Framer, Go};
use crate::message::{Body, Message, Notification, PolicyRequest, Request};
use crate::middlebox::Framing;
use crate::numbers::{Lifetime, PolicyRuleId, StreamNumber, TransactionId};
use crate::outbox::Outbox;

/// An agent without IO, for one middlebox. It survives its connections: rules it knows are asked for again when it
/// connects anew, and those it holds are refreshed.
///
/// Driver's contract: *[`handle_octets`](Self::handle_octets) and the like → drain
/// [`poll_transmit`](Self::poll_transmit) → drain [`poll_event`](Self::poll_event) → read
/// [`poll_timeout`](Self::poll_timeout) → wait*. Time never goes back; a call too many does no harm.
#[derive(Debug)]
pub struct Agent {
    settings: AgentSettings,
    nonces: Nonces,
    phase: AgentPhase,
    framer: Framer,
    outbox: Outbox,
    streams: StreamMap,
    newest_transaction: TransactionId,
    /// Session control that waits for its reply.
    step: Option<(TransactionId, SessionStep)>,
    outstanding: BTreeMap<TransactionId, Outstanding>,
    known: KnownRules,
    /// Events about rules whose reply has not come yet.
    early_events: BTreeMap<PolicyRuleId, Lifetime>,
    resynchronisation: Option<Progress>,
    events: VecDeque<AgentEvent>,
    /// How many sessions there were.
    session: u64,
    attempts: Attempts,
}

/// How far the session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AgentPhase {
    /// The agent is not connected, or not any more.
    Closed,
    /// SE is sent.
    Establishing,
    Open,
    /// The session is ending: only replies are awaited.
    Terminating,
    /// AST has come: what is still under way may come, nothing is sent.
    Terminated,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    request: PolicyRequest,
    purpose: AnswerFor,
}

/// The one who wants the answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnswerFor {
    User,
    Refresh,
    Resynchronisation,
}

/// A request that cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no open session with the middlebox")]
pub struct NotOpen;

impl Agent {
    /// Creates an agent without connection. `secret` is 32 octets of entropy; in a simulation, of its seed.
    #[must_use]
    pub fn new(settings: AgentSettings, secret: [u8; 32]) -> Self {
        Self {
            settings,
            nonces: Nonces::new(&secret),
            phase: AgentPhase::Closed,
            framer: Framer::new(),
            outbox: Outbox::octets(),
            streams: StreamMap::new(1),
            newest_transaction: TransactionId::default(),
            step: None,
            outstanding: BTreeMap::new(),
            known: KnownRules::default(),
            early_events: BTreeMap::new(),
            resynchronisation: None,
            events: VecDeque::new(),
            session: 0,
            attempts: Attempts::default(),
        }
    }

    /// A connection is there: opens a session on it. What an earlier one left is dropped.
    pub fn connect(&mut self, framing: Framing) {
        if self.phase != AgentPhase::Closed {
            self.close(AgentCloseReason::Lost);
        }
        self.outbox = match framing {
            Framing::Octets => Outbox::octets(),
            Framing::Messages { .. } => Outbox::messages(),
        };
        self.streams = StreamMap::new(framing.streams());
        self.framer = Framer::new();
        self.phase = AgentPhase::Establishing;
        self.send_establishment();
    }

    /// Makes a request; [`AgentEvent::Answered`] brings the answer.
    ///
    /// # Errors
    ///
    /// The session is not open (yet, or any more).
    pub fn request(&mut self, request: PolicyRequest) -> Result<TransactionId, NotOpen> {
        if self.phase != AgentPhase::Open {
            return Err(NotOpen);
        }
        Ok(self.send_policy(request, AnswerFor::User))
    }

    /// Keeps a rule alive, asking for `lifetime` each time. Whether the rule is known.
    pub fn hold(&mut self, now: Instant, rule: PolicyRuleId, lifetime: Lifetime) -> bool {
        let Some(known) = self.known.rule(rule).copied() else { return false };
        let wait = self.settings.refresh.wait(known.deadline.since(now), self.nonces.fraction());
        let refresh_at = Some(now + wait);
        self.known.put(rule, KnownRule { held_for: Some(lifetime), refresh_at, ..known });
        true
    }

    /// Keeps a rule alive no longer; it ends at its deadline.
    pub fn release(&mut self, rule: PolicyRuleId) {
        if let Some(known) = self.known.rule(rule).copied() {
            self.known.put(rule, KnownRule { held_for: None, refresh_at: None, ..known });
        }
    }

    /// Ends the session as soon as all requests are answered: ST goes on stream 0 and would overtake them (ruling R20).
    pub fn terminate(&mut self) {
        if self.phase == AgentPhase::Open {
            self.phase = AgentPhase::Terminating;
            self.terminate_when_idle();
        }
    }

    /// Octets of a byte stream, cut anywhere.
    pub fn handle_octets(&mut self, now: Instant, octets: &[u8]) {
        let mut framer = core::mem::replace(&mut self.framer, Framer::new());
        let outcome = framer.take(now, octets, |message| {
            self.handle_message(now, StreamNumber::CONTROL, message);
            if self.phase == AgentPhase::Closed { Go::Stop } else { Go::On }
        });
        self.framer = framer;
        if let Err(error) = outcome {
            self.close(AgentCloseReason::BadlyFormed(error));
        }
    }

    /// A whole message from a stream.
    pub fn handle_message(&mut self, now: Instant, stream: StreamNumber, octets: &[u8]) {
        if self.phase == AgentPhase::Closed {
            return;
        }
        match Message::decode(octets) {
            Ok(message) => self.take(now, stream, &message),
            Err(error) => self.close(AgentCloseReason::BadlyFormed(error)),
        }
        self.terminate_when_idle();
    }

    /// Takes note that the connection is gone.
    pub fn handle_lost(&mut self) {
        match self.phase {
            AgentPhase::Closed => {}
            AgentPhase::Terminated => self.close(AgentCloseReason::TerminatedByMiddlebox),
            AgentPhase::Establishing | AgentPhase::Open | AgentPhase::Terminating => {
                self.close(AgentCloseReason::Lost);
            }
        }
    }

    /// Takes note of the time: rules expire, others are refreshed.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(rule) = self.known.expired(now) {
            self.lose(rule, Loss::Expired);
        }
        if self.phase != AgentPhase::Open {
            return;
        }
        while let Some(id) = self.known.due(now) {
            let Some(rule) = self.known.rule(id).copied() else { return };
            // Nothing more until the answer.
            self.known.put(id, KnownRule { refresh_at: None, ..rule });
            if let Some(lifetime) = rule.held_for {
                self.send_policy(PolicyRequest::LifetimeChange { rule: id, lifetime }, AnswerFor::Refresh);
            }
        }
    }

    /// Returns the next octets to send: a message for a stream, or any number of them for a byte stream.
    pub fn poll_transmit(&mut self) -> Option<(StreamNumber, Vec<u8>)> {
        self.outbox.pop()
    }

    /// Returns the next event, the oldest first.
    pub fn poll_event(&mut self) -> Option<AgentEvent> {
        self.events.pop_front()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let refresh = if self.phase == AgentPhase::Open { self.known.next_refresh() } else { None };
        match (self.known.next_deadline(), refresh) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Returns whether requests can be made.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase == AgentPhase::Open
    }

    /// Returns the number of requests that wait for their answer.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Returns the rules this agent knows, and until when they live.
    pub fn known_rules(&self) -> impl Iterator<Item = (PolicyRuleId, Instant)> {
        self.known.iter().map(|(id, rule)| (id, rule.deadline))
    }

    fn take(&mut self, now: Instant, stream: StreamNumber, message: &Message<'_>) {
        let transaction = message.transaction;
        let outcome = match message.body {
            Body::Request(_) => return self.close(AgentCloseReason::OutOfPlace),
            Body::Notification(notification) => return self.take_notification(now, notification),
            Body::Positive(reply) => {
                if self.take_session_reply(now, transaction, Ok(&reply)) {
                    return;
                }
                PolicyReply::of(&reply).map(Ok)
            }
            Body::Negative(reply) => {
                if self.take_session_reply(now, transaction, Err(reply)) {
                    return;
                }
                Some(Err(reply.code()))
            }
        };
        let Some(Outstanding { request, .. }) = self.outstanding.get(&transaction) else {
            return self.close(AgentCloseReason::OutOfPlace);
        };
        match outcome {
            Some(outcome) if outcome.as_ref().map_or(true, |reply| reply.answers(request)) => {
                self.take_answer(now, transaction, stream, outcome);
            }
            Some(_) | None => self.close(AgentCloseReason::OutOfPlace),
        }
    }

    fn take_notification(&mut self, now: Instant, notification: Notification) {
        match notification {
            Notification::BadlyFormedMessage => self.events.push_back(AgentEvent::NotUnderstood),
            Notification::SessionTermination => self.phase = AgentPhase::Terminated,
            Notification::RuleEvent { rule, lifetime } => self.take_rule_event(now, rule, lifetime),
        }
    }

    fn send_policy(&mut self, request: PolicyRequest, purpose: AnswerFor) -> TransactionId {
        let stream = self.streams.choose(request.rule());
        let transaction = self.send_on(stream, Request::Policy(request));
        self.outstanding.insert(transaction, Outstanding { request, purpose });
        transaction
    }

    /// Queues a request on a stream and returns its transaction identifier. Identifiers never repeat while
    /// sessions last (RFC 4540 §4.1).
    fn send_on(&mut self, stream: StreamNumber, request: Request<'_>) -> TransactionId {
        self.newest_transaction = self.newest_transaction.next();
        let message = Message { transaction: self.newest_transaction, body: Body::Request(request) };
        self.outbox.push(stream, |out| {
            // Requests always fit: identities and tokens are limited.
            let written = message.encode(out);
            debug_assert_eq!(written, Ok(()));
        });
        self.newest_transaction
    }

    fn terminate_when_idle(&mut self) {
        if self.phase == AgentPhase::Terminating && self.outstanding.is_empty() && self.step.is_none() {
            self.send_termination();
        }
    }

    fn close(&mut self, reason: AgentCloseReason) {
        self.phase = AgentPhase::Closed;
        self.step = None;
        // A refresh without an answer is due again.
        for outstanding in core::mem::take(&mut self.outstanding).into_values() {
            if let (AnswerFor::Refresh, Some(id)) = (outstanding.purpose, outstanding.request.rule())
                && let Some(rule) = self.known.rule(id).copied()
            {
                self.known.put(id, KnownRule { refresh_at: Some(Instant::EPOCH), ..rule });
            }
        }
        self.attempts.ended(reason);
        self.early_events.clear();
        self.resynchronisation = None;
        self.outbox.clear();
        self.events.push_back(AgentEvent::Closed { reason });
    }
}
