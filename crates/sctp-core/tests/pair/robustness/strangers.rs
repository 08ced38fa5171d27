//! Strangers who write of another's address in their INITs: what they get, and what they learn.
//!
//! The right end is the victim; the left end is the server whose address the stranger lists.

use std::net::IpAddr;

use sctp_core::{
    AssociationId, AssociationState as S, Datagram, Destination, Encapsulation, Endpoint, EndpointConfig,
    TagShare,
};
use sctp_wire::{Checksum, Chunk, Packet, Parameter};

use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT_PORT, Sent, Setup, by_ip, is_up, ordered, port};

const STRANGER: [u8; 4] = [10, 0, 0, 66];

/// The stranger writes from the same port as the server, by the same carrier.
fn stranger(pair: &Pair, tag: u32) -> Hand {
    let mut hand = Hand::new(LEFT_PORT, tag);
    hand.source =
        Destination { address: STRANGER.into(), encapsulation: pair.side(End::Right).encapsulation };
    hand
}

fn posing_as_left(pair: &Pair, tag: u32) -> Hand {
    let mut hand = stranger(pair, tag);
    hand.source.address = LEFT;
    hand
}

fn state_of(pair: &Pair, id: AssociationId) -> Option<S> {
    pair.side(End::Right).endpoint.association(id).map(sctp_core::Association::state)
}

/// Tag and initial TSN of the first INIT the right end sent.
fn live(pair: &Pair) -> (u32, u32) {
    let sent = pair.side(End::Right).sent.first().unwrap();
    let Some(Ok(Chunk::Init(init))) = sent.packet().chunks().next() else { panic!("{}", sent.kinds()) };
    (init.initiate_tag.get(), init.initial_tsn.get())
}

/// An end that opens an association with a server which lets it wait, over plain IP and in UDP.
fn opening() -> impl Iterator<Item = (Pair, AssociationId)> {
    [Setup::signalling(), Setup::signalling().in_udp()].into_iter().map(|setup| {
        let mut pair = setup.build();
        pair.cut();
        let id = pair.connect_back();
        pair.send(End::Right, ordered(0, 1, 100));
        (pair, id)
    })
}

/// RFC 9260 §5.2.1: INIT ACK about an association that is being opened goes to addresses the user named, and no others.
#[test]
fn robustness_24_stranger_who_lists_a_silent_server_gets_neither_its_association_nor_its_data() {
    for (mut pair, id) in opening() {
        let (tag, tsn) = live(&pair);
        let mut stranger = stranger(&pair, 7);
        stranger.init_listing(&mut pair, LEFT);
        assert!(stranger.peer_tag() != tag && stranger.peer_tsn.get() != tsn, "the live tag is not told");
        stranger.echo(&mut pair);
        assert_eq!(state_of(&pair, id), Some(S::CookieWait));
        pair.run_ms(500);
        let to_stranger = pair.sent_to(End::Right, "10.0.0.66");
        assert!(to_stranger.iter().all(|kinds| !kinds.contains("DATA")), "{to_stranger:?}");
        pair.with(End::Right, |side, _| side.id = Some(id));
        pair.mend();
        pair.run_ms(10_000);
        assert_eq!(state_of(&pair, id), Some(S::Established));
        assert_eq!(pair.payloads(End::Left), [[1; 100]], "the server got what was meant for it");
    }
}

/// The stranger is faster than the server's INIT ACK, or than its COOKIE ACK.
#[test]
fn robustness_24_stranger_who_is_faster_than_the_server_changes_nothing() {
    for udp in [false, true] {
        for (number, at_ms) in (0..).zip([0, 5, 15, 19, 21, 25, 35, 39, 41, 100]) {
            let setup = Setup::signalling();
            let mut pair = if udp { setup.in_udp() } else { setup }.build();
            let id = pair.connect_back();
            pair.send(End::Right, ordered(0, 1, 100));
            pair.run_ms(at_ms);
            let mut stranger = stranger(&pair, 7 + number);
            stranger.init_listing(&mut pair, LEFT);
            assert_ne!(stranger.peer_tag(), live(&pair).0, "{at_ms} ms");
            stranger.echo(&mut pair);
            pair.run_ms(5000);
            assert_eq!(state_of(&pair, id), Some(S::Established), "{at_ms} ms");
            assert_eq!(pair.payloads(End::Left), [[1; 100]], "{at_ms} ms");
        }
    }
}

