//! A middlebox: sessions with agents, policy rules, a packet filter (RFC 4540 §7, §8). Routes; decides nothing.
//!
//! ```text
//!  octets ─► framer ─► format ─┬─► establish (SE, SA, ST)
//!                              └─► pending ─► policies ─► PacketFilter ─► replies, ARE
//!                                     (poll_transmit: everything that waits, in one call of the filter)
//! ```

mod checks;
mod commit;
mod config;
mod establish;
mod event;
mod format;
mod policies;
mod rate;
mod rules;
mod session;
mod translator;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use virtual_time::Instant;

pub use self::config::{
    AgentConfig, AgentPolicy, Agents, Demands, Limits, MiddleboxConfig, MiddleboxConfigError, Offer, Pool,
    Protection, Realms, RequestRate, Scope, Service,
};
pub use self::event::{CloseReason, MiddleboxEvent, Transmit};
pub use self::session::{Connection, Framing, SessionId};

use self::commit::Pending;
use self::establish::Origin;
use self::format::{Examined, Then, examine};
use self::policies::Policies;
use self::rate::Rates;
use self::session::{Session, State};
use crate::auth::Nonces;
use crate::codepoints::NegativeCode;
use crate::filter::{Change, FilterError, PacketFilter, RemovalCause};
use crate::framer::Go;
use crate::message::{Body, NegativeReply, Notification, PositiveReply, Request};
use crate::numbers::{PolicyRuleId, StreamNumber};
use crate::parameters::Capabilities;
use crate::rule::{Owner, PolicyRule};

/// A middlebox without IO.
///
/// Driver's contract: *[`handle_octets`](Self::handle_octets) and the like → drain
/// [`poll_transmit`](Self::poll_transmit) → drain [`poll_event`](Self::poll_event) → read
/// [`poll_timeout`](Self::poll_timeout) → wait*. Time never goes back; a call too many does no harm. Requests are
/// processed in `poll_transmit`: the more are handed in before it, the more share one call of the packet filter.
///
/// # Example
///
/// ```
/// use simco::filter::MemoryFilter;
/// use simco::middlebox::{AgentPolicy, Connection, Framing, Middlebox, MiddleboxConfig, Protection};
/// use simco::{Message, Owner};
/// use virtual_time::Instant;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = MiddleboxConfig::default();
/// config.agents.anonymous = Some(AgentPolicy::default());
/// let mut middlebox = Middlebox::new(config, MemoryFilter::new(), [7; 32])?;
/// let peer = Owner::new(b"10.0.0.9")?;
/// let connection =
///     Connection { framing: Framing::Octets, peer, authenticated: None, protection: Protection::None };
/// let session = middlebox.open(Instant::EPOCH, connection);
/// middlebox.handle_octets(Instant::EPOCH, session, &[1, 1, 0, 8, 0, 0, 0, 1, 0, 1, 0, 4, 3, 0, 0, 0]);
/// let reply = middlebox.poll_transmit(Instant::EPOCH).ok_or("no reply")?;
/// assert_eq!(reply.octets[..2], [2, 1]);
/// assert!(Message::decode(&reply.octets).is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Middlebox<F> {
    policies: Policies,
    filter: F,
    nonces: Nonces,
    sessions: BTreeMap<SessionId, Session>,
    /// The open sessions of each agent.
    by_agent: BTreeMap<Owner, BTreeSet<SessionId>>,
    /// Open sessions of agents that may access everybody's rules.
    overseers: BTreeSet<SessionId>,
    rates: Rates,
    pending: Vec<Pending>,
    /// Sessions with something to send.
    ready: BTreeSet<SessionId>,
    events: VecDeque<MiddleboxEvent>,
    newest_session: u64,
}

