//! Ending an association (RFC 9260 §9): by agreement from either side, and at once.

use sctp_core::{
    AssociationError, AssociationState, AutomaticAddresses, Event, Offer, ProtocolViolation, SendError,
};

use sctp_wire::{ChunkBuf, TagOrigin};

use crate::by_hand::Hand;
use crate::dynamic_addresses::ip;
use crate::net::{End, LEFT_PORT, Pair, Setup, Side, ms, ordered};

const BOTH: [End; 2] = [End::Left, End::Right];

fn assert_both_complete(pair: &Pair, what: &str) {
    for end in BOTH {
        assert_eq!(pair.endings(end), [Ok(())], "{what}, {end:?}");
        assert_eq!(pair.side(end).endpoint.association_count(), 0, "{what}, {end:?}");
    }
}

#[test]
fn either_side_may_shut_down() {
    for end in BOTH {
        let mut pair = Setup::rfc9260().connected();
        let from = pair.now_ms();
        pair.shutdown(end);
        pair.run_ms(100);
        assert_both_complete(&pair, "shutdown");
        let other = if end == End::Left { End::Right } else { End::Left };
        let log = |end| {
            pair.log(end, from)
                .iter()
                .map(|line| line.split(' ').next_back().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(log(end), ["SHUTDOWN", "SHUTDOWN_COMPLETE"]);
        assert_eq!(log(other), ["SHUTDOWN_ACK"]);
        assert_eq!(pair.count(other, |event| *event == Event::ShutdownReceived), 1);
    }
}

#[test]
fn both_sides_may_shut_down_at_the_same_time() {
    let mut pair = Setup::rfc9260().connected();
    pair.shutdown(End::Left);
    pair.shutdown(End::Right);
    pair.run_ms(200);
    assert_both_complete(&pair, "crossing");
}

/// RFC 9260 §9.2: T2 expires although the peer, which has not heard of it, is there and sends HEARTBEATs more often.
#[test]
fn lost_shutdown_is_sent_again_while_heartbeats_come_in() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    let from = pair.now_ms();
    pair.shutdown(End::Right);
    for _ in 0..20 {
        hand.tell(&mut pair, |writer| writer.heartbeat(b"still there").unwrap());
        pair.run_ms(500);
    }
    let again = pair.times_of(End::Right, "SHUTDOWN", from);
    assert!(again.len() >= 3, "{again:?}");
    assert_eq!(pair.state(End::Right), Some(AssociationState::ShutdownSent));
}

#[test]
fn everything_queued_on_both_sides_is_delivered_first() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = setup.connected();
        for number in 0..50 {
            pair.send(End::Left, ordered(0, number, 3000));
            pair.send(End::Right, ordered(0, number, 3000));
        }
        pair.shutdown(End::Left);
        assert_eq!(pair.state(End::Left), Some(AssociationState::ShutdownPending));
        let refused = pair.try_send(End::Left, ordered(0, 1, 1));
        assert_eq!(refused, Err(SendError::ShuttingDown));
        pair.run_ms(20_000);
        assert_both_complete(&pair, "with data");
        for end in BOTH {
            assert_eq!(pair.side(end).received.len(), 50);
        }
    }
}

/// Every packet of the dialogue is lost once, one at a time; both ends still agree.
#[test]
fn shutdown_survives_the_loss_of_any_packet() {
    for packet in 1..=6 {
        for from in BOTH {
            let mut pair = Setup::rfc9260().connected();
            pair.drop_next(from, &[packet]);
            pair.send(End::Left, ordered(0, 1, 2000));
            pair.send(End::Right, ordered(0, 2, 2000));
            pair.shutdown(End::Left);
            pair.run_ms(30_000);
            assert_both_complete(&pair, &format!("packet {packet} from {from:?} lost"));
            assert_eq!(pair.side(End::Left).received.len() + pair.side(End::Right).received.len(), 2);
        }
    }
}

#[test]
fn crossing_shutdowns_survive_the_loss_of_any_packet() {
    for packet in 1..=4 {
        for from in BOTH {
            let mut pair = Setup::signalling().connected();
            pair.drop_next(from, &[packet]);
            pair.shutdown(End::Left);
            pair.shutdown(End::Right);
            pair.run_ms(30_000);
            assert_both_complete(&pair, &format!("packet {packet} from {from:?} lost"));
        }
    }
}

