//! What passes, and what does not.

use std::io::{ErrorKind, Read, Write};

use nft_filter::Passing;
use simco::filter::{Change, FilterError, PacketFilter};
use simco::{Direction, TransportProtocol};

use super::network::{Network, Spot, Way, address, arrives_now, receive, socket_address};
use super::{End, Middlebox, host, rule, tcp, udp};

const UDP: TransportProtocol = TransportProtocol::UDP;
const IN: &str = "10.1.0.2:4000";
const OUT: &str = "203.0.113.2:6000";

pub(crate) fn closed() {
    let network = Network::new();
    network.wait_for_marker(Way::In);
    network.wait_for_marker(Way::Out);
    let _middlebox = Middlebox::new(&network);
    for way in [Way::In, Way::Out] {
        assert!(!network.udp_passes(way, IN, OUT), "{way:?}");
        assert!(!network.tcp_opens(way, IN, OUT), "{way:?}");
        assert!(!network.udp_passes(way, "[fd01::2]:4000", "[2001:db8:9::2]:6000"), "{way:?}");
    }
}

/// Each direction of a rule, and whether its first packet may come inward and outward.
const DIRECTIONS: [(Direction, bool, bool); 3] = [
    (Direction::Inbound, true, false),
    (Direction::Outbound, false, true),
    (Direction::BiDirectional, true, true),
];

pub(crate) fn udp_direction() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    for (direction, inward, outward) in DIRECTIONS {
        let rule = middlebox.insert(&udp(1, IN, OUT, direction));
        assert_eq!(network.udp_passes(Way::In, IN, OUT), inward, "{direction:?}");
        assert_eq!(network.udp_passes(Way::Out, IN, OUT), outward, "{direction:?}");
        assert!(!network.udp_passes(Way::In, "10.1.0.2:4001", OUT));
        assert!(!network.udp_passes(Way::In, IN, "203.0.113.2:6001"));
        assert!(!network.udp_passes(Way::In, "10.1.0.3:4000", OUT));
        assert!(!network.udp_passes(Way::In, IN, "203.0.113.9:6000"));
        assert!(!network.tcp_opens(Way::In, IN, OUT));
        middlebox.remove(&rule);
        assert!(!network.udp_passes(Way::In, IN, OUT));
        assert!(!network.udp_passes(Way::Out, IN, OUT));
    }
}

pub(crate) fn tcp_direction() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    for (direction, inward, outward) in DIRECTIONS {
        let rule = middlebox.insert(&tcp(1, IN, OUT, direction));
        assert_eq!(network.tcp_opens(Way::In, IN, OUT), inward, "{direction:?}");
        assert_eq!(network.tcp_opens(Way::Out, IN, OUT), outward, "{direction:?}");
        assert!(!network.udp_passes(Way::In, IN, OUT));
        middlebox.remove(&rule);
    }
    let _rule = middlebox.insert(&tcp(2, IN, OUT, Direction::Inbound));
    let (mut inside, mut outside) = network.tcp(Way::In, IN, OUT);
    inside.write_all(b"data flows out, too").unwrap();
    outside.read_exact(&mut [0; 19]).unwrap();
}

pub(crate) fn ipv6() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let (near, far) = ("[fd01::2]:4000", "[2001:db8:9::2]:6000");
    let rule = middlebox.insert(&udp(1, near, far, Direction::Inbound));
    assert!(network.udp_passes(Way::In, near, far));
    assert!(!network.udp_passes(Way::Out, near, far));
    assert!(!network.udp_passes(Way::In, near, "[2001:db8:9::2]:6001"));
    middlebox.remove(&rule);
    assert!(!network.udp_passes(Way::In, near, far));
    let _prefix = middlebox.insert(&super::rule(
        2,
        TransportProtocol::TCP,
        (address("fd01::"), 32, 4000, 1),
        (address("2001:db8::"), 32, 0, 1),
        Direction::Outbound,
    ));
    assert!(network.tcp_opens(Way::Out, near, far));
    assert!(!network.tcp_opens(Way::In, near, far));
}

