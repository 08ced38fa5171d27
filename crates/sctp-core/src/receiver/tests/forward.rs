//! FORWARD TSN (RFC 3758 §3.6) and I-FORWARD-TSN (RFC 8260 §2.3.1).

use sctp_wire::Mid;

use super::super::forward::Skipped;
use super::interleaving::{INTERLEAVING, piece, take};
use super::*;

fn ssn(stream: u16, last: u16) -> Skipped {
    Skipped { stream: StreamId::new(stream), unordered: false, last: Ssn::new(last).into() }
}

fn mid(stream: u16, unordered: bool, last: u32) -> Skipped {
    Skipped { stream: StreamId::new(stream), unordered, last: Mid::new(last).into() }
}

fn forward(receiver: &mut Receiver, cumulative: u32, skipped: &[Skipped]) -> ForwardOutcome {
    receiver.forward(Instant::EPOCH, Tsn::new(cumulative), skipped.iter().copied())
}

/// A fragment of the message with SSN 0 of stream 0; `bits` as in the chunk header.
fn fragment(tsn: u32, bits: u8) -> Data<'static> {
    Data { flags: DataFlags::from(bits), ..whole(tsn, 0, b"part") }
}

fn ssns_read(receiver: &mut Receiver) -> usize {
    core::iter::from_fn(|| receiver.receive()).count()
}

const READY_NOW: ForwardOutcome = ForwardOutcome::Moved { message_ready: true };
const NOTHING_READY: ForwardOutcome = ForwardOutcome::Moved { message_ready: false };

/// The example of RFC 3758 §3.6, with 1 for 102.
#[test]
fn the_cumulative_tsn_moves_and_then_over_what_is_there_rfc_3758_3_6() {
    let mut receiver = receiver(CONFIG);
    for (tsn, number) in [(1, 0), (3, 2), (4, 3), (6, 5)] {
        arrive(&mut receiver, &whole(tsn, number, b"a"));
    }
    receiver.on_packet_end();
    assert_eq!(forward(&mut receiver, 2, &[ssn(0, 1)]), READY_NOW);
    assert_eq!(receiver.on_packet_end(), SackDemand::Immediate);
    assert_eq!(sack(&mut receiver), "cum=4 a_rwnd=99996 gaps=[2-2]");
    assert_eq!(ssns_read(&mut receiver), 3, "0, and 2 and 3 that were stranded");
    let given_up = receiver.statistics().given_up;
    assert_eq!((given_up.forward_tsns, given_up.messages), (1, 1));
}

#[test]
fn a_skipped_tsn_that_arrives_after_all_is_a_duplicate_rfc_3758_3_6() {
    let mut receiver = receiver(CONFIG);
    assert_eq!(forward(&mut receiver, 3, &[ssn(0, 2)]), NOTHING_READY);
    assert_eq!(arrive(&mut receiver, &whole(2, 1, b"a")), Arrival::Duplicate);
    assert_eq!(arrive(&mut receiver, &whole(4, 3, b"a")), READY);
}

#[test]
fn an_old_forward_tsn_changes_nothing_and_draws_a_sack_rfc_3758_3_6() {
    let mut receiver = receiver(CONFIG);
    arrive(&mut receiver, &whole(1, 0, b"a"));
    arrive(&mut receiver, &whole(2, 1, b"a"));
    receiver.on_packet_end();
    sack(&mut receiver);
    for cumulative in [2, 1, u32::MAX - 5] {
        assert_eq!(forward(&mut receiver, cumulative, &[ssn(0, 9)]), ForwardOutcome::Old);
        assert_eq!(receiver.on_packet_end(), SackDemand::Immediate);
    }
    assert_eq!(sack(&mut receiver), "cum=2 a_rwnd=99998");
    assert_eq!(arrive(&mut receiver, &whole(3, 2, b"a")), READY);
    assert_eq!(receiver.statistics().given_up.old_forward_tsns, 3);
}

#[test]
fn an_incomplete_message_is_dropped_and_its_memory_is_free_rfc_3758_3_6() {
    let mut receiver = receiver(CONFIG);
    for (tsn, bits) in [(1, 2), (3, 0)] {
        assert_eq!(arrive(&mut receiver, &fragment(tsn, bits)), NOT_READY);
    }
    assert_eq!(forward(&mut receiver, 4, &[ssn(0, 0)]), NOTHING_READY);
    assert!(receiver.is_empty());
    assert_eq!((receiver.memory_bytes(), receiver.a_rwnd()), (0, 100_000));
    assert_eq!(arrive(&mut receiver, &whole(5, 1, b"next")), READY);
}

