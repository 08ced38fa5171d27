//! Re-configuring streams (RFC 6525): what both ends see, whatever gets lost, and what a peer may ask for.

use netem::{Impairments, Probability};
use sctp_core::{
    Acceptance, AddressChange, AddressOutcome, EndpointConfig, Event, Offer, ReconfigError, ReconfigOutcome,
    ResetDirection, SendError, StreamDirection, StreamId, Tsn,
};
use sctp_wire::{
    AddStreams, Chunk, IncomingSsnReset, OutgoingSsnReset, Parameter, ReconfigResponse, ReconfigResult,
    ReconfigSequence, StreamIds,
};

use crate::by_hand::Hand;
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT, Setup, ms, ordered, port};

const BOTH_ENDS: [End; 2] = [End::Left, End::Right];

fn setup() -> Setup {
    Setup::signalling().configure(|config| config.extensions.reconfiguration = Offer::On)
}

fn ids(streams: &[u16]) -> Vec<StreamId> {
    streams.iter().copied().map(StreamId::new).collect()
}

fn reset(pair: &mut Pair, end: End, streams: &[u16], direction: ResetDirection) -> Result<(), ReconfigError> {
    let streams = ids(streams);
    pair.with(end, |side, now| side.endpoint.reset_streams(now, side.id.unwrap(), &streams, direction))
}

fn add(pair: &mut Pair, end: End, outbound: u16, inbound: u16) -> Result<(), ReconfigError> {
    pair.with(end, |side, now| side.endpoint.add_streams(now, side.id.unwrap(), outbound, inbound))
}

fn reset_all(pair: &mut Pair, end: End) -> Result<(), ReconfigError> {
    pair.with(end, |side, now| side.endpoint.reset_association(now, side.id.unwrap()))
}

/// What an end heard of re-configurations.
fn told(pair: &Pair, end: End) -> Vec<Event> {
    let is_meant = |event: &Event| {
        matches!(
            event,
            Event::StreamsReset { .. } | Event::AssociationReset { .. } | Event::StreamsAdded { .. }
        )
    };
    pair.side(end).events.iter().map(|(_, event)| event.clone()).filter(is_meant).collect()
}

fn was_reset(direction: StreamDirection, streams: &[u16]) -> Event {
    Event::StreamsReset { direction, streams: ids(streams), result: ReconfigOutcome::Performed }
}

/// SSNs of the ordered messages an end sent on a stream, each counted once, in the order of their TSNs.
fn ssns(pair: &Pair, end: End, stream: u16) -> Vec<u16> {
    let mut seen: Vec<(Tsn, u16)> = Vec::new();
    for sent in &pair.side(end).sent {
        for chunk in sent.packet().chunks().flatten() {
            if let Chunk::Data(data) = chunk
                && data.stream.get() == stream
                && !seen.iter().any(|(tsn, _)| *tsn == data.tsn)
            {
                seen.push((data.tsn, data.ssn.get()));
            }
        }
    }
    seen.into_iter().map(|(_, ssn)| ssn).collect()
}

/// RFC 6525 §5.1.2, §5.2.2: what was sent before comes with the old numbers, what is sent after with new ones.
#[test]
fn outgoing_reset_starts_the_named_streams_again_and_leaves_the_others() {
    let mut pair = setup().connected();
    for number in 0..3 {
        pair.send(End::Left, ordered(1, number, 2000));
        pair.send(End::Left, ordered(2, number, 10));
    }
    reset(&mut pair, End::Left, &[1, 1], ResetDirection::Outgoing).unwrap();
    for number in 3..5 {
        pair.send(End::Left, ordered(1, number, 10));
        pair.send(End::Left, ordered(2, number, 10));
    }
    pair.run_ms(500);
    assert_eq!(told(&pair, End::Left), [was_reset(StreamDirection::Outgoing, &[1])]);
    assert_eq!(told(&pair, End::Right), [was_reset(StreamDirection::Incoming, &[1])]);
    let mut first = ssns(&pair, End::Left, 1);
    first.dedup();
    assert_eq!(first, [0, 1, 2, 0, 1]);
    assert_eq!(ssns(&pair, End::Left, 2), [0, 1, 2, 3, 4]);
    assert_eq!(pair.side(End::Right).received.len(), 10);
    let statistics = pair.statistics(End::Left).reconfiguration;
    assert_eq!((statistics.requests_sent, statistics.retransmissions), (1, 0));
}

