//! Long messages in pieces (RFC 9260 §6.9, RFC 6458 §6.1.7).

use sctp_wire::Fsn;

use super::interleaving::{INTERLEAVING, piece, take};
use super::*;
use crate::message::Piece;

const POINT: Option<usize> = Some(4);

/// A payload; for a piece also the number of its message, its offset, and whether it is the last.
type Told = (String, Option<(u64, u64, bool)>);

/// What is ready.
fn ready(receiver: &mut Receiver) -> Vec<Told> {
    let read = core::iter::from_fn(|| receiver.receive());
    let told = read.map(|received| {
        let piece = received.piece.map(|Piece { message, offset, is_last }| (message, offset, is_last));
        (String::from_utf8(received.message.payload.to_vec()).unwrap(), piece)
    });
    told.collect()
}

fn whole_of(text: &str) -> Told {
    (text.to_owned(), None)
}

fn piece_of(text: &str, message: u64, offset: u64, is_last: bool) -> Told {
    (text.to_owned(), Some((message, offset, is_last)))
}

/// A fragment of a message in DATA; `bits` as in the chunk header: 4 unordered, 2 begins, 1 ends.
fn data(tsn: u32, stream: u16, ssn: u16, bits: u8, payload: &[u8]) -> DataChunk<'_> {
    DataChunk { sequence: Ssn::new(ssn).into(), fsn: Fsn::new(0), ..piece(tsn, stream, 0, 0, bits, payload) }
}

fn by_data() -> Receiver {
    receiver(ReceiverConfig { partial_delivery_point: POINT, ..CONFIG })
}

fn by_i_data() -> Receiver {
    receiver(ReceiverConfig { partial_delivery_point: POINT, ..INTERLEAVING })
}

#[test]
fn a_message_beyond_the_point_comes_in_pieces_and_its_followers_wait_for_its_end() {
    let mut receiver = by_data();
    assert_eq!(take(&mut receiver, &data(1, 0, 0, 2, b"four")), NOT_READY, "not beyond it");
    assert_eq!(take(&mut receiver, &data(2, 0, 0, 0, b"five5")), READY);
    assert_eq!(ready(&mut receiver), [piece_of("fourfive5", 1, 0, false)]);
    assert_eq!(take(&mut receiver, &data(4, 0, 1, 3, b"next")), NOT_READY);
    assert_eq!(take(&mut receiver, &data(3, 0, 0, 1, b"end")), READY);
    assert_eq!(ready(&mut receiver), [piece_of("end", 1, 9, true), whole_of("next")]);
    assert_eq!((receiver.memory_bytes(), receiver.statistics().reassembly_bytes), (0, 0));
    assert_eq!((receiver.statistics().pieces, receiver.statistics().messages), (1, 2));
}

#[test]
fn messages_that_are_not_beyond_the_point_or_complete_at_once_are_whole() {
    let mut receiver = by_data();
    take(&mut receiver, &data(1, 0, 0, 3, b"long, but complete"));
    take(&mut receiver, &data(2, 0, 1, 2, b"ab"));
    take(&mut receiver, &data(3, 0, 1, 1, b"cd"));
    assert_eq!(ready(&mut receiver), [whole_of("long, but complete"), whole_of("abcd")]);
    assert_eq!(receiver.statistics().pieces, 0);
}

#[test]
fn nothing_is_delivered_beyond_a_missing_chunk_and_everything_when_it_comes() {
    let mut receiver = by_data();
    assert_eq!(take(&mut receiver, &data(2, 1, 0, 2, b"begins ")), NOT_READY, "TSN 1 is missing");
    assert_eq!(take(&mut receiver, &data(4, 1, 0, 0, b"behind the gap")), NOT_READY);
    // A chunk of another message lets the long one go on.
    assert_eq!(take(&mut receiver, &data(1, 0, 0, 3, b"first")), READY);
    assert_eq!(ready(&mut receiver), [whole_of("first"), piece_of("begins ", 1, 0, false)]);
    assert_eq!(take(&mut receiver, &data(3, 1, 0, 0, b"gap, ")), READY);
    assert_eq!(ready(&mut receiver), [piece_of("gap, behind the gap", 1, 7, false)]);
}

#[test]
fn with_i_data_several_messages_are_delivered_in_part_at_once_rfc_8260_2_2_3() {
    let mut receiver = by_i_data();
    take(&mut receiver, &piece(1, 0, 0, 0, 2, b"stream 0, "));
    take(&mut receiver, &piece(2, 1, 0, 0, 2, b"stream 1, "));
    take(&mut receiver, &piece(3, 1, 1, 0, 2, b"waits for the one before"));
    take(&mut receiver, &piece(4, 1, 7, 0, 6, b"unordered, "));
    let begun = [
        piece_of("stream 0, ", 1, 0, false),
        piece_of("stream 1, ", 2, 0, false),
        piece_of("unordered, ", 3, 0, false),
    ];
    assert_eq!(ready(&mut receiver), begun);
    take(&mut receiver, &piece(5, 1, 7, 1, 5, b"end u"));
    take(&mut receiver, &piece(6, 1, 0, 1, 1, b"end 1"));
    take(&mut receiver, &piece(7, 0, 0, 1, 1, b"end 0"));
    let ended = [
        piece_of("end u", 3, 11, true),
        piece_of("end 1", 2, 10, true),
        piece_of("waits for the one before", 4, 0, false),
        piece_of("end 0", 1, 10, true),
    ];
    assert_eq!(ready(&mut receiver), ended);
}

