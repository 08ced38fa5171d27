//! Calls through a middlebox that translates: the other side is told the address that was reserved.

use super::*;
use crate::pinhole::Source;

fn world() -> World {
    let mut world = World::new();
    let is_translated = true;
    world.calls.set_settings(CallSettings { is_translated, ..settings(Transport::UDP) });
    world
}

fn text(body: &Bytes) -> String {
    String::from_utf8(body.to_vec()).unwrap()
}

fn is_told(body: &Bytes, port: u16) -> bool {
    let text = text(body);
    text.contains(&format!("m=audio {port} "))
        && text.contains("c=IN IP4 198.51.100.1\r\n")
        && !text.contains("c=IN IP4 10.")
}

#[test]
fn the_called_side_is_told_what_was_reserved_and_its_answer_opens_it() {
    let mut world = world();
    let invite = world.invite(OFFER);
    let (transaction, request) = world.received();
    assert!(is_told(&request.body, 20_100), "{}", text(&request.body));
    assert_eq!(world.open.len(), 1);
    assert!(world.open[0].1.is_reservation());
    world.respond(transaction, &request, Status::OK, ANSWER);
    let (_, answer) = world.told();
    let answer = *answer.unwrap();
    // What the called side says is the truth outside already.
    assert!(text(&answer.body).contains("c=IN IP4 198.51.100.9"));
    world.acknowledge(invite, &answer);
    let host = |text: &str| Source::Host(text.parse().unwrap());
    let from: Vec<Source> = world.open.iter().map(|(_, pinhole)| pinhole.from).collect();
    assert_eq!(from, [host("198.51.100.9"), host("10.1.8.3")]);
    world.send(within(&answer, Method::Bye, 2));
    world.assert_nothing_is_left();
}

#[test]
fn an_offer_in_the_answer_is_reserved_and_the_ack_opens_it() {
    let mut world = world();
    let invite = world.invite("");
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, ANSWER);
    let (_, answer) = world.told();
    let answer = *answer.unwrap();
    assert!(world.open.is_empty(), "nothing can be opened before the caller says where it is");
    let mut ack = within(&answer, Method::Ack, 1);
    add_body(&mut ack.headers, &mut ack.body, OFFER);
    world.caller.acknowledge(invite, ack, Flow::new(Transport::UDP, address(AGENT)));
    world.settle();
    let ack = loop {
        match world.callee.poll_event() {
            Some(Event::Acknowledged { ack, .. }) => break ack,
            Some(_) => {}
            None => panic!("{:#?}", world.trace),
        }
    };
    assert!(is_told(&ack.body, 20_100), "{}", text(&ack.body));
    assert_eq!(world.open.len(), 2);
    assert!(world.is_before("open 10.1.8.3", "enable 10.1.8.3"));
    world.send(within(&answer, Method::Bye, 2));
    world.assert_nothing_is_left();
}

#[test]
fn early_media_of_two_hosts_share_what_was_reserved() {
    let mut world = world();
    let invite = world.invite(OFFER);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::new(183).unwrap(), ANSWER);
    let elsewhere = ANSWER.replace("198.51.100.9", "198.51.100.8");
    world.respond(transaction, &request, Status::OK, &elsewhere);
    let (codes, answer) = world.told();
    assert_eq!(codes.last(), Some(&200), "{:#?}", world.trace);
    assert_eq!(world.translations.len(), 1);
    world.acknowledge(invite, &answer.clone().unwrap());
    assert_eq!(world.open.len(), 2, "what the first host needed is closed: {:?}", world.open);
    world.send(within(&answer.unwrap(), Method::Bye, 2));
    world.assert_nothing_is_left();
}

#[test]
fn a_refused_reservation_or_opening_ends_the_call_and_leaves_nothing() {
    for is_reserved in [false, true] {
        let mut world = world();
        if !is_reserved {
            world.verdict = Some(Err(Refusal::Refused));
        }
        world.invite(OFFER);
        if is_reserved {
            let (transaction, request) = world.received();
            world.verdict = Some(Err(Refusal::Refused));
            world.respond(transaction, &request, Status::OK, ANSWER);
        }
        let (codes, answer) = world.told();
        assert_eq!(codes.last(), Some(&503), "{:#?}", world.trace);
        let reason = answer.unwrap().headers.first(&HeaderName::Reason).unwrap_or_default().to_owned();
        assert!(reason.contains("Firewall Refuses"), "{reason}");
        assert_eq!(world.open, []);
        world.assert_nothing_is_left();
        assert_eq!(world.cause(), "no_pinhole");
    }
}