#[test]
fn all_streams_of_both_directions_are_reset_with_one_request() {
    let mut pair = setup().connected();
    for end in BOTH_ENDS {
        (0..4).for_each(|stream| pair.send(end, ordered(stream, 1, 10)));
    }
    pair.run_ms(300);
    reset(&mut pair, End::Left, &[], ResetDirection::Both).unwrap();
    for end in BOTH_ENDS {
        (0..4).for_each(|stream| pair.send(end, ordered(stream, 2, 10)));
    }
    pair.run_ms(1000);
    for end in BOTH_ENDS {
        let mut told = told(&pair, end);
        told.sort_by_key(|event| format!("{event:?}"));
        let expected =
            [StreamDirection::Incoming, StreamDirection::Outgoing].map(|direction| was_reset(direction, &[]));
        assert_eq!(told, expected, "{end:?}");
        assert_eq!(pair.side(end).received.len(), 8, "{end:?}");
    }
    assert_eq!(ssns(&pair, End::Left, 3), [0, 0]);
}

/// One packet after the other is lost, in either direction; the outcome is the same.
#[test]
fn reset_association_reset_and_added_streams_survive_the_loss_of_any_packet() {
    let asks: [fn(&mut Pair); 4] = [
        |pair| reset(pair, End::Left, &[0], ResetDirection::Both).unwrap(),
        |pair| reset(pair, End::Left, &[], ResetDirection::Incoming).unwrap(),
        |pair| reset_all(pair, End::Left).unwrap(),
        |pair| add(pair, End::Left, 3, 2).unwrap(),
    ];
    for (kind, ask) in asks.into_iter().enumerate() {
        for lost in 1..=6 {
            for from in BOTH_ENDS {
                let mut pair = setup().connected();
                pair.drop_next(from, &[lost]);
                let what = format!("request {kind}, packet {lost} of {from:?} lost");
                BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, 1, 3000)));
                ask(&mut pair);
                BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, 2, 3000)));
                pair.run_ms(20_000);
                for end in BOTH_ENDS {
                    let payloads: Vec<u8> = pair.payloads(end).iter().map(|payload| payload[0]).collect();
                    assert_eq!(payloads, [1, 2], "{what}, {end:?}");
                    assert_eq!(pair.endings(end), [], "{what}, {end:?}");
                    let told = told(&pair, end);
                    assert!(!told.is_empty(), "{what}, {end:?}");
                    assert!(
                        told.iter().all(|event| format!("{event:?}").contains("Performed")),
                        "{what}: {told:?}"
                    );
                }
            }
        }
    }
}

/// RFC 6525 §5.1.4, §5.2.4, §5.2.7 (H5): TSNs jump by half the number space, nothing is lost.
#[test]
fn association_reset_starts_tsns_and_all_streams_anew() {
    let mut pair = setup().connected();
    for end in BOTH_ENDS {
        (0..3).for_each(|number| pair.send(end, ordered(0, number, 3000)));
    }
    reset_all(&mut pair, End::Left).unwrap();
    for end in BOTH_ENDS {
        (3..6).for_each(|number| pair.send(end, ordered(0, number, 10)));
    }
    pair.run_ms(2000);
    for end in BOTH_ENDS {
        let performed = Event::AssociationReset { result: ReconfigOutcome::Performed };
        assert_eq!(told(&pair, end), [performed], "{end:?}");
        let payloads: Vec<u8> = pair.payloads(end).iter().map(|payload| payload[0]).collect();
        assert_eq!(payloads, [0, 1, 2, 3, 4, 5], "{end:?}");
        assert_eq!(pair.endings(end), [], "{end:?}");
    }
    // What the right end sent after the request came is up to when it came.
    let mut numbers = ssns(&pair, End::Left, 0);
    numbers.dedup();
    assert_eq!(numbers, [0, 1, 2, 0, 1, 2]);
    let again = reset_all(&mut pair, End::Left).unwrap_err();
    assert!(matches!(again, ReconfigError::TooSoon { .. }), "{again}");
    pair.run_ms(30_000);
    reset_all(&mut pair, End::Left).unwrap();
    pair.send(End::Left, ordered(0, 6, 10));
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Right).last(), Some(&&[6; 10][..]));
}

