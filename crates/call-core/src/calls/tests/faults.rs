//! Calls that are cancelled, refused, forgotten, or whose firewall does not want.

use super::*;

fn bye_after_up(world: &mut World, answer: &Response) {
    world.send(within(answer, Method::Bye, 2));
    let (transaction, bye) = world.received();
    world.respond(transaction, &bye, Status::OK, "");
}

#[test]
fn a_firewall_that_refuses_the_first_pinhole_ends_the_call_before_anybody_rings() {
    for (refusal, label) in [(Refusal::Refused, "refused"), (Refusal::Unreachable, "unreachable")] {
        let mut world = World::new();
        world.verdict = Some(Err(refusal));
        world.invite(OFFER);
        let (codes, last) = world.told();
        assert_eq!(codes, [100, 503]);
        assert_eq!(
            last.unwrap().headers.first(&HeaderName::Reason),
            Some("Q.850;cause=47;text=\"Firewall Refuses\"")
        );
        assert!(!world.trace.iter().any(|line| line.starts_with("agent INVITE")));
        assert_eq!(world.calls.counters().denied.get(label), Some(&1));
        world.assert_nothing_is_left();
        assert_eq!(world.cause(), "no_pinhole");
    }
}

#[test]
fn a_firewall_that_refuses_the_second_pinhole_ends_the_call_on_both_sides() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.verdict = Some(Err(Refusal::Refused));
    world.respond(transaction, &request, Status::OK, ANSWER);
    assert_eq!(world.told().0, [100, 503]);
    assert!(world.is_before("agent ACK", "agent BYE"));
    assert!(!world.trace.iter().any(|line| line.starts_with("agent SIP/2.0 200")));
    world.assert_nothing_is_left();
}

#[test]
fn a_firewall_that_is_silent_ends_the_call_in_two_seconds() {
    let mut world = World::new();
    world.verdict = None;
    world.invite(OFFER);
    world.pass(Duration::from_millis(1_999));
    assert_eq!(world.told().0, [100]);
    world.pass(Duration::from_millis(1));
    world.settle();
    assert_eq!((world.told().0, world.open.len()), (vec![503], 0));
    assert_eq!(world.calls.counters().denied.get("silent"), Some(&1));
    // The answer comes all the same: the pinhole was closed by its number already.
    world.calls.handle_verdict(world.now, PinholeId(1), Ok(None));
    world.assert_nothing_is_left();
}

#[test]
fn what_the_firewall_takes_is_in_the_record() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.verdict = None;
    world.respond(transaction, &request, Status::OK, ANSWER);
    world.pass(Duration::from_millis(40));
    let (id, _) = world.open[1];
    world.calls.handle_verdict(world.now, id, Ok(None));
    world.settle();
    let (codes, answer) = world.told();
    assert_eq!(codes, [100, 200]);
    let answer = answer.unwrap();
    bye_after_up(&mut world, &answer);
    let record = world.calls.poll_record().unwrap();
    assert_eq!((record.firewall_delay, record.pinholes), (Duration::from_millis(40), 2));
    assert_eq!(record.line(0.0)["firewall_ms"], 40.0);
}

#[test]
fn a_cancel_is_passed_on_at_every_stage() {
    for stage in 0..3 {
        let mut world = World::new();
        world.verdict = (stage > 0).then_some(Ok(()));
        let invite = world.invite(OFFER);
        if stage == 2 {
            let (transaction, request) = world.received();
            world.respond(transaction, &request, Status::RINGING, "");
        }
        world.caller.cancel(world.now, invite);
        world.settle();
        assert_eq!(world.told().0.last(), Some(&487), "stage {stage}: {:#?}", world.trace);
        assert_eq!(world.open.len(), 0);
        let has_cancel = world.trace.iter().any(|line| line.starts_with("agent CANCEL"));
        assert_eq!(has_cancel, stage == 2, "{:#?}", world.trace);
        world.assert_nothing_is_left();
        assert_eq!(world.cause(), "cancelled");
    }
}

#[test]
fn an_answer_that_crosses_the_cancel_is_acknowledged_and_ended() {
    let mut world = World::new();
    let invite = world.invite(OFFER);
    let (transaction, request) = world.received();
    world.caller.cancel(world.now, invite);
    world.settle();
    world.respond(transaction, &request, Status::OK, ANSWER);
    assert!(world.is_before("agent ACK sip:b@198.51.100.9:5060", "agent BYE sip:b@198.51.100.9:5060"));
    assert_eq!(world.told().0, [100, 487]);
    world.assert_nothing_is_left();
}

