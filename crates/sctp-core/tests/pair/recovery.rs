//! What a lost packet costs, in both profiles. Round trip 20 ms.

use netem::Impairments;

use crate::net::{End, Pair, Setup, ms, ordered};

/// Established, and the round trip is known from ten messages, each acknowledged at once or by the next.
fn measured(setup: Setup) -> Pair {
    let mut pair = setup.connected();
    for number in 0..10 {
        pair.send(End::Left, ordered(0, number, 100));
        pair.run_ms(250);
    }
    assert_eq!(pair.side(End::Right).received.len(), 10);
    pair
}

/// Messages 5 ms apart, each in a packet of its own; gives the time the first one left.
fn send_spaced(pair: &mut Pair, count: usize) -> u64 {
    let begun = pair.now_ms();
    for number in 0..count {
        pair.send(End::Left, ordered(0, number, 100));
        pair.run_ms(5);
    }
    begun
}

#[test]
fn lone_message_is_recovered_by_a_probe_after_two_round_trips() {
    let mut pair = measured(Setup::signalling());
    pair.drop_next(End::Left, &[1]);
    let begun = send_spaced(&mut pair, 1);
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [begun, begun + 40]);
    assert_eq!(pair.read_times(End::Right)[10], begun + 50);
}

#[test]
fn repeated_probes_double_and_then_the_timer_takes_over() {
    let mut pair = measured(Setup::signalling());
    pair.drop_next(End::Left, &[1, 2, 3]);
    let begun = send_spaced(&mut pair, 1);
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [0, 40, 120, 200].map(|after| begun + after));
    assert_eq!(pair.read_times(End::Right)[10], begun + 210);
    let path = pair.statistics(End::Left).paths[0];
    assert_eq!((path.counters.probes, path.counters.timeouts), (2, 1));
}

/// RFC 8985 §7.4: the probe repaired a loss, so the window is cut as for any other.
#[test]
fn probe_that_repaired_a_loss_counts_as_a_recovery_and_a_needless_one_does_not() {
    let mut pair = measured(Setup::signalling());
    pair.drop_next(End::Left, &[1]);
    send_spaced(&mut pair, 1);
    pair.run_ms(1000);
    // A later acknowledgment without duplicates settles it.
    send_spaced(&mut pair, 1);
    pair.run_ms(100);
    assert_eq!(pair.statistics(End::Left).paths[0].counters.recoveries, 1);

    let mut pair = measured(Setup::signalling());
    pair.drop_next(End::Right, &[1]);
    send_spaced(&mut pair, 1);
    pair.run_ms(1000);
    let statistics = pair.statistics(End::Left);
    assert_eq!((statistics.paths[0].counters.probes, statistics.paths[0].counters.recoveries), (1, 0));
    assert_eq!(statistics.sender.duplicates_reported, 1);
    assert_eq!(pair.side(End::Right).received.len(), 11);
}

/// The state cookie tells the accepting end a round trip (RFC 9260 §6.3.1 (C2)): its very first message is probed for.
#[test]
fn first_message_of_the_accepting_end_is_recovered_like_any_other() {
    let mut pair = Setup::signalling().connected();
    assert_eq!(pair.statistics(End::Right).paths[0].srtt, Some(ms(20)));
    pair.drop_next(End::Right, &[1]);
    let begun = pair.now_ms();
    pair.send(End::Right, ordered(0, 1, 100));
    pair.run_ms(500);
    assert_eq!(pair.times_of(End::Right, "DATA", begun), [begun, begun + 40]);
}

/// RFC 9260 §6.3.1 (C5): a COOKIE ECHO that may have been repeated is no measurement.
#[test]
fn age_of_a_cookie_that_was_echoed_late_is_no_round_trip() {
    let mut pair = Setup::signalling().drop_from_left(&[2]).build();
    pair.connect();
    pair.run_ms(2000);
    assert_eq!(pair.statistics(End::Right).paths[0].srtt, None);
}

/// Lost is what is a round trip and a quarter late when a later chunk is acknowledged (RFC 8985 §6.2).
#[test]
fn loss_is_repaired_at_the_next_acknowledgment_or_after_a_round_trip_and_a_quarter() {
    for (gap, expected) in [(1, 25), (5, 25), (10, 30), (15, 35)] {
        let mut pair = measured(Setup::signalling());
        pair.drop_next(End::Left, &[1]);
        let begun = pair.now_ms();
        pair.send(End::Left, ordered(0, 1, 100));
        pair.run_ms(gap);
        pair.send(End::Left, ordered(1, 2, 100));
        pair.run_ms(1000);
        let times = [0, gap, expected].map(|after| begun + after);
        assert_eq!(pair.times_of(End::Left, "DATA", begun), times, "gap {gap} ms");
        assert_eq!(pair.read_times(End::Right)[11], begun + expected + 10);
    }
}