/// What the responder sends after an SSN/TSN reset may overtake the response: it is not read by the numbers of before. Nor
/// are its acknowledgments, which name TSNs that nobody has sent yet (RFC 6525 §5.2.4 (G1), (G2)).
#[test]
fn what_overtakes_the_answer_to_an_association_reset_comes_again() {
    let mut overtakings = 0;
    for seed in 0..60 {
        let mut setup = setup();
        setup.seed = seed;
        let mut pair = setup.connected();
        for end in BOTH_ENDS {
            (0..3).for_each(|number| pair.send(end, ordered(0, number, 3000)));
        }
        pair.run_ms(500);
        let percent = |value: f64| Probability::new(value / 100.0).unwrap();
        let overtaking = Impairments {
            delay: ms(10),
            jitter: ms(9),
            reorder: percent(30.0),
            duplicate: percent(20.0),
            ..Impairments::default()
        };
        BOTH_ENDS.into_iter().for_each(|end| pair.impair(end, overtaking.clone()));
        reset_all(&mut pair, End::Left).unwrap();
        for number in 3..20 {
            BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, number, 100)));
            pair.run_ms(3);
        }
        pair.run_ms(5000);
        let all: Vec<u8> = (0..20).collect();
        for end in BOTH_ENDS {
            let payloads: Vec<u8> = pair.payloads(end).iter().map(|payload| payload[0]).collect();
            assert_eq!(payloads, all, "seed {seed}, {end:?}");
            assert_eq!(pair.endings(end), [], "seed {seed}, {end:?}");
        }
        overtakings += pair.statistics(End::Left).receiver.dropped_out_of_reach;
    }
    assert!(overtakings > 0);
}

/// Whatever was sent up to now arrives once more, in the order in which it left.
fn replay(pair: &mut Pair) {
    for (from, to) in [(End::Left, End::Right), (End::Right, End::Left)] {
        let source = if from == End::Left { LEFT } else { RIGHT };
        for sent in pair.side(from).sent.clone() {
            let kinds = sent.kinds();
            if kinds.contains("DATA") || kinds.contains("SACK") || kinds.contains("RE-CONFIG") {
                pair.inject(to, source, &sent.octets);
            }
        }
    }
    pair.run_ms(500);
}

/// Both sides have TSNs start again, one right after the other, and packets from before, between and after come late.
#[test]
fn robustness_38_packets_from_before_several_association_resets_disturb_nothing() {
    for ends in
        [[End::Left, End::Right, End::Left, End::Right], [End::Left, End::Left, End::Right, End::Right]]
    {
        let mut pair = setup().connected();
        let mut number = 0;
        for (round, asking) in ends.into_iter().enumerate() {
            for _ in 0..3 {
                BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, number, 2000)));
                number += 1;
                pair.run_ms(100);
            }
            while reset_all(&mut pair, asking).is_err() {
                pair.run_ms(1000);
            }
            pair.run_ms(100);
            replay(&mut pair);
            for end in BOTH_ENDS {
                assert_eq!(pair.endings(end), [], "round {round}, {end:?}");
            }
        }
        BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, number, 2000)));
        pair.run_ms(2000);
        replay(&mut pair);
        for end in BOTH_ENDS {
            let payloads: Vec<usize> = pair.payloads(end).iter().map(|payload| payload[0].into()).collect();
            assert_eq!(payloads, (0..=number).collect::<Vec<_>>(), "{end:?}");
            assert_eq!(pair.endings(end), [], "{end:?}");
        }
    }
}

