//! Calls through a middlebox that translates: the other side is told the address that was reserved.

use super::*;

fn world() -> World {
    let mut world = World::new();
    let translators = BTreeSet::from([0]);
    world.calls.set_settings(CallSettings { translators, ..settings(Transport::UDP) });
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

/// Middleboxes in a row from the inside out, by their networks; these places translate.
fn row<const N: usize>(networks: [(&str, u8); N], translators: &[usize]) -> World {
    let mut world = World::new();
    world.calls.settings.internal =
        networks.map(|(address, bits)| vec![Network::new(address.parse().unwrap(), bits)]).to_vec();
    world.calls.settings.translators = translators.iter().copied().collect();
    world
}

/// What is open, as `middlebox: listener:port from whom`.
pub(super) fn open(world: &World) -> Vec<String> {
    let text = |pinhole: &Pinhole| {
        let Pinhole { middlebox, towards, from, .. } = pinhole;
        let from = match from {
            Source::Host(host) => host.to_string(),
            other @ (Source::Inside(_) | Source::Outside | Source::Nobody) => format!("{other:?}"),
        };
        format!("{middlebox}: {}:{} from {from}", towards.address, towards.port)
    };
    let mut all: Vec<String> = world.open.iter().map(|(_, pinhole)| text(pinhole)).collect();
    all.sort();
    all
}

/// Calls and answers; returns what each side is told of the other.
pub(super) fn descriptions(world: &mut World, offer: &str, answer: &str) -> (String, String) {
    let invite = world.invite(offer);
    let (transaction, request) = world.received();
    world.respond(transaction, &request, Status::OK, answer);
    let (codes, answer) = world.told();
    assert_eq!(codes.last(), Some(&200), "{:#?}", world.trace);
    let answer = *answer.unwrap();
    world.acknowledge(invite, &answer);
    (text(&request.body), text(&answer.body))
}

pub(super) fn hang_up(world: &mut World) {
    world.calls.end_all(world.now);
    world.assert_nothing_is_left();
}

#[test]
fn each_side_behind_a_translator_of_its_own_is_told_what_the_other_one_gives_out() {
    let mut world = row([("10.0.0.0", 8), ("198.51.100.9", 32)], &[0, 1]);
    let (offer, answer) = descriptions(&mut world, OFFER, ANSWER);
    assert!(offer.contains("m=audio 20100 ") && offer.contains("c=IN IP4 198.51.100.1\r\n"), "{offer}");
    assert!(answer.contains("m=audio 20200 ") && answer.contains("c=IN IP4 172.16.0.1\r\n"), "{answer}");
    assert_eq!(
        open(&world),
        [
            "0: 10.1.8.3:6000 from 172.16.0.1",
            "0: 172.16.0.1:20200 from 10.1.8.3",
            "1: 198.51.100.1:20100 from 198.51.100.9",
            "1: 198.51.100.9:7000 from 198.51.100.1",
        ]
    );
    hang_up(&mut world);
}

#[test]
fn two_translators_in_a_row_translate_one_after_the_other() {
    let mut world = row([("10.0.0.0", 8), ("198.51.100.1", 32)], &[0, 1]);
    let (offer, answer) = descriptions(&mut world, OFFER, ANSWER);
    assert!(offer.contains("m=audio 20200 ") && offer.contains("c=IN IP4 172.16.0.1\r\n"), "{offer}");
    assert!(answer.contains("m=audio 7000 ") && answer.contains("c=IN IP4 198.51.100.9\r\n"), "{answer}");
    assert_eq!(
        open(&world),
        [
            "0: 10.1.8.3:6000 from 198.51.100.9",
            "0: 198.51.100.9:7000 from 10.1.8.3",
            "1: 198.51.100.1:20100 from 198.51.100.9",
            "1: 198.51.100.9:7000 from 198.51.100.1",
        ]
    );
    hang_up(&mut world);
}

#[test]
fn filters_before_and_behind_a_translator_see_what_passes_them() {
    let mut world = row([("10.0.0.0", 8), ("10.0.0.0", 8), ("172.16.0.0", 12)], &[1]);
    let (offer, _) = descriptions(&mut world, OFFER, ANSWER);
    assert!(offer.contains("m=audio 20100 ") && offer.contains("c=IN IP4 172.16.0.1\r\n"), "{offer}");
    let all = open(&world);
    for pinhole in [
        "0: 10.1.8.3:6000 from Outside",
        "0: 198.51.100.9:7000 from 10.1.8.3",
        "1: 10.1.8.3:6000 from 198.51.100.9",
        "1: 198.51.100.9:7000 from 10.1.8.3",
        "2: 172.16.0.1:20100 from Outside",
        "2: 198.51.100.9:7000 from 172.16.0.1",
    ] {
        assert!(all.iter().any(|open| open == pinhole), "{pinhole} is not among {all:?}");
    }
    assert_eq!(all.len(), 6, "{all:?}");
    hang_up(&mut world);
}

#[test]
fn a_refusal_by_either_translator_ends_the_call_and_leaves_nothing_at_the_other() {
    for (networks, needed) in
        [([("10.0.0.0", 8), ("198.51.100.9", 32)], 6), ([("10.0.0.0", 8), ("198.51.100.1", 32)], 6)]
    {
        for granted in 0..=needed {
            let mut world = row(networks, &[0, 1]);
            world.grants = Some(granted);
            world.invite(OFFER);
            while let Some(event) = world.callee.poll_event() {
                if let Event::Request { transaction, request, .. } = event
                    && request.method == Method::Invite
                {
                    world.respond(transaction, &request, Status::OK, ANSWER);
                }
            }
            let expected = if granted == needed { 200 } else { 503 };
            assert_eq!(world.told().0.last(), Some(&expected), "{granted}: {:#?}", world.trace);
            hang_up(&mut world);
        }
    }
}
