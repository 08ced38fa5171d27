//! The task that asks one middlebox: opens, keeps and deletes its pinholes, and comes back when the session is lost.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use call_core::{Pinhole, PinholeId, Refusal};
use simco::agent::{AgentEvent, PolicyReply};
use simco::{Capabilities, Lifetime, Owner, PolicyRequest, PolicyRuleId};
use simco_agent::{AgentEvents, RequestError, SimcoAgent};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::config::MiddleboxSettings;
use crate::server::Input;

/// A wish that a middlebox open a pinhole, or close one.
#[derive(Debug)]
pub(crate) enum Wish {
    Open(PinholeId, Pinhole),
    /// Open what was reserved under this number.
    Enable(PinholeId, Pinhole),
    Close(PinholeId),
}

/// A pinhole, as far as it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Asked,
    /// Nobody wants it any more, and the middlebox has not answered.
    Unwanted,
    Open(PolicyRuleId),
    /// It is reserved, and was asked to be opened.
    Enabling(PolicyRuleId),
}

/// An answer of the middlebox.
type Answer = (PinholeId, Result<PolicyReply, RequestError>);

/// The agent's view of one middlebox: the pinholes that were asked for, and the rules that are in force.
#[derive(Debug)]
pub(crate) struct Firewall {
    settings: MiddleboxSettings,
    inputs: mpsc::Sender<Input>,
    answers: mpsc::Sender<Answer>,
    pinholes: BTreeMap<PinholeId, State>,
    rules: BTreeMap<PolicyRuleId, PinholeId>,
    /// The middlebox is of the kind that the configuration says.
    is_of_kind: bool,
    /// Deletions under way.
    deletions: JoinSet<()>,
}

impl Firewall {
    /// Serves wishes until there are none any more; then every pinhole that is left is deleted.
    pub(crate) async fn run(
        settings: MiddleboxSettings,
        inputs: mpsc::Sender<Input>,
        mut wishes: mpsc::UnboundedReceiver<Wish>,
    ) {
        let (answers, mut answered) = mpsc::channel(WAITING);
        let (pinholes, rules) = (BTreeMap::new(), BTreeMap::new());
        let deletions = JoinSet::new();
        let mut firewall = Self { settings, inputs, answers, pinholes, rules, is_of_kind: true, deletions };
        while let Some((agent, events)) = firewall.connect(&mut wishes).await {
            firewall.check_kind(agent.capabilities()).await;
            let is_over = firewall.session(&agent, events, &mut wishes, &mut answered).await;
            firewall.lose_all().await;
            if is_over {
                while firewall.deletions.join_next().await.is_some() {}
                agent.terminate().await;
                break;
            }
        }
        firewall.tell(Input::MiddleboxUp(firewall.settings.index, false)).await;
    }

