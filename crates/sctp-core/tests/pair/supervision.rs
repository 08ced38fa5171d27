//! Is the peer still there (RFC 9260 §8.1, §8.2, §8.3)?

use sctp_core::{AssociationError, Event, PathState};
use sctp_wire::{Chunk, ChunkType};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Setup, millis, ordered};

#[test]
fn path_fails_after_five_and_the_peer_after_ten_retransmissions() {
    // Unanswered HEARTBEATs would count, too (RFC 9260 §8.3).
    let mut pair = Setup::rfc9260().configure(|config| config.heartbeat.interval = None).connected();
    pair.cut();
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(1_000_000);
    // Each expiry is one error; the wait doubles from RTO.Min to RTO.Max.
    let mut expiries = vec![begun];
    let waits = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60];
    waits.iter().for_each(|wait| expiries.push(expiries.last().unwrap() + wait * 1000));
    assert_eq!(pair.times_of(End::Left, "DATA", begun), expiries[..11]);
    let inactive: Vec<u64> = pair
        .side(End::Left)
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::PeerAddressChange { state: PathState::Inactive, .. }))
        .map(|(at, _)| millis(*at))
        .collect();
    assert_eq!(inactive, [expiries[6]]);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::PeerUnreachable { errors: 11 })]);
    assert_eq!(pair.times_of(End::Left, "ABORT", begun), [expiries[11]]);
}

#[test]
fn path_that_answers_again_is_active_again_and_its_errors_are_forgotten() {
    let mut pair = Setup::rfc9260().connected();
    pair.cut();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(100_000);
    assert_eq!(pair.statistics(End::Left).paths[0].state, PathState::Inactive);
    pair.mend();
    pair.run_ms(100_000);
    let path = pair.statistics(End::Left).paths[0];
    assert_eq!((path.state, path.errors), (PathState::Active, 0));
    let changes = |event: &Event| matches!(event, Event::PeerAddressChange { .. });
    assert_eq!(pair.count(End::Left, changes), 2);
    assert_eq!(pair.side(End::Right).received.len(), 1);
}

/// HB.interval 30 s and an RTO of 1 s, give or take half of it.
#[test]
fn idle_path_is_probed_every_interval_and_timeout() {
    let mut pair = Setup::rfc9260().connected();
    pair.run_ms(320_000);
    for end in [End::Left, End::Right] {
        let times = pair.times_of(end, "HEARTBEAT", 0);
        assert!((9..=10).contains(&times.len()), "{times:?}");
        let pauses: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.iter().all(|pause| (30_500..=31_600).contains(pause)), "{pauses:?}");
        assert!(pauses.windows(2).any(|pair| pair[0] != pair[1]), "jitter");
        assert_eq!(pair.statistics(end).paths[0].errors, 0);
    }
    assert_eq!(
        pair.times_of(End::Left, "HEARTBEAT_ACK", 0).len(),
        pair.times_of(End::Right, "HEARTBEAT", 0).len()
    );
}

#[test]
fn path_in_use_is_not_probed_and_idleness_counts_from_the_last_data() {
    let mut pair = Setup::rfc9260().connected();
    for number in 0..100 {
        pair.send(End::Left, ordered(0, number, 10));
        pair.run_ms(1000);
    }
    assert_eq!(pair.times_of(End::Left, "HEARTBEAT", 0), Vec::<u64>::new());
    let last = pair.now_ms() - 1000;
    pair.run_ms(40_000);
    let times = pair.times_of(End::Left, "HEARTBEAT", 0);
    assert_eq!(times.len(), 1);
    assert!((last + 30_500..=last + 31_500).contains(&times[0]), "{times:?} after {last}");
}

#[test]
fn unanswered_heartbeats_count_as_errors_and_end_the_association() {
    let mut pair = Setup::rfc9260().configure(|config| config.attempts.association = 2).connected();
    pair.cut();
    pair.run_ms(32_700);
    assert_eq!(pair.statistics(End::Left).paths[0].errors, 1);
    pair.run_ms(200_000);
    assert_eq!(pair.times_of(End::Left, "HEARTBEAT", 0).len(), 3);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::PeerUnreachable { errors: 3 })]);
}

