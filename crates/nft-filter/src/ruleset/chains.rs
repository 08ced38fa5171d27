//! Chains, and the rules in them.

use core::fmt;
use core::str::FromStr;

use simco::{IpVersion, TransportProtocol};

use super::expression::{Comparison, Expressions, Membership, Meta, Place, Register, Verdict, append_rule};
use super::passage::{INNER, Passage, Side};
use super::shape::{NoShape, Shape, load_network};
use super::translation;
use crate::config::NftConfig;
use crate::netlink::{Batch, CREATE, IPV4, IPV6, chain, element, message, set, table};

/// What a set's elements mean.
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

    const fn verdict(self) -> Verdict<'static> {
        match self {
            Self::Block => Verdict::Drop,
            Self::In | Self::Out => Verdict::Accept,
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
    /// Whether packets meet both in the same chain.
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
    write_set(batch, config, REGISTRY, &registry);
    for version in VERSIONS {
        for passage in Passage::ALL {
            write_chain(batch, config, &dispatch(passage, version));
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
    for version in VERSIONS {
        for passage in Passage::ALL {
            write_dispatch(batch, config, passage, version);
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
            shape.load(passage, rule);
            rule.lookup(&name, Register::FIRST, Membership::Present);
            rule.verdict(meaning.verdict());
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
    rule(&|rule| rule.connection_state(Register::FIRST));
    rule(&|rule| {
        require_interface(rule, Meta::InputName, Membership::Present);
        require_interface(rule, Meta::OutputName, Membership::Present);
        rule.verdict(Verdict::Accept);
    });
    for (key, passage) in [(Meta::OutputName, Passage::In), (Meta::InputName, Passage::Out)] {
        for version in VERSIONS {
            rule(&|rule| {
                require_interface(rule, key, Membership::Present);
                require_family(rule, version);
                rule.verdict(Verdict::Goto(&dispatch(passage, version)));
            });
        }
    }
}

/// To and from what is closed nothing passes, not even an error about what may.
fn write_closed(batch: &mut Batch, config: &NftConfig, passage: Passage, version: IpVersion) {
    let chain = dispatch(passage, version);
    for network in config.closed.iter().filter(|network| network.version() == version) {
        for side in [Side::Internal, Side::External] {
            append_rule(batch, &config.table, &chain, |rule| {
                load_network(rule, passage, side, network);
                rule.verdict(Verdict::Drop);
            });
        }
    }
}

/// What is closed does not pass; what is blocked does not pass; what is open passes; an ICMP error passes with the packet it is about.
fn write_dispatch(batch: &mut Batch, config: &NftConfig, passage: Passage, version: IpVersion) {
    write_closed(batch, config, passage, version);
    let (own, name) = (dispatch(passage, version), |meaning| lookups(passage, version, meaning));
    let (first, reverse) =
        if passage.goes_out() { (Meaning::Out, Meaning::In) } else { (Meaning::In, Meaning::Out) };
    let mut rule = |write: &dyn Fn(&mut Expressions<'_, '_>)| append_rule(batch, &config.table, &own, write);
    if passage.is_error() {
        if version == IpVersion::V4 {
            rule(&|rule| {
                // Ports stand where we look for them only if that header has no options.
                rule.payload(Place::transport(INNER), 1, Register::FIRST);
                rule.compare(Register::FIRST, Comparison::Different, &[0x45]);
                rule.verdict(Verdict::Return);
            });
        }
    } else {
        let errors = if passage.goes_out() { Passage::ErrorOut } else { Passage::ErrorIn };
        for types in error_types(version) {
            rule(&|rule| {
                require_error(rule, version, *types);
                rule.verdict(Verdict::Jump(&dispatch(errors, version)));
            });
        }
    }
    rule(&|rule| rule.verdict(Verdict::Jump(&name(Meaning::Block))));
    rule(&|rule| rule.verdict(Verdict::Jump(&name(first))));
    rule(&|rule| {
        require_later_tcp(rule, passage, version);
        rule.verdict(Verdict::Jump(&name(reverse)));
    });
    if !passage.is_error() {
        rule(&|rule| rule.verdict(Verdict::Drop));
    }
}

/// TCP flows both ways once it is open; only the first segment has a direction (RFC 5189 §2.3.5). In an ICMP error every
/// TCP segment is a later one: its flags need not be there.
fn require_later_tcp(rule: &mut Expressions<'_, '_>, passage: Passage, version: IpVersion) {
    match passage.protocol(version) {
        Some(place) => rule.payload(place, 1, Register::FIRST),
        None => rule.meta(Meta::Protocol, Register::FIRST),
    }
    rule.compare(Register::FIRST, Comparison::Equal, &[TransportProtocol::TCP.get()]);
    if !passage.is_error() {
        rule.payload(Place::transport(TCP_FLAGS_AT), 1, Register::FIRST);
        rule.mask(Register::FIRST, &[TCP_SYN | TCP_ACK]);
        rule.compare(Register::FIRST, Comparison::Different, &[TCP_SYN]);
    }
}

fn require_error(rule: &mut Expressions<'_, '_>, version: IpVersion, (lowest, highest): (u8, u8)) {
    require_family(rule, version);
    rule.meta(Meta::Protocol, Register::FIRST);
    let protocol = match version {
        IpVersion::V4 => TransportProtocol::ICMP.get(),
        IpVersion::V6 => ICMPV6,
    };
    rule.compare(Register::FIRST, Comparison::Equal, &[protocol]);
    rule.payload(Place::transport(0), 1, Register::FIRST);
    rule.compare(Register::FIRST, Comparison::AtLeast, &[lowest]);
    rule.compare(Register::FIRST, Comparison::AtMost, &[highest]);
}

/// Destination unreachable, time exceeded and parameter problem; packet too big among them for IPv6.
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

/// The set of the protected network's interfaces, emptied and filled anew.
fn write_interfaces(batch: &mut Batch, config: &NftConfig) {
    batch.message(message::NEW_SET, CREATE, |attributes| {
        attributes.text(set::TABLE, &config.table);
        attributes.text(set::NAME, INTERFACES);
        attributes.u32(set::KEY_TYPE, TYPE_INTERFACE);
        attributes.u32(set::KEY_BYTES, INTERFACE_BYTES);
        attributes.u32(set::ID, SET_ID);
        attributes.octets(set::USER_DATA, &HOST_ORDER);
    });
    batch.message(message::DELETE_ELEMENT, 0, |attributes| {
        attributes.text(element::TABLE, &config.table);
        attributes.text(element::SET, INTERFACES);
    });
    for name in &config.inside {
        let mut octets = [0; 16];
        octets.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        batch.message(message::NEW_ELEMENT, CREATE, |attributes| {
            attributes.text(element::TABLE, &config.table);
            attributes.text(element::SET, INTERFACES);
            attributes.nested(element::ELEMENTS, |list| {
                list.nested(element::LIST_ELEMENT, |element| {
                    element.nested(element::KEY, |key| key.octets(crate::netlink::data::VALUE, &octets));
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

/// Where packets enter the ruleset.
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

fn dispatch(passage: Passage, version: IpVersion) -> String {
    let version = if version == IpVersion::V4 { 4 } else { 6 };
    format!("{}_{version}", passage.name())
}

fn lookups(passage: Passage, version: IpVersion, meaning: Meaning) -> String {
    format!("{}_{}", dispatch(passage, version), meaning.name())
}

pub(crate) const VERSIONS: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];
/// The set of the protected network's interfaces.
pub(crate) const INTERFACES: &str = "inside";
/// The set of all policy rules by number, with what the middlebox knows of them.
pub(crate) const REGISTRY: &str = "rules";
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
const ICMPV6: u8 = 58;
const TCP_FLAGS_AT: u32 = 13;
const TCP_SYN: u8 = 0x02;
const TCP_ACK: u8 = 0x10;
