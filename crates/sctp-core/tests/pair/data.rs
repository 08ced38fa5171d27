//! Messages: order, fragments, bundling, and when they are acknowledged (RFC 9260 §6).

use sctp_core::{Message, Nagle, SendError, StreamId};
use sctp_wire::Chunk;

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Setup, ordered};

fn patterned(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 31 + index / 253 + seed).to_le_bytes()[0]).collect()
}

/// Sizes around every boundary of a 1400-octet path: 1352 octets fit one chunk.
#[test]
fn messages_of_every_size_arrive_whole() {
    let sizes = [1, 2, 3, 4, 5, 1351, 1352, 1353, 2703, 2704, 2705, 65_535, 65_536, 256 << 10];
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = setup.connected();
        for (number, size) in sizes.into_iter().enumerate() {
            pair.send(End::Left, Message::ordered(StreamId::new(1), patterned(size, number)));
        }
        pair.run_ms(20_000);
        let expected: Vec<Vec<u8>> =
            sizes.into_iter().enumerate().map(|(number, size)| patterned(size, number)).collect();
        assert!(pair.payloads(End::Right) == expected, "contents");
    }
}

#[test]
fn sizes_no_message_can_have_are_refused() {
    let mut pair = Setup::rfc9260().connected();
    assert_eq!(pair.try_send(End::Left, ordered(0, 1, 0)), Err(SendError::Empty));
    let (bytes, limit) = ((256 << 10) + 1, 256 << 10);
    assert_eq!(pair.try_send(End::Left, ordered(0, 1, bytes)), Err(SendError::TooLong { bytes, limit }));
    let stream = StreamId::new(64);
    let refused = pair.try_send(End::Left, ordered(64, 1, 1));
    assert_eq!(refused, Err(SendError::UnknownStream { stream, negotiated: 64 }));
}

#[test]
fn lost_packet_delays_its_own_stream_and_unordered_messages_not_at_all() {
    let mut pair = Setup::rfc9260().connected();
    pair.drop_next(End::Left, &[1]);
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.send(End::Left, ordered(0, 2, 10));
    pair.send(End::Left, ordered(1, 3, 10));
    pair.send(End::Left, Message::unordered(StreamId::new(0), vec![4; 10]));
    pair.run_ms(3000);
    assert_eq!(pair.payloads(End::Right), [[3; 10], [4; 10], [1; 10], [2; 10]]);
    assert_eq!(pair.read_times(End::Right)[..2], [begun + 10; 2]);
    let blocked: Vec<bool> =
        pair.side(End::Right).received.iter().map(|(_, r)| r.blocked.is_zero()).collect();
    assert_eq!(blocked, [true, true, true, false]);
}

#[test]
fn messages_sent_together_share_packets_that_are_full() {
    let mut pair = Setup::rfc9260().connected();
    let from = pair.now_ms();
    pair.with(End::Left, |side, now| {
        for number in 0..40 {
            side.endpoint.send(now, side.id.unwrap(), ordered(number, 1, 84)).unwrap();
        }
    });
    // 1400 - 20 - 12 = 1368 octets of chunks, 100 each: 13 in a packet.
    let chunks: Vec<usize> = pair
        .side(End::Left)
        .sent
        .iter()
        .filter(|sent| sent.at_ms() >= from)
        .map(|sent| sent.packet().chunks().count())
        .collect();
    assert_eq!(chunks, [13, 13, 13, 1]);
    assert!(pair.side(End::Left).sent.iter().all(|sent| sent.octets.len() <= 1380));
}

/// With an association whose first data, which is acknowledged at once, has come and gone.
fn acquainted(setup: Setup) -> Pair {
    let mut pair = setup.connected();
    pair.send(End::Left, ordered(0, 0, 10));
    pair.run_ms(50);
    pair
}

#[test]
fn acknowledgment_is_delayed_by_200_ms_or_until_the_second_packet() {
    let mut pair = acquainted(Setup::rfc9260());
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Right, "SACK", begun), [begun + 210]);
    let begun = pair.now_ms();
    for number in 0..6 {
        pair.send(End::Left, ordered(0, number, 10));
        pair.run_ms(10);
    }
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Right, "SACK", begun), [20, 40, 60].map(|after| begun + after));
}

/// RFC 7053, and the policy of the signalling profile: the last chunk there is asks for its SACK.
#[test]
fn immediate_bit_is_answered_at_once() {
    let mut pair = Setup::signalling().connected();
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 5000));
    pair.run_ms(1000);
    let immediate = |sent: &crate::net::Sent| {
        sent.packet()
            .chunks()
            .flatten()
            .any(|chunk| matches!(chunk, Chunk::Data(data) if data.flags.immediate))
    };
    let flags: Vec<bool> =
        pair.side(End::Left).sent.iter().filter(|sent| sent.at_ms() >= begun).map(immediate).collect();
    assert_eq!(flags.last(), Some(&true));
    assert!(!flags[0]);
    let mut pair = Setup::signalling().connected();
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Right, "SACK", begun), [begun + 10]);
}