#[test]
fn nobody_who_answers_is_given_up_and_cancelled() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::RINGING, "");
    world.pass(Duration::from_secs(181));
    assert_eq!(world.told().0, [100, 180, 480]);
    assert!(world.trace.iter().any(|line| line.starts_with("agent CANCEL")));
    world.assert_nothing_is_left();
    assert_eq!(world.cause(), "no_answer");
}

#[test]
fn a_side_that_is_not_there_is_told_after_32_seconds() {
    let mut world = World::new();
    let nobody = Flow::new(Transport::UDP, address("198.51.100.77:5060"));
    world.calls.settings.routes[0].to = NextHop::Address(nobody);
    let to = Flow::new(Transport::UDP, address(AGENT));
    world.caller.request(world.now, invite(OFFER), to).unwrap();
    world.callee = endpoint("198.51.100.77:5060", 9);
    world.settle();
    let _nobody = world.received();
    world.pass(Duration::from_secs(31));
    assert_eq!(world.told().0, [100]);
    world.pass(Duration::from_secs(2));
    assert_eq!((world.told().0, world.open.len()), (vec![408], 0));
    world.assert_nothing_is_left();
    assert_eq!(world.cause(), "timeout");
}

#[test]
fn a_next_hop_that_cannot_be_reached_is_a_503() {
    let mut world = World::over(Transport::TCP);
    world.invite(OFFER);
    world.calls.handle_transport_error(world.now, Flow::new(Transport::TCP, address(CALLEE)));
    world.settle();
    assert_eq!((world.told().0, world.open.len()), (vec![100, 503], 0));
    world.assert_nothing_is_left();
}

#[test]
fn a_name_without_an_address_is_a_503_and_its_address_is_left_alone_once_it_does_not_answer() {
    // RFC 3263 §4.3.
    let mut world = World::new();
    let name = HopName { host: "example.org".to_owned(), port: None, transport: None };
    world.calls.settings.routes[0].to = NextHop::Name(name.clone());
    world.invite(OFFER);
    assert_eq!(world.told().0, [503]);
    let flow = |text| Flow::new(Transport::UDP, address(text));
    let target = |text, rank| HopAddress { flow: flow(text), rank, weight: 0 };
    world.calls.set_targets(name, vec![target("198.51.100.77:5060", 0), target(CALLEE, 1)]);
    let uri = SipUri::parse("sip:4711@10.1.8.1").unwrap();
    assert_eq!(world.calls.route(world.now, &uri), Some(Some(flow("198.51.100.77:5060"))));
    world.calls.hops.note_failure(world.now, flow("198.51.100.77:5060"));
    assert_eq!(world.calls.route(world.now, &uri), Some(Some(flow(CALLEE))));
    world.assert_nothing_is_left();
}

#[test]
fn an_answer_that_nobody_acknowledges_ends_the_call() {
    // RFC 3261 §13.3.1.4.
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    world.pass(Duration::from_secs(33));
    assert_eq!((world.open.len(), world.calls.len()), (0, 0));
    assert!(world.trace.iter().filter(|line| line.starts_with("agent BYE")).count() >= 2);
    assert_eq!(world.cause(), "no_ack");
    world.assert_nothing_is_left();
}

#[test]
fn byes_that_cross_are_both_answered() {
    let mut world = World::new();
    let (_, answer) = world.up();
    world.send(within(&answer, Method::Bye, 2));
    let (transaction, bye) = world.received();
    let mut crossing = Request::new(Method::Bye, "sip:10.1.8.1:5060");
    let copy = |name| bye.headers.first(&name).unwrap().to_owned();
    crossing.headers.push(HeaderName::From, copy(HeaderName::To));
    crossing.headers.push(HeaderName::To, copy(HeaderName::From));
    crossing.headers.push(HeaderName::CallId, copy(HeaderName::CallId));
    crossing.headers.push(HeaderName::CSeq, "7 BYE");
    world.callee.request(world.now, crossing, Flow::new(Transport::UDP, address(AGENT))).unwrap();
    world.settle();
    world.respond(transaction, &bye, Status::OK, "");
    assert_eq!(world.told().0, [200]);
    assert!(world.trace.iter().any(|line| line.starts_with("agent SIP/2.0 481")), "{:#?}", world.trace);
    world.assert_nothing_is_left();
}

