//! Random and mutated messages against both cores: no panic, the right answer, nobody else disturbed.
//!
//! `HEADWAY_SOAK_MESSAGES=1000000` makes it a million; the default is 50,000.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "tests; clippy knows only functions marked as such"
)]

mod support;

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use simco::agent::{Agent, AgentEvent, AgentSettings};
use simco::middlebox::{AgentPolicy, Framing, SessionId};
use simco::{
    Body, Header, Message, NegativeCode, PolicyRequest, PolicyRuleId, Request, RequestType, StreamNumber,
    TransactionId,
};
use virtual_time::Instant;

use support::{Bench, agent, block, change, config, owner, pinhole, pinhole_at, reservation};

fn messages() -> u32 {
    std::env::var("HEADWAY_SOAK_MESSAGES").map_or(50_000, |count| count.parse().unwrap())
}

struct Dice(TestRng);

impl Dice {
    fn new() -> Self {
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]))
    }

    fn below(&mut self, limit: usize) -> usize {
        let word = u64::from(self.0.next_u32());
        usize::try_from(word % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn octet(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    /// Sound messages, damaged in a few places, and noise behind a plausible header.
    fn message(&mut self, sound: &[Vec<u8>]) -> Vec<u8> {
        let mut octets = sound[self.below(sound.len())].clone();
        match self.below(8) {
            0 => {}
            1 => {
                octets.truncate(8);
                for _ in 0..self.below(60) {
                    octets.push(self.octet());
                }
                octets[0] = u8::try_from(self.below(6)).unwrap();
                octets[1] = u8::try_from(self.below(0x26)).unwrap();
            }
            2 => octets.truncate(8 + self.below(octets.len() - 7)),
            _ => {
                for _ in 0..=self.below(3) {
                    let at = self.below(octets.len());
                    octets[at] = self.octet();
                }
            }
        }
        // The length is right as a rule: otherwise nothing but the header would be tried.
        if octets.len() >= 8 && self.below(16) != 0 {
            let length = u16::try_from(octets.len() - 8).unwrap();
            octets[2..4].copy_from_slice(&length.to_be_bytes());
        }
        octets
    }
}

/// What must come back in an open session: by the steps of RFC 4540 §5.5.
fn expected(octets: &[u8]) -> Expected {
    let Ok((header, payload)) = Header::split_message(octets) else { return Expected::BadlyFormed };
    let code = match (header.basic_type, RequestType::from_value(header.sub_type)) {
        (basic, _) if basic != 1 => Some(NegativeCode::WrongBasicType),
        (_, None) => Some(NegativeCode::WrongSubType),
        (_, Some(RequestType::SessionEstablishment | RequestType::SessionAuthentication)) => {
            Some(NegativeCode::NotApplicable)
        }
        (_, Some(_)) if Request::decode(header.sub_type, payload).is_err() => {
            Some(NegativeCode::BadlyFormedRequest)
        }
        (_, Some(_)) => None,
    };
    Expected::Reply(header.transaction, code)
}

enum Expected {
    BadlyFormed,
    /// With this code; `None` is a positive reply, or a refusal by a transaction.
    Reply(TransactionId, Option<NegativeCode>),
}

fn check(octets: &[u8], said: &[(StreamNumber, Vec<u8>)], stream: StreamNumber) {
    let said: Vec<_> =
        said.iter().map(|(stream, octets)| (*stream, Message::decode(octets).unwrap())).collect();
    match expected(octets) {
        Expected::BadlyFormed => {
            let types: Vec<_> = said.iter().map(|(_, message)| message.body).collect();
            assert!(
                matches!(types[..], [Body::Notification(_), Body::Notification(_)]),
                "{octets:?}: {types:?}"
            );
        }
        Expected::Reply(transaction, code) => {
            let replies: Vec<_> =
                said.iter().filter(|(_, message)| !matches!(message.body, Body::Notification(_))).collect();
            let [(on, reply)] = replies[..] else { panic!("{octets:?}: {said:?}") };
            assert_eq!((*on, reply.transaction), (stream, transaction));
            match (reply.body, code) {
                (Body::Negative(reply), Some(code)) => assert_eq!(reply.code(), code, "{octets:?}"),
                (Body::Negative(reply), None) => {
                    assert!(reply.code().get() >= 0x40 || reply.code().get() == 0x13);
                }
                (body, code) => {
                    assert!(matches!(body, Body::Positive(_)) && code.is_none(), "{octets:?}: {body:?}");
                }
            }
        }
    }
}

fn sound(bench: &mut Bench) -> Vec<Vec<u8>> {
    let rule = PolicyRuleId::new(5);
    [
        PolicyRequest::Enable(pinhole()),
        PolicyRequest::Enable(pinhole_at(0)),
        PolicyRequest::Reserve(reservation()),
        PolicyRequest::EnableReserved { rule, pinhole: pinhole_at(9) },
        PolicyRequest::Disable(block()),
        change(rule, 60),
        change(rule, 0),
        PolicyRequest::Status { rule },
        PolicyRequest::List,
    ]
    .map(|request| bench.encode(Request::Policy(request)))
    .to_vec()
}

#[test]
fn middlebox_answers_each_message_as_it_must_and_others_do_not_notice() {
    let mut config = config();
    let hostile = AgentPolicy { most_rules: 200, ..AgentPolicy::default() };
    config.agents.known.insert(owner("hostile"), agent(hostile));
    let mut bench = Bench::with(config);
    let mut dice = Dice::new();
    let bystander = bench.open("a");
    let rule = bench.enable(bystander, pinhole()).rule;
    let sound = sound(&mut bench);
    let mut session: Option<SessionId> = None;
    for count in 0..messages() {
        let open =
            *session.get_or_insert_with(|| bench.open_with("hostile", Framing::Messages { streams: 6 }));
        let stream = u16::try_from(dice.below(6)).unwrap();
        let octets = dice.message(&sound);
        bench.send(open, stream, &octets);
        let said = bench.inbox.remove(&open).unwrap_or_default();
        check(&octets, &said, StreamNumber::new(stream));
        if bench.middlebox.connection(open).is_none() {
            session = None;
        }
        if count % 1000 == 0 {
            assert_eq!(bench.listed(bystander), [rule.get()]);
            assert!(bench.middlebox.rule_count() <= 201);
            bench.events.clear();
        }
    }
}

/// The same octets as a stream, cut anywhere: both never hang, never grow.
#[test]
fn noise_in_a_stream_ends_the_connection_or_is_answered() {
    let mut bench = Bench::new();
    let mut dice = Dice::new();
    let bystander = bench.open("b");
    let sound = sound(&mut bench);
    for _ in 0..messages() / 50 {
        let session = bench.open("a");
        for _ in 0..20 {
            let octets = dice.message(&sound);
            let (first, second) = octets.split_at(dice.below(octets.len()));
            bench.send(session, 0, first);
            bench.send(session, 0, second);
        }
        bench.now += core::time::Duration::from_secs(1);
        bench.middlebox.handle_lost(bench.now, session);
        bench.inbox.clear();
        bench.events.clear();
    }
    assert_eq!(bench.middlebox.connection_count(), 1);
    assert!(bench.ask(bystander, PolicyRequest::List).octets.starts_with(&[2, 0x22]));
}

#[test]
fn agent_takes_noise_as_the_end_of_the_session() {
    let mut dice = Dice::new();
    let mut bench = Bench::new();
    let session = bench.open("a");
    let mut replies = Vec::new();
    for request in [
        PolicyRequest::Enable(pinhole()),
        PolicyRequest::Reserve(reservation()),
        PolicyRequest::Disable(block()),
        PolicyRequest::Status { rule: PolicyRuleId::new(1) },
        PolicyRequest::Status { rule: PolicyRuleId::new(2) },
        PolicyRequest::List,
        change(PolicyRuleId::new(1), 60),
        change(PolicyRuleId::new(1), 0),
        change(PolicyRuleId::new(1), 0),
    ] {
        replies.push(bench.ask(session, request).octets);
    }
    let mut agent = Agent::new(AgentSettings::default(), [5; 32]);
    let opening = [2, 1, 0, 12, 0, 0, 0, 0, 0, 4, 0, 8, 0x80, 0xE5, 0, 0, 0, 0, 0x0E, 0x10];
    for _ in 0..messages() {
        if !agent.is_open() {
            agent.connect(Framing::Messages { streams: 6 });
            let mut opening = opening;
            let (_, request) = agent.poll_transmit().unwrap();
            opening[4..8].copy_from_slice(&request[4..8]);
            agent.handle_message(Instant::EPOCH, StreamNumber::CONTROL, &opening);
            assert!(agent.is_open());
        }
        let request = if dice.below(2) == 0 { PolicyRequest::Enable(pinhole()) } else { PolicyRequest::List };
        let transaction = agent.request(request).unwrap();
        let mut octets = dice.message(&replies);
        if octets.len() >= 8 && dice.below(4) != 0 {
            octets[4..8].copy_from_slice(&transaction.to_octets());
        }
        agent.handle_message(Instant::EPOCH, StreamNumber::new(1), &octets);
        let closed = core::iter::from_fn(|| agent.poll_event())
            .any(|event| matches!(event, AgentEvent::Closed { .. }));
        let may_have_ended = !agent.is_open();
        assert!(!closed || may_have_ended, "what is closed is not open");
        if may_have_ended && !closed {
            // AST: open no longer, but replies are still taken.
            agent.handle_lost();
            while agent.poll_event().is_some() {}
        }
        while agent.poll_transmit().is_some() {}
    }
}
