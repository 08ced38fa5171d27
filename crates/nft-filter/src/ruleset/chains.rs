//! Chains, and the rules in them.

use core::fmt;
use core::str::FromStr;
use std::sync::LazyLock;

use simco::{IpVersion, PolicyRuleId, TransportProtocol};

use super::expression::{
    Comparison, ConnectionKey, ConnectionSide, Expressions, Membership, Meta, PacketField, Register, Verdict,
    append_rule,
};
use super::passage::{Passage, Side, icmp};
use super::shape::{NoShape, Shape, load_network};
use super::translation;
use crate::config::{NftConfig, Passing};
use crate::netlink::{Batch, CREATE, IPV4, IPV6, chain, element, message, set, table};

/// The meaning of a set's elements.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Meaning {
    /// Packets that may not pass, either way.
    Block,
    /// Packets that may come in.
    In,
    /// Packets that may go out.
    Out,
}

impl Meaning {
    pub(crate) const ALL: [Self; 3] = [Self::Block, Self::In, Self::Out];

    const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::In => "in",
            Self::Out => "out",
        }
    }

    const fn verdict(self, config: &NftConfig) -> Verdict<'static> {
        match (self, config.mark) {
            (Self::Block, _) => Verdict::Drop,
            (Self::In | Self::Out, None) => Verdict::Accept,
            (Self::In | Self::Out, Some(_)) => Verdict::Goto(PASS),
        }
    }
}

/// A set: a meaning and a shape. Its name is `in_4_32_32_p_16_16`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Lookup {
    pub(crate) meaning: Meaning,
    pub(crate) shape: Shape,
}

impl Lookup {
    /// Returns whether packets meet both in the same chain.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.meaning == other.meaning && self.shape.version == other.shape.version
    }
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.meaning.name(), self.shape)
    }
}

impl FromStr for Lookup {
    type Err = NoShape;

    fn from_str(name: &str) -> Result<Self, NoShape> {
        let (meaning, shape) = name.split_once('_').ok_or(NoShape)?;
        let meaning = Meaning::ALL.into_iter().find(|known| known.name() == meaning).ok_or(NoShape)?;
        Ok(Self { meaning, shape: shape.parse()? })
    }
}

/// The table, the chains and the fixed sets; whatever of it is there already stays.
pub(crate) fn write_base(batch: &mut Batch, config: &NftConfig, flags: u32) {
    batch.message(message::NEW_TABLE, CREATE, |attributes| {
        attributes.text(table::NAME, &config.table);
        attributes.u32(table::FLAGS, flags);
    });
    write_interfaces(batch, config);
    let registry = SetKind { key_type: REGISTRY_KEY_TYPE, key_bytes: REGISTRY_KEY_BYTES, data: None };
    for name in REGISTRIES.iter() {
        write_set(batch, config, name, &registry);
    }
    write_chain(batch, config, PASS);
    for version in VERSIONS {
        for way in Way::ALL {
            write_chain(batch, config, &way.chain(version));
            write_chain(batch, config, &way.error_chain(version));
        }
        for passage in Passage::ALL {
            for meaning in Meaning::ALL {
                write_chain(batch, config, &lookups(passage, version, meaning));
            }
        }
    }
    translation::write_maps(batch, config);
    write_base_chain(
        batch,
        config,
        &Hook { name: "forward", kind: "filter", number: 2, priority: config.priority },
    );
    translation::write_hooks(batch, config);
}

/// All rules anew, in the place of those that are there.
pub(crate) fn write_rules(batch: &mut Batch, config: &NftConfig, sets: &[Lookup]) {
    batch.message(message::DELETE_RULE, 0, |attributes| {
        attributes.text(crate::netlink::rule::TABLE, &config.table);
    });
    write_forward(batch, config);
    if let Some(bits) = config.mark {
        append_rule(batch, &config.table, PASS, |rule| {
            rule.mark(bits.get());
            rule.verdict(Verdict::Accept);
        });
    }
    for version in VERSIONS {
        for way in Way::ALL {
            write_dispatch(batch, config, way, version);
            write_error_dispatch(batch, config, way, version);
        }
    }
    for set in sets {
        write_lookups(batch, config, *set);
    }
    translation::write_rules(batch, config);
}

