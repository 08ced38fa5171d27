use core::num::NonZeroU16;

use proptest::prelude::*;
use simco::filter::{FilterAction, Selector};
use simco::{Direction, PolicyRuleId, TransportProtocol};
use virtual_time::Instant;

use super::*;

fn range(first: u16, count: u16) -> Ports {
    Ports::Range { first, count: NonZeroU16::new(count).unwrap() }
}

fn rule(internal: (&str, u8, Ports), external: (&str, u8, Ports)) -> FilterRule {
    let selector = |(address, bits, ports): (&str, u8, Ports)| Selector {
        network: Network::new(address.parse().unwrap(), bits),
        ports,
    };
    FilterRule {
        id: PolicyRuleId::new(1),
        action: FilterAction::Open(Direction::Inbound),
        protocol: TransportProtocol::UDP,
        internal: selector(internal),
        external: selector(external),
        translation: None,
        deadline: Instant::EPOCH,
    }
}

fn port_is_in(block: &PortBlock, port: u16) -> bool {
    block.first == port & port_mask(block.bits)
}

proptest! {
    #[test]
    fn blocks_cover_a_range_and_nothing_else(first in 1..=u16::MAX, count in 1..=u16::MAX, probe: u16) {
        let count = count.min((u16::MAX - first).saturating_add(1));
        let blocks = blocks(range(first, count));
        prop_assert!(blocks.len() <= 30);
        for port in [probe, first, first - 1, first + (count - 1), first.saturating_add(count)] {
            let hits = blocks.iter().filter(|block| port_is_in(block, port)).count();
            prop_assert_eq!(hits, usize::from(range(first, count).contains(port)));
        }
    }

    #[test]
    fn a_shape_is_read_back_from_its_name(internal in 0..=32u8, external in 0..=32u8, port in 0..=16u8, any: bool) {
        let protocol = if any { ProtocolMatch::Any } else { ProtocolMatch::One };
        let shape = Shape {
            version: IpVersion::V4, internal, external, protocol, internal_port: port, external_port: 16 - port,
        };
        prop_assert_eq!(shape.to_string().parse(), Ok(shape));
    }
}

#[test]
fn keys_are_as_long_as_their_shape_says() {
    let any = Ports::Any;
    let rules = [
        rule(("10.0.0.1", 32, range(5, 1)), ("1.2.3.4", 32, range(6, 1))),
        rule(("10.0.0.1", 32, range(5, 1)), ("0.0.0.0", 0, any)),
        rule(("2001:db8::1", 128, range(5, 7)), ("2001:db8::", 32, any)),
        rule(("::", 0, any), ("::", 0, any)),
    ];
    for rule in rules {
        for (shape, key) in matches(&rule) {
            assert_eq!(key.len(), usize::try_from(shape.key_bytes()).unwrap(), "{shape}");
        }
    }
}

#[test]
fn paired_ranges_become_one_element_for_each_pair() {
    let rule = rule(("10.0.0.1", 32, range(4000, 2)), ("1.2.3.4", 32, range(6000, 2)));
    let keys: Vec<Key> = matches(&rule).map(|(_, key)| key).collect();
    let ports: Vec<&[u8]> = keys.iter().map(|key| &key[12..]).collect();
    assert_eq!(ports, [[0x0F, 0xA0, 0, 0, 0x17, 0x70, 0, 0], [0x0F, 0xA1, 0, 0, 0x17, 0x71, 0, 0]]);
}

#[test]
fn names_that_are_no_shapes_are_refused() {
    for name in
        ["", "4_32_32_p_16", "4_33_32_p_16_16", "5_32_32_p_16_16", "4_32_32_q_16_16", "4_32_32_p_17_16"]
    {
        assert_eq!(name.parse::<Shape>(), Err(NoShape), "{name}");
    }
}