/// RFC 9260 §5.2.4.1: whoever begins anew knows nothing of what its predecessor was asked.
#[test]
fn what_a_peer_was_asked_before_it_restarted_is_answered_by_that() {
    let setup = setup().configure(|config| config.extensions.dynamic_addresses = Offer::On);
    let config = setup.client.clone();
    let mut pair = setup.two_homes().connected();
    pair.cut();
    reset(&mut pair, End::Right, &[0, 1], ResetDirection::Both).unwrap();
    add(&mut pair, End::Right, 3, 0).unwrap();
    reset_all(&mut pair, End::Right).unwrap();
    let local = "10.0.1.2".parse().unwrap();
    pair.with(End::Right, |side, now| side.endpoint.delete_local_address(now, side.id.unwrap(), local))
        .unwrap();
    pair.run_ms(100);
    pair.mend();
    let mut reborn = EndpointConfig::new(port(LEFT_PORT));
    reborn.association = config;
    pair.reboot(End::Left, reborn);
    pair.connect();
    pair.run_ms(1000);
    let result = ReconfigOutcome::PeerRestarted;
    let streams = ids(&[0, 1]);
    let (outbound_streams, inbound_streams) = (64, 64);
    assert_eq!(
        told(&pair, End::Right),
        [
            Event::StreamsReset { direction: StreamDirection::Outgoing, streams: streams.clone(), result },
            Event::StreamsReset { direction: StreamDirection::Incoming, streams, result },
            Event::StreamsAdded { outbound_streams, inbound_streams, result },
            Event::AssociationReset { result },
        ]
    );
    let (change, outcome) = (AddressChange::Delete(local), AddressOutcome::PeerRestarted);
    let answered = Event::AddressChangeAnswered { change, outcome };
    assert_eq!(pair.count(End::Right, |event| *event == answered), 1);
    assert_eq!(pair.endings(End::Right), []);
    reset(&mut pair, End::Right, &[0], ResetDirection::Outgoing).unwrap();
    pair.run_ms(200);
    let performed = ReconfigOutcome::Performed;
    let again =
        Event::StreamsReset { direction: StreamDirection::Outgoing, streams: ids(&[0]), result: performed };
    assert_eq!(told(&pair, End::Right).last(), Some(&again), "the new peer is asked anew");
}

/// RFC 6525 §5.1.5, §5.1.6, §5.2.6.
#[test]
fn added_streams_can_be_used_once_both_sides_know_them() {
    let setup = setup().configure(|config| {
        config.streams.outbound = 2;
        config.streams.inbound = 2;
    });
    let mut pair = setup.connected();
    assert!(matches!(pair.try_send(End::Left, ordered(2, 1, 10)), Err(SendError::UnknownStream { .. })));
    add(&mut pair, End::Left, 3, 1).unwrap();
    assert!(matches!(pair.try_send(End::Left, ordered(2, 1, 10)), Err(SendError::UnknownStream { .. })));
    pair.run_ms(200);
    pair.send(End::Left, ordered(4, 1, 10));
    pair.send(End::Right, ordered(2, 1, 10));
    assert!(matches!(pair.try_send(End::Left, ordered(5, 1, 10)), Err(SendError::UnknownStream { .. })));
    pair.run_ms(200);
    let counts = |outbound_streams, inbound_streams| {
        let result = ReconfigOutcome::Performed;
        Event::StreamsAdded { outbound_streams, inbound_streams, result }
    };
    let left = told(&pair, End::Left);
    assert_eq!((left.len(), left.last()), (2, Some(&counts(5, 3))));
    assert_eq!(told(&pair, End::Right).last(), Some(&counts(3, 5)));
    for end in BOTH_ENDS {
        assert_eq!(pair.side(end).received.len(), 1);
    }
}