/// A set and the rules that look into it.
pub(crate) fn write_lookup_set(batch: &mut Batch, config: &NftConfig, lookup: Lookup) {
    let Lookup { shape, .. } = lookup;
    let kind = SetKind { key_type: shape.key_type(), key_bytes: shape.key_bytes(), data: None };
    write_set(batch, config, &lookup.to_string(), &kind);
}

/// The rules that look into a set.
pub(crate) fn write_lookups(batch: &mut Batch, config: &NftConfig, lookup: Lookup) {
    let Lookup { meaning, shape } = lookup;
    let name = lookup.to_string();
    for passage in Passage::ALL {
        let chain = lookups(passage, shape.version, meaning);
        append_rule(batch, &config.table, &chain, |rule| {
            require_family(rule, shape.version);
            passage.require_error(rule, shape.version);
            shape.load(passage, rule);
            rule.lookup(&name, Register::FIRST, Membership::Present);
            rule.verdict(meaning.verdict(config));
        });
    }
}

/// Takes sets of one meaning and version away, with the rules that look into them; `remaining` are the others of that kind.
pub(crate) fn write_removal(batch: &mut Batch, config: &NftConfig, remaining: &[Lookup], gone: &[Lookup]) {
    let Some(Lookup { meaning, shape }) = gone.first() else { return };
    for passage in Passage::ALL {
        batch.message(message::DELETE_RULE, 0, |attributes| {
            attributes.text(crate::netlink::rule::TABLE, &config.table);
            attributes.text(crate::netlink::rule::CHAIN, &lookups(passage, shape.version, *meaning));
        });
    }
    for lookup in remaining {
        write_lookups(batch, config, *lookup);
    }
    for lookup in gone {
        batch.message(message::DELETE_SET, 0, |attributes| {
            attributes.text(set::TABLE, &config.table);
            attributes.text(set::NAME, &lookup.to_string());
        });
    }
}

/// Into the protected network, out of it, or none of our business.
fn write_forward(batch: &mut Batch, config: &NftConfig) {
    let mut rule =
        |write: &dyn Fn(&mut Expressions<'_, '_>)| append_rule(batch, &config.table, "forward", write);
    if config.passing == Passing::Everything {
        rule(&|rule| rule.verdict(Verdict::Accept));
    }
    rule(&|rule| {
        require_interface(rule, Meta::InputName, Membership::Present);
        require_interface(rule, Meta::OutputName, Membership::Present);
        rule.verdict(Verdict::Accept);
    });
    for way in Way::ALL {
        if config.passing == Passing::Nothing {
            rule(&|rule| {
                require_interface(rule, way.interface(), Membership::Present);
                rule.verdict(Verdict::Drop);
            });
        }
        for version in VERSIONS {
            rule(&|rule| {
                require_interface(rule, way.interface(), Membership::Present);
                require_family(rule, version);
                rule.verdict(Verdict::Goto(&way.chain(version)));
            });
        }
    }
}

/// The way that a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    In,
    Out,
}

impl Way {
    const ALL: [Self; 2] = [Self::In, Self::Out];

    const fn back(self) -> Self {
        match self {
            Self::In => Self::Out,
            Self::Out => Self::In,
        }
    }

    const fn passage(self) -> Passage {
        match self {
            Self::In => Passage::In,
            Self::Out => Passage::Out,
        }
    }

    /// Returns what lets its packets pass.
    const fn meaning(self) -> Meaning {
        match self {
            Self::In => Meaning::In,
            Self::Out => Meaning::Out,
        }
    }

    /// Returns the interface at which the protected network is.
    const fn interface(self) -> Meta {
        match self {
            Self::In => Meta::OutputName,
            Self::Out => Meta::InputName,
        }
    }

