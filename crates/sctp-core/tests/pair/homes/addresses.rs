//! Address lists and path verification (RFC 9260 §5.1.2, §5.4; RFC 5062 §2; RFC 6951 §5).

use std::net::IpAddr;

use sctp_core::{
    AssociationError, AssociationState, ChunkSet, ChunkType, Destination, Offer, PathId, PathState,
    SetPrimaryError,
};
use sctp_wire::{Chunk, Parameter};

use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT_PORT, Setup, by_ip, is_up, ordered};

/// The addresses an INIT or INIT ACK of this end lists.
fn listed(pair: &Pair, end: End) -> Vec<IpAddr> {
    let sent = pair.side(end).sent.first().unwrap().clone();
    let packet = sent.packet();
    let Some(Ok(Chunk::Init(init) | Chunk::InitAck(init))) = packet.chunks().next() else {
        panic!("{end:?} did not begin with INIT or INIT ACK")
    };
    let address = |parameter| {
        if let Parameter::Ipv4Address(v4) = parameter {
            Some(IpAddr::V4(v4))
        } else if let Parameter::Ipv6Address(v6) = parameter {
            Some(IpAddr::V6(v6))
        } else {
            None
        }
    };
    init.parameters.iter().flatten().filter_map(address).collect()
}

fn ips(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|text| text.parse().unwrap()).collect()
}

/// RFC 9260 §5.1.2 (C), §5.4: what was only listed is verified by HEARTBEAT before it counts.
#[test]
fn both_ends_learn_each_others_addresses_and_verify_them() {
    let mut pair = Setup::signalling().two_homes().build();
    pair.connect();
    pair.run_ms(45);
    assert_eq!(listed(&pair, End::Left), ips(&["10.0.0.1", "10.0.1.1"]));
    assert_eq!(listed(&pair, End::Right), ips(&["10.0.0.2", "10.0.1.2"]));
    assert_eq!(pair.path_states(End::Left), [PathState::Active, PathState::Unconfirmed]);
    pair.run_ms(100);
    for (end, other) in [(End::Left, 2), (End::Right, 1)] {
        assert_eq!(pair.path_states(end), [PathState::Active; 2], "{end:?}");
        let paths = pair.statistics(end).paths;
        for (number, path) in paths.iter().enumerate() {
            let own = 3 - other;
            assert_eq!(path.address, ips(&[&format!("10.0.{number}.{other}")])[0]);
            assert_eq!(path.source, Some(ips(&[&format!("10.0.{number}.{own}")])[0]));
            assert_eq!(path.is_primary, number == 0);
        }
        assert!(paths[1].srtt.is_some(), "the HEARTBEAT measured the round trip");
    }
    assert_eq!(pair.path_changes(End::Left, 0), [(60, 1, PathState::Active)]);
}

#[test]
fn hosts_with_one_address_list_none() {
    let pair = Setup::signalling().connected();
    assert!(listed(&pair, End::Left).is_empty() && listed(&pair, End::Right).is_empty());
}

#[test]
fn hosts_with_different_numbers_of_addresses_use_all_there_are() {
    let mut pair =
        Setup::signalling().homes(&["10.0.0.1"], &["10.0.0.2", "10.0.0.3", "10.0.0.4"]).connected();
    pair.run_ms(2500);
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 3]);
    assert_eq!(pair.path_states(End::Right), [PathState::Active]);
}

/// RFC 9260 §5.4: one HEARTBEAT each RTO (HB.Max.Burst), and its failures are the path's own.
#[test]
fn unconfirmed_addresses_get_heartbeats_only_and_cost_the_association_nothing() {
    let mut pair = Setup::signalling()
        .homes(&["10.0.0.1", "10.0.1.1", "10.0.2.1"], &["10.0.0.2", "10.0.1.2", "10.0.2.2"]);
    pair = pair.configure(|config| config.attempts.association = 1);
    let mut pair = pair.build();
    pair.cut_link(1);
    pair.cut_link(2);
    pair.connect();
    for number in 0..300 {
        pair.send(End::Left, ordered(0, number, 100));
        pair.run_ms(1000);
    }
    for (end, address) in [(End::Left, "10.0.1.2"), (End::Left, "10.0.2.2"), (End::Right, "10.0.1.1")] {
        let sent = pair.sent_to(end, address);
        assert!(sent.len() > 6 && sent.iter().all(|kinds| kinds == "HEARTBEAT"), "{sent:?}");
    }
    assert_eq!(
        pair.path_states(End::Left),
        [PathState::Active, PathState::Unconfirmed, PathState::Unconfirmed]
    );
    assert_eq!(pair.side(End::Right).received.len(), 300);
    // Seven attempts each with a doubling RTO, then one a period of HB.interval and RTO.
    let heartbeats = pair.statistics(End::Left).paths[1].counters.heartbeats;
    assert!((8..=12).contains(&heartbeats), "{heartbeats}");
    let first: Vec<u64> = pair.times_of(End::Left, "HEARTBEAT", 0).into_iter().take(2).collect();
    assert!(first[1] - first[0] >= 1000, "one an RTO: {first:?}");
}

