//! Streams that start again, or are added (RFC 6525).

use super::interleaving::{INTERLEAVING, piece, take};
use super::*;
use crate::steps;
use crate::stream_set::StreamSet;

fn reset(receiver: &mut Receiver, streams: &[u16]) -> bool {
    let streams = StreamSet::of_list(streams.iter().copied().map(StreamId::new));
    receiver.reset_streams(Instant::EPOCH, &streams)
}

fn on_stream(stream: u16, tsn: u32, ssn: u16) -> Data<'static> {
    Data { stream: StreamId::new(stream), ..whole(tsn, ssn, b"a") }
}

#[test]
fn a_stream_that_is_reset_begins_at_ssn_0_and_the_others_go_on_rfc_6525_5_2_2() {
    let mut receiver = receiver(CONFIG);
    assert_eq!(arrive(&mut receiver, &on_stream(0, 1, 0)), READY);
    assert_eq!(arrive(&mut receiver, &on_stream(1, 2, 0)), READY);
    assert!(!reset(&mut receiver, &[1]));
    assert_eq!(arrive(&mut receiver, &on_stream(1, 3, 0)), READY);
    assert!(matches!(arrive(&mut receiver, &on_stream(0, 4, 0)), Arrival::Violation(_)));
    assert!(!reset(&mut receiver, &[]), "no stream listed: all");
    assert_eq!(arrive(&mut receiver, &on_stream(0, 4, 0)), READY);
    assert_eq!(arrive(&mut receiver, &on_stream(1, 5, 0)), READY);
}

#[test]
fn what_waits_in_vain_in_a_stream_that_is_reset_is_delivered_in_its_order() {
    let mut receiver = receiver(CONFIG);
    for (tsn, ssn) in [(1, u16::MAX - 1), (2, 2), (3, 1)] {
        // Numbers around the wrap: the stream has come to SSN 65533.
        receiver.ordering.skip(Instant::EPOCH, StreamId::new(0), Ssn::new(u16::MAX / 2).into());
        receiver.ordering.skip(Instant::EPOCH, StreamId::new(0), Ssn::new(u16::MAX - 3).into());
        assert_eq!(
            arrive(&mut receiver, &Data { payload: &ssn.to_be_bytes(), ..whole(tsn, ssn, b"") }),
            NOT_READY
        );
    }
    assert!(reset(&mut receiver, &[0]));
    let read = core::iter::from_fn(|| receiver.receive()).map(|received| received.message.payload.to_vec());
    assert_eq!(read.collect::<Vec<_>>(), [u16::MAX - 1, 1, 2].map(|ssn| ssn.to_be_bytes().to_vec()));
    assert!(receiver.is_empty() && receiver.memory_bytes() == 0);
}

/// RFC 8260 §2.3.2: the MIDs of ordered and of unordered messages.
#[test]
fn a_reset_sets_both_mids_back_and_forgets_what_was_never_ended_rfc_8260_2_3_2() {
    let mut receiver = receiver(INTERLEAVING);
    assert_eq!(take(&mut receiver, &piece(1, 0, 0, 0, 3, b"ordered")), READY);
    assert_eq!(take(&mut receiver, &piece(2, 0, 0, 0, 6, b"unordered, never ended")), NOT_READY);
    assert_eq!(take(&mut receiver, &piece(3, 1, 0, 0, 6, b"elsewhere")), NOT_READY);
    assert!(!reset(&mut receiver, &[0]));
    assert_eq!(take(&mut receiver, &piece(4, 0, 0, 0, 3, b"ordered")), READY);
    assert_eq!(take(&mut receiver, &piece(5, 0, 0, 0, 7, b"unordered")), READY);
    assert_eq!(take(&mut receiver, &piece(6, 1, 0, 1, 5, b"!")), READY);
    while receiver.receive().is_some() {}
    assert!(receiver.is_empty() && receiver.memory_bytes() == 0);
}

#[test]
fn streams_that_are_added_can_be_used_from_ssn_0_on_rfc_6525_5_2_5() {
    let mut receiver = receiver(CONFIG);
    assert!(matches!(arrive(&mut receiver, &on_stream(5, 1, 0)), Arrival::InvalidStream(_)));
    receiver.add_streams(2);
    assert_eq!(arrive(&mut receiver, &on_stream(5, 2, 0)), READY);
    assert!(matches!(arrive(&mut receiver, &on_stream(6, 3, 0)), Arrival::InvalidStream(_)));
}

#[test]
fn tsns_that_start_again_keep_what_is_complete_and_drop_the_rest_rfc_6525_5_2_4() {
    let first = DataFlags { ending: false, ..DataFlags::WHOLE };
    let mut receiver = receiver(CONFIG);
    arrive(&mut receiver, &whole(1, 0, b"read"));
    arrive(&mut receiver, &whole(3, 2, b"stranded"));
    arrive(&mut receiver, &Data { flags: first, ..whole(5, 3, b"begun") });
    assert!(receiver.restart_tsns(Instant::EPOCH, Tsn::new(1 << 31)));
    assert_eq!(receiver.cumulative_tsn(), Tsn::new((1 << 31) - 1));
    assert_eq!(arrive(&mut receiver, &whole(1 << 31, 0, b"anew")), READY);
    let read = core::iter::from_fn(|| receiver.receive()).map(|received| received.message.payload.to_vec());
    assert_eq!(read.collect::<Vec<_>>(), [&b"read"[..], b"stranded", b"anew"]);
    assert!(receiver.is_empty() && receiver.memory_bytes() == 0);
    assert_eq!(receiver.statistics().data_chunks, 4);
}

const MANY: u32 = 24_000;

/// Messages that wait for the first one of stream 1, or the beginnings of as many with I-DATA.
fn with_many_waiting(config: ReceiverConfig) -> Receiver {
    let mut receiver = receiver(ReceiverConfig { buffer_bytes: 16 << 20, inbound_streams: 2048, ..config });
    for number in 1..=MANY {
        let ssn = u16::try_from(number).unwrap();
        let arrival = match config.numbering() {
            Numbering::Ssn => arrive(&mut receiver, &on_stream(1, number, ssn)),
            Numbering::Mid => take(&mut receiver, &piece(number, 1, number, 0, 2, b"a")),
        };
        assert_eq!(arrival, NOT_READY);
    }
    receiver
}

#[test]
fn robustness_27_reset_takes_steps_for_the_streams_listed_and_what_it_delivers_or_drops() {
    let others: Vec<u16> = (2..600).chain([0, 5, 5, 5]).collect();
    for config in [CONFIG, INTERLEAVING] {
        let mut receiver = with_many_waiting(config);
        for (streams, most) in [(&[3][..], 5), (&others, 2 * 599), (&[1], 2 * MANY + 5), (&[], 5)] {
            let (_, steps) = steps::of(|| reset(&mut receiver, streams));
            assert!(steps <= u64::from(most), "{} streams listed: {steps} steps", streams.len());
        }
        assert!(!receiver.ordering.is_blocking() && receiver.reassembly.is_empty());
        // All of it is ready now, with DATA; TSNs that start again leave it where it is.
        let (_, steps) = steps::of(|| receiver.restart_tsns(Instant::EPOCH, Tsn::new(1 << 31)));
        assert_eq!(steps, 0);
    }
}
