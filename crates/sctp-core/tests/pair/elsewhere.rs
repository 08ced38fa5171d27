//! Both ends move at the same time: somebody else knows where the peer is (RFC 5061 §5.3.2, RFC 9260 §5.4).

use sctp_core::{AddressChangeError, AutomaticAddresses, Destination, Event, Offer, PathState};

use crate::dynamic_addresses::{assert_all_arrived, ip, peer_addresses, talk_every};
use crate::net::{End, Pair, Setup, by_ip};

const OLD: [&str; 2] = ["10.0.0.1", "10.0.0.2"];
const NEW: [&str; 2] = ["10.0.1.1", "10.0.1.2"];
const NOBODY: &str = "10.0.1.99";

/// Two hosts with two interfaces each, that have told each other of the first.
fn roaming() -> Setup {
    let setup = Setup::signalling().homes(&[OLD[0], NEW[0]], &[OLD[1], NEW[1]]).telling_of_one();
    setup.configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.paths.automatic_addresses = AutomaticAddresses::On;
    })
}

/// The network that both ends are in is gone, and either finds another one.
fn both_move(pair: &mut Pair) {
    pair.cut_link(0);
    for (end, index) in [(End::Left, 0), (End::Right, 1)] {
        pair.with(end, |side, now| {
            // Nothing leads to where the other one was.
            side.cut.extend(
                [None, Some(ip(OLD[index])), Some(ip(NEW[index]))].map(|from| (from, ip(OLD[1 - index]))),
            );
            side.endpoint.local_address_down(now, ip(OLD[index]));
            side.endpoint.local_address_up(now, ip(NEW[index]));
        });
    }
}

fn suggest(pair: &mut Pair, end: End, at: &[&str]) -> Result<(), AddressChangeError> {
    let at: Vec<Destination> = at.iter().map(|address| by_ip(ip(address))).collect();
    pair.with(end, |side, now| side.endpoint.suggest_peer_addresses(now, side.id.unwrap(), &at))
}

fn peer_of(end: End) -> &'static str {
    if end == End::Left { NEW[1] } else { NEW[0] }
}

fn talk(pair: &mut Pair, from: u32, to: u32) {
    talk_every(pair, 10, from, to);
}

/// Every message in order, and neither end has given up.
fn assert_goes_on(pair: &Pair, count: u32) {
    assert_all_arrived(pair, count);
    assert_eq!((pair.endings(End::Left), pair.endings(End::Right)), (vec![], vec![]));
}

#[test]
fn association_goes_on_when_both_ends_moved_at_once_and_one_or_both_are_told_where_the_other_is() {
    for told in [&[End::Left][..], &[End::Right], &[End::Left, End::Right]] {
        let mut pair = roaming().connected();
        talk(&mut pair, 0, 20);
        both_move(&mut pair);
        talk(&mut pair, 20, 60);
        told.iter().for_each(|end| suggest(&mut pair, *end, &[peer_of(*end)]).unwrap());
        // A round trip for the addresses, one to verify them, and half a one for the data.
        talk(&mut pair, 60, 65);
        for end in [End::Left, End::Right] {
            assert!(pair.payloads(end).len() > 40, "{told:?} {end:?}");
        }
        talk(&mut pair, 65, 100);
        pair.run_ms(5_000);
        assert_goes_on(&pair, 100);
        for end in [End::Left, End::Right] {
            assert_eq!(peer_addresses(&pair, end), [ip(peer_of(end))], "{told:?} {end:?}");
            assert_eq!(pair.path_states(end), [PathState::Active], "{told:?} {end:?}");
        }
    }
}

#[test]
fn nothing_but_heartbeats_and_authenticated_asconfs_goes_where_nobody_has_answered() {
    let mut pair = roaming().connected();
    talk(&mut pair, 0, 20);
    both_move(&mut pair);
    suggest(&mut pair, End::Left, &[NOBODY]).unwrap();
    talk(&mut pair, 20, 60);
    pair.run_ms(5_000);
    let sent = pair.sent_to(End::Left, NOBODY);
    let is_allowed =
        |kinds: &String| kinds.split(' ').all(|kind| ["HEARTBEAT", "AUTH", "ASCONF"].contains(&kind));
    assert!(!sent.is_empty() && sent.iter().all(is_allowed), "{sent:?}");
    assert!(sent.iter().any(|kinds| kinds.ends_with("AUTH ASCONF")), "{sent:?}");
    // Better knowledge takes its place.
    suggest(&mut pair, End::Left, &[NEW[1]]).unwrap();
    pair.run_ms(30_000);
    assert_goes_on(&pair, 60);
    assert_eq!(peer_addresses(&pair, End::Left), [ip(NEW[1])]);
}

