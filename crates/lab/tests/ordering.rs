//! Why what concerns a rule stays on its stream (S4 §5.1), over the SCTP that ships: a refresh overtaken by the deletion of its
//! rule would be refused. Virtual time; a path of 10 ms that loses a tenth of the packets each way and delivers the others
//! out of order.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "tests; clippy knows only functions marked as such"
)]

use core::time::Duration;
use std::collections::VecDeque;

use netem::Impairments;
use netsim::sctp::{Application, SctpHost};
use netsim::{LinkSpec, World};
use sctp_core::{
    AssociationConfig, AssociationId, Delivery, Destination, Encapsulation, Endpoint, EndpointConfig, Event,
    Message, PayloadProtocolId, SctpPort, StreamId,
};
use simco::agent::{Agent, AgentEvent, AgentSettings, PolicyReply};
use simco::filter::MemoryFilter;
use simco::middlebox::{
    AgentPolicy, Agents, Connection, Framing, Middlebox, MiddleboxConfig, Protection, SessionId,
};
use simco::{Lifetime, NegativeCode, Owner, PolicyRequest, PolicyRuleId, StreamNumber};
use virtual_time::Instant;

const STREAMS: u16 = 6;
const RULES: usize = 10_000;
const FRAMING: Framing = Framing::Messages { streams: STREAMS };

/// Opens rules one after the other; refreshes and deletes each as soon as it is there, a packet later.
struct Opener {
    agent: Agent,
    delivery: Delivery,
    id: Option<AssociationId>,
    unsent: VecDeque<Message>,
    opened: usize,
    deletions: VecDeque<(Instant, PolicyRuleId)>,
    next_opening: Instant,
    deleted: usize,
    refusals: Vec<NegativeCode>,
}

impl Opener {
    fn new(delivery: Delivery) -> Self {
        Self {
            agent: Agent::new(AgentSettings::default(), [1; 32]),
            delivery,
            id: None,
            unsent: VecDeque::new(),
            opened: 0,
            deletions: VecDeque::new(),
            next_opening: Instant::EPOCH,
            deleted: 0,
            refusals: Vec::new(),
        }
    }

    /// Whether every rule was opened and deleted, and nothing waits for its answer.
    fn is_over(&self) -> bool {
        self.opened == RULES && self.agent.outstanding() == 0 && self.deletions.is_empty()
    }

    fn ask(&mut self, request: PolicyRequest) {
        self.agent.request(request).unwrap();
    }

    fn take(&mut self, now: Instant, event: AgentEvent) {
        match event {
            AgentEvent::Answered { outcome: Ok(PolicyReply::Enable(enabled)), .. } => {
                let (rule, lifetime) = (enabled.rule, Lifetime::from_secs(120));
                self.ask(PolicyRequest::LifetimeChange { rule, lifetime });
                self.deletions.push_back((now + Duration::from_millis(1), rule));
            }
            AgentEvent::Answered { outcome: Ok(PolicyReply::Deletion), .. } => self.deleted += 1,
            AgentEvent::Answered { outcome: Err(code), .. } => self.refusals.push(code),
            AgentEvent::Closed { reason } => panic!("{reason}"),
            _ => {}
        }
    }

    fn act(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while self.agent.is_open() && self.opened < RULES && self.next_opening <= now {
            self.ask(PolicyRequest::Enable(lab::pinhole(Lifetime::from_secs(300))));
            self.opened += 1;
            self.next_opening = now + Duration::from_millis(2);
        }
        while let Some((_, rule)) = self.deletions.pop_front_if(|(at, _)| *at <= now) {
            self.ask(PolicyRequest::LifetimeChange { rule, lifetime: Lifetime::ZERO });
        }
        while let Some((stream, octets)) = self.agent.poll_transmit() {
            self.unsent.push_back(message(stream, self.delivery, octets));
        }
        send(now, endpoint, self.id, &mut self.unsent);
    }
}

impl Application for Opener {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        if matches!(event, Event::CommunicationUp { .. }) {
            self.id = Some(id);
            self.agent.connect(FRAMING);
        }
        while let Some(received) = endpoint.receive(now, id) {
            let stream = StreamNumber::new(received.message.stream.get());
            self.agent.handle_message(now, stream, &received.message.payload);
        }
        while let Some(event) = self.agent.poll_event() {
            self.take(now, event);
        }
        self.act(now, endpoint);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let opening = (self.agent.is_open() && self.opened < RULES).then_some(self.next_opening);
        opening.into_iter().chain(self.deletions.front().map(|(at, _)| *at)).min()
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.act(now, endpoint);
    }
}

/// The middlebox, one session.
struct Responder {
    middlebox: Middlebox<MemoryFilter>,
    session: SessionId,
    delivery: Delivery,
    unsent: VecDeque<Message>,
}

