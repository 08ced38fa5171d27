//! I-DATA (RFC 8260), seen from outside.

use sctp_core::{
    AssociationError, Event, Offer, PayloadProtocolId, ProtocolViolation, ReceiverViolation, StreamId,
    StreamScheduler, Tsn,
};
use sctp_wire::{
    Cause, Chunk, ChunkType, ChunkTypes, DataFlags, FragmentLabel, Fsn, IDataHeader, Mid, Parameter,
};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Setup, ordered};

/// A right end that offers I-DATA, and a peer that lists these chunk types.
fn established(listed: &[ChunkType], offer: Offer) -> (Pair, Hand) {
    let mut setup = Setup::rfc9260();
    setup.server.association.extensions.interleaving = offer;
    let mut pair = setup.build();
    let mut peer = Hand::new(LEFT_PORT, 77);
    let listed: Vec<u8> = listed.iter().map(|kind| kind.get()).collect();
    peer.init_with(&mut pair, &[Parameter::SupportedExtensions(ChunkTypes::new(&listed))]);
    peer.echo(&mut pair);
    (pair, peer)
}

/// Sends the next TSN as a fragment; the first of a message has number 0, the last one an E bit.
fn tell_piece(pair: &mut Pair, peer: &mut Hand, stream: u16, fsn: u32, ending: bool, payload: &[u8]) -> Tsn {
    let label = match fsn {
        0 => FragmentLabel::Beginning(PayloadProtocolId::new(7)),
        later => FragmentLabel::Later(Fsn::new(later)),
    };
    let flags = DataFlags { ending, ..DataFlags::default() };
    let (tsn, stream, mid) = (peer.next_tsn, StreamId::new(stream), Mid::new(0));
    peer.next_tsn = tsn.next();
    let header = IDataHeader { tsn, stream, mid, label, flags };
    peer.tell(pair, |writer| writer.i_data(&header, payload).unwrap());
    tsn
}

fn violation(pair: &Pair) -> ProtocolViolation {
    match pair.endings(End::Right).as_slice() {
        [Err(AssociationError::ProtocolViolation(violation))] => *violation,
        other => panic!("{other:?}"),
    }
}

/// The code of the cause in the last packet's ABORT.
fn abort_cause(pair: &Pair) -> u16 {
    let answer = pair.side(End::Right).sent.last().unwrap().clone();
    match answer.packet().chunks().next() {
        Some(Ok(Chunk::Abort(abort))) => {
            abort.causes.iter().flatten().next().map(|cause| cause.code().get()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn interleaved_messages_are_delivered_as_they_complete_and_acknowledged_rfc_8260_2_2_3() {
    let (mut pair, mut peer) = established(&[ChunkType::I_DATA], Offer::On);
    tell_piece(&mut pair, &mut peer, 0, 0, false, b"lo");
    tell_piece(&mut pair, &mut peer, 1, 0, true, b"short");
    let last = tell_piece(&mut pair, &mut peer, 0, 1, true, b"ng");
    pair.run_ms(300);
    assert_eq!(pair.payloads(End::Right), [&b"short"[..], b"long"]);
    let acknowledged = pair.side(End::Right).sent.iter().rev().find_map(|sent| {
        let sack = sent.packet().chunks().flatten().next();
        if let Some(Chunk::Sack(sack)) = sack { Some(sack.cumulative_tsn_ack) } else { None }
    });
    assert_eq!(acknowledged, Some(last));
}

#[test]
fn data_is_answered_with_abort_where_i_data_was_agreed_rfc_8260_2_2_3() {
    let (mut pair, mut peer) = established(&[ChunkType::I_DATA], Offer::On);
    let tsn = peer.next_tsn;
    peer.data(&mut pair, 0, 10);
    assert_eq!(violation(&pair), ReceiverViolation::DataInsteadOfIData(tsn).into());
    assert_eq!(abort_cause(&pair), 13);
}

#[test]
fn i_data_of_a_peer_that_did_not_offer_it_is_answered_with_abort_rfc_8260_2_2_3() {
    let (mut pair, mut peer) = established(&[], Offer::On);
    let tsn = tell_piece(&mut pair, &mut peer, 0, 0, true, b"a");
    assert_eq!(violation(&pair), ReceiverViolation::IDataNotAgreed(tsn).into());
    assert_eq!(abort_cause(&pair), 13);
}

/// RFC 9260 §3.2: to who does not offer I-DATA its type means "stop and report".
#[test]
fn i_data_is_an_unknown_chunk_where_it_is_not_offered() {
    let (mut pair, mut peer) = established(&[ChunkType::I_DATA], Offer::Off);
    tell_piece(&mut pair, &mut peer, 0, 0, true, b"a");
    assert!(pair.endings(End::Right).is_empty());
    let answer = pair.side(End::Right).sent.last().unwrap().clone();
    let Some(Ok(Chunk::Error(causes))) = answer.packet().chunks().next() else {
        panic!("{}", answer.kinds())
    };
    assert!(matches!(causes.iter().next(), Some(Ok(Cause::UnrecognizedChunkType(_)))));
    assert_eq!(pair.count(End::Right, |event| *event == Event::MessageReady), 0);
}

/// RFC 8260 §2.2.1 lets every stream begin a message; a buffer holds only so many of them.
#[test]
fn robustness_13_more_messages_begun_than_the_buffer_holds_end_the_association() {
    let (mut pair, mut peer) = established(&[ChunkType::I_DATA], Offer::On);
    let octets = [0; 1200];
    for (fsn, stream) in (0..250).flat_map(|fsn| (0..10).map(move |stream| (fsn, stream))) {
        tell_piece(&mut pair, &mut peer, stream, fsn, false, &octets);
        if !pair.endings(End::Right).is_empty() {
            break;
        }
    }
    let endings = pair.endings(End::Right);
    assert!(
        matches!(endings.as_slice(), [Err(AssociationError::ReceiveBufferExhausted { bytes })] if *bytes > 1 << 20),
        "{endings:?}"
    );
    assert_eq!(abort_cause(&pair), 4);
}

/// RFC 8260 §1: a short message does not wait for the end of a long one. Without interleaving it does.
#[test]
fn short_message_overtakes_a_long_one_of_another_stream() {
    for offer in [Offer::On, Offer::Off] {
        let mut setup = Setup::signalling().configure(|config| {
            config.extensions.interleaving = offer;
            config.transmission.scheduler = StreamScheduler::Priority;
        });
        setup.request.rate = netem::BitRate::from_bits_per_second(1_000_000);
        let mut pair = setup.connected();
        pair.with(End::Left, |side, _| {
            side.endpoint.set_stream_priority(side.id.unwrap(), StreamId::new(1), 1).unwrap();
        });
        pair.send(End::Left, ordered(0, 1, 200_000));
        pair.run_ms(200);
        pair.send(End::Left, ordered(1, 2, 100));
        pair.run_ms(10_000);
        let lengths: Vec<usize> = pair.payloads(End::Right).iter().map(|payload| payload.len()).collect();
        let (short_first, long_first) = ([100, 200_000], [200_000, 100]);
        assert_eq!(lengths, if offer == Offer::On { short_first } else { long_first });
    }
}