pub(crate) fn wildcards() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let any_port = host("203.0.113.2:0");
    let half: End = (address("203.0.113.0"), 25, 6000, 1);
    let everybody: End = (address("0.0.0.0"), 0, 0, 1);
    for (id, external, passes) in
        [(1, any_port, [1, 1, 0, 0]), (2, half, [1, 0, 1, 0]), (3, everybody, [1, 1, 1, 1])]
    {
        let opened = middlebox.insert(&rule(id, UDP, host(IN), external, Direction::Inbound));
        let from = ["203.0.113.2:6000", "203.0.113.2:7777", "203.0.113.9:6000", "203.0.113.130:6000"];
        for (from, expected) in from.into_iter().zip(passes) {
            assert_eq!(network.udp_passes(Way::In, IN, from), expected == 1, "{from} with {external:?}");
        }
        assert!(!network.udp_passes(Way::In, "10.1.0.2:4001", OUT));
        middlebox.remove(&opened);
    }
    let hosts: End = (address("10.1.0.2"), 31, 0, 1);
    middlebox.insert(&rule(4, UDP, hosts, host(OUT), Direction::Outbound));
    for (from, expected) in [("10.1.0.2:1", true), ("10.1.0.3:65535", true), ("10.1.0.77:1", false)] {
        assert_eq!(network.udp_passes(Way::Out, from, OUT), expected, "{from}");
    }
}

pub(crate) fn port_ranges() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let paired = ((address("10.1.0.2"), 32, 4000, 2), (address("203.0.113.2"), 32, 6000, 2));
    middlebox.insert(&rule(1, UDP, paired.0, paired.1, Direction::Inbound));
    assert!(network.udp_passes(Way::In, "10.1.0.2:4000", "203.0.113.2:6000"));
    assert!(network.udp_passes(Way::In, "10.1.0.2:4001", "203.0.113.2:6001"));
    assert!(!network.udp_passes(Way::In, "10.1.0.2:4000", "203.0.113.2:6001"));
    assert!(!network.udp_passes(Way::In, "10.1.0.2:4001", "203.0.113.2:6000"));
    let one_sided = (address("10.1.0.2"), 32, 5003, 10);
    middlebox.insert(&rule(2, UDP, one_sided, host("203.0.113.2:0"), Direction::Inbound));
    for (port, expected) in
        [(5002, false), (5003, true), (5007, true), (5008, true), (5012, true), (5013, false)]
    {
        let inside = format!("10.1.0.2:{port}");
        assert_eq!(network.udp_passes(Way::In, &inside, "203.0.113.2:1234"), expected, "{port}");
    }
}

pub(crate) fn any_protocol() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let any = TransportProtocol::ANY;
    middlebox.insert(&rule(1, any, host("10.1.0.3:0"), host("203.0.113.9:0"), Direction::Inbound));
    assert!(network.udp_passes(Way::In, "10.1.0.3:1", "203.0.113.9:2"));
    assert!(network.tcp_opens(Way::In, "10.1.0.3:1", "203.0.113.9:2"));
    assert!(!network.udp_passes(Way::Out, "10.1.0.3:1", "203.0.113.9:2"));
    assert!(!network.udp_passes(Way::In, "10.1.0.2:1", "203.0.113.9:2"));
}

pub(crate) fn icmp_errors() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    // Ports that are to be closed have never been open: another test's child may have a closed socket for a moment.
    for (id, near, closed_near, far, closed_far) in [
        (1, "10.1.0.2:4000", "10.1.0.2:4001", "203.0.113.2:32", "203.0.113.2:33"),
        (2, "[fd01::2]:4000", "[fd01::2]:4001", "[2001:db8:9::2]:32", "[2001:db8:9::2]:33"),
    ] {
        let rule = middlebox.insert(&udp(id, near, closed_far, Direction::Outbound));
        let socket = network.udp(Spot::Inside, socket_address(near));
        socket.connect(socket_address(closed_far)).unwrap();
        socket.send(b"is anybody there?").unwrap();
        // Nobody is: port unreachable comes back, through a rule that lets nothing else in.
        assert_eq!(receive(&socket).unwrap_err().kind(), ErrorKind::ConnectionRefused, "{near}");
        middlebox.remove(&rule);
        let rule = middlebox.insert(&udp(id, closed_near, far, Direction::Inbound));
        let outside = network.udp(Spot::Outside, socket_address(far));
        outside.connect(socket_address(closed_near)).unwrap();
        outside.send(b"is anybody there?").unwrap();
        assert_eq!(receive(&outside).unwrap_err().kind(), ErrorKind::ConnectionRefused, "{far}");
        middlebox.remove(&rule);
    }
}

pub(crate) fn fragments() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    let inside = network.udp(Spot::Inside, socket_address(IN));
    let outside = network.udp(Spot::Outside, socket_address(OUT));
    outside.send_to(&[7; 9000], socket_address(IN)).unwrap();
    assert_eq!(receive(&inside).unwrap().0, 9000);
}