/// Of the server's two addresses the stranger lists one, the other or both.
#[test]
fn robustness_24_stranger_who_lists_a_part_of_the_addresses_gets_no_more() {
    for listed in [&[[10, 0, 0, 1]][..], &[[10, 0, 1, 1]], &[[10, 0, 0, 1], [10, 0, 1, 1]]] {
        for named in [1, 2] {
            for wait_ms in [0, 25, 3000] {
                let mut pair = Setup::signalling().two_homes().build();
                let id = pair.connect_back_to(named);
                pair.run_ms(wait_ms);
                let mut stranger = stranger(&pair, 7);
                let parameters: Vec<_> =
                    listed.iter().map(|octets| Parameter::Ipv4Address((*octets).into())).collect();
                stranger.init_with(&mut pair, &parameters);
                assert_ne!(stranger.peer_tag(), live(&pair).0);
                stranger.echo(&mut pair);
                pair.with(End::Right, |side, _| side.id = Some(id));
                pair.send(End::Right, ordered(0, 1, 100));
                pair.run_ms(5000);
                assert_eq!(pair.payloads(End::Left), [[1; 100]], "{listed:?} of {named} after {wait_ms} ms");
            }
        }
    }
}

/// RFC 6951 §5.1: behind the server's NAT there are others, who differ from it by their UDP port alone.
#[test]
fn robustness_24_neighbour_behind_the_servers_nat_gets_no_more() {
    for listed in [&[][..], &[Parameter::Ipv4Address([10, 0, 0, 1].into())]] {
        let mut pair = Setup::signalling().in_udp().build();
        pair.cut();
        let id = pair.connect_back();
        let mut neighbour = posing_as_left(&pair, 7);
        neighbour.source.encapsulation = Encapsulation::Udp { port: 40_000 };
        neighbour.init_with(&mut pair, listed);
        assert_ne!(neighbour.peer_tag(), live(&pair).0);
        neighbour.echo(&mut pair);
        assert_eq!(state_of(&pair, id), Some(S::CookieWait));
        pair.with(End::Right, |side, _| side.id = Some(id));
        pair.mend();
        pair.run_ms(5000);
        assert_eq!(state_of(&pair, id), Some(S::Established));
    }
}

/// Endpoints that share a port: whichever of them gets the stranger's INIT, none tells the tag of the one that opens.
#[test]
fn robustness_24_no_shard_tells_a_stranger_the_tag_of_an_association_that_is_being_opened() {
    let now = virtual_time::Instant::from_millis(1000);
    let mut shards = [0, 1].map(|index| {
        let mut config = EndpointConfig::new(port(RIGHT_PORT));
        config.tag_share = Some(TagShare { index, of: 2 });
        Endpoint::new(config, [u8::try_from(index).unwrap(); 32]).unwrap()
    });
    let config = sctp_core::AssociationConfig::default();
    shards[0].connect(now, &[by_ip(LEFT)], port(LEFT_PORT), config).unwrap();
    let initiate_tag = |packet: &[u8]| match Packet::decode(packet, Checksum::Verify).unwrap().chunks().next()
    {
        Some(Ok(Chunk::Init(init) | Chunk::InitAck(init))) => init.initiate_tag,
        other => panic!("{other:?}"),
    };
    let mut live = Vec::new();
    shards[0].poll_transmit(now, &mut live).unwrap();
    let header = Hand::new(LEFT_PORT, 7).header();
    let init = with_tag(LEFT_PORT, RIGHT_PORT, 0, |writer| {
        writer.init(&header, &[Parameter::Ipv4Address([10, 0, 0, 1].into())]).unwrap();
    });
    for shard in &mut shards {
        let source = by_ip(STRANGER.into());
        shard.handle_packet(now, Datagram::new(source, &init));
        let mut answer = Vec::new();
        shard.poll_transmit(now, &mut answer).unwrap();
        assert_ne!(initiate_tag(&answer), initiate_tag(&live));
    }
}

