//! Setting up an association (RFC 9260 §5.1): losses, limits, refusals, early data, streams.

use std::iter::once;

use sctp_core::{
    AssociationError, Capabilities, Capability, ConnectError, Event, IncomingPolicy, Offer, SendFailure,
};
use sctp_wire::{Chunk, Parameter, ParameterType, UnknownParameter};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, RIGHT, RIGHT_PORT, Setup, by_ip, is_up, millis, ms, ordered, port};

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
    setup.server.incoming = IncomingPolicy::Refuse;
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(100);
    assert!(matches!(&pair.endings(End::Left)[..], [Err(AssociationError::Refused(_))]));
    assert_eq!(pair.now_ms(), 100);
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.inits_refused, 1);
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

/// One way takes 10 ms. A user that waits for CommunicationUp sends when COOKIE ACK has come; one that does not, at once.
#[test]
fn a_request_that_is_sent_at_once_arrives_a_round_trip_earlier() {
    for setup in [Setup::rfc9260, Setup::signalling] {
        let mut early = setup().build();
        early.connect();
        early.send(End::Left, ordered(3, 7, 500));
        early.run_ms(100);
        let mut waiting = setup().build();
        waiting.connect();
        waiting.run_ms(40);
        assert_eq!(waiting.count(End::Left, is_up), 1);
        waiting.send(End::Left, ordered(3, 7, 500));
        waiting.run_ms(100);
        assert_eq!((early.read_times(End::Right), waiting.read_times(End::Right)), (vec![30], vec![50]));
    }
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

/// The COOKIE ACK is lost, the user ends the association and the ABORT is lost, too: the COOKIE ECHO that comes again must
/// neither deliver its messages once more nor leave the client with an end that has forgotten what it acknowledged.
#[test]
fn cookie_of_an_ended_association_makes_no_second_one() {
    let mut pair = Setup::rfc9260().drop_from_right(&[2, 3]).build();
    pair.connect();
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(500);
    assert_eq!(pair.side(End::Right).received.len(), 1);
    pair.abort(End::Right, b"unheard");
    pair.run_ms(10_000);
    let handshake = pair.side(End::Right).endpoint.statistics().handshake;
    assert_eq!(handshake.spent_cookies, 1);
    assert_eq!(pair.side(End::Right).received.len(), 1);
    assert_eq!((pair.state(End::Left), pair.state(End::Right)), (None, None));
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
    let why = SendFailure::Association(AssociationError::StreamNotNegotiated);
    let failed =
        |event: &Event| matches!(event, Event::SendFailed { reason, was_sent: false, .. } if *reason == why);
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
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.stale_cookies, 1);
    assert_eq!(pair.times_of(End::Left, "INIT", 0), [0, 65]);
    assert_eq!(pair.count(End::Left, is_up), 1);
    assert_eq!(pair.statistics(End::Left).association.stale_cookies, 1);
}

/// RFC 9260 §5.2.6 (3), §3.3.2.1.3: the second INIT asks for twice the round trip, which the bound here just allows.
#[test]
fn cookie_that_is_too_short_lived_for_the_path_is_asked_to_live_longer() {
    let mut setup = Setup::rfc9260();
    setup.server.cookie_life = ms(18);
    setup.server.cookie_extension = ms(3);
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(500);
    let inits = pair.times_of(End::Left, "INIT", 0);
    assert_eq!(inits, [0, 40]);
    let asked = pair.side(End::Left).sent.iter().filter_map(|sent| match sent.packet().chunks().next() {
        Some(Ok(Chunk::Init(init))) => Some(init.parameters.iter().flatten().find_map(|parameter| {
            if let Parameter::CookiePreservative { increment_ms } = parameter {
                Some(increment_ms)
            } else {
                None
            }
        })),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), [None, Some(40)]);
    assert_eq!(pair.count(End::Left, is_up), 1);
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.stale_cookies, 1);
}

#[test]
fn cookies_that_are_always_stale_end_the_attempt() {
    let mut setup = Setup::rfc9260();
    setup.server.cookie_life = ms(18);
    setup.server.cookie_extension = ms(0);
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

/// RFC 9260 §3.2.1: what is not spoken is unknown, and then it does not matter whether its content is sound. The length of a
/// report does not count its padding.
#[test]
fn parameters_of_extensions_that_are_not_spoken_are_unknown_sound_or_not() {
    let add_address = [0, 0, 0, 1, 0, 5, 0, 8, 10, 0, 0, 7];
    let table = [(0xc001, 0b11), (0x8004, 0b10), (0xc000, 0b11), (15, 0b00)];
    for ((kind, bits), value) in table.into_iter().flat_map(|row| [(row, &add_address[..]), (row, &[1])]) {
        let kind = ParameterType::new(kind);
        let odd = Parameter::Unknown(UnknownParameter { kind, value, raw: &[] });
        let mut pair = Setup::rfc9260().build();
        let behind = UnknownParameter { kind: ParameterType::new(0xc123), value: &[0, 0, 0, 1], raw: &[] };
        Hand::new(LEFT_PORT, 5).init_with(&mut pair, &[odd, Parameter::Unknown(behind)]);
        let answer = pair.side(End::Right).sent.last().unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = answer.packet().chunks().next() else {
            panic!("{}", answer.kinds())
        };
        let reported = ack.parameters.iter().flatten().filter_map(|parameter| {
            if let Parameter::UnrecognizedParameter(report) = parameter {
                Some(report.to_vec())
            } else {
                None
            }
        });
        let reported: Vec<_> = reported.collect();
        let mut expected = Vec::new();
        if bits & 1 == 1 {
            let length = u16::try_from(value.len() + 4).unwrap().to_be_bytes();
            expected.push([&kind.to_wire()[..], &length, value].concat());
        }
        if bits & 2 == 2 {
            expected.push(vec![0xc1, 0x23, 0, 8, 0, 0, 0, 1]);
        }
        assert_eq!(reported, expected, "{kind}");
    }
}

#[test]
fn both_ends_agree_on_the_extensions_both_offer() {
    let mut setup = Setup::rfc9260();
    setup.client.extensions.reconfiguration = Offer::On;
    setup.client.extensions.partial_reliability = Offer::On;
    setup.server.association.extensions.reconfiguration = Offer::On;
    let pair = setup.connected();
    for end in [End::Left, End::Right] {
        let side = pair.side(end);
        let capabilities = side.endpoint.association(side.id.unwrap()).unwrap().capabilities();
        assert_eq!(capabilities, Capabilities::NONE.with(Capability::Reconfiguration), "{end:?}");
    }
}
