//! Peers that take nothing of what waits for them and answer all the same.

use core::time::Duration;

use sctp_core::{AssociationError, AssociationState, Event};
use sctp_wire::{Chunk, ChunkBuf};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Reading, Setup, millis, ms, ordered};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Five times RTO.Max.
const GUARD_MS: u64 = 300_000;

/// What a peer does every ten seconds besides answering HEARTBEATs.
type Habit = fn(&Hand, &mut Pair, Tick);

#[derive(Clone, Copy)]
struct Tick {
    number: u64,
    /// How many of the right end's chunks have left so far.
    sent: u32,
}

impl Tick {
    /// How often so many ticks have passed, as far as there is something to acknowledge.
    fn of(self, ticks: u64) -> u32 {
        u32::try_from(self.number / ticks).unwrap().min(self.sent)
    }
}

/// It answers whatever was sent since the last tick with a closed window.
fn window_stays_shut(hand: &Hand, pair: &mut Pair, _: Tick) {
    hand.sack(pair, 0, 0, &[]);
}

fn window_opens_by_one_octet(hand: &Hand, pair: &mut Pair, tick: Tick) {
    hand.sack(pair, 0, u32::from(tick.number.is_multiple_of(3)), &[]);
}

fn one_chunk_an_hour(hand: &Hand, pair: &mut Pair, tick: Tick) {
    hand.sack(pair, tick.of(360), 0, &[]);
}

/// One every 290 seconds: within each run of the guard, and never enough.
fn one_chunk_a_run(hand: &Hand, pair: &mut Pair, tick: Tick) {
    hand.sack(pair, tick.of(29), 0, &[]);
}

fn takes_back_what_it_acknowledged(hand: &Hand, pair: &mut Pair, tick: Tick) {
    let gaps: &[(u16, u16)] = if tick.number.is_multiple_of(2) && tick.sent > 1 { &[(2, 2)] } else { &[] };
    hand.sack(pair, 0, 0, gaps);
}

fn nothing(_: &Hand, _: &mut Pair, _: Tick) {}

const HABITS: [(&str, Habit); 6] = [
    ("window stays shut", window_stays_shut),
    ("window opens by an octet", window_opens_by_one_octet),
    ("a chunk an hour", one_chunk_an_hour),
    ("a chunk in each run of the guard", one_chunk_a_run),
    ("reneges", takes_back_what_it_acknowledged),
    ("HEARTBEATs alone", nothing),
];

/// A right end whose send buffer is full, and a peer.
fn full(setup: Setup) -> (Pair, Hand) {
    let mut pair = setup.build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    (0..880).for_each(|number| pair.send(End::Right, ordered(0, number, 1000)));
    (pair, hand)
}

/// Lets the peer follow its habit until the end, or until so much time has passed; gives how long it took.
fn live(pair: &mut Pair, hand: &Hand, habit: Habit, at_most_ms: u64) -> u64 {
    let begun = pair.now_ms();
    let mut sent = 0;
    for number in 0..at_most_ms / 10_000 {
        let end = pair.side(End::Right).events.iter().rfind(|(_, event)| is_end(event));
        if let Some((at, _)) = end {
            return millis(*at) - begun;
        }
        for packet in pair.with(End::Right, |side, _| std::mem::take(&mut side.sent)) {
            for chunk in packet.packet().chunks().flatten() {
                if let Chunk::Data(data) = chunk {
                    sent = sent.max(hand.peer_tsn.distance(data.tsn) + 1);
                } else if let Chunk::Heartbeat(info) = chunk {
                    let ack = ChunkBuf::heartbeat_ack(info.info).unwrap();
                    hand.tell(pair, |writer| writer.raw(&ack).unwrap());
                }
            }
        }
        habit(hand, pair, Tick { number, sent });
        pair.run_ms(10_000);
    }
    at_most_ms
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::CommunicationLost(_) | Event::ShutdownComplete)
}

#[test]
fn robustness_30_shutdown_ends_however_the_peer_withholds_acknowledgments() {
    for (name, habit) in HABITS {
        let (mut pair, hand) = full(Setup::rfc9260());
        pair.shutdown(End::Right);
        let took_ms = live(&mut pair, &hand, habit, DAY_MS);
        assert_eq!(pair.endings(End::Right), [Err(AssociationError::ShutdownTimedOut)], "{name}");
        assert!(took_ms <= GUARD_MS, "{name}: {took_ms} ms");
        assert_eq!(pair.side(End::Right).endpoint.association_count(), 0, "{name}");
    }
}

