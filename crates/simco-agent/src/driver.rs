//! The task that drives an agent over its connection.

use std::collections::BTreeMap;

use simco::agent::{Agent, AgentCloseReason, AgentEvent, PolicyReply};
use simco::{Capabilities, Lifetime, PolicyRequest, PolicyRuleId, TransactionId};
use tokio::sync::{mpsc, oneshot};
use virtual_time::Instant;

use crate::RequestError;
use crate::events::EventSender;
use crate::link::{Arrival, Link};

/// What handles ask for.
#[derive(Debug)]
pub(crate) enum Command {
    Request { request: PolicyRequest, answer: Answer },
    Hold { rule: PolicyRuleId, lifetime: Lifetime },
    Release { rule: PolicyRuleId },
    Terminate,
}

type Answer = oneshot::Sender<Result<PolicyReply, RequestError>>;
type Opened = oneshot::Sender<Result<Capabilities, AgentCloseReason>>;

/// An agent, its connection, and who waits for what.
#[derive(Debug)]
pub(crate) struct Driver {
    agent: Agent,
    link: Link,
    commands: mpsc::Receiver<Command>,
    events: EventSender,
    opened: Option<Opened>,
    waiting: BTreeMap<TransactionId, Answer>,
    start: tokio::time::Instant,
}

/// What woke the task.
enum Wake {
    Arrival(Arrival),
    Command(Option<Command>),
    Timeout,
}

impl Driver {
    pub(crate) fn new(
        agent: Agent,
        link: Link,
        commands: mpsc::Receiver<Command>,
        events: EventSender,
        opened: Opened,
    ) -> Self {
        let start = tokio::time::Instant::now();
        Self { agent, link, commands, events, opened: Some(opened), waiting: BTreeMap::new(), start }
    }

    /// Until the session is over.
    pub(crate) async fn run(mut self) {
        let mut is_wanted = true;
        while self.drain().is_none() {
            match self.wait(is_wanted).await {
                Wake::Arrival(Arrival::Octets(octets)) => self.agent.handle_octets(self.now(), &octets),
                Wake::Arrival(Arrival::Message(stream, octets)) => {
                    self.agent.handle_message(self.now(), stream, &octets);
                }
                Wake::Arrival(Arrival::End) => self.agent.handle_lost(),
                Wake::Timeout => self.agent.handle_timeout(self.now()),
                Wake::Command(None) => {
                    is_wanted = false;
                    self.agent.terminate();
                }
                Wake::Command(Some(command)) => self.obey(command),
            }
        }
        self.link.close().await;
    }

    async fn wait(&mut self, is_wanted: bool) -> Wake {
        // Requests that wait already go together.
        if let Ok(command) = self.commands.try_recv() {
            return Wake::Command(Some(command));
        }
        let deadline = self.agent.poll_timeout().map(|at| self.start + at.since(Instant::EPOCH));
        let timeout = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            arrival = self.link.turn() => Wake::Arrival(arrival),
            command = self.commands.recv(), if is_wanted => Wake::Command(command),
            () = timeout => Wake::Timeout,
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Request { request, answer } => match self.agent.request(request) {
                Ok(transaction) => {
                    self.waiting.insert(transaction, answer);
                }
                Err(_) => {
                    // Whoever asked may have gone.
                    let _gone = answer.send(Err(RequestError::Closed(AgentCloseReason::Terminated)));
                }
            },
            Command::Hold { rule, lifetime } => {
                self.agent.hold(self.now(), rule, lifetime);
            }
            Command::Release { rule } => self.agent.release(rule),
            Command::Terminate => self.agent.terminate(),
        }
    }

    /// Sends what the agent wants to send and tells what it has to tell; the reason if it is over.
    fn drain(&mut self) -> Option<AgentCloseReason> {
        while let Some((stream, octets)) = self.agent.poll_transmit() {
            self.link.queue(stream, octets);
        }
        let mut over = None;
        while let Some(event) = self.agent.poll_event() {
            if let AgentEvent::Closed { reason } = event {
                over = Some(reason);
            }
            self.tell(event);
        }
        let reason = over?;
        for answer in core::mem::take(&mut self.waiting).into_values() {
            // Whoever asked may have gone.
            let _gone = answer.send(Err(RequestError::Closed(reason)));
        }
        over
    }

    fn tell(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Answered { transaction, outcome, .. } => {
                if let Some(answer) = self.waiting.remove(&transaction) {
                    // Whoever asked may have gone.
                    let _gone = answer.send(outcome.map_err(RequestError::Refused));
                }
                return;
            }
            AgentEvent::Opened { capabilities } => {
                if let Some(opened) = self.opened.take() {
                    // A dropped attempt ends by the closed channel of commands.
                    let _gone = opened.send(Ok(capabilities));
                }
            }
            AgentEvent::Closed { reason } => {
                if let Some(opened) = self.opened.take() {
                    // The same.
                    let _gone = opened.send(Err(reason));
                }
            }
            AgentEvent::RuleEvent { .. }
            | AgentEvent::RuleLost { .. }
            | AgentEvent::RefreshRefused { .. }
            | AgentEvent::Found { .. }
            | AgentEvent::Resynchronised { .. }
            | AgentEvent::NotUnderstood => {}
        }
        self.events.tell(event);
    }

    fn now(&self) -> Instant {
        Instant::EPOCH + self.start.elapsed()
    }
}
