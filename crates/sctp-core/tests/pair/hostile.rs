//! A peer that completes the handshake and then does whatever it likes, beside an honest association with the same
//! endpoint: nothing panics, what the endpoint holds stays within its limits, answers are no more than packets, and the
//! honest association keeps its service.

use sctp_core::{Extensions, Offer, Tsn};
use sctp_wire::{Chunk, ChunkType, GapAckBlock, PacketWriter};

use crate::by_hand::Hand;
use crate::dice::{Dice, seeds};
use crate::net::{End, LEFT, Pair, Reading, Setup, ordered};

/// The endpoint's associations at most.
const LIMIT: usize = 8;
const RECEIVE_BYTES: usize = 20_000;

fn setup(seed: u64) -> Setup {
    let mut setup = Setup::signalling().configure(|config| {
        config.extensions = Extensions::NONE;
        config.extensions.interleaving = Offer::On;
        config.extensions.partial_reliability = Offer::On;
        config.extensions.reconfiguration = Offer::On;
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.buffers.receive_bytes = RECEIVE_BYTES;
        config.buffers.send_bytes = RECEIVE_BYTES;
        config.buffers.message_bytes = 8000;
        config.heartbeat.interval = None;
    });
    setup.server.association_limit = LIMIT;
    setup.server.receive_memory_bytes = 4 * LIMIT * RECEIVE_BYTES;
    setup.seed = seed;
    setup
}

/// Chunk types of RFC 9260 and its extensions, and one that nobody knows.
const KINDS: [u8; 24] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 64, 128, 130, 132, 192, 193, 194, 0xfe];
/// Parameter types and causes that are known somewhere.
const PARAMETERS: [u16; 24] = [
    1, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 0x8000, 0x8001, 0x8002, 0x8003, 0x8004, 0x8008, 0xc000,
    0xc001, 0xc002, 0xc006,
];

/// One packet of the hostile peer.
fn misbehave(pair: &mut Pair, hand: &mut Hand, dice: &mut Dice) {
    match dice.below(24) {
        0 => hand.establish(pair),
        1 => hand.init_listing(pair, LEFT),
        2 => hand.echo(pair),
        3..=6 => lie(pair, hand, dice),
        7..=10 => hand.data(pair, u16::try_from(dice.below(20)).unwrap(), 1 + dice.index(1200)),
        11 => {
            hand.next_tsn = Tsn::new(u32::try_from(dice.below(1 << 32)).unwrap());
            hand.data(pair, 0, 100);
        }
        12 => hand.next_tsn = hand.next_tsn.advance(u32::try_from(dice.below(300)).unwrap()),
        _ => {
            let kinds: Vec<u8> = (0..1 + dice.index(40)).map(|_| KINDS[dice.index(KINDS.len())]).collect();
            let storm = (dice.below(4) == 0).then(|| kinds[0]);
            hand.tell(pair, |writer| {
                for kind in kinds {
                    any_chunk(writer, storm.unwrap_or(kind), dice);
                }
            });
        }
    }
}

/// A SACK for what may or may not have been sent.
fn lie(pair: &mut Pair, hand: &Hand, dice: &mut Dice) {
    let number = |dice: &mut Dice, below: u64| u16::try_from(dice.below(below)).unwrap();
    let gaps: Vec<GapAckBlock> = (0..dice.below(60))
        .map(|_| GapAckBlock { start: number(dice, 2000), end: number(dice, 2000) })
        .collect();
    let ahead = u32::try_from(dice.below(8)).unwrap();
    let cumulative = hand.peer_tsn.previous().advance(ahead);
    let window = [0, 1, 1500, 100_000, u32::MAX][dice.index(5)];
    let duplicates = vec![cumulative; dice.index(40)];
    hand.tell(pair, |writer| {
        // Longer than a packet is as good as not sent.
        let _full = writer.sack(cumulative, window, gaps, duplicates);
    });
}

/// A chunk with any content: octets, or parameters of any type and length, nested ones too.
fn any_chunk(writer: &mut PacketWriter<'_>, kind: u8, dice: &mut Dice) {
    let flags = dice.below(256).to_le_bytes()[0];
    let head: Vec<u8> =
        (0..dice.index(24)).map(|_| [0, 1, 255, dice.below(256).to_le_bytes()[0]][dice.index(4)]).collect();
    let items: Vec<(u16, usize)> =
        (0..dice.index(5)).map(|_| (PARAMETERS[dice.index(24)], dice.index(40))).collect();
    let octet = dice.below(256).to_le_bytes()[0];
    // What does not fit is left out.
    let _full = writer.chunk(ChunkType::new(kind), flags, |value| {
        value.bytes(&head);
        for (item, len) in items {
            value.u16(item);
            value.u16(u16::try_from(4 + len).unwrap());
            value.bytes(&vec![octet; len.next_multiple_of(4)]);
        }
    });
}

fn check(pair: &Pair, seed: u64) {
    let endpoint = &pair.side(End::Right).endpoint;
    assert!(endpoint.association_count() <= LIMIT, "seed {seed}");
    let held = endpoint.receive_memory_bytes();
    assert!(held <= 4 * LIMIT * RECEIVE_BYTES, "seed {seed}: {held} octets are held");
}

fn run(seed: u64) {
    play(seed, Dice::new(seed));
}

/// Packets of the hostile peer, and after each a few more milliseconds; every 20th time the honest user asks something.
pub(crate) fn play(seed: u64, mut dice: Dice) {
    let mut pair = setup(seed).connected();
    pair.with(End::Right, |side, _| side.reading = Reading::Paused);
    let honest = pair.side(End::Right).id.unwrap();
    let mut hand = Hand::new(6000, 77);
    hand.establish(&mut pair);
    for step in 0..400 {
        let before = pair.side(End::Right).sent.len();
        misbehave(&mut pair, &mut hand, &mut dice);
        let answers = pair.side(End::Right).sent.len() - before;
        assert!(answers <= MOST_ANSWERS, "seed {seed}: {answers} packets for one");
        check(&pair, seed);
        if step % 20 == 0 {
            serves(&mut pair, honest, seed);
        }
        pair.run_ms(dice.below(50));
    }
}

/// A message to the endpoint arrives within two round trips, whatever goes on beside it.
fn serves(pair: &mut Pair, honest: sctp_core::AssociationId, seed: u64) {
    pair.send(End::Left, ordered(1, 5, 300));
    pair.run_ms(40);
    let received = pair.with(End::Right, |side, now| side.endpoint.receive(now, honest));
    assert!(received.is_some(), "seed {seed}: the honest association is not served");
}

/// The answers to a packet that opens two associations and has one aborted.
const MOST_ANSWERS: usize = 4;

#[test]
fn robustness_41_a_hostile_peer_harms_nobody_but_itself() {
    seeds(100).for_each(run);
}

/// The hostile peer is one that is heard: its packets reach the association.
#[test]
fn a_hostile_peer_is_established_before_it_misbehaves() {
    let mut pair = setup(1).connected();
    let mut hand = Hand::new(6000, 77);
    hand.establish(&mut pair);
    hand.data(&mut pair, 0, 10);
    let sent = pair.side(End::Right).sent.iter().rev().take(2).map(|sent| {
        sent.packet()
            .chunks()
            .next()
            .is_some_and(|chunk| matches!(chunk, Ok(Chunk::CookieAck | Chunk::Sack(_))))
    });
    assert!(sent.clone().any(|is| is));
}
