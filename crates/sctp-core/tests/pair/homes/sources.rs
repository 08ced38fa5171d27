//! The addresses that a host with several sends from, to a peer with one.

use std::net::IpAddr;
use std::time::Duration;

use sctp_core::{Offer, PathId};

use crate::net::{End, LEFT, Pair, RIGHT, Setup, Side, ms, ordered};

const STANDBY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9));

/// Two addresses on the left, one on the right, all on one link, and a HEARTBEAT every half second or so.
fn pair() -> Pair {
    begin(setup())
}

fn setup() -> Setup {
    let often = Setup::rfc9260().configure(|config| {
        config.heartbeat.interval = Some(ms(500));
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
    });
    often.homes(&["10.0.0.1", "10.0.0.9"], &["10.0.0.2"]).on_one_link()
}

fn begin(setup: Setup) -> Pair {
    let mut pair = setup.connected();
    pair.run_ms(200);
    assert_eq!(source(&pair), Some(LEFT));
    pair
}

fn source(pair: &Pair) -> Option<IpAddr> {
    pair.statistics(End::Left).paths[0].source
}

/// The addresses that packets with this chunk alone left the left end from, since `from_ms`.
fn left_from(pair: &Pair, kinds: &str, from_ms: u64) -> Vec<Option<IpAddr>> {
    let sent = pair.side(End::Left).sent.iter();
    sent.filter(|sent| sent.at_ms() >= from_ms && sent.kinds() == kinds).map(|sent| sent.from).collect()
}

/// The right end sends to the left end's second address from now on, or to its first again.
fn right_prefers(pair: &mut Pair, path: u32) {
    let chosen = PathId::new(path);
    pair.with(End::Right, |side, now| side.endpoint.set_primary(now, side.id.unwrap(), chosen)).unwrap();
}

/// RFC 9260 §8.3: the peer asks whether a standby address works. That says nothing about the way data takes.
#[test]
fn heartbeats_to_a_standby_address_cost_no_window() {
    let mut pair = pair();
    let begun = pair.now_ms();
    let mut least = usize::MAX;
    for round in 0..400 {
        for message in 0..20 {
            pair.send(End::Left, ordered(0, message, 1000));
        }
        pair.run_ms(20);
        let path = pair.statistics(End::Left).paths[0];
        assert_eq!(path.source, Some(LEFT), "round {round}");
        if round > 20 {
            least = least.min(path.cwnd_bytes);
        }
    }
    let answers = left_from(&pair, "HEARTBEAT_ACK", begun);
    let from_standby = answers.iter().filter(|from| **from == Some(STANDBY)).count();
    assert!(from_standby >= 5, "each is answered from where it came to: {answers:?}");
    assert!(least > 20_000, "nothing was lost, and the window was {least}");
}

#[test]
fn what_the_peer_sends_to_another_address_alone_is_followed_after_a_timeout() {
    let mut pair = pair();
    right_prefers(&mut pair, 1);
    pair.send(End::Right, ordered(0, 0, 100));
    pair.run_ms(50);
    assert_eq!(source(&pair), Some(LEFT), "one packet there is no reason");
    for number in 1..30 {
        pair.send(End::Right, ordered(0, number, 100));
        pair.run_ms(100);
    }
    assert_eq!(source(&pair), Some(STANDBY));
}

/// A peer that sends on all paths at once, or repeats on another one.
#[test]
fn data_that_comes_to_both_addresses_moves_nothing() {
    let mut pair = pair();
    for number in 0..100 {
        right_prefers(&mut pair, u32::from(number % 3 > 0));
        pair.send(End::Right, ordered(0, number, 100));
        pair.run_ms(40);
        assert_eq!(source(&pair), Some(LEFT), "{number}");
    }
    assert_eq!(pair.payloads(End::Left).len(), 100);
}

/// Nobody told this host that its first address leads nowhere.
#[test]
fn address_whose_packets_nobody_answers_is_left_for_where_the_peer_is_heard() {
    let mut pair = pair();
    pair.with(End::Left, |side, _| side.cut.insert((Some(LEFT), RIGHT)));
    pair.send(End::Left, ordered(0, 0, 100));
    pair.run_ms(10_000);
    assert_eq!(source(&pair), Some(STANDBY));
    assert_eq!(pair.payloads(End::Right).len(), 1);
    let last = pair.side(End::Right).received[0].0;
    assert!(last.as_nanos() < Duration::from_secs(5).as_nanos().try_into().unwrap(), "{last:?}");
}

/// RFC 5061 §5.3: who asks to be reached elsewhere, with one address of the peer to choose from, sends from there, too.
#[test]
fn who_asks_for_another_primary_address_sends_from_it() {
    let mut pair = pair();
    let ask = |side: &mut Side, now| side.endpoint.request_peer_primary(now, side.id.unwrap(), STANDBY);
    pair.with(End::Left, ask).unwrap();
    pair.run_ms(100);
    assert_eq!(source(&pair), Some(STANDBY));
}