/// RFC 9260 §5.4 (1): what the user names needs no verification, and is tried in turn (§5.1.6).
#[test]
fn init_goes_to_the_next_destination_when_one_is_silent() {
    let mut pair = Setup::signalling().two_homes().build();
    pair.cut_link(0);
    pair.connect_to(2);
    pair.run_ms(1100);
    assert_eq!(pair.sent_to(End::Left, "10.0.0.2"), ["INIT"]);
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(50);
    assert_eq!(pair.side(End::Right).received.len(), 1, "data follows the handshake");
    assert!(pair.statistics(End::Left).paths[1].is_primary);
}

#[test]
fn cookie_echo_goes_to_the_next_destination_too() {
    let mut pair = Setup::signalling().two_homes().build();
    pair.connect_to(2);
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(25);
    pair.cut_link(0);
    pair.run_ms(6000);
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    assert_eq!(pair.side(End::Right).received.len(), 1);
}

/// An INIT ACK for the left end's INIT, from `source`, with its tag or with another one.
fn answer_init_from(pair: &mut Pair, source: &str, tag_offset: u32, parameters: &[Parameter<'_>]) {
    let tag = left_tag(pair).wrapping_add(tag_offset);
    let header = Hand::new(RIGHT_PORT, 77).header();
    let answer = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| writer.init_ack(&header, parameters).unwrap());
    pair.inject(End::Left, source.parse().unwrap(), &answer);
}

/// RFC 9260 §3.3.3, §5.1.2 (A): the peer has the one address it wrote from, whatever else the user called.
#[test]
fn init_ack_without_addresses_leaves_only_where_it_came_from() {
    let mut pair = Setup::signalling().two_homes().build();
    pair.cut();
    pair.connect_to(2);
    answer_init_from(&mut pair, "10.0.0.2", 0, &[Parameter::StateCookie(b"cookie")]);
    assert_eq!(pair.path_states(End::Left), [PathState::Active]);
    assert_eq!(pair.path_changes(End::Left, 0), [(0, 1, PathState::Removed)]);
    // Neither the COOKIE ECHO nor what is lost later goes there, and a packet from there is not the peer's.
    pair.run_ms(20_000);
    assert!(pair.sent_to(End::Left, "10.0.0.2").len() > 2);
    assert_eq!(pair.sent_to(End::Left, "10.0.1.2"), [""; 0]);
    let ack = with_tag(RIGHT_PORT, LEFT_PORT, left_tag(&pair), |writer| writer.cookie_ack().unwrap());
    pair.inject(End::Left, [10, 0, 1, 2].into(), &ack);
    assert_eq!(pair.state(End::Left), Some(AssociationState::CookieEchoed));
    assert_eq!(pair.side(End::Left).endpoint.statistics().unknown_source, 1);
}

/// RFC 9260 §5.1.2 (C): those it lists, and its source; what the user named of them needs no verification (§5.4).
#[test]
fn init_ack_that_lists_some_addresses_leaves_these_and_its_source() {
    let right = ["10.0.0.2", "10.0.0.3", "10.0.0.4"];
    let mut pair = Setup::signalling().homes(&["10.0.0.1"], &right).build();
    pair.cut();
    pair.connect_to(3);
    let v4 = |last| Parameter::Ipv4Address([10, 0, 0, last].into());
    answer_init_from(&mut pair, "10.0.0.3", 0, &[Parameter::StateCookie(b"cookie"), v4(4), v4(5)]);
    let paths: Vec<_> =
        pair.statistics(End::Left).paths.iter().map(|path| (path.address, path.state)).collect();
    let [third, fourth, fifth] = ["10.0.0.3", "10.0.0.4", "10.0.0.5"].map(|text| text.parse().unwrap());
    let expected = [(third, PathState::Active), (fourth, PathState::Active), (fifth, PathState::Unconfirmed)];
    assert_eq!(paths, expected);
    assert_eq!(pair.sent_to(End::Left, "10.0.0.3"), ["COOKIE_ECHO"]);
}