    /// Connects, however long that takes; wishes are refused meanwhile. `None` if there are none any more.
    async fn connect(&self, wishes: &mut mpsc::UnboundedReceiver<Wish>) -> Option<(SimcoAgent, AgentEvents)> {
        let mut pause = Duration::ZERO;
        loop {
            let wait = pause;
            let attempt = async move {
                tokio::time::sleep(wait).await;
                let connecting = SimcoAgent::connect(&self.settings.middlebox, self.settings.agent.clone());
                tokio::time::timeout(PATIENCE, connecting).await
            };
            let mut attempt = std::pin::pin!(attempt);
            let outcome = loop {
                tokio::select! {
                    outcome = &mut attempt => break outcome,
                    wish = wishes.recv() => match wish? {
                        Wish::Open(id, _) | Wish::Enable(id, _) => self.tell(Input::Verdict(id, Err(Refusal::Unreachable))).await,
                        Wish::Close(_) => {}
                    },
                }
            };
            match outcome {
                Ok(Ok(session)) => {
                    tracing::info!(middlebox = self.settings.name, "the session with the middlebox is open");
                    return Some(session);
                }
                Ok(Err(error)) => {
                    tracing::error!(middlebox = self.settings.name, %error, "calls through it are refused");
                }
                Err(_) => {
                    tracing::error!(middlebox = self.settings.name, "no answer to the attempt to connect");
                }
            }
            pause = (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        }
    }

    /// Serves one session, with those that the agent opens by itself after it; returns whether all is over.
    async fn session(
        &mut self,
        agent: &SimcoAgent,
        mut events: AgentEvents,
        wishes: &mut mpsc::UnboundedReceiver<Wish>,
        answered: &mut mpsc::Receiver<Answer>,
    ) -> bool {
        loop {
            while self.deletions.try_join_next().is_some() {}
            tokio::select! {
                wish = wishes.recv() => match wish {
                    Some(Wish::Open(id, _)) if !self.is_of_kind => {
                        self.tell(Input::Verdict(id, Err(Refusal::OtherKind))).await;
                    }
                    Some(Wish::Open(id, pinhole)) => self.open(agent, id, &pinhole),
                    Some(Wish::Enable(id, pinhole)) => self.enable(agent, id, &pinhole).await,
                    Some(Wish::Close(id)) => self.close(agent, id).await,
                    None => return true,
                },
                answer = answered.recv() => match answer {
                    Some((id, outcome)) => self.take_answer(agent, id, outcome).await,
                    None => return true,
                },
                event = events.next() => match event {
                    Some(event) => self.take_event(agent, event).await,
                    None => return false,
                },
            }
        }
    }

    /// Takes note of whether the middlebox is what the configuration says; pinholes of the wrong kind would open something else.
    async fn check_kind(&mut self, capabilities: &Capabilities) {
        self.is_of_kind = capabilities.services.is_translator == self.settings.is_translator;
        if !self.is_of_kind {
            let is_translator = capabilities.services.is_translator;
            tracing::error!(
                middlebox = self.settings.name,
                is_translator,
                "the middlebox is not of the kind that the configuration says; calls through it are refused"
            );
        }
        self.tell(Input::MiddleboxUp(self.settings.index, self.is_of_kind)).await;
    }

    fn open(&mut self, agent: &SimcoAgent, id: PinholeId, pinhole: &Pinhole) {
        self.pinholes.insert(id, State::Asked);
        self.request(agent, id, pinhole.request(self.settings.lifetime));
    }

    /// Has a reservation become a pinhole (PEA, RFC 4540 §5.3.6).
    async fn enable(&mut self, agent: &SimcoAgent, id: PinholeId, pinhole: &Pinhole) {
        let Some(State::Open(rule)) = self.pinholes.get(&id).copied() else {
            return self.tell(Input::Verdict(id, Err(Refusal::Unreachable))).await;
        };
        self.pinholes.insert(id, State::Enabling(rule));
        let pinhole = pinhole.enable(self.settings.lifetime);
        self.request(agent, id, PolicyRequest::EnableReserved { rule, pinhole });
    }

    fn request(&self, agent: &SimcoAgent, id: PinholeId, request: PolicyRequest) {
        let (agent, answers) = (agent.clone(), self.answers.clone());
        tokio::spawn(async move {
            let outcome = agent.request(request).await;
            // Without a receiver everything is over.
            let _over = answers.send((id, outcome)).await;
        });
    }

    async fn close(&mut self, agent: &SimcoAgent, id: PinholeId) {
        match self.pinholes.get(&id).copied() {
            Some(State::Open(rule) | State::Enabling(rule)) => {
                self.pinholes.remove(&id);
                self.rules.remove(&rule);
                agent.release(rule).await;
                self.delete(agent, rule);
            }
            Some(State::Asked) => {
                self.pinholes.insert(id, State::Unwanted);
            }
            Some(State::Unwanted) | None => {}
        }
    }

    async fn take_answer(
        &mut self,
        agent: &SimcoAgent,
        id: PinholeId,
        outcome: Result<PolicyReply, RequestError>,
    ) {
        let state = self.pinholes.remove(&id);
        let outside = outcome.as_ref().ok().and_then(outside);
        let granted = outcome.map(|reply| reply.rule());
        if let Some(State::Enabling(rule)) = state {
            // Refused, it is still reserved, and to be deleted.
            self.pinholes.insert(id, State::Open(rule));
        }
        match (state, granted) {
            (Some(State::Asked | State::Enabling(_)), Ok(Some((rule, lifetime)))) => {
                self.pinholes.insert(id, State::Open(rule));
                self.rules.insert(rule, id);
                agent.hold(rule, self.settings.lifetime.min(lifetime.max(Lifetime::from_secs(1)))).await;
                self.tell(Input::Verdict(id, Ok(outside))).await;
            }
            (Some(State::Unwanted) | None, Ok(Some((rule, _)))) => self.delete(agent, rule),
            (Some(State::Asked | State::Enabling(_)), Ok(None) | Err(RequestError::Refused(_))) => {
                tracing::warn!(middlebox = self.settings.name, ?granted, "a pinhole is refused");
                self.tell(Input::Verdict(id, Err(Refusal::Refused))).await;
            }
            (
                Some(State::Asked | State::Enabling(_)),
                Err(RequestError::NotConnected | RequestError::Closed(_)),
            ) => {
                self.tell(Input::Verdict(id, Err(Refusal::Unreachable))).await;
            }
            (Some(State::Open(_) | State::Unwanted) | None, _) => {}
        }
    }

    async fn take_event(&mut self, agent: &SimcoAgent, event: AgentEvent) {
        match event {
            AgentEvent::RuleLost { rule, .. } => {
                if let Some(id) = self.rules.remove(&rule) {
                    self.pinholes.remove(&id);
                    self.tell(Input::Loss(id)).await;
                }
            }
            AgentEvent::Found { status } => self.clean_up(agent, &status),
            AgentEvent::Closed { reason } => {
                tracing::warn!(middlebox = self.settings.name, %reason, "the session with the middlebox is lost");
                self.tell(Input::MiddleboxUp(self.settings.index, false)).await;
            }
            AgentEvent::Opened { capabilities } => self.check_kind(&capabilities).await,
            AgentEvent::RefreshRefused { rule, code } => {
                tracing::warn!(middlebox = self.settings.name, rule = rule.get(), %code, "a refresh is refused");
            }
            AgentEvent::RuleEvent { .. }
            | AgentEvent::Answered { .. }
            | AgentEvent::Resynchronised { .. }
            | AgentEvent::Reconnecting { .. }
            | AgentEvent::NotUnderstood => {}
        }
    }

    /// A rule that no call knows is one of an earlier life, or of a request whose answer was lost: it is deleted, if it is ours.
    fn clean_up(&mut self, agent: &SimcoAgent, status: &PolicyReply) {
        let owner: Option<&Owner> = match status {
            PolicyReply::EnableStatus { owner, .. }
            | PolicyReply::ReserveStatus { owner, .. }
            | PolicyReply::DisableStatus { owner, .. } => Some(owner),
            PolicyReply::Reserve(_)
            | PolicyReply::Enable(_)
            | PolicyReply::Disable { .. }
            | PolicyReply::LifetimeChange { .. }
            | PolicyReply::Deletion
            | PolicyReply::List(_) => None,
        };
        let identity = self.settings.agent.credentials.as_ref().map(|credentials| &credentials.identity);
        let Some((rule, _)) = status.rule() else { return };
        if identity.is_some() && owner == identity && !self.rules.contains_key(&rule) {
            tracing::info!(
                middlebox = self.settings.name,
                rule = rule.get(),
                "a rule that no call knows is deleted"
            );
            self.delete(agent, rule);
        }
    }

    /// The session is over for good: nobody keeps these alive any more.
    async fn lose_all(&mut self) {
        self.rules.clear();
        for (id, state) in std::mem::take(&mut self.pinholes) {
            match state {
                State::Open(_) => self.tell(Input::Loss(id)).await,
                State::Asked | State::Enabling(_) => {
                    self.tell(Input::Verdict(id, Err(Refusal::Unreachable))).await;
                }
                State::Unwanted => {}
            }
        }
    }

    /// Deletes a rule; if that fails the session is lost, and the next one finds it.
    fn delete(&mut self, agent: &SimcoAgent, rule: PolicyRuleId) {
        let agent = agent.clone();
        self.deletions.spawn(async move {
            let request = PolicyRequest::LifetimeChange { rule, lifetime: Lifetime::ZERO };
            if let Err(error) = agent.request(request).await {
                tracing::debug!(rule = rule.get(), %error, "a rule could not be deleted");
            }
        });
    }

    async fn tell(&self, input: Input) {
        // Without a receiver everything is over.
        let _over = self.inputs.send(input).await;
    }
}

/// Returns the address and first port outside that a reply gives, where it gives one port at least.
fn outside(reply: &PolicyReply) -> Option<SocketAddr> {
    let tuple = match reply {
        PolicyReply::Reserve(reserved) => reserved.outside,
        PolicyReply::Enable(enabled) => enabled.outside,
        PolicyReply::ReserveStatus { .. }
        | PolicyReply::EnableStatus { .. }
        | PolicyReply::DisableStatus { .. }
        | PolicyReply::Disable { .. }
        | PolicyReply::LifetimeChange { .. }
        | PolicyReply::Deletion
        | PolicyReply::List(_) => return None,
    };
    let (address, port, _) = tuple.full()?;
    (port != 0).then(|| SocketAddr::new(address, port))
}

/// Answers that wait.
const WAITING: usize = 1024;
/// How long an attempt to connect may take.
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
