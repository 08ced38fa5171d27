//! Extensions that work through the agent: reliable provisional responses (RFC 3262), session timers (RFC 4028).

use super::*;

/// A provisional response that wants to be acknowledged.
fn progress(world: &mut World, transaction: TransactionId, request: &Request, number: u32, answer: &str) {
    let mut response = Response::to(request, Status::new(183).unwrap(), "callee");
    response.headers.push(HeaderName::Contact, format!("<sip:b@{CALLEE}>"));
    response.headers.push(HeaderName::Require, "100rel");
    response.headers.push(HeaderName::RSeq, number.to_string());
    add_body(&mut response.headers, &mut response.body, answer);
    world.callee.respond(world.now, transaction, &response);
    world.settle();
}

/// The caller acknowledges a provisional response.
fn prack(progress: &Response, number: u32, rack: &str, body: &str) -> Request {
    let mut prack = within(progress, Method::Prack, number);
    prack.headers.push(HeaderName::RAck, rack);
    add_body(&mut prack.headers, &mut prack.body, body);
    prack
}

#[test]
fn reliable_provisional_responses_are_acknowledged_from_end_to_end() {
    let mut world = World::new();
    let mut request = invite(OFFER);
    request.headers.push(HeaderName::Require, "100rel");
    let invite = world.send(request);
    let (transaction, request) = world.received();
    assert_eq!(request.headers.first(&HeaderName::Require), Some("100rel"));
    progress(&mut world, transaction, &request, 77, ANSWER);
    let passed = *world.told().1.unwrap();
    assert_eq!(passed.headers.first(&HeaderName::RSeq), Some("77"));
    assert!(world.is_before("open 198.51.100.9", "agent SIP/2.0 183"));
    world.send(prack(&passed, 2, "77 1 INVITE", ""));
    let (second, acknowledged) = world.received();
    assert_eq!(acknowledged.headers.first(&HeaderName::RAck), Some("77 1 INVITE"));
    assert_eq!(acknowledged.headers.first(&HeaderName::CSeq), Some("2 PRACK"));
    world.callee.respond(world.now, second, &Response::to(&acknowledged, Status::OK, ""));
    world.settle();
    assert_eq!(world.told().0, [200]);
    world.respond(transaction, &request, Status::OK, "");
    let answer = *world.told().1.unwrap();
    world.acknowledge(invite, &answer);
    world.send(within(&answer, Method::Bye, 3));
    loop {
        let (_, request) = world.received();
        if request.method == Method::Bye {
            // The numbers of the early dialog go on.
            assert_eq!(request.headers.first(&HeaderName::CSeq), Some("3 BYE"));
            break;
        }
    }
    world.assert_nothing_is_left();
}

#[test]
fn an_offer_in_a_reliable_response_is_answered_in_its_acknowledgment() {
    let mut world = World::new();
    let mut request = invite("");
    request.headers.push(HeaderName::Supported, "100rel");
    world.send(request);
    let (transaction, request) = world.received();
    progress(&mut world, transaction, &request, 1, ANSWER);
    let passed = *world.told().1.unwrap();
    world.send(prack(&passed, 2, "1 1 INVITE", OFFER));
    assert!(world.is_before("open 10.1.8.3", "agent PRACK"), "{:#?}", world.trace);
    let (second, acknowledged) = world.received();
    world.callee.respond(world.now, second, &Response::to(&acknowledged, Status::OK, ""));
    world.settle();
    world.respond(transaction, &request, Status::OK, "");
    assert_eq!((world.told().0, world.open.len()), (vec![200, 200], 2));
}

#[test]
fn an_acknowledgment_of_nothing_is_refused() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::RINGING, "");
    let ringing = *world.told().1.unwrap();
    world.send(prack(&ringing, 2, "1 1 INVITE", ""));
    assert_eq!(world.told().0, [481]);
    progress(&mut world, transaction, &request, 1, ANSWER);
    world.told();
    for (number, rack) in [(3, "1 1 BYE"), (4, "x 1 INVITE"), (5, "1")] {
        world.send(prack(&ringing, number, rack, ""));
        assert_eq!(world.told().0, [481], "{rack}");
    }
    assert_eq!(world.calls.len(), 1);
}

#[test]
fn a_session_that_nobody_refreshes_ends_and_one_that_is_refreshed_goes_on() {
    let mut world = World::new();
    let mut request = invite(OFFER);
    request.headers.push(HeaderName::SessionExpires, "1800;refresher=uac");
    request.headers.push(HeaderName::Supported, "timer");
    let invite = world.send(request);
    let (transaction, request) = world.received();
    assert_eq!(request.headers.first(&HeaderName::SessionExpires), Some("1800;refresher=uac"));
    let answer = |world: &mut World, transaction, request: &Request, interval: &str| {
        let mut response = Response::to(request, Status::OK, "callee");
        response.headers.push(HeaderName::Contact, format!("<sip:b@{CALLEE}>"));
        response.headers.push(HeaderName::Require, "timer");
        response.headers.push(HeaderName::SessionExpires, interval);
        add_body(&mut response.headers, &mut response.body, ANSWER);
        world.callee.respond(world.now, transaction, &response);
        world.settle();
        *world.told().1.unwrap()
    };
    let passed = answer(&mut world, transaction, &request, "200;refresher=uac");
    assert_eq!(passed.headers.first(&HeaderName::Require), Some("timer"));
    world.acknowledge(invite, &passed);
    world.pass(Duration::from_secs(150));
    world.send(within(&passed, Method::Update, 2));
    let (transaction, request) = world.received();
    answer(&mut world, transaction, &request, "200;refresher=uac");
    world.pass(Duration::from_secs(199));
    assert_eq!(world.calls.len(), 1, "the refreshment counts");
    world.pass(Duration::from_secs(1));
    assert_eq!((world.calls.len(), world.open.len(), world.cause()), (0, 0, "expired"));
    assert!(
        world.is_before("agent BYE sip:b@", "agent BYE sip:a@")
            || world.is_before("agent BYE sip:a@", "agent BYE sip:b@")
    );
}

#[test]
fn an_answer_in_an_acknowledgment_opens_both_ways_through_a_translator() {
    let mut world = World::new();
    world.calls.settings.translators = BTreeSet::from([0]);
    let mut request = invite("");
    request.headers.push(HeaderName::Supported, "100rel");
    world.send(request);
    let (transaction, request) = world.received();
    progress(&mut world, transaction, &request, 1, ANSWER);
    let passed = *world.told().1.unwrap();
    world.send(prack(&passed, 2, "1 1 INVITE", OFFER));
    let (second, acknowledged) = world.received();
    let text = String::from_utf8(acknowledged.body.to_vec()).unwrap();
    assert!(text.contains("m=audio 20100 ") && !text.contains("c=IN IP4 10."), "{text}");
    world.callee.respond(world.now, second, &Response::to(&acknowledged, Status::OK, ""));
    world.settle();
    world.respond(transaction, &request, Status::OK, "");
    assert_eq!((world.told().0, world.open.len()), (vec![200, 200], 2));
}