/// RFC 9260 §5.1.2, §5.4: the source is not verified yet, so where the INIT went stays, and no other address does.
#[test]
fn init_ack_from_elsewhere_leaves_its_source_and_where_the_init_went() {
    let mut pair = Setup::signalling().two_homes().build();
    pair.cut();
    pair.connect_to(2);
    answer_init_from(&mut pair, "10.0.0.77", 0, &[Parameter::StateCookie(b"cookie")]);
    let addresses: Vec<IpAddr> = pair.statistics(End::Left).paths.iter().map(|path| path.address).collect();
    assert_eq!(addresses, ips(&["10.0.0.2", "10.0.0.77"]));
}

/// RFC 9260 §8.5.1: the tag is what counts. The source of the INIT ACK is an address of the peer (§5.1.2 (A)) that has to be
/// verified (§5.4); until then the peer is where the user said.
#[test]
fn init_ack_may_come_from_an_address_the_init_did_not_go_to() {
    let mut pair = Setup::signalling().build();
    pair.cut();
    pair.connect();
    answer_init_from(&mut pair, "10.0.1.2", 0, &[Parameter::StateCookie(b"cookie")]);
    assert_eq!(pair.state(End::Left), Some(AssociationState::CookieEchoed));
    assert_eq!(pair.sent_to(End::Left, "10.0.0.2"), ["INIT", "COOKIE_ECHO"]);
    assert_eq!(pair.path_states(End::Left), [PathState::Active, PathState::Unconfirmed]);
    assert_eq!(pair.side(End::Left).endpoint.statistics().handshake.init_acks_from_elsewhere, 1);
    let ack = with_tag(RIGHT_PORT, LEFT_PORT, left_tag(&pair), |writer| writer.cookie_ack().unwrap());
    pair.inject(End::Left, [10, 0, 1, 2].into(), &ack);
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    pair.run_ms(1);
    assert_eq!(pair.sent_to(End::Left, "10.0.1.2"), ["HEARTBEAT"]);
}

/// RFC 9260 §8.5: without our tag it is no answer; once there was one, a second counts no more (§5.2.3).
#[test]
fn robustness_23_init_ack_from_elsewhere_counts_only_with_our_tag_and_only_once() {
    let mut pair = Setup::signalling().build();
    pair.cut();
    pair.connect();
    let parameters = [Parameter::StateCookie(b"cookie")];
    answer_init_from(&mut pair, "10.0.1.2", 1, &parameters);
    assert_eq!(pair.state(End::Left), Some(AssociationState::CookieWait));
    answer_init_from(&mut pair, "10.0.1.2", 0, &parameters);
    answer_init_from(&mut pair, "10.0.1.3", 0, &parameters);
    let statistics = *pair.side(End::Left).endpoint.statistics();
    assert_eq!((statistics.handshake.init_acks_from_elsewhere, statistics.unknown_source), (1, 1));
    assert_eq!(pair.path_states(End::Left).len(), 2);
}

/// RFC 9260 §3.3.3: an INIT ACK that means nothing makes no address the peer's.
#[test]
fn useless_init_ack_from_elsewhere_adds_no_address() {
    let mut pair = Setup::signalling().build();
    pair.cut();
    pair.connect();
    answer_init_from(&mut pair, "10.0.1.2", 0, &[]);
    assert!(matches!(&pair.endings(End::Left)[..], [Err(AssociationError::ProtocolViolation(_))]));
    assert_eq!(pair.sent_to(End::Left, "10.0.1.2"), [""; 0]);
}

fn left_tag(pair: &Pair) -> u32 {
    let sent = pair.side(End::Left).sent.first().unwrap().clone();
    let Some(Ok(Chunk::Init(init))) = sent.packet().chunks().next() else { panic!("no INIT") };
    init.initiate_tag.get()
}

