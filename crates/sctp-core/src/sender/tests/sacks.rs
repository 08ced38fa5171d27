//! SACK processing (RFC 9260 §6.2.1), round trips, the send buffer.

use proptest::prelude::*;

use super::*;

#[test]
fn cumulative_ack_frees_chunks_and_buffer_across_the_wrap_of_the_tsn() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(5, 0);
    assert_eq!(bench.flight(), 5 * 116);
    let outcome = bench.sack(4, &[]).unwrap();
    assert!(outcome.acknowledgment.cumulative_advanced && !outcome.all_acknowledged);
    assert_eq!((bench.flight(), bench.sender.waiting_bytes()), (116, 164));
    assert!(bench.sack(5, &[]).unwrap().all_acknowledged);
    assert_eq!((bench.flight(), bench.sender.waiting_bytes()), (0, 0));
}

#[test]
fn gap_ack_blocks_leave_flight_but_not_the_buffer() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(5, 0);
    let outcome = bench.sack(1, &[(2, 3)]).unwrap();
    assert_eq!(outcome.acknowledgment.paths[0].highest_new, Some(FIRST.advance(3)));
    assert_eq!(outcome.acknowledgment.paths[0].bytes, 3 * 116);
    assert_eq!((bench.flight(), bench.sender.waiting_bytes()), (2 * 116, 4 * 164));
    let outcome = bench.sack(1, &[(2, 3)]).unwrap();
    assert!(!outcome.acknowledgment.is_news && outcome.acknowledgment.paths.is_empty());
}

#[test]
fn contradictory_and_old_sacks_are_refused_whole() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(5, 0);
    bench.sack(2, &[]).unwrap();
    let flight = bench.flight();
    for gaps in [&[(1, 1)][..], &[(3, 2)], &[(3, 3), (2, 2)], &[(2, 3), (3, 3)], &[(0, 0)]] {
        assert!(matches!(bench.sack(2, gaps), Err(SackRefused::Malformed)), "{gaps:?}");
    }
    assert!(matches!(bench.sack(1, &[]), Err(SackRefused::Old)));
    assert!(matches!(bench.sack(6, &[]), Err(SackRefused::Violation(_))));
    assert!(matches!(bench.sack(2, &[(3, 4)]), Err(SackRefused::Violation(_))));
    assert_eq!(bench.flight(), flight);
}

/// RFC 9260 §6.2.1 (D) (iii); a SACK without news may be old and says nothing.
#[test]
fn reneged_chunk_counts_as_in_flight_again() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(6, 0);
    bench.sack(0, &[(2, 4)]).unwrap();
    assert_eq!(bench.flight(), 3 * 116);
    bench.sack(0, &[(2, 2)]).unwrap();
    assert_eq!(bench.flight(), 3 * 116);
    bench.sack(0, &[(2, 2), (6, 6)]).unwrap();
    assert_eq!(bench.flight(), 4 * 116);
}

/// RFC 9260 §3.3.8: a SHUTDOWN reports no gaps, so it takes none back; nor does a SACK with too many to report.
#[test]
fn nothing_is_reneged_above_the_last_block() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(6, 0);
    bench.sack(0, &[(2, 2), (4, 6)]).unwrap();
    assert_eq!(bench.flight(), 2 * 116);
    // Chunk 1 is news, chunk 2 is missing by the letter, 4 to 6 are not spoken of.
    assert!(!bench.sack(1, &[]).unwrap().losses.any);
    assert_eq!(bench.flight(), 2 * 116);
}

/// RFC 9260 §6.3.1 (C4), (C5): one measurement per round trip, none from what was sent twice.
#[test]
fn round_trip_is_measured_once_and_never_on_a_retransmission() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(2, 5);
    bench.pass(10);
    let rtt = bench.sack(2, &[]).unwrap().rtt;
    assert_eq!(rtt[..], [(PathIndex::FIRST, Duration::from_millis(20))]);
    bench.send_apart(1, 1000);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    assert_eq!(bench.write_lost().len(), 1);
    bench.pass(20);
    assert!(bench.sack(3, &[]).unwrap().rtt.is_empty());
}

#[test]
fn buffer_refuses_beyond_its_limit_and_tells_when_a_quarter_is_free() {
    let mut bench = Bench::with(Profile::Rfc9260, |config| {
        config.buffers.send_bytes = 5000;
        config.buffers.message_bytes = 1000;
    });
    let message = Message::ordered(StreamId::new(0), vec![7; 100]);
    let mut sent = 0;
    while bench.sender.send(bench.now, message.clone()).is_ok() {
        bench.write_new();
        sent += 1;
    }
    assert!((15..=20).contains(&sent), "{sent}");
    let refused = bench.sender.send(bench.now, message.clone());
    assert_eq!(refused, Err(SendError::BufferFull(message)));
    let told: Vec<u32> =
        (1..=sent).filter(|count| bench.sack(*count, &[]).unwrap().buffer_available).collect();
    assert!(told.len() == 1 && told[0] >= sent / 5 && told[0] < sent / 2, "told once: {told:?} of {sent}");
}

