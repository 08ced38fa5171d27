//! Calls in which everybody does what is expected.

use super::*;

#[test]
fn no_session_description_passes_before_its_pinhole_is_open() {
    // Study S4: the order of the prototype.
    for transport in [Transport::UDP, Transport::TCP] {
        let mut world = World::over(transport);
        let (_, answer) = world.up();
        assert!(world.is_before("open 10.1.8.3", "agent INVITE"));
        assert!(world.is_before("open 198.51.100.9", "agent SIP/2.0 200"));
        assert!(world.is_before("agent SIP/2.0 100", "open 10.1.8.3"));
        assert_eq!((world.open.len(), world.calls.len()), (2, 1));
        world.send(within(&answer, Method::Bye, 2));
        let (transaction, bye) = world.received();
        assert_eq!(bye.method, Method::Bye);
        world.respond(transaction, &bye, Status::OK, "");
        assert_eq!((world.open.len(), world.calls.len()), (0, 0));
        world.assert_nothing_is_left();
        assert_eq!(world.cause(), "bye_of_caller");
    }
}

#[test]
fn what_goes_on_goes_on_and_nothing_else() {
    let mut world = World::new();
    let mut request = invite(OFFER);
    request.headers.push(HeaderName::RecordRoute, "<sip:proxy;lr>");
    request.headers.push(HeaderName::Supported, "100rel, path, timer");
    world.send(request);
    let (_, passed) = world.received();
    let header = |name| passed.headers.first(&name);
    assert_eq!(header(HeaderName::Other("Subject".into())), Some("news"));
    assert_eq!(header(HeaderName::MaxForwards), Some("69"));
    assert_eq!(header(HeaderName::Contact), Some("<sip:10.1.8.1:5060>"));
    assert_eq!(header(HeaderName::RecordRoute), None);
    assert_eq!(header(HeaderName::Supported), Some("100rel, timer"), "what works through the agent");
    assert_eq!(passed.uri, "sip:4711@198.51.100.9:5060");
    assert!(
        header(HeaderName::CallId) != Some("call-of-a")
            && !header(HeaderName::From).unwrap().contains("caller")
    );
    assert_eq!(passed.headers.all(&HeaderName::Via).count(), 1);
    assert!(std::str::from_utf8(&passed.body).unwrap().contains("m=audio 6000"));
}

#[test]
fn ringing_and_early_media_pass() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::RINGING, "");
    assert_eq!(world.open.len(), 1);
    world.respond(transaction, &request, Status::new(183).unwrap(), ANSWER);
    assert_eq!(world.open.len(), 2);
    world.respond(transaction, &request, Status::OK, ANSWER);
    assert_eq!((world.told().0, world.asked), (vec![100, 180, 183, 200], 2));
}

#[test]
fn early_media_that_cannot_be_used_are_left_out_and_the_call_goes_on() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    let inside = ANSWER.replace("198.51.100.9", "10.0.0.53");
    world.respond(transaction, &request, Status::new(183).unwrap(), &inside);
    let (codes, progress) = world.told();
    let progress = progress.unwrap();
    assert_eq!((codes, progress.body.len()), (vec![100, 183], 0));
    assert_eq!(progress.headers.first(&HeaderName::ContentType), None);
    assert_eq!((world.asked, world.calls.counters().early_media_refused), (1, 1));
    world.respond(transaction, &request, Status::OK, ANSWER);
    assert_eq!((world.told().0, world.asked), (vec![200], 2));
}

#[test]
fn an_offer_in_the_answer_is_answered_in_the_ack() {
    // RFC 3264 §4: an INVITE without a session description.
    let mut world = World::new();
    let invite = world.invite("");
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    assert!(!world.trace.iter().any(|line| line.starts_with("agent ACK")));
    let answer = world.told().1.unwrap();
    let mut ack = within(&answer, Method::Ack, 1);
    add_body(&mut ack.headers, &mut ack.body, OFFER);
    world.caller.acknowledge(invite, ack, Flow::new(Transport::UDP, address(AGENT)));
    world.settle();
    assert!(world.is_before("open 198.51.100.9", "agent SIP/2.0 200"));
    assert!(world.is_before("open 10.1.8.3", "agent ACK"));
    assert_eq!(world.open.len(), 2);
}