/// RFC 9260 §5.4: to an unconfirmed address COOKIE ACK goes with a HEARTBEAT.
#[test]
fn cookie_ack_to_an_unconfirmed_address_travels_with_a_heartbeat() {
    let mut pair = Setup::signalling().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.init_listing(&mut pair, [10, 0, 0, 8].into());
    hand.source = by_ip([10, 0, 0, 8].into());
    hand.echo(&mut pair);
    assert_eq!(pair.sent_to(End::Right, "10.0.0.8"), ["COOKIE_ACK HEARTBEAT"]);
    assert_eq!(pair.path_states(End::Right), [PathState::Active, PathState::Unconfirmed]);
    // Data from there is acknowledged where the peer is known to be.
    hand.data(&mut pair, 0, 10);
    pair.run_ms(300);
    assert_eq!(pair.sent_to(End::Right, "10.0.0.9").last().unwrap(), "SACK");
}

/// RFC 5062 §2: who lists a foreign address neither gets its packets nor keeps it out.
#[test]
fn robustness_06_listing_a_foreign_address_does_not_lock_its_owner_out() {
    let mut pair = Setup::signalling().build();
    let mut camper = Hand::new(LEFT_PORT, 5);
    camper.init_listing(&mut pair, LEFT);
    camper.echo(&mut pair);
    assert_eq!(pair.path_states(End::Right), [PathState::Active, PathState::Unconfirmed]);
    pair.connect();
    pair.run_ms(50);
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(50);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 2);
    assert_eq!(pair.payloads(End::Right), [[1; 100]]);
    camper.abort(&mut pair);
    pair.send(End::Left, ordered(0, 2, 100));
    pair.run_ms(50);
    assert_eq!(pair.side(End::Right).received.len(), 2);
}

/// RFC 6951 §5.1: behind one NAT address and SCTP port may be the same; the UDP port differs.
#[test]
fn robustness_23_two_clients_behind_one_nat_are_two_associations() {
    let mut pair = Setup::signalling().build();
    let mut hands = [40_000, 40_001].map(|udp| {
        let mut hand = Hand::new(LEFT_PORT, 5 + u32::from(udp));
        hand.source = Destination::from(std::net::SocketAddr::from(([192, 0, 2, 1], udp)));
        hand
    });
    for hand in &mut hands {
        hand.establish(&mut pair);
    }
    for hand in &mut hands {
        hand.data(&mut pair, 0, 10);
    }
    assert_eq!(pair.count(End::Right, is_up), 2);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 2);
    // The port of one changes (RFC 6951 §5.4); its packets are still told by the tag.
    let moved = Destination::from(std::net::SocketAddr::from(([192, 0, 2, 1], 50_000)));
    hands[1].source = moved;
    hands[1].data(&mut pair, 0, 10);
    hands[1].init(&mut pair);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 2);
    assert_eq!(pair.statistics(End::Right).receiver.messages, 2);
}

#[test]
fn addresses_that_cannot_be_used_and_too_many_are_counted() {
    let mut pair = Setup::signalling().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    let v4 = |last| Parameter::Ipv4Address([10, 0, 0, last].into());
    let mut parameters = vec![Parameter::Ipv4Address([224, 0, 0, 1].into())];
    parameters.push(Parameter::Ipv4Address([127, 0, 0, 1].into()));
    parameters.extend((20..30).map(v4));
    hand.init_with(&mut pair, &parameters);
    hand.echo(&mut pair);
    // Eight are looked at, the source among them; five are too many and two of no use.
    assert_eq!(pair.statistics(End::Right).association.addresses_ignored, 7);
    assert_eq!(pair.path_states(End::Right).len(), 6);
}

#[test]
fn packets_with_the_right_tag_from_an_unlisted_address_are_counted_and_discarded() {
    let mut pair = Setup::signalling().build();
    let mut hand = Hand::new(LEFT_PORT, 5);
    hand.establish(&mut pair);
    hand.source = by_ip([10, 0, 0, 77].into());
    hand.data(&mut pair, 0, 10);
    assert_eq!(pair.side(End::Right).endpoint.statistics().unknown_source, 1);
    assert!(pair.side(End::Right).received.is_empty());
}

