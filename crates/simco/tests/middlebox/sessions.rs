//! Session control: codes 0x0310 to 0x0326, BFM, AST, patience.

use core::time::Duration;

use simco::middlebox::{AgentPolicy, CloseReason, Connection, Demands, Framing, Protection};
use simco::{Body, NegativeCode, PolicyRequest, PositiveReply, Request, Version};

use crate::support::{Bench, config, connection, owner, pinhole};

const SE: Request<'static> = Request::SessionEstablishment { version: Version::CURRENT, challenge: None };
const LIST: Request<'static> = Request::Policy(PolicyRequest::List);

/// 0x0310 wrong basic type: the session goes on; without one the connection ends.
#[test]
fn reply_as_request_is_a_wrong_basic_type() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    for basic in [0, 2, 3, 4, 0xFF] {
        bench.send(session, 0, &[basic, 1, 0, 0, 0, 0, 0, 77]);
        assert_eq!(bench.inbox.remove(&session).unwrap()[0].1, [3, 0x10, 0, 0, 0, 0, 0, 77]);
    }
    assert!(bench.listed(session).is_empty());
    let stranger = bench.connect(connection(None));
    bench.send(stranger, 0, &[2, 1, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bench.types(stranger), [0x0310]);
    assert_eq!(bench.close_reason(stranger), Some(CloseReason::Refused(NegativeCode::WrongBasicType)));
}

/// 0x0311 wrong sub-type, by the table of ruling R6.
#[test]
fn sub_types_that_are_no_requests_are_refused() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    for sub_type in [0x00, 0x04, 0x16, 0x23, 0x24, 0xFF] {
        bench.send(session, 0, &[1, sub_type, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bench.types(session), [0x0311], "{sub_type:#x}");
    }
    assert!(bench.close_reason(session).is_none());
}

#[test]
fn without_session_only_establishment_is_answered() {
    for request in [LIST, Request::SessionTermination, Request::SessionAuthentication { token: None }] {
        let mut bench = Bench::new();
        let session = bench.connect(connection(Some("a")));
        assert_eq!(bench.say(session, 0, request).negative(), NegativeCode::WrongSubType);
        assert_eq!(bench.close_reason(session), Some(CloseReason::Refused(NegativeCode::WrongSubType)));
        assert_eq!(bench.middlebox.connection_count(), 0);
    }
}

/// 0x0312: attributes that do not fit.
#[test]
fn attributes_that_do_not_fit_are_badly_formed() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let unknown = [1, 0x22, 0, 4, 0, 0, 0, 1, 0, 99, 0, 0];
    let missing = [1, 0x21, 0, 0, 0, 0, 0, 1];
    let twice = [1, 0x21, 0, 16, 0, 0, 0, 1, 0, 5, 0, 4, 0, 0, 0, 1, 0, 5, 0, 4, 0, 0, 0, 1];
    let short = [1, 0x21, 0, 7, 0, 0, 0, 1, 0, 5, 0, 3, 0, 0, 1];
    let beyond = [1, 0x21, 0, 8, 0, 0, 0, 1, 0, 5, 0, 5, 0, 0, 0, 1];
    for octets in [&unknown[..], &missing, &twice, &short, &beyond] {
        bench.send(session, 0, octets);
        assert_eq!(bench.types(session), [0x0312], "{octets:?}");
    }
    assert!(bench.close_reason(session).is_none());
    let stranger = bench.connect(connection(None));
    bench.send(stranger, 0, &[1, 1, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bench.types(stranger), [0x0312]);
    assert!(bench.close_reason(stranger).is_some());
}

/// 0x0320: not in this state.
#[test]
fn establishment_and_authentication_do_not_apply_to_an_open_session() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    for request in [SE, Request::SessionAuthentication { token: None }] {
        assert_eq!(bench.say(session, 0, request).negative(), NegativeCode::NotApplicable);
    }
    assert!(bench.listed(session).is_empty());
}

/// 0x0321: too many sessions, of one agent or of all.
#[test]
fn too_many_sessions_are_refused() {
    let mut config = config();
    config.agents.known.get_mut(&owner("a")).unwrap().policy.most_sessions = 2;
    config.limits.sessions = 3;
    let mut bench = Bench::with(config);
    let first = bench.open("a");
    bench.open("a");
    let third = bench.connect(connection(Some("a")));
    assert_eq!(bench.say(third, 0, SE).negative(), NegativeCode::LackOfResources);
    bench.open("b");
    let fourth = bench.connect(connection(Some("b")));
    assert_eq!(bench.say(fourth, 0, SE).negative(), NegativeCode::LackOfResources);
    bench.middlebox.handle_lost(bench.now, first);
    bench.open("a");
}