/// RFC 9260 §5.2.4, action B: with a cookie from when the association was opened, and long after that.
#[test]
fn robustness_25_cookie_that_was_kept_does_not_replace_the_peers_tag() {
    for (mut pair, id) in opening() {
        let mut stranger = stranger(&pair, 7);
        stranger.init_listing(&mut pair, LEFT);
        // The server itself began, too, or somebody who writes from its address: this cookie has the live tag.
        let mut early = posing_as_left(&pair, 8);
        early.init(&mut pair);
        assert_eq!(early.peer_tag(), live(&pair).0, "two that open at the same time meet");
        pair.mend();
        pair.run_ms(20_000);
        assert_eq!(state_of(&pair, id), Some(S::Established));
        early.echo(&mut pair);
        early.source.address = STRANGER.into();
        early.echo(&mut pair);
        stranger.echo(&mut pair);
        stranger.source.address = LEFT;
        stranger.echo(&mut pair);
        pair.with(End::Right, |side, _| side.id = Some(id));
        pair.send(End::Right, ordered(0, 2, 100));
        pair.send(End::Left, ordered(0, 3, 100));
        pair.run_ms(1000);
        assert_eq!(pair.payloads(End::Left), [[1; 100], [2; 100]]);
        assert_eq!(pair.payloads(End::Right), [[3; 100]]);
    }
}

/// What a stranger can see of his answers: all but the numbers that are random. Chunks, octets, and of a cookie what it has.
fn shape(pair: &Pair, from: usize) -> Vec<(String, usize, Vec<u8>)> {
    let to_stranger =
        pair.side(End::Right).sent[from..].iter().filter(|sent| sent.to == IpAddr::from(STRANGER));
    let of_cookie = |sent: &Sent| {
        let Some(Ok(Chunk::InitAck(ack))) = sent.packet().chunks().next() else { return Vec::new() };
        let cookie = ack.parameters.iter().flatten().find_map(|parameter| {
            if let Parameter::StateCookie(cookie) = parameter { Some(cookie[..2].to_vec()) } else { None }
        });
        cookie.unwrap()
    };
    to_stranger.map(|sent| (sent.kinds(), sent.octets.len(), of_cookie(sent))).collect()
}

/// What a stranger who lists the server's address is answered to his INIT.
fn answer_to_init(pair: &mut Pair) -> (Hand, Vec<(String, usize, Vec<u8>)>) {
    let from = pair.side(End::Right).sent.len();
    let mut stranger = stranger(pair, 7);
    stranger.init_listing(pair, LEFT);
    let shape = shape(pair, from);
    (stranger, shape)
}

/// The same for INIT and COOKIE ECHO.
fn answers(pair: &mut Pair) -> Vec<(String, usize, Vec<u8>)> {
    let from = pair.side(End::Right).sent.len();
    let (stranger, _) = answer_to_init(pair);
    stranger.echo(pair);
    shape(pair, from)
}

