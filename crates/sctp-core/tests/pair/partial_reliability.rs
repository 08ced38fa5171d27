//! Messages that are given up (RFC 3758, RFC 7496), with DATA and with I-DATA, between two of our own.

use std::collections::BTreeSet;

use sctp_core::{AssociationState, Event, Message, Offer, Reliability, SendFailure, StreamId};

use crate::net::{End, Pair, Setup, ms, ordered};

/// Partial reliability at both ends, in DATA and in I-DATA.
fn setups() -> [Setup; 2] {
    [Offer::Off, Offer::On].map(|interleaving| {
        Setup::rfc9260().configure(|config| {
            config.extensions.partial_reliability = Offer::On;
            config.extensions.interleaving = interleaving;
        })
    })
}

/// Context, whether part of it was sent, and why, of every message that failed.
fn failures(pair: &Pair, end: End) -> Vec<(u64, bool, SendFailure)> {
    let failed = pair.side(end).events.iter().filter_map(|(_, event)| {
        let Event::SendFailed { message, was_sent, reason } = event else { return None };
        Some((message.context, *was_sent, reason.clone()))
    });
    failed.collect()
}

fn shut_down(pair: &mut Pair) {
    pair.shutdown(End::Left);
    pair.run_ms(20_000);
    for end in [End::Left, End::Right] {
        assert_eq!(pair.endings(end), [Ok(())]);
    }
}

#[test]
fn lost_message_that_is_given_up_holds_nobody_up() {
    for setup in setups() {
        let mut pair = setup.connected();
        let begun = pair.now_ms();
        pair.drop_next(End::Left, &[1]);
        pair.send(End::Left, ordered(0, 0, 100).with_retransmissions(0).with_context(7));
        for number in 1..=4 {
            pair.run_ms(1);
            pair.send(End::Left, ordered(0, number, 100));
        }
        pair.run_ms(200);
        assert_eq!(pair.side(End::Right).received.len(), 4);
        // A round trip until the loss is known, and the way of the FORWARD TSN.
        assert!(pair.read_times(End::Right)[3] <= begun + 35, "{:?}", pair.log(End::Left, begun));
        assert_eq!(failures(&pair, End::Left), [(7, true, SendFailure::RetransmissionsExceeded)]);
        let statistics = pair.statistics(End::Left);
        assert_eq!((statistics.sender.forward_tsns, statistics.sender.retransmissions), (1, 0));
        assert_eq!(statistics.paths[0].counters.recoveries, 1, "RFC 3758 §3.5 (F5)");
        shut_down(&mut pair);
    }
}

/// RFC 3758 §3.5 (A5), (C5): T3-rtx finds the loss, and runs for the FORWARD TSN until the peer confirms it.
#[test]
fn forward_tsn_that_is_lost_is_repeated() {
    for setup in setups() {
        let mut pair = setup.connected();
        pair.drop_next(End::Left, &[1, 2, 3]);
        pair.send(End::Left, ordered(0, 0, 100).with_lifetime(ms(500)).with_context(7));
        pair.run_ms(20_000);
        assert_eq!(failures(&pair, End::Left), [(7, true, SendFailure::LifetimeExpired)]);
        assert_eq!(pair.statistics(End::Left).sender.forward_tsns, 3);
        assert_eq!(pair.count(End::Left, |event| *event == Event::SenderDry), 1);
        assert_eq!(pair.statistics(End::Left).paths[0].errors, 0);
        pair.send(End::Left, ordered(0, 1, 100));
        pair.run_ms(20);
        assert_eq!(pair.side(End::Right).received.len(), 1);
    }
}

/// What waits expires on time, though nothing else happens meanwhile; what is in flight is judged when it is lost.
#[test]
fn waiting_messages_expire_on_time_while_the_link_is_down() {
    for setup in setups() {
        let mut pair = setup.connected();
        pair.cut();
        let begun = pair.now_ms();
        for context in 0..20 {
            pair.send(End::Left, ordered(0, 1, 1000).with_lifetime(ms(100)).with_context(context));
        }
        pair.run_ms(100);
        let expired = failures(&pair, End::Left);
        assert!(expired.len() >= 15 && expired.iter().all(|(_, was_sent, _)| !was_sent), "{expired:?}");
        let at = pair.side(End::Left).events.last().unwrap().0;
        assert_eq!(crate::net::millis(at), begun + 100);
        pair.mend();
        pair.run_ms(20_000);
        assert_eq!(failures(&pair, End::Left).len(), 20);
        assert!(pair.side(End::Right).received.is_empty());
        shut_down(&mut pair);
    }
}