/// Nothing of it is missing at or below the new cumulative TSN: it may still be completed.
#[test]
fn a_message_that_misses_nothing_so_far_survives_rfc_3758_3_6() {
    let mut receiver = receiver(CONFIG);
    let unordered = |tsn, bits| Data { flags: DataFlags::from(bits), ..whole(tsn, 0, b"part") };
    for (tsn, bits) in [(2, 6), (3, 4)] {
        assert_eq!(arrive(&mut receiver, &unordered(tsn, bits)), NOT_READY);
    }
    assert_eq!(forward(&mut receiver, 1, &[]), NOTHING_READY);
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(3));
    assert_eq!(arrive(&mut receiver, &unordered(4, 5)), READY);
}

#[test]
fn the_rest_of_a_message_given_up_is_acknowledged_and_thrown_away() {
    let mut receiver = receiver(CONFIG);
    arrive(&mut receiver, &fragment(1, 2));
    assert_eq!(forward(&mut receiver, 2, &[ssn(0, 0)]), NOTHING_READY);
    assert_eq!(arrive(&mut receiver, &fragment(3, 0)), Arrival::GivenUp);
    assert_eq!(arrive(&mut receiver, &fragment(4, 1)), Arrival::GivenUp);
    assert_eq!(arrive(&mut receiver, &whole(5, 1, b"next")), READY);
    assert_eq!((receiver.cumulative_tsn(), receiver.statistics().given_up.late_chunks), (Tsn::new(5), 2));
}

/// FORWARD TSN lists ordered messages only: TSNs show where this one goes on.
#[test]
fn the_rest_of_an_unordered_message_given_up_is_thrown_away_too() {
    for rest in [&[(3, 4), (4, 5)][..], &[]] {
        let mut receiver = receiver(CONFIG);
        arrive(&mut receiver, &fragment(1, 6));
        assert_eq!(forward(&mut receiver, 2, &[]), NOTHING_READY);
        for &(tsn, bits) in rest {
            assert_eq!(arrive(&mut receiver, &fragment(tsn, bits)), Arrival::GivenUp);
        }
        let next = receiver.cumulative_tsn().next().get();
        assert_eq!(arrive(&mut receiver, &fragment(next, 7)), READY);
        receiver.receive();
        assert_eq!(receiver.memory_bytes(), 0);
    }
}

/// Nothing of it is missing so far, yet the TSN after it begins another: the sender never numbered the rest.
#[test]
fn an_unordered_message_given_up_half_sent_ends_where_the_next_one_begins() {
    let mut cut_off = receiver(CONFIG);
    arrive(&mut cut_off, &fragment(2, 6));
    assert_eq!(forward(&mut cut_off, 2, &[]), NOTHING_READY);
    assert_eq!(arrive(&mut cut_off, &fragment(3, 7)), READY);
    cut_off.receive();
    assert_eq!(cut_off.memory_bytes(), 0);
}

#[test]
fn robustness_16_a_jump_beyond_what_can_be_in_flight_is_discarded_and_counted() {
    let mut receiver = receiver(CONFIG);
    arrive(&mut receiver, &whole(2, 1, b"a"));
    for cumulative in [70_000, 1 << 30, (1 << 31) - 1] {
        assert_eq!(forward(&mut receiver, cumulative, &[ssn(0, 9)]), ForwardOutcome::OutOfReach);
    }
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(0));
    assert_eq!(receiver.statistics().given_up.dropped_forward_tsns, 3);
    assert_eq!(receiver.on_packet_end(), SackDemand::Immediate);
    assert_eq!(forward(&mut receiver, 65_535, &[ssn(0, 9)]), READY_NOW);
}

#[test]
fn robustness_16_streams_that_do_not_exist_are_counted_and_cost_nothing() {
    let mut receiver = receiver(CONFIG);
    let skipped: Vec<_> = (4..1_000).map(|stream| ssn(stream, 7)).collect();
    assert_eq!(forward(&mut receiver, 1, &skipped), NOTHING_READY);
    let given_up = receiver.statistics().given_up;
    assert_eq!((given_up.invalid_streams, given_up.messages), (996, 0));
}

