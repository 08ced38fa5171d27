//! Addresses and ports change on the way.

use std::io::{Read, Write};
use std::net::SocketAddr;

use nft_filter::{NftConfig, TranslationPriorities};
use simco::Direction;

use super::network::{
    MARKER_INSIDE, MARKER_OUTSIDE, Network, Spot, Way, arrives_now, receive, socket_address, time_until,
};
use super::{Middlebox, config, host, tcp, translated, udp};

const IN: &str = "10.1.0.2:4000";
const OUT: &str = "203.0.113.2:6000";
/// The middlebox, as seen from outside, and from inside.
const OUTSIDE_OF_BOX: &str = "203.0.113.1:20000";
const INSIDE_OF_BOX: &str = "10.1.0.1:30000";

fn translator(network: &Network) -> Middlebox {
    let translation = Some(TranslationPriorities::default());
    let config = NftConfig { translation, shared_ports: 50_000..=50_009, ..config() };
    let mut middlebox = Middlebox::with(network, config);
    middlebox.insert(&udp(9, MARKER_INSIDE, MARKER_OUTSIDE, Direction::BiDirectional));
    middlebox
}

/// Sends from one socket to an address; where it seems to come from at the other.
fn seen_from(from: &std::net::UdpSocket, to: &str, receiver: &std::net::UdpSocket) -> SocketAddr {
    from.send_to(b"hello", socket_address(to)).unwrap();
    receive(receiver).unwrap().1
}

pub(crate) fn traditional() {
    let network = Network::new();
    let mut middlebox = translator(&network);
    let inside = network.udp(Spot::Inside, socket_address(IN));
    let outside = network.udp(Spot::Outside, socket_address(OUT));
    let rule = translated(udp(1, IN, OUT, Direction::BiDirectional), host(OUTSIDE_OF_BOX), None);
    let inbound = middlebox.insert(&rule);
    assert_eq!(seen_from(&outside, OUTSIDE_OF_BOX, &inside), socket_address(OUT));
    assert_eq!(seen_from(&inside, OUT, &outside), socket_address(OUTSIDE_OF_BOX));
    middlebox.remove(&inbound);
    outside.send_to(b"late", socket_address(OUTSIDE_OF_BOX)).unwrap();
    network.wait_for_marker(Way::In);
    assert!(!arrives_now(&inside));
}

pub(crate) fn twice() {
    let network = Network::new();
    let mut middlebox = translator(&network);
    let inside = network.udp(Spot::Inside, socket_address(IN));
    let outside = network.udp(Spot::Outside, socket_address(OUT));
    let rule = udp(1, IN, OUT, Direction::BiDirectional);
    middlebox.insert(&translated(rule, host(OUTSIDE_OF_BOX), Some(host(INSIDE_OF_BOX))));
    assert_eq!(seen_from(&outside, OUTSIDE_OF_BOX, &inside), socket_address(INSIDE_OF_BOX));
    assert_eq!(seen_from(&inside, INSIDE_OF_BOX, &outside), socket_address(OUTSIDE_OF_BOX));
}

pub(crate) fn ipv6_tcp() {
    let network = Network::new();
    let mut middlebox = translator(&network);
    let (near, far, front) = ("[fd01::2]:4000", "[2001:db8:9::2]:6000", "[2001:db8:9::1]:20000");
    middlebox.insert(&translated(tcp(1, near, far, Direction::Inbound), host(front), None));
    let listener = network.listen(Spot::Inside, socket_address(near));
    let mut client = network.connect(Spot::Outside, socket_address(far), socket_address(front));
    let (mut accepted, peer) = listener.accept().unwrap();
    assert_eq!(peer, socket_address(far));
    client.write_all(b"in").unwrap();
    accepted.read_exact(&mut [0; 2]).unwrap();
    accepted.write_all(b"out").unwrap();
    client.read_exact(&mut [0; 3]).unwrap();
}