/// No later chunk tells of it, and a packet in each round trip would restart T3-rtx for as long as there are packets.
#[test]
fn whole_flight_that_is_lost_goes_again_after_two_answered_probes() {
    let mut pair = measured(Setup::signalling());
    for number in 0..100 {
        pair.send(End::Left, ordered(0, number, 1200));
    }
    pair.run_ms(1000);
    let lost: Vec<u64> = (1..=40).collect();
    pair.drop_next(End::Left, &lost);
    let begun = pair.now_ms();
    for number in 0..40 {
        pair.send(End::Left, ordered(0, number, 1200));
    }
    pair.run_ms(1000);
    let times: Vec<u64> = pair.read_times(End::Right)[110..].iter().map(|read| read - begun).collect();
    assert_eq!(times[..3], [50, 70, 90]);
    assert!(times[39] < 120, "{times:?}");
    let path = pair.statistics(End::Left).paths[0];
    assert_eq!((path.counters.probes, path.counters.timeouts), (2, 0));
}

#[test]
fn lost_retransmission_is_found_like_any_other_loss() {
    let mut pair = measured(Setup::signalling());
    pair.drop_next(End::Left, &[1, 3]);
    let begun = send_spaced(&mut pair, 2);
    pair.run_ms(20);
    pair.send(End::Left, ordered(0, 3, 100));
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [0, 5, 25, 30, 50].map(|after| begun + after));
    assert_eq!(pair.statistics(End::Left).paths[0].counters.timeouts, 0);
}

/// RFC 9260 §7.2.4.
#[test]
fn third_missing_report_triggers_the_fast_retransmission() {
    let mut pair = measured(Setup::rfc9260());
    pair.drop_next(End::Left, &[1]);
    let begun = send_spaced(&mut pair, 5);
    pair.run_ms(2000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [0, 5, 10, 15, 20, 35].map(|after| begun + after));
    assert_eq!(pair.read_times(End::Right)[10..], [begun + 45; 5]);
    let statistics = pair.statistics(End::Left);
    assert_eq!((statistics.paths[0].counters.recoveries, statistics.paths[0].counters.timeouts), (1, 0));
    let blocked = pair.statistics(End::Right).receiver.blocked;
    assert_eq!(blocked.histogram().count(), 4);
}

/// RFC 9260 §7.2.4 (5): a chunk is fast-retransmitted once; the rest is the timer's, RTO.Min after the attempt.
#[test]
fn lost_fast_retransmission_costs_the_minimal_timeout() {
    let mut pair = measured(Setup::rfc9260());
    pair.drop_next(End::Left, &[1, 5]);
    let begun = send_spaced(&mut pair, 4);
    pair.run_ms(3000);
    let times = pair.times_of(End::Left, "DATA", begun);
    assert_eq!(times.last(), Some(&(begun + 1035)), "{times:?}");
    assert_eq!(pair.read_times(End::Right)[10..], [begun + 1045; 4]);
    assert_eq!(pair.statistics(End::Left).paths[0].counters.timeouts, 1);
}

/// RFC 9260 §6.3.1 (C5), §7.2.3.
#[test]
fn timeout_shrinks_the_window_to_one_packet_and_its_answer_is_no_measurement() {
    let mut pair = measured(Setup::rfc9260());
    let before = pair.statistics(End::Left).paths[0];
    pair.drop_next(End::Left, &[1]);
    let begun = send_spaced(&mut pair, 1);
    pair.run_ms(1200);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [begun, begun + 1000]);
    pair.run_ms(100);
    let after = pair.statistics(End::Left).paths[0];
    assert_eq!(after.cwnd_bytes, 1400 - 20 - 12);
    assert_eq!(after.srtt, before.srtt);
    assert_eq!(after.rto, 2 * before.rto);
    assert_eq!(after.errors, 0);
}

/// RFC 5682, RFC 4015 §3.2: the duplicate shows that the original was only late.
#[test]
fn timeout_by_a_delay_spike_gives_window_and_timeout_back() {
    // T3-rtx runs out before a probe would go.
    let mut pair = measured(Setup::signalling().configure(|config| config.rto.min = ms(30)));
    let before = pair.statistics(End::Left).paths[0];
    pair.impair(End::Left, Impairments { delay: ms(150), ..Impairments::default() });
    pair.send(End::Left, ordered(0, 1, 100));
    pair.impair(End::Left, Impairments { delay: ms(10), ..Impairments::default() });
    pair.run_ms(40);
    let shrunk = pair.statistics(End::Left).paths[0];
    assert_eq!(shrunk.counters.timeouts, 1);
    assert!(shrunk.cwnd_bytes < before.cwnd_bytes && shrunk.rto == 2 * before.rto);
    pair.run_ms(200);
    let after = pair.statistics(End::Left).paths[0];
    assert_eq!(after.counters.recoveries_undone, 1);
    assert_eq!((after.cwnd_bytes, after.ssthresh_bytes, after.rto), (before.cwnd_bytes, None, before.rto));
}

