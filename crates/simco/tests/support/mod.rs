//! A middlebox, agents without a core, and a packet filter that can refuse.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    dead_code,
    reason = "each test crate uses its part of it"
)]

use core::net::IpAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use simco::filter::{Change, FilterError, FilterRule, MemoryFilter, PacketFilter};
use simco::middlebox::{
    AgentConfig, AgentPolicy, CloseReason, Connection, Framing, Middlebox, MiddleboxConfig, MiddleboxEvent,
    Protection, SessionId,
};
use simco::{
    AddressTuple, Body, Capabilities, Direction, DisableRequest, EnableParameters, EnableParity,
    EnableRequest, Enabled, IpVersion, Key, Lifetime, Location, Message, NatMode, NegativeCode, Notification,
    Owner, PolicyRequest, PolicyRuleId, PositiveReply, Request, ReserveParameters, ReserveParity,
    ReserveRequest, Reserved, StreamNumber, TransactionId, TransportProtocol, Version,
};
use virtual_time::Instant;

/// A filter in memory that refuses what names one of these rules, and counts its calls.
#[derive(Debug)]
pub(crate) struct TestFilter {
    pub(crate) memory: MemoryFilter,
    pub(crate) refuses: bool,
    /// Refuses calls with more requests than this.
    pub(crate) most_inserts: usize,
    pub(crate) calls: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("as the test wants it")]
struct Unwilling;

impl PacketFilter for TestFilter {
    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    fn apply(&mut self, now: Instant, changes: &[Change]) -> Result<(), FilterError> {
        self.calls += 1;
        let inserts = changes.iter().filter(|change| matches!(change, Change::Insert(_))).count();
        if self.refuses || inserts > self.most_inserts {
            return Err(FilterError::Refused(Box::new(Unwilling)));
        }
        self.memory.apply(now, changes)
    }

    fn list(&mut self, now: Instant) -> Result<Vec<FilterRule>, FilterError> {
        self.memory.list(now)
    }
}

pub(crate) struct Bench {
    pub(crate) middlebox: Middlebox<TestFilter>,
    pub(crate) now: Instant,
    pub(crate) inbox: BTreeMap<SessionId, Vec<(StreamNumber, Vec<u8>)>>,
    pub(crate) events: Vec<MiddleboxEvent>,
    next: u32,
}

pub(crate) fn owner(name: &str) -> Owner {
    Owner::new(name.as_bytes()).unwrap()
}

pub(crate) fn agent(policy: AgentPolicy) -> AgentConfig {
    AgentConfig { key: Key::new([9; 32]), policy }
}

