//! Octets that no honest peer sends, into an established association: never a panic, never a wrong message.

use sctp_core::{ConfigError, Endpoint, InitRate, PathId};
use sctp_wire::{Chunk, ChunkBuf, ChunkType, PacketWriter, Parameter, ParameterType};

use crate::by_hand::Hand;
use crate::dice::Dice;
use crate::net::{End, LEFT_PORT, Pair, RIGHT_PORT, Setup, Side, by_ip, ordered};

/// Recomputes the checksum, so that a changed packet is looked at.
fn resealed(mut octets: Vec<u8>) -> Vec<u8> {
    if octets.len() >= 12 {
        octets[8..12].fill(0);
        let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI).checksum(&octets).to_le_bytes();
        octets[8..12].copy_from_slice(&sum);
    }
    octets
}

/// What the left end sent in a busy association: one of every kind of packet.
fn recorded() -> Vec<Vec<u8>> {
    let mut pair = Setup::signalling().connected();
    pair.drop_next(End::Right, &[2, 5]);
    for number in 0..20 {
        pair.send(End::Left, ordered(0, number, 700));
        pair.send(End::Right, ordered(0, number, 700));
        pair.run_ms(3);
    }
    pair.run_ms(32_000);
    pair.shutdown(End::Left);
    pair.run_ms(1000);
    pair.side(End::Left).sent.iter().map(|sent| sent.octets.clone()).collect()
}

/// The same seed as [`recorded`], so tags and TSNs are the same, but the packets come from the test.
fn victim() -> Pair {
    let mut pair = Setup::signalling().connected();
    pair.cut();
    pair
}

fn assert_sane(pair: &mut Pair) {
    pair.run_ms(1000);
    pair.with(End::Right, Side::read_all);
    assert!(pair.endings(End::Right).len() <= pair.count(End::Right, crate::net::is_up), "one end each");
}

#[test]
fn mutated_packets_never_panic_and_bad_checksums_change_nothing() {
    let packets = recorded();
    for seed in 0..40 {
        let (mut pair, mut dice) = (victim(), Dice::new(seed));
        for _ in 0..60 {
            let mut octets = packets[dice.index(packets.len())].clone();
            for _ in 0..=dice.below(3) {
                let position = dice.index(octets.len());
                octets[position] = dice.below(256).to_le_bytes()[0];
            }
            octets.truncate(if dice.below(4) == 0 { dice.index(octets.len()) } else { octets.len() });
            let octets = if dice.below(4) == 0 { octets } else { resealed(octets) };
            pair.inject(End::Right, crate::net::LEFT, &octets);
            pair.run_ms(dice.below(50));
        }
        assert_sane(&mut pair);
    }
}

#[test]
fn random_octets_are_discarded_and_disturb_nothing() {
    let (mut pair, mut dice) = (Setup::signalling().connected(), Dice::new(7));
    for _ in 0..2000 {
        let octets: Vec<u8> = (0..dice.below(200)).map(|_| dice.below(256).to_le_bytes()[0]).collect();
        let octets = if dice.below(2) == 0 { resealed(octets) } else { octets };
        pair.inject(End::Right, crate::net::LEFT, &octets);
    }
    pair.send(End::Left, ordered(0, 1, 5000));
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Right), [[1; 5000]]);
    let statistics = pair.side(End::Right).endpoint.statistics();
    assert!(statistics.bad_checksum > 500 && statistics.malformed > 0, "{statistics:?}");
}

/// Random chunks with the right tag: the association may end, its endpoint lives on.
#[test]
fn random_chunks_with_the_right_tag_never_panic() {
    for seed in 0..300 {
        let (mut pair, mut dice) = (Setup::signalling().build(), Dice::new(seed));
        let mut hand = Hand::new(LEFT_PORT, 9);
        hand.establish(&mut pair);
        (0..20).for_each(|number| pair.send(End::Right, ordered(0, number, 900)));
        for _ in 0..30 {
            let kind = ChunkType::new([0, 3, 4, 5, 6, 7, 8, 9, 11, 14, 0x80, 0xc1][dice.index(12)]);
            let near = hand.next_tsn.get().wrapping_add(u32::try_from(dice.below(8)).unwrap());
            let mine = hand.peer_tsn.get().wrapping_add(u32::try_from(dice.below(6)).unwrap());
            let body: Vec<u8> = (0..dice.below(40)).map(|_| dice.below(4).to_le_bytes()[0]).collect();
            let number = if kind == ChunkType::DATA { near } else { mine };
            let flags = dice.below(16).to_le_bytes()[0];
            hand.tell(&mut pair, |writer| {
                let written = writer.chunk(kind, flags, |value| {
                    value.u32(number);
                    value.bytes(&body);
                });
                written.unwrap();
            });
            pair.run_ms(dice.below(300));
        }
        assert_sane(&mut pair);
        let mut next = Hand::new(LEFT_PORT + 1, 10);
        next.establish(&mut pair);
        next.data(&mut pair, 0, 5);
        assert_eq!(pair.payloads(End::Right).last(), Some(&&[7; 5][..]));
    }
}