#[test]
fn what_the_configuration_denies_is_denied_and_the_association_goes_on() {
    let mut setup = setup();
    let reconfiguration = &mut setup.server.association.reconfiguration;
    reconfiguration.stream_reset = Acceptance::Deny;
    reconfiguration.association_reset = Acceptance::Deny;
    reconfiguration.max_inbound_streams = 64;
    let mut pair = setup.connected();
    pair.send(End::Left, ordered(0, 1, 10));
    reset(&mut pair, End::Left, &[0], ResetDirection::Both).unwrap();
    reset_all(&mut pair, End::Left).unwrap();
    add(&mut pair, End::Left, 1, 0).unwrap();
    pair.send(End::Left, ordered(0, 2, 10));
    pair.run_ms(2000);
    let told_left = told(&pair, End::Left);
    assert_eq!(told_left.len(), 4);
    assert!(told_left.iter().all(|event| format!("{event:?}").contains("Denied")), "{told_left:?}");
    assert_eq!(told(&pair, End::Right), []);
    assert_eq!(ssns(&pair, End::Left, 0), [0, 1], "the stream goes on where it was");
    assert_eq!(pair.side(End::Right).received.len(), 2);
    assert_eq!(pair.statistics(End::Right).reconfiguration.requests_refused, 4);
}

/// RFC 6525 §5.1.1: no request to a peer that does not know the extension.
#[test]
fn without_the_peer_s_offer_nothing_is_asked_for() {
    let mut setup = setup();
    setup.server.association.extensions.reconfiguration = Offer::Off;
    let mut pair = setup.connected();
    assert_eq!(reset(&mut pair, End::Left, &[0], ResetDirection::Outgoing), Err(ReconfigError::NotAgreed));
    assert_eq!(reset_all(&mut pair, End::Left), Err(ReconfigError::NotAgreed));
    assert_eq!(add(&mut pair, End::Left, 1, 1), Err(ReconfigError::NotAgreed));
}

#[test]
fn requests_that_cannot_be_met_are_refused_at_once() {
    let mut pair = setup().connected();
    let unknown = reset(&mut pair, End::Left, &[64], ResetDirection::Outgoing);
    assert_eq!(unknown, Err(ReconfigError::UnknownStream { stream: StreamId::new(64), negotiated: 64 }));
    assert_eq!(add(&mut pair, End::Left, 0, 0), Err(ReconfigError::NothingToAdd));
    let most = Err(ReconfigError::TooManyStreams { present: 64, added: u16::MAX });
    assert_eq!(add(&mut pair, End::Left, u16::MAX, 0), most);
    pair.cut();
    let results: Vec<_> = (0..20).map(|_| add(&mut pair, End::Left, 1, 0)).collect();
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 17, "one in flight, 16 waiting");
    assert_eq!(results.last(), Some(&Err(ReconfigError::TooManyRequests { limit: 16 })));
}

/// RFC 6525 §5.2.3: both sides at once.
#[test]
fn crossing_resets_of_both_sides_end_well() {
    for direction in [ResetDirection::Outgoing, ResetDirection::Both] {
        let mut pair = setup().connected();
        BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, 1, 10)));
        pair.run_ms(300);
        BOTH_ENDS.into_iter().for_each(|end| reset(&mut pair, end, &[0], direction).unwrap());
        pair.run_ms(2000);
        BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, 2, 10)));
        pair.run_ms(1000);
        for end in BOTH_ENDS {
            assert_eq!(pair.side(end).received.len(), 2, "{direction:?} {end:?}");
            assert_eq!(ssns(&pair, end, 0), [0, 0], "{direction:?} {end:?}");
            assert_eq!(pair.endings(end), []);
        }
    }
}

/// Each side's wish is done only when the other has sent its reset, and has one request in flight: one gives way, and
/// may ask again.
#[test]
fn crossing_wishes_for_the_other_side_s_reset_do_not_wait_for_each_other() {
    let mut pair = setup().connected();
    BOTH_ENDS.into_iter().for_each(|end| pair.send(end, ordered(0, 1, 10)));
    pair.run_ms(300);
    BOTH_ENDS.into_iter().for_each(|end| reset(&mut pair, end, &[0], ResetDirection::Incoming).unwrap());
    pair.run_ms(3000);
    let busy = Event::StreamsReset {
        direction: StreamDirection::Incoming,
        streams: ids(&[0]),
        result: ReconfigOutcome::Busy,
    };
    let gave_way = BOTH_ENDS.into_iter().find(|end| told(&pair, *end).contains(&busy)).unwrap();
    let performed = was_reset(StreamDirection::Incoming, &[0]);
    let met = |pair: &Pair| BOTH_ENDS.into_iter().filter(|end| told(pair, *end).contains(&performed)).count();
    assert_eq!(met(&pair), 1);
    reset(&mut pair, gave_way, &[0], ResetDirection::Incoming).unwrap();
    pair.run_ms(1000);
    assert_eq!(met(&pair), 2);
}

