//! A host without an address for a while: thirty frames a second, from a network with a round trip of 100 ms to one of 30 ms.
//!
//! The new address may carry data a round trip after it is there (RFC 5061 §5.3 (F1), (F2)), and the peer may send there a round trip
//! and a half after (RFC 9260 §5.4). Half a round trip brings the data. What arrived before, and was not acknowledged, may take the
//! first flight: that is one round trip more.

use netem::Impairments;
use sctp_core::{AutomaticAddresses, Offer, PathStatistics, StartUp};

use crate::dynamic_addresses::ip;
use crate::net::{End, Pair, Setup, ms, ordered};

const OLD: &str = "10.0.0.1";
const NEW: &str = "10.0.1.1";
const PEER: &str = "10.0.0.2";
/// A round trip in the new network, in milliseconds.
const RTT: u64 = 30;
/// A frame of one packet, and one of five.
const SHORT: usize = 1200;
const LONG: usize = 6395;

/// A host with two addresses, of which it tells one, and its peer.
fn roaming(change: impl Fn(&mut sctp_core::AssociationConfig)) -> Pair {
    let setup = Setup::signalling().homes(&[OLD, NEW], &[PEER]).telling(1).configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.paths.automatic_addresses = AutomaticAddresses::On;
        change(config);
    });
    connected(setup)
}

fn connected(mut setup: Setup) -> Pair {
    let link = Impairments { delay: ms(50), ..Impairments::default() };
    (setup.request, setup.response) = (link.clone(), link);
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(500);
    pair
}

/// Sends so many frames from some ends, each with its number in it.
fn show(pair: &mut Pair, from: &[End], frames: u64, octets: usize) {
    let begun = pair.now_ms();
    for frame in 1..=frames {
        for end in from {
            let number = usize::try_from(pair.statistics(*end).sender.messages).unwrap();
            pair.send(*end, ordered(0, number, octets));
        }
        pair.run_ms(begun + frame * 100 / 3 - pair.now_ms());
    }
}

/// The network is gone, and the host's address with it, for so long; frames go on.
fn lose(pair: &mut Pair, from: &[End], frames: u64, octets: usize) {
    pair.cut();
    pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, ip(OLD)));
    show(pair, from, frames, octets);
}

/// The host is in a network, with this address; gives when that was.
fn find(pair: &mut Pair, address: &str) -> u64 {
    let link = Impairments { delay: ms(RTT / 2), ..Impairments::default() };
    [End::Left, End::Right].into_iter().for_each(|end| pair.impair(end, link.clone()));
    pair.mend();
    pair.with(End::Left, |side, now| side.endpoint.local_address_up(now, ip(address)));
    pair.now_ms()
}

/// How long after `since` an end had the first frame, and that which made so many.
fn waits(pair: &Pair, end: End, since: u64, frames: usize) -> (u64, u64) {
    let read = pair.read_times(end);
    let first = read.iter().find(|at| **at > since).unwrap();
    (first - since, read[frames - 1] - since)
}

fn assert_whole(pair: &Pair, end: End, frames: usize) {
    let payloads = pair.payloads(end);
    assert_eq!(payloads.len(), frames, "{end:?}");
    for (number, payload) in payloads.into_iter().enumerate() {
        assert_eq!(payload[0], number.to_le_bytes()[0], "{end:?}");
    }
}

fn path(pair: &Pair, end: End) -> PathStatistics {
    let paths = pair.statistics(end).paths;
    assert_eq!(paths.len(), 1);
    paths[0]
}

/// Half a second without a network, then a second of frames; gives the waits of who receives them.
fn moved(pair: &mut Pair, from: End, octets: usize) -> (u64, u64) {
    show(pair, &[from], 60, octets);
    lose(pair, &[from], 15, octets);
    let found_at = find(pair, NEW);
    show(pair, &[from], 30, octets);
    pair.run_ms(1000);
    let to = if from == End::Left { End::Right } else { End::Left };
    assert_whole(pair, to, 105);
    waits(pair, to, found_at, 75)
}