/// The same where it was the peer that asked for the end.
#[test]
fn robustness_30_shutdown_of_the_peer_ends_however_it_withholds_acknowledgments() {
    for (name, habit) in HABITS {
        let (mut pair, hand) = full(Setup::rfc9260());
        hand.tell(&mut pair, |writer| writer.shutdown(hand.peer_tsn.previous()).unwrap());
        assert_eq!(pair.state(End::Right), Some(AssociationState::ShutdownReceived), "{name}");
        let took_ms = live(&mut pair, &hand, habit, DAY_MS);
        assert_eq!(pair.endings(End::Right), [Err(AssociationError::ShutdownTimedOut)], "{name}");
        assert!(took_ms <= GUARD_MS, "{name}: {took_ms} ms");
    }
}

/// Ten packets in a run of the guard are slow and no fault.
#[test]
fn peer_that_takes_a_little_all_the_time_gets_everything_before_the_end() {
    fn two_chunks_a_minute(hand: &Hand, pair: &mut Pair, tick: Tick) {
        hand.sack(pair, tick.of(3), 1000, &[]);
    }
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    (0..60).for_each(|number| pair.send(End::Right, ordered(0, number, 1000)));
    pair.shutdown(End::Right);
    // Nobody answers SHUTDOWN in the end.
    let took_ms = live(&mut pair, &hand, two_chunks_a_minute, DAY_MS);
    assert_eq!(
        pair.side(End::Right).events.iter().filter(|(_, event)| *event == Event::SenderDry).count(),
        1
    );
    assert!((30 * 60_000..30 * 60_000 + 2 * GUARD_MS).contains(&took_ms), "{took_ms}");
}

/// Two real ends: the reader has stopped, the writer has gone.
#[test]
fn robustness_30_reader_that_stopped_for_ever_does_not_hold_up_the_end() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = setup.connected();
        pair.with(End::Right, |side, _| side.reading = Reading::Paused);
        (0..800).for_each(|number| pair.send(End::Left, ordered(0, number, 1100)));
        pair.shutdown(End::Left);
        (0..600).for_each(|number| pair.try_send(End::Right, ordered(0, number, 1000)).unwrap_or(()));
        pair.run_ms(DAY_MS);
        assert_eq!(pair.side(End::Left).endpoint.association_count(), 0);
    }
}

/// Before the end it is for the user to say how long is too long; by default a peer that answers is waited for.
#[test]
fn robustness_30_silence_about_data_ends_an_association_after_the_limit_of_the_user() {
    let limit = Duration::from_secs(7200);
    for (name, habit) in HABITS {
        let (mut pair, hand) = full(Setup::rfc9260());
        live(&mut pair, &hand, habit, DAY_MS);
        assert_eq!((pair.endings(End::Right), name), (vec![], name));

        let mut setup = Setup::rfc9260();
        setup.server.association.attempts.persist = Some(limit);
        let (mut pair, hand) = full(setup);
        let took_ms = live(&mut pair, &hand, habit, DAY_MS);
        if name.starts_with("a chunk") {
            assert_eq!(pair.endings(End::Right), [], "{name}: slow, but it takes what it is sent");
        } else {
            let nothing = AssociationError::NothingAcknowledged { limit };
            assert_eq!((pair.endings(End::Right), took_ms), (vec![Err(nothing)], 2 * HOUR_MS), "{name}");
        }
    }
}

/// Time without anything to acknowledge does not count.
#[test]
fn pauses_are_no_silence() {
    let setup =
        Setup::signalling().configure(|config| config.attempts.persist = Some(Duration::from_secs(10)));
    let mut pair = setup.connected();
    for number in 0..20 {
        pair.send(End::Left, ordered(0, number, 1000));
        pair.run_ms(9_990 + 7 * number as u64);
    }
    assert_eq!(pair.payloads(End::Right).len(), 20);
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    pair.with(End::Right, |side, _| side.reading = Reading::Paused);
    let from = pair.now();
    (0..800).for_each(|number| pair.send(End::Left, ordered(0, number, 1100)));
    pair.run_ms(60_000);
    let lost =
        pair.side(End::Left).events.iter().find(|(_, event)| matches!(event, Event::CommunicationLost(_)));
    assert!(lost.is_none() || lost.is_some_and(|(at, _)| *at >= from + ms(10_000)), "{lost:?}");
}