/// A request of which no answer comes supervises the peer like data does (RFC 6525 §5.1.1).
#[test]
fn unanswered_request_is_repeated_with_doubling_until_the_peer_counts_as_unreachable() {
    let setup = setup().configure(|config| config.attempts.association = 3);
    let mut pair = setup.connected();
    pair.cut();
    let begun = pair.now_ms();
    reset(&mut pair, End::Left, &[0], ResetDirection::Outgoing).unwrap();
    pair.run_ms(60_000);
    let times: Vec<u64> = pair.times_of(End::Left, "RE-CONFIG", begun).iter().map(|at| at - begun).collect();
    assert_eq!(times[..3], [0, 200, 600]);
    assert_eq!(pair.endings(End::Left).len(), 1);
}

#[test]
fn everything_held_for_a_reset_is_delivered_before_a_shutdown_completes() {
    let mut pair = setup().connected();
    pair.send(End::Left, ordered(0, 1, 5000));
    reset(&mut pair, End::Left, &[0], ResetDirection::Outgoing).unwrap();
    pair.send(End::Left, ordered(0, 2, 5000));
    pair.shutdown(End::Left);
    pair.run_ms(2000);
    assert_eq!(pair.endings(End::Left), [Ok(())]);
    assert_eq!(pair.side(End::Right).received.len(), 2);
}

fn established_hand(pair: &mut Pair) -> Hand {
    let mut hand = Hand::new(LEFT_PORT, 5);
    let listed = [sctp_wire::ChunkType::RE_CONFIG.get()];
    hand.init_with(pair, &[Parameter::SupportedExtensions(sctp_wire::ChunkTypes::new(&listed))]);
    hand.echo(pair);
    hand
}

/// The parameters of the RE-CONFIG chunks the right end sent from its `from`th packet on, as text.
fn answers(pair: &Pair, from: usize) -> Vec<String> {
    let chunks = pair.side(End::Right).sent[from..].iter();
    let chunks = chunks
        .flat_map(|sent| sent.packet().chunks().flatten().map(|chunk| chunk.to_string()).collect::<Vec<_>>());
    chunks.filter(|chunk| chunk.starts_with("RE-CONFIG")).collect()
}

fn ask(pair: &mut Pair, hand: &Hand, parameters: &[Parameter<'_>]) -> Vec<String> {
    let from = pair.side(End::Right).sent.len();
    hand.tell(pair, |writer| writer.re_config(parameters).unwrap());
    answers(pair, from)
}

fn outgoing<'a>(request: u32, last_tsn: Tsn, streams: &'a [[u8; 2]]) -> Parameter<'a> {
    let (request, response) = (ReconfigSequence::new(request), ReconfigSequence::new(0));
    Parameter::OutgoingSsnReset(OutgoingSsnReset {
        request,
        response,
        last_tsn,
        streams: StreamIds::new(streams),
    })
}

