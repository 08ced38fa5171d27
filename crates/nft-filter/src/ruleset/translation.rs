//! Translation: maps from an address, or an address and port, to another.
//!
//! | map | where | packets | from | to |
//! |---|---|---|---|---|
//! | `to_internal` | prerouting | from outside | A2 | A0 |
//! | `to_external` | prerouting | from inside | A1 | A3, twice NAT |
//! | `from_internal` | postrouting | to outside | A0 | A2 |
//! | `from_external` | postrouting | to inside | A3 | A1, twice NAT |
//!
//! What comes to the translator's addresses before there is an entry in `to_internal` is dropped, so that no flow begins untranslated.
//!
//! The connection tracker keeps what the first packet of a flow found; the filter, which sees A0 and A3 of each packet,
//! is what ends a flow.

use core::net::IpAddr;

use simco::filter::{FilterAction, FilterRule, Mapping, Ports, Selector};
use simco::{Direction, IpVersion, TransportProtocol};
use smallvec::SmallVec;

use super::chains::{
    Hook, SetKind, VERSIONS, family, require_family, require_interface, write_base_chain, write_constant_set,
    write_set,
};
use super::expression::{
    Comparison, Membership, Meta, PacketField, Register, TranslatedSide, Verdict, append_rule,
};
use super::shape::{
    Key, TYPE_BITS, TYPE_IPV4_ADDRESS, TYPE_IPV6_ADDRESS, TYPE_PORT, TYPE_PROTOCOL, address_bytes,
};
use crate::config::{NftConfig, Passing};
use crate::netlink::Batch;

/// A map: which side it translates, for which version, and how finely.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TranslationMap {
    pub(crate) rewrite: Rewrite,
    pub(crate) version: IpVersion,
    pub(crate) detail: Detail,
}

/// The rewriting of a packet, see the table above.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Rewrite {
    ToInternal,
    ToExternal,
    FromInternal,
    FromExternal,
}

/// The part of a packet that decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Detail {
    /// Address, protocol and port; both address and port change.
    Port,
    /// Address and protocol; the port stays.
    Protocol,
    /// Address and protocol; the address is shared, the kernel takes a port of the pool for each flow.
    Shared,
    /// The address alone.
    Address,
}

impl Rewrite {
    const ALL: [Self; 4] = [Self::ToInternal, Self::ToExternal, Self::FromInternal, Self::FromExternal];

    const fn name(self) -> &'static str {
        match self {
            Self::ToInternal => "to_internal",
            Self::ToExternal => "to_external",
            Self::FromInternal => "from_internal",
            Self::FromExternal => "from_external",
        }
    }

    /// Returns which address changes; destinations before the route is chosen, sources after.
    const fn side(self) -> TranslatedSide {
        match self {
            Self::ToInternal | Self::ToExternal => TranslatedSide::Destination,
            Self::FromInternal | Self::FromExternal => TranslatedSide::Source,
        }
    }

    /// Returns where a packet comes from, or goes to.
    const fn interface(self) -> (Meta, Membership) {
        match self {
            Self::ToInternal => (Meta::InputName, Membership::Absent),
            Self::ToExternal => (Meta::InputName, Membership::Present),
            Self::FromInternal => (Meta::OutputName, Membership::Absent),
            Self::FromExternal => (Meta::OutputName, Membership::Present),
        }
    }

    /// Returns whether the flow's first packet comes in.
    const fn serves_inbound(self) -> bool {
        match self {
            Self::ToInternal | Self::FromExternal => true,
            Self::ToExternal | Self::FromInternal => false,
        }
    }
}

impl Detail {
    const ALL: [Self; 4] = [Self::Port, Self::Protocol, Self::Shared, Self::Address];
}

