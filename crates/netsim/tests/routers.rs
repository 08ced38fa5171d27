//! Packets through routers: the shortest way, the queue of the link in the middle, damage, loops.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod peer;

use std::net::IpAddr;

use netem::{Impairments, QueueLimit};
use netsim::{HostId, InterfaceId, LinkSpec, Protocol, RouterId, World};
use peer::{Peer, delay, host};
use virtual_time::Instant;

/// Two hosts, each at a router of its own, and what joins the routers.
struct Dumbbell {
    world: World<Peer>,
    left: HostId,
    right: HostId,
    routers: [RouterId; 2],
}

fn dumbbell(middle: &[Impairments]) -> Dumbbell {
    let mut world = World::new(1);
    let (left, a) = host(&mut world, &["10.0.0.1"]);
    let (right, b) = host(&mut world, &["10.0.1.1"]);
    let routers = [world.add_router(), world.add_router()];
    let join = |world: &mut World<Peer>, host: InterfaceId, router| {
        let inner = world.add_router_interface(router);
        world.connect(host, inner, LinkSpec::symmetric(delay(1))).unwrap();
    };
    join(&mut world, a[0], routers[0]);
    join(&mut world, b[0], routers[1]);
    for link in middle {
        let ends = routers.map(|router| world.add_router_interface(router));
        world.connect(ends[0], ends[1], LinkSpec::symmetric(link.clone())).unwrap();
    }
    world.compute_routes();
    Dumbbell { world, left, right, routers }
}

fn send(dumbbell: &mut Dumbbell, count: usize, payload: &[u8]) {
    dumbbell.world.with_host(dumbbell.left, |peer, _| {
        (0..count).for_each(|_| peer.send(None, "10.0.1.1", Protocol::Sctp, payload));
    });
    while dumbbell.world.step().is_some() {}
}

#[test]
fn packets_cross_two_routers_and_take_the_first_of_equal_ways() {
    let mut net = dumbbell(&[delay(10), delay(5)]);
    send(&mut net, 1, b"hello");
    assert_eq!(net.world.now(), Instant::from_millis(12));
    assert_eq!(net.world.host(net.right).inbox.len(), 1);
    assert_eq!((net.world.counters().forwarded, net.world.counters().delivered), (2, 1));
}

#[test]
fn the_queue_of_the_middle_link_drops_what_does_not_fit() {
    let slow = Impairments { rate: "8kbit".parse().ok(), queue: Some(QueueLimit::Packets(3)), ..delay(0) };
    let mut net = dumbbell(&[slow]);
    // 20 octets of IP header and 80 of payload take 100 ms: one on the wire, three wait, six are too many.
    send(&mut net, 10, &[7; 80]);
    let counters = *net.world.counters();
    assert_eq!((counters.delivered, counters.dropped_queue), (4, 6));
    assert_eq!(net.world.now(), Instant::from_millis(402));
}

#[test]
fn damage_goes_through_a_router() {
    let mut net = dumbbell(&[Impairments { corrupt: "99.9999%".parse().unwrap(), ..delay(1) }]);
    send(&mut net, 1, &[0; 100]);
    let inbox = &net.world.host(net.right).inbox;
    let ones: u32 = inbox[0].payload.iter().map(|octet| octet.count_ones()).sum();
    assert_eq!(ones, 1);
}

#[test]
fn a_loop_ends_at_the_hop_limit_and_no_route_is_a_drop() {
    let mut net = dumbbell(&[delay(1)]);
    net.world.with_host(net.left, |peer, _| peer.send(Some("10.0.0.1"), "10.9.9.9", Protocol::Sctp, b"x"));
    while net.world.step().is_some() {}
    assert_eq!(net.world.counters().dropped_unroutable, 1);

    let nowhere: IpAddr = "10.9.9.9".parse().unwrap();
    for router in net.routers {
        let inner = net.world.add_router_interface(router);
        net.world.add_route(router, nowhere, inner);
    }
    let ends = net.routers.map(|router| net.world.add_router_interface(router));
    net.world.connect(ends[0], ends[1], LinkSpec::default()).unwrap();
    let stranger: IpAddr = "10.9.9.8".parse().unwrap();
    net.routers.iter().zip(ends).for_each(|(router, end)| net.world.add_route(*router, stranger, end));
    net.world.with_host(net.left, |peer, _| peer.send(Some("10.0.0.1"), "10.9.9.8", Protocol::Sctp, b"x"));
    while net.world.step().is_some() {}
    assert_eq!((net.world.counters().dropped_hop_limit, net.world.counters().forwarded), (1, 64));
}

#[test]
fn runs_through_routers_repeat() {
    let hash = || {
        let lossy =
            Impairments { loss: "10%".parse().unwrap(), duplicate: "5%".parse().unwrap(), ..delay(3) };
        let mut net = dumbbell(&[lossy]);
        send(&mut net, 200, b"again");
        let counters = *net.world.counters();
        assert_eq!(counters.sent, 200);
        assert!(counters.dropped_loss > 5);
        net.world.trace_hash()
    };
    assert_eq!(hash(), hash());
}