/// RFC 9260 §3.3.4: what was never sent cannot be acknowledged.
#[test]
fn robustness_10_acknowledgment_of_what_was_never_sent_ends_the_association() {
    for (count, gaps) in [(2, vec![]), (0, vec![(2, 2)])] {
        let mut pair = Setup::rfc9260().build();
        let mut hand = Hand::new(LEFT_PORT, 9);
        hand.establish(&mut pair);
        pair.send(End::Right, ordered(0, 1, 10));
        hand.sack(&mut pair, count, 100_000, &gaps);
        assert_eq!(pair.side(End::Right).sent.last().unwrap().kinds(), "ABORT");
        assert_eq!(pair.endings(End::Right).len(), 1);
    }
}

#[test]
fn robustness_10_contradictory_gap_ack_blocks_are_counted_and_ignored() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.establish(&mut pair);
    (0..3).for_each(|number| pair.send(End::Right, ordered(0, number, 1352)));
    for gaps in [vec![(1, 1)], vec![(3, 2)], vec![(3, 3), (2, 2)], vec![(2, 3), (3, 3)], vec![(0, 0)]] {
        hand.sack(&mut pair, 0, 100_000, &gaps);
    }
    assert_eq!(pair.statistics(End::Right).association.discarded.malformed, 5);
    hand.sack(&mut pair, 3, 100_000, &[]);
    hand.sack(&mut pair, 2, 100_000, &[]);
    assert_eq!(pair.statistics(End::Right).association.discarded.old_sacks, 1);
    let id = pair.side(End::Right).id.unwrap();
    assert_eq!(pair.side(End::Right).endpoint.association(id).unwrap().buffered_bytes(), 0);
}

/// RFC 9260 §6.2.1 (D) (iii): a gap acknowledgment may be taken back, and the chunk then comes again.
#[test]
fn robustness_11_reneged_chunk_is_sent_again() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.establish(&mut pair);
    (0..4).for_each(|number| pair.send(End::Right, ordered(0, number, 1352)));
    hand.sack(&mut pair, 0, 100_000, &[(2, 3)]);
    hand.sack(&mut pair, 1, 100_000, &[]);
    let flight = pair.statistics(End::Right).paths[0].flight_bytes;
    // What the SACK does not reach up to, it does not take back.
    assert_eq!(flight, 2 * 1368);
    let from = pair.now_ms();
    pair.run_ms(30_000);
    assert!(pair.times_of(End::Right, "DATA", from).len() >= 2);
    hand.sack(&mut pair, 4, 100_000, &[]);
    assert_eq!(pair.statistics(End::Right).paths[0].flight_bytes, 0);
}

/// RFC 9260 §6.3.2 (R4): also on a path on which nothing else is in flight and no timer runs.
#[test]
fn reneged_chunk_of_an_idle_path_is_sent_again() {
    let mut setup = Setup::rfc9260();
    setup.server.association.attempts.path = 10;
    let mut pair = setup.build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    let (first, second) = (hand.source, by_ip([10, 0, 0, 77].into()));
    hand.init_listing(&mut pair, second.address);
    hand.echo(&mut pair);
    pair.run_ms(5);
    let asked = pair.side(End::Right).sent.iter().rfind(|sent| sent.to == second.address).unwrap().clone();
    let info =
        asked.packet().chunks().flatten().find_map(|chunk| {
            if let Chunk::Heartbeat(info) = chunk { Some(info.info.to_vec()) } else { None }
        });
    let answer = ChunkBuf::heartbeat_ack(&info.unwrap()).unwrap();
    hand.source = second;
    hand.tell(&mut pair, |writer| writer.raw(&answer).unwrap());
    hand.source = first;
    for (number, path) in [0, 1, 0].into_iter().enumerate() {
        pair.with(End::Right, |side, now| {
            side.endpoint.set_primary(now, side.id.unwrap(), PathId::new(path))
        })
        .unwrap();
        pair.send(End::Right, ordered(0, number, 100));
    }
    hand.sack(&mut pair, 0, 100_000, &[(2, 2)]);
    hand.sack(&mut pair, 0, 100_000, &[(3, 3)]);
    hand.sack(&mut pair, 1, 100_000, &[(2, 2)]);
    assert_eq!(pair.statistics(End::Right).paths[1].flight_bytes, 116, "the second, and nothing else");
    pair.run_ms(1500);
    assert_eq!(pair.statistics(End::Right).sender.retransmissions, 1);
}

