//! The numbers by which messages came: what a user reads is what stood in the packets.

use std::collections::BTreeSet;

use netem::Impairments;
use sctp_core::{Delivery, Message, MessageNumber, Offer, PayloadProtocolId, Received, StreamId, Tsn};
use sctp_wire::Chunk;

use crate::net::{End, Pair, Reading, Setup, ms, ordered};

/// A message as it was numbered: TSN of its first chunk, stream, SSN or MID, and whether it had order.
type Numbered = (u32, u16, Option<u32>, bool);

/// The messages that the left end's packets began.
fn begun(pair: &Pair) -> BTreeSet<Numbered> {
    let packets = pair.side(End::Left).sent.iter().map(super::net::Sent::packet);
    let chunks = packets.flat_map(|packet| {
        let numbered = |chunk| match chunk {
            Ok(Chunk::Data(data)) if data.flags.beginning => {
                let ssn = (!data.flags.unordered).then_some(u32::from(data.ssn.get()));
                Some((data.tsn.get(), data.stream.get(), ssn, !data.flags.unordered))
            }
            Ok(Chunk::IData(data)) if data.flags.beginning => {
                Some((data.tsn.get(), data.stream.get(), Some(data.mid.get()), !data.flags.unordered))
            }
            _ => None,
        };
        packet.chunks().filter_map(numbered).collect::<Vec<_>>()
    });
    chunks.collect()
}

fn read(received: &Received) -> Numbered {
    let number = received.number().map(|number| match number {
        MessageNumber::Ssn(ssn) => u32::from(ssn.get()),
        MessageNumber::Mid(mid) => mid.get(),
    });
    let is_ordered = received.message.delivery == Delivery::Ordered;
    (received.tsn.get(), received.message.stream.get(), number, is_ordered)
}

/// RFC 6458 §5.3.5: short and long ones, in order and without, lost and sent again, with DATA and with I-DATA.
#[test]
fn messages_tell_the_tsn_and_the_number_that_stood_in_their_packets() {
    for interleaving in [Offer::Off, Offer::On] {
        let mut setup = Setup::signalling().configure(|config| config.extensions.interleaving = interleaving);
        setup.request = Impairments { delay: ms(10), loss: "5%".parse().unwrap(), ..Impairments::default() };
        let mut pair = setup.build();
        pair.connect();
        pair.run_ms(5_000);
        for number in 0..200 {
            let len = [20, 900, 4000][number % 3];
            let message = ordered(u16::try_from(number % 4).unwrap(), number, len);
            let delivery = if number % 5 == 0 { Delivery::Unordered } else { Delivery::Ordered };
            pair.send(End::Left, Message { delivery, ..message });
            pair.run_ms(2);
        }
        pair.run_ms(20_000);
        let received: Vec<Numbered> =
            pair.side(End::Right).received.iter().map(|(_, received)| read(received)).collect();
        assert_eq!(received.len(), 200);
        assert_eq!(received.into_iter().collect::<BTreeSet<_>>(), begun(&pair), "{interleaving:?}");
    }
}

#[test]
fn unordered_messages_have_a_number_with_i_data_alone_rfc_8260_2_1() {
    for (interleaving, is_numbered) in [(Offer::Off, false), (Offer::On, true)] {
        let mut pair =
            Setup::rfc9260().configure(|config| config.extensions.interleaving = interleaving).connected();
        (0..3).for_each(|_| pair.send(End::Left, Message::unordered(StreamId::new(2), "x")));
        pair.run_ms(1000);
        let numbers: Vec<Option<u32>> =
            pair.side(End::Right).received.iter().map(|(_, received)| read(received).2).collect();
        let expected = [0, 1, 2].map(|mid| is_numbered.then_some(mid));
        assert_eq!(numbers, expected);
    }
}

#[test]
fn pieces_of_a_message_tell_the_number_of_their_message() {
    let mut setup = Setup::rfc9260();
    setup.server.association.buffers.partial_delivery_point_bytes = Some(4 << 10);
    let mut pair = setup.connected();
    pair.send(End::Left, ordered(1, 1, 10));
    pair.send(End::Left, ordered(1, 2, 40_000));
    pair.run_ms(5000);
    let received = &pair.side(End::Right).received;
    let first = &received[0].1;
    let pieces = &received[1..];
    assert!(pieces.len() > 1 && pieces.iter().all(|(_, piece)| piece.piece.is_some()));
    let numbers: BTreeSet<Numbered> = pieces.iter().map(|(_, piece)| read(piece)).collect();
    assert_eq!(numbers, BTreeSet::from([(first.tsn.next().get(), 1, Some(1), true)]));
}

/// What the peer sent before it began anew was numbered otherwise, and is read so.
#[test]
fn messages_from_before_a_restart_keep_their_numbers() {
    let mut pair = Setup::rfc9260().connected();
    pair.with(End::Right, |side, _| side.reading = Reading::Paused);
    pair.send(End::Left, ordered(3, 1, 10));
    pair.send(End::Left, ordered(3, 2, 10));
    pair.run_ms(1000);
    let sent = begun(&pair);
    let mut client = sctp_core::EndpointConfig::new(crate::net::port(crate::net::LEFT_PORT));
    client.association.extensions.interleaving = Offer::On;
    pair.reboot(End::Left, client);
    pair.connect();
    pair.run_ms(2000);
    assert_eq!(pair.statistics(End::Right).association.restarts, 1);
    pair.with(End::Right, super::net::Side::read_all);
    let received = pair.side(End::Right).received.iter().map(|(_, received)| read(received));
    assert_eq!(received.collect::<BTreeSet<_>>(), sent);
}

/// What is sent back has what travelled, and none of what the first sender kept to itself.
#[test]
fn a_received_message_is_sent_on_reliable_and_without_a_mark() {
    let sent = Message::unordered(StreamId::new(5), "x")
        .with_ppid(PayloadProtocolId::new(46))
        .with_retransmissions(0)
        .with_context(9);
    let mut pair = Setup::rfc9260().connected();
    pair.send(End::Left, sent.clone());
    pair.run_ms(1000);
    let (_, received) = pair.side(End::Right).received[0].clone();
    assert_eq!(received.message, sent);
    assert_ne!(received.tsn, Tsn::new(0));
    let again = Message::from(received.message);
    assert_eq!(again, Message::unordered(StreamId::new(5), "x").with_ppid(PayloadProtocolId::new(46)));
}
