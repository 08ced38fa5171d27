//! Addresses of a host that change between its INIT ACK, which lists them, and the COOKIE ECHO that answers it.

use std::net::IpAddr;

use sctp_core::{AskLimits, AutomaticAddresses, EndpointConfig, IncomingPolicy, Offer};

use super::assert_talks;
use crate::dynamic_addresses::{ip, peer_addresses};
use crate::net::{End, LEFT_PORT, Pair, Sent, Setup, ordered, port};

/// The addresses of the right end: the INIT ACK lists the first two, the third one comes later.
const LISTED: [&str; 2] = ["10.0.0.2", "10.0.0.3"];
const LATER: &str = "10.0.0.4";

/// Both ends agree on changes of addresses, and the right end has the addresses that its INIT ACK is to list.
fn begun(automatic_addresses: AutomaticAddresses) -> Setup {
    let homes = [LISTED[0], LISTED[1], LATER];
    Setup::signalling().homes(&["10.0.0.1"], &homes).on_one_link().configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.paths.automatic_addresses = automatic_addresses;
    })
}

/// The INIT ACK has left, and the COOKIE ECHO has not come.
fn asked(setup: Setup) -> Pair {
    let mut pair = setup.build();
    down(&mut pair, LATER);
    pair.connect();
    pair.run_ms(15);
    assert_eq!(pair.log(End::Right, 0), ["10 INIT_ACK"]);
    pair
}

fn down(pair: &mut Pair, address: &str) {
    pair.with(End::Right, |side, now| side.endpoint.local_address_down(now, ip(address)));
}

fn up(pair: &mut Pair, address: &str) {
    pair.with(End::Right, |side, now| side.endpoint.local_address_up(now, ip(address)));
}

/// All that were listed are gone, and there is another one.
fn move_away(pair: &mut Pair) {
    up(pair, LATER);
    LISTED.iter().for_each(|listed| down(pair, listed));
}

/// What the right end sent from this address, or from the one that the routing table chose.
fn sent_from(pair: &Pair, source: Option<IpAddr>) -> Vec<String> {
    let sent = pair.side(End::Right).sent.iter().filter(|sent| sent.from == source);
    sent.map(Sent::kinds).collect()
}

/// RFC 5061 §5.3 (F1): nothing but COOKIE ACK leaves from where the peer does not know the host, and what it was told counts when it
/// is there again.
#[test]
fn address_that_was_listed_is_sent_from_when_it_comes_back_though_none_was_there_at_cookie_echo() {
    let mut pair = asked(begun(AutomaticAddresses::Off));
    move_away(&mut pair);
    pair.run_ms(35);
    pair.send(End::Right, ordered(0, 0, 100));
    pair.run_ms(5000);
    assert_eq!(sent_from(&pair, Some(ip(LATER))), [""; 0]);
    // The links bring packets to an address that is gone, too.
    assert_eq!(sent_from(&pair, None), ["COOKIE_ACK", "HEARTBEAT_ACK"]);
    up(&mut pair, LISTED[1]);
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Left).len(), 1, "what waited");
    assert_talks(&mut pair, 3000);
    assert_eq!(sent_from(&pair, Some(ip(LATER))), [""; 0]);
}

#[test]
fn address_that_was_listed_and_gone_at_cookie_echo_takes_the_place_of_the_one_that_was_there() {
    let mut pair = asked(begun(AutomaticAddresses::Off));
    down(&mut pair, LISTED[0]);
    pair.run_ms(35);
    assert_talks(&mut pair, 300);
    up(&mut pair, LISTED[0]);
    down(&mut pair, LISTED[1]);
    assert_talks(&mut pair, 3000);
}

/// RFC 5061 §5.3.2: the peer is asked to know where the host is now, and to forget where it was.
#[test]
fn peer_is_asked_for_what_has_changed_since_the_init_ack() {
    let mut pair = asked(begun(AutomaticAddresses::On));
    move_away(&mut pair);
    pair.run_ms(5000);
    assert_eq!(peer_addresses(&pair, End::Left), [ip(LATER)]);
    assert_talks(&mut pair, 300);

    let mut pair = asked(begun(AutomaticAddresses::On));
    down(&mut pair, LISTED[0]);
    up(&mut pair, LATER);
    pair.run_ms(500);
    assert_eq!(peer_addresses(&pair, End::Left), [LISTED[1], LATER].map(ip));
    assert_talks(&mut pair, 300);
}

/// The time that the user takes to decide is none at which the INIT ACK left.
#[test]
fn address_that_came_while_the_user_decided_is_not_one_that_the_peer_knows() {
    let mut setup = begun(AutomaticAddresses::Off);
    setup.server.incoming = IncomingPolicy::Ask(AskLimits::DEFAULT);
    let mut pair = asked(setup);
    move_away(&mut pair);
    pair.run_ms(600);
    let newcomer = pair.with(End::Right, |side, _| side.endpoint.poll_newcomer()).unwrap();
    pair.run_ms(600);
    pair.with(End::Right, |side, now| side.endpoint.accept_newcomer(now, newcomer.id, None)).unwrap();
    pair.send(End::Right, ordered(0, 0, 100));
    pair.run_ms(50);
    assert_eq!(sent_from(&pair, Some(ip(LATER))), [""; 0]);
    up(&mut pair, LISTED[0]);
    pair.run_ms(1000);
    assert_talks(&mut pair, 3000);
}

/// The right end has one more address, then the left one begins anew: the INIT ACK has left, and the COOKIE ECHO has not come.
fn asked_again(setup: Setup) -> Pair {
    let client = setup.client.clone();
    let mut pair = asked(setup);
    pair.run_ms(1000);
    up(&mut pair, LATER);
    pair.run_ms(100);
    let mut config = EndpointConfig::new(port(LEFT_PORT));
    config.association = client;
    pair.reboot(End::Left, config);
    pair.connect();
    pair.run_ms(15);
    pair
}

/// What is asked at a restart is counted with what was asked before: the peer that is no more was asked to forget the address, too.
#[test]
fn peer_that_begins_anew_is_asked_for_what_has_changed_since_its_init_ack() {
    let mut pair = asked_again(begun(AutomaticAddresses::On));
    assert_eq!(pair.statistics(End::Right).asconf.sent, 1);
    down(&mut pair, LISTED[0]);
    pair.run_ms(500);
    let counted = pair.statistics(End::Right);
    assert_eq!((counted.association.restarts, counted.asconf.sent), (1, 3));
    assert_eq!(peer_addresses(&pair, End::Left), [LISTED[1], LATER].map(ip));
}

/// RFC 9260 §5.2.4.1: the INIT ACK of a restart lists the addresses that the host has then.
#[test]
fn peer_that_begins_anew_knows_what_it_was_told_then() {
    let mut pair = asked_again(begun(AutomaticAddresses::Off));
    LISTED.iter().for_each(|listed| down(&mut pair, listed));
    pair.run_ms(35);
    assert_eq!(pair.statistics(End::Right).association.restarts, 1);
    assert_talks(&mut pair, 300);
    assert!(sent_from(&pair, Some(ip(LATER))).iter().any(|kinds| kinds.contains("DATA")));
}
