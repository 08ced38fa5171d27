//! What stands in the kernel: all or nothing, after a death, beside what nft says.

use core::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use nft_filter::{NftConfig, Ownership, TranslationPriorities};
use simco::filter::{Change, FilterError, Network as Addresses, PacketFilter};
use simco::{Direction, PolicyRule, TransportProtocol};

use super::network::{Network, Way, address};
use super::{Middlebox, block, config, host, rule, udp};

const IN: &str = "10.1.0.2:4000";
const OUT: &str = "203.0.113.2:6000";

fn alive(middlebox: &Middlebox, rule: &PolicyRule) -> Change {
    let deadline = middlebox.now() + Duration::from_secs(60);
    Change::Insert(Arc::new(PolicyRule { deadline, ..rule.clone() }))
}

pub(crate) fn atomic() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    let wide = (address("0.0.0.0"), 0, 0, 1);
    let odd = rule(2, TransportProtocol::UDP, host("10.1.0.3:1"), wide, Direction::Inbound);
    let gone = middlebox.insert(&odd);
    middlebox.remove(&gone);
    drop(middlebox);
    // While nobody owns the table a set becomes one that takes no timed elements.
    network.nft(&["flush chain inet headway in_4_in"]);
    network.nft(&["flush chain inet headway out_4_in"]);
    network.nft(&["flush chain inet headway begun_inside_4_in"]);
    network.nft(&["flush chain inet headway begun_outside_4_in"]);
    network.nft(&["delete set inet headway in_4_32_0_p_16_0"]);
    let kind = "{ type ipv4_addr . inet_proto . inet_service; }";
    network.nft(&[&format!("add set inet headway in_4_32_0_p_16_0 {kind}")]);
    let mut middlebox = Middlebox::with(&network, config());
    let before = network.elements().len();
    let batch = [
        alive(&middlebox, &udp(3, "10.1.0.3:1", OUT, Direction::Inbound)),
        alive(&middlebox, &PolicyRule { id: simco::PolicyRuleId::new(4), ..odd }),
    ];
    let now = middlebox.now();
    assert!(matches!(middlebox.filter.apply(now, &batch), Err(FilterError::Refused(_))));
    assert_eq!(network.elements().len(), before);
    assert!(!middlebox.filter.list(now).unwrap().iter().any(|rule| rule.id.get() == 3));
    // What the batch had of its own still can be done.
    middlebox.filter.apply(now, &batch[..1]).unwrap();
    assert_eq!(network.elements().len(), before + 2);
}

pub(crate) fn names() {
    let network = Network::new();
    let _middlebox = Middlebox::new(&network);
    let listed = network.nft(&["list", "set", "inet", "headway", "inside"]);
    assert!(listed.contains("elements = { \"in0\" }"), "{listed}");
}

/// What nft prints of a table, it loads again: the same table comes about.
pub(crate) fn listing() {
    let network = Network::new();
    let config = NftConfig {
        closed: vec![Addresses::new(address("10.1.0.3"), 32), Addresses::new(address("fd00::"), 8)],
        translation: Some(TranslationPriorities::default()),
        mark: NonZeroU32::new(0x1000),
        ..config()
    };
    let mut middlebox =
        Middlebox::with(&network, NftConfig { ownership: Ownership::Shared, ..config.clone() });
    let odd = |id, protocol, near: &str, far: &str, bits| {
        let (near, far) = ((address(near), bits, 0, 1), (address(far), bits / 2, 0, 1));
        rule(id, protocol, near, far, Direction::Inbound)
    };
    let paired = ((address("10.1.0.2"), 32, 16384, 512), (address("203.0.113.2"), 32, 0, 1));
    let outside = (address("203.0.113.1"), 32, 0, 1);
    let shared = super::translated(udp(6, "10.1.0.2:0", OUT, Direction::Outbound), outside, None);
    for rule in [
        odd(1, TransportProtocol::UDP, "10.1.0.0", "203.0.113.0", 24),
        odd(2, TransportProtocol::ANY, "10.1.0.0", "203.0.113.0", 24),
        odd(3, TransportProtocol::ANY, "fd01::", "2001:db8::", 64),
        rule(4, TransportProtocol::UDP, paired.0, paired.1, Direction::BiDirectional),
        block(5, TransportProtocol::TCP, host("10.1.0.2:0"), (address("203.0.0.0"), 8, 0, 1)),
        shared,
    ] {
        middlebox.insert(&rule);
    }
    let listed = network.nft(&["-s", "list", "ruleset"]);
    assert!(
        listed.contains("begun_inside_4_out") && !listed.contains("@nh") && !listed.contains("@th"),
        "{listed}"
    );
    assert_same_lines(&network.load(&format!("flush ruleset\n{listed}")), &listed);
    drop(middlebox);
    // Of a table of its own nft knows the flag of the owner, from 1.1 on also that it persists; before, its line has to go.
    let fresh = Network::new();
    let mut middlebox = Middlebox::with(&fresh, config);
    middlebox.insert(&odd(1, TransportProtocol::UDP, "10.1.0.0", "203.0.113.0", 24));
    let owned = fresh.nft(&["-s", "list", "ruleset"]);
    let kept = owned.lines().filter(|line| !line.contains("flags owner"));
    let without = kept.fold(String::new(), |all, line| all + line + "\n");
    assert_same_lines(&network.load(&format!("flush ruleset\n{without}")), &without);
}

