//! What counts as lost: missing reports (RFC 9260 §7.2.4), time (RFC 8985 §6), silence (RFC 8985 §7).

use super::*;

#[test]
fn third_missing_report_declares_lost_and_only_once() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(8, 0);
    assert!(!bench.sack(0, &[(2, 2)]).unwrap().losses.any);
    assert!(!bench.sack(0, &[(2, 3)]).unwrap().losses.any);
    let outcome = bench.sack(0, &[(2, 4)]).unwrap();
    assert_eq!(outcome.losses.paths, PathIds::from_iter([PathIndex::FIRST]));
    assert!(outcome.recovering.is_empty());
    assert_eq!(bench.write_lost(), [(0, 100, false)]);
    for last in 5..=8 {
        assert!(!bench.sack(0, &[(2, last)]).unwrap().losses.any, "point 5: once");
    }
}

/// HTNA: a SACK reports missing only what is below the highest TSN it acknowledges for the first time.
#[test]
fn report_counts_only_below_the_highest_newly_acknowledged() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(8, 0);
    bench.sack(0, &[(2, 2), (8, 8)]).unwrap();
    // News at 3, then 5: chunks 6 and 7 stay at one report.
    bench.sack(0, &[(2, 3), (8, 8)]).unwrap();
    let outcome = bench.sack(0, &[(2, 3), (5, 5), (8, 8)]).unwrap();
    assert!(outcome.losses.any);
    assert_eq!(bench.write_lost(), [(0, 100, false)]);
}

#[test]
fn robustness_12_sack_without_news_reports_nothing_missing() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(4, 0);
    for _ in 0..10 {
        assert!(!bench.sack(0, &[(2, 2)]).unwrap().losses.any);
    }
}

/// In Fast Recovery an advancing cumulative ack counts for all that the SACK reports missing; the window is cut
/// once, and recovery ends with its exit point.
#[test]
fn recovery_counts_all_gaps_cuts_once_and_ends_at_its_exit_point() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(10, 0);
    for last in 3..=5 {
        bench.sack(0, &[(3, last)]).unwrap();
    }
    assert!(bench.sender.has_lost());
    bench.write_lost();
    // The sixth and the eighth chunk are reported once, then twice more though the news is below them.
    bench.sack(0, &[(3, 5), (7, 7), (9, 10)]).unwrap();
    let outcome = bench.sack(1, &[(2, 4), (6, 6), (8, 9)]).unwrap();
    assert!(!outcome.recovering.is_empty() && !outcome.losses.any);
    let outcome = bench.sack(5, &[(2, 2), (4, 5)]).unwrap();
    assert!(outcome.losses.any && outcome.losses.paths.is_empty());
    assert_eq!(bench.write_lost(), [(5, 100, false), (7, 100, false)]);
    let outcome = bench.sack(10, &[]).unwrap();
    assert!(outcome.recovering.is_empty());
}

/// RFC 8985 §6.2: a round trip and a quarter of it after it was sent, if a later one arrived.
#[test]
fn chunk_is_lost_when_a_later_one_arrived_and_the_reordering_window_has_passed() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 1);
    bench.pass(19);
    let outcome = bench.sack(0, &[(2, 2)]).unwrap();
    assert!(!outcome.losses.any);
    let due = outcome.losses.look_again_at.unwrap();
    assert_eq!(due, Instant::from_millis(1025));
    bench.pass(4);
    assert!(bench.now == due && bench.sender.losses_by_time(due, &bench.paths).any);
    assert_eq!(bench.write_lost(), [(0, 100, true)]);
}

#[test]
fn nothing_is_lost_while_only_earlier_chunks_arrived() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(3, 1);
    bench.pass(18);
    let outcome = bench.sack(1, &[]).unwrap();
    assert!(!outcome.losses.any && outcome.losses.look_again_at.is_none());
}

/// Three chunks beyond the gap end the patience, but not on a path that was seen to reorder.
#[test]
fn patience_ends_with_three_later_chunks_unless_the_path_reorders() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(4, 0);
    bench.pass(20);
    assert!(bench.sack(0, &[(2, 4)]).unwrap().losses.any);

    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 0);
    bench.pass(20);
    bench.sack(0, &[(2, 2)]).unwrap();
    bench.sack(2, &[]).unwrap();
    bench.send_apart(4, 0);
    bench.pass(20);
    let outcome = bench.sack(2, &[(2, 4)]).unwrap();
    assert!(!outcome.losses.any);
    assert_eq!(outcome.losses.look_again_at, Some(bench.now + Duration::from_millis(5)));
}