/// RFC 3758 §3.5 (A3): the peer sees neither half a message nor two halves joined to one.
#[test]
fn message_given_up_half_way_leaves_no_trace_in_the_next() {
    for setup in setups() {
        let mut pair = setup.connected();
        pair.drop_next(End::Left, &[2]);
        pair.send(End::Left, ordered(0, 1, 50_000).with_retransmissions(0).with_context(7));
        pair.send(End::Left, ordered(0, 2, 5_000));
        pair.run_ms(20_000);
        assert_eq!(failures(&pair, End::Left), [(7, true, SendFailure::RetransmissionsExceeded)]);
        assert_eq!(pair.payloads(End::Right), [&[2; 5_000][..]]);
        assert_eq!(pair.statistics(End::Left).sender.abandoned.retransmissions.sent, 1);
        shut_down(&mut pair);
    }
}

#[test]
fn shutdown_waits_for_the_peer_to_pass_over_what_was_given_up() {
    for setup in setups() {
        let mut pair = setup.connected();
        pair.drop_next(End::Left, &[1]);
        pair.send(End::Left, ordered(0, 1, 100).with_retransmissions(0));
        shut_down(&mut pair);
        assert_eq!(pair.side(End::Right).received.len(), 0);
    }
}

/// Whoever does not know FORWARD TSN gets all that was begun.
#[test]
fn message_is_sent_until_it_arrives_if_the_peer_knows_no_partial_reliability() {
    let mut setup = Setup::rfc9260();
    setup.client.extensions.partial_reliability = Offer::On;
    setup.server.association.extensions.partial_reliability = Offer::Off;
    let mut pair = setup.connected();
    pair.drop_next(End::Left, &[1]);
    pair.send(End::Left, ordered(0, 1, 100).with_retransmissions(0));
    pair.run_ms(5_000);
    assert_eq!((pair.side(End::Right).received.len(), failures(&pair, End::Left).len()), (1, 0));
}

/// The law: what is reliable arrives once and in order; what is not arrives, or its sender is told.
#[test]
fn every_message_arrives_or_is_reported_on_lossy_links() {
    for seed in 0..8 {
        for setup in setups() {
            let mut setup = setup;
            setup.seed = seed;
            setup.request.loss = "8%".parse().unwrap();
            setup.response.loss = "3%".parse().unwrap();
            let mut pair = setup.build();
            pair.connect();
            (0..300).for_each(|number| {
                pair.send(End::Left, message(number));
                pair.run_ms(3);
            });
            pair.run_ms(120_000);
            assert_eq!(pair.state(End::Left), Some(AssociationState::Established), "seed {seed}");
            check(&pair, seed);
        }
    }
}

/// Number in the payload and as context; every stream has its own reliability.
fn message(number: u64) -> Message {
    let stream = u16::try_from(number % 4).unwrap();
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(if number.is_multiple_of(7) { 4_000 } else { 200 }, 1);
    let reliability = match stream {
        0 => Reliability::Reliable,
        1 => Reliability::Lifetime(ms(60)),
        2 => Reliability::Retransmissions(0),
        _ => Reliability::Retransmissions(1),
    };
    let message = Message::ordered(StreamId::new(stream), payload).with_context(number);
    Message { reliability, ..message }
}

fn check(pair: &Pair, seed: u64) {
    let number_of = |payload: &[u8]| u64::from_be_bytes(payload[..8].try_into().unwrap());
    let arrived: Vec<u64> = pair.payloads(End::Right).into_iter().map(number_of).collect();
    let unique: BTreeSet<u64> = arrived.iter().copied().collect();
    assert_eq!(unique.len(), arrived.len(), "seed {seed}: twice");
    for stream in 0..4 {
        let of_stream: Vec<u64> = arrived.iter().copied().filter(|number| number % 4 == stream).collect();
        assert!(of_stream.is_sorted(), "seed {seed}: order");
    }
    let reported: BTreeSet<u64> =
        failures(pair, End::Left).into_iter().map(|(context, ..)| context).collect();
    for number in 0..300 {
        assert!(unique.contains(&number) || reported.contains(&number), "seed {seed}: {number} vanished");
        assert!(number % 4 != 0 || !reported.contains(&number), "seed {seed}: {number} is reliable");
    }
    assert!(!reported.is_empty(), "seed {seed}: nothing to test");
}
