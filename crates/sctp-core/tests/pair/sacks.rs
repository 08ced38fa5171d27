//! What a peer's sender lives on: SACKs, as many as its packets call for, however they arrive (RFC 9260 §6.2).

use sctp_core::Profile;
use sctp_wire::{Chunk, Tsn};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Setup};

/// What a SACK says that a sender goes by: cumulative TSN, window, gap ack blocks.
type Said = (Tsn, u32, Vec<(u16, u16)>);

/// The SACKs among the packets that the right end has sent from this one on; no packet has two.
fn sacks_since(pair: &Pair, from: usize) -> Vec<Said> {
    let mut sacks = Vec::new();
    for sent in &pair.side(End::Right).sent[from..] {
        let before = sacks.len();
        for chunk in sent.packet().chunks() {
            if let Ok(Chunk::Sack(sack)) = chunk {
                let blocks = sack.gap_ack_blocks().map(|block| (block.start, block.end)).collect();
                sacks.push((sack.cumulative_tsn_ack, sack.a_rwnd, blocks));
            }
        }
        assert!(sacks.len() <= before + 1, "{}", sent.kinds());
    }
    sacks
}

/// How packets that were sent together arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arriving {
    OneByOne,
    Together,
}

/// A peer that has sent its first message and heard of it.
fn established(setup: Setup) -> (Pair, Hand) {
    let mut pair = setup.build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.establish(&mut pair);
    hand.data(&mut pair, 0, 10);
    (pair, hand)
}

/// What the right end answers to these packets.
fn answers(pair: &mut Pair, hand: &Hand, packets: &[Vec<u8>], arriving: Arriving) -> Vec<Said> {
    let from = pair.side(End::Right).sent.len();
    match arriving {
        Arriving::OneByOne => packets.iter().for_each(|packet| {
            pair.inject_from(End::Right, hand.source, packet);
        }),
        Arriving::Together => pair.inject_together(End::Right, hand.source, packets),
    }
    sacks_since(pair, from)
}

/// RFC 9260 §6.2: at least every second packet; a peer's slow start grows by one packet with each SACK (§7.2.1).
#[test]
fn every_second_packet_is_acknowledged_also_inside_a_batch_as_things_stood_then() {
    for profile in Profile::ALL {
        for count in [1, 2, 3, 7, 8, 45, 114] {
            let said = [Arriving::OneByOne, Arriving::Together].map(|arriving| {
                let (mut pair, mut hand) = established(Setup::new(profile));
                let packets: Vec<_> = (0..count).map(|_| hand.data_packet(1000)).collect();
                let said = answers(&mut pair, &hand, &packets, arriving);
                said.into_iter().map(|(cumulative, _, blocks)| (cumulative, blocks)).collect::<Vec<_>>()
            });
            assert_eq!(said[0].len(), count / 2, "{profile} {count}");
            assert_eq!(said[0], said[1], "{profile} {count}");
            assert!(said[1].windows(2).all(|pair| pair[0].0.precedes(pair[1].0)));
        }
    }
}

/// RFC 9260 §6.7: with a gap every packet; three such SACKs are what a sender by the letter repeats a chunk for (§7.2.4).
#[test]
fn every_packet_behind_a_gap_is_acknowledged_also_inside_a_batch() {
    let said = [Arriving::OneByOne, Arriving::Together].map(|arriving| {
        let (mut pair, mut hand) = established(Setup::signalling());
        let mut packets: Vec<_> = (0..12).map(|_| hand.data_packet(1000)).collect();
        let late = packets.remove(3);
        packets.insert(9, late);
        answers(&mut pair, &hand, &packets, arriving)
    });
    assert_eq!(
        said[0].iter().map(|said| &said.2).collect::<Vec<_>>(),
        said[1].iter().map(|said| &said.2).collect::<Vec<_>>()
    );
    let with_gap = said[1].iter().filter(|said| !said.2.is_empty()).count();
    assert_eq!(with_gap, 6, "{:?}", said[1]);
}

/// As Linux and FreeBSD do: a sender whose first window is small waits for it.
#[test]
fn first_data_of_an_association_is_acknowledged_at_once() {
    let mut pair = Setup::signalling().build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.establish(&mut pair);
    let packets = [hand.data_packet(10)];
    assert_eq!(answers(&mut pair, &hand, &packets, Arriving::OneByOne).len(), 1);
    let packets = [hand.data_packet(10)];
    assert_eq!(answers(&mut pair, &hand, &packets, Arriving::OneByOne).len(), 0, "the next may wait");
}

/// RFC 9260 §5.1.5, step 7.
#[test]
fn data_bundled_with_cookie_echo_is_acknowledged_at_once() {
    let mut pair = Setup::signalling().build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.init(&mut pair);
    let cookie = hand.cookie().to_vec();
    let header = hand.data_header(0);
    hand.tell(&mut pair, |writer| {
        writer.cookie_echo(&cookie).unwrap();
        writer.data(&header, &[7; 10]).unwrap();
    });
    assert_eq!(pair.side(End::Right).sent.last().unwrap().kinds(), "COOKIE_ACK SACK");
}

/// A sender by the letter of RFC 9260: slow start grows by a packet with each SACK (§7.2.1), and with each at most
/// Max.Burst packets leave (§6.1 (D)). A round trip is what it sends, and what is answered.
struct ByTheLetter {
    cwnd: usize,
    in_flight: usize,
    acknowledged: Tsn,
}

impl ByTheLetter {
    const MAX_BURST: usize = 4;

    /// How many packets it has sent after so many round trips.
    fn packets(arriving: Arriving, round_trips: usize) -> usize {
        let (mut pair, mut hand) = established(Setup::signalling());
        let mut sender = Self { cwnd: 4, in_flight: 4, acknowledged: hand.next_tsn.previous() };
        let mut packets: Vec<_> = (0..4).map(|_| hand.data_packet(1000)).collect();
        let mut sent = packets.len();
        for _ in 0..round_trips {
            pair.run_ms(20);
            let mut next = 0;
            for (cumulative, ..) in answers(&mut pair, &hand, &packets, arriving) {
                next += sender.on_sack(cumulative);
            }
            packets = (0..next).map(|_| hand.data_packet(1000)).collect();
            sent += next;
        }
        sent
    }

    fn on_sack(&mut self, cumulative: Tsn) -> usize {
        let acknowledged = self.acknowledged.distance(cumulative) as usize;
        self.acknowledged = cumulative;
        self.cwnd += usize::from(acknowledged > 0 && self.in_flight >= self.cwnd);
        self.in_flight -= acknowledged;
        let next = self.cwnd.saturating_sub(self.in_flight).min(Self::MAX_BURST);
        self.in_flight += next;
        next
    }
}

#[test]
fn sender_by_the_letter_is_as_fast_when_its_packets_arrive_together() {
    let [alone, together] =
        [Arriving::OneByOne, Arriving::Together].map(|arriving| ByTheLetter::packets(arriving, 10));
    assert!(alone > 300, "{alone} packets in ten round trips");
    assert_eq!(alone, together);
}