/// RFC 6525 §5.2.2 (E2): "in progress" first, the final answer when everything has come; repeated, no second reset.
#[test]
fn outgoing_reset_waits_for_the_last_tsn_and_repeated_requests_get_the_answer_they_had() {
    let mut pair = setup().build();
    let mut hand = established_hand(&mut pair);
    let first = hand.next_tsn.get();
    let request = outgoing(first, hand.next_tsn.advance(1), &[]);
    let in_progress = ask(&mut pair, &hand, &[request]);
    assert_eq!(in_progress.len(), 1);
    assert!(in_progress[0].contains("in progress"), "{in_progress:?}");
    assert_eq!(ask(&mut pair, &hand, &[request]), in_progress, "asked again");
    let busy = ask(&mut pair, &hand, &[outgoing(first.wrapping_add(1), hand.next_tsn, &[])]);
    assert!(busy[0].contains("request already in progress"), "{busy:?}");
    hand.data(&mut pair, 0, 10);
    let from = pair.side(End::Right).sent.len();
    hand.data(&mut pair, 0, 10);
    let performed = answers(&pair, from);
    assert!(performed[0].contains("performed"), "{performed:?}");
    assert_eq!(ask(&mut pair, &hand, &[request]), performed);
    assert_eq!(told(&pair, End::Right), [was_reset(StreamDirection::Incoming, &[])]);
    hand.next_ssn = sctp_core::Ssn::new(0);
    hand.data(&mut pair, 0, 10);
    assert_eq!(pair.side(End::Right).received.len(), 3, "SSN 0 again");
    assert_eq!(pair.statistics(End::Right).reconfiguration.requests_repeated, 2);
}

/// RFC 6525 §4.4, table 3, seen from outside.
#[test]
fn responder_s_result_table() {
    let mut pair = setup().build();
    let hand = established_hand(&mut pair);
    let first = hand.next_tsn.get();
    let number = |offset: u32| ReconfigSequence::new(first.wrapping_add(offset));
    let arrived = hand.next_tsn.previous();
    let count = |offset, count| AddStreams { request: number(offset), count };
    let incoming = |offset, streams| IncomingSsnReset { request: number(offset), streams };
    let rows = [
        (outgoing(first.wrapping_add(7), arrived, &[]), "bad sequence number"),
        (outgoing(first, arrived, &[[0, 10]]), "wrong SSN"),
        (outgoing(first.wrapping_add(1), arrived, &[[0, 9]]), "performed"),
        (Parameter::IncomingSsnReset(incoming(2, StreamIds::new(&[[0, 99]]))), "wrong SSN"),
        (Parameter::AddOutgoingStreams(count(3, 0)), "nothing to do"),
        (Parameter::AddOutgoingStreams(count(4, 2038)), "performed"),
        (Parameter::AddOutgoingStreams(count(5, 1)), "denied"),
        (Parameter::AddIncomingStreams(count(6, 3000)), "denied"),
        (Parameter::SsnTsnReset { request: number(7) }, ""),
        (outgoing(first, arrived, &[]), "bad sequence number"),
    ];
    for (parameter, expected) in rows {
        let answer = ask(&mut pair, &hand, &[parameter]);
        assert_eq!(answer.len(), 1, "{parameter:?}");
        assert!(answer[0].contains(expected), "{answer:?} for {parameter:?}");
    }
    assert_eq!(told(&pair, End::Right).len(), 3);
    assert_eq!(pair.endings(End::Right), []);
}

/// RFC 6525 §5.2.3: our outgoing reset is the answer; while it waits, "in progress", and it takes the place of ours.
#[test]
fn incoming_reset_is_answered_by_an_outgoing_one_that_names_it() {
    let mut pair = setup().build();
    let hand = established_hand(&mut pair);
    let request = hand.next_tsn.get();
    let wish = Parameter::IncomingSsnReset(IncomingSsnReset {
        request: ReconfigSequence::new(request),
        streams: StreamIds::new(&[[0, 3]]),
    });
    pair.send(End::Right, ordered(3, 1, 10));
    let waiting = ask(&mut pair, &hand, &[wish]);
    assert!(waiting[0].contains("in progress"), "{waiting:?}");
    let from = pair.side(End::Right).sent.len();
    hand.sack(&mut pair, 1, 100_000, &[]);
    let own = answers(&pair, from);
    assert!(own[0].contains(&format!("resp={request}")) && own[0].contains("streams=[3]"), "{own:?}");
    assert_eq!(ask(&mut pair, &hand, &[wish]), own, "asked again, the same request goes again");
    let response = hand.peer_tsn.get();
    let done = ReconfigResponse {
        response: ReconfigSequence::new(response),
        result: ReconfigResult::Performed,
        next_tsns: None,
    };
    assert_eq!(ask(&mut pair, &hand, &[Parameter::ReconfigResponse(done)]), Vec::<String>::new());
    assert_eq!(told(&pair, End::Right), [was_reset(StreamDirection::Outgoing, &[3])]);
    assert!(ask(&mut pair, &hand, &[wish])[0].contains("performed"));
}

