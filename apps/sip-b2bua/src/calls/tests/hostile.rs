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

/// The answer to the challenge of a 401, by the user `alice`.
fn proof(response: &Response, password: &str) -> String {
    let challenge = response.headers.first(&HeaderName::Other("WWW-Authenticate".into())).unwrap();
    let nonce = challenge.split("nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let hash = |text: String| {
        use sha2::{Digest, Sha256};
        Sha256::digest(text).iter().map(|octet| format!("{octet:02x}")).collect::<String>()
    };
    let uri = invite("").uri;
    let (first, second) = (hash(format!("alice:here:{password}")), hash(format!("INVITE:{uri}")));
    let response = hash(format!("{first}:{nonce}:00000001:c:auth:{second}"));
    format!(
        "Digest username=\"alice\", realm=\"here\", nonce=\"{nonce}\", uri=\"{uri}\", response=\"{response}\", \
         algorithm=SHA-256, cnonce=\"c\", qop=auth, nc=00000001"
    )
}

#[test]
fn who_has_to_say_who_it_is_calls_after_a_proof_that_goes_no_further() {
    // RFC 3261 §22.2, RFC 8760.
    for (password, status) in [("wonder", None), ("guess", Some(401))] {
        let mut world = World::new();
        let users = [("alice".to_owned(), "wonder".to_owned())].into();
        let exempt = vec![Network::new("192.0.2.0".parse().unwrap(), 24)];
        let realm = "here".to_owned();
        let mut settings = settings(Transport::UDP);
        settings.authentication = Some(AuthenticationSettings { realm, users, exempt });
        world.calls.set_settings(settings);
        world.invite(OFFER);
        let Some(Event::Response { response, .. }) = world.caller.poll_event() else { panic!("no response") };
        assert_eq!((response.status.code(), world.asked, world.calls.len()), (401, 0, 0));
        let mut again = invite(OFFER);
        again.headers.set(&HeaderName::CSeq, "2 INVITE");
        again.headers.push(HeaderName::Authorization, proof(&response, password));
        again.headers.push(HeaderName::Authorization, "Digest realm=\"there\"");
        world.caller.request(world.now, again, Flow::new(Transport::UDP, address(AGENT))).unwrap();
        world.settle();
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