fn block_datagrams(network: &Network, middlebox: &mut Middlebox) {
    middlebox.insert(&udp(1, IN, OUT, Direction::BiDirectional));
    assert!(network.udp_passes(Way::In, IN, OUT));
    let any_internal: End = (address("0.0.0.0"), 0, 0, 1);
    let blocked =
        middlebox.insert(&super::block(2, UDP, any_internal, (address("203.0.113.2"), 32, 6000, 1)));
    assert!(!network.udp_passes(Way::In, IN, OUT));
    assert!(!network.udp_passes(Way::Out, IN, OUT));
    middlebox.remove(&blocked);
    assert!(network.udp_passes(Way::In, IN, OUT));
}

pub(crate) fn block() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    block_datagrams(&network, &mut middlebox);
    middlebox.insert(&tcp(3, IN, OUT, Direction::Inbound));
    let (mut inside, mut outside) = network.tcp(Way::In, IN, OUT);
    outside.write_all(b"1").unwrap();
    inside.read_exact(&mut [0]).unwrap();
    middlebox.insert(&super::block(4, TransportProtocol::TCP, host("10.1.0.2:0"), host("203.0.113.2:0")));
    outside.write_all(b"2").unwrap();
    network.wait_for_marker(Way::In);
    inside.set_nonblocking(true).unwrap();
    assert_eq!(inside.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

pub(crate) fn overlapping() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let wide: End = (address("203.0.0.0"), 8, 0, 1);
    let narrow: End = (address("203.0.113.0"), 24, 0, 1);
    let same = udp(1, IN, OUT, Direction::Inbound);
    let rules = [
        middlebox.insert(&same),
        middlebox.insert_for(30, &udp(2, IN, OUT, Direction::Inbound)),
        middlebox.insert(&rule(3, UDP, host(IN), wide, Direction::Inbound)),
        middlebox.insert(&rule(4, UDP, host(IN), narrow, Direction::Inbound)),
    ];
    for rule in &rules {
        assert!(network.udp_passes(Way::In, IN, OUT), "before {} goes", rule.id);
        middlebox.remove(rule);
    }
    assert!(!network.udp_passes(Way::In, IN, OUT));
}

pub(crate) fn beside_others() {
    let network = Network::new();
    network.nft(&[
        "add table inet other; add chain inet other forward { type filter hook forward priority 0; }",
    ]);
    let before = network.nft(&["list", "table", "inet", "other"]);
    let mut middlebox = Middlebox::new(&network);
    middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    assert!(network.udp_passes(Way::In, IN, OUT));
    assert_eq!(network.nft(&["list", "table", "inet", "other"]), before);
    middlebox.filter.remove_table().unwrap();
    assert_eq!(network.nft(&["list", "tables"]).trim(), "table inet other");
    let (inside, outside) =
        (network.udp(Spot::Inside, socket_address(IN)), network.udp(Spot::Outside, socket_address(OUT)));
    inside.send_to(b"open again", socket_address(OUT)).unwrap();
    receive(&outside).unwrap();
    assert!(!arrives_now(&outside));
}

pub(crate) fn closed_hosts() {
    let network = Network::new();
    let closed = [("10.1.0.77", 32), ("203.0.113.128", 25), ("fd01::2", 128)];
    let closed = closed.map(|(text, bits)| simco::filter::Network::new(address(text), bits)).to_vec();
    let mut middlebox = Middlebox::new_with(&network, nft_filter::NftConfig { closed, ..super::config() });
    let (near, far) = ((address("10.0.0.0"), 8, 0, 1), (address("0.0.0.0"), 0, 0, 1));
    middlebox.insert(&rule(1, UDP, near, far, Direction::Inbound));
    middlebox.insert(&rule(2, UDP, near, far, Direction::Outbound));
    let (near, far) = ((address("fd00::"), 8, 0, 1), (address("::"), 0, 0, 1));
    middlebox.insert(&rule(3, UDP, near, far, Direction::Inbound));
    for way in [Way::In, Way::Out] {
        assert!(network.udp_passes(way, "10.1.0.3:4000", OUT), "{way:?}");
        assert!(!network.udp_passes(way, "10.1.0.77:4000", OUT), "{way:?}");
        assert!(!network.udp_passes(way, "10.1.0.3:4000", "203.0.113.130:6000"), "{way:?}");
    }
    assert!(!network.udp_passes(Way::In, "[fd01::2]:4000", "[2001:db8:9::2]:6000"));
}