/// Agents "a" and "b" may do everything but see others' rules; "root" may that, too.
pub(crate) fn config() -> MiddleboxConfig {
    let mut config = MiddleboxConfig::default();
    let policy = AgentPolicy { may_disable: true, ..AgentPolicy::default() };
    config.agents.known.insert(owner("a"), agent(policy.clone()));
    config.agents.known.insert(owner("b"), agent(policy.clone()));
    let overseer = AgentPolicy { may_access_others: true, ..policy };
    config.agents.known.insert(owner("root"), agent(overseer));
    config
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: MiddleboxConfig) -> Self {
        Self::with_filter(config, MemoryFilter::new())
    }

    pub(crate) fn with_filter(config: MiddleboxConfig, memory: MemoryFilter) -> Self {
        let filter = TestFilter { memory, refuses: false, most_inserts: usize::MAX, calls: 0 };
        Self {
            middlebox: Middlebox::new(config, filter, [3; 32]).unwrap(),
            now: Instant::from_millis(1_000),
            inbox: BTreeMap::new(),
            events: Vec::new(),
            next: 0,
        }
    }

    /// A connection that is no session yet.
    pub(crate) fn connect(&mut self, connection: Connection) -> SessionId {
        self.middlebox.open(self.now, connection)
    }

    /// An open session of an agent that the layers below know.
    pub(crate) fn open(&mut self, name: &str) -> SessionId {
        self.open_with(name, Framing::Octets)
    }

    pub(crate) fn open_with(&mut self, name: &str, framing: Framing) -> SessionId {
        let session = self.connect(Connection { framing, ..connection(Some(name)) });
        let said = self.say(
            session,
            0,
            Request::SessionEstablishment { version: Version::CURRENT, challenge: None },
        );
        assert!(
            matches!(said.body(), Body::Positive(PositiveReply::SessionEstablishment { .. })),
            "{said:?}"
        );
        session
    }

    /// Sends octets on a stream and collects what comes out.
    pub(crate) fn send(&mut self, session: SessionId, stream: u16, octets: &[u8]) {
        self.hand_in(session, stream, octets);
        self.drain();
    }

    pub(crate) fn hand_in(&mut self, session: SessionId, stream: u16, octets: &[u8]) {
        let stream = StreamNumber::new(stream);
        match self.framing(session) {
            Some(Framing::Messages { .. }) => {
                self.middlebox.handle_message(self.now, session, stream, octets);
            }
            Some(Framing::Octets) | None => self.middlebox.handle_octets(self.now, session, octets),
        }
    }

    fn framing(&self, session: SessionId) -> Option<Framing> {
        self.middlebox.connection(session).map(|connection| connection.framing)
    }

    pub(crate) fn drain(&mut self) {
        while let Some(transmit) = self.middlebox.poll_transmit(self.now) {
            let inbox = self.inbox.entry(transmit.session).or_default();
            let mut rest = transmit.octets.as_slice();
            while !rest.is_empty() {
                let length = 8 + usize::from(u16::from_be_bytes([rest[2], rest[3]]));
                inbox.push((transmit.stream, rest[..length].to_vec()));
                rest = &rest[length..];
            }
        }
        while let Some(event) = self.middlebox.poll_event() {
            self.events.push(event);
        }
    }

    /// Sends a request and returns the one message that comes back to this session.
    #[track_caller]
    pub(crate) fn say(&mut self, session: SessionId, stream: u16, request: Request<'_>) -> Said {
        let octets = self.encode(request);
        self.inbox.remove(&session);
        self.send(session, stream, &octets);
        let mut said = self.inbox.remove(&session).unwrap_or_default();
        assert_eq!(said.len(), 1, "{said:?}");
        let (stream, octets) = said.remove(0);
        Said { stream, octets }
    }

    pub(crate) fn encode(&mut self, request: Request<'_>) -> Vec<u8> {
        self.next += 1;
        let mut octets = Vec::new();
        let message = Message { transaction: TransactionId::new(self.next), body: Body::Request(request) };
        message.encode(&mut octets).unwrap();
        octets
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, session: SessionId, request: PolicyRequest) -> Said {
        self.say(session, 0, Request::Policy(request))
    }

    #[track_caller]
    pub(crate) fn refusal(&mut self, session: SessionId, request: PolicyRequest) -> NegativeCode {
        self.ask(session, request).negative()
    }

    #[track_caller]
    pub(crate) fn enable(&mut self, session: SessionId, request: EnableRequest) -> Enabled {
        self.ask(session, PolicyRequest::Enable(request)).enabled()
    }

    #[track_caller]
    pub(crate) fn reserve(&mut self, session: SessionId, request: ReserveRequest) -> Reserved {
        self.ask(session, PolicyRequest::Reserve(request)).reserved()
    }

    /// Lets time pass, with the timeouts on the way.
    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some(at) = self.middlebox.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.middlebox.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
        self.middlebox.handle_timeout(self.now);
        self.drain();
    }

    /// Events about rules that have come to a session since it was last asked.
    pub(crate) fn rule_events(&mut self, session: SessionId) -> Vec<(PolicyRuleId, Lifetime)> {
        let said = self.inbox.remove(&session).unwrap_or_default();
        said.iter()
            .filter_map(|(_, octets)| match Message::decode(octets).unwrap().body {
                Body::Notification(Notification::RuleEvent { rule, lifetime }) => Some((rule, lifetime)),
                Body::Request(_) | Body::Positive(_) | Body::Negative(_) | Body::Notification(_) => None,
            })
            .collect()
    }

    /// The types of what has come to a session.
    pub(crate) fn types(&mut self, session: SessionId) -> Vec<u16> {
        let said = self.inbox.remove(&session).unwrap_or_default();
        said.iter().map(|(_, octets)| u16::from_be_bytes([octets[0], octets[1]])).collect()
    }

    pub(crate) fn close_reason(&self, session: SessionId) -> Option<CloseReason> {
        self.events.iter().find_map(|event| match event {
            MiddleboxEvent::Close { session: closed, reason } if *closed == session => Some(*reason),
            _ => None,
        })
    }

    pub(crate) fn listed(&mut self, session: SessionId) -> Vec<u32> {
        let said = self.ask(session, PolicyRequest::List);
        let Body::Positive(PositiveReply::List(rules)) = said.body() else { panic!("{said:?}") };
        rules.iter().map(PolicyRuleId::get).collect()
    }
}