impl<F: PacketFilter> Middlebox<F> {
    /// Creates a middlebox without rules and sessions. `secret` is 32 octets of entropy; in a simulation, of
    /// its seed.
    ///
    /// # Errors
    ///
    /// The configuration contradicts itself or wants what the filter cannot do.
    pub fn new(config: MiddleboxConfig, filter: F, secret: [u8; 32]) -> Result<Self, MiddleboxConfigError> {
        let capabilities = config.capabilities(filter.capabilities())?;
        Ok(Self {
            policies: Policies::new(config, capabilities),
            filter,
            nonces: Nonces::new(&secret),
            sessions: BTreeMap::new(),
            by_agent: BTreeMap::new(),
            overseers: BTreeSet::new(),
            rates: Rates::default(),
            pending: Vec::new(),
            ready: BTreeSet::new(),
            events: VecDeque::new(),
            newest_session: 0,
        })
    }

    /// Takes in a new connection of an agent. If there are as many as there may be, the oldest that is no
    /// session makes room: that of the peer that has most of them.
    pub fn open(&mut self, now: Instant, connection: Connection) -> SessionId {
        if self.sessions.len() >= self.policies.config.limits.sessions {
            self.displace();
        }
        self.newest_session += 1;
        let id = SessionId(self.newest_session);
        self.sessions.insert(id, Session::new(connection, now));
        id
    }

    /// Octets of a byte stream, cut anywhere.
    pub fn handle_octets(&mut self, now: Instant, session: SessionId, octets: &[u8]) {
        let Some(Session { framer, .. }) = self.sessions.get_mut(&session) else { return };
        let mut taken = core::mem::replace(framer, crate::framer::Framer::new());
        let outcome = taken.take(now, octets, |message| {
            self.handle_whole(now, session, StreamNumber::CONTROL, message);
            if self.sessions.get(&session).is_some_and(|session| session.phase().is_some()) {
                Go::On
            } else {
                Go::Stop
            }
        });
        if outcome.is_err() {
            self.badly_formed(now, session, StreamNumber::CONTROL);
        }
        if let Some(session) = self.sessions.get_mut(&session) {
            session.framer = taken;
        }
    }

    /// A whole message from a stream.
    pub fn handle_message(&mut self, now: Instant, session: SessionId, stream: StreamNumber, octets: &[u8]) {
        let Some(known) = self.sessions.get(&session) else { return };
        if stream.get() < known.connection.framing.streams() {
            self.handle_whole(now, session, stream, octets);
        } else {
            self.badly_formed(now, session, stream);
        }
    }

    /// The connection is gone. Its rules live on until their deadlines (RFC 5189 §2.2).
    pub fn handle_lost(&mut self, now: Instant, session: SessionId) {
        // What was received counts.
        self.commit(now);
        self.forget(session);
    }