/// The peer may have lost the addresses that its INIT ACK listed, where it can tell of others by ASCONF: the association comes up,
/// and nothing goes to where the answer came from. One that has to be authenticated is not taken from there.
#[test]
fn cookie_ack_counts_from_anywhere_with_the_right_tag_where_addresses_may_change() {
    let (waits, is_up) = (AssociationState::CookieEchoed, AssociationState::Established);
    let demanded = ChunkSet::from_iter([ChunkType::COOKIE_ACK]);
    for (changes, chunks, state) in [
        (Offer::On, ChunkSet::default(), is_up),
        (Offer::Off, ChunkSet::default(), waits),
        (Offer::On, demanded, waits),
    ] {
        let setup = Setup::signalling().drop_from_right(&[2]).configure(|config| {
            config.extensions.authentication = changes;
            config.extensions.dynamic_addresses = changes;
            config.authentication.chunks = chunks;
        });
        let mut pair = setup.build();
        pair.connect();
        pair.run_ms(35);
        let tag = left_tag(&pair);
        for (tag, state) in [(!tag, waits), (tag, state)] {
            let ack = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| writer.cookie_ack().unwrap());
            pair.inject(End::Left, [10, 0, 0, 77].into(), &ack);
            assert_eq!(pair.state(End::Left), Some(state), "{changes:?}, {chunks:?}");
        }
        assert_eq!(pair.statistics(End::Left).paths.len(), 1);
    }
}

#[test]
fn private_and_loopback_addresses_are_not_told_to_a_global_peer() {
    let mut pair = Setup::signalling()
        .homes(&["192.0.2.1", "2001:db8::1", "10.0.0.1", "127.0.0.1", "fe80::1"], &["198.51.100.1"])
        .build();
    pair.connect();
    pair.run_ms(100);
    assert_eq!(listed(&pair, End::Left), ips(&["192.0.2.1", "2001:db8::1"]));
}

/// RFC 9260 §5.1.2 (D): an INIT from an address that the peer has listed, but not been heard from, is about the same
/// association, by the other address it lists; new addresses are refused then (§5.2.2).
#[test]
fn init_from_a_listed_address_that_lists_a_confirmed_one_is_about_that_association() {
    let mut pair = Setup::signalling().build();
    let mut peer = Hand::new(LEFT_PORT, 5);
    let [second, third] = [[10, 0, 0, 77], [10, 0, 0, 78]].map(IpAddr::from);
    peer.init_listing(&mut pair, second);
    peer.echo(&mut pair);
    let IpAddr::V4(first) = peer.source.address else { panic!("an IPv4 address") };
    let IpAddr::V4(new) = third else { panic!("an IPv4 address") };
    let [first, new] = [first, new].map(Parameter::Ipv4Address);
    for (listed, answer) in [(&[first, new][..], "ABORT"), (&[first], "INIT_ACK")] {
        let header = Hand::new(LEFT_PORT, 6).header();
        let init = with_tag(LEFT_PORT, RIGHT_PORT, 0, |writer| writer.init(&header, listed).unwrap());
        pair.inject_from(End::Right, by_ip(second), &init);
        assert_eq!(pair.sent_to(End::Right, "10.0.0.77").last().unwrap(), answer);
    }
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
}

#[test]
fn ipv4_and_ipv6_paths_belong_to_one_association() {
    let mut pair =
        Setup::signalling().homes(&["10.0.0.1", "2001:db8::1"], &["10.0.0.2", "2001:db8::2"]).connected();
    pair.run_ms(100);
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
    let paths = pair.statistics(End::Left).paths;
    assert!(paths[0].address.is_ipv4() && paths[1].address.is_ipv6());
    pair.cut_link(0);
    pair.send(End::Left, ordered(0, 1, 5000));
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Right), [[1; 5000]]);
}

/// RFC 9260 §6.4, §11.1.5.
#[test]
fn the_user_chooses_the_primary_path_among_confirmed_ones() {
    let mut pair = Setup::signalling().two_homes().build();
    let id = pair.connect();
    let set = |pair: &mut Pair, path| {
        pair.with(End::Left, |side, now| side.endpoint.set_primary(now, id, PathId::new(path)))
    };
    pair.run_ms(45);
    assert_eq!(set(&mut pair, 1), Err(SetPrimaryError::Unconfirmed(PathId::new(1))));
    assert_eq!(set(&mut pair, 2), Err(SetPrimaryError::UnknownPath(PathId::new(2))));
    pair.run_ms(55);
    assert_eq!(set(&mut pair, 1), Ok(()));
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(50);
    assert_eq!(pair.sent_to(End::Left, "10.0.1.2").last().unwrap(), "DATA");
    // RFC 9260 §6.4: the SACK goes back where the data came from.
    assert_eq!(pair.sent_to(End::Right, "10.0.1.1").last().unwrap(), "SACK");
}
