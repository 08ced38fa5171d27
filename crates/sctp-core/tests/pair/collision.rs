//! INIT and COOKIE ECHO that meet an association (RFC 9260 §5.2), restarts.

use std::net::IpAddr;

use sctp_core::{
    AssociationError, AssociationState, EndpointConfig, Event, IncomingPolicy, Offer, SendFailure,
};

use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT, LEFT_PORT, RIGHT_PORT, Setup, is_up, ordered, port};

#[test]
fn both_ends_may_open_at_the_same_time() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = setup.build();
        pair.connect();
        pair.connect_back();
        pair.send(End::Left, ordered(0, 1, 2000));
        pair.send(End::Right, ordered(0, 2, 2000));
        pair.run_ms(5000);
        for end in [End::Left, End::Right] {
            assert_eq!(pair.count(end, is_up), 1);
            assert_eq!(pair.side(end).endpoint.association_count(), 1);
            assert_eq!(pair.side(end).received.len(), 1);
            assert_eq!(pair.endings(end), []);
        }
    }
}

#[test]
fn crossing_opens_survive_the_loss_of_any_packet() {
    for lost in 1..=6 {
        for from_left in [true, false] {
            let setup = Setup::rfc9260();
            let setup =
                if from_left { setup.drop_from_left(&[lost]) } else { setup.drop_from_right(&[lost]) };
            let mut pair = setup.build();
            pair.connect();
            pair.run_ms(5);
            pair.connect_back();
            pair.send(End::Left, ordered(0, 1, 2000));
            pair.send(End::Right, ordered(0, 2, 2000));
            pair.run_ms(20_000);
            for end in [End::Left, End::Right] {
                assert_eq!(pair.count(end, is_up), 1, "packet {lost}, from left: {from_left}");
                assert_eq!(pair.side(end).received.len(), 1, "packet {lost}, from left: {from_left}");
            }
        }
    }
}

/// RFC 9260 §5.2.4, action A.
#[test]
fn peer_that_restarted_gets_a_fresh_association_under_the_old_name() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = setup.connected();
        pair.send(End::Left, ordered(0, 1, 10));
        pair.send(End::Right, ordered(0, 1, 10));
        pair.run_ms(500);
        let old = pair.side(End::Right).id;
        pair.reboot(End::Left, EndpointConfig::new(port(LEFT_PORT)));
        pair.connect();
        pair.run_ms(500);
        let restart = Event::Restart { outbound_streams: 64, inbound_streams: 64 };
        assert_eq!(pair.count(End::Right, |event| *event == restart), 1);
        assert_eq!(pair.side(End::Right).id, old);
        pair.send(End::Left, ordered(0, 2, 10));
        pair.send(End::Right, ordered(0, 2, 10));
        pair.run_ms(500);
        assert_eq!(pair.payloads(End::Right), [[1; 10], [2; 10]]);
        assert_eq!(pair.payloads(End::Left), [[2; 10]]);
        assert_eq!(pair.statistics(End::Right).association.restarts, 1);
        assert_eq!(pair.endings(End::Right), []);
    }
}

#[test]
fn accepting_end_that_restarted_may_open_towards_its_old_peer() {
    let mut pair = Setup::rfc9260().connected();
    pair.reboot(End::Right, EndpointConfig::new(port(RIGHT_PORT)));
    pair.connect_back();
    pair.run_ms(500);
    assert_eq!(pair.count(End::Left, |event| matches!(event, Event::Restart { .. })), 1);
    pair.send(End::Right, ordered(0, 2, 3000));
    pair.run_ms(500);
    assert_eq!(pair.side(End::Left).received.len(), 1);
}

#[test]
fn messages_queued_for_the_predecessor_fail_on_restart() {
    let mut pair = Setup::rfc9260().connected();
    pair.cut();
    (0..30).for_each(|number| pair.send(End::Right, ordered(0, number, 1200)));
    pair.run_ms(100);
    pair.mend();
    pair.reboot(End::Left, EndpointConfig::new(port(LEFT_PORT)));
    pair.connect();
    pair.run_ms(5000);
    let why = SendFailure::Association(AssociationError::PeerRestarted);
    let failed = |event: &Event| matches!(event, Event::SendFailed { reason, .. } if *reason == why);
    assert!(pair.count(End::Right, failed) > 20);
    assert_eq!(pair.side(End::Left).received.len(), 0);
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
}

/// Without a new INIT, a peer that forgot the association says so (RFC 9260 §8.4).
#[test]
fn data_for_a_forgotten_association_is_answered_with_abort() {
    let mut pair = Setup::rfc9260().connected();
    pair.reboot(End::Right, EndpointConfig::new(port(RIGHT_PORT)));
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(100);
    assert!(matches!(&pair.endings(End::Left)[..], [Err(AssociationError::AbortedByPeer(_))]));
}

#[test]
fn robustness_03_duplicate_cookie_echo_is_acknowledged_again_and_changes_nothing() {
    let mut pair = Setup::rfc9260().connected();
    let echo = pair.side(End::Left).sent[1].octets.clone();
    assert_eq!(pair.side(End::Left).sent[1].kinds(), "COOKIE_ECHO");
    let from = pair.now_ms();
    pair.inject(End::Right, LEFT, &echo);
    pair.run_ms(500);
    assert_eq!(pair.log(End::Right, from), [format!("{from} COOKIE_ACK")]);
    assert_eq!(pair.count(End::Right, is_up), 1);
}

