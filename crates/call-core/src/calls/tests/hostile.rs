//! Callers who want more than a call.

use super::*;

fn refused(change: impl FnOnce(&mut Request)) -> (World, u16) {
    let mut world = World::new();
    let mut request = invite(OFFER);
    change(&mut request);
    world.send(request);
    let code = world.told().0.last().copied().unwrap_or_default();
    (world, code)
}

/// What is done to an INVITE before it is sent.
type Change = Box<dyn FnOnce(&mut Request)>;

fn body(request: &mut Request, text: &str) {
    request.headers.remove(&HeaderName::ContentType);
    add_body(&mut request.headers, &mut request.body, text);
}

#[test]
fn nobody_outside_can_have_the_firewall_opened_towards_a_server_inside() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, &ANSWER.replace("198.51.100.9", "10.0.0.53"));
    assert_eq!(world.told().0, [100, 488]);
    assert!(world.is_before("agent ACK", "agent BYE"));
    assert_eq!(world.asked, 1);
    world.assert_nothing_is_left();
    assert_eq!(world.cause(), "bad_media");
}

#[test]
fn nobody_inside_can_have_it_opened_for_somebody_elses_media_outside() {
    let (world, code) = refused(|request| body(request, &OFFER.replace("10.1.8.3", "198.51.100.1")));
    assert_eq!((code, world.asked), (488, 0));
}

#[test]
fn no_pinhole_is_opened_towards_a_low_port_or_many() {
    for (from, to) in
        [("6000", "53"), ("6000", "6000/200"), ("10.1.8.3", "127.0.0.1"), ("10.1.8.3", "224.0.0.1")]
    {
        let (world, code) = refused(|request| body(request, &OFFER.replace(from, to)));
        assert_eq!((code, world.asked), (488, 0), "{to}");
    }
    let many = format!("{OFFER}{}", "m=audio 6000 RTP/AVP 0|".repeat(8));
    let (world, code) = refused(|request| body(request, &many));
    assert_eq!((code, world.asked), (488, 0));
}