/// Silent connections of many hosts keep no agent out, and cost those that speak nothing.
#[test]
fn silent_connections_make_room_for_an_agent() {
    let mut config = config();
    config.limits.sessions = 64;
    let mut bench = Bench::with(config);
    let session = bench.open("a");
    let silent = |host: usize| Connection { peer: owner(&format!("192.0.2.{host}")), ..connection(None) };
    let lone = bench.connect(silent(200));
    for number in 0..200 {
        bench.connect(silent(number % 16));
    }
    let agent = bench.open("b");
    assert_eq!(bench.middlebox.connection_count(), 64);
    for kept in [session, agent, lone] {
        assert!(bench.middlebox.connection(kept).is_some());
    }
    assert!(bench.events.iter().any(|event| matches!(
        event,
        simco::middlebox::MiddleboxEvent::Close { reason: CloseReason::Displaced, .. }
    )));
}

/// 0x0321: agents that nobody knows leave places for those that prove who they are.
#[test]
fn anonymous_sessions_leave_places_for_known_agents() {
    let mut config = config();
    config.agents.anonymous = Some(simco::middlebox::AgentPolicy::default());
    (config.limits.sessions, config.limits.anonymous_sessions) = (4, 2);
    let mut bench = Bench::with(config);
    let stranger = |host: usize| Connection { peer: owner(&format!("192.0.2.{host}")), ..connection(None) };
    for host in 0..2 {
        let session = bench.connect(stranger(host));
        assert!(matches!(bench.say(session, 0, SE).body(), Body::Positive(_)));
    }
    let third = bench.connect(stranger(3));
    assert_eq!(bench.say(third, 0, SE).negative(), NegativeCode::LackOfResources);
    for name in ["a", "b"] {
        bench.open(name);
    }
    assert_eq!(bench.middlebox.open_sessions().count(), 4);
}

/// Who says nothing is waited for the less, the fewer places there are.
#[test]
fn silence_is_borne_for_less_time_where_places_are_few() {
    let lives = |silent: usize| {
        let mut config = config();
        config.limits.sessions = 10;
        let mut bench = Bench::with(config);
        let connections: Vec<_> = (0..silent).map(|_| bench.connect(connection(None))).collect();
        let until = bench.middlebox.poll_timeout().unwrap();
        let lives = until.since(bench.now);
        bench.pass(lives - Duration::from_millis(1));
        assert!(bench.close_reason(connections[0]).is_none());
        bench.pass(Duration::from_millis(1));
        assert_eq!(bench.close_reason(connections[0]), Some(CloseReason::NotEstablished));
        lives.as_secs()
    };
    assert_eq!([1, 5, 7, 10].map(lives), [30, 30, 18, 3]);
}

/// 0x0322: only 3.0 is spoken.
#[test]
fn other_version_is_told_the_right_one() {
    let mut bench = Bench::new();
    let session = bench.connect(connection(Some("a")));
    let version = Version { major: 2, minor: 0 };
    let said = bench.say(session, 0, Request::SessionEstablishment { version, challenge: None });
    assert_eq!(said.negative(), NegativeCode::VersionMismatch);
    assert_eq!(said.octets[..4], [3, 0x22, 0, 8]);
    assert_eq!(said.octets[8..], [0, 1, 0, 4, 3, 0, 0, 0]);
    assert!(bench.close_reason(session).is_some());
}

/// 0x0324: known, but not allowed; and nobody takes a configured name without proof.
#[test]
fn agent_without_authorization_is_refused() {
    let mut config = config();
    config.agents.known.get_mut(&owner("a")).unwrap().policy.may_connect = false;
    config.agents.anonymous = Some(AgentPolicy::default());
    let mut bench = Bench::with(config);
    let session = bench.connect(connection(Some("a")));
    assert_eq!(bench.say(session, 0, SE).negative(), NegativeCode::NoAuthorization);
    let pretender = bench.connect(Connection { peer: owner("b"), ..connection(None) });
    assert_eq!(bench.say(pretender, 0, SE).negative(), NegativeCode::NoAuthorization);
}

/// 0x0325 and 0x0326: what a connection must have.
#[test]
fn connection_without_streams_or_protection_is_refused() {
    let mut config = config();
    config.demands = Demands { fewest_streams: 4, protection: Protection::Encrypted };
    let mut bench = Bench::with(config);
    let narrow = Connection { framing: Framing::Messages { streams: 3 }, ..connection(Some("a")) };
    let session = bench.connect(narrow.clone());
    assert_eq!(bench.say(session, 0, SE).negative(), NegativeCode::TransportProblem);
    let wide = Connection { framing: Framing::Messages { streams: 4 }, ..narrow };
    let session = bench.connect(wide.clone());
    assert_eq!(bench.say(session, 0, SE).negative(), NegativeCode::InsufficientSecurity);
    let session = bench.connect(Connection { protection: Protection::Encrypted, ..wide });
    assert!(matches!(bench.say(session, 0, SE).body(), Body::Positive(_)));
}

#[test]
fn termination_is_answered_and_what_follows_ignored() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let rule = bench.enable(session, pinhole()).rule;
    let mut octets = bench.encode(Request::SessionTermination);
    octets.extend(bench.encode(LIST));
    bench.send(session, 0, &octets);
    assert_eq!(bench.types(session), [0x0203]);
    assert_eq!(bench.close_reason(session), Some(CloseReason::Terminated));
    // The rule lives on, and the same agent finds it again (RFC 5189 §2.2).
    let again = bench.open("a");
    assert_eq!(bench.listed(again), [rule.get()]);
}

