//! The peer's window, and the own send buffer (RFC 9260 §6.1 (A), §6.2).

use sctp_core::{Event, SendError};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Reading, Setup, Side, ordered};

const BUFFER_BYTES: usize = 8000;

/// A right end with a small buffer that does not read.
fn slow_reader(setup: Setup) -> Pair {
    let mut setup = setup;
    setup.server.association.buffers.receive_bytes = BUFFER_BYTES;
    setup.server.association.buffers.message_bytes = 4000;
    let mut pair = setup.connected();
    pair.with(End::Right, |side, _| side.reading = Reading::Paused);
    pair
}

fn read(pair: &mut Pair) {
    pair.with(End::Right, Side::read_all);
}

#[test]
fn closed_window_is_probed_with_doubling_and_a_reader_who_comes_back_gets_everything() {
    for (setup, rto) in [(Setup::rfc9260(), 1000), (Setup::signalling(), 200)] {
        let mut pair = slow_reader(setup);
        (0..20).for_each(|number| pair.send(End::Left, ordered(0, number, 1000)));
        pair.run_ms(100);
        let probing = pair.now_ms();
        // Ten minutes: far more probes than errors are allowed (RFC 9260 §6.1 (A)).
        pair.run_ms(600_000);
        let probes = pair.times_of(End::Left, "DATA", probing);
        let pauses: Vec<u64> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.len() > 11 && pauses.iter().all(|pause| *pause >= rto), "{pauses:?}");
        assert_eq!((pauses[1], pauses[2]), (2 * pauses[0], 4 * pauses[0]));
        assert!(pair.endings(End::Left).is_empty());
        let held = pair.side(End::Right).endpoint.association(pair.side(End::Right).id.unwrap()).unwrap();
        assert!(held.receive_memory_bytes() <= 3 * (BUFFER_BYTES + 4000));
        let begun = pair.now_ms();
        pair.with(End::Right, |side, _| side.reading = Reading::AtOnce);
        read(&mut pair);
        pair.run_ms(2000);
        assert_eq!(pair.side(End::Right).received.len(), 20);
        assert!(pair.read_times(End::Right)[19] <= begun + 200, "no waiting for a backed-off timer");
    }
}

/// Tiny messages fill memory before they fill the window: the rest is dropped, and nobody is to blame.
#[test]
fn chunks_dropped_by_a_full_peer_cost_neither_the_association_nor_a_long_wait() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = slow_reader(setup);
        pair.with(End::Left, |side, now| {
            (0..1000)
                .for_each(|number| side.endpoint.send(now, side.id.unwrap(), ordered(0, number, 1)).unwrap());
        });
        pair.run_ms(1_200_000);
        assert!(pair.endings(End::Left).is_empty());
        let begun = pair.now_ms();
        pair.with(End::Right, |side, _| side.reading = Reading::AtOnce);
        read(&mut pair);
        pair.run_ms(20_000);
        assert_eq!(pair.side(End::Right).received.len(), 1000);
        let waited = pair.read_times(End::Right)[999] - begun;
        assert!(waited <= 1000, "{waited} ms");
    }
}

#[test]
fn lost_window_update_is_made_good_by_a_probe() {
    let mut pair = slow_reader(Setup::rfc9260());
    (0..20).for_each(|number| pair.send(End::Left, ordered(0, number, 1000)));
    pair.run_ms(500);
    let next: Vec<u64> = (1..=3).collect();
    pair.drop_next(End::Right, &next);
    pair.with(End::Right, |side, _| side.reading = Reading::AtOnce);
    read(&mut pair);
    pair.run_ms(20_000);
    assert_eq!(pair.side(End::Right).received.len(), 20);
}

#[test]
fn reader_in_small_steps_never_stalls_the_sender() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = slow_reader(setup);
        for number in 0..100 {
            pair.send(End::Left, ordered(0, number, 100 + 37 * number));
        }
        for _ in 0..400 {
            pair.run_ms(100);
            pair.with(End::Right, |side, now| {
                let received = side.endpoint.receive(now, side.id.unwrap());
                side.received.extend(received.map(|received| (now, received)));
            });
        }
        let lengths: Vec<usize> = pair.payloads(End::Right).iter().map(|payload| payload.len()).collect();
        assert_eq!(lengths, (0..100).map(|number| 100 + 37 * number).collect::<Vec<_>>());
    }
}