pub(crate) fn connection(name: Option<&str>) -> Connection {
    Connection {
        framing: Framing::Octets,
        peer: owner("somebody"),
        authenticated: name.map(owner),
        protection: Protection::None,
    }
}

/// A message of the middlebox.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) stream: StreamNumber,
    pub(crate) octets: Vec<u8>,
}

impl Said {
    #[track_caller]
    pub(crate) fn body(&self) -> Body<'_> {
        Message::decode(&self.octets).unwrap().body
    }

    #[track_caller]
    pub(crate) fn negative(&self) -> NegativeCode {
        let Body::Negative(reply) = self.body() else { panic!("{:?}", self.body()) };
        reply.code()
    }

    #[track_caller]
    pub(crate) fn enabled(&self) -> Enabled {
        let Body::Positive(PositiveReply::Enable(enabled)) = self.body() else { panic!("{:?}", self.body()) };
        enabled
    }

    #[track_caller]
    pub(crate) fn reserved(&self) -> Reserved {
        let Body::Positive(PositiveReply::Reserve(reserved)) = self.body() else {
            panic!("{:?}", self.body())
        };
        reserved
    }

    #[track_caller]
    pub(crate) fn lifetime(&self) -> Lifetime {
        match self.body() {
            Body::Positive(
                PositiveReply::LifetimeChange { lifetime } | PositiveReply::Disable { lifetime, .. },
            ) => lifetime,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn disabled(&self) -> PolicyRuleId {
        let Body::Positive(PositiveReply::Disable { rule, .. }) = self.body() else {
            panic!("{:?}", self.body())
        };
        rule
    }

    pub(crate) fn is_deletion(&self) -> bool {
        matches!(self.body(), Body::Positive(PositiveReply::Deletion))
    }
}

pub(crate) const UDP: TransportProtocol = TransportProtocol::UDP;

pub(crate) fn seconds(count: u32) -> Lifetime {
    Lifetime::from_secs(count)
}

pub(crate) fn tuple(location: Location, address: &str, port: u16, range: u16) -> AddressTuple {
    AddressTuple::host(location, UDP, address.parse::<IpAddr>().unwrap(), port, range)
}

pub(crate) fn internal(address: &str, port: u16) -> AddressTuple {
    tuple(Location::INTERNAL, address, port, 1)
}

pub(crate) fn external(address: &str, port: u16) -> AddressTuple {
    tuple(Location::EXTERNAL, address, port, 1)
}

/// UDP from 203.0.113.9, any port, to 10.1.8.3:12345 for 300 s.
pub(crate) fn pinhole() -> EnableRequest {
    EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Any, direction: Direction::Inbound },
        internal: internal("10.1.8.3", 12_345),
        external: external("203.0.113.9", 0),
        lifetime: seconds(300),
        group: None,
    }
}

/// The same for another internal port.
pub(crate) fn pinhole_at(port: u16) -> EnableRequest {
    EnableRequest { internal: internal("10.1.8.3", port), ..pinhole() }
}

/// Two UDP ports, the first even, for 300 s.
pub(crate) fn reservation() -> ReserveRequest {
    let parameters = ReserveParameters {
        nat_mode: Some(NatMode::Traditional),
        parity: ReserveParity::Even,
        inside_version: None,
        outside_version: Some(IpVersion::V4),
        protocol: UDP,
        port_range: 2,
    };
    ReserveRequest { parameters, lifetime: seconds(300), group: None }
}

/// Blocks UDP between everybody inside and 192.0.2.100 for 600 s.
pub(crate) fn block() -> DisableRequest {
    DisableRequest {
        internal: AddressTuple::protocols_only(Location::INTERNAL, UDP, IpVersion::V4),
        external: external("192.0.2.100", 0),
        lifetime: seconds(600),
    }
}

pub(crate) fn change(rule: PolicyRuleId, lifetime: u32) -> PolicyRequest {
    PolicyRequest::LifetimeChange { rule, lifetime: seconds(lifetime) }
}