#[test]
fn a_message_longer_than_the_buffer_comes_through() {
    let config = ReceiverConfig { buffer_bytes: 8_000, message_bytes: 2_000, ..CONFIG };
    for config in [config, ReceiverConfig { capabilities: INTERLEAVING.capabilities, ..config }] {
        let mut receiver = receiver(ReceiverConfig { partial_delivery_point: Some(2_000), ..config });
        let mut read = 0;
        for index in 0..100 {
            let bits = if index == 0 { 2 } else { u8::from(index == 99) };
            let fragment = piece(index + 1, 0, 0, index, bits, &[7; 1_000]);
            assert!(matches!(take(&mut receiver, &fragment), Arrival::Accepted { .. }), "{index}");
            read += ready(&mut receiver).iter().map(|(payload, _)| payload.len()).sum::<usize>();
            assert!(receiver.memory_bytes() <= 3_000 + 3 * CHUNK_OVERHEAD_BYTES);
        }
        assert_eq!((read, receiver.memory_bytes()), (100_000, 0));
    }
}

#[test]
fn a_message_given_up_in_the_middle_is_aborted_once_and_its_follower_delivered_rfc_3758_3_6() {
    let mut receiver = by_data();
    take(&mut receiver, &data(1, 0, 0, 2, b"begins "));
    take(&mut receiver, &data(4, 0, 1, 3, b"next"));
    let skipped = super::super::forward::Skipped {
        stream: StreamId::new(0),
        unordered: false,
        last: Ssn::new(0).into(),
    };
    let forwarding = receiver.forward(Instant::EPOCH, Tsn::new(3), [skipped].into_iter());
    assert_eq!(forwarding, ForwardOutcome::Moved { message_ready: true });
    let aborted = Aborted { stream: StreamId::new(0), message: 1 };
    assert_eq!((receiver.take_aborted(), receiver.take_aborted()), (vec![aborted], Vec::new()));
    assert_eq!(ready(&mut receiver), [piece_of("begins ", 1, 0, false), whole_of("next")]);
    assert_eq!((receiver.abort_partial(), receiver.statistics().pieces_aborted), (Vec::new(), 1));
    assert_eq!(receiver.memory_bytes(), 0);
}

#[test]
fn what_is_unfinished_at_the_end_is_aborted() {
    for mut receiver in [by_data(), by_i_data()] {
        take(&mut receiver, &piece(1, 3, 0, 0, 2, b"begins "));
        assert_eq!(receiver.abort_partial(), [Aborted { stream: StreamId::new(3), message: 1 }]);
        assert_eq!(receiver.abort_partial(), []);
    }
}

/// RFC 9260 §5.2.4 (A): what is ready stays ready.
#[test]
fn pieces_of_before_a_restart_are_not_taken_for_pieces_of_after_it() {
    let (mut old, mut new) = (by_data(), by_i_data());
    take(&mut old, &data(1, 0, 0, 2, b"begins "));
    new.adopt_ready(&mut old);
    take(&mut new, &piece(1, 0, 0, 0, 2, b"anew "));
    assert_eq!(ready(&mut new), [piece_of("begins ", 1, 0, false), piece_of("anew ", 2, 0, false)]);
    assert_eq!(new.statistics().messages_in_pieces, 2);
}

/// RFC 9260 §5.2.4 (A): what the user has taken out and not read counts after the restart, too.
#[test]
fn a_restart_does_not_open_the_window_for_what_is_unread() {
    let (mut old, mut new) = (by_data(), by_data());
    take(&mut old, &data(1, 0, 0, 3, b"unread"));
    let mut taken = Vec::new();
    assert_eq!((old.take_unread(9, &mut taken), old.has_message()), (1, false));
    new.adopt_ready(&mut old);
    let (window, closed) = (new.a_rwnd(), new.memory_bytes());
    assert!(closed > 6, "{closed} octets with what holds them");
    new.mark_read(1, 6);
    assert_eq!((new.a_rwnd() - window, new.memory_bytes()), (6, 0));
    new.mark_read(1, 6);
    assert_eq!(new.memory_bytes(), 0, "once is enough");
}

/// RFC 6525 §5.2.4: TSNs that begin anew leave no message unfinished.
#[test]
fn numbers_of_messages_in_pieces_go_on_after_a_reset_of_the_association() {
    let mut receiver = by_i_data();
    take(&mut receiver, &piece(1, 0, 0, 0, 2, b"begins "));
    receiver.restart_tsns(Instant::EPOCH, Tsn::new(1));
    assert_eq!(receiver.take_aborted(), [Aborted { stream: StreamId::new(0), message: 1 }]);
    take(&mut receiver, &piece(1, 0, 0, 0, 2, b"anew "));
    assert_eq!(ready(&mut receiver), [piece_of("begins ", 1, 0, false), piece_of("anew ", 2, 0, false)]);
}
