//! The task that drives an agent over its connections, one after the other.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use simco::agent::{Agent, AgentCloseReason, AgentEvent, PolicyReply};
use simco::{Capabilities, Lifetime, PolicyRequest, PolicyRuleId, TransactionId};
use tokio::sync::{mpsc, oneshot};
use virtual_time::Instant;

use crate::RequestError;
use crate::events::EventSender;
use crate::link::{Arrival, Dialer, Link};

/// A command from a handle.
#[derive(Debug)]
pub(crate) enum Command {
    Request { request: PolicyRequest, answer: Answer },
    Hold { rule: PolicyRuleId, lifetime: Lifetime },
    Release { rule: PolicyRuleId },
    Terminate,
}

type Answer = oneshot::Sender<Result<PolicyReply, RequestError>>;
type Opened = oneshot::Sender<Result<Capabilities, AgentCloseReason>>;

/// An agent, how it connects, and who waits for what.
#[derive(Debug)]
pub(crate) struct Driver {
    agent: Agent,
    dialer: Dialer,
    /// How long an attempt to come back may take.
    patience: Duration,
    commands: mpsc::Receiver<Command>,
    /// Nobody has asked for the end.
    is_wanted: bool,
    events: EventSender,
    opened: Option<Opened>,
    waiting: BTreeMap<TransactionId, Answer>,
    start: tokio::time::Instant,
}

/// The event that woke the task.
enum Wake {
    Arrival(Arrival),
    Command(Option<Command>),
    Timeout,
    /// The session does not open.
    OutOfPatience,
}

impl Driver {
    pub(crate) fn new(
        agent: Agent,
        dialer: Dialer,
        patience: Duration,
        commands: mpsc::Receiver<Command>,
        events: EventSender,
        opened: Opened,
    ) -> Self {
        let (start, waiting) = (tokio::time::Instant::now(), BTreeMap::new());
        let (is_wanted, opened) = (true, Some(opened));
        Self { agent, dialer, patience, commands, is_wanted, events, opened, waiting, start }
    }

    /// Drives the agent until the session is over for good. Whoever made `link` sees to it that the first
    /// session opens in time.
    pub(crate) async fn run(mut self, mut link: Link) {
        let mut opens_by = None;
        let reason = loop {
            self.agent.connect(link.framing());
            let reason = self.session(link, opens_by).await;
            match self.come_back(reason).await {
                Ok(another) => link = another,
                Err(reason) => break reason,
            }
            opens_by = Some(tokio::time::Instant::now() + self.patience);
        };
        self.events.finish(reason);
    }

    /// Drives one session until it is over.
    async fn session(&mut self, mut link: Link, opens_by: Option<tokio::time::Instant>) -> AgentCloseReason {
        let reason = loop {
            if let Some(reason) = self.drain(&mut link) {
                break reason;
            }
            match self.wait(&mut link, opens_by).await {
                Wake::Arrival(Arrival::Octets(octets)) => self.agent.handle_octets(self.now(), &octets),
                Wake::Arrival(Arrival::Message(stream, octets)) => {
                    self.agent.handle_message(self.now(), stream, &octets);
                }
                Wake::Arrival(Arrival::End) | Wake::OutOfPatience => self.agent.handle_lost(),
                Wake::Timeout => self.agent.handle_timeout(self.now()),
                Wake::Command(None) => {
                    self.is_wanted = false;
                    self.agent.terminate();
                }
                Wake::Command(Some(command)) => self.obey(command),
            }
        };
        link.close().await;
        reason
    }