impl Responder {
    fn new(delivery: Delivery) -> Self {
        let policy = AgentPolicy { most_rules: usize::MAX, ..AgentPolicy::default() };
        let agents = Agents { anonymous: Some(policy), ..Agents::default() };
        let config = MiddleboxConfig { agents, ..MiddleboxConfig::default() };
        let mut middlebox = Middlebox::new(config, MemoryFilter::new(), [0; 32]).unwrap();
        let peer = Owner::new(b"opener").unwrap();
        let connection =
            Connection { framing: FRAMING, peer, authenticated: None, protection: Protection::None };
        let session = middlebox.open(Instant::EPOCH, connection);
        Self { middlebox, session, delivery, unsent: VecDeque::new() }
    }
}

impl Application for Responder {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, _: Event) {
        while let Some(received) = endpoint.receive(now, id) {
            let stream = StreamNumber::new(received.message.stream.get());
            self.middlebox.handle_message(now, self.session, stream, &received.message.payload);
        }
        while let Some(transmit) = self.middlebox.poll_transmit(now) {
            self.unsent.push_back(message(transmit.stream, self.delivery, transmit.octets));
        }
        while self.middlebox.poll_event().is_some() {}
        send(now, endpoint, Some(id), &mut self.unsent);
    }
}

fn message(stream: StreamNumber, delivery: Delivery, octets: Vec<u8>) -> Message {
    Message::new(StreamId::new(stream.get()), delivery, octets).with_ppid(PayloadProtocolId::SIMCO)
}

/// Sends what there is room for.
fn send(now: Instant, endpoint: &mut Endpoint, id: Option<AssociationId>, unsent: &mut VecDeque<Message>) {
    let Some(id) = id else { return };
    while let Some(next) = unsent.pop_front() {
        match endpoint.send(now, id, next) {
            Ok(()) => {}
            Err(sctp_core::SendError::BufferFull(message)) => return unsent.push_front(message),
            Err(error) => panic!("{error}"),
        }
    }
}

enum Side {
    Agent(Box<Opener>),
    Middlebox(Box<Responder>),
}

impl Application for Side {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        match self {
            Self::Agent(opener) => opener.on_event(now, endpoint, id, event),
            Self::Middlebox(responder) => responder.on_event(now, endpoint, id, event),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Agent(opener) => opener.poll_timeout(),
            Self::Middlebox(responder) => responder.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        match self {
            Self::Agent(opener) => opener.handle_timeout(now, endpoint),
            Self::Middlebox(responder) => responder.handle_timeout(now, endpoint),
        }
    }
}

fn opener(host: &SctpHost<Side>) -> &Opener {
    match &host.application {
        Side::Agent(opener) => opener,
        Side::Middlebox(_) => panic!("the agent is at the other end"),
    }
}

/// What was refused, and how often the network dropped a packet.
fn refresh_then_delete(delivery: Delivery) -> (Vec<NegativeCode>, u64) {
    let mut association = AssociationConfig::default();
    association.streams.outbound = STREAMS;
    association.streams.inbound = STREAMS;
    let port = SctpPort::try_from(simco::PORT).unwrap();
    let config = EndpointConfig::with_association(port, association.clone());
    let [near, far] = [1, 2].map(|side| Endpoint::new(config.clone(), [side; 32]).unwrap());
    let mut world = World::new(7);
    let agent = world.add_host(SctpHost::new(near, Side::Agent(Box::new(Opener::new(delivery)))));
    let middlebox = world.add_host(SctpHost::new(far, Side::Middlebox(Box::new(Responder::new(delivery)))));
    let (here, there) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let a = world.add_interface(agent, &[here]).unwrap();
    let b = world.add_interface(middlebox, &[there]).unwrap();
    let (delay, jitter) = (Duration::from_millis(10), Duration::from_millis(5));
    let way = Impairments { delay, jitter, loss: "10%".parse().unwrap(), ..Impairments::default() };
    let link = world.connect(a, b, LinkSpec { request: way.clone(), response: way }).unwrap();
    world.with_host(agent, |host, now| {
        let to = Destination { address: there, encapsulation: Encapsulation::Ip };
        host.endpoint.connect(now, &[to], port, association.clone()).unwrap();
    });
    let is_over = |world: &World<SctpHost<Side>>| opener(world.host(agent)).is_over();
    world.run_while(Instant::EPOCH + Duration::from_secs(3600), |world| !is_over(world));
    let opener = opener(world.host(agent));
    assert_eq!((opener.is_over(), opener.deleted), (true, RULES));
    let dropped = world.link_stats(link, netsim::Direction::Request).dropped();
    (opener.refusals.clone(), dropped)
}

#[test]
fn refresh_then_delete_of_10_000_rules_is_never_refused_over_six_streams() {
    let (refusals, dropped) = refresh_then_delete(Delivery::Ordered);
    assert!(dropped > 500, "{dropped} packets lost");
    assert_eq!(refusals, []);
}

/// The counterproof: the same messages with the U flag.
#[test]
fn refresh_then_delete_is_refused_over_unordered_messages() {
    let (refusals, dropped) = refresh_then_delete(Delivery::Unordered);
    assert!(dropped > 500, "{dropped} packets lost");
    assert!(refusals.len() > RULES / 100, "{} refusals", refusals.len());
    assert!(refusals.iter().all(|code| *code == NegativeCode::NoSuchRule));
}