/// Rows of the table of RFC 9260 §5.2.4 that discard: the cookie of an earlier attempt comes late.
#[test]
fn cookie_of_another_attempt_is_discarded() {
    let mut pair = Setup::rfc9260().build();
    let mut early = Hand::new(LEFT_PORT, 11);
    early.init(&mut pair);
    let mut hand = Hand::new(LEFT_PORT, 22);
    hand.establish(&mut pair);
    early.echo(&mut pair);
    assert_eq!(pair.count(End::Right, is_up), 1);
    assert_eq!(pair.statistics(End::Right).association.discarded.late_cookies, 1);
    hand.data(&mut pair, 0, 10);
    assert_eq!(pair.side(End::Right).received.len(), 1, "the association lives on");
}

#[test]
fn robustness_05_restart_from_further_addresses_is_refused() {
    let mut pair = Setup::rfc9260().connected();
    let from = pair.now_ms();
    Hand::posing_as_left(33).init_listing(&mut pair, [10, 9, 9, 9].into());
    assert_eq!(pair.log(End::Right, from), [format!("{from} ABORT")]);
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
}

/// RFC 5061 §4.2.2: an INIT that comes again after its sender has deleted an address it lists is no restart from new
/// addresses; an ABORT for it would carry the live tag.
#[test]
fn robustness_38_init_from_before_an_address_was_deleted_ends_nothing() {
    let setup = || {
        Setup::signalling()
            .configure(|config| config.extensions.dynamic_addresses = Offer::On)
            .homes(&["10.0.0.1", "10.0.0.5"], &["10.0.0.2"])
    };
    for deleted in ["10.0.0.1", "10.0.0.5"].map(|text| text.parse::<IpAddr>().unwrap()) {
        for incoming in [IncomingPolicy::Accept, IncomingPolicy::Refuse] {
            let mut pair = setup().connected();
            pair.run_ms(3000);
            pair.with(End::Left, |side, now| {
                side.endpoint.delete_local_address(now, side.id.unwrap(), deleted).unwrap();
            });
            pair.run_ms(3000);
            assert_eq!(pair.statistics(End::Right).paths.len(), 1);
            pair.with(End::Right, |side, _| side.endpoint.set_incoming(incoming)).unwrap();
            let (init, from) = (pair.side(End::Left).sent[0].octets.clone(), pair.now_ms());
            for source in ["10.0.0.1", "10.0.0.5"] {
                pair.inject(End::Right, source.parse().unwrap(), &init);
            }
            pair.run_ms(1000);
            assert_eq!(pair.times_of(End::Right, "ABORT", from), []);
            for end in [End::Left, End::Right] {
                assert_eq!(pair.state(end), Some(AssociationState::Established), "{deleted} {incoming:?}");
            }
            pair.send(End::Left, ordered(0, 1, 100));
            pair.run_ms(1000);
            assert_eq!(pair.payloads(End::Right), [[1; 100]]);
        }
    }
}

/// RFC 9260 §5.2.1: in COOKIE-WAIT the addresses of the peer are not known yet.
#[test]
fn crossing_init_may_list_further_addresses() {
    let mut pair = Setup::rfc9260().build();
    pair.cut();
    pair.connect_back();
    let from = pair.now_ms();
    Hand::posing_as_left(33).init_listing(&mut pair, [10, 9, 9, 9].into());
    assert_eq!(pair.times_of(End::Right, "INIT_ACK", from).len(), 1);
}

/// RFC 9260 §9.2: while SHUTDOWN ACK is unanswered, an INIT gets SHUTDOWN ACK, whose COMPLETE (§8.5.1 (E)) frees
/// the way for the new association.
#[test]
fn restart_during_shutdown_completes_the_old_association_first() {
    let mut pair = Setup::rfc9260().connected();
    pair.shutdown(End::Left);
    pair.run_ms(15);
    pair.reboot(End::Left, EndpointConfig::new(port(LEFT_PORT)));
    pair.drop_next(End::Right, &[]);
    pair.run_ms(2);
    assert_eq!(pair.state(End::Right), Some(AssociationState::ShutdownAckSent));
    // The SHUTDOWN ACK under way meets the new COOKIE-WAIT.
    pair.connect();
    pair.run_ms(5000);
    assert_eq!(pair.endings(End::Right), [Ok(())]);
    assert_eq!(pair.count(End::Left, is_up), 1);
    assert_eq!(pair.endings(End::Left), []);
}

#[test]
fn association_limit_is_answered_with_abort_and_frees_up_again() {
    let mut setup = Setup::rfc9260();
    setup.server.association_limit = 1;
    let mut pair = setup.build();
    let mut first = Hand::new(LEFT_PORT, 1);
    first.establish(&mut pair);
    let mut second = Hand::new(LEFT_PORT + 1, 2);
    second.init(&mut pair);
    let from = pair.side(End::Right).sent.len();
    second.echo(&mut pair);
    assert_eq!(pair.side(End::Right).sent[from].kinds(), "ABORT");
    first.abort(&mut pair);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
    second.establish(&mut pair);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 1);
}

/// A spoofed INIT must not disturb (RFC 9260 §5.2.2): it gets an INIT ACK and changes nothing.
#[test]
fn init_for_an_established_association_changes_nothing() {
    let mut pair = Setup::rfc9260().connected();
    Hand::posing_as_left(44).init(&mut pair);
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(500);
    assert_eq!(pair.side(End::Right).received.len(), 1);
    let zero = with_tag(LEFT_PORT, RIGHT_PORT, 0, |_| {});
    pair.inject(End::Right, LEFT, &zero);
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
}