#[test]
fn combinations_that_are_not_allowed_and_answers_nobody_waits_for_change_nothing() {
    let mut pair = setup().build();
    let hand = established_hand(&mut pair);
    let request = ReconfigSequence::new(hand.next_tsn.get());
    let reset = Parameter::SsnTsnReset { request };
    let response = Parameter::ReconfigResponse(ReconfigResponse {
        response: request,
        result: ReconfigResult::Performed,
        next_tsns: None,
    });
    assert_eq!(ask(&mut pair, &hand, &[reset, reset]), Vec::<String>::new());
    assert_eq!(ask(&mut pair, &hand, &[reset, response]), Vec::<String>::new());
    assert_eq!(ask(&mut pair, &hand, &[response]), Vec::<String>::new());
    let statistics = pair.statistics(End::Right);
    assert_eq!(statistics.association.discarded.malformed, 2);
    assert_eq!(statistics.reconfiguration.unexpected_responses, 1);
    assert_eq!(told(&pair, End::Right), []);
}

/// RFC 6525 §5.2.2 (E2): what a peer sends too early on a stream about to be reset is not mixed up with what came
/// before; sent again afterwards, it is delivered.
#[test]
fn data_behind_a_reset_that_still_waits_is_taken_only_after_it() {
    let mut pair = setup().build();
    let mut hand = established_hand(&mut pair);
    let (first, missing) = (hand.next_tsn, hand.data_header(0));
    let _in_progress = ask(&mut pair, &hand, &[outgoing(first.get(), first, &[])]);
    hand.next_ssn = sctp_core::Ssn::new(0);
    let early = hand.data_header(0);
    hand.tell(&mut pair, |writer| writer.data(&early, &[2]).unwrap());
    hand.tell(&mut pair, |writer| writer.data(&missing, &[1]).unwrap());
    assert_eq!(pair.payloads(End::Right), [[1]]);
    hand.tell(&mut pair, |writer| writer.data(&early, &[2]).unwrap());
    assert_eq!(pair.payloads(End::Right), [[1], [2]]);
    assert_eq!(pair.statistics(End::Right).reconfiguration.data_behind_reset, 1);
}

/// RFC 6525 §5.2.1: a peer that has sent SHUTDOWN answers; what was held back for the reset is delivered, and both end.
#[test]
fn reset_asked_for_while_the_peer_shuts_down_is_done_and_its_messages_arrive() {
    let mut pair = setup().connected();
    pair.send(End::Left, ordered(1, 1, 10));
    pair.run_ms(300);
    pair.drop_next(End::Left, &[1]);
    reset(&mut pair, End::Left, &[1], ResetDirection::Outgoing).unwrap();
    pair.send(End::Left, ordered(1, 2, 10));
    pair.shutdown(End::Right);
    pair.run_ms(5000);
    assert_eq!(pair.side(End::Right).received.len(), 2);
    assert_eq!(ssns(&pair, End::Left, 1), [0, 0]);
    assert_eq!((pair.endings(End::Left), pair.endings(End::Right)), (vec![Ok(())], vec![Ok(())]));
}

/// RFC 6525 §5.2.6: the limit holds for all wishes together, also for those granted and not done yet.
#[test]
fn wishes_for_more_streams_are_denied_beyond_the_limit_while_earlier_ones_are_under_way() {
    let mut pair = setup().build();
    let hand = established_hand(&mut pair);
    let first = hand.next_tsn.get();
    let wish = |offset: u32| {
        let request = ReconfigSequence::new(first.wrapping_add(offset));
        Parameter::AddIncomingStreams(AddStreams { request, count: 1500 })
    };
    let answers: Vec<_> = (0..2).flat_map(|offset| ask(&mut pair, &hand, &[wish(offset)])).collect();
    assert!(answers.iter().any(|answer| answer.contains("performed")), "{answers:?}");
    assert!(answers.iter().any(|answer| answer.contains("denied")), "{answers:?}");
}