#[test]
fn robustness_26_stranger_who_lists_an_address_does_not_learn_whether_it_has_an_association() {
    for udp in [false, true] {
        let setup = || if udp { Setup::signalling().in_udp() } else { Setup::signalling() };
        let expected = answers(&mut setup().build());
        assert_eq!(expected.len(), 2, "{expected:?}");
        let mut opening = setup().build();
        opening.connect_back();
        assert_eq!(answer_to_init(&mut opening).1, expected[..1], "COOKIE-WAIT");
        // COOKIE-ECHOED, ESTABLISHED.
        for at_ms in [25, 1000] {
            let mut pair = setup().build();
            pair.connect_back();
            pair.run_ms(at_ms);
            assert_eq!(answers(&mut pair), expected, "after {at_ms} ms");
        }
        // SHUTDOWN-SENT, SHUTDOWN-ACK-SENT.
        for by in [End::Left, End::Right] {
            let mut pair = setup().connected();
            pair.shutdown(by);
            pair.run_ms(12);
            assert!(pair.state(End::Right).is_some());
            assert_eq!(answers(&mut pair), expected, "{by:?} shuts down");
        }
    }
}

/// RFC 9260 §5.2.4: both ends have two addresses, name one or both of them, and open at the same time.
#[test]
fn ends_with_several_addresses_may_open_at_the_same_time() {
    for (left, right) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        for lost in 0..=5 {
            for apart_ms in [0, 5, 12, 25] {
                let setup = Setup::signalling().two_homes();
                let mut pair = if lost == 0 { setup } else { setup.drop_from_right(&[lost]) }.build();
                pair.connect_to(left);
                pair.send(End::Left, ordered(0, 1, 2000));
                pair.run_ms(apart_ms);
                if pair.side(End::Right).endpoint.association_count() == 0 {
                    pair.connect_back_to(right);
                }
                pair.run_ms(10_000);
                for end in [End::Left, End::Right] {
                    let case = format!("{left} {right} lost {lost} apart {apart_ms} {end:?}");
                    assert_eq!(pair.count(end, is_up), 1, "{case}");
                    assert_eq!(pair.side(end).endpoint.association_count(), 1, "{case}");
                    assert_eq!(pair.endings(end), [], "{case}");
                }
                pair.send(End::Right, ordered(0, 2, 2000));
                pair.run_ms(1000);
                assert_eq!(
                    (pair.side(End::Left).received.len(), pair.side(End::Right).received.len()),
                    (1, 1)
                );
            }
        }
    }
}

/// The left end's INIT comes from an address that the right end's user has not named; or both ends' do.
#[test]
fn crossing_inits_from_addresses_nobody_named_end_in_associations_that_work() {
    for both in [false, true] {
        for lost in 0..=4 {
            // A host sends from its address that is nearest to the destination. The first of each are the named ones.
            let [left, right] = if both {
                [["10.2.0.1", "10.1.0.1"], ["10.1.0.2", "10.2.0.2"]]
            } else {
                [["10.2.0.1", "10.9.0.1"], ["10.2.8.2", "10.2.0.2"]]
            };
            let setup = Setup::signalling().homes(&left, &right).on_one_link();
            let mut pair = if lost == 0 { setup } else { setup.drop_from_right(&[lost]) }.build();
            let opened = [pair.connect_to(1), pair.connect_back_to(1)];
            let case = format!("both {both}, lost {lost}");
            pair.run_ms(20_000);
            let inits = [End::Left, End::Right].map(|end| pair.side(end).sent[0].kinds());
            assert_eq!(inits, ["INIT", "INIT"]);
            for end in [End::Left, End::Right] {
                assert_eq!(pair.endings(end), [], "{case} {end:?}");
                assert_eq!(pair.state(end), Some(S::Established), "{case} {end:?}");
                let count = pair.side(end).endpoint.association_count();
                assert!(count == 1 || both, "{case} {end:?}: {count}");
                pair.send(end, ordered(0, 1, 100));
            }
            pair.run_ms(2000);
            // Where there are two, what one end sends on that of the other's comes in on that of its own.
            for (end, id) in [End::Left, End::Right].into_iter().zip(opened) {
                let received = pair.with(end, |side, now| {
                    side.received.len() + usize::from(side.endpoint.receive(now, id).is_some())
                });
                assert_eq!(received, 1, "{case}");
            }
        }
    }
}
