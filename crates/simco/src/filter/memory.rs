//! A packet filter that only keeps its rules: the default without privileges, and the yardstick in tests.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use virtual_time::Instant;

use super::{Change, FilterAction, FilterError, FilterRule, PacketFilter, Ports, Selector};
use crate::numbers::{Lifetime, PolicyRuleId, TransportProtocol};
use crate::parameters::{Capabilities, Direction, IpVersions, Services, Wildcards};

/// Keeps rules in memory and tells which packets would pass. It touches no packet of the host.
#[derive(Clone, Debug)]
pub struct MemoryFilter {
    rules: BTreeMap<PolicyRuleId, FilterRule>,
    capabilities: Capabilities,
    most_rules: usize,
}

impl MemoryFilter {
    /// Creates a filter that can do everything: firewall, traditional and twice NAT, all wildcards, both IP
    /// versions.
    #[must_use]
    pub const fn new() -> Self {
        let services = Services {
            is_firewall: true,
            is_translator: true,
            can_disable: true,
            can_translate_twice: true,
            can_translate_protocol: false,
            can_translate_ports: true,
        };
        let capabilities = Capabilities {
            services,
            wildcards: Wildcards::ALL,
            is_persistent: false,
            internal_versions: IpVersions::BOTH,
            external_versions: IpVersions::BOTH,
            longest_lifetime: Lifetime::from_secs(u32::MAX),
        };
        Self { rules: BTreeMap::new(), capabilities, most_rules: usize::MAX }
    }

    /// Returns the filter with other capabilities, which it claims.
    #[must_use]
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        Self { capabilities, ..self }
    }

    /// Returns the filter with room for `most_rules` rules; the default is no limit.
    #[must_use]
    pub fn with_room_for(self, most_rules: usize) -> Self {
        Self { most_rules, ..self }
    }

    /// Returns whether a packet would pass: `Some` with the rule that lets it.
    #[must_use]
    pub fn passes(&self, now: Instant, packet: &ProbePacket) -> Option<PolicyRuleId> {
        let mut opened_by = None;
        for rule in self.rules.values().filter(|rule| rule.deadline > now && packet.belongs_to(rule)) {
            match rule.action {
                FilterAction::Block => return None,
                FilterAction::Open(direction) if packet.may_go(direction) => {
                    opened_by = opened_by.or(Some(rule.id));
                }
                FilterAction::Open(_) => {}
            }
        }
        opened_by
    }

    fn apply_one(&mut self, change: &Change) {
        let Some(rule) = change.after() else {
            if let Some(rule) = change.before() {
                self.rules.remove(&rule.id);
            }
            return;
        };
        if let Some(rule) = rule.filter_rule() {
            self.rules.insert(rule.id, rule);
        }
    }
}

impl Default for MemoryFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl PacketFilter for MemoryFilter {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn apply(&mut self, _now: Instant, changes: &[Change]) -> Result<(), FilterError> {
        let new = |change: &&Change| {
            let has_rule = |rule: Option<&std::sync::Arc<crate::rule::PolicyRule>>| {
                rule.is_some_and(|rule| rule.filter_rule().is_some())
            };
            has_rule(change.after()) && !has_rule(change.before())
        };
        if self.rules.len() + changes.iter().filter(new).count() > self.most_rules {
            return Err(FilterError::Full);
        }
        changes.iter().for_each(|change| self.apply_one(change));
        Ok(())
    }

    fn list(&mut self, now: Instant) -> Result<Vec<FilterRule>, FilterError> {
        Ok(self.rules.values().filter(|rule| rule.deadline > now).copied().collect())
    }
}

/// A packet to ask a [`MemoryFilter`] about, addresses as before translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbePacket {
    /// The transport protocol of the packet.
    pub protocol: TransportProtocol,
    /// The internal host and port.
    pub internal: SocketAddr,
    /// The external host and port.
    pub external: SocketAddr,
    /// The way that the packet goes.
    pub passage: Passage,
}

/// The way that a packet goes through the middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// The packet goes from outside to inside.
    In,
    /// The packet goes from inside to outside.
    Out,
}

impl ProbePacket {
    fn belongs_to(&self, rule: &FilterRule) -> bool {
        let within = |selector: &Selector, at: SocketAddr| selector.network.contains(at.ip());
        let has_ports = |(internal, external): (Ports, Ports)| {
            internal.contains(self.internal.port()) && external.contains(self.external.port())
        };
        (rule.protocol.is_any() || rule.protocol == self.protocol)
            && within(&rule.internal, self.internal)
            && within(&rule.external, self.external)
            && rule.port_pairs().any(has_ports)
    }

    fn may_go(&self, direction: Direction) -> bool {
        match (direction, self.passage) {
            (Direction::BiDirectional, _)
            | (Direction::Inbound, Passage::In)
            | (Direction::Outbound, Passage::Out) => true,
            (Direction::Inbound, Passage::Out) | (Direction::Outbound, Passage::In) => false,
        }
    }
}