#[test]
fn a_call_may_be_hung_up_by_the_called_side() {
    let mut world = World::new();
    let invite = world.invite(OFFER);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    let answer = world.told().1.unwrap();
    let mut bye = Request::new(Method::Bye, "sip:10.1.8.1:5060");
    let copy = |name| request.headers.first(&name).unwrap().to_owned();
    bye.headers.push(HeaderName::From, format!("{};tag=callee", copy(HeaderName::To)));
    bye.headers.push(HeaderName::To, copy(HeaderName::From));
    bye.headers.push(HeaderName::CallId, copy(HeaderName::CallId));
    bye.headers.push(HeaderName::CSeq, "1 BYE");
    world.callee.request(world.now, bye, Flow::new(Transport::UDP, address(AGENT))).unwrap();
    world.settle();
    assert_eq!(world.open.len(), 0);
    // RFC 3261 §15: no BYE before the ACK.
    assert!(!world.trace.iter().any(|line| line.starts_with("agent BYE")));
    world.acknowledge(invite, &answer);
    assert!(world.trace.iter().any(|line| line.starts_with("agent BYE")), "{:#?}", world.trace);
    assert_eq!(world.cause(), "bye_of_callee");
}

#[test]
fn new_media_move_the_pinholes_and_the_same_ones_do_not() {
    let mut world = World::new();
    let (_, answer) = world.up();
    let moved = OFFER.replace("6000", "6100");
    for (number, offer, opened) in [(2, OFFER, 0), (3, moved.as_str(), 1)] {
        let before = world.asked;
        let mut request = within(&answer, Method::Invite, number);
        add_body(&mut request.headers, &mut request.body, offer);
        let invite = world.send(request);
        let (transaction, request) = world.received();
        assert_eq!(request.method, Method::Invite);
        world.respond(transaction, &request, Status::OK, ANSWER);
        let passed = world.told().1.unwrap();
        let to = Flow::new(Transport::UDP, address(AGENT));
        world.caller.acknowledge(invite, within(&passed, Method::Ack, number), to);
        world.settle();
        assert_eq!((world.asked - before, world.open.len()), (opened, 2), "{:#?}", world.trace);
    }
    assert!(world.open.iter().any(|(_, pinhole)| pinhole.towards.port == 6100));
    assert!(world.open.iter().all(|(_, pinhole)| pinhole.towards.port != 6000));
}

#[test]
fn a_refused_change_leaves_the_call_as_it_was() {
    let mut world = World::new();
    let (_, answer) = world.up();
    let mut request = within(&answer, Method::Update, 2);
    add_body(&mut request.headers, &mut request.body, &OFFER.replace("6000", "6100"));
    world.send(request);
    assert_eq!(world.open.len(), 3);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::NOT_ACCEPTABLE, "");
    assert_eq!((world.told().0, world.open.len(), world.calls.len()), (vec![488], 2, 1));
}

#[test]
fn other_requests_within_a_call_pass() {
    let mut world = World::new();
    let (_, answer) = world.up();
    for number in 2..40 {
        let mut info = within(&answer, Method::Info, number);
        info.body = Bytes::from_static(b"Signal=1");
        world.send(info);
        let (transaction, passed) = world.received();
        assert_eq!((passed.method.clone(), passed.body.as_ref()), (Method::Info, b"Signal=1".as_slice()));
        world.respond(transaction, &passed, Status::OK, "");
        assert_eq!(world.told().0, [200]);
    }
    assert!(world.calls.transactions.len() < 6, "{:?}", world.calls.transactions);
}

#[test]
fn a_busy_or_redirecting_side_is_passed_on() {
    for (status, cause) in [(486, "busy"), (302, "redirected"), (603, "refused")] {
        let mut world = World::new();
        world.invite(OFFER);
        let (transaction, request) = world.received();
        world.respond(transaction, &request, Status::new(status).unwrap(), "");
        assert_eq!(world.told().0, [100, status]);
        assert_eq!(world.open.len(), 0);
        world.assert_nothing_is_left();
        assert_eq!(world.cause(), cause);
    }
}

#[test]
fn calls_between_hosts_on_one_side_need_no_firewall() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    assert_eq!(world.asked, 1);
    // The called side is a proxy that speaks for a host inside.
    world.calls.settings.may_speak_for_others = vec![Network::new("198.51.100.9".parse().unwrap(), 32)];
    world.respond(transaction, &request, Status::OK, &ANSWER.replace("198.51.100.9", "10.1.8.4"));
    assert_eq!((world.told().0, world.asked, world.open.len()), (vec![100, 200], 1, 0));
}