/// RFC 8985 §7.2, §7.3, with the departures that `rack` documents.
#[test]
fn probe_is_due_after_two_round_trips_doubles_and_carries_the_oldest_chunks() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 1);
    let due = |bench: &Bench| bench.sender.probe_at(bench.paths.path(PathIndex::FIRST));
    assert_eq!(due(&bench), Some(Instant::from_millis(1040)));
    bench.pass(38);
    assert_eq!(bench.write_probe(), [(0, 100, true), (1, 100, true)]);
    assert_eq!(due(&bench), Some(Instant::from_millis(1040 + 80)));
    bench.pass(80);
    bench.write_probe();
    assert_eq!(due(&bench), Some(Instant::from_millis(1120 + 160)));
    assert_eq!(bench.flight(), 2 * 116, "a probe does not leave flight");
}

/// A chunk may be longer than the packets of the path its probe takes (RFC 9260 §6.4, §7.3): then none goes, and the
/// next is due later, not again at once.
#[test]
fn probe_that_fits_no_packet_puts_off_the_next_one() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send(1000);
    bench.write_new();
    bench.pass(50);
    let due = |bench: &Bench| bench.sender.probe_at(bench.paths.path(PathIndex::FIRST)).unwrap();
    let first = due(&bench);
    let octets = bench.octets_within(500, |bench, writer| {
        let (path, now) = (bench.path, bench.now);
        assert!(!bench.sender.write_probe(now, bench.paths.path(path), path, writer));
    });
    assert_eq!(octets.len(), sctp_wire::COMMON_HEADER_BYTES);
    assert!(first < due(&bench));
}

#[test]
fn probe_leaves_out_what_was_sent_a_moment_ago() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(1, 39);
    bench.send_apart(1, 1);
    assert_eq!(bench.write_probe(), [(0, 100, true)]);
}

/// Where queues grow the round trip may double within itself: every oldest chunk is probed from then on, and unless the
/// chunks behind it are measured all the same, nothing is (RFC 9260 §6.3.1 (C5)). The letter measures nothing then.
#[test]
fn measurement_that_a_probe_spoiled_is_made_up_for_by_the_newest_chunk_acknowledged() {
    for (profile, expected) in [(Profile::Signalling, Some(60)), (Profile::Rfc9260, None)] {
        let mut bench = Bench::measured(profile);
        bench.send_apart(2, 0);
        bench.pass(20);
        bench.sack(1, &[]).unwrap();
        bench.send_apart(1, 20);
        let repeated = bench.write_probe();
        assert_eq!(repeated, [(1, 100, profile == Profile::Signalling)]);
        bench.pass(40);
        let measured = bench.sack(3, &[]).unwrap().rtt.first().map(|(_, rtt)| rtt.as_millis());
        assert_eq!(measured, expected, "{profile}");
    }
}

#[test]
fn no_probe_without_a_round_trip_or_in_the_profile_without_them() {
    for bench in [Bench::new(Profile::Signalling), Bench::measured(Profile::Rfc9260)] {
        let mut bench = bench;
        bench.send_apart(1, 0);
        assert_eq!(bench.sender.probe_at(bench.paths.path(PathIndex::FIRST)), None);
    }
}

/// RFC 8985 §7.4.2.
#[test]
fn answered_probe_is_a_recovery_and_a_duplicate_is_not() {
    let answered = |duplicates: &[u32]| {
        let mut bench = Bench::measured(Profile::Signalling);
        bench.send_apart(1, 40);
        bench.write_probe();
        bench.send_apart(1, 20);
        assert!(bench.sack(1, &[]).unwrap().repaired.is_empty(), "a duplicate may yet be reported");
        bench.pass(5);
        bench.sack_with(2, WINDOW, &[], duplicates).unwrap().repaired
    };
    assert_eq!(answered(&[]), PathIds::from_iter([PathIndex::FIRST]));
    assert!(answered(&[0]).is_empty());
}

/// A round trip has grown to three times the smoothed one: a probe comes too soon, and the report that it was needless comes a
/// present round trip after it.
#[test]
fn answered_probe_is_no_recovery_before_its_duplicate_can_have_been_reported() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(1, 25);
    bench.send_apart(1, 15);
    assert_eq!(bench.write_probe().len(), 1);
    bench.pass(20);
    assert!(bench.sack(1, &[]).unwrap().repaired.is_empty());
    bench.pass(25);
    let outcome = bench.sack(2, &[]).unwrap();
    assert!(outcome.repaired.is_empty(), "the probe was sent 45 ms ago, and a round trip takes 60");
    bench.pass(15);
    assert!(bench.sack_with(2, WINDOW, &[], &[0]).unwrap().repaired.is_empty());
}

