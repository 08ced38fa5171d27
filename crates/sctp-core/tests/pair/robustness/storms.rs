//! Many packets from those who are nobody's peer.

use std::net::IpAddr;

use sctp_core::{AssociationState, Datagram};
use sctp_wire::{ChunkType, VerificationTag};

use crate::by_hand::{Hand, with_tag};
use crate::dice::Dice;
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT_PORT, Setup, by_ip, is_up, ordered};

/// INITs of the flood: `HEADWAY_INITS`, otherwise as many as take a second or two in a debug build.
fn inits() -> u32 {
    let text = std::env::var("HEADWAY_INITS").unwrap_or_else(|_| "10000".to_owned());
    text.parse().unwrap_or_else(|_| panic!("HEADWAY_INITS is `{text}`; it must be a number"))
}

/// An INIT with a tag of its own.
fn init(number: u32) -> Vec<u8> {
    let mut header = Hand::new(LEFT_PORT, 5).header();
    header.initiate_tag = VerificationTag::new(number.max(1));
    with_tag(LEFT_PORT, RIGHT_PORT, 0, |writer| writer.init(&header, &[]).unwrap())
}

/// RFC 9260 §5.1.3: no state before a valid COOKIE ECHO; not even the rate limit is needed for that.
#[test]
fn robustness_01_a_flood_of_inits_leaves_nothing_behind_and_an_honest_peer_connects() {
    let mut setup = Setup::rfc9260();
    (setup.server.init_rate, setup.server.host_init_rate) = (None, None);
    let mut pair = setup.build();
    pair.with(End::Right, |side, now| {
        let mut buffer = Vec::new();
        for number in 0..inits() {
            let [_, a, b, c] = number.to_be_bytes();
            let (source, packet) = (by_ip([11, a, b, c].into()), init(number));
            let datagram = Datagram::new(source, &packet);
            side.endpoint.handle_packet(now, datagram);
            // The first thousand find nobody who sends their answers: the queue has a bound.
            if number + 1 >= 1000 {
                buffer.clear();
                while side.endpoint.poll_transmit(now, &mut buffer).is_some() {}
            }
        }
        let statistics = side.endpoint.statistics();
        assert_eq!(statistics.handshake.init_acks_sent, u64::from(inits()));
        assert_eq!(statistics.answers_dropped, u64::from(inits().min(1000)) - 256);
        assert_eq!((side.endpoint.association_count(), side.endpoint.receive_memory_bytes()), (0, 0));
        assert_eq!(side.endpoint.poll_timeout(), None, "nothing is waited for");
    });
    pair.connect();
    pair.run_ms(100);
    assert_eq!(pair.count(End::Left, is_up), 1);
}

/// A packet of random chunks, or an INIT.
fn any_packet(dice: &mut Dice) -> Vec<u8> {
    if dice.below(4) == 0 {
        return init(u32::try_from(dice.below(1 << 32)).unwrap());
    }
    let tag = u32::try_from(dice.below(1 << 32)).unwrap();
    with_tag(LEFT_PORT, RIGHT_PORT, tag, |writer| {
        for _ in 0..=dice.below(3) {
            let kind = ChunkType::new(KINDS[dice.index(KINDS.len())]);
            let flags = dice.below(16).to_le_bytes()[0];
            let body: Vec<u8> = (0..dice.below(120)).map(|_| dice.below(256).to_le_bytes()[0]).collect();
            writer.chunk(kind, flags, |value| value.bytes(&body)).unwrap();
        }
    })
}

/// Every type of RFC 9260 and its extensions, and an unknown one of each way to treat it.
const KINDS: [u8; 25] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x40, 0x80, 0x81, 0x82, 0x84, 0xc0, 0xc1, 0xc2,
    0xfe,
];

/// What the right end answers to one packet.
fn answers(pair: &mut Pair, source: IpAddr, packet: &[u8]) -> Vec<Vec<u8>> {
    pair.inject(End::Right, source, packet);
    let sent = pair.with(End::Right, |side, _| std::mem::take(&mut side.sent));
    sent.into_iter().map(|sent| sent.octets).collect()
}

/// RFC 5062 §5 to §10: who is not verified gets one packet for one at most, and no larger one, but for INIT ACK with its
/// cookie.
#[test]
fn robustness_09_strangers_get_no_more_packets_and_octets_than_they_send() {
    let mut setup = Setup::signalling();
    (setup.server.init_rate, setup.server.host_init_rate) = (None, None);
    let (mut pair, mut dice) = (setup.build(), Dice::new(9));
    let (mut answered, mut inits_answered) = (0, 0);
    for _ in 0..4000 {
        let packet = any_packet(&mut dice);
        let source = [11, 0, 0, dice.below(250).to_le_bytes()[0]].into();
        let answers = answers(&mut pair, source, &packet);
        assert!(answers.len() <= 1, "{packet:?}");
        for answer in answers {
            let is_init_ack = answer[12] == ChunkType::INIT_ACK.get();
            let bound = packet.len() + if is_init_ack { 256 } else { 0 };
            assert!(answer.len() <= bound, "{} octets for {}: {packet:?}", answer.len(), packet.len());
            answered += 1;
            inits_answered += usize::from(is_init_ack);
        }
    }
    assert!(inits_answered > 500 && answered > inits_answered + 500, "{answered}, {inits_answered}");
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
}

/// RFC 9260 §8.5, §5.2.4: without its tags an association cannot be touched, and no answer tells them.
#[test]
fn robustness_04_guessing_tags_ends_nothing_and_learns_nothing() {
    let mut setup = Setup::signalling();
    (setup.server.init_rate, setup.server.host_init_rate) = (None, None);
    let (mut pair, mut dice) = (setup.connected(), Dice::new(4));
    let live = [End::Left, End::Right].map(|end| {
        let sent = &pair.side(end).sent[1];
        sent.packet().verification_tag.get().to_be_bytes()
    });
    pair.with(End::Right, |side, _| side.sent.clear());
    let mut answered = 0;
    for number in 0..4000 {
        let packet = any_packet(&mut dice);
        let source = if number % 2 == 0 { LEFT } else { [11, 0, 0, 1].into() };
        for answer in answers(&mut pair, source, &packet) {
            answered += 1;
            assert!(!answer.windows(4).any(|octets| live.iter().any(|tag| octets == tag)), "{answer:?}");
        }
    }
    assert!(answered > 1000, "{answered}");
    pair.send(End::Left, ordered(0, 1, 5000));
    pair.run_ms(500);
    assert_eq!(pair.payloads(End::Right), [[1; 5000]]);
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
}