    /// Returns where its packets go first: `in_4`.
    fn chain(self, version: IpVersion) -> String {
        format!("{}_{}", self.passage().name(), number(version))
    }

    /// Returns where its ICMP errors go: `error_in_4`.
    fn error_chain(self, version: IpVersion) -> String {
        format!("error_{}", self.chain(version))
    }
}

/// Writes the rules that close: to and from what is closed nothing passes, not even an error about what may.
fn write_closed(batch: &mut Batch, config: &NftConfig, chain: &str, passage: Passage, version: IpVersion) {
    for network in config.closed.iter().filter(|network| network.version() == version) {
        for side in [Side::Internal, Side::External] {
            append_rule(batch, &config.table, chain, |rule| {
                require_family(rule, version);
                load_network(rule, passage, side, network);
                rule.verdict(Verdict::Drop);
            });
        }
    }
}

/// Writes the order of decisions: what is closed does not pass; what is blocked does not pass; what is open
/// passes; an ICMP error passes with the packet it is about.
fn write_dispatch(batch: &mut Batch, config: &NftConfig, way: Way, version: IpVersion) {
    let own = way.chain(version);
    let passage = way.passage();
    write_closed(batch, config, &own, passage, version);
    let mut rule = |write: &dyn Fn(&mut Expressions<'_, '_>)| append_rule(batch, &config.table, &own, write);
    for types in error_types(version) {
        rule(&|rule| {
            require_error(rule, version, *types);
            rule.verdict(Verdict::Jump(&way.error_chain(version)));
        });
    }
    let name = |meaning| lookups(passage, version, meaning);
    rule(&|rule| rule.verdict(Verdict::Jump(&name(Meaning::Block))));
    rule(&|rule| rule.verdict(Verdict::Jump(&name(way.meaning()))));
    rule(&|rule| {
        require_later_tcp(rule);
        rule.verdict(Verdict::Jump(&name(way.back().meaning())));
    });
    rule(&|rule| rule.verdict(Verdict::Drop));
}

/// An ICMP error that goes this way is about a packet that went the other way, in a flow that the connection tracker knows.
/// Every TCP segment in one counts as a later one: its flags need not be there.
fn write_error_dispatch(batch: &mut Batch, config: &NftConfig, way: Way, version: IpVersion) {
    let own = way.error_chain(version);
    // Both ends of a flow are looked at: whichever began it.
    write_closed(batch, config, &own, Passage::BegunInside, version);
    let (to_beginner, from_beginner) = match way {
        Way::In => (Passage::BegunInside, Passage::BegunOutside),
        Way::Out => (Passage::BegunOutside, Passage::BegunInside),
    };
    for (side, passage) in [(ConnectionSide::Reply, to_beginner), (ConnectionSide::Original, from_beginner)] {
        for meaning in [Meaning::Block, way.back().meaning(), way.meaning()] {
            append_rule(batch, &config.table, &own, |rule| {
                rule.connection(ConnectionKey::Direction, None, Register::FIRST);
                rule.compare(Register::FIRST, Comparison::Equal, &[side.code()]);
                if meaning == way.meaning() {
                    passage.load_protocol(rule, Register::FIRST);
                    rule.compare(Register::FIRST, Comparison::Equal, &[TransportProtocol::TCP.get()]);
                }
                rule.verdict(Verdict::Jump(&lookups(passage, version, meaning)));
            });
        }
    }
}

/// TCP flows both ways once it is open; only the first segment has a direction (RFC 5189 §2.3.5).
fn require_later_tcp(rule: &mut Expressions<'_, '_>) {
    rule.meta(Meta::Protocol, Register::FIRST);
    rule.compare(Register::FIRST, Comparison::Equal, &[TransportProtocol::TCP.get()]);
    rule.payload(PacketField::transport(TCP_FLAGS_AT), 1, Register::FIRST);
    rule.mask(Register::FIRST, &[TCP_SYN | TCP_ACK]);
    rule.compare(Register::FIRST, Comparison::Different, &[TCP_SYN]);
}

