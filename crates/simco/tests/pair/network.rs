//! Messages between one agent and one middlebox in virtual time: ordered within a stream, or not.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use simco::agent::{Agent, AgentEvent, AgentSettings};
use simco::middlebox::{Connection, Framing, SessionId};
use simco::{PolicyRequest, StreamNumber, TransactionId};
use virtual_time::Instant;

use crate::support::{Bench, connection};

/// What a network does to messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub(crate) order: Order,
    /// One message in so many is lost once and comes 50 ms late; 0 for none.
    pub(crate) one_lost_in: u64,
    /// Each takes 10 ms and up to this much more.
    pub(crate) jitter: Duration,
}

/// Whether messages of a stream keep their order, as SCTP has it, or not (the U flag).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Ordered,
    Unordered,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Way {
    ToMiddlebox,
    ToAgent,
}

pub(crate) struct Pair {
    pub(crate) agent: Agent,
    pub(crate) bench: Bench,
    pub(crate) events: VecDeque<AgentEvent>,
    session: SessionId,
    conditions: Conditions,
    in_flight: BTreeMap<(Instant, u64), (Way, StreamNumber, Vec<u8>)>,
    latest: BTreeMap<(Way, StreamNumber), Instant>,
    sent: u64,
    dice: u64,
}

impl Pair {
    /// An agent and a middlebox that trusts its connection; the session is open.
    pub(crate) fn new(bench: Bench, settings: AgentSettings, streams: u16, conditions: Conditions) -> Self {
        let trusted = Connection { framing: Framing::Messages { streams }, ..connection(Some("a")) };
        let mut pair = Self::connected(bench, settings, trusted, conditions);
        pair.run_until(|pair| pair.agent.is_open());
        pair
    }

    pub(crate) fn connected(
        mut bench: Bench,
        settings: AgentSettings,
        connection: Connection,
        conditions: Conditions,
    ) -> Self {
        let mut agent = Agent::new(settings, [5; 32]);
        agent.connect(connection.framing);
        let session = bench.connect(connection);
        Self {
            agent,
            bench,
            events: VecDeque::new(),
            session,
            conditions,
            in_flight: BTreeMap::new(),
            latest: BTreeMap::new(),
            sent: 0,
            dice: 42,
        }
    }

    pub(crate) fn ask(&mut self, request: PolicyRequest) -> TransactionId {
        self.agent.request(request).unwrap()
    }

    /// Breaks the connection; what is in flight is lost.
    pub(crate) fn break_connection(&mut self) {
        self.in_flight.clear();
        self.latest.clear();
        self.bench.middlebox.handle_lost(self.bench.now, self.session);
        self.agent.handle_lost();
        self.exchange();
    }

    pub(crate) fn reconnect(&mut self, streams: u16) {
        let framing = Framing::Messages { streams };
        self.session = self.bench.connect(Connection { framing, ..connection(Some("a")) });
        self.agent.connect(framing);
    }

    /// Goes on until `done`, or panics after 10⁷ steps.
    pub(crate) fn run_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..10_000_000 {
            self.exchange();
            if done(self) {
                return;
            }
            assert!(self.step(Instant::MAX), "nothing left to happen");
        }
        panic!("no end");
    }

    /// Lets a span of time pass.
    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.bench.now + span;
        self.exchange();
        while self.step(until) {
            self.exchange();
        }
        self.bench.now = until;
    }

    /// The next thing that happens by `until`; whether there was one.
    fn step(&mut self, until: Instant) -> bool {
        let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
        let timer = [self.agent.poll_timeout(), self.bench.middlebox.poll_timeout()];
        let Some(next) = timer.into_iter().flatten().chain(arrival).min().filter(|at| *at <= until) else {
            return false;
        };
        self.bench.now = self.bench.now.max(next);
        let now = self.bench.now;
        self.agent.handle_timeout(now);
        self.bench.middlebox.handle_timeout(now);
        while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= now) {
            let (way, stream, octets) = entry.remove();
            match way {
                Way::ToMiddlebox => self.bench.middlebox.handle_message(now, self.session, stream, &octets),
                Way::ToAgent => self.agent.handle_message(now, stream, &octets),
            }
        }
        true
    }

    /// Everything both sides want to say goes on its way.
    fn exchange(&mut self) {
        while let Some((stream, octets)) = self.agent.poll_transmit() {
            self.launch(Way::ToMiddlebox, stream, octets);
        }
        self.bench.drain();
        for (stream, octets) in self.bench.inbox.remove(&self.session).unwrap_or_default() {
            self.launch(Way::ToAgent, stream, octets);
        }
        while let Some(event) = self.agent.poll_event() {
            self.events.push_back(event);
        }
    }

    fn launch(&mut self, way: Way, stream: StreamNumber, octets: Vec<u8>) {
        let jitter = u64::try_from(self.conditions.jitter.as_nanos()).unwrap().max(1);
        let mut at = self.bench.now + Duration::from_millis(10) + Duration::from_nanos(self.roll() % jitter);
        if self.conditions.one_lost_in > 0 && self.roll().is_multiple_of(self.conditions.one_lost_in) {
            at += Duration::from_millis(50);
        }
        if self.conditions.order == Order::Ordered {
            let latest = self.latest.entry((way, stream)).or_default();
            *latest = at.max(*latest);
            at = *latest;
        }
        self.sent += 1;
        self.in_flight.insert((at, self.sent), (way, stream, octets));
    }

    /// Splitmix64.
    fn roll(&mut self) -> u64 {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// No loss, no jitter.
pub(crate) const QUIET: Conditions =
    Conditions { order: Order::Ordered, one_lost_in: 0, jitter: Duration::ZERO };