/// However often a name is looked up in vain: the timer and its limit are as without.
#[test]
fn suggestions_neither_use_up_the_attempts_nor_put_the_timer_off() {
    let mut pair = roaming().connected();
    both_move(&mut pair);
    for _ in 0..40 {
        suggest(&mut pair, End::Left, &[NOBODY]).unwrap();
        pair.run_ms(50);
    }
    // As many by what was suggested, and the timer's besides.
    assert!(pair.statistics(End::Left).asconf.retransmissions > 40);
    let gave_up = pair.count(End::Left, |event| matches!(event, Event::AddressChangeAnswered { .. }));
    assert_eq!(gave_up, 0);
    suggest(&mut pair, End::Left, &[NEW[1]]).unwrap();
    talk(&mut pair, 0, 10);
    pair.run_ms(5_000);
    assert_goes_on(&pair, 10);
}

#[test]
fn suggestions_that_were_needless_change_nothing_and_can_be_taken_back() {
    let mut pair = roaming().connected();
    suggest(&mut pair, End::Left, &[NOBODY, OLD[1], NOBODY]).unwrap();
    talk(&mut pair, 0, 50);
    assert_eq!(peer_addresses(&pair, End::Left), [ip(OLD[1]), ip(NOBODY)]);
    suggest(&mut pair, End::Left, &[]).unwrap();
    pair.run_ms(2_000);
    assert_goes_on(&pair, 50);
    assert_eq!(peer_addresses(&pair, End::Left), [ip(OLD[1])]);
    assert_eq!(pair.statistics(End::Left).asconf.sent, 0);
}

/// It is the peer's own then, and nothing has to have been answered there yet.
#[test]
fn suggestion_that_the_peer_has_added_since_is_not_taken_back() {
    let mut pair = roaming().connected();
    let nothing_gets_there = [None, Some(ip(OLD[0]))].map(|from| (from, ip(NEW[1])));
    pair.with(End::Left, |side, _| side.cut.extend(nothing_gets_there));
    suggest(&mut pair, End::Left, &[NEW[1]]).unwrap();
    pair.with(End::Right, |side, now| side.endpoint.local_address_up(now, ip(NEW[1])));
    pair.run_ms(500);
    suggest(&mut pair, End::Left, &[]).unwrap();
    assert_eq!(peer_addresses(&pair, End::Left), [ip(OLD[1]), ip(NEW[1])]);
}

#[test]
fn suggestions_beyond_a_bound_are_refused_and_leave_those_before() {
    let mut pair = roaming().connected();
    suggest(&mut pair, End::Left, &[NOBODY]).unwrap();
    let many: Vec<String> = (1..=8).map(|last| format!("10.0.2.{last}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let refused = suggest(&mut pair, End::Left, &many);
    assert_eq!(refused, Err(AddressChangeError::TooManyPeerAddresses { limit: 8 }));
    for other in ["224.0.0.1", "255.255.255.255", "0.0.0.0", "::", "ff02::1"] {
        let refused = suggest(&mut pair, End::Left, &[other]);
        assert_eq!(refused, Err(AddressChangeError::NotAHost(ip(other))));
    }
    assert_eq!(peer_addresses(&pair, End::Left), [ip(OLD[1]), ip(NOBODY)]);
    suggest(&mut pair, End::Left, &many[..7]).unwrap();
    assert_eq!(peer_addresses(&pair, End::Left).len(), 8);
}

#[test]
fn suggestions_need_the_extension() {
    let mut pair = Setup::signalling().connected();
    assert_eq!(suggest(&mut pair, End::Left, &[NOBODY]), Err(AddressChangeError::NotAgreed));
}