/// A packet that was too early, and its flow with it, does not keep the pinhole from those that follow: neither the host takes it
/// nor the connection tracker.
pub(crate) fn early() {
    let network = Network::new();
    let translation = Some(TranslationPriorities::default());
    let outside_addresses = vec![socket_address(OUTSIDE_OF_BOX).ip()];
    let mut middlebox = Middlebox::with(&network, NftConfig { translation, outside_addresses, ..config() });
    middlebox.insert(&udp(9, MARKER_INSIDE, MARKER_OUTSIDE, Direction::BiDirectional));
    let inside = network.udp(Spot::Inside, socket_address(IN));
    let outside = network.udp(Spot::Outside, socket_address(OUT));
    let of_box = network.udp(Spot::Middlebox, socket_address(OUTSIDE_OF_BOX));
    let low = network.udp(Spot::Middlebox, socket_address("203.0.113.1:53"));
    for _ in 0..3 {
        outside.send_to(b"early", socket_address(OUTSIDE_OF_BOX)).unwrap();
    }
    assert_eq!(seen_from(&outside, "203.0.113.1:53", &low), socket_address(OUT), "no port of the pool");
    network.wait_for_marker(Way::In);
    assert!(!arrives_now(&of_box) && !arrives_now(&inside));
    let rule = translated(udp(1, IN, OUT, Direction::BiDirectional), host(OUTSIDE_OF_BOX), None);
    middlebox.insert(&rule);
    assert_eq!(seen_from(&outside, OUTSIDE_OF_BOX, &inside), socket_address(OUT));
    assert_eq!(seen_from(&inside, OUT, &outside), socket_address(OUTSIDE_OF_BOX));
}

pub(crate) fn shared() {
    let network = Network::new();
    let mut middlebox = translator(&network);
    let pool = (socket_address(OUTSIDE_OF_BOX).ip(), 32, 0, 1);
    let open = udp(1, "10.1.0.2:0", OUT, Direction::Outbound);
    middlebox.insert(&translated(open, pool, None));
    let outside = network.udp(Spot::Outside, socket_address(OUT));
    for port in 4000..4004 {
        let inside = network.udp(Spot::Inside, SocketAddr::new(socket_address(IN).ip(), port));
        let seen = seen_from(&inside, OUT, &outside);
        assert!(seen.ip() == pool.0 && (50_000..=50_009).contains(&seen.port()), "{seen}");
    }
}

/// Port unreachable comes back both ways, whatever the packet looked like where it failed.
pub(crate) fn errors() {
    let network = Network::new();
    let mut middlebox = translator(&network);
    let refused = |socket: &std::net::UdpSocket, to: &str| {
        socket.connect(socket_address(to)).unwrap();
        socket.send(b"is anybody there?").unwrap();
        assert_eq!(receive(socket).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused, "{to}");
    };
    let inside = network.udp(Spot::Inside, socket_address(IN));
    let outbound = udp(1, IN, "203.0.113.2:33", Direction::Outbound);
    middlebox.insert(&translated(outbound, host(OUTSIDE_OF_BOX), Some(host(INSIDE_OF_BOX))));
    refused(&inside, INSIDE_OF_BOX);
    let outside = network.udp(Spot::Outside, socket_address(OUT));
    let inbound = udp(2, "10.1.0.2:4001", OUT, Direction::Inbound);
    middlebox.insert(&translated(inbound, host("203.0.113.1:20002"), Some(host("10.1.0.1:30002"))));
    refused(&outside, "203.0.113.1:20002");
}

pub(crate) fn expiry() {
    let network = Network::new();
    let mut middlebox = translator(&network);
    let inside = network.udp(Spot::Inside, socket_address(IN));
    let outside = network.udp(Spot::Outside, socket_address(OUT));
    let rule = udp(1, IN, OUT, Direction::Inbound);
    middlebox.insert_for(1, &translated(rule, host(OUTSIDE_OF_BOX), None));
    assert_eq!(seen_from(&outside, OUTSIDE_OF_BOX, &inside), socket_address(OUT));
    // The connection tracker still knows the flow; nothing passes all the same.
    let lived = time_until(|| {
        outside.send_to(b"again", socket_address(OUTSIDE_OF_BOX)).unwrap();
        network.wait_for_marker(Way::In);
        !arrives_now(&inside)
    });
    assert!(lived < std::time::Duration::from_secs(2), "{lived:?}");
}
