//! Messages that arrive in pieces (RFC 9260 §6.9, RFC 6458 §6.1.7), with DATA and with I-DATA.

use sctp_core::{Event, Offer, Piece};

use crate::net::{End, Pair, Reading, Setup, ms, ordered};

/// The right end has a buffer of 32 KiB and delivers in part from 8 KiB on.
fn setups() -> [Setup; 2] {
    [Offer::Off, Offer::On].map(|interleaving| {
        let mut setup = Setup::rfc9260().configure(|config| {
            config.extensions.interleaving = interleaving;
            config.extensions.partial_reliability = Offer::On;
        });
        let buffers = &mut setup.server.association.buffers;
        buffers.receive_bytes = 32 << 10;
        buffers.message_bytes = 16 << 10;
        buffers.partial_delivery_point_bytes = Some(8 << 10);
        setup
    })
}

/// What was read at the right end: octets of each message, pieces put together, which have to be in order.
fn put_together(pair: &Pair) -> Vec<usize> {
    let mut messages: Vec<usize> = Vec::new();
    let mut is_open = false;
    for (_, received) in &pair.side(End::Right).received {
        let len = received.message.payload.len();
        match received.piece {
            Some(Piece { offset, is_last, .. }) if is_open => {
                let before = messages.last_mut().unwrap();
                assert_eq!(u64::try_from(*before).unwrap(), offset);
                *before += len;
                is_open = !is_last;
            }
            Some(Piece { offset, is_last, .. }) => {
                assert_eq!((offset, is_last), (0, false));
                messages.push(len);
                is_open = true;
            }
            None => messages.push(len),
        }
    }
    assert!(!is_open);
    messages
}

#[test]
fn message_longer_than_the_receive_buffer_arrives_in_pieces_in_spite_of_losses() {
    for setup in setups() {
        let mut pair = setup.drop_from_left(&[9, 17, 18, 40, 90]).connected();
        pair.send(End::Left, ordered(0, 1, 200_000));
        pair.send(End::Left, ordered(0, 2, 100));
        pair.run_ms(60_000);
        assert_eq!(put_together(&pair), [200_000, 100]);
        let receiver = pair.statistics(End::Right).receiver;
        assert_eq!(receiver.messages, 2);
        assert!((10..30).contains(&receiver.pieces), "{}", receiver.pieces);
        pair.shutdown(End::Left);
        pair.run_ms(1_000);
        assert_eq!((pair.endings(End::Left), pair.endings(End::Right)), (vec![Ok(())], vec![Ok(())]));
    }
}

#[test]
fn reader_who_pauses_stops_the_sender_and_loses_nothing() {
    for setup in setups() {
        let mut pair = setup.connected();
        pair.with(End::Right, |side, _| side.reading = Reading::Paused);
        pair.send(End::Left, ordered(0, 1, 100_000));
        pair.run_ms(20_000);
        let side = pair.side(End::Right);
        let held = side.endpoint.association(side.id.unwrap()).unwrap().receive_memory_bytes();
        assert!((32_000..60_000).contains(&held), "{held}");
        pair.with(End::Right, |side, now| {
            side.reading = Reading::AtOnce;
            side.read_all(now);
        });
        pair.run_ms(100_000);
        assert_eq!(put_together(&pair), [100_000]);
    }
}

/// RFC 3758 §3.6: the rest of a message given up will not come.
#[test]
fn message_given_up_after_its_first_piece_is_aborted_and_the_next_one_delivered() {
    for setup in setups() {
        let mut pair = setup.connected();
        pair.send(End::Left, ordered(3, 1, 200_000).with_lifetime(ms(400)));
        pair.run_ms(100);
        let pieces = pair.side(End::Right).received.len();
        assert!(pieces > 0);
        pair.cut();
        pair.run_ms(400);
        pair.mend();
        pair.send(End::Left, ordered(3, 2, 100));
        pair.run_ms(20_000);
        let aborted = Event::PartialDeliveryAborted { stream: sctp_core::StreamId::new(3), message: 1 };
        assert_eq!(pair.count(End::Right, |event| *event == aborted), 1);
        let last = &pair.side(End::Right).received.last().unwrap().1;
        assert_eq!((last.piece, last.message.payload.len()), (None, 100));
        assert_eq!(pair.statistics(End::Right).receiver.pieces_aborted, 1);
    }
}

#[test]
fn message_that_the_end_of_the_association_cuts_off_is_aborted_before_the_last_event() {
    for setup in setups() {
        let mut pair = setup.connected();
        pair.send(End::Left, ordered(0, 1, 200_000));
        pair.run_ms(100);
        pair.abort(End::Left, b"enough");
        pair.run_ms(100);
        let events = &pair.side(End::Right).events;
        let [.., (_, aborted), (_, lost)] = &events[..] else { panic!("{events:?}") };
        assert!(matches!(aborted, Event::PartialDeliveryAborted { message: 1, .. }), "{aborted:?}");
        assert!(matches!(lost, Event::CommunicationLost(_)), "{lost:?}");
    }
}