    /// Takes note of the time: rules expire, patience ends.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        let patience = self.patience();
        let is_over = |session: &Session| session.deadline(patience).is_some_and(|deadline| deadline <= now);
        let over = self.sessions.iter().filter(|(_, session)| is_over(session));
        let over: Vec<_> = over.map(|(id, session)| (*id, session.framer.deadline())).collect();
        for (id, half_message) in over {
            if half_message.is_some_and(|deadline| deadline <= now) {
                self.badly_formed(now, id, StreamNumber::CONTROL);
            } else {
                self.end(id, CloseReason::NotEstablished);
            }
        }
    }

    /// Returns the next octets to send, after processing what waits.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if !self.pending.is_empty() {
            self.commit(now);
        }
        while let Some(id) = self.ready.first().copied() {
            let next = self.sessions.get_mut(&id).filter(|session| !session.is_paused);
            let Some((session, (stream, octets))) =
                next.and_then(|session| session.outbox.pop().map(|next| (session, next)))
            else {
                self.ready.remove(&id);
                continue;
            };
            if session.outbox.is_empty() {
                self.ready.remove(&id);
                self.close_if_ending(id);
            }
            return Some(Transmit { session: id, stream, octets });
        }
        None
    }

    /// Returns the next event, the oldest first.
    pub fn poll_event(&mut self) -> Option<MiddleboxEvent> {
        self.events.pop_front()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let patience = self.patience();
        let silent = self.sessions.values().filter_map(|session| session.deadline(patience)).min();
        match (silent, self.policies.rules.next_deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Tells whether the connection can take octets; until it can again nothing is handed out for it, and beyond
    /// [`Limits::outbox_bytes`] the session is cut.
    pub fn set_flow(&mut self, session: SessionId, flow: Flow) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        known.is_paused = flow == Flow::Paused;
        if flow == Flow::Ready && !known.outbox.is_empty() {
            self.ready.insert(session);
        }
    }

    /// Ends a session: what was processed is answered, AST follows (RFC 4540 §7.4).
    pub fn end_session(&mut self, now: Instant, session: SessionId) {
        self.commit(now);
        let Some(known) = self.sessions.get_mut(&session) else { return };
        if matches!(known.state, State::Open { .. } | State::NoAuth { .. }) {
            known.notify(Notification::SessionTermination);
        }
        self.end(session, CloseReason::Administrative);
    }

    /// Takes a rule away; its owner is told. Whether there was one.
    pub fn remove_rule(&mut self, now: Instant, rule: PolicyRuleId) -> bool {
        self.remove_rules(now, |known| known.id == rule) == 1
    }

    /// Takes rules away, in one call of the filter; their owners are told. How many there were.
    pub fn remove_rules(&mut self, now: Instant, is_meant: impl Fn(&PolicyRule) -> bool) -> usize {
        self.commit(now);
        let rules: Vec<_> = self.rules().filter(|rule| is_meant(rule)).map(Arc::clone).collect();
        let count = rules.len();
        for rule in rules {
            self.policies.stage(Change::Remove { rule, cause: RemovalCause::Administrative });
        }
        self.confirm_removals(now);
        count
    }

    /// Takes rules in that were there before a restart, and brings the filter in line: what it lacks is put in. Rules
    /// whose deadline has passed are left out. Call it before any session.
    ///
    /// # Errors
    ///
    /// The filter cannot be asked or refuses; the rules are in the rule base then, and what failed can be tried again.
    pub fn restore(&mut self, now: Instant, rules: Vec<PolicyRule>) -> Result<(), FilterError> {
        let present: BTreeSet<_> = self.filter.list(now)?.into_iter().map(|rule| rule.id).collect();
        let is_missing = |rule: &Arc<PolicyRule>| rule.filter_rule().is_some() && !present.contains(&rule.id);
        let adopted = self.adopt(now, rules).into_iter();
        let missing: Vec<_> = adopted.filter(is_missing).map(Change::Insert).collect();
        if missing.is_empty() { Ok(()) } else { self.filter.apply(now, &missing) }
    }

    /// Takes rules in that stand in the filter as they are, which is not asked. Rules whose deadline has passed are left out;
    /// the others are returned. Call it before any session.
    pub fn adopt(&mut self, now: Instant, rules: Vec<PolicyRule>) -> Vec<Arc<PolicyRule>> {
        let alive: Vec<_> = rules.into_iter().filter(|rule| rule.deadline > now).map(Arc::new).collect();
        for rule in &alive {
            self.policies.restore(rule);
        }
        alive
    }

    /// Changes what holds for all agents. Sessions and rules beyond the new limits stay; no other ones come.
    pub const fn set_limits(&mut self, limits: Limits, demands: Demands) {
        self.policies.config.limits = limits;
        self.policies.config.demands = demands;
    }

    /// Changes which addresses may be named in rules from now on; rules that there are stay.
    pub fn set_realms(&mut self, realms: Realms) {
        self.policies.config.realms = realms;
    }

    /// Changes who may connect and what for, keys too. Sessions go on; those of agents that may no longer connect end.
    pub fn set_agents(&mut self, now: Instant, agents: Agents) {
        self.commit(now);
        self.policies.config.agents = agents;
        let open: Vec<_> = self.by_agent.iter().map(|(agent, ids)| (agent.clone(), ids.clone())).collect();
        for (agent, ids) in open {
            let policy = self.policy_of(&agent).cloned();
            for id in ids {
                match &policy {
                    Some(policy) if policy.may_connect => self.set_overseer(id, policy.may_access_others),
                    Some(_) | None => self.end_session(now, id),
                }
            }
        }
    }

    /// Returns what agents are told that the middlebox can do.
    #[must_use]
    pub const fn capabilities(&self) -> &Capabilities {
        &self.policies.capabilities
    }

    /// Returns all rules, by identifier.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<PolicyRule>> {
        self.policies.rules.iter()
    }

    /// Returns how many rules there are.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.policies.rules.len()
    }

    /// Returns the open sessions and the agents they belong to.
    pub fn open_sessions(&self) -> impl Iterator<Item = (SessionId, &Owner)> {
        self.sessions.iter().filter_map(|(id, session)| Some((*id, session.agent()?)))
    }

    /// Returns a connection, as it was opened; `None` once it is closed or lost.
    #[must_use]
    pub fn connection(&self, session: SessionId) -> Option<&Connection> {
        self.sessions.get(&session).map(|session| &session.connection)
    }

    /// Returns how many connections there are, sessions or not.
    #[must_use]
    pub fn connection_count(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the packet filter.
    #[must_use]
    pub const fn filter(&self) -> &F {
        &self.filter
    }

    /// Returns the packet filter, to be changed. What is changed here the rule base does not know.
    pub const fn filter_mut(&mut self) -> &mut F {
        &mut self.filter
    }

    /// Returns how long a connection may take to become a session: less and less from where half of the places
    /// are taken, down to a tenth.
    fn patience(&self) -> Duration {
        let Limits { sessions: places, establishment, .. } = self.policies.config.limits;
        let free = places.saturating_sub(self.sessions.len());
        let share = (free * 20 / places.max(1)).clamp(1, 10);
        establishment * u32::try_from(share).unwrap_or(10) / 10
    }

    /// Ends a connection that is no session, if there is one.
    fn displace(&mut self) {
        let mut silent: BTreeMap<&Owner, (usize, SessionId)> = BTreeMap::new();
        for (id, session) in &self.sessions {
            if matches!(session.state, State::Closed { .. } | State::NoAuth { .. }) {
                silent.entry(&session.connection.peer).or_insert((0, *id)).0 += 1;
            }
        }
        let most = silent.values().max_by_key(|(count, oldest)| (*count, core::cmp::Reverse(*oldest)));
        if let Some((_, oldest)) = most.copied() {
            self.end(oldest, CloseReason::Displaced);
        }
    }

    fn handle_whole(&mut self, now: Instant, id: SessionId, stream: StreamNumber, octets: &[u8]) {
        let Some(phase) = self.sessions.get(&id).and_then(Session::phase) else { return };
        match examine(phase, octets) {
            Examined::BadlyFormed => self.badly_formed(now, id, stream),
            Examined::Refuse { transaction, code, then } => {
                // What was asked before is answered before.
                self.commit(now);
                let origin = Origin { session: id, stream, transaction };
                self.reply(origin, Body::Negative(NegativeReply::new(code)));
                if then == Then::Close {
                    self.end(id, CloseReason::Refused(code));
                }
            }
            Examined::Request { transaction, request } => {
                self.handle_request(now, Origin { session: id, stream, transaction }, &request);
            }
        }
    }

    fn handle_request(&mut self, now: Instant, origin: Origin, request: &Request<'_>) {
        match request {
            Request::SessionEstablishment { version, challenge } => {
                self.establish(now, origin, *version, *challenge);
                self.note_overseer(origin.session);
            }
            Request::SessionAuthentication { token } => {
                self.authenticate(origin, *token);
                self.note_overseer(origin.session);
            }
            Request::SessionTermination => {
                self.commit(now);
                self.reply(origin, Body::Positive(PositiveReply::SessionTermination));
                self.end(origin.session, CloseReason::Terminated);
            }
            Request::Policy(request) => {
                let Some(agent) = self.sessions.get(&origin.session).and_then(Session::agent).cloned() else {
                    return;
                };
                let rate = self.policy_of(&agent).and_then(|policy| policy.request_rate);
                if rate.is_some_and(|rate| !self.rates.admits(now, &agent, rate)) {
                    self.commit(now);
                    let (session, request) = (origin.session, request.sub_type());
                    let code = NegativeCode::NoResources;
                    self.events.push_back(MiddleboxEvent::Refused { session, request, code });
                    self.reply(origin, Body::Negative(NegativeReply::new(code)));
                    return;
                }
                self.pending.push(Pending { origin, agent, request: *request });
                if self.pending.len() >= MOST_PENDING {
                    self.commit(now);
                }
            }
        }
    }

    /// BFM; an established session ends with AST (RFC 4540 §5.5).
    fn badly_formed(&mut self, now: Instant, id: SessionId, stream: StreamNumber) {
        self.commit(now);
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.phase().is_some()) else {
            return;
        };
        session.notify_on(stream, Notification::BadlyFormedMessage);
        if session.agent().is_some() {
            session.notify(Notification::SessionTermination);
        }
        self.end(id, CloseReason::BadlyFormed);
    }

    fn reply(&mut self, origin: Origin, body: Body<'_>) {
        let Some(session) = self.sessions.get_mut(&origin.session) else { return };
        session.send(origin.stream, &origin.message(body));
        self.sent(origin.session);
    }

    fn notify(&mut self, id: SessionId, notification: Notification) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.notify(notification);
        self.sent(id);
    }

    /// Something waits for this session; too much of it ends it.
    fn sent(&mut self, id: SessionId) {
        self.ready.insert(id);
        let most = self.policies.config.limits.outbox_bytes;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.is_paused && session.outbox.bytes() > most {
            session.outbox.clear();
            self.end(id, CloseReason::TooSlow);
        }
    }

    /// The session is over once what waits has left.
    fn end(&mut self, id: SessionId, reason: CloseReason) {
        self.leave(id);
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.phase().is_some()) else {
            return;
        };
        session.state = State::Ending { reason };
        session.framer = crate::framer::Framer::new();
        if session.outbox.is_empty() {
            self.close_if_ending(id);
        } else {
            self.ready.insert(id);
        }
    }

    fn close_if_ending(&mut self, id: SessionId) {
        let Some(Session { state: State::Ending { reason }, .. }) = self.sessions.get(&id) else { return };
        self.events.push_back(MiddleboxEvent::Close { session: id, reason: *reason });
        self.forget(id);
    }

    fn forget(&mut self, id: SessionId) {
        self.leave(id);
        self.sessions.remove(&id);
        self.ready.remove(&id);
    }

    /// Takes the session off the lists of open ones.
    fn leave(&mut self, id: SessionId) {
        self.overseers.remove(&id);
        let Some(agent) = self.sessions.get(&id).and_then(Session::agent) else { return };
        if let Some(sessions) = self.by_agent.get_mut(agent) {
            sessions.remove(&id);
            if sessions.is_empty() {
                self.by_agent.remove(agent);
            }
        }
    }

    fn note_overseer(&mut self, id: SessionId) {
        let Some(agent) = self.sessions.get(&id).and_then(Session::agent) else { return };
        let may = self.policy_of(agent).is_some_and(|policy| policy.may_access_others);
        self.set_overseer(id, may);
    }

    fn set_overseer(&mut self, id: SessionId, may_access_others: bool) {
        if may_access_others {
            self.overseers.insert(id);
        } else {
            self.overseers.remove(&id);
        }
    }
}

/// Whether a connection can take octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// The connection can take octets.
    Ready,
    /// The connection cannot take octets for now.
    Paused,
}

/// Requests that wait for one call of the packet filter at most.
const MOST_PENDING: usize = 512;
