//! What stands in the kernel, as `nft` reads it, and what it should be, as PRL and PRS tell it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use simco::agent::PolicyReply;
use simco::{AddressTuple, Direction, PolicyRuleId};
use simco_agent::SimcoAgent;

use crate::agent::{list, status, time_until};
use crate::namespace::Namespace;

/// Packets, as far as one element tells them: what becomes of them, which networks, which ports (`None`: all).
pub(crate) type Packets = (&'static str, String, String, Option<u16>, Option<u16>);

/// What the kernel has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Standing {
    /// Rules on record.
    pub(crate) rules: BTreeSet<u32>,
    /// Packets, and the seconds that are left.
    pub(crate) packets: BTreeMap<Packets, u32>,
}

/// Reads the kernel's table.
pub(crate) fn standing(namespace: &Namespace) -> Standing {
    let listed = namespace.nft(&["-j", "list", "table", "inet", "headway"]).unwrap();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let mut standing = Standing::default();
    for set in listed["nftables"].as_array().unwrap().iter().filter_map(|object| object.get("set")) {
        let name = set["name"].as_str().unwrap();
        for element in set["elem"].as_array().into_iter().flatten().filter_map(|each| each.get("elem")) {
            let fields: Vec<&Value> = element["val"]["concat"].as_array().unwrap().iter().collect();
            let expires = u32::try_from(element["expires"].as_u64().unwrap()).unwrap();
            match name {
                _ if name.starts_with("rules_") => {
                    standing.rules.insert(u32::try_from(fields[0].as_u64().unwrap()).unwrap());
                }
                _ => standing.packets.extend(packets(name, &fields).into_iter().map(|each| (each, expires))),
            }
        }
    }
    standing
}

/// What an element stands for: its set's name says which bits it compares.
fn packets(set: &str, fields: &[&Value]) -> Vec<Packets> {
    let parts: Vec<&str> = set.split('_').collect();
    let &[meaning, "4", internal, external, _, internal_port, external_port] = parts.as_slice() else {
        panic!("{set}")
    };
    let meaning = ["in", "out", "block"].into_iter().find(|known| *known == meaning).unwrap();
    let mut fields = fields.iter();
    let mut network = |bits: &str| match bits {
        "0" => "0.0.0.0/0".to_owned(),
        bits => format!("{}/{bits}", fields.next().unwrap().as_str().unwrap()),
    };
    let (internal, external) = (network(internal), network(external));
    assert_eq!(fields.next().unwrap().as_str(), Some("udp"));
    let mut ports = |bits: &str| match bits.parse::<u32>().unwrap() {
        0 => vec![None],
        bits => {
            let first = u16::try_from(fields.next().unwrap().as_u64().unwrap()).unwrap();
            (first..=first + ((1 << (16 - bits)) - 1)).map(Some).collect()
        }
    };
    let (internal_ports, external_ports) = (ports(internal_port), ports(external_port));
    let pairs =
        internal_ports.into_iter().flat_map(|near| external_ports.iter().map(move |far| (near, *far)));
    pairs.map(|(near, far)| (meaning, internal.clone(), external.clone(), near, far)).collect()
}

/// What should stand, from PRL and a PRS for each rule.
pub(crate) async fn told(agent: &SimcoAgent) -> Standing {
    let mut told = Standing::default();
    for rule in list(agent).await {
        // A rule may end between the two requests.
        let Some(reply) = status(agent, rule).await else { continue };
        told.rules.insert(rule.get());
        let seconds = reply.rule().unwrap().1.as_secs();
        for packets in wanted(&reply) {
            let left = told.packets.entry(packets).or_default();
            *left = seconds.max(*left);
        }
    }
    told
}

fn wanted(reply: &PolicyReply) -> Vec<Packets> {
    let (meanings, internal, external): (&[&'static str], _, _) =
        if let PolicyReply::EnableStatus { parameters, internal, external, .. } = reply {
            match parameters.direction {
                Direction::Inbound => (&["in"], internal, external),
                Direction::Outbound => (&["out"], internal, external),
                Direction::BiDirectional => (&["in", "out"], internal, external),
            }
        } else if let PolicyReply::DisableStatus { internal, external, .. } = reply {
            (&["block"], internal, external)
        } else {
            return Vec::new();
        };
    let pairs: Vec<_> = match (ports(internal), ports(external)) {
        (near, far) if near.len() == far.len() => near.into_iter().zip(far).collect(),
        (near, far) => near.iter().flat_map(|near| far.iter().map(|far| (*near, *far))).collect(),
    };
    let each = |meaning: &&'static str| {
        let network = |tuple: &AddressTuple| format!("{}/{}", tuple.full().unwrap().0, tuple.prefix_length);
        let (internal, external, meaning) = (network(internal), network(external), *meaning);
        pairs.iter().map(move |(near, far)| (meaning, internal.clone(), external.clone(), *near, *far))
    };
    meanings.iter().flat_map(each).collect()
}

fn ports(tuple: &AddressTuple) -> Vec<Option<u16>> {
    match tuple.full().unwrap() {
        (_, 0, _) => vec![None],
        (_, first, count) => (first..first + count).map(Some).collect(),
    }
}

/// Kernel and middlebox say the same, lifetimes to the second they round.
pub(crate) async fn assert_agreement(namespace: &Namespace, agent: &SimcoAgent) -> Standing {
    let (stands, told) = (standing(namespace), told(agent).await);
    assert_eq!(stands.rules, told.rules);
    let keys = |standing: &Standing| standing.packets.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&stands), keys(&told));
    for ((packets, seconds), told) in stands.packets.iter().zip(told.packets.values()) {
        assert!(seconds.abs_diff(*told) <= 1, "{packets:?}: {seconds} s in the kernel, {told} s told");
    }
    stands
}

/// Waits until the kernel has no such rule; the middlebox has none then either.
pub(crate) async fn until_gone(namespace: &Namespace, agent: &SimcoAgent, rule: PolicyRuleId) {
    time_until(async || !standing(namespace).rules.contains(&rule.get())).await;
    time_until(async || status(agent, rule).await.is_none()).await;
}