/// T2-shutdown doubles; the guard (five times RTO.Max) ends what never ends.
#[test]
fn unanswered_shutdown_ends_by_the_guard_timer() {
    let mut pair = Setup::rfc9260().connected();
    pair.cut();
    let begun = pair.now_ms();
    pair.shutdown(End::Left);
    pair.run_ms(400_000);
    let times: Vec<u64> = pair.times_of(End::Left, "SHUTDOWN", begun).iter().map(|at| at - begun).collect();
    assert_eq!(times[..6], [0, 1000, 3000, 7000, 15_000, 31_000]);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::ShutdownTimedOut)]);
    assert_eq!(pair.times_of(End::Left, "ABORT", begun), [begun + 300_000]);
}

#[test]
fn unanswered_shutdown_ends_at_the_association_limit_if_that_comes_first() {
    let setup = Setup::rfc9260().configure(|config| config.attempts.association = 3);
    let mut pair = setup.connected();
    pair.cut();
    let begun = pair.now_ms();
    pair.shutdown(End::Left);
    pair.run_ms(400_000);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::PeerUnreachable { errors: 4 })]);
    assert_eq!(pair.times_of(End::Left, "ABORT", begun), [begun + 15_000]);
}

/// RFC 9260 §9.2: T5 belongs to the sender of SHUTDOWN. Who has received one counts to Association.Max.Retrans.
#[test]
fn unanswered_shutdown_ack_is_sent_again_as_often_as_the_association_allows() {
    for rto_max in [60_000, 1000] {
        let mut setup = Setup::rfc9260();
        setup.server.association.rto.max = ms(rto_max);
        let mut pair = setup.build();
        let mut hand = Hand::new(LEFT_PORT, 5);
        hand.establish(&mut pair);
        hand.tell(&mut pair, |writer| writer.shutdown(hand.peer_tsn.previous()).unwrap());
        pair.run_ms(1_000_000);
        assert_eq!(pair.times_of(End::Right, "SHUTDOWN_ACK", 0).len(), 1 + 10, "RTO.Max {rto_max} ms");
        assert_eq!(pair.endings(End::Right), [Err(AssociationError::PeerUnreachable { errors: 11 })]);
    }
}

/// What a peer that is gone answers to a HEARTBEAT overtakes its SHUTDOWN COMPLETE; or it is lost and the peer ends otherwise.
#[test]
fn abort_after_everything_was_acknowledged_ends_by_agreement() {
    for origin in [TagOrigin::Receiver, TagOrigin::Reflected] {
        let mut pair = Setup::rfc9260().build();
        let mut hand = Hand::new(LEFT_PORT, 5);
        hand.establish(&mut pair);
        hand.tell(&mut pair, |writer| writer.shutdown(hand.peer_tsn.previous()).unwrap());
        assert_eq!(pair.state(End::Right), Some(AssociationState::ShutdownAckSent));
        let abort = ChunkBuf::abort(origin, &[]).unwrap();
        hand.tell_as(&mut pair, origin, |writer| writer.raw(&abort).unwrap());
        assert_eq!(pair.endings(End::Right), [Ok(())], "{origin:?}");
    }
}

/// RFC 9260 §8.5.1 (B), (C): the T bit says whose tag it is, and where it does not fit nothing of the packet counts.
#[test]
fn packet_whose_t_bit_does_not_fit_its_tag_is_discarded_whole() {
    let abort = |origin| ChunkBuf::abort(origin, &[]).unwrap();
    let complete = |origin| ChunkBuf::shutdown_complete(origin);
    for (tag, bit) in
        [(TagOrigin::Receiver, TagOrigin::Reflected), (TagOrigin::Reflected, TagOrigin::Receiver)]
    {
        for last in [abort(bit), complete(bit)] {
            let mut pair = Setup::rfc9260().build();
            let mut hand = Hand::new(LEFT_PORT, 5);
            hand.establish(&mut pair);
            let sent = pair.side(End::Right).sent.len();
            hand.tell_as(&mut pair, tag, |writer| {
                writer.heartbeat(&[1; 8]).unwrap();
                writer.raw(&last).unwrap();
            });
            assert_eq!(pair.side(End::Right).sent.len(), sent, "{tag:?} {last:?}");
            assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
        }
    }
}

