//! FORWARD TSN (RFC 3758) and I-FORWARD-TSN (RFC 8260 §2.3.1) of a scripted peer.

use sctp_core::{AssociationError, Event, Offer, ReceiverViolation, Ssn, StreamId, Tsn};
use sctp_wire::{Cause, Chunk, ChunkType, ChunkTypes, Mid, Parameter, SkippedMid, SkippedSsn};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Setup};

/// A right end that offers partial reliability and perhaps interleaving, and a peer that agrees.
fn established(interleaving: Offer, partial_reliability: Offer) -> (Pair, Hand) {
    let mut setup = Setup::rfc9260();
    setup.server.association.extensions.interleaving = interleaving;
    setup.server.association.extensions.partial_reliability = partial_reliability;
    let mut pair = setup.build();
    let mut peer = Hand::new(LEFT_PORT, 77);
    let with_i_data = [ChunkType::FORWARD_TSN, ChunkType::I_DATA, ChunkType::I_FORWARD_TSN];
    let listed: Vec<u8> = with_i_data.iter().map(|kind| kind.get()).collect();
    let listed = match interleaving {
        Offer::On => &listed[..],
        Offer::Off => &listed[..1],
    };
    let parameters =
        [Parameter::ForwardTsnSupported, Parameter::SupportedExtensions(ChunkTypes::new(listed))];
    peer.init_with(&mut pair, &parameters);
    peer.echo(&mut pair);
    (pair, peer)
}

fn acknowledged(pair: &Pair) -> Option<Tsn> {
    pair.side(End::Right).sent.iter().rev().find_map(|sent| {
        let sack = sent.packet().chunks().flatten().next();
        if let Some(Chunk::Sack(sack)) = sack { Some(sack.cumulative_tsn_ack) } else { None }
    })
}

fn skip_first(pair: &mut Pair, peer: &Hand, tsn: Tsn) {
    let skipped = [SkippedSsn { stream: StreamId::new(0), ssn: Ssn::new(0) }];
    peer.tell(pair, |writer| writer.forward_tsn(tsn, skipped).unwrap());
}

#[test]
fn a_forward_tsn_delivers_what_was_stranded_and_is_acknowledged_at_once_rfc_3758_3_6() {
    let (mut pair, mut peer) = established(Offer::Off, Offer::On);
    let lost = peer.data_header(0).tsn;
    peer.data(&mut pair, 0, 10);
    assert!(pair.payloads(End::Right).is_empty());
    skip_first(&mut pair, &peer, lost);
    assert_eq!(pair.payloads(End::Right).len(), 1);
    assert_eq!(acknowledged(&pair), Some(lost.next()));
    assert_eq!(pair.statistics(End::Right).receiver.given_up.messages, 1);
}

/// RFC 9260 §3.2: type 192 asks to be skipped and reported.
#[test]
fn a_forward_tsn_is_an_unknown_chunk_where_it_was_not_agreed() {
    let (mut pair, mut peer) = established(Offer::Off, Offer::Off);
    let lost = peer.data_header(0).tsn;
    skip_first(&mut pair, &peer, lost);
    let answer = pair.side(End::Right).sent.last().unwrap().clone();
    let Some(Ok(Chunk::Error(causes))) = answer.packet().chunks().next() else {
        panic!("{}", answer.kinds())
    };
    assert!(matches!(causes.iter().next(), Some(Ok(Cause::UnrecognizedChunkType(_)))));
    assert_eq!(pair.count(End::Right, |event| *event == Event::MessageReady), 0);
    assert_eq!(pair.statistics(End::Right).receiver.given_up.forward_tsns, 0);
}

#[test]
fn the_form_that_does_not_go_with_the_data_chunks_is_answered_with_abort_rfc_8260_2_3_1() {
    let (mut pair, peer) = established(Offer::On, Offer::On);
    let tsn = peer.next_tsn;
    skip_first(&mut pair, &peer, tsn);
    let with_i_data = ReceiverViolation::ForwardTsnWithIData(tsn);
    assert_eq!(pair.endings(End::Right), [Err(AssociationError::ProtocolViolation(with_i_data.into()))]);

    let (mut pair, peer) = established(Offer::Off, Offer::On);
    let skipped = [SkippedMid { stream: StreamId::new(0), unordered: false, mid: Mid::new(0) }];
    peer.tell(&mut pair, |writer| writer.i_forward_tsn(tsn, skipped).unwrap());
    let with_data = ReceiverViolation::IForwardTsnWithData(tsn);
    assert_eq!(pair.endings(End::Right), [Err(AssociationError::ProtocolViolation(with_data.into()))]);
}

/// To who speaks them they are not unknown but malformed: nothing is reported, and the rest of the packet counts.
#[test]
fn malformed_chunks_of_extensions_that_are_spoken_are_counted_and_skipped() {
    for (kind, value) in [
        (ChunkType::I_DATA, &[0, 0, 0, 1, 0, 5][..]),
        (ChunkType::FORWARD_TSN, &[0, 0, 0, 1, 0, 5]),
        (ChunkType::I_FORWARD_TSN, &[0, 0, 0, 1, 0, 5, 0, 0]),
    ] {
        let (mut pair, peer) = established(Offer::On, Offer::On);
        let before = pair.side(End::Right).sent.len();
        peer.tell(&mut pair, |writer| {
            writer.chunk(kind, 0, |octets| octets.bytes(value)).unwrap();
            writer.heartbeat(&[1]).unwrap();
        });
        let counters = pair.statistics(End::Right).association;
        assert_eq!((counters.discarded.unknown, counters.discarded.malformed), (0, 1), "{kind}");
        let answers: Vec<String> =
            pair.side(End::Right).sent[before..].iter().map(crate::net::Sent::kinds).collect();
        assert_eq!(answers, ["HEARTBEAT_ACK"], "{kind}");
    }
}