fn require_error(rule: &mut Expressions<'_, '_>, version: IpVersion, (lowest, highest): (u8, u8)) {
    require_family(rule, version);
    rule.meta(Meta::Protocol, Register::FIRST);
    rule.compare(Register::FIRST, Comparison::Equal, &[icmp(version)]);
    rule.payload(PacketField::transport(0), 1, Register::FIRST);
    rule.compare(Register::FIRST, Comparison::AtLeast, &[lowest]);
    rule.compare(Register::FIRST, Comparison::AtMost, &[highest]);
}

/// Returns the types of errors that may pass: destination unreachable, time exceeded and parameter problem;
/// packet too big among them for IPv6.
const fn error_types(version: IpVersion) -> &'static [(u8, u8)] {
    match version {
        IpVersion::V4 => &[(3, 3), (11, 12)],
        IpVersion::V6 => &[(1, 4)],
    }
}

/// Goes on with packets whose interface is, or is not, one of the protected network's.
pub(crate) fn require_interface(rule: &mut Expressions<'_, '_>, key: Meta, membership: Membership) {
    rule.meta(key, Register::FIRST);
    rule.lookup(INTERFACES, Register::FIRST, membership);
}

pub(crate) fn require_family(rule: &mut Expressions<'_, '_>, version: IpVersion) {
    rule.meta(Meta::Family, Register::FIRST);
    rule.compare(Register::FIRST, Comparison::Equal, &[family(version)]);
}

pub(crate) const fn family(version: IpVersion) -> u8 {
    match version {
        IpVersion::V4 => IPV4,
        IpVersion::V6 => IPV6,
    }
}

/// The set of the protected network's interfaces.
fn write_interfaces(batch: &mut Batch, config: &NftConfig) {
    let kind = SetKind { key_type: TYPE_INTERFACE, key_bytes: INTERFACE_BYTES, data: None };
    let padded = config.inside.iter().map(|name| {
        let mut octets = [0; 16];
        octets.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        octets
    });
    write_constant_set(batch, config, INTERFACES, &kind, Some(&HOST_ORDER), padded);
}

/// A set, emptied and filled anew.
pub(super) fn write_constant_set(
    batch: &mut Batch,
    config: &NftConfig,
    name: &str,
    kind: &SetKind,
    user_data: Option<&[u8]>,
    keys: impl IntoIterator<Item = impl AsRef<[u8]>>,
) {
    batch.message(message::NEW_SET, CREATE, |attributes| {
        attributes.text(set::TABLE, &config.table);
        attributes.text(set::NAME, name);
        attributes.u32(set::KEY_TYPE, kind.key_type);
        attributes.u32(set::KEY_BYTES, kind.key_bytes);
        attributes.u32(set::ID, SET_ID);
        if let Some(octets) = user_data {
            attributes.octets(set::USER_DATA, octets);
        }
    });
    batch.message(message::DELETE_ELEMENT, 0, |attributes| {
        attributes.text(element::TABLE, &config.table);
        attributes.text(element::SET, name);
    });
    for octets in keys {
        batch.message(message::NEW_ELEMENT, CREATE, |attributes| {
            attributes.text(element::TABLE, &config.table);
            attributes.text(element::SET, name);
            attributes.nested(element::ELEMENTS, |list| {
                list.nested(element::LIST_ELEMENT, |element| {
                    element
                        .nested(element::KEY, |key| key.octets(crate::netlink::data::VALUE, octets.as_ref()));
                });
            });
        });
    }
}

/// A set's key, and for a map its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetKind {
    pub(crate) key_type: u32,
    pub(crate) key_bytes: u32,
    /// Type and octets.
    pub(crate) data: Option<(u32, u32)>,
}