#[test]
fn a_pinhole_that_is_lost_is_opened_again_and_the_call_ends_if_that_fails() {
    let mut world = World::new();
    world.up();
    let (id, _) = world.open.remove(0);
    world.calls.handle_loss(world.now, id);
    world.settle();
    assert_eq!((world.asked, world.open.len(), world.calls.len()), (3, 2, 1));
    let (id, _) = world.open.remove(0);
    world.verdict = Some(Err(Refusal::Unreachable));
    world.calls.handle_loss(world.now, id);
    world.settle();
    assert_eq!((world.calls.len(), world.open.len()), (0, 0));
    assert_eq!(world.trace.iter().filter(|line| line.starts_with("agent BYE")).count(), 2);
    world.assert_nothing_is_left();
}

#[test]
fn a_side_that_knows_nothing_of_the_call_any_more_ends_it() {
    // RFC 3261 §12.2.1.2.
    let mut world = World::new();
    let (_, answer) = world.up();
    world.send(within(&answer, Method::Info, 2));
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::NO_SUCH_CALL, "");
    assert_eq!((world.calls.len(), world.open.len()), (0, 0));
    assert_eq!(world.cause(), "lost");
}

#[test]
fn draining_refuses_new_calls_and_keeps_those_that_are_up() {
    let mut world = World::new();
    let (_, answer) = world.up();
    world.calls.drain();
    let mut second = invite(OFFER);
    second.headers.set(&HeaderName::CallId, "second");
    world.send(second);
    let (codes, last) = world.told();
    assert_eq!((codes, world.calls.len()), (vec![503], 1));
    assert_eq!(last.unwrap().headers.first(&HeaderName::RetryAfter), Some("5"));
    bye_after_up(&mut world, &answer);
    world.assert_nothing_is_left();
}

#[test]
fn the_end_of_the_agent_ends_all_calls() {
    let mut world = World::new();
    world.up();
    world.calls.end_all(world.now);
    world.settle();
    assert_eq!(world.trace.iter().filter(|line| line.starts_with("agent BYE")).count(), 2);
    world.assert_nothing_is_left();
    assert_eq!(world.cause(), "shutdown");
}

#[test]
fn an_answer_in_the_ack_that_cannot_be_used_ends_the_call_on_both_sides() {
    let mut world = World::new();
    let invite = world.invite("");
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    let answer = world.told().1.unwrap();
    let mut ack = within(&answer, Method::Ack, 1);
    add_body(&mut ack.headers, &mut ack.body, &OFFER.replace("10.1.8.3", "203.0.113.5"));
    world.caller.acknowledge(invite, ack, Flow::new(Transport::UDP, address(AGENT)));
    world.settle();
    assert!(
        world.is_before("agent ACK", "agent BYE sip:b@"),
        "the called side is acknowledged before it is left"
    );
    let byes = world.trace.iter().filter(|line| line.starts_with("agent BYE")).count();
    assert_eq!(byes, 2, "{:#?}", world.trace);
    assert_eq!(world.cause(), "bad_media");
    for _ in 0..2 {
        for side in [&mut world.caller, &mut world.callee] {
            while let Some(event) = side.poll_event() {
                if let Event::Request { transaction, request, .. } = event {
                    side.respond(world.now, transaction, &Response::to(&request, Status::OK, ""));
                }
            }
        }
        world.settle();
    }
    world.assert_nothing_is_left();
}

#[test]
fn a_firewall_that_refuses_what_the_ack_needs_ends_an_acknowledged_call() {
    let mut world = World::new();
    let invite = world.invite("");
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    let answer = world.told().1.unwrap();
    world.verdict = Some(Err(Refusal::Refused));
    let mut ack = within(&answer, Method::Ack, 1);
    add_body(&mut ack.headers, &mut ack.body, OFFER);
    world.caller.acknowledge(invite, ack, Flow::new(Transport::UDP, address(AGENT)));
    world.settle();
    assert!(world.is_before("agent ACK", "agent BYE sip:b@"), "{:#?}", world.trace);
    assert_eq!((world.cause(), world.open.len()), ("no_pinhole", 0));
}
