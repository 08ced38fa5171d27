//! How often re-configuration requests make work (RFC 6525), however a peer sends them. What one of them costs, the tests of
//! the receiving and the sending half count.

use sctp_core::{Datagram, Offer};
use sctp_wire::{
    ChunkType, ChunkTypes, IncomingSsnReset, OutgoingSsnReset, PacketWriter, Parameter, ReconfigResponse,
    ReconfigResult, ReconfigSequence, StreamIds,
};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Setup, ordered};

fn victim() -> (Pair, Hand) {
    let setup = Setup::signalling().configure(|config| config.extensions.reconfiguration = Offer::On);
    let mut pair = setup.build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    let listed = [ChunkType::RE_CONFIG.get()];
    hand.init_with(&mut pair, &[Parameter::SupportedExtensions(ChunkTypes::new(&listed))]);
    hand.echo(&mut pair);
    (pair, hand)
}

/// An outgoing reset of stream 3, or an incoming one, or one of both; the `number`th request of the hand.
fn reset(writer: &mut PacketWriter<'_>, hand: &Hand, number: u32, is_outgoing: bool) {
    let request = ReconfigSequence::new(hand.next_tsn.get().wrapping_add(number));
    let (response, last_tsn) = (ReconfigSequence::new(0), hand.next_tsn.previous());
    let streams = [3_u16.to_be_bytes()];
    let streams = StreamIds::new(&streams);
    let parameter = if is_outgoing {
        Parameter::OutgoingSsnReset(OutgoingSsnReset { request, response, last_tsn, streams })
    } else {
        Parameter::IncomingSsnReset(IncomingSsnReset { request, streams })
    };
    writer.re_config(&[parameter]).unwrap();
}

/// RFC 6525 §5.1.1: one request in flight, so one chunk of them in a packet.
#[test]
fn robustness_27_of_the_requests_in_a_packet_the_first_counts() {
    for is_outgoing in [true, false] {
        let (mut pair, hand) = victim();
        for packet in 0..2 {
            let sent = pair.side(End::Right).sent.len();
            hand.tell(&mut pair, |writer| {
                (0..57).for_each(|number| reset(writer, &hand, packet + number, is_outgoing));
            });
            assert_eq!(pair.side(End::Right).sent.len(), sent + 1, "one packet for one");
        }
        let counted = pair.statistics(End::Right).reconfiguration;
        assert_eq!((counted.requests_received, counted.requests_passed_over), (2, 112), "{is_outgoing}");
        assert_eq!(pair.endings(End::Right), []);
    }
}

/// What comes before the answer to the request before it can have left, its sender cannot have waited for.
#[test]
fn robustness_27_of_the_requests_that_arrive_together_the_first_counts() {
    let (mut pair, hand) = victim();
    let packets: Vec<Vec<u8>> =
        (0..50).map(|number| hand.packet(|writer| reset(writer, &hand, number, true))).collect();
    for expected in 1..=3 {
        pair.with(End::Right, |side, now| {
            for payload in &packets[expected - 1..] {
                let datagram = Datagram::new(hand.source, payload);
                side.endpoint.handle_packet(now, datagram);
            }
        });
        let counted = pair.statistics(End::Right).reconfiguration;
        assert_eq!(counted.requests_received, expected as u64);
    }
}

/// The same request in fifty packets is answered, and done once; answers that nobody waits for are counted.
#[test]
fn robustness_27_repeated_requests_and_storms_of_answers_do_nothing() {
    let (mut pair, hand) = victim();
    (0..50).for_each(|_| hand.tell(&mut pair, |writer| reset(writer, &hand, 0, true)));
    hand.tell(&mut pair, |writer| {
        for number in 0..60 {
            let response = ReconfigSequence::new(number);
            let answer = ReconfigResponse { response, result: ReconfigResult::Performed, next_tsns: None };
            writer.re_config(&[Parameter::ReconfigResponse(answer)]).unwrap();
        }
    });
    let counted = pair.statistics(End::Right).reconfiguration;
    assert_eq!((counted.requests_received, counted.requests_repeated), (1, 49));
    assert_eq!(counted.unexpected_responses, 60);
}

/// The peer has a thousand messages of ours wait behind a closed window and asks for resets all the while: ours begins once.
#[test]
fn robustness_27_resets_asked_for_behind_a_closed_window_do_not_pile_up() {
    let (mut pair, hand) = victim();
    hand.sack(&mut pair, 0, 0, &[]);
    (0..1000).for_each(|number| pair.send(End::Right, ordered(number % 9, 1, 10)));
    (0..200).for_each(|number| hand.tell(&mut pair, |writer| reset(writer, &hand, number, false)));
    let counted = pair.statistics(End::Right).reconfiguration;
    assert_eq!((counted.requests_received, counted.requests_sent), (200, 0));
    assert!(counted.requests_refused >= 180, "{counted:?}");
}