#[test]
fn a_reservation_ends_with_a_refusal_of_the_called_side_and_when_nobody_answers() {
    for is_refused in [true, false] {
        let mut world = world();
        world.invite(OFFER);
        let (transaction, request) = world.received();
        assert_eq!(world.open.len(), 1);
        if is_refused {
            world.respond(transaction, &request, Status::new(486).unwrap(), "");
            assert_eq!(world.open, []);
        }
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_caller_that_moves_gets_another_address_and_one_on_hold_none() {
    let mut world = world();
    let (_, answer) = world.up();
    let mut again = within(&answer, Method::Invite, 2);
    again.headers.push(HeaderName::Contact, "<sip:a@10.1.8.3:5060>");
    add_body(&mut again.headers, &mut again.body, &OFFER.replace("6000", "6100"));
    let invite = world.send(again);
    let (transaction, request) = world.received();
    assert!(is_told(&request.body, 20_200), "{}", text(&request.body));
    world.respond(transaction, &request, Status::OK, ANSWER);
    let mut ack = within(&answer, Method::Ack, 2);
    ack.method = Method::Ack;
    world.caller.acknowledge(invite, ack, Flow::new(Transport::UDP, address(AGENT)));
    world.settle();
    let ports: Vec<u16> = world.open.iter().map(|(_, pinhole)| pinhole.towards.port).collect();
    assert_eq!(ports, [7000, 6100], "{:#?}", world.trace);
    let mut hold = within(&answer, Method::Update, 3);
    hold.headers.push(HeaderName::Contact, "<sip:a@10.1.8.3:5060>");
    add_body(&mut hold.headers, &mut hold.body, "c=IN IP4 0.0.0.0|t=0 0|m=audio 6100 RTP/AVP 0|");
    world.send(hold);
    let (transaction, request) = world.received();
    assert!(text(&request.body).contains("c=IN IP4 0.0.0.0"), "{}", text(&request.body));
    world.respond(transaction, &request, Status::OK, ANSWER);
    assert_eq!(world.open.len(), 0, "{:#?}", world.trace);
    world.send(within(&answer, Method::Bye, 4));
    world.assert_nothing_is_left();
}

#[test]
fn a_lost_translation_ends_the_call() {
    let mut world = world();
    world.up();
    let (id, _) = *world.open.iter().find(|(_, pinhole)| pinhole.is_translated).unwrap();
    world.open.retain(|(other, _)| *other != id);
    world.calls.handle_loss(world.now, id);
    world.settle();
    world.assert_nothing_is_left();
    assert_eq!(world.cause(), "no_pinhole");
}

#[test]
fn a_called_side_behind_the_translator_is_reserved_for_and_opened_when_it_answers() {
    let mut world = world();
    let internal = vec![vec![Network::new("198.51.100.0".parse().unwrap(), 24)]];
    world.calls.settings.internal = internal;
    let invite = world.invite(OFFER);
    let (transaction, request) = world.received();
    assert!(text(&request.body).contains("c=IN IP4 10.1.8.3"), "the caller is outside");
    assert!(world.open.is_empty());
    let answer = format!("{ANSWER}a=ice-ufrag:x|a=candidate:1 1 UDP 1 198.51.100.9 7000 typ host|");
    world.respond(transaction, &request, Status::OK, &answer);
    let (_, answer) = world.told();
    let answer = *answer.unwrap();
    assert!(is_told(&answer.body, 20_100), "{}", text(&answer.body));
    assert!(!text(&answer.body).contains("198.51.100.9"), "{}", text(&answer.body));
    assert!(world.is_before("open 198.51.100.9", "enable 198.51.100.9"));
    assert_eq!(world.open.len(), 2);
    world.acknowledge(invite, &answer);
    world.send(within(&answer, Method::Bye, 2));
    world.assert_nothing_is_left();
}

#[test]
fn calls_that_do_not_cross_the_translator_stay_as_they_are() {
    let mut world = world();
    let both = ["10.0.0.0", "198.51.100.0"].map(|network| Network::new(network.parse().unwrap(), 8));
    world.calls.settings.internal = vec![both.to_vec()];
    world.up();
    assert_eq!((world.asked, world.open.len()), (0, 0));
}