#[test]
fn frames_of_the_host_that_moves_go_on_as_soon_as_the_peer_agrees() {
    for start_up in [StartUp::SlowStart, StartUp::RESUME, StartUp::PROBE] {
        let mut pair = roaming(|config| config.congestion.start_up = start_up);
        let (first, _) = moved(&mut pair, End::Left, SHORT);
        assert!(first <= RTT * 3 / 2 + 1, "{start_up:?}: {first} ms");
    }
}

#[test]
fn backlog_leaves_as_fast_as_the_window_allows_and_what_was_used_before_is_faster() {
    let waits = [StartUp::SlowStart, StartUp::RESUME].map(|start_up| {
        let mut pair = roaming(|config| config.congestion.start_up = start_up);
        let (first, backlog) = moved(&mut pair, End::Left, LONG);
        assert!(first <= RTT * 5 / 2 + 1, "{start_up:?}: {first} ms");
        assert_eq!(path(&pair, End::Left).counters.timeouts, 0, "{start_up:?}");
        backlog
    });
    // 100,000 octets by slow start from 4,404 on: six round trips with that of the ASCONF.
    assert!(waits[0] <= RTT * 7 && waits[1] < waits[0], "{waits:?}");
}

/// RFC 9260 §7.2.5.2: neither what the old network carried, nor what the peer says of it later.
#[test]
fn first_flight_from_another_address_is_the_initial_window_and_its_round_trip_that_of_the_new_network() {
    let mut pair = roaming(|_| {});
    show(&mut pair, &[End::Left], 60, LONG);
    let before = path(&pair, End::Left).cwnd_bytes;
    lose(&mut pair, &[End::Left], 15, LONG);
    let found_at = find(&mut pair, NEW);
    show(&mut pair, &[End::Left], 15, LONG);
    let octets = |since: u64| {
        let sent = pair.side(End::Left).sent.iter();
        let flight = sent.filter(|sent| (since..since + RTT).contains(&sent.at_ms()));
        flight.filter(|sent| sent.kinds().contains("DATA")).map(|sent| sent.octets.len()).sum::<usize>()
    };
    assert_eq!(octets(found_at), 0, "before the peer has agreed");
    assert!(before > 30_000 && octets(found_at + RTT) <= 4404 + 1500, "{}", octets(found_at + RTT));
    let after = path(&pair, End::Left);
    let srtt = after.srtt.unwrap();
    assert!((ms(RTT)..ms(RTT * 3 / 2)).contains(&srtt), "{srtt:?}");
    assert_eq!(after.counters.recoveries_undone, 0);
}

#[test]
fn frames_for_the_host_that_moves_go_on_as_soon_as_its_address_is_verified() {
    for octets in [SHORT, LONG] {
        let mut pair = roaming(|_| {});
        let (first, backlog) = moved(&mut pair, End::Right, octets);
        let flights = u64::from(octets == LONG);
        assert!(first <= RTT * (2 + flights) + 1, "{octets}: {first} ms");
        assert!(backlog <= RTT * 8, "{octets}: {backlog} ms");
    }
}

/// The peer is told of the new address, and not that the old one is gone.
#[test]
fn frames_for_a_host_that_keeps_its_old_address_on_the_list_do_not_wait_for_a_timer_that_has_backed_off() {
    let mut pair = roaming(|config| config.paths.automatic_addresses = AutomaticAddresses::Off);
    show(&mut pair, &[End::Right], 60, SHORT);
    lose(&mut pair, &[End::Right], 30, SHORT);
    let found_at = find(&mut pair, NEW);
    pair.with(End::Left, |side, now| {
        side.endpoint.add_local_address(now, side.id.unwrap(), ip(NEW)).unwrap();
    });
    show(&mut pair, &[End::Right], 30, SHORT);
    pair.run_ms(1000);
    assert_whole(&pair, End::Left, 120);
    let (first, _) = waits(&pair, End::Left, found_at, 90);
    assert!(first <= RTT * 2 + 1, "{first} ms");
}

