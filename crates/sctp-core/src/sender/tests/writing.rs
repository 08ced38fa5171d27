//! What goes into packets: fragments, the I bit, Nagle, windows and their probes (RFC 9260 §6.1, §6.9).

use super::*;
use crate::config::{Pacing, StreamScheduler};
use crate::path::congestion::Acknowledged;

#[test]
fn message_that_fits_a_packet_is_never_cut() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send(800);
    bench.send(FULL);
    bench.send(FULL + 1);
    assert_eq!(bench.write_new(), [(0, 800, false)]);
    assert_eq!(bench.write_new(), [(1, FULL, false)]);
    assert_eq!(bench.write_new(), [(2, FULL, false)]);
    assert_eq!(bench.write_new(), [(3, 1, false)]);
}

#[test]
fn long_message_begins_in_what_is_left_of_a_packet_if_that_is_worth_it() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send(1000);
    bench.send(2000);
    let room = 1380 - 12 - 1016 - 16;
    assert_eq!(bench.write_new(), [(0, 1000, false), (1, room, false)]);
    bench.send(1);
    assert_eq!(bench.write_new(), [(2, FULL, false)]);
}

#[test]
fn packets_are_filled_by_cutting_messages_where_that_is_asked_for_and_worth_a_header() {
    let mut bench =
        Bench::with(Profile::Rfc9260, |config| config.transmission.bundling = MessageBundling::Filled);
    bench.send(1000);
    bench.send(1000);
    let cut = FULL - 16 - 1000;
    assert_eq!(bench.write_new(), [(0, 1000, false), (1, cut, false)]);
    assert_eq!(bench.write_new(), [(2, 1000 - cut, false)]);

    let mut bench =
        Bench::with(Profile::Rfc9260, |config| config.transmission.bundling = MessageBundling::Filled);
    bench.send(FULL - 16 - 60);
    bench.send(1000);
    assert_eq!(bench.write_new(), [(0, FULL - 16 - 60, false)]);
}

/// A sender on a path with the initial window of 4404 octets and a round trip of 20 ms.
fn paced(change: impl FnOnce(&mut AssociationConfig)) -> Bench {
    paced_over(20, change)
}

fn paced_over(round_trip_ms: u64, change: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::with(Profile::Signalling, change);
    let srtt = Duration::from_millis(round_trip_ms);
    let entry = bench.paths.path_mut(PathIndex::FIRST);
    entry.congestion.on_acknowledged(&Acknowledged { now: bench.now, srtt, ..Acknowledged::default() });
    bench
}

/// The first packet of so many messages of 1000 octets.
fn first_packet(mut bench: Bench, messages: usize) -> Vec<Written> {
    (0..messages).for_each(|_| bench.send(1000));
    bench.write_new()
}

#[test]
fn messages_are_cut_while_the_congestion_window_is_what_data_waits_for() {
    let (whole, filled) = ([(0, 1000, false)], [(0, 1000, false), (1, FULL - 16 - 1000, false)]);
    assert_eq!(first_packet(paced(|_| {}), 5), filled);
    assert_eq!(first_packet(paced(|_| {}), 4), whole, "all of them find room");
    assert_eq!(first_packet(paced_over(2, |_| {}), 5), whole, "nothing is spread");
    let settings: [fn(&mut AssociationConfig); 3] = [
        |config| config.congestion.pacing = Pacing::Off,
        |config| config.transmission.scheduler = StreamScheduler::RoundRobin,
        |config| config.transmission.bundling = MessageBundling::On,
    ];
    for change in settings {
        assert_eq!(first_packet(paced(change), 5), whole);
    }
}

#[test]
fn messages_are_whole_where_the_window_of_the_peer_is_the_limit_or_they_may_be_given_up() {
    let [mut full, mut unreliable] = [(), ()].map(|()| paced(|_| {}));
    full.sack_with(0, 4000, &[], &[]).unwrap();
    let message = Message::ordered(StreamId::new(0), vec![7; 1000]);
    let message = Message { reliability: Reliability::Retransmissions(0), ..message };
    unreliable.sender.send(unreliable.now, message).unwrap();
    for bench in [&mut full, &mut unreliable] {
        (0..5).for_each(|_| bench.send(1000));
        assert_eq!(bench.write_new(), [(0, 1000, false)]);
    }
}

#[test]
fn immediate_bit_is_set_on_the_last_chunk_or_while_draining() {
    let mut bench = Bench::new(Profile::Signalling);
    bench.send(10);
    bench.send(10);
    assert_eq!(bench.write_new(), [(0, 10, false), (1, 10, true)]);
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send(10);
    assert_eq!(bench.write_new(), [(0, 10, false)]);
    bench.sender.drain();
    bench.send(10);
    assert_eq!(bench.write_new(), [(1, 10, true)]);
}

#[test]
fn nagle_lets_a_full_packet_and_a_packet_of_what_was_held_go() {
    let mut bench = Bench::with(Profile::Rfc9260, |config| config.transmission.nagle = Nagle::On);
    bench.send(10);
    assert_eq!(bench.write_new().len(), 1);
    bench.send(10);
    bench.send(20);
    assert_eq!(bench.write_new(), []);
    bench.sack(1, &[]).unwrap();
    assert_eq!(bench.write_new(), [(1, 10, false), (2, 20, false)]);
    bench.send(FULL);
    assert_eq!(bench.write_new(), [(3, FULL, false)]);
    bench.send(10);
    bench.sender.drain();
    assert_eq!(bench.write_new().len(), 1, "the end of the association waits for nobody");
}

#[test]
fn congestion_window_is_exceeded_by_one_packet_only() {
    let mut bench = Bench::new(Profile::Rfc9260);
    (0..10).for_each(|_| bench.send(FULL));
    let packets: Vec<usize> = (0..6).map(|_| bench.write_new().len()).collect();
    assert_eq!(packets, [1, 1, 1, 1, 0, 0]);
}

/// RFC 9260 §6.1 (A): one chunk, when nothing is in flight and the timer allows it.
#[test]
fn closed_window_lets_one_probe_through() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(1, 0);
    bench.send(100);
    bench.send(100);
    bench.sack_with(1, 50, &[], &[]).unwrap();
    assert_eq!(bench.write_new(), []);
    assert!(bench.sender.needs_window_probe(bench.paths.path(PathIndex::FIRST)));
    bench.sender.allow_window_probe();
    assert_eq!(bench.write_new(), [(1, 100, false)]);
    assert_eq!(bench.write_new(), []);
    assert!(bench.sender.waits_for_window());
    assert!(!bench.sender.needs_window_probe(bench.paths.path(PathIndex::FIRST)));
}

/// A probe that was dropped goes out again with the window update, not with a timer.
#[test]
fn opened_window_repeats_what_was_dropped() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(1, 0);
    bench.send(100);
    bench.sack_with(1, 0, &[], &[]).unwrap();
    bench.sender.allow_window_probe();
    bench.write_new();
    bench.pass(500);
    bench.sack_with(1, 0, &[], &[]).unwrap();
    assert!(!bench.sender.has_lost());
    bench.sack_with(1, 5000, &[], &[]).unwrap();
    assert_eq!(bench.write_lost(), [(1, 100, false)]);
    assert!(!bench.sender.waits_for_window());
}