impl TranslationMap {
    /// Returns all there are.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let of = |(rewrite, version)| Detail::ALL.map(|detail| Self { rewrite, version, detail });
        let all = Rewrite::ALL
            .into_iter()
            .flat_map(|rewrite| VERSIONS.map(|version| (rewrite, version)))
            .flat_map(of);
        all.filter(|map| map.detail != Detail::Shared || map.rewrite == Rewrite::FromInternal)
    }

    /// Returns the name of the map, such as `to_internal_4_port`.
    pub(crate) fn name(self) -> String {
        let version = if self.version == IpVersion::V4 { 4 } else { 6 };
        let detail = match self.detail {
            Detail::Port => "port",
            Detail::Protocol => "protocol",
            Detail::Shared => "shared",
            Detail::Address => "address",
        };
        format!("{}_{version}_{detail}", self.rewrite.name())
    }

    fn kind(self) -> SetKind {
        let bytes = address_bytes(self.version);
        let address = match self.version {
            IpVersion::V4 => TYPE_IPV4_ADDRESS,
            IpVersion::V6 => TYPE_IPV6_ADDRESS,
        };
        let with_protocol = (address << TYPE_BITS) | TYPE_PROTOCOL;
        let with_port = (address << TYPE_BITS) | TYPE_PORT;
        let (key_type, key_bytes, data) = match self.detail {
            Detail::Port => ((with_protocol << TYPE_BITS) | TYPE_PORT, bytes + 8, (with_port, bytes + 4)),
            Detail::Protocol | Detail::Shared => (with_protocol, bytes + 4, (address, bytes)),
            Detail::Address => (address, bytes, (address, bytes)),
        };
        SetKind { key_type, key_bytes, data: Some(data) }
    }

    /// Returns where the address and the port stand that decide.
    const fn places(self) -> (PacketField, PacketField) {
        match (self.rewrite.side(), self.version) {
            (TranslatedSide::Source, IpVersion::V4) => (PacketField::network(12), PacketField::transport(0)),
            (TranslatedSide::Source, IpVersion::V6) => (PacketField::network(8), PacketField::transport(0)),
            (TranslatedSide::Destination, IpVersion::V4) => {
                (PacketField::network(16), PacketField::transport(2))
            }
            (TranslatedSide::Destination, IpVersion::V6) => {
                (PacketField::network(24), PacketField::transport(2))
            }
        }
    }
}

/// Returns the elements a rule needs: map, key, data.
pub(crate) fn mappings(rule: &FilterRule) -> Vec<(TranslationMap, Key, Key)> {
    let FilterAction::Open(direction) = rule.action else { return Vec::new() };
    let Some(translation) = rule.translation else { return Vec::new() };
    let mut found = Vec::new();
    let mut add = |rewrite: Rewrite, from: Mapping, to: Mapping| {
        let serves = match direction {
            Direction::BiDirectional => true,
            Direction::Inbound => rewrite.serves_inbound(),
            Direction::Outbound => !rewrite.serves_inbound(),
        };
        if serves {
            let is_shared = rewrite == Rewrite::FromInternal && translation.is_shared();
            found.extend(elements(rewrite, rule.protocol, from, to, is_shared));
        }
    };
    if let Some(internal) = host(&rule.internal) {
        add(Rewrite::ToInternal, translation.outside, internal);
        add(Rewrite::FromInternal, internal, translation.outside);
    }
    if let (Some(inside), Some(external)) = (translation.inside, host(&rule.external)) {
        add(Rewrite::ToExternal, inside, external);
        add(Rewrite::FromExternal, external, inside);
    }
    found
}

/// Returns a host with its ports as something to translate from or to.
fn host(selector: &Selector) -> Option<Mapping> {
    Some(Mapping { address: selector.network.host()?, ports: selector.ports })
}

fn elements(
    rewrite: Rewrite,
    protocol: TransportProtocol,
    from: Mapping,
    to: Mapping,
    is_shared: bool,
) -> SmallVec<[(TranslationMap, Key, Key); 1]> {
    let version = IpVersion::of(from.address);
    let map = |detail| TranslationMap { rewrite, version, detail };
    let (mut key, mut data) = (Key::new(), Key::new());
    push_address(&mut key, from.address);
    push_address(&mut data, to.address);
    let (Ports::Range { first: from_first, count }, Ports::Range { first: to_first, .. }) =
        (from.ports, to.ports)
    else {
        let detail = match (protocol.is_any(), is_shared) {
            (true, _) => Detail::Address,
            (false, true) => Detail::Shared,
            (false, false) => Detail::Protocol,
        };
        if detail != Detail::Address {
            key.extend_from_slice(&[protocol.get(), 0, 0, 0]);
        }
        return SmallVec::from_iter([(map(detail), key, data)]);
    };
    key.extend_from_slice(&[protocol.get(), 0, 0, 0]);
    let pair = |step: u16| {
        let (mut key, mut data) = (key.clone(), data.clone());
        push_port(&mut key, from_first.saturating_add(step));
        push_port(&mut data, to_first.saturating_add(step));
        (map(Detail::Port), key, data)
    };
    (0..count.get()).map(pair).collect()
}

fn push_address(key: &mut Key, address: IpAddr) {
    match address {
        IpAddr::V4(address) => key.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => key.extend_from_slice(&address.octets()),
    }
}

fn push_port(key: &mut Key, port: u16) {
    let [high, low] = port.to_be_bytes();
    key.extend_from_slice(&[high, low, 0, 0]);
}