/// BFM and AST: a length that cannot be.
#[test]
fn impossible_header_ends_the_session() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let other = bench.open("b");
    bench.send(session, 0, &[1, 0x22, 0xFF, 0xF9, 0, 0, 0, 1]);
    assert_eq!(bench.types(session), [0x0401, 0x0402]);
    assert_eq!(bench.close_reason(session), Some(CloseReason::BadlyFormed));
    let stranger = bench.connect(connection(None));
    bench.send(stranger, 0, &[1, 1, 0xFF, 0xFF, 0, 0, 0, 1]);
    assert_eq!(bench.types(stranger), [0x0401], "no session, no AST");
    assert!(bench.listed(other).is_empty(), "the other session does not notice");
}

/// BFM over SCTP: a user message that is longer or shorter than it says (rulings R5, R19).
#[test]
fn user_message_of_wrong_length_ends_the_session() {
    for octets in [&[1, 0x22, 0, 0, 0, 0, 0, 1, 0][..], &[1, 0x22, 0, 4, 0, 0, 0, 1], &[1, 0x22]] {
        let mut bench = Bench::new();
        let session = bench.open_with("a", Framing::Messages { streams: 3 });
        bench.send(session, 2, octets);
        let said = bench.inbox.remove(&session).unwrap();
        let streams: Vec<_> = said.iter().map(|(stream, octets)| (stream.get(), octets[1])).collect();
        assert_eq!(streams, [(2, 1), (0, 2)], "BFM where it was, AST on stream 0");
    }
    let mut bench = Bench::new();
    let session = bench.open_with("a", Framing::Messages { streams: 3 });
    let octets = bench.encode(LIST);
    bench.send(session, 3, &octets);
    assert_eq!(bench.types(session), [0x0401, 0x0402], "a stream that does not exist both ways");
}

/// RFC 4540 §5.5: 60 s without an octet of a message that has begun.
#[test]
fn half_a_message_is_waited_for_a_minute() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    bench.send(session, 0, &[1, 0x22, 0]);
    bench.pass(Duration::from_secs(59));
    bench.send(session, 0, &[0]);
    bench.pass(Duration::from_millis(59_999));
    assert!(bench.close_reason(session).is_none(), "each octet counts");
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.types(session), [0x0401, 0x0402]);
    assert_eq!(bench.close_reason(session), Some(CloseReason::BadlyFormed));
}

#[test]
fn connection_that_never_becomes_a_session_is_closed() {
    let mut bench = Bench::new();
    let session = bench.connect(connection(None));
    bench.pass(Duration::from_secs(30));
    assert_eq!(bench.close_reason(session), Some(CloseReason::NotEstablished));
}

/// AST by the operator: what was processed is answered before (RFC 4540 §7.4).
#[test]
fn operator_ends_a_session_after_its_answers() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let octets = bench.encode(LIST);
    bench.hand_in(session, 0, &octets);
    bench.middlebox.end_session(bench.now, session);
    bench.drain();
    assert_eq!(bench.types(session), [0x0222, 0x0402]);
    assert_eq!(bench.close_reason(session), Some(CloseReason::Administrative));
}

#[test]
fn new_keys_leave_sessions_and_a_removed_agent_loses_his() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    let mut agents = config().agents;
    agents.known.get_mut(&owner("a")).unwrap().key = simco::Key::new([1; 32]);
    agents.known.remove(&owner("b"));
    bench.middlebox.set_agents(bench.now, agents);
    bench.drain();
    assert_eq!(bench.types(b), [0x0402]);
    assert!(bench.close_reason(b).is_some());
    assert!(bench.listed(a).is_empty());
}

#[test]
fn replies_go_back_on_the_stream_of_the_request() {
    let mut bench = Bench::new();
    let session = bench.open_with("a", Framing::Messages { streams: 6 });
    for stream in 0..6 {
        assert_eq!(bench.say(session, stream, LIST).stream.get(), stream);
        let gone = Request::Policy(PolicyRequest::Status { rule: simco::PolicyRuleId::new(99) });
        assert_eq!(bench.say(session, stream, gone).stream.get(), stream);
    }
}

#[test]
fn capabilities_are_what_filter_and_configuration_allow() {
    let mut config = config();
    config.disable_rules = simco::middlebox::Offer::Refused;
    let mut bench = Bench::with(config);
    let session = bench.connect(connection(Some("a")));
    let said = bench.say(session, 0, SE);
    let Body::Positive(PositiveReply::SessionEstablishment { capabilities }) = said.body() else {
        panic!("{said:?}")
    };
    let services = capabilities.services;
    assert!(services.is_firewall && !services.is_translator && !services.can_disable);
    assert_eq!(capabilities.longest_lifetime.as_secs(), 3600);
}
