use super::*;
use crate::tuple::{AddressTuple, Location};

fn selector(address: &str, prefix_length: u8, port: u16, count: u16) -> Selector {
    Selector {
        network: Network::new(address.parse().unwrap(), prefix_length),
        ports: Ports::new(port, count),
    }
}

fn rule(internal: Selector, external: Selector) -> FilterRule {
    FilterRule {
        id: PolicyRuleId::new(1),
        action: FilterAction::Block,
        protocol: TransportProtocol::UDP,
        internal,
        external,
        translation: None,
        deadline: Instant::MAX,
    }
}

/// The example of RFC 4540 §8.8.
#[test]
fn pinhole_to_anybody_overlaps_block_of_one_external_host() {
    let pinhole = rule(selector("10.1.8.3", 32, 12_345, 1), selector("0.0.0.0", 0, 0, 1));
    let block = rule(selector("0.0.0.0", 0, 0, 1), selector("192.0.2.100", 32, 0, 1));
    assert!(pinhole.overlaps(&block) && block.overlaps(&pinhole));
    let tcp = FilterRule { protocol: TransportProtocol::TCP, ..block };
    assert!(!pinhole.overlaps(&tcp));
    assert!(pinhole.overlaps(&FilterRule { protocol: TransportProtocol::ANY, ..tcp }));
}

#[test]
fn paired_port_ranges_overlap_only_where_a_pair_is_shared() {
    let host = |port, count| selector("10.0.0.1", 32, port, count);
    let peer = |port, count| selector("192.0.2.1", 32, port, count);
    let paired = rule(host(1000, 4), peer(2000, 4));
    for (internal, external, meets) in [
        (host(1003, 1), peer(2003, 1), true),
        (host(1003, 1), peer(2000, 1), false),
        (host(1003, 4), peer(2003, 4), true),
        (host(1003, 4), peer(2002, 4), false),
        (host(1004, 2), peer(2004, 2), false),
        (host(1000, 1), peer(0, 1), true),
        (host(0, 1), peer(2003, 9), true),
        (host(0, 1), peer(2004, 9), false),
    ] {
        let other = rule(internal, external);
        assert_eq!(paired.overlaps(&other), meets, "{other:?}");
        assert_eq!(other.overlaps(&paired), meets, "{other:?} the other way");
    }
}

#[test]
fn networks_overlap_if_one_contains_the_other() {
    let network = |text: &str, bits| Network::new(text.parse().unwrap(), bits);
    assert!(network("10.1.0.0", 16).overlaps(&network("10.1.8.3", 32)));
    assert!(!network("10.1.0.0", 16).overlaps(&network("10.2.8.3", 32)));
    assert!(!network("0.0.0.0", 0).overlaps(&network("::", 0)));
    assert!(network("2001:db8::", 32).contains("2001:db8:7::1".parse().unwrap()));
    assert_eq!(network("10.1.8.3", 16).to_string(), "10.1.0.0/16");
    assert_eq!(network("10.1.8.3", 77).host(), Some("10.1.8.3".parse().unwrap()));
}

#[test]
fn tuple_without_ports_or_address_selects_everything() {
    let any = AddressTuple::protocols_only(Location::INTERNAL, TransportProtocol::UDP, crate::IpVersion::V6);
    assert_eq!(Selector::of(&any), selector("::", 0, 0, 1));
    let host = "10.0.0.1".parse().unwrap();
    let icmp = AddressTuple::host(Location::INTERNAL, TransportProtocol::ICMP, host, 7, 1);
    assert_eq!(Selector::of(&icmp).ports, Ports::Any);
}

#[test]
fn port_pairs_go_step_by_step() {
    let paired = rule(selector("10.0.0.1", 32, 4000, 2), selector("192.0.2.1", 32, 6000, 2));
    let pairs: Vec<_> = paired.port_pairs().collect();
    assert_eq!(
        pairs,
        [(Ports::new(4000, 1), Ports::new(6000, 1)), (Ports::new(4001, 1), Ports::new(6001, 1))]
    );
    let open = rule(selector("10.0.0.1", 32, 4000, 2), selector("192.0.2.1", 32, 0, 1));
    assert_eq!(open.port_pairs().collect::<Vec<_>>(), [(Ports::new(4000, 2), Ports::Any)]);
}