pub(super) fn write_maps(batch: &mut Batch, config: &NftConfig) {
    if config.translation.is_none() {
        return;
    }
    for map in TranslationMap::all() {
        write_set(batch, config, &map.name(), &map.kind());
    }
    for version in VERSIONS {
        let of_version = |address: &&IpAddr| IpVersion::of(**address) == version;
        let keys = config.outside_addresses.iter().filter(of_version).flat_map(|address| {
            WITH_PORTS.map(|protocol| {
                let mut key = Key::new();
                push_address(&mut key, *address);
                key.extend_from_slice(&[protocol.get(), 0, 0, 0]);
                key
            })
        });
        // Keys like those of a map by address and protocol.
        let map = TranslationMap { rewrite: Rewrite::ToInternal, version, detail: Detail::Protocol };
        write_constant_set(batch, config, pool(version), &SetKind { data: None, ..map.kind() }, None, keys);
    }
}

pub(super) fn write_hooks(batch: &mut Batch, config: &NftConfig) {
    let Some(priorities) = config.translation else { return };
    let kind = "nat";
    let before = Hook { name: PREROUTING, kind, number: 0, priority: priorities.destination };
    let after = Hook { name: POSTROUTING, kind, number: 4, priority: priorities.source };
    write_base_chain(batch, config, &before);
    write_base_chain(batch, config, &after);
}

pub(super) fn write_rules(batch: &mut Batch, config: &NftConfig) {
    if config.translation.is_none() {
        return;
    }
    for map in TranslationMap::all() {
        write_rule(batch, config, map);
    }
    if config.passing != Passing::Everything {
        for version in VERSIONS {
            write_early(batch, config, version);
        }
    }
}

/// Behind the maps, where only the first packet of a flow comes, and only one that no map had anything for.
fn write_early(batch: &mut Batch, config: &NftConfig, version: IpVersion) {
    append_rule(batch, &config.table, PREROUTING, |rule| {
        let map = TranslationMap { rewrite: Rewrite::ToInternal, version, detail: Detail::Port };
        let (address, port) = map.places();
        let bytes = address_bytes(version);
        require_interface(rule, Meta::InputName, Membership::Absent);
        require_family(rule, version);
        rule.payload(address, bytes, Register::FIRST);
        rule.meta(Meta::Protocol, Register::FIRST.after(bytes));
        rule.lookup(pool(version), Register::FIRST, Membership::Present);
        rule.payload(port, 2, Register::FIRST);
        rule.compare(Register::FIRST, Comparison::AtLeast, &config.shared_ports.start().to_be_bytes());
        rule.compare(Register::FIRST, Comparison::AtMost, &config.shared_ports.end().to_be_bytes());
        rule.count();
        rule.verdict(Verdict::Drop);
    });
}

/// Returns the name of the set of addresses that are given out outside, each with the protocols that have ports.
const fn pool(version: IpVersion) -> &'static str {
    match version {
        IpVersion::V4 => "pool_4",
        IpVersion::V6 => "pool_6",
    }
}

fn write_rule(batch: &mut Batch, config: &NftConfig, map: TranslationMap) {
    let side = map.rewrite.side();
    let chain = match side {
        TranslatedSide::Destination => PREROUTING,
        TranslatedSide::Source => POSTROUTING,
    };
    append_rule(batch, &config.table, chain, |rule| {
        let (key, membership) = map.rewrite.interface();
        require_interface(rule, key, membership);
        require_family(rule, map.version);
        let (address, port) = map.places();
        let bytes = address_bytes(map.version);
        let protocol = Register::FIRST.after(bytes);
        rule.payload(address, bytes, Register::FIRST);
        match map.detail {
            Detail::Port => {
                rule.meta(Meta::Protocol, protocol);
                rule.payload(port, 2, protocol.after(1));
            }
            Detail::Protocol | Detail::Shared => rule.meta(Meta::Protocol, protocol),
            Detail::Address => {}
        }
        rule.map(&map.name(), Register::FIRST, Register::FIRST);
        let ports = match map.detail {
            Detail::Port => Some((protocol, protocol)),
            Detail::Shared => {
                let last = protocol.after(2);
                rule.immediate(&config.shared_ports.start().to_be_bytes(), protocol);
                rule.immediate(&config.shared_ports.end().to_be_bytes(), last);
                Some((protocol, last))
            }
            Detail::Protocol | Detail::Address => None,
        };
        rule.translate(side, family(map.version), Register::FIRST, ports);
    });
}

const WITH_PORTS: [TransportProtocol; 3] =
    [TransportProtocol::TCP, TransportProtocol::UDP, TransportProtocol::SCTP];
const PREROUTING: &str = "prerouting";
const POSTROUTING: &str = "postrouting";