#[test]
fn what_cannot_become_a_call_costs_nothing() {
    let set = |name: HeaderName, value: &'static str| {
        move |request: &mut Request| request.headers.set(&name, value)
    };
    let cases: [(u16, Change); 7] = [
        (483, Box::new(set(HeaderName::MaxForwards, "0"))),
        (400, Box::new(set(HeaderName::Contact, "*"))),
        (400, Box::new(set(HeaderName::From, "<sip:a@10.1.8.3>"))),
        (415, Box::new(set(HeaderName::ContentType, "multipart/mixed"))),
        (420, Box::new(set(HeaderName::Require, "path"))),
        (416, Box::new(|request| request.uri = "sips:4711@10.1.8.1".into())),
        (
            405,
            Box::new(|request| {
                request.method = Method::Register;
                request.headers.set(&HeaderName::CSeq, "1 REGISTER");
            }),
        ),
    ];
    for (expected, change) in cases {
        let (mut world, code) = refused(change);
        assert_eq!((code, world.asked), (expected, 0));
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_loop_ends_when_the_hops_are_used_up() {
    // RFC 7332: an agent between two calls counts hops as a proxy does. Here the next hop is the agent itself.
    let mut world = World::new();
    world.calls.settings.routes[0].to = NextHop::Address(Flow::new(Transport::UDP, address(AGENT)));
    world.callee = endpoint(AGENT, 7);
    world.caller.request(world.now, invite(""), Flow::new(Transport::UDP, address(AGENT))).unwrap();
    for _ in 0..2_000 {
        if let Some(sent) = world.caller.poll_transmit() {
            world.calls.handle_packet(world.now, Flow::new(Transport::UDP, address(CALLER)), &sent.octets);
        }
        while let Some(sent) = world.calls.poll_transmit() {
            if sent.flow.remote == address(AGENT) {
                world.calls.handle_packet(world.now, Flow::new(Transport::UDP, address(AGENT)), &sent.octets);
            } else {
                world.caller.handle_packet(
                    world.now,
                    Flow::new(Transport::UDP, address(AGENT)),
                    &sent.octets,
                );
            }
        }
    }
    assert_eq!((world.told().0.last(), world.calls.len()), (Some(&483), 0));
    assert_eq!(world.calls.counters().begun, 70);
}

#[test]
fn too_many_calls_are_refused_with_a_time_to_come_back() {
    let mut world = World::new();
    world.calls.settings.most_calls = 3;
    for number in 0..6 {
        let mut request = invite(OFFER);
        request.headers.set(&HeaderName::CallId, format!("call {number}").replace(' ', "-"));
        world.send(request);
        let refused = world.told().0.contains(&503);
        assert_eq!(refused, number >= 3);
    }
    assert_eq!(world.calls.counters().refused.get("too_many_calls"), Some(&3));
}

#[test]
fn calls_faster_than_allowed_are_refused() {
    let mut world = World::new();
    let two = CallSettings { calls_per_second: 2, ..settings(Transport::UDP) };
    world.calls.admission = super::super::admission::Admission::new(&two, [0; 32]);
    let mut codes = Vec::new();
    for number in 0..4 {
        let mut request = invite(OFFER);
        request.headers.set(&HeaderName::CallId, format!("call-{number}"));
        world.send(request);
        codes.push(world.told().0.pop().unwrap());
    }
    assert_eq!(codes, [100, 100, 503, 503]);
}

#[test]
fn requests_out_of_order_or_at_the_same_time_are_refused() {
    let mut world = World::new();
    let (_, answer) = world.up();
    world.send(within(&answer, Method::Info, 1));
    assert_eq!(world.told().0, [500]);
    world.send(within(&answer, Method::Invite, 5));
    world.send(within(&answer, Method::Invite, 6));
    assert_eq!(world.told().0, [100, 500]);
    for number in 7..30 {
        world.send(within(&answer, Method::Info, number));
    }
    assert!(world.calls.calls.values().all(|call| call.exchanges.len() <= 8));
    assert!(world.told().0.iter().all(|code| *code == 500));
}

#[test]
fn a_stranger_cannot_end_a_call() {
    let mut world = World::new();
    let (_, answer) = world.up();
    let mut bye = within(&answer, Method::Bye, 2);
    bye.headers.set(&HeaderName::To, "<sip:4711@10.1.8.1>;tag=guess");
    world.send(bye);
    assert_eq!((world.told().0, world.calls.len()), (vec![481], 1));
}

#[test]
fn a_callee_without_a_contact_is_no_callee() {
    let mut world = World::new();
    world.invite(OFFER);
    let (transaction, request) = world.received();
    world.callee.respond(world.now, transaction, &Response::to(&request, Status::OK, "callee"));
    world.settle();
    assert_eq!((world.told().0, world.calls.len(), world.open.len()), (vec![100, 502], 0, 0));
}

/// The INVITE that follows a challenge.
fn second_invite(response: &Response, user: [&str; 2]) -> Request {
    let mut request = proved(invite(OFFER), response, user);
    request.headers.set(&HeaderName::CSeq, "2 INVITE");
    request
}

/// A request with the answer of a user to the challenge of a 401.
fn proved(mut request: Request, response: &Response, [user, password]: [&str; 2]) -> Request {
    let name = HeaderName::Other("WWW-Authenticate".into());
    let challenge = response.headers.all(&name).find(|value| value.contains("=SHA-256,")).unwrap();
    let nonce = challenge.split("nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let hash = |text: String| {
        use sha2::{Digest, Sha256};
        Sha256::digest(text).iter().map(|octet| format!("{octet:02x}")).collect::<String>()
    };
    let Request { uri, method, .. } = &request;
    let (first, second) = (hash(format!("{user}:here:{password}")), hash(format!("{method}:{uri}")));
    let answer = hash(format!("{first}:{nonce}:00000001:c:auth:{second}"));
    let proof = format!(
        "Digest username=\"{user}\", realm=\"here\", nonce=\"{nonce}\", uri=\"{uri}\", response=\"{answer}\", \
         algorithm=SHA-256, cnonce=\"c\", qop=auth, nc=00000001"
    );
    request.headers.push(HeaderName::Authorization, proof);
    request
}

/// The challenge to the last request.
fn challenge(world: &mut World) -> Response {
    let (codes, response) = world.told();
    assert_eq!(codes, [401]);
    *response.unwrap()
}

/// A world whose callers have to prove who they are.
fn suspicious() -> World {
    let mut world = World::new();
    let users = [ALICE, BOB].map(|user| user.map(str::to_owned).into()).into();
    let exempt = vec![Network::new("192.0.2.0".parse().unwrap(), 24)];
    let mut settings = settings(Transport::UDP);
    settings.authentication = Some(AuthenticationSettings { realm: "here".to_owned(), users, exempt });
    world.calls.set_settings(settings);
    world
}

#[test]
fn who_has_to_say_who_it_is_calls_after_a_proof_that_goes_no_further() {
    // RFC 3261 §22.2, RFC 8760.
    for (user, status) in [(ALICE, None), (["alice", "guess"], Some(401))] {
        let mut world = suspicious();
        world.invite(OFFER);
        let response = challenge(&mut world);
        assert_eq!((world.asked, world.calls.len()), (0, 0));
        let mut again = second_invite(&response, user);
        again.headers.push(HeaderName::Authorization, "Digest realm=\"there\"");
        world.send(again);
        match status {
            Some(status) => assert_eq!((world.told().0, world.asked), (vec![status], 0)),
            None => {
                let (_, request) = world.received();
                let left: Vec<&str> = request.headers.all(&HeaderName::Authorization).collect();
                assert_eq!(left, ["Digest realm=\"there\""]);
            }
        }
    }
}

#[test]
fn requests_within_a_call_are_those_of_who_has_proved_to_be_its_caller() {
    let mut world = suspicious();
    world.invite(OFFER);
    let response = challenge(&mut world);
    let invite = world.send(second_invite(&response, ALICE));
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    let answer = *world.told().1.unwrap();
    // Nobody can be asked for a proof of an ACK (RFC 3261 §22.1).
    world.caller.acknowledge(
        invite,
        within(&answer, Method::Ack, 2),
        Flow::new(Transport::UDP, address(AGENT)),
    );
    world.settle();
    let mut numbers = 3..;
    let mut bye = || within(&answer, Method::Bye, numbers.next().unwrap());
    for user in [None, Some(["alice", "guess"]), Some(BOB)] {
        world.send(bye());
        let response = challenge(&mut world);
        let Some(user) = user else { continue };
        world.send(proved(bye(), &response, user));
        assert_eq!(world.told().0, [if user == BOB { 403 } else { 401 }]);
        assert_eq!((world.calls.len(), world.open.len()), (1, 2));
    }
    world.send(bye());
    let response = challenge(&mut world);
    world.send(proved(bye(), &response, ALICE));
    assert_eq!(world.told().0, [200]);
    world.pass(Duration::from_secs(40));
    world.assert_nothing_is_left();
}

#[test]
fn who_proves_nothing_does_not_move_the_answers_of_a_call() {
    let mut world = suspicious();
    world.invite(OFFER);
    let response = challenge(&mut world);
    world.send(second_invite(&response, ALICE));
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    let answer = *world.told().1.unwrap();
    let before: Vec<Flow> = world.calls.calls.values().map(|call| call.a.flow).collect();
    let mut thief = endpoint("203.0.113.66:5060", 9);
    thief
        .request(world.now, within(&answer, Method::Info, 9), Flow::new(Transport::UDP, address(AGENT)))
        .unwrap();
    let sent = thief.poll_transmit().unwrap();
    let from = Flow::new(Transport::UDP, address("203.0.113.66:5060"));
    world.calls.handle_packet(world.now, from, &sent.octets);
    let after: Vec<Flow> = world.calls.calls.values().map(|call| call.a.flow).collect();
    assert_eq!((before, world.calls.counters().refused.get("no_proof")), (after, Some(&2)));
}

const ALICE: [&str; 2] = ["alice", "wonder"];
const BOB: [&str; 2] = ["bob", "builder"];