/// The wish to end is the user's: it outlives the peer it was first told to.
#[test]
fn shutdown_goes_on_with_a_peer_that_restarted() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    pair.send(End::Right, ordered(0, 1, 100));
    pair.shutdown(End::Right);
    assert_eq!(pair.state(End::Right), Some(AssociationState::ShutdownPending));
    Hand::new(LEFT_PORT, 6).establish(&mut pair);
    assert_eq!(pair.statistics(End::Right).association.restarts, 1);
    assert_eq!(pair.state(End::Right), Some(AssociationState::ShutdownSent));
}

#[test]
fn abort_ends_both_sides_at_once_and_carries_the_reason() {
    let mut pair = Setup::rfc9260().connected();
    pair.send(End::Left, ordered(0, 1, 20_000));
    pair.send(End::Left, ordered(0, 2, 10));
    pair.abort(End::Left, b"enough");
    pair.run_ms(100);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::AbortedLocally)]);
    match &pair.endings(End::Right)[..] {
        [Err(AssociationError::AbortedByPeer(error))] => {
            assert_eq!(error.cause, Some(12));
            assert!(error.text.contains("enough"), "{}", error.text);
        }
        other => panic!("{other:?}"),
    }
    let events = &pair.side(End::Left).events;
    assert!(matches!(events[events.len() - 2].1, Event::SendFailed { .. }), "before the last event");
    assert_eq!(pair.side(End::Left).endpoint.association_count(), 0);
    assert_eq!(pair.log(End::Right, pair.now_ms() - 100), Vec::<String>::new(), "never answered");
}

#[test]
fn abort_before_the_peer_is_known_sends_nothing_but_ends() {
    let mut pair = Setup::rfc9260().build();
    pair.cut();
    pair.connect();
    pair.abort(End::Left, b"");
    pair.run_ms(5000);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::AbortedLocally)]);
    assert_eq!(pair.log(End::Left, 0), ["0 INIT"]);
}

/// Unread messages keep a closed association readable; aborting it then must not disturb the peer.
#[test]
fn closed_association_can_be_read_and_not_aborted() {
    let mut pair = Setup::rfc9260().connected();
    pair.with(End::Right, |side, _| side.reading = crate::net::Reading::Paused);
    pair.send(End::Left, ordered(0, 1, 10));
    pair.shutdown(End::Left);
    pair.run_ms(1000);
    assert_eq!(pair.endings(End::Right), [Ok(())]);
    let from = pair.now_ms();
    pair.abort(End::Right, b"late");
    assert_eq!(pair.log(End::Right, from), Vec::<String>::new());
    pair.with(End::Right, Side::read_all);
    assert_eq!(pair.payloads(End::Right), [[1; 10]]);
    pair.run_ms(1);
    pair.with(End::Right, |side, now| side.endpoint.handle_timeout(now));
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
    assert_eq!(pair.endings(End::Right), [Ok(())]);
}

/// RFC 9260 §9.2: data that comes after SHUTDOWN is answered with SHUTDOWN and SACK at once.
#[test]
fn data_after_shutdown_is_acknowledged_at_once() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    pair.shutdown(End::Right);
    assert_eq!(pair.state(End::Right), Some(AssociationState::ShutdownSent));
    let sent = pair.side(End::Right).sent.len();
    hand.data(&mut pair, 0, 10);
    assert_eq!(pair.side(End::Right).sent[sent].kinds(), "SHUTDOWN SACK");
    assert_eq!(pair.payloads(End::Right), [[7; 10]]);
}

/// RFC 9260 §9.2, §3.3.8: what was never sent cannot be acknowledged, also when nothing is outstanding.
#[test]
fn shutdown_that_acknowledges_what_was_never_sent_ends_the_association() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    let never_sent = hand.peer_tsn.advance(7);
    hand.tell(&mut pair, |writer| writer.shutdown(never_sent).unwrap());
    let violation = ProtocolViolation::AcknowledgedUnsent(never_sent);
    assert_eq!(pair.endings(End::Right), [Err(AssociationError::ProtocolViolation(violation))]);
}

/// RFC 6458 §8.1.8.
#[test]
fn association_without_user_data_is_shut_down_when_its_time_is_over() {
    let mut setup = Setup::signalling();
    setup.server.association.autoclose = Some(ms(5_000));
    let mut pair = setup.connected();
    // What the peer sends is use as much as what is sent to it.
    for from in [End::Left, End::Right, End::Left] {
        pair.run_ms(4_000);
        pair.send(from, ordered(0, 1, 10));
    }
    let used = pair.now_ms();
    pair.run_ms(4_900);
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
    pair.run_ms(5_000);
    assert_eq!(pair.times_of(End::Right, "SHUTDOWN", 0), [used + 10 + 5_000]);
    assert_eq!((pair.endings(End::Left), pair.endings(End::Right)), (vec![Ok(())], vec![Ok(())]));
    assert_eq!(pair.payloads(End::Right).len(), 2);
}

