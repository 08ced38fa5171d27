//! Setting up an association (RFC 9260 §5.1): losses, limits, refusals, early data, streams.

use std::iter::once;

use sctp_core::{AssociationError, ConnectError, Event, Incoming};

use crate::net::{End, RIGHT, RIGHT_PORT, Setup, by_ip, is_up, millis, ms, ordered, port};

/// When each end was told that the association is up.
fn up_times(setup: Setup) -> [Vec<u64>; 2] {
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(5000);
    [End::Left, End::Right].map(|end| {
        let ups = pair.side(end).events.iter().filter(|(_, event)| is_up(event));
        ups.map(|(at, _)| millis(*at)).collect()
    })
}

#[test]
fn four_packets_make_an_association() {
    assert_eq!(up_times(Setup::rfc9260()), [[40], [30]]);
}

#[test]
fn each_lost_packet_of_the_handshake_costs_one_initial_timeout() {
    let lost = [
        (Setup::rfc9260().drop_from_left(&[1]), "INIT", 1030),
        (Setup::rfc9260().drop_from_right(&[1]), "INIT ACK", 1030),
        (Setup::rfc9260().drop_from_left(&[2]), "COOKIE ECHO", 1030),
        (Setup::rfc9260().drop_from_right(&[2]), "COOKIE ACK", 30),
    ];
    for (setup, name, right) in lost {
        assert_eq!(up_times(setup), [[1040], [right]], "{name}");
    }
}

#[test]
fn unanswered_inits_double_their_distance_and_end_at_the_limit() {
    let mut pair = Setup::rfc9260().configure(|config| config.attempts.init = 3).build();
    pair.cut();
    pair.connect();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(60_000);
    assert_eq!(pair.times_of(End::Left, "INIT", 0), [0, 1000, 3000, 7000]);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::HandshakeTimedOut { attempts: 4 })]);
    let events = &pair.side(End::Left).events;
    assert!(matches!(events[0].1, Event::SendFailed { .. }), "failed messages come before the end");
    assert_eq!(millis(events[1].0), 15_000);
    assert_eq!(pair.side(End::Left).endpoint.association_count(), 0);
}

#[test]
fn unanswered_cookie_echoes_end_at_the_limit() {
    let lost: Vec<u64> = (2..100).collect();
    let setup = Setup::rfc9260().configure(|config| config.attempts.init = 3).drop_from_left(&lost);
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(60_000);
    assert_eq!(pair.times_of(End::Left, "COOKIE_ECHO", 0), [20, 1020, 3020, 7020]);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::HandshakeTimedOut { attempts: 4 })]);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
}

#[test]
fn endpoint_that_accepts_nothing_refuses_at_once() {
    let mut setup = Setup::rfc9260();
    setup.server.incoming = Incoming::Refuse;
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(100);
    assert!(matches!(&pair.endings(End::Left)[..], [Err(AssociationError::Refused(_))]));
    assert_eq!(pair.now_ms(), 100);
    assert_eq!(pair.side(End::Right).endpoint.statistics().inits_refused, 1);
}

#[test]
fn early_data_travels_with_the_cookie() {
    let mut pair = Setup::rfc9260().build();
    pair.connect();
    pair.send(End::Left, ordered(3, 7, 500));
    pair.run_ms(100);
    assert_eq!(pair.log(End::Left, 0)[..2], ["0 INIT", "20 COOKIE_ECHO DATA"]);
    assert_eq!(pair.read_times(End::Right), [30]);
}

/// RFC 9260 §5.1 (C): before COOKIE ACK nothing travels without COOKIE ECHO, or it would be out of the blue.
#[test]
fn early_data_beyond_one_packet_waits_and_survives_the_loss_of_the_cookie() {
    for lost in [vec![], vec![2], vec![2, 3], vec![2, 3, 4]] {
        for setup in [Setup::rfc9260(), Setup::signalling()] {
            let mut pair = setup.drop_from_left(&lost).build();
            pair.connect();
            (0..10).for_each(|number| pair.send(End::Left, ordered(0, number, 1000)));
            pair.run_ms(30_000);
            assert_eq!(pair.endings(End::Left), []);
            assert_eq!(pair.side(End::Right).received.len(), 10, "lost {lost:?}");
            let up = pair.side(End::Left).events.iter().find(|(_, event)| is_up(event)).unwrap().0;
            let before = pair.side(End::Left).sent.iter().filter(|sent| sent.at < up);
            let expected = once("INIT".to_owned()).chain(vec!["COOKIE_ECHO DATA".to_owned(); lost.len() + 1]);
            assert!(before.map(super::net::Sent::kinds).eq(expected), "{:?}", pair.log(End::Left, 0));
        }
    }
}

#[test]
fn streams_are_the_smaller_of_what_is_asked_and_allowed() {
    let mut setup = Setup::rfc9260();
    setup.client.streams.outbound = 4;
    setup.server.association.streams.inbound = 2;
    setup.server.association.streams.outbound = 9;
    let mut pair = setup.build();
    pair.connect();
    (0..4).for_each(|stream| pair.send(End::Left, ordered(stream, 1, 10)));
    pair.run_ms(1000);
    let up = |end, outbound: u16, inbound: u16| {
        pair.count(end, |event| {
            matches!(event, Event::CommunicationUp { outbound_streams: o, inbound_streams: i, .. }
                if (*o, *i) == (outbound, inbound))
        })
    };
    assert_eq!((up(End::Left, 2, 9), up(End::Right, 9, 2)), (1, 1));
    let failed = |event: &Event| {
        matches!(event, Event::SendFailed { error: AssociationError::StreamNotNegotiated, .. })
    };
    assert_eq!(pair.count(End::Left, failed), 2);
    assert_eq!(pair.side(End::Right).received.len(), 2);
}

#[test]
fn second_association_with_the_same_peer_is_refused_locally() {
    let mut pair = Setup::rfc9260().connected();
    let refused = pair.with(End::Left, |side, now| {
        let config = sctp_core::AssociationConfig::default();
        side.endpoint.connect(now, &[by_ip(RIGHT)], port(RIGHT_PORT), config)
    });
    assert_eq!(refused, Err(ConnectError::Exists));
}

/// RFC 9260 §5.2.6: the first cookie arrives too late; the second one does not.
#[test]
fn stale_cookie_leads_to_a_new_one() {
    let mut setup = Setup::rfc9260();
    setup.server.cookie_life = ms(30);
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(15);
    pair.impair(End::Left, netem::Impairments { delay: ms(35), ..Default::default() });
    pair.run_ms(45);
    pair.drop_next(End::Left, &[]);
    pair.run_ms(200);
    assert_eq!(pair.side(End::Right).endpoint.statistics().stale_cookies, 1);
    assert_eq!(pair.times_of(End::Left, "INIT", 0), [0, 65]);
    assert_eq!(pair.count(End::Left, is_up), 1);
    assert_eq!(pair.statistics(End::Left).association.stale_cookies, 1);
}

#[test]
fn cookies_that_are_always_stale_end_the_attempt() {
    let mut setup = Setup::rfc9260();
    setup.server.cookie_life = ms(18);
    let mut pair = setup.build();
    pair.connect();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(60_000);
    assert_eq!(pair.times_of(End::Left, "INIT", 0).len(), 9);
    match &pair.endings(End::Left)[..] {
        [Err(AssociationError::Refused(error))] => assert_eq!(error.cause, Some(3)),
        other => panic!("{other:?}"),
    }
}