    /// Connects anew if that is wanted and can help; otherwise the reason why all is over.
    async fn come_back(&mut self, reason: AgentCloseReason) -> Result<Link, AgentCloseReason> {
        let mut wait = self.agent.next_attempt(self.now()).filter(|_| self.is_wanted).ok_or(reason)?;
        self.events.tell(AgentEvent::Closed { reason });
        loop {
            let (dialer, patience) = (self.dialer.clone(), self.patience);
            let attempt = async {
                tokio::time::sleep(wait).await;
                tokio::time::timeout(patience, dialer.dial()).await
            };
            match self.meanwhile(attempt).await {
                None => return Err(AgentCloseReason::Terminated),
                Some(Ok(Ok(link))) => return Ok(link),
                Some(Ok(Err(_)) | Err(_)) => {
                    wait = self.agent.next_attempt(self.now()).ok_or(reason)?;
                }
            }
        }
    }

    /// Waits for `work` while there is no session: rules expire, requests are refused. `None` if the end is
    /// wanted.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            self.tell_all();
            let timeout = timer(self.deadline());
            tokio::select! {
                done = &mut work => return Some(done),
                command = self.commands.recv() => match command {
                    None | Some(Command::Terminate) => return None,
                    Some(command) => self.obey(command),
                },
                () = timeout => self.agent.handle_timeout(self.now()),
            }
        }
    }

    async fn wait(&mut self, link: &mut Link, opens_by: Option<tokio::time::Instant>) -> Wake {
        // Requests that wait already go together.
        if let Ok(command) = self.commands.try_recv() {
            return Wake::Command(Some(command));
        }
        let timeout = timer(self.deadline());
        let patience = timer(opens_by.filter(|_| !self.agent.is_open() && self.is_wanted));
        let may_command = !(self.commands.is_closed() && self.commands.is_empty());
        tokio::select! {
            arrival = link.turn() => Wake::Arrival(arrival),
            command = self.commands.recv(), if may_command => Wake::Command(command),
            () = timeout => Wake::Timeout,
            () = patience => Wake::OutOfPatience,
        }
    }

    fn deadline(&self) -> Option<tokio::time::Instant> {
        self.agent.poll_timeout().map(|at| self.start + at.since(Instant::EPOCH))
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Request { request, answer } => match self.agent.request(request) {
                Ok(transaction) => {
                    self.waiting.insert(transaction, answer);
                }
                Err(_) => {
                    let over = RequestError::Closed(AgentCloseReason::Terminated);
                    let error = if self.is_wanted { RequestError::NotConnected } else { over };
                    // Whoever asked may have gone.
                    let _gone = answer.send(Err(error));
                }
            },
            Command::Hold { rule, lifetime } => {
                self.agent.hold(self.now(), rule, lifetime);
            }
            Command::Release { rule } => self.agent.release(rule),
            Command::Terminate => {
                self.is_wanted = false;
                self.agent.terminate();
            }
        }
    }

    /// Sends what the agent wants to send and tells what it has to tell; the reason if the session is over.
    fn drain(&mut self, link: &mut Link) -> Option<AgentCloseReason> {
        while let Some((stream, octets)) = self.agent.poll_transmit() {
            link.queue(stream, octets);
        }
        let reason = self.tell_all()?;
        for answer in core::mem::take(&mut self.waiting).into_values() {
            // Whoever asked may have gone.
            let _gone = answer.send(Err(RequestError::Closed(reason)));
        }
        Some(reason)
    }

    fn tell_all(&mut self) -> Option<AgentCloseReason> {
        let mut over = None;
        while let Some(event) = self.agent.poll_event() {
            if let AgentEvent::Closed { reason } = event {
                over = Some(reason);
            }
            self.tell(event);
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
                // Told when it is known whether there is another session.
                return;
            }
            AgentEvent::RuleEvent { .. }
            | AgentEvent::RuleLost { .. }
            | AgentEvent::RefreshRefused { .. }
            | AgentEvent::Found { .. }
            | AgentEvent::Resynchronised { .. }
            | AgentEvent::Reconnecting { .. }
            | AgentEvent::NotUnderstood => {}
        }
        self.events.tell(event);
    }

    fn now(&self) -> Instant {
        Instant::EPOCH + self.start.elapsed()
    }
}

/// Waits until then; without a time, for ever.
async fn timer(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