#[test]
fn heartbeats_can_be_switched_off() {
    let mut pair = Setup::rfc9260().configure(|config| config.heartbeat.interval = None).connected();
    pair.run_ms(600_000);
    assert_eq!(pair.times_of(End::Left, "HEARTBEAT", 0), Vec::<u64>::new());
}

/// RFC 9260 §8.3: echoed unchanged, whatever it is; an answer nobody asked for is counted.
#[test]
fn robustness_19_heartbeat_is_echoed_and_a_forged_answer_keeps_nothing_alive() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    let sent = pair.side(End::Right).sent.len();
    hand.tell(&mut pair, |writer| writer.heartbeat(b"whatever").unwrap());
    let answer = &pair.side(End::Right).sent[sent];
    assert_eq!(answer.kinds(), "HEARTBEAT_ACK");
    assert!(answer.octets.windows(8).any(|octets| octets == b"whatever"));
    hand.tell(&mut pair, |writer| writer.heartbeat_ack(&[0; 12]).unwrap());
    assert_eq!(pair.statistics(End::Right).association.discarded.unexpected_heartbeat_acks, 1);
}

/// RFC 9260 §8.3: so is what stands behind the information, padding included, in a chunk of the same length.
#[test]
fn heartbeat_with_parameters_behind_its_information_is_echoed_whole() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    for behind in [&[0x80, 1, 0, 5, 9, 0, 0, 0][..], &[0xff; 3], &[0; 1000]] {
        let sent = pair.side(End::Right).sent.len();
        let value = [&[0, 1, 0, 7, b'a', b'b', b'c', 0][..], behind].concat();
        hand.tell(&mut pair, |writer| {
            writer.chunk(ChunkType::HEARTBEAT, 0, |chunk| chunk.bytes(&value)).unwrap();
        });
        let answer = pair.side(End::Right).sent[sent].clone();
        let Some(Ok(Chunk::HeartbeatAck(echo))) = answer.packet().chunks().next() else {
            panic!("{}", answer.kinds())
        };
        assert_eq!(echo.value, value);
    }
}

/// RFC 6951 §4, RFC 8085 §3.5: NATs forget UDP flows long before HB.interval.
#[test]
fn idle_path_through_udp_is_kept_alive_for_nats() {
    let mut pair = Setup::rfc9260().in_udp().connected();
    pair.run_ms(301_000);
    for end in [End::Left, End::Right] {
        let times = pair.times_of(end, "HEARTBEAT", 0);
        assert_eq!(times.len(), 20, "{times:?}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= 15_020), "{times:?}");
        assert_eq!(pair.statistics(end).paths[0].counters.heartbeats, 20);
    }
}

#[test]
fn data_keeps_a_nat_awake_as_well_as_heartbeats_do() {
    let mut pair = Setup::rfc9260().in_udp().connected();
    for _ in 0..10 {
        pair.send(End::Left, ordered(0, 1, 10));
        pair.run_ms(10_000);
    }
    assert_eq!(pair.statistics(End::Left).paths[0].counters.heartbeats, 0);
    assert!(pair.statistics(End::Right).paths[0].counters.heartbeats >= 6);
}

#[test]
fn keep_alives_for_nats_can_be_switched_off_and_kept_without_other_heartbeats() {
    let mut pair =
        Setup::rfc9260().in_udp().configure(|config| config.heartbeat.nat_keepalive = None).connected();
    pair.run_ms(100_000);
    assert_eq!(pair.times_of(End::Left, "HEARTBEAT", 0).len(), 3);
    let mut pair = Setup::rfc9260().in_udp().configure(|config| config.heartbeat.interval = None).connected();
    pair.run_ms(100_000);
    assert_eq!(pair.times_of(End::Left, "HEARTBEAT", 0).len(), 6);
}