#[test]
fn both_directions_go_on_and_nothing_is_lost_doubled_or_reordered() {
    let both = [End::Left, End::Right];
    let mut pair = roaming(|_| {});
    show(&mut pair, &both, 60, LONG);
    lose(&mut pair, &both, 15, LONG);
    let found_at = find(&mut pair, NEW);
    show(&mut pair, &both, 30, LONG);
    pair.run_ms(1000);
    for end in both {
        assert_whole(&pair, end, 105);
        let (first, backlog) = waits(&pair, end, found_at, 75);
        assert!(first <= RTT * 3 + 1 && backlog <= RTT * 9, "{end:?}: {first} ms, {backlog} ms");
    }
}

/// What ran out in the meantime says nothing about the new network: the ASCONF goes again after the RTO that was measured.
#[test]
fn lost_asconf_or_answer_costs_one_timeout_without_back_off_however_long_the_host_was_without_a_network() {
    for frames in [15, 600] {
        for end in [End::Left, End::Right] {
            let mut pair = roaming(|config| config.buffers.send_bytes = 4 << 20);
            show(&mut pair, &[End::Left], 60, SHORT);
            lose(&mut pair, &[End::Left], frames, SHORT);
            let rto = 250;
            let dropped = Impairments {
                delay: ms(RTT / 2),
                drop_packets: [pair.offered(end) + 1].into(),
                ..Impairments::default()
            };
            let found_at = find_with(&mut pair, end, dropped);
            show(&mut pair, &[End::Left], 30, SHORT);
            pair.run_ms(2000);
            let (first, _) = waits(&pair, End::Right, found_at, 76);
            assert!(first <= rto + RTT * 5 / 2, "{frames} {end:?}: {first} ms");
        }
    }
}

/// Likewise, with something else done to what one end sends.
fn find_with(pair: &mut Pair, end: End, link: Impairments) -> u64 {
    let usual = Impairments { delay: ms(RTT / 2), ..Impairments::default() };
    [End::Left, End::Right].into_iter().for_each(|end| pair.impair(end, usual.clone()));
    pair.impair(end, link);
    pair.mend();
    pair.with(End::Left, |side, now| side.endpoint.local_address_up(now, ip(NEW)));
    pair.now_ms()
}

/// The peer knows it: nothing has to be agreed.
#[test]
fn address_that_comes_back_is_sent_from_at_once() {
    let mut pair = roaming(|_| {});
    show(&mut pair, &[End::Left], 60, SHORT);
    lose(&mut pair, &[End::Left], 15, SHORT);
    let found_at = find(&mut pair, OLD);
    show(&mut pair, &[End::Left], 30, SHORT);
    pair.run_ms(1000);
    assert_whole(&pair, End::Right, 105);
    let (first, _) = waits(&pair, End::Right, found_at, 75);
    assert!(first <= RTT / 2 + 1, "{first} ms");
    assert_eq!(pair.statistics(End::Left).asconf.sent, 0);
}

/// With another path nothing waits, whatever was on its way to the address that the peer deletes.
#[test]
fn data_on_its_way_to_an_address_that_is_deleted_goes_on_another_path_at_once() {
    let setup = Setup::signalling().two_homes().configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.paths.automatic_addresses = AutomaticAddresses::On;
    });
    let mut pair = connected(setup);
    pair.run_ms(1000);
    show(&mut pair, &[End::Right], 60, LONG);
    pair.cut_link(0);
    let lost_at = pair.now_ms();
    pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, ip(OLD)));
    show(&mut pair, &[End::Right], 30, LONG);
    pair.run_ms(1000);
    assert_whole(&pair, End::Left, 90);
    // Half a round trip for the ASCONF, two and a half for the data, of 100 ms each, and less than 200 ms that a timer would take.
    let read: Vec<u64> = pair.read_times(End::Left).into_iter().filter(|at| *at >= lost_at - 50).collect();
    let gap = read.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(gap <= 250, "{gap} ms");
    assert_eq!(pair.statistics(End::Right).paths.iter().map(|path| path.counters.timeouts).sum::<u64>(), 0);
}
