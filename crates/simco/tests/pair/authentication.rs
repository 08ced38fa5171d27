//! Challenge and token both ways, and everybody who has the wrong key. Code 0x0323.

use simco::agent::{AgentCloseReason, AgentEvent, AgentSettings, Credentials};
use simco::middlebox::{AgentPolicy, CloseReason, Connection, Framing, MiddleboxEvent};
use simco::{Body, Key, NegativeCode, PositiveReply, Request, Version};

use super::network::{Pair, QUIET};
use crate::support::{Bench, config, connection, owner};

fn settings(name: &str, key: u8) -> AgentSettings {
    let credentials = Credentials { identity: owner(name), key: Key::new([key; 32]) };
    AgentSettings { credentials: Some(credentials), ..AgentSettings::default() }
}

fn pair(bench: Bench, settings: AgentSettings) -> Pair {
    let stranger = Connection { framing: Framing::Messages { streams: 2 }, ..connection(None) };
    Pair::connected(bench, settings, stranger, QUIET)
}

#[track_caller]
fn reason(mut pair: Pair) -> AgentCloseReason {
    let mut reason = None;
    pair.run_until(|pair| {
        let closed = pair.events.iter().find_map(|event| match event {
            AgentEvent::Closed { reason } => Some(*reason),
            _ => None,
        });
        reason = closed;
        closed.is_some()
    });
    reason.unwrap()
}

#[test]
fn both_sides_prove_that_they_have_the_key() {
    let mut pair = pair(Bench::new(), settings("a", 9));
    pair.run_until(|pair| pair.agent.is_open());
    let opened = pair
        .bench
        .events
        .iter()
        .any(|event| matches!(event, MiddleboxEvent::Opened { agent, .. } if *agent == owner("a")));
    assert!(opened);
}

/// With a wrong key, or as somebody unknown, an agent cannot tell: the middlebox' token is wrong either way.
#[test]
fn wrong_key_and_unknown_agent_look_the_same() {
    assert_eq!(reason(pair(Bench::new(), settings("a", 8))), AgentCloseReason::NotAuthenticated);
    assert_eq!(reason(pair(Bench::new(), settings("nobody", 9))), AgentCloseReason::NotAuthenticated);
}

#[test]
fn agent_without_key_is_told_that_it_needs_one() {
    assert_eq!(reason(pair(Bench::new(), AgentSettings::default())), AgentCloseReason::NoCredentials);
}

/// A middlebox that lets everybody in has still to prove itself to an agent with a key.
#[test]
fn agent_with_key_does_not_trust_a_middlebox_without() {
    let mut config = config();
    config.agents.anonymous = Some(AgentPolicy::default());
    config.agents.known.clear();
    let bench = Bench::with(config);
    assert_eq!(reason(pair(bench, settings("a", 9))), AgentCloseReason::NotAuthenticated);
}

/// 0x0323: an agent that goes on with a wrong token, or without one.
#[test]
fn wrong_token_fails_and_ends_the_connection() {
    let challenge = [&[1, b'a'][..], &[7; 32]].concat();
    for (challenge, token) in [
        (Some(&challenge[..]), Some(&[0; 32][..])),
        (Some(&challenge[..]), None),
        (Some(&challenge[..3]), Some(&[0; 32])),
        (None, Some(&[0; 32])),
    ] {
        let mut bench = Bench::new();
        let session = bench.connect(connection(None));
        let request = Request::SessionEstablishment { version: Version::CURRENT, challenge };
        let said = bench.say(session, 0, request);
        let Body::Positive(PositiveReply::SessionAuthentication { challenge: Some(_), token: proof }) =
            said.body()
        else {
            panic!("{said:?}")
        };
        assert_eq!(proof.is_some(), challenge.is_some(), "a token answers each challenge");
        let said = bench.say(session, 0, Request::SessionAuthentication { token });
        assert_eq!(said.negative(), NegativeCode::AuthenticationFailed);
        let reason = CloseReason::Refused(NegativeCode::AuthenticationFailed);
        assert_eq!(bench.close_reason(session), Some(reason));
    }
}

#[test]
fn session_can_end_before_authentication_and_does_not_begin_twice() {
    let mut bench = Bench::new();
    let session = bench.connect(connection(None));
    let request = Request::SessionEstablishment { version: Version::CURRENT, challenge: None };
    bench.say(session, 0, request);
    assert_eq!(bench.say(session, 0, request).negative(), NegativeCode::NotApplicable);
    let said = bench.say(session, 0, Request::SessionTermination);
    assert_eq!(said.body(), Body::Positive(PositiveReply::SessionTermination));
    assert_eq!(bench.close_reason(session), Some(CloseReason::Terminated));
}

/// The layers below know the agent, and it wants to know the middlebox: a token, but no challenge.
#[test]
fn agent_known_from_below_still_gets_its_proof() {
    let trusted = Connection { framing: Framing::Messages { streams: 2 }, ..connection(Some("a")) };
    let mut pair = Pair::connected(Bench::new(), settings("a", 9), trusted, QUIET);
    pair.run_until(|pair| pair.agent.is_open());
}