/// Whoever sorts messages into queues has not read them: the window opens when somebody has.
#[test]
fn messages_taken_unread_keep_the_window_closed_until_they_are_marked_read() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = slow_reader(setup);
        (0..20).for_each(|number| pair.send(End::Left, ordered(0, number, 1000)));
        let mut sorted = Vec::new();
        for _ in 0..60 {
            pair.run_ms(1000);
            pair.with(End::Right, |side, now| {
                side.endpoint.take_unread(now, side.id.unwrap(), 3, &mut sorted);
            });
        }
        // The first chunk beyond the window may still enter, and the last taken may be it.
        assert!(sorted.len() * 1000 <= BUFFER_BYTES + 1000, "{} messages", sorted.len());
        let held = pair.side(End::Right).endpoint.receive_memory_bytes();
        assert!((sorted.len() * 1000..=3 * BUFFER_BYTES).contains(&held), "{held}");
        let mut read = 0;
        for _ in 0..100 {
            pair.with(End::Right, |side, now| {
                let id = side.id.unwrap();
                side.endpoint.mark_read(now, id, sorted.len() - read, 1000 * (sorted.len() - read));
                read = sorted.len();
                side.endpoint.take_unread(now, id, 3, &mut sorted);
            });
            pair.run_ms(100);
        }
        assert_eq!((sorted.len(), read), (20, 20));
        assert!(sorted.windows(2).all(|pair| pair[0].complete_at <= pair[1].complete_at));
        assert_eq!(pair.side(End::Right).endpoint.receive_memory_bytes(), 0);
    }
}

#[test]
fn full_send_buffer_refuses_and_says_when_a_quarter_of_it_is_free() {
    let setup = Setup::rfc9260().configure(|config| config.buffers.send_bytes = 300_000);
    let mut pair = setup.connected();
    let mut accepted = 0;
    let refused = loop {
        match pair.try_send(End::Left, ordered(0, accepted, 10_000)) {
            Ok(()) => accepted += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, SendError::BufferFull(message) if message.payload.len() == 10_000));
    assert_eq!(accepted, 29);
    assert_eq!(told_of_room(&pair), 0);
    while told_of_room(&pair) == 0 {
        assert!(buffered_bytes(&pair) > 225_000);
        pair.run_ms(1);
    }
    assert!((150_000..=225_000).contains(&buffered_bytes(&pair)));
    pair.run_ms(5000);
    assert_eq!(told_of_room(&pair), 1);
    assert_eq!(pair.count(End::Left, |event| *event == Event::SenderDry), 1);
    assert_eq!(buffered_bytes(&pair), 0);
}

/// Whoever was told of a quarter would try a longer message in vain with each SACK, and never before others that fill the quarter.
#[test]
fn user_is_told_of_room_when_what_was_refused_finds_it() {
    // One that takes more than half of the buffer does not keep shorter ones waiting.
    for (refused, left) in [
        (&[10_000][..], 225_000),
        (&[120_000], 180_000),
        (&[10_000, 120_000], 180_000),
        (&[200_000], 100_000),
        (&[200_000, 10_000], 150_000),
        (&[200_000, 160_000], 140_000),
    ] {
        let setup = Setup::rfc9260().configure(|config| config.buffers.send_bytes = 300_000);
        let mut pair = setup.connected();
        (0..29).for_each(|number| pair.send(End::Left, ordered(0, number, 10_000)));
        for octets in refused {
            assert!(matches!(
                pair.try_send(End::Left, ordered(0, 2, *octets)),
                Err(SendError::BufferFull(_))
            ));
        }
        while told_of_room(&pair) == 0 {
            assert!(buffered_bytes(&pair) + 1000 > left, "{refused:?}");
            pair.run_ms(1);
        }
        assert!(buffered_bytes(&pair) <= left, "{refused:?}");
        pair.try_send(End::Left, ordered(0, 2, refused[refused.len() - 1])).unwrap();
    }
}

/// A path whose round trip holds more than the buffer carries most of a buffer in each.
#[test]
fn user_who_sends_when_told_keeps_the_buffer_under_way() {
    const SEND_BYTES: usize = 100_000;
    let mut pair = long_path(SEND_BYTES, 1 << 20, None);
    let sent_on =
        |pair: &mut Pair, number| while pair.try_send(End::Left, ordered(0, number, 1000)).is_ok() {};
    sent_on(&mut pair, 0);
    let mut told = 0;
    let mut carried = |pair: &mut Pair, time_ms: u64| {
        let before = pair.side(End::Right).received.len();
        for _ in 0..time_ms {
            if told_of_room(pair) > told {
                told = told_of_room(pair);
                sent_on(pair, 1);
            }
            pair.run_ms(1);
        }
        1000 * (pair.side(End::Right).received.len() - before)
    };
    carried(&mut pair, 2000);
    let octets = carried(&mut pair, 2000);
    assert!((20 * SEND_BYTES * 6 / 10..20 * SEND_BYTES).contains(&octets), "{octets}");
}

fn told_of_room(pair: &Pair) -> usize {
    pair.count(End::Left, |event| *event == Event::SendBufferAvailable)
}

fn buffered_bytes(pair: &Pair) -> usize {
    let left = pair.side(End::Left);
    left.endpoint.association(left.id.unwrap()).unwrap().buffered_bytes()
}

