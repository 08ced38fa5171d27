//! How a connection becomes a session (RFC 4540 §7.2 to §7.4).

use virtual_time::Instant;

use super::Middlebox;
use super::config::{AgentPolicy, Protection};
use super::event::{CloseReason, MiddleboxEvent};
use super::session::{Demand, Proof, Session, SessionId, State};
use crate::auth::{self, Key, Side};
use crate::codepoints::NegativeCode;
use crate::filter::PacketFilter;
use crate::message::{Body, Message, NegativeReply, PositiveReply};
use crate::numbers::{StreamNumber, TransactionId};
use crate::parameters::Version;
use crate::rule::Owner;

/// The request that an answer belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) session: SessionId,
    pub(crate) stream: StreamNumber,
    pub(crate) transaction: TransactionId,
}

/// The outcome of an SE request.
enum Establishment {
    Open(Owner),
    Prove { challenge: Option<[u8; 32]>, token: Option<[u8; 32]>, proof: Proof },
}

impl<F: PacketFilter> Middlebox<F> {
    /// Takes in SE, which asks for a session.
    pub(super) fn establish(
        &mut self,
        now: Instant,
        origin: Origin,
        version: Version,
        challenge: Option<&[u8]>,
    ) {
        match self.judge_establishment(origin.session, version, challenge) {
            Err(code) => self.refuse_connection(origin, code),
            Ok(Establishment::Open(agent)) => self.begin_session(origin, agent),
            Ok(Establishment::Prove { challenge, token, proof }) => {
                let Some(session) = self.sessions.get_mut(&origin.session) else { return };
                session.state = State::NoAuth { proof: Box::new(proof), since: now };
                let reply = PositiveReply::SessionAuthentication {
                    challenge: challenge.as_ref().map(<[u8; 32]>::as_slice),
                    token: token.as_ref().map(<[u8; 32]>::as_slice),
                };
                session.send(origin.stream, &origin.message(Body::Positive(reply)));
                self.ready.insert(origin.session);
            }
        }
    }

    /// Takes in SA, the agent's token. A wrong one ends the connection.
    pub(super) fn authenticate(&mut self, origin: Origin, token: Option<&[u8]>) {
        let Some(Session { state: State::NoAuth { proof, .. }, .. }) = self.sessions.get(&origin.session)
        else {
            return;
        };
        let claimed = proof.claimed.clone();
        match claimed.clone().filter(|_| proof.demand.is_met(token)) {
            Some(agent) => match self.may_open(&agent) {
                Ok(()) => self.begin_session(origin, agent),
                Err(code) => self.refuse_connection(origin, code),
            },
            None => {
                self.events
                    .push_back(MiddleboxEvent::AuthenticationFailed { session: origin.session, claimed });
                self.refuse_connection(origin, NegativeCode::AuthenticationFailed);
            }
        }
    }

    /// Returns what the agent may do now; `None` if it is not known (any more).
    pub(super) fn policy_of(&self, agent: &Owner) -> Option<&AgentPolicy> {
        let agents = &self.policies.config.agents;
        agents.known.get(agent).map(|known| &known.policy).or(agents.anonymous.as_ref())
    }

    /// Returns how many open sessions there are of agents that have not proved who they are.
    fn anonymous_sessions(&self) -> usize {
        let known = &self.policies.config.agents.known;
        let is_anonymous = |session: &&Session| {
            session.connection.authenticated.is_none()
                && session.agent().is_some_and(|agent| !known.contains_key(agent))
        };
        self.sessions.values().filter(is_anonymous).count()
    }

    /// Judges an SE request by the steps of RFC 4540 §7.2, in their order.
    fn judge_establishment(
        &mut self,
        session: SessionId,
        version: Version,
        challenge: Option<&[u8]>,
    ) -> Result<Establishment, NegativeCode> {
        let connection = self.sessions.get(&session).map(|session| session.connection.clone());
        let connection = connection.ok_or(NegativeCode::NotApplicable)?;
        let demands = self.policies.config.demands;
        if self.sessions.len() > self.policies.config.limits.sessions {
            return Err(NegativeCode::LackOfResources);
        }
        if connection.framing.streams() < demands.fewest_streams
            && connection.framing != super::Framing::Octets
        {
            return Err(NegativeCode::TransportProblem);
        }
        if demands.protection == Protection::Encrypted && connection.protection == Protection::None {
            return Err(NegativeCode::InsufficientSecurity);
        }
        if version != Version::CURRENT {
            return Err(NegativeCode::VersionMismatch);
        }
        if let Some(agent) = &connection.authenticated {
            self.may_open(agent)?;
        }
        match (challenge, connection.authenticated) {
            (Some(challenge), authenticated) => Ok(self.answer_challenge(challenge, authenticated)),
            (None, Some(agent)) => Ok(Establishment::Open(agent)),
            (None, None) if self.policies.config.agents.anonymous.is_some() => {
                if self.policies.config.agents.known.contains_key(&connection.peer) {
                    return Err(NegativeCode::NoAuthorization);
                }
                self.may_open(&connection.peer)?;
                if self.anonymous_sessions() >= self.policies.config.limits.anonymous_sessions {
                    return Err(NegativeCode::LackOfResources);
                }
                Ok(Establishment::Open(connection.peer))
            }
            (None, None) => Ok(self.ask_unnamed()),
        }
    }

