//! What overtakes what over several streams (ruling R20), and what an agent does not take (ruling R8).

use simco::agent::{Agent, AgentCloseReason, AgentEvent, AgentSettings, Loss};
use simco::middlebox::Framing;
use simco::{
    Body, Capabilities, Enabled, GroupId, Lifetime, Location, Message, NegativeCode, NegativeReply,
    Notification, PolicyRequest, PolicyRuleId, PositiveReply, Request, StreamNumber, TransactionId,
};
use virtual_time::Instant;

use crate::support::{change, pinhole, seconds};

const NOW: Instant = Instant::EPOCH;

/// An agent in an open session over six streams.
fn agent() -> Agent {
    let mut agent = Agent::new(AgentSettings::default(), [5; 32]);
    agent.connect(Framing::Messages { streams: 6 });
    let capabilities = Capabilities::default();
    hear(&mut agent, 0, 1, Body::Positive(PositiveReply::SessionEstablishment { capabilities }));
    assert!(agent.is_open());
    drain(&mut agent);
    while agent.poll_transmit().is_some() {}
    agent
}

fn hear(agent: &mut Agent, stream: u16, transaction: u32, body: Body<'_>) {
    let mut octets = Vec::new();
    Message { transaction: TransactionId::new(transaction), body }.encode(&mut octets).unwrap();
    agent.handle_message(NOW, StreamNumber::new(stream), &octets);
}

fn drain(agent: &mut Agent) -> Vec<AgentEvent> {
    core::iter::from_fn(|| agent.poll_event()).collect()
}

fn enabled(rule: u32) -> Body<'static> {
    Body::Positive(PositiveReply::Enable(Enabled {
        rule: PolicyRuleId::new(rule),
        group: GroupId::new(1),
        lifetime: seconds(300),
        outside: pinhole().internal.at(Location::OUTSIDE),
        inside: None,
    }))
}

fn event(rule: u32, lifetime: Lifetime) -> Body<'static> {
    Body::Notification(Notification::RuleEvent { rule: PolicyRuleId::new(rule), lifetime })
}

#[test]
fn end_of_a_rule_that_overtakes_its_reply_is_not_forgotten() {
    let mut agent = agent();
    let transaction = agent.request(PolicyRequest::Enable(pinhole())).unwrap();
    hear(&mut agent, 3, 1, event(7, Lifetime::ZERO));
    hear(&mut agent, 0, transaction.get(), enabled(7));
    let events = drain(&mut agent);
    assert!(matches!(events[0], AgentEvent::RuleEvent { .. }));
    assert!(matches!(events[1], AgentEvent::Answered { outcome: Ok(_), .. }));
    assert_eq!(events[2], AgentEvent::RuleLost { rule: PolicyRuleId::new(7), loss: Loss::Notified });
    assert_eq!(agent.known_rules().count(), 0);
}

#[test]
fn later_requests_take_the_stream_of_the_reply() {
    let mut agent = agent();
    let first = agent.request(PolicyRequest::Enable(pinhole())).unwrap();
    let second = agent.request(PolicyRequest::Enable(pinhole())).unwrap();
    let dealt: Vec<_> =
        core::iter::from_fn(|| agent.poll_transmit()).map(|(stream, _)| stream.get()).collect();
    assert_eq!(dealt, [0, 1]);
    // Replies may overtake each other; the transaction tells which is which.
    hear(&mut agent, 1, second.get(), enabled(8));
    hear(&mut agent, 0, first.get(), enabled(7));
    for (rule, stream) in [(8, 1), (7, 0), (8, 1)] {
        agent.request(change(PolicyRuleId::new(rule), 60)).unwrap();
        assert_eq!(agent.poll_transmit().unwrap().0.get(), stream);
    }
}

/// AST may overtake replies that were sent before it.
#[test]
fn replies_behind_the_end_of_the_session_are_still_taken() {
    let mut agent = agent();
    let transaction = agent.request(PolicyRequest::Enable(pinhole())).unwrap();
    hear(&mut agent, 0, 1, Body::Notification(Notification::SessionTermination));
    assert!(agent.request(PolicyRequest::List).is_err());
    hear(&mut agent, 1, transaction.get(), enabled(7));
    agent.handle_lost();
    let events = drain(&mut agent);
    assert!(matches!(events[0], AgentEvent::Answered { outcome: Ok(_), .. }));
    assert_eq!(events[1], AgentEvent::Closed { reason: AgentCloseReason::TerminatedByMiddlebox });
}

#[test]
fn messages_out_of_place_end_the_session() {
    let deletion = Body::Positive(PositiveReply::Deletion);
    let request = Body::Request(Request::SessionTermination);
    let refusal = Body::Negative(NegativeReply::new(NegativeCode::NoSuchRule));
    for (offset, body) in [(0, deletion), (1, deletion), (1, refusal), (0, request)] {
        let mut agent = agent();
        let transaction = agent.request(PolicyRequest::Enable(pinhole())).unwrap();
        hear(&mut agent, 0, transaction.get() + offset, body);
        let out_of_place = AgentEvent::Closed { reason: AgentCloseReason::OutOfPlace };
        assert_eq!(drain(&mut agent), [out_of_place], "{body:?}");
    }
    let mut agent = agent();
    agent.handle_message(NOW, StreamNumber::CONTROL, &[9, 9]);
    let events = drain(&mut agent);
    assert!(matches!(events[..], [AgentEvent::Closed { reason: AgentCloseReason::BadlyFormed(_) }]));
}

/// 0x0357 is not sent by our middlebox, but taken; and a BFM is told.
#[test]
fn every_refusal_and_notification_is_told() {
    let mut agent = agent();
    for code in NegativeCode::ALL {
        let transaction = agent.request(PolicyRequest::List).unwrap();
        hear(&mut agent, 0, transaction.get(), Body::Negative(NegativeReply::new(*code)));
        let events = drain(&mut agent);
        assert!(matches!(events[..], [AgentEvent::Answered { outcome: Err(found), .. }] if found == *code));
    }
    hear(&mut agent, 0, 1, Body::Notification(Notification::BadlyFormedMessage));
    assert_eq!(drain(&mut agent), [AgentEvent::NotUnderstood]);
}

#[test]
fn refusal_of_the_session_is_its_end() {
    let version = simco::Version { major: 4, minor: 0 };
    for (reply, reason) in [
        (NegativeReply::VersionMismatch { supported: version }, AgentCloseReason::OtherVersion(version)),
        (
            NegativeReply::new(NegativeCode::LackOfResources),
            AgentCloseReason::Refused(NegativeCode::LackOfResources),
        ),
    ] {
        let mut agent = Agent::new(AgentSettings::default(), [5; 32]);
        agent.connect(Framing::Octets);
        hear(&mut agent, 0, 1, Body::Negative(reply));
        assert_eq!(drain(&mut agent), [AgentEvent::Closed { reason }]);
    }
}