#[test]
fn the_buffer_for_so_many_messages_has_room_for_them_and_not_for_more() {
    for (messages, octets) in [(1, 100), (3, 100), (20, 100), (40, 100), (655, 100), (4, 1000), (65, 1000)] {
        for is_sent in [false, true] {
            let mut bench = Bench::with(Profile::Rfc9260, |config| {
                config.buffers.send_bytes = crate::Buffers::send_bytes_for(messages, octets);
                config.buffers.message_bytes = octets;
            });
            let message = Message::ordered(StreamId::new(0), vec![7; octets]);
            let mut taken = 0_usize;
            while bench.sender.send(bench.now, message.clone()).is_ok() {
                if is_sent {
                    bench.write_new();
                }
                taken += 1;
            }
            assert!(
                taken.abs_diff(messages) <= messages / 8,
                "{taken} of {messages} of {octets} octets, sent: {is_sent}"
            );
        }
    }
}

#[test]
fn one_message_larger_than_the_buffer_with_its_overhead_is_taken_when_it_is_empty() {
    let mut bench = Bench::with(Profile::Rfc9260, |config| {
        config.buffers.send_bytes = 1000;
        config.buffers.message_bytes = 1000;
    });
    bench.send(1000);
    assert_eq!(bench.sender.waiting_bytes(), 1064);
}

/// RFC 9260 §6.2.1 (B), (C): what is lost makes room, what is sent again takes it.
#[test]
fn window_counts_what_is_in_flight_and_nothing_else() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(4, 0);
    bench.sack_with(1, 1000, &[], &[]).unwrap();
    assert_eq!(bench.sender.free_window(), 700);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    assert_eq!(bench.sender.free_window(), 1000);
    assert_eq!(bench.write_lost().len(), 3);
    assert_eq!(bench.sender.free_window(), 700);
}

/// A message that is under way stays, and the buffer is freed once, if fewer streams are negotiated late.
#[test]
fn message_under_way_survives_a_late_negotiation() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.sender.send(bench.now, Message::ordered(StreamId::new(5), vec![5; 3000])).unwrap();
    bench.sender.send(bench.now, Message::ordered(StreamId::new(6), vec![6; 10])).unwrap();
    bench.send(10);
    bench.write_new();
    let unknown = bench.sender.on_negotiated(agreed(2, Capabilities::NONE), WINDOW);
    assert_eq!(unknown.len(), 1);
    assert_eq!(unknown[0].stream, StreamId::new(6));
    assert_eq!(bench.write_new(), [(1, FULL, false)]);
    assert_eq!(bench.write_new(), [(2, 3000 - 2 * FULL, false), (3, 10, false)]);
    bench.sack(4, &[]).unwrap();
    assert_eq!(bench.sender.waiting_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn news_of_a_path_says_whether_its_earliest_outstanding_chunk_is_among_it(
        on_second in prop::collection::vec(any::<bool>(), 1..20),
        lost in any::<[bool; 2]>(),
        sacks in prop::collection::vec((0..20_u32, 0..3_u16, 0..3_u16), 1..4),
    ) {
        let mut bench = Bench::new(Profile::Rfc9260);
        bench.change_over();
        for is_second in &on_second {
            bench.path = PathIndex::new(u8::from(*is_second));
            bench.send(100);
            bench.write_new();
        }
        let paths = [0, 1].map(PathIndex::new);
        for (path, _) in paths.into_iter().zip(lost).filter(|(_, is_lost)| *is_lost) {
            bench.sender.lose_flight(bench.now, path);
        }
        for (count, skipped, covered) in sacks {
            let blocks = if covered == 0 { vec![] } else { vec![(2 + skipped, 1 + skipped + covered)] };
            let tsn = |index| bench.sender.outstanding.tsn_at(index);
            let earliest = paths.map(|path| bench.sender.outstanding.earliest(path).map(tsn));
            let Ok(outcome) = bench.sack(count, &blocks) else { continue };
            for news in &outcome.acknowledgment.paths {
                let first = earliest[news.path.index()].map(|tsn| FIRST.distance(tsn) + 1);
                let range = blocks.iter().flat_map(|(start, end)| *start..=*end);
                let is_delivered = |first| first <= count || range.clone().any(|at| count + u32::from(at) == first);
                prop_assert_eq!(news.earliest, first.is_some_and(is_delivered));
            }
        }
    }
}
