//! The search for the path MTU (RFC 8899 §6.2), on paths with a router too narrow for large packets. Round trip 20 ms.

use sctp_core::Discovery;

use crate::net::{End, Pair, RIGHT, Setup, by_ip, ms, ordered};

/// Established over routers of this MTU in both directions.
fn searching(setup: Setup, mtu: usize) -> Pair {
    let mut pair = setup.configure(|config| config.path_mtu.discovery = Discovery::On).build();
    narrow(&mut pair, mtu);
    pair.connect();
    pair
}

fn narrow(pair: &mut Pair, mtu: usize) {
    for end in [End::Left, End::Right] {
        pair.with(end, |side, _| side.path_mtu = mtu);
    }
}

fn mtu(pair: &Pair, end: End) -> usize {
    pair.statistics(end).paths[0].mtu_bytes
}

/// Sends `count` messages of 4000 octets as fast as they are taken, and reads them at the other end.
fn transfer(pair: &mut Pair, count: usize) {
    let before = pair.side(End::Right).received.len();
    for number in 0..count {
        pair.send(End::Left, ordered(0, number, 4000));
    }
    let mut waited = 0;
    while pair.side(End::Right).received.len() < before + count {
        pair.run_ms(100);
        waited += 100;
        assert!(waited < 20_000, "stalled: {:?}", pair.statistics(End::Left));
    }
    let received = &pair.payloads(End::Right)[before..];
    for (number, payload) in received.iter().enumerate() {
        assert!(payload.len() == 4000 && payload.iter().all(|octet| *octet == number.to_le_bytes()[0]));
    }
}

/// RFC 8899 §5.3: both ends find what the path carries, within a step, without an error or a cut window.
#[test]
fn path_mtu_is_found_within_one_step_and_costs_neither_errors_nor_window() {
    for carried in [1200, 1280, 1400, 1492, 1500] {
        let mut pair = searching(Setup::signalling(), carried);
        pair.run_ms(20_000);
        for end in [End::Left, End::Right] {
            let path = pair.statistics(end).paths[0];
            assert!((carried - 32..=carried).contains(&path.mtu_bytes), "{carried}: {path:?}");
            assert_eq!((path.errors, path.counters.timeouts, path.counters.recoveries), (0, 0, 0));
            assert!(path.counters.mtu_probes <= 30, "{carried}: {path:?}");
        }
        transfer(&mut pair, 20);
        assert_eq!(pair.statistics(End::Left).sender.retransmissions, 0, "{carried}");
    }
}

#[test]
fn path_that_carries_less_than_the_base_is_found_as_well() {
    let mut pair = searching(Setup::signalling(), 900);
    pair.run_ms(20_000);
    assert!((868..=900).contains(&mtu(&pair, End::Left)), "{}", mtu(&pair, End::Left));
    transfer(&mut pair, 20);
}

/// RFC 8899 §4.3, RFC 9260 §7.3: nothing is lost, nothing stalls, and the new size is found.
#[test]
fn mtu_that_falls_during_a_transfer_loses_nothing_and_is_found() {
    for (setup, carried) in [Setup::signalling as fn() -> Setup, Setup::rfc9260]
        .into_iter()
        .flat_map(|setup| [1280, 900].map(|carried| (setup(), carried)))
    {
        let mut pair = searching(setup, 1500);
        pair.run_ms(1000);
        assert_eq!(mtu(&pair, End::Left), 1500);
        for number in 0..100 {
            pair.send(End::Left, ordered(0, number, 4000));
        }
        pair.run_ms(45);
        assert!(pair.side(End::Right).received.len() < 100, "under way");
        narrow(&mut pair, carried);
        pair.run_ms(60_000);
        assert_eq!(pair.side(End::Right).received.len(), 100, "{:?}", pair.statistics(End::Left));
        assert!((carried - 32..=carried).contains(&mtu(&pair, End::Left)));
        assert!(pair.statistics(End::Left).paths[0].counters.black_holes > 0);
        transfer(&mut pair, 20);
    }
}

/// RFC 8899 §5.1.1: PMTU_RAISE_TIMER.
#[test]
fn path_that_becomes_wider_is_noticed_after_the_raise_timer() {
    let mut pair = searching(Setup::signalling(), 1300);
    pair.run_ms(20_000);
    narrow(&mut pair, usize::MAX);
    pair.run_ms(560_000);
    assert!(mtu(&pair, End::Left) <= 1300);
    pair.run_ms(60_000);
    assert_eq!(mtu(&pair, End::Left), 1500);
}

/// Robustness against poisoned path MTUs: the quoted tag must be right, and even then only a probe decides
/// (RFC 8899 §4.6, RFC 5927 §7).
#[test]
fn robustness_20_forged_packet_too_big_changes_nothing() {
    let mut pair = searching(Setup::signalling(), 1500);
    pair.run_ms(1000);
    let quoted = pair.side(End::Left).sent.last().unwrap().octets[..8].to_vec();
    let report = |pair: &mut Pair, quoted: &[u8]| {
        pair.with(End::Left, |side, _| side.endpoint.handle_packet_too_big(by_ip(RIGHT), quoted, 600))
    };
    let probes = pair.statistics(End::Left).paths[0].counters.mtu_probes;
    for wrong in 0..8 {
        let mut quoted = quoted.clone();
        quoted[wrong] ^= 1;
        assert!(!report(&mut pair, &quoted));
    }
    assert!(!report(&mut pair, &quoted[..7]));
    assert_eq!(pair.side(End::Left).endpoint.statistics().foreign_packet_too_big, 9);
    assert_eq!(pair.statistics(End::Left).paths[0].counters.mtu_probes, probes);
    assert!(report(&mut pair, &quoted));
    pair.run_ms(1000);
    let path = pair.statistics(End::Left).paths[0];
    assert_eq!((path.mtu_bytes, path.counters.mtu_probes), (1500, probes + 1));
}

#[test]
fn true_packet_too_big_is_confirmed_by_probes_before_data_is_lost() {
    let mut pair = searching(Setup::signalling(), 1500);
    pair.run_ms(1000);
    narrow(&mut pair, 1400);
    let quoted = pair.side(End::Left).sent.last().unwrap().octets[..8].to_vec();
    assert!(pair.with(End::Left, |side, _| side.endpoint.handle_packet_too_big(by_ip(RIGHT), &quoted, 1400)));
    pair.run_ms(5000);
    assert!((1368..=1400).contains(&mtu(&pair, End::Left)));
    transfer(&mut pair, 20);
    assert_eq!(pair.statistics(End::Left).paths[0].counters.timeouts, 0);
}

/// RFC 8899 §3: losses of probes are no congestion; those of the network do not end the search.
#[test]
fn search_bears_losses() {
    let mut setup = Setup::signalling();
    let path = netem::Impairments { delay: ms(10), loss: "5%".parse().unwrap(), ..Default::default() };
    (setup.request, setup.response) = (path.clone(), path);
    let mut pair = searching(setup, 1400);
    pair.run_ms(60_000);
    assert!((1200..=1400).contains(&mtu(&pair, End::Left)));
    transfer(&mut pair, 50);
}