/// RFC 5062 §5: a flood of INITs is answered up to the rate of its network, and honest peers elsewhere still connect.
#[test]
fn robustness_01_init_flood_is_answered_up_to_the_rate_and_others_still_connect() {
    let mut setup = Setup::rfc9260();
    setup.server.init_rate = Some(InitRate { per_second: 10, burst: 20 });
    let mut pair = setup.build();
    let flooder = Hand::new(LEFT_PORT, 5);
    let init = crate::by_hand::with_tag(LEFT_PORT, RIGHT_PORT, 0, |writer| {
        writer.init(&flooder.header(), &[]).unwrap();
    });
    for last in 0..200 {
        pair.inject(End::Right, [192, 0, 2, last].into(), &init);
    }
    pair.run_ms(1000);
    for last in 0..200 {
        pair.inject(End::Right, [192, 0, 2, last].into(), &init);
    }
    let statistics = *pair.side(End::Right).endpoint.statistics();
    assert_eq!((statistics.handshake.init_acks_sent, statistics.handshake.inits_over_rate), (20 + 10, 370));
    pair.connect();
    pair.run_ms(100);
    assert_eq!(pair.count(End::Left, crate::net::is_up), 1);
}

/// RFC 5062 §10: what an unverified address gets is no larger than what it sent, but for INIT ACK with its cookie.
#[test]
fn robustness_09_answers_to_unverified_addresses_are_bounded_by_what_provoked_them() {
    let unknown = |value: &'static [u8]| {
        Parameter::Unknown(sctp_wire::UnknownParameter { kind: ParameterType::new(0xc0fe), value, raw: &[] })
    };
    let addresses: Vec<Parameter<'_>> =
        (1..30).map(|last| Parameter::Ipv4Address([192, 0, 2, last].into())).collect();
    let tables = [vec![], vec![unknown(&[]); 300], vec![unknown(&[1; 500]); 2], addresses];
    for parameters in &tables {
        let mut pair = Setup::rfc9260().build();
        let header = Hand::new(LEFT_PORT, 5).header();
        let init = crate::by_hand::with_tag(LEFT_PORT, RIGHT_PORT, 0, |writer| {
            writer.init(&header, parameters).unwrap();
        });
        pair.inject(End::Right, crate::net::LEFT, &init);
        let [answer] = &pair.side(End::Right).sent[..] else { panic!("one answer") };
        assert!(answer.octets.len() <= init.len() + 256, "{} for {}", answer.octets.len(), init.len());
    }
    let mut pair = Setup::rfc9260().build();
    let probes: [fn(&mut PacketWriter<'_>); 3] = [
        |writer| writer.heartbeat(&[]).unwrap(),
        |writer| writer.shutdown_ack().unwrap(),
        |writer| writer.cookie_ack().unwrap(),
    ];
    for probe in probes {
        let packet = crate::by_hand::with_tag(LEFT_PORT, RIGHT_PORT, 9, probe);
        let before = pair.side(End::Right).sent.len();
        pair.inject(End::Right, crate::net::LEFT, &packet);
        let answers = &pair.side(End::Right).sent[before..];
        assert!(answers.len() <= 1 && answers.iter().all(|answer| answer.octets.len() <= packet.len()));
    }
}

/// Three peers leave a gap and fill what they may, an octet a chunk; a fourth is honest.
#[test]
fn robustness_13_floods_on_many_associations_stay_within_the_memory_of_the_endpoint() {
    let mut setup = Setup::rfc9260();
    setup.server.association.buffers.receive_bytes = 8000;
    setup.server.association.buffers.message_bytes = 4000;
    setup.server.association_limit = 4;
    setup.server.crowds.network_percent = 100;
    setup.server.receive_memory_bytes = 16_000;
    let mut pair = setup.build();
    for number in 0..3 {
        let mut flooder = Hand::new(LEFT_PORT + 1 + number, 5);
        flooder.establish(&mut pair);
        let _gap = flooder.data_header(0);
        for _ in 0..300 {
            flooder.data(&mut pair, 0, 1);
            assert!(pair.side(End::Right).endpoint.receive_memory_bytes() <= 16_000);
        }
    }
    assert!(pair.side(End::Right).endpoint.receive_memory_bytes() > 8000);
    let mut honest = Hand::new(LEFT_PORT, 5);
    honest.establish(&mut pair);
    (0..20).for_each(|_| honest.data(&mut pair, 0, 1000));
    assert_eq!(pair.side(End::Right).received.len(), 20);
}

#[test]
fn an_endpoint_without_memory_for_two_windows_is_refused() {
    let mut config = Setup::rfc9260().server;
    config.receive_memory_bytes = 2 * config.association.buffers.receive_bytes - 1;
    let error = Endpoint::new(config, [1; 32]).unwrap_err();
    assert!(matches!(error, ConfigError::TooSmall { field: "receive_memory_bytes", .. }), "{error}");
}