/// RFC 9260 §6.3.3 (E3).
#[test]
fn timeout_declares_everything_in_flight_lost_and_nothing_that_arrived() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(5, 0);
    bench.sack(0, &[(2, 3)]).unwrap();
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    assert_eq!(bench.flight(), 0);
    let resent: Vec<u32> = bench.write_lost().iter().map(|(tsn, ..)| *tsn).collect();
    assert_eq!(resent, [0, 3, 4]);
}

/// A peer that paused answers the originals one by one, after a probe has gone out: that condemns nothing that was
/// sent between original and probe, and costs no window once the duplicates are reported.
#[test]
fn answers_to_originals_after_a_probe_are_no_evidence_of_loss() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(3, 0);
    bench.pass(39);
    bench.send_apart(2, 0);
    bench.pass(1);
    assert_eq!(bench.write_probe().len(), 3);
    bench.pass(21);
    for count in 1..=3 {
        let outcome = bench.sack(count, &[]).unwrap();
        assert!(!outcome.losses.any && outcome.repaired.is_empty(), "nothing is lost");
    }
    bench.pass(1);
    let outcome = bench.sack_with(5, WINDOW, &[], &[0, 1, 2]).unwrap();
    assert!(outcome.repaired.is_empty() && outcome.acknowledgment.spurious == 0);
}

/// One chunk was sent and acknowledged a round trip later.
fn delivered() -> Bench {
    let mut bench = Bench::measured(Profile::Signalling);
    send_packets(&mut bench, 1);
    bench.pass(20);
    bench.sack(1, &[]).unwrap();
    bench
}

/// Sends chunks of a packet each.
fn send_packets(bench: &mut Bench, count: usize) {
    for _ in 0..count {
        bench.send(1000);
        bench.write_new();
    }
}

/// The answer to the second probe tells it, and everything behind goes again.
#[test]
fn whole_flight_is_lost_when_the_probe_behind_an_answered_one_is_answered() {
    let mut bench = delivered();
    send_packets(&mut bench, 4);
    bench.pass(40);
    assert_eq!(bench.write_probe(), [(1, 1000, true)]);
    bench.pass(20);
    assert!(!bench.sack(2, &[]).unwrap().losses.any, "as from a peer that has paused");
    assert_eq!(bench.write_probe(), [(2, 1000, true)]);
    bench.pass(20);
    assert!(bench.sack(3, &[]).unwrap().losses.any);
    assert_eq!([bench.write_lost(), bench.write_lost()], [[(3, 1000, true)], [(4, 1000, true)]]);
}

/// A peer that has paused answers the originals: none of that tells of a loss, though probes were sent meanwhile.
#[test]
fn answers_to_originals_between_probes_are_no_evidence_of_loss() {
    for (second, wait) in [(2, 1), (3, 20), (3, 1)] {
        let mut bench = delivered();
        send_packets(&mut bench, 4);
        bench.pass(50);
        bench.write_probe();
        bench.pass(1);
        bench.sack(second, &[]).unwrap();
        assert_eq!(bench.write_probe(), [(second, 1000, true)]);
        bench.pass(wait);
        for count in second + 1..=5 {
            assert!(!bench.sack(count, &[]).unwrap().losses.any, "{second} {wait}");
        }
    }
}

/// The end of a queue that grows: packets leave it one by one, each later than a round trip was, and each is answered.
#[test]
fn answers_that_come_slowly_are_no_evidence_of_loss() {
    let mut bench = delivered();
    send_packets(&mut bench, 4);
    bench.pass(32);
    bench.sack(2, &[]).unwrap();
    for next in 2..5 {
        bench.pass(10);
        assert_eq!(bench.write_probe(), [(next, 1000, true)]);
        bench.pass(20);
        assert!(!bench.sack(next + 1, &[]).unwrap().losses.any);
    }
}

/// What the probe behind an answered one carries may have been sent since: then it is a first probe of its own.
#[test]
fn probe_of_what_was_sent_later_is_a_first_one() {
    let mut bench = delivered();
    send_packets(&mut bench, 1);
    bench.pass(40);
    assert_eq!(bench.write_probe(), [(1, 1000, true)]);
    bench.pass(1);
    send_packets(&mut bench, 3);
    bench.pass(19);
    bench.sack(2, &[]).unwrap();
    bench.pass(30);
    assert_eq!(bench.write_probe(), [(2, 1000, true)]);
    bench.pass(20);
    assert!(!bench.sack(3, &[]).unwrap().losses.any);
}
