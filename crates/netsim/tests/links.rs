//! Addresses and interfaces, links going down and changing, damage.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod peer;

use std::time::Duration;

use netem::{Impairments, Probability};
use netsim::{ConnectError, Direction, InterfaceError, LinkSpec, LinkState, Protocol, World};
use peer::{Pair, Peer, delay, host, ip};
use virtual_time::Instant;

const fn millis(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Two hosts, two links: the first takes 10 ms, the second 30 ms.
fn twin() -> (World<Peer>, netsim::HostId, netsim::HostId, Vec<netsim::InterfaceId>) {
    let mut world = World::new(1);
    let (left, a) = host(&mut world, &["10.1.0.1 fd00:1::1", "10.2.0.1"]);
    let (right, b) = host(&mut world, &["10.1.0.2 fd00:1::2", "10.2.0.2"]);
    world.connect(a[0], b[0], LinkSpec::symmetric(delay(10))).unwrap();
    world.connect(a[1], b[1], LinkSpec::symmetric(delay(30))).unwrap();
    (world, left, right, b)
}

#[test]
fn without_source_the_destination_selects_the_interface_and_the_source() {
    let (mut world, left, right, interfaces) = twin();
    world.with_host(left, |peer, _| {
        peer.send(None, "10.2.0.2", Protocol::Sctp, b"");
        peer.send(None, "10.1.0.2", Protocol::Sctp, b"");
        peer.send(None, "fd00:1::2", Protocol::Sctp, b"");
    });
    world.run_until(millis(100));
    let seen: Vec<_> = world.host(right).inbox.iter().map(|a| (a.at, a.interface, a.source)).collect();
    let (first, second) = (interfaces[0], interfaces[1]);
    let expected = [
        (millis(10), first, ip("10.1.0.1")),
        (millis(10), first, ip("fd00:1::1")),
        (millis(30), second, ip("10.2.0.1")),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_source_address_selects_its_interface_and_any_own_address_is_accepted() {
    let (mut world, left, right, interfaces) = twin();
    world.with_host(left, |peer, _| peer.send(Some("10.2.0.1"), "10.1.0.2", Protocol::Tcp, b"crossed"));
    world.run_until(millis(100));
    let arrived = &world.host(right).inbox[0];
    assert_eq!(
        (arrived.at, arrived.interface, arrived.destination),
        (millis(30), interfaces[1], ip("10.1.0.2"))
    );
    assert_eq!(arrived.payload, b"crossed");
}

#[test]
fn packets_without_a_way_count_as_unroutable() {
    let (mut world, left, right, _) = twin();
    let quiet = world.trace_hash();
    world.with_host(left, |peer, _| {
        peer.send(None, "10.3.0.2", Protocol::Sctp, b"nobody there");
        peer.send(Some("10.3.0.1"), "10.1.0.2", Protocol::Sctp, b"not mine");
        peer.send(Some("10.1.0.1"), "fd00:1::2", Protocol::Sctp, b"two families");
    });
    world.run_until(millis(100));
    assert_eq!((world.counters().dropped_unroutable, world.counters().dropped()), (3, 3));
    assert_ne!(world.trace_hash(), quiet);
    assert!(world.host(right).inbox.is_empty());
}

#[test]
fn a_packet_for_another_host_or_beyond_ip_is_dropped() {
    let (mut world, left, right, _) = twin();
    world.with_host(left, |peer, _| {
        peer.send(Some("10.1.0.1"), "10.9.9.9", Protocol::Sctp, b"astray");
        peer.send(None, "10.1.0.2", Protocol::Sctp, &vec![0; 65_516]);
        peer.send(None, "10.1.0.2", Protocol::Sctp, &vec![0; 65_515]);
    });
    world.run_until(millis(100));
    let counters = world.counters();
    assert_eq!((counters.dropped_not_for_host, counters.dropped_too_long, counters.dropped()), (1, 1, 2));
    assert_eq!(world.host(right).inbox.len(), 1);
}

#[test]
fn a_link_that_is_down_drops_what_is_sent_and_what_would_arrive() {
    let mut pair = Pair::new(1, delay(10));
    pair.send_numbered(1, Duration::from_millis(5));
    pair.world.set_link_state(pair.link, LinkState::Down);
    pair.send_numbered(1, Duration::from_millis(8));
    pair.world.set_link_state(pair.link, LinkState::Up);
    assert_eq!((pair.world.counters().dropped_link_down, pair.world.counters().dropped()), (2, 2));
    pair.send_numbered(1, Duration::from_millis(20));
    assert_eq!(pair.arrived_numbers(), [0]);
    assert_eq!(pair.world.host(pair.right).inbox[0].at, millis(23));
}

#[test]
fn impairments_change_for_the_packets_after() {
    let mut pair = Pair::new(1, delay(50));
    pair.send(b"slow");
    pair.world.set_impairments(pair.link, Direction::Request, delay(10)).unwrap();
    pair.send(b"fast");
    let invalid = Impairments { jitter: Duration::from_secs(1), ..delay(1) };
    assert!(pair.world.set_impairments(pair.link, Direction::Request, invalid).is_err());
    pair.send(b"fast too");
    pair.world.run_until(millis(100));
    let seen: Vec<_> =
        pair.world.host(pair.right).inbox.iter().map(|a| (a.at, a.payload.as_slice())).collect();
    assert_eq!(seen, [(millis(10), b"fast".as_slice()), (millis(10), b"fast too"), (millis(50), b"slow")]);
}

#[test]
fn listed_packets_are_dropped() {
    let mut pair = Pair::new(1, Impairments { drop_packets: [1, 3].into(), ..delay(1) });
    pair.send_numbered(5, Duration::from_millis(1));
    pair.world.run_until(millis(100));
    assert_eq!((pair.arrived_numbers(), pair.world.counters().dropped_listed), (vec![1, 3, 4], 2));
}

#[test]
fn a_damaged_packet_and_its_copy_differ_by_one_bit_and_udp_drops_them() {
    let always = Probability::new(0.999_999).unwrap();
    let mut pair = Pair::new(1, Impairments { corrupt: always, duplicate: always, ..delay(1) });
    pair.send(&[0; 40]);
    let udp = Protocol::Udp { source_port: 1, destination_port: 2 };
    pair.world.with_host(pair.left, |peer, _| peer.send(None, "10.0.0.2", udp, &[0; 40]));
    pair.world.run_until(millis(10));
    let payloads = pair.world.host(pair.right).payloads();
    let ones: Vec<u32> =
        payloads.iter().map(|payload| payload.iter().map(|octet| octet.count_ones()).sum()).collect();
    assert_eq!(ones, [1, 1]);
    assert_eq!(pair.world.counters().dropped_checksum, 2);
}

#[test]
fn impossible_interfaces_and_links_are_refused() {
    let mut world = World::new(1);
    let (left, a) = host(&mut world, &["10.0.0.1"]);
    let (_, b) = host(&mut world, &["10.0.0.2", "10.0.1.2"]);
    let address = ip("10.0.0.1");
    let in_use = Err(InterfaceError::AddressInUse { host: left, address });
    assert_eq!(world.add_interface(left, &[address]), in_use);
    assert_eq!(world.add_interface(left, &[]), Err(InterfaceError::NoAddress { host: left }));
    let to_itself = Err(ConnectError::ToItself { interface: a[0] });
    assert_eq!(world.connect(a[0], a[0], LinkSpec::default()), to_itself);
    let link = world.connect(a[0], b[0], LinkSpec::default()).unwrap();
    let again = world.connect(a[0], b[1], LinkSpec::default());
    assert_eq!(again, Err(ConnectError::AlreadyConnected { interface: a[0], link }));
    assert_eq!(
        again.unwrap_err().to_string(),
        "interface 0 is already connected by link 0: add another interface"
    );
}
