//! Many associations from few hosts.

use sctp_core::EndpointStatistics;

use super::replays::Caller;
use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Setup, is_up, ms, ordered};

fn crowded(limit: usize) -> Pair {
    let mut setup = Setup::signalling();
    setup.server.association_limit = limit;
    setup.build()
}

fn statistics(pair: &Pair) -> EndpointStatistics {
    *pair.side(End::Right).endpoint.statistics()
}

/// Opens associations from one host after the other, none of which sends anything; gives how many there were.
fn flood(pair: &mut Pair, hosts: &[[u8; 4]], count: u32, apart_ms: u64) -> usize {
    pair.with(End::Right, |side, start| {
        let mut established = 0;
        for number in 0..count {
            let host = hosts[number as usize % hosts.len()];
            let now = start + ms(u64::from(number) * apart_ms);
            let mut caller = Caller::at_port(host, port_of(number), number + 1);
            established += usize::from(caller.establish(&mut side.endpoint, now));
        }
        established
    })
}

/// An SCTP port for each association of a host.
fn port_of(number: u32) -> u16 {
    u16::try_from(1 + number % 65_000).unwrap()
}

/// One host sends 20,000 packets that open an association each, as fast as it is let, and nothing after.
#[test]
fn robustness_33_one_host_does_not_keep_others_out() {
    let mut pair = crowded(10_000);
    let opened = flood(&mut pair, &[[11, 0, 0, 1]], 10_000, 1);
    assert_eq!((opened, pair.side(End::Right).endpoint.association_count()), (5000, 5000));
    assert_eq!(statistics(&pair).handshake.inits_refused, 5000);
    pair.connect();
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(1000);
    assert_eq!(pair.count(End::Left, is_up), 1);
}

/// The hosts are in several networks, which fill the table together; who has sent data stays.
#[test]
fn robustness_33_those_who_have_sent_nothing_give_way_those_of_the_largest_network_first() {
    let mut pair = crowded(1000);
    let mut used = Hand::new(LEFT_PORT + 1, 77);
    used.establish(&mut pair);
    used.data(&mut pair, 0, 10);
    let mut quiet = Hand::new(LEFT_PORT + 2, 78);
    quiet.source.address = [10, 7, 0, 1].into();
    quiet.establish(&mut pair);
    let hosts = [[11, 0, 0, 1], [12, 0, 0, 1], [13, 0, 0, 1]];
    let opened = flood(&mut pair, &hosts, 2000, 1);
    assert_eq!(opened, 2000, "each of them took the place of another one");
    let count = pair.side(End::Right).endpoint.association_count();
    assert!((940..=1000).contains(&count), "{count}");
    assert!(statistics(&pair).handshake.gave_way > 1000);
    pair.connect();
    pair.run_ms(1000);
    assert_eq!(pair.count(End::Left, is_up), 1);
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Right).last(), Some(&&[1; 100][..]));
    for (hand, address) in [(&mut used, "10.0.0.9"), (&mut quiet, "10.7.0.1")] {
        hand.data(&mut pair, 0, 10);
        pair.run_ms(500);
        assert_eq!(pair.sent_to(End::Right, address).last().unwrap(), "SACK");
    }
}

/// RFC 9260 §8.1: who opens associations and answers nothing holds them for half a minute, not for four.
#[test]
fn robustness_33_peer_that_answers_nothing_after_the_handshake_is_given_up_early() {
    let mut pair = crowded(1000);
    flood(&mut pair, &[[11, 0, 0, 1]], 20, 1);
    pair.run_ms(35_000);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
}

/// Who answers once, be it a HEARTBEAT alone, has all the time that Association.Max.Retrans gives.
#[test]
fn robustness_33_idle_peer_that_is_there_is_not_given_up_early() {
    let mut pair = Setup::signalling().connected();
    pair.run_ms(20_000);
    let asked = pair.times_of(End::Right, "HEARTBEAT", 0);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!((5_000..8_000).contains(&asked[0]), "{asked:?}");
    pair.cut();
    pair.run_ms(120_000);
    assert!(pair.state(End::Right).is_some());
}