#[test]
fn an_i_forward_tsn_drops_what_it_lists_and_nothing_else_rfc_8260_2_3_1() {
    let mut receiver = receiver(INTERLEAVING);
    let arriving = [
        piece(2, 0, 0, 1, 0, b"ordered, given up"),
        piece(3, 0, 1, 0, 3, b"ordered, stranded"),
        piece(4, 0, 0, 0, 6, b"unordered, given up"),
        piece(5, 0, 1, 0, 6, b"unordered, kept"),
        piece(6, 1, 0, 0, 2, b"another stream's, kept"),
    ];
    assert!(arriving.iter().all(|fragment| take(&mut receiver, fragment) == NOT_READY));
    assert_eq!(forward(&mut receiver, 1, &[mid(0, false, 0), mid(0, true, 0)]), READY_NOW);
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(6));
    assert_eq!(&receiver.receive().unwrap().message.payload[..], b"ordered, stranded");
    assert_eq!(take(&mut receiver, &piece(7, 0, 1, 1, 5, b"")), Arrival::NoUserData(Tsn::new(7)));
    assert_eq!(take(&mut receiver, &piece(7, 0, 1, 1, 5, b".")), READY);
    assert_eq!(take(&mut receiver, &piece(8, 1, 0, 1, 1, b".")), READY);
    assert_eq!(ssns_read(&mut receiver), 2);
    assert_eq!((receiver.memory_bytes(), receiver.statistics().given_up.messages), (0, 2));
}

/// Other messages' chunks stand between: a fragment of a message given up may come with a higher TSN.
#[test]
fn late_fragments_of_a_skipped_mid_are_acknowledged_and_thrown_away_rfc_8260_2_3_1() {
    let mut receiver = receiver(INTERLEAVING);
    forward(&mut receiver, 1, &[mid(0, false, 0)]);
    assert_eq!(take(&mut receiver, &piece(2, 0, 0, 1, 1, b"late")), Arrival::GivenUp);
    assert_eq!(take(&mut receiver, &piece(3, 0, 1, 0, 3, b"next")), READY);
    assert_eq!((receiver.cumulative_tsn(), receiver.a_rwnd()), (Tsn::new(3), 100_000 - 4));
}

#[test]
fn mids_below_a_skipped_one_are_skipped_across_the_wrap_rfc_8260_2_1() {
    let mut receiver = receiver(INTERLEAVING);
    for (tsn, number) in [(2, u32::MAX - 1), (3, u32::MAX), (4, 0), (5, 1), (6, 2)] {
        take(&mut receiver, &piece(tsn, 0, number, 0, 6, b"x"));
    }
    assert_eq!(forward(&mut receiver, 1, &[mid(0, true, 1)]), NOTHING_READY);
    assert_eq!(receiver.statistics().given_up.messages, 4);
    assert_eq!(take(&mut receiver, &piece(7, 0, 2, 1, 5, b"x")), READY);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn robustness_16_no_mix_of_chunks_and_forward_tsns_panics_leaks_or_exceeds_the_limits(
        steps in prop::collection::vec(
            (0_u32..20, 0_u16..6, 0_u32..5, 0_u32..4, any::<u8>(), any::<bool>()), 0..300),
        interleaving: bool,
    ) {
        let base = if interleaving { INTERLEAVING } else { CONFIG };
        let config = ReceiverConfig { buffer_bytes: 4_000, message_bytes: 1_000, ..base };
        let mut receiver = Receiver::new(config, Tsn::new(u32::MAX - 5), &blocks());
        for (ahead, stream, number, fsn, bits, is_forward) in steps {
            let tsn = receiver.cumulative_tsn().advance(ahead);
            let stream = StreamId::new(stream);
            let sequence = if interleaving { Mid::new(number).into() } else {
                Ssn::new(u16::try_from(number).unwrap()).into()
            };
            if is_forward {
                let skipped = Skipped { stream, unordered: bits & 4 != 0 && interleaving, last: sequence };
                receiver.forward(Instant::EPOCH, tsn, [skipped].into_iter());
            } else {
                let fragment = piece(0, 0, 0, if bits & 2 == 0 { fsn } else { 0 }, bits, &[0; 50]);
                receiver.on_fragment(Instant::EPOCH, &DataChunk { tsn, stream, sequence, ..fragment });
            }
            receiver.on_packet_end();
            prop_assert!(receiver.memory_bytes() <= MEMORY_FACTOR * (4_000 + 1_000));
            sack(&mut receiver);
        }
        while receiver.receive().is_some() {}
        // Everything given up: nothing incomplete may stay, nor be accounted for.
        let end = receiver.cumulative_tsn().advance(5_000);
        let all = (0..4).flat_map(|stream| [false, true].map(|unordered| Skipped {
            stream: StreamId::new(stream),
            unordered: unordered && interleaving,
            last: if interleaving { Mid::new(100).into() } else { Ssn::new(100).into() },
        }));
        receiver.forward(Instant::EPOCH, end, all);
        while receiver.receive().is_some() {}
        prop_assert!(receiver.is_empty());
        prop_assert_eq!(receiver.memory_bytes(), 0);
    }
}