/// What the window allows is never exceeded, whatever is lost (RFC 9260 §6.2.1).
#[test]
fn no_more_than_the_window_is_outstanding() {
    let mut setup = Setup::rfc9260();
    setup.server.association.buffers.message_bytes = 4000;
    let mut pair = setup.build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.a_rwnd = 3000;
    hand.establish(&mut pair);
    let from = pair.side(End::Right).sent.len();
    (0..10).for_each(|number| pair.send(End::Right, ordered(0, number, 1000)));
    assert_eq!(pair.side(End::Right).sent.len() - from, 3);
    hand.sack(&mut pair, 1, 3000, &[]);
    assert_eq!(pair.side(End::Right).sent.len() - from, 4);
    // Chunks 2 to 4 are lost: sent again, they take the place of what they were.
    pair.run_ms(1100);
    let resent = pair.side(End::Right).sent.len();
    hand.sack(&mut pair, 1, 3000, &[]);
    pair.run_ms(10);
    assert_eq!(pair.statistics(End::Right).sender.chunks, 4, "nothing new fits");
    assert!(resent > from + 4);
}

/// The mark is told once, when it is reached, and not before.
#[test]
fn low_water_mark_is_told_once_when_no_more_is_buffered() {
    let mut pair = Setup::signalling().connected();
    (0..20).for_each(|number| pair.send(End::Left, ordered(0, number, 1000)));
    let buffered = |pair: &Pair| {
        let side = pair.side(End::Left);
        side.endpoint.association(side.id.unwrap()).unwrap().buffered()
    };
    let before = buffered(&pair);
    assert_eq!(before.bytes(), 20_000);
    assert!(before.unsent_bytes > 0 && before.unacknowledged_bytes > 0, "{before:?}");
    let awaits = |pair: &mut Pair, mark| {
        pair.with(End::Left, |side, _| side.endpoint.await_low_water(side.id.unwrap(), mark).unwrap())
    };
    assert!(!awaits(&mut pair, 20_000), "it is so already");
    assert!(awaits(&mut pair, 1_000) && awaits(&mut pair, 10_000));
    while told_of_room(&pair) == 0 {
        assert!(buffered(&pair).bytes() > 10_000, "the higher mark counts");
        pair.run_ms(1);
    }
    assert!(buffered(&pair).bytes() <= 10_000);
    pair.run_ms(10_000);
    assert_eq!((buffered(&pair).bytes(), told_of_room(&pair)), (0, 1));
}

/// Sends messages of 1000 octets for so many milliseconds, as many as find room, and gives how many arrived.
fn fill(pair: &mut Pair, time_ms: u64) -> usize {
    let before = pair.side(End::Right).received.len();
    for _ in 0..time_ms / 10 {
        while pair.try_send(End::Left, ordered(0, 1, 1000)).is_ok() {}
        pair.run_ms(10);
    }
    pair.side(End::Right).received.len() - before
}

fn long_path(send_bytes: usize, receive_bytes: usize, grown_bytes: Option<usize>) -> Pair {
    let mut setup = Setup::signalling().configure(|config| {
        (config.buffers.send_bytes, config.buffers.receive_bytes) = (send_bytes, receive_bytes);
        config.buffers.message_bytes = 4000;
        config.buffers.grown_bytes = grown_bytes.map(|bytes| bytes.try_into().unwrap());
    });
    for way in [&mut setup.request, &mut setup.response] {
        way.delay = core::time::Duration::from_millis(50);
    }
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(1000);
    pair
}

/// Each round trip carries a window: eight times as much memory carries more than six times as much.
#[test]
fn buffers_that_may_grow_do_not_bound_what_a_long_path_carries() {
    let carried = [None, Some(8 * BUFFER_BYTES)].map(|grown| {
        let mut pair = long_path(BUFFER_BYTES, BUFFER_BYTES, grown);
        fill(&mut pair, 3000);
        let held = pair.side(End::Left).endpoint.association(pair.side(End::Left).id.unwrap()).unwrap();
        assert!(held.buffered_bytes() <= grown.unwrap_or(BUFFER_BYTES) * 9 / 8, "{}", held.buffered_bytes());
        fill(&mut pair, 2000)
    });
    assert!(carried[1] > 6 * carried[0], "{carried:?}");
}

/// Whoever stops reading after the buffer has grown is sent as much as it promised and no more.
#[test]
fn reader_that_stops_holds_what_its_buffer_has_grown_to_at_most() {
    let mut pair = long_path(BUFFER_BYTES, BUFFER_BYTES, Some(8 * BUFFER_BYTES));
    fill(&mut pair, 3000);
    pair.with(End::Right, |side, _| side.reading = Reading::Paused);
    fill(&mut pair, 3000);
    let held = pair.side(End::Right).endpoint.association(pair.side(End::Right).id.unwrap()).unwrap();
    let memory = held.receive_memory_bytes();
    assert!((7 * BUFFER_BYTES..=3 * (8 * BUFFER_BYTES + 4000)).contains(&memory), "{memory}");
}