pub(crate) fn closed_later() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let (near, far) = ((address("10.0.0.0"), 8, 0, 1), (address("0.0.0.0"), 0, 0, 1));
    middlebox.insert(&rule(1, UDP, near, far, Direction::Inbound));
    let passes =
        || ["10.1.0.77:4000", "10.1.0.3:4000"].map(|inside| network.udp_passes(Way::In, inside, OUT));
    assert_eq!(passes(), [true, true]);
    middlebox.filter.set_closed(vec![simco::filter::Network::new(address("10.1.0.77"), 32)]).unwrap();
    assert_eq!(passes(), [false, true]);
    middlebox.filter.set_closed(Vec::new()).unwrap();
    assert_eq!(passes(), [true, true]);
}

pub(crate) fn passing() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    let other = "10.1.0.3:4001";
    assert!(network.udp_passes(Way::In, IN, OUT) && !network.udp_passes(Way::In, other, OUT));
    middlebox.filter.set_passing(Passing::Everything).unwrap();
    assert!(network.udp_passes(Way::In, IN, OUT) && network.udp_passes(Way::Out, other, OUT));
    middlebox.filter.set_passing(Passing::Nothing).unwrap();
    let unheard = network.send_datagram(Way::In, socket_address(IN), socket_address(OUT));
    middlebox.filter.set_passing(Passing::Pinholes).unwrap();
    network.wait_for_marker(Way::In);
    assert!(!arrives_now(&unheard));
    drop(unheard);
    assert!(network.udp_passes(Way::In, IN, OUT) && !network.udp_passes(Way::Out, other, OUT));
}

/// As firewalld and Docker do, somebody else drops what he does not know.
pub(crate) fn mark() {
    let network = Network::new();
    let others = "table inet other { chain forward { type filter hook forward priority 0; policy drop; \
                  meta mark & 0x1000 == 0x1000 accept; }; }";
    network.nft(&[others]);
    let mark = core::num::NonZeroU32::new(0x1000);
    let mut middlebox = Middlebox::new_with(&network, nft_filter::NftConfig { mark, ..super::config() });
    middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    assert!(network.udp_passes(Way::In, IN, OUT));
    assert!(!network.udp_passes(Way::Out, IN, OUT));
    network.nft(&["flush", "chain", "inet", "other", "forward"]);
    let unheard = network.send_datagram(Way::In, socket_address(IN), socket_address(OUT));
    network.nft(&["delete", "table", "inet", "other"]);
    network.wait_for_marker(Way::In);
    assert!(!arrives_now(&unheard));
}

/// A rule with a shape of its own: prefixes of ten and more bits.
fn odd(id: u32, internal: u8, external: u8) -> simco::PolicyRule {
    let (near, far) = ((address("10.1.0.0"), internal, 0, 1), (address("203.0.113.0"), external, 0, 1));
    rule(id, UDP, near, far, Direction::Inbound)
}

pub(crate) fn shapes() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let sets = || network.nft(&["list", "sets", "inet"]).matches("set in_4_").count();
    let common = sets();
    // Shapes come and go: none is used up.
    let mut id = 0;
    for internal in 10..24 {
        for external in 10..24 {
            id += 1;
            let gone = middlebox.insert(&odd(id, internal, external));
            middlebox.remove(&gone);
        }
    }
    assert!(sets() < common + 9, "{} sets", sets());
    // An agent has its share, and leaves others theirs.
    let standing: Vec<_> =
        (0..32_u8).map(|n| middlebox.insert(&odd(1000 + u32::from(n), 10 + n / 8, 10 + n % 8))).collect();
    let now = middlebox.now();
    let insert = |rule: &simco::PolicyRule| {
        let deadline = now + std::time::Duration::from_secs(60);
        [Change::Insert(std::sync::Arc::new(simco::PolicyRule { deadline, ..rule.clone() }))]
    };
    let refused = middlebox.filter.apply(now, &insert(&odd(2000, 30, 30))).unwrap_err();
    assert!(
        matches!(&refused, FilterError::Exhausted(_)) && refused.to_string().contains("alice"),
        "{refused}"
    );
    let of_bob = simco::PolicyRule { owner: simco::Owner::new(b"bob").unwrap(), ..odd(2001, 30, 30) };
    middlebox.filter.apply(now, &insert(&of_bob)).unwrap();
    // What alice gives back she may have again.
    middlebox.remove(&standing[0]);
    middlebox.filter.apply(now, &insert(&odd(2000, 30, 30))).unwrap();
    assert!(network.udp_passes(Way::In, "10.1.0.3:4000", OUT));
    for rule in &standing[1..] {
        middlebox.remove(rule);
    }
    drop(middlebox);
    let _middlebox = Middlebox::with(&network, super::config());
    assert_eq!(sets(), common + 1);
}
