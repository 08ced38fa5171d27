//! Addresses of a host that change between its INIT, which lists them, and the end of the handshake.

use std::net::IpAddr;

use sctp_core::{AutomaticAddresses, Offer};

use super::assert_talks;
use crate::dynamic_addresses::{ip, peer_addresses};
use crate::net::{End, Pair, Sent, Setup, ordered};

/// The addresses of the left end: its INIT lists the first two, the third one comes later.
const LISTED: [&str; 2] = ["10.0.0.1", "10.0.0.3"];
const LATER: &str = "10.0.0.4";

/// Both ends agree on changes of addresses; the left end has those that its INIT is to list, and has sent it.
fn asking(automatic_addresses: AutomaticAddresses) -> Pair {
    let homes = [LISTED[0], LISTED[1], LATER];
    let setup = Setup::signalling().homes(&homes, &["10.0.0.2"]).on_one_link().configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.paths.automatic_addresses = automatic_addresses;
    });
    let mut pair = setup.build();
    down(&mut pair, LATER);
    pair.connect();
    assert_eq!(pair.log(End::Left, 0), ["0 INIT"]);
    pair
}

fn down(pair: &mut Pair, address: &str) {
    pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, ip(address)));
}

fn up(pair: &mut Pair, address: &str) {
    pair.with(End::Left, |side, now| side.endpoint.local_address_up(now, ip(address)));
}

/// All that were listed are gone, and there is another one.
fn move_away(pair: &mut Pair) {
    up(pair, LATER);
    LISTED.iter().for_each(|listed| down(pair, listed));
}

fn sent_from(pair: &Pair, source: IpAddr) -> Vec<String> {
    let sent = pair.side(End::Left).sent.iter().filter(|sent| sent.from == Some(source));
    sent.map(Sent::kinds).collect()
}

/// RFC 5061 §5.3 (F1): nothing leaves from where the peer does not know the host, and what its INIT listed counts when it is there
/// again.
#[test]
fn address_that_came_after_the_init_is_not_sent_from_and_one_that_it_listed_is_when_it_comes_back() {
    for moves_at in [5, 25] {
        let mut pair = asking(AutomaticAddresses::Off);
        pair.run_ms(moves_at);
        move_away(&mut pair);
        pair.send(End::Left, ordered(0, 0, 100));
        pair.run_ms(2000);
        assert_eq!(sent_from(&pair, ip(LATER)), [""; 0], "{moves_at} ms");
        up(&mut pair, LISTED[1]);
        pair.run_ms(1000);
        assert_eq!(pair.payloads(End::Right).len(), 1, "what waited");
        assert_talks(&mut pair, 3000);
        assert_eq!(sent_from(&pair, ip(LATER)), [""; 0], "{moves_at} ms");
    }
}

/// RFC 5061 §5.3.2: the peer is asked to know where the host is now, and to forget where it was.
#[test]
fn peer_is_asked_for_what_has_changed_since_the_init() {
    for moves_at in [5, 25] {
        let mut pair = asking(AutomaticAddresses::On);
        pair.run_ms(moves_at);
        move_away(&mut pair);
        pair.run_ms(5000);
        assert_eq!(peer_addresses(&pair, End::Right), [ip(LATER)], "{moves_at} ms");
        assert_talks(&mut pair, 300);

        let mut pair = asking(AutomaticAddresses::On);
        pair.run_ms(moves_at);
        down(&mut pair, LISTED[0]);
        up(&mut pair, LATER);
        pair.run_ms(500);
        assert_eq!(peer_addresses(&pair, End::Right), [LISTED[1], LATER].map(ip), "{moves_at} ms");
        assert_talks(&mut pair, 300);
    }
}

/// None is left of what the first INIT listed, and the second one came from elsewhere: its source is what the peer knows.
#[test]
fn address_to_which_the_init_ack_came_is_sent_from_where_none_is_left_that_was_listed() {
    let mut pair = asking(AutomaticAddresses::Off);
    pair.drop_next(End::Right, &[1]);
    pair.run_ms(50);
    move_away(&mut pair);
    pair.run_ms(5000);
    assert_talks(&mut pair, 300);
    assert!(sent_from(&pair, ip(LATER)).iter().any(|kinds| kinds.contains("DATA")));
}