#[test]
fn timeouts_double_until_an_answer_comes() {
    let mut pair = measured(Setup::rfc9260());
    pair.cut();
    let begun = send_spaced(&mut pair, 1);
    pair.run_ms(16_000);
    pair.mend();
    pair.run_ms(20_000);
    let times = [0, 1000, 3000, 7000, 15_000, 31_000].map(|after| begun + after);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), times);
    assert_eq!(pair.side(End::Right).received.len(), 11);
}

/// The stacks of the studies: three further reports send a chunk again, where RFC 9260 §7.2.4 (5) waits for the timer.
/// Reports of what was sent before the retransmission say nothing about it.
#[test]
fn studies_profile_fast_retransmits_again_after_three_further_reports() {
    let mut pair = measured(Setup::studies());
    pair.drop_next(End::Left, &[1, 8]);
    let begun = send_spaced(&mut pair, 14);
    pair.run_ms(3000);
    let again = pair.times_of(End::Left, "DATA", begun);
    assert_eq!(pair.read_times(End::Right)[10..].first(), Some(&(begun + 80)), "{again:?}");
    let statistics = pair.statistics(End::Left);
    assert_eq!(statistics.sender.retransmissions, 2);
    assert_eq!((statistics.paths[0].counters.recoveries, statistics.paths[0].counters.timeouts), (1, 0));
    assert_eq!(pair.side(End::Right).received.len(), 24);
}

/// RFC 9260 §7.2.1, §7.2.3: small packets would fit the one-packet window twice.
#[test]
fn after_a_timeout_one_packet_travels_until_it_is_acknowledged() {
    let mut pair = measured(Setup::rfc9260());
    pair.drop_next(End::Left, &[1]);
    let begun = send_spaced(&mut pair, 1);
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [begun, begun + 1000]);
    pair.send(End::Left, ordered(0, 2, 100));
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun)[2..], [begun + 1220], "by the peer's delayed SACK");
}

/// RFC 9260 §6.3.1 (C5): a round trip that has trebled sees every chunk probed before its answer comes. The duplicates that
/// the peer reports say how long the originals took; from then on nothing is sent twice any more.
#[test]
fn round_trip_that_has_trebled_is_measured_though_every_chunk_is_probed() {
    for gap_ms in [10, 300] {
        let mut pair = Setup::signalling().connected();
        let talk = |pair: &mut Pair, count: usize| {
            for number in 0..count {
                pair.send(End::Left, ordered(0, number, 100));
                pair.run_ms(gap_ms);
            }
        };
        talk(&mut pair, 20);
        let longer = Impairments { delay: ms(30), ..Impairments::default() };
        [End::Left, End::Right].into_iter().for_each(|end| pair.impair(end, longer.clone()));
        talk(&mut pair, 300);
        let before = pair.statistics(End::Left);
        let srtt_ms = before.paths[0].srtt.unwrap().as_millis();
        assert!((55..=65).contains(&srtt_ms), "{gap_ms}: {srtt_ms} ms");
        talk(&mut pair, 100);
        let after = pair.statistics(End::Left);
        let repeated =
            |of: &sctp_core::AssociationStatistics| of.sender.probe_chunks + of.sender.retransmissions;
        assert_eq!(repeated(&after), repeated(&before), "every {gap_ms} ms");
    }
}

/// A queue that builds up before a peer multiplies the round trip: every chunk is probed several times, and T3-rtx runs out, before its
/// answer comes, which feeds the queue. Once the peer has reported all of it as duplicates the original is known to be what was answered,
/// and the round trip is measured.
#[test]
fn round_trip_that_has_grown_many_times_is_measured_and_probes_end() {
    for (delay_ms, gap_ms) in [(150, 10), (150, 320), (150, 1000), (400, 10), (400, 820), (400, 2000)] {
        let mut pair = Setup::signalling().connected();
        let repeated_in = |pair: &mut Pair, count: usize| {
            let repeated = |pair: &Pair| {
                let sender = pair.statistics(End::Left).sender;
                sender.probe_chunks + sender.retransmissions
            };
            let before = repeated(pair);
            for number in 0..count {
                pair.send(End::Left, ordered(0, number, 100));
                pair.run_ms(gap_ms);
            }
            repeated(pair) - before
        };
        assert_eq!(repeated_in(&mut pair, 20), 0);
        let longer = Impairments { delay: ms(delay_ms), ..Impairments::default() };
        [End::Left, End::Right].into_iter().for_each(|end| pair.impair(end, longer.clone()));
        let measuring = repeated_in(&mut pair, 500);
        let (each_at_a_time, bound) = (gap_ms > 2 * delay_ms, 20);
        assert!(!each_at_a_time || measuring <= bound, "{delay_ms}, every {gap_ms} ms: {measuring}");
        assert_eq!(repeated_in(&mut pair, 100), 0, "{delay_ms}, every {gap_ms} ms");
    }
}