/// A set with timed elements, or a map.
pub(crate) fn write_set(batch: &mut Batch, config: &NftConfig, name: &str, kind: &SetKind) {
    batch.message(message::NEW_SET, CREATE, |attributes| {
        attributes.text(set::TABLE, &config.table);
        attributes.text(set::NAME, name);
        let map = if kind.data.is_some() { set::FLAG_MAP } else { 0 };
        attributes.u32(set::FLAGS, set::FLAG_TIMEOUT | map);
        attributes.u32(set::KEY_TYPE, kind.key_type);
        attributes.u32(set::KEY_BYTES, kind.key_bytes);
        if let Some((kind, bytes)) = kind.data {
            attributes.u32(set::DATA_TYPE, kind);
            attributes.u32(set::DATA_BYTES, bytes);
        }
        attributes.u32(set::ID, SET_ID);
    });
}

fn write_chain(batch: &mut Batch, config: &NftConfig, name: &str) {
    batch.message(message::NEW_CHAIN, CREATE, |attributes| {
        attributes.text(chain::TABLE, &config.table);
        attributes.text(chain::NAME, name);
    });
}

/// The hook at which packets enter the ruleset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) number: u32,
    pub(crate) priority: i32,
}

pub(crate) fn write_base_chain(batch: &mut Batch, config: &NftConfig, hook: &Hook<'_>) {
    batch.message(message::NEW_CHAIN, CREATE, |attributes| {
        attributes.text(chain::TABLE, &config.table);
        attributes.text(chain::NAME, hook.name);
        attributes.nested(chain::HOOK, |nested| {
            nested.u32(chain::HOOK_NUMBER, hook.number);
            nested.octets(chain::HOOK_PRIORITY, &hook.priority.to_be_bytes());
        });
        attributes.u32(chain::POLICY, ACCEPT);
        attributes.text(chain::TYPE, hook.kind);
    });
}

fn lookups(passage: Passage, version: IpVersion, meaning: Meaning) -> String {
    format!("{}_{}_{}", passage.name(), number(version), meaning.name())
}

const fn number(version: IpVersion) -> u8 {
    match version {
        IpVersion::V4 => 4,
        IpVersion::V6 => 6,
    }
}

pub(crate) const VERSIONS: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];
/// The set of the protected network's interfaces.
pub(crate) const INTERFACES: &str = "inside";
/// The sets of all policy rules by number, with what the middlebox knows of them. There are many, for the kernel lists a set by
/// walking it from the beginning for each piece of the list.
static REGISTRIES: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..SHARDS).map(|shard| format!("rules_{shard:02}")).collect());
const SHARDS: u32 = 64;

/// Returns the names of the sets of policy rules.
pub(crate) fn registries() -> &'static [String] {
    &REGISTRIES
}

/// Returns the set that a policy rule's record is in.
pub(crate) fn registry(rule: PolicyRuleId) -> &'static str {
    let shard = usize::try_from(rule.get() % SHARDS).unwrap_or_default();
    &REGISTRIES[shard]
}

/// Number of the rule, and number of the part: a record may need several elements.
pub(crate) const REGISTRY_KEY_BYTES: u32 = 8;
const REGISTRY_KEY_TYPE: u32 = (TYPE_MARK << super::shape::TYPE_BITS) | TYPE_MARK;
const TYPE_MARK: u32 = 19;
const TYPE_INTERFACE: u32 = 41;
const INTERFACE_BYTES: u32 = 16;
/// Tells nft that a key's octets are in the host's order (NFTNL_UDATA_SET_KEYBYTEORDER): without it a name is `""` to it.
const HOST_ORDER: [u8; 6] = {
    let [a, b, c, d] = 1_u32.to_ne_bytes();
    [0, 4, a, b, c, d]
};
/// We refer to sets by name; the kernel wants a number all the same.
const SET_ID: u32 = 1;
const ACCEPT: u32 = 1;
/// The chain where packets are marked and let through, if they are to be marked.
const PASS: &str = "pass";
const TCP_FLAGS_AT: u32 = 13;
const TCP_SYN: u8 = 0x02;
const TCP_ACK: u8 = 0x10;