/// But for what nft says of the process behind a table.
fn assert_same_lines(found: &str, expected: &str) {
    let lines = |text: &str| {
        let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().to_owned());
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    let (found, expected) = (lines(found), lines(expected));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

pub(crate) fn too_many() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let before = network.elements().len();
    let (near, far) = ((address("10.1.0.2"), 32, 1000, 2000), (address("203.0.113.2"), 32, 3000, 2000));
    let batch = [
        alive(&middlebox, &udp(1, IN, OUT, Direction::Inbound)),
        alive(&middlebox, &rule(2, TransportProtocol::UDP, near, far, Direction::Inbound)),
    ];
    let now = middlebox.now();
    let refused = middlebox.filter.apply(now, &batch).unwrap_err();
    assert!(refused.to_string().contains("more than 512 set elements"), "{refused}");
    assert_eq!(network.elements().len(), before);
}

pub(crate) fn takeover() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let wide = (address("203.0.113.0"), 24, 0, 1);
    let inserted = [
        middlebox.insert(&udp(1, IN, OUT, Direction::Inbound)),
        middlebox.insert_for(
            30,
            &rule(2, TransportProtocol::UDP, host("10.1.0.3:0"), wide, Direction::BiDirectional),
        ),
        middlebox.insert(&block(3, TransportProtocol::TCP, host("10.1.0.2:0"), wide)),
        middlebox.insert(&udp(4, "[fd01::2]:1", "[2001:db8:9::2]:2", Direction::Outbound)),
    ];
    let elements = network.elements().len();
    // Nothing is told to the kernel when a filter goes: as if it had been killed.
    drop(middlebox);
    assert!(network.udp_passes(Way::In, IN, OUT));
    let mut middlebox = Middlebox::with(&network, config());
    assert!(network.udp_passes(Way::In, IN, OUT));
    assert_eq!(network.elements().len(), elements);
    let mut taken = middlebox.taken_over.clone();
    taken.retain(|rule| rule.id.get() < 1_000_000);
    taken.sort_by_key(|rule| rule.id);
    assert_eq!(taken.len(), inserted.len());
    for (before, after) in inserted.iter().zip(&taken) {
        assert_eq!((&before.kind, &before.owner, before.id), (&after.kind, &after.owner, after.id));
    }
    let remaining = taken[1].deadline.since(simco_epoch());
    assert!(remaining > Duration::from_secs(20) && remaining <= Duration::from_secs(30), "{remaining:?}");
    for rule in taken {
        middlebox.remove(&Arc::new(rule));
    }
    assert!(!network.udp_passes(Way::In, IN, OUT));
    assert_eq!(network.elements().len(), 3);
}

const fn simco_epoch() -> virtual_time::Instant {
    virtual_time::Instant::EPOCH
}

pub(crate) fn orphans() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    let before = network.elements().len();
    drop(middlebox);
    let orphan = "10.1.0.3 . 203.0.113.9 . udp . 1 . 2 timeout 60s";
    network.nft(&[&format!("add element inet headway in_4_32_32_p_16_16 {{ {orphan} }}")]);
    let missing = "10.1.0.2 . 203.0.113.2 . udp . 4000 . 6000";
    network.nft(&[&format!("delete element inet headway in_4_32_32_p_16_16 {{ {missing} }}")]);
    let _middlebox = Middlebox::with(&network, config());
    assert_eq!(network.elements().len(), before);
    assert!(network.udp_passes(Way::In, IN, OUT));
    assert!(!network.udp_passes(Way::In, "10.1.0.3:1", "203.0.113.9:2"));
}

pub(crate) fn list() {
    let network = Network::new();
    let shared = NftConfig { ownership: Ownership::Shared, ..config() };
    let mut middlebox = Middlebox::new_with(&network, shared);
    let first = middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    middlebox.insert(&udp(2, "10.1.0.3:1", "203.0.113.9:0", Direction::Outbound));
    let (name, element) =
        network.elements().into_iter().find(|(name, _)| name == "out_4_32_32_p_16_0").unwrap();
    let fields: Vec<String> =
        element["elem"]["val"]["concat"].as_array().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(fields, ["\"10.1.0.3\"", "\"203.0.113.9\"", "\"udp\"", "1"], "{name}");
    let expires = element["elem"]["expires"].as_u64().unwrap();
    assert!((55..=60).contains(&expires), "{expires}");
    let now = middlebox.now();
    let mut listed: Vec<u32> = middlebox.filter.list(now).unwrap().iter().map(|rule| rule.id.get()).collect();
    listed.sort_unstable();
    assert_eq!(listed, [1, 2, 1_000_000]);
    let registered = || network.elements().iter().filter(|(name, _)| name.starts_with("rules_")).count();
    assert_eq!(registered(), 3);
    middlebox.remove(&first);
    assert_eq!(registered(), 2);
    assert_eq!(middlebox.filter.list(now).unwrap().len(), 2);
    // A pinhole that somebody took away is not listed, whatever the record says.
    network.nft(&["flush set inet headway out_4_32_32_p_16_0"]);
    let listed = middlebox.filter.list(now).unwrap();
    assert_eq!(listed.iter().map(|rule| rule.id.get()).collect::<Vec<_>>(), [1_000_000]);
}

pub(crate) fn many() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let changes: Vec<Change> = (1..=10_000)
        .map(|id: u32| {
            let inside = format!("10.1.{}.{}:{}", id / 250 % 250, id % 250 + 1, 1000 + id);
            alive(&middlebox, &udp(id, &inside, OUT, Direction::Inbound))
        })
        .collect();
    let now = middlebox.now();
    middlebox.filter.apply(now, &changes).unwrap();
    assert_eq!(middlebox.filter.list(now).unwrap().len(), 10_001);
    drop(middlebox);
    let mut middlebox = Middlebox::with(&network, config());
    assert_eq!(middlebox.taken_over.len(), 10_001);
    assert_eq!(middlebox.filter.occupancy().unwrap()["in_4_32_32_p_16_16"], 10_001);
}