/// RFC 9260 §6.1: an acknowledgment that waits travels with data.
#[test]
fn acknowledgment_shares_the_packet_of_an_answer() {
    let mut pair = acquainted(Setup::rfc9260());
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(15);
    let from = pair.now_ms();
    pair.send(End::Right, ordered(0, 2, 10));
    pair.run_ms(100);
    assert_eq!(pair.log(End::Right, from), [format!("{from} SACK DATA")]);
}

#[test]
fn nagle_holds_small_messages_while_data_is_in_flight() {
    let mut pair = acquainted(Setup::rfc9260().configure(|config| config.transmission.nagle = Nagle::On));
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(5);
    (0..3).for_each(|number| pair.send(End::Left, ordered(0, number, 10)));
    pair.run_ms(1000);
    let log = pair.log(End::Left, begun);
    assert_eq!(log, [format!("{begun} DATA"), format!("{} DATA DATA DATA", begun + 220)]);
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.send(End::Left, ordered(0, 1, 1352));
    assert_eq!(pair.times_of(End::Left, "DATA", begun).len(), 2, "a full packet does not wait");
}

#[test]
fn data_on_a_stream_that_does_not_exist_is_acknowledged_and_reported() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    let sent = pair.side(End::Right).sent.len();
    hand.data(&mut pair, 10, 10);
    pair.run_ms(300);
    let kinds: Vec<String> = pair.side(End::Right).sent[sent..].iter().map(crate::net::Sent::kinds).collect();
    assert_eq!(kinds, ["ERROR SACK"]);
    assert!(pair.side(End::Right).received.is_empty());
    assert!(pair.endings(End::Right).is_empty());
}

#[test]
fn data_without_payload_ends_the_association() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    hand.data(&mut pair, 0, 0);
    assert_eq!(pair.side(End::Right).sent.last().unwrap().kinds(), "ABORT");
    assert_eq!(pair.endings(End::Right).len(), 1);
}

/// RFC 9260 §3.2: the two highest bits of an unknown type say whether to stop and whether to report.
#[test]
fn unknown_chunks_are_skipped_stopped_at_and_reported_as_their_type_says() {
    for (kind, reported, goes_on) in
        [(0x3f, false, false), (0x7f, true, false), (0xbf, false, true), (0xff, true, true)]
    {
        let mut pair = Setup::rfc9260().build();
        let mut hand = Hand::new(LEFT_PORT, 5);
        hand.establish(&mut pair);
        let header = hand.data_header(0);
        hand.tell(&mut pair, |writer| {
            writer.chunk(sctp_wire::ChunkType::new(kind), 0, |value| value.u32(7)).unwrap();
            writer.data(&header, b"behind").unwrap();
        });
        assert_eq!(pair.side(End::Right).received.len(), usize::from(goes_on), "{kind:#x}");
        assert_eq!(pair.times_of(End::Right, "ERROR", 0).len(), usize::from(reported), "{kind:#x}");
        assert_eq!(pair.statistics(End::Right).association.discarded.unknown, 1);
    }
}

/// RFC 4820 §3: taken in silence, whatever its length.
#[test]
fn padding_is_no_unknown_chunk_and_does_not_hide_what_follows() {
    for padding in [0, 1, 1000] {
        let mut pair = Setup::rfc9260().build();
        let mut hand = Hand::new(LEFT_PORT, 5);
        hand.establish(&mut pair);
        let header = hand.data_header(0);
        hand.tell(&mut pair, |writer| {
            writer.pad(padding).unwrap();
            writer.data(&header, b"behind").unwrap();
        });
        assert_eq!(pair.side(End::Right).received.len(), 1);
        assert_eq!(pair.statistics(End::Right).association.discarded.unknown, 0);
    }
}

/// RFC 9260 §3.2: what is not spoken is unknown, and then it does not matter whether its content is sound.
#[test]
fn chunks_of_extensions_that_are_not_spoken_are_unknown_sound_or_not() {
    for kind in [15, 64, 128, 130, 192, 193, 194].map(sctp_wire::ChunkType::new) {
        for value in [
            &[][..],
            &[0, 0, 0, 1, 0, 5, 0, 8, 1, 2, 3, 4],
            &[0, 0, 0, 1, 0, 5, 0, 8, 1, 2, 3, 4, 0, 0, 0, 1],
        ] {
            let mut pair = Setup::rfc9260().build();
            let mut hand = Hand::new(LEFT_PORT, 5);
            hand.establish(&mut pair);
            let header = hand.data_header(0);
            hand.tell(&mut pair, |writer| {
                writer.chunk(kind, 0, |octets| octets.bytes(value)).unwrap();
                writer.data(&header, b"behind").unwrap();
            });
            let action = kind.unknown_action();
            assert_eq!(pair.side(End::Right).received.len(), usize::from(!action.stops()), "{kind}");
            assert_eq!(pair.times_of(End::Right, "ERROR", 0).len(), usize::from(action.reports()), "{kind}");
            let counters = pair.statistics(End::Right).association;
            assert_eq!((counters.discarded.unknown, counters.discarded.malformed), (1, 0), "{kind}");
        }
    }
}