    /// Answers an agent that wants us to prove who we are, and says who it is.
    fn answer_challenge(&mut self, agent_challenge: &[u8], authenticated: Option<Owner>) -> Establishment {
        let identity = authenticated.clone().or_else(|| auth::claimed_identity(agent_challenge));
        let known = identity.as_ref().and_then(|identity| self.policies.config.agents.known.get(identity));
        // Somebody unknown is answered like somebody with a wrong key.
        let decoy = Key::new(self.nonces.next());
        let key = known.map_or(decoy, |known| known.key.clone());
        let is_known = known.is_some();
        if authenticated.is_some() {
            let token = auth::token(&key, Side::Middlebox, agent_challenge, &[]);
            let proof = Proof { claimed: authenticated, demand: Demand::Nothing };
            return Establishment::Prove { challenge: None, token: Some(token), proof };
        }
        let middlebox_challenge = self.nonces.next();
        let token = auth::token(&key, Side::Middlebox, agent_challenge, &middlebox_challenge);
        let demand = Demand::Token { key, agent_challenge: agent_challenge.to_vec(), middlebox_challenge };
        let proof = Proof { claimed: identity.filter(|_| is_known), demand };
        Establishment::Prove { challenge: Some(middlebox_challenge), token: Some(token), proof }
    }

    /// Asks an agent that did not say who it is for a token; none can be right.
    fn ask_unnamed(&mut self) -> Establishment {
        let middlebox_challenge = self.nonces.next();
        let key = Key::new(self.nonces.next());
        let demand = Demand::Token { key, agent_challenge: Vec::new(), middlebox_challenge };
        let proof = Proof { claimed: None, demand };
        Establishment::Prove { challenge: Some(middlebox_challenge), token: None, proof }
    }

    /// Returns whether the agent may have one session more.
    fn may_open(&self, agent: &Owner) -> Result<(), NegativeCode> {
        let policy = self.policy_of(agent).filter(|policy| policy.may_connect);
        let policy = policy.ok_or(NegativeCode::NoAuthorization)?;
        let sessions = self.by_agent.get(agent).map_or(0, std::collections::BTreeSet::len);
        if sessions >= policy.most_sessions { Err(NegativeCode::LackOfResources) } else { Ok(()) }
    }

    fn begin_session(&mut self, origin: Origin, agent: Owner) {
        let capabilities = self.policies.capabilities;
        let Some(session) = self.sessions.get_mut(&origin.session) else { return };
        session.state = State::Open { agent: agent.clone() };
        let reply = PositiveReply::SessionEstablishment { capabilities };
        session.send(origin.stream, &origin.message(Body::Positive(reply)));
        self.by_agent.entry(agent.clone()).or_default().insert(origin.session);
        self.ready.insert(origin.session);
        self.events.push_back(MiddleboxEvent::Opened { session: origin.session, agent });
    }

    /// A negative reply, and the end.
    fn refuse_connection(&mut self, origin: Origin, code: NegativeCode) {
        let Some(session) = self.sessions.get_mut(&origin.session) else { return };
        session.send(origin.stream, &origin.message(Body::Negative(NegativeReply::new(code))));
        self.end(origin.session, CloseReason::Refused(code));
    }
}

impl Origin {
    pub(crate) const fn message(self, body: Body<'_>) -> Message<'_> {
        Message { transaction: self.transaction, body }
    }
}

impl Demand {
    fn is_met(&self, token: Option<&[u8]>) -> bool {
        match self {
            Self::Nothing => true,
            Self::Token { key, agent_challenge, middlebox_challenge } => {
                let token = token.unwrap_or_default();
                auth::is_token(key, Side::Agent, agent_challenge, middlebox_challenge, token)
            }
        }
    }
}