#[test]
fn association_with_data_that_cannot_be_sent_is_not_idle() {
    let mut setup = Setup::rfc9260();
    setup.client.autoclose = Some(ms(500));
    let mut pair = setup.connected();
    pair.cut();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(20_000);
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    assert!(!pair.statistics(End::Left).is_autoclosed);
    pair.mend();
    pair.run_ms(32_000);
    assert_eq!((pair.payloads(End::Right).len(), pair.endings(End::Left)), (1, vec![Ok(())]));
}

/// What a send-failed event says of a message: its context, and whether part of it was sent.
fn failed(pair: &Pair, end: End) -> Vec<(u64, bool)> {
    let failed = pair.side(end).events.iter().filter_map(|(_, event)| {
        let Event::SendFailed { message, was_sent, .. } = event else { return None };
        Some((message.context, *was_sent))
    });
    failed.collect()
}

/// RFC 6458 §6.1.11: SCTP_DATA_SENT and SCTP_DATA_UNSENT.
#[test]
fn messages_that_were_sent_and_not_acknowledged_fail_with_the_association() {
    for interleaving in [Offer::Off, Offer::On] {
        let setup = Setup::rfc9260().configure(|config| config.extensions.interleaving = interleaving);
        let mut pair = setup.connected();
        pair.send(End::Left, ordered(0, 0, 100).with_context(1));
        pair.run_ms(300);
        pair.cut();
        // In flight, begun, and waiting: the congestion window has room for three packets.
        for (context, len) in [(2, 100), (3, 20_000), (4, 100)] {
            let message = ordered(0, 0, len).with_context(context);
            pair.send(End::Left, message);
        }
        pair.run_ms(100);
        pair.abort(End::Left, b"enough");
        assert_eq!(failed(&pair, End::Left), [(2, true), (3, true), (4, false)], "{interleaving:?}");
        let lost = pair.side(End::Left).events.iter().find_map(|(_, event)| {
            let Event::SendFailed { message, .. } = event else { return None };
            (message.context == 3).then(|| message.clone())
        });
        assert_eq!(lost, Some(ordered(0, 0, 20_000).with_context(3)), "as it was handed in");
    }
}

#[test]
fn message_of_which_a_part_is_missing_fails_and_one_that_arrived_behind_it_does_not() {
    let mut pair = Setup::rfc9260().connected();
    pair.drop_next(End::Left, &[1]);
    pair.send(End::Left, ordered(0, 0, 2_000).with_context(1));
    pair.send(End::Left, ordered(1, 0, 100).with_context(2));
    pair.run_ms(50);
    pair.abort(End::Left, b"enough");
    assert_eq!(failed(&pair, End::Left), [(1, true)]);
}

/// RFC 5061 §5.3 (F1): SHUTDOWN ACK would not be heard from an address that the peer is only asked to know, and no ASCONF goes
/// again after it.
#[test]
fn shutdown_is_acknowledged_when_the_peer_knows_an_address_of_the_host_that_moved() {
    let (old, new) = (ip("10.0.0.2"), ip("10.0.0.3"));
    for ends in [&[End::Left][..], &[End::Left, End::Right]] {
        let setup = Setup::signalling().homes(&["10.0.0.1"], &["10.0.0.2", "10.0.0.3"]).on_one_link();
        let mut pair = setup
            .telling_of_one()
            .configure(|config| {
                config.extensions.authentication = Offer::On;
                config.extensions.dynamic_addresses = Offer::On;
                config.paths.automatic_addresses = AutomaticAddresses::On;
            })
            .connected();
        pair.drop_next(End::Right, &[1]);
        pair.with(End::Right, |side, now| {
            side.endpoint.local_address_down(now, old);
            side.endpoint.local_address_up(now, new);
        });
        let moved_at = pair.now_ms();
        ends.iter().for_each(|end| pair.shutdown(*end));
        pair.run_ms(5000);
        assert_both_complete(&pair, &format!("shutdown by {ends:?}"));
        assert_eq!(pair.times_of(End::Right, "ASCONF", moved_at).len(), 2, "{ends:?}");
    }
}
