//! Shapes: which bits of a packet's addresses and ports a set compares.
//!
//! All elements of a set have the same bits compared, so a set is a hash table, and what overlaps needs no care: a
//! packet is looked up in the set of every shape there is. That is tuple space search (Srinivasan, Suri and Varghese,
//! 1999). A prefix is a mask of an address; a range of ports is a handful of masks of a port.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

use simco::IpVersion;
use simco::filter::{FilterRule, Network, Ports};
use smallvec::SmallVec;

use super::expression::{Comparison, Expressions, Register};
use super::passage::{Passage, Side};

/// The shape of a rule: which bits of a packet count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Shape {
    pub(crate) version: IpVersion,
    /// Leading bits of the internal address.
    pub(crate) internal: u8,
    /// Leading bits of the external address.
    pub(crate) external: u8,
    pub(crate) protocol: ProtocolMatch,
    /// Leading bits of the internal port.
    pub(crate) internal_port: u8,
    /// Leading bits of the external port.
    pub(crate) external_port: u8,
}

/// Whether the protocol counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum ProtocolMatch {
    Any,
    One,
}

/// The octets of an element: the compared fields, each in whole registers. A field without any bit is left out; the
/// protocol is always there. IPv6 is on the heap.
pub(crate) type Key = SmallVec<[u8; 24]>;

impl Shape {
    /// Shapes that are there from the start: hosts with their ports, one side's port or the external host unknown.
    pub(crate) fn common() -> impl Iterator<Item = Self> {
        let of = |version: IpVersion| {
            let bits = version.address_bits();
            let exact = Self {
                version,
                internal: bits,
                external: bits,
                protocol: ProtocolMatch::One,
                internal_port: PORT_BITS,
                external_port: PORT_BITS,
            };
            let any_port = Self { external_port: 0, ..exact };
            [exact, any_port, Self { internal_port: 0, ..exact }, Self { external: 0, ..any_port }]
        };
        [IpVersion::V4, IpVersion::V6].into_iter().flat_map(of)
    }

    /// Returns whether it is one of those.
    pub(crate) fn is_common(&self) -> bool {
        Self::common().any(|common| common == *self)
    }

    /// Returns the number of octets of an element.
    pub(crate) fn key_bytes(&self) -> u32 {
        let address = |bits: u8| if bits == 0 { 0 } else { address_bytes(self.version) };
        let port = |bits: u8| if bits == 0 { 0 } else { 4 };
        address(self.internal)
            + address(self.external)
            + 4
            + port(self.internal_port)
            + port(self.external_port)
    }

    /// Returns what `nft list` calls the fields.
    pub(crate) fn key_type(&self) -> u32 {
        let address = match self.version {
            IpVersion::V4 => TYPE_IPV4_ADDRESS,
            IpVersion::V6 => TYPE_IPV6_ADDRESS,
        };
        let fields = [
            (self.internal != 0, address),
            (self.external != 0, address),
            (true, TYPE_PROTOCOL),
            (self.internal_port != 0, TYPE_PORT),
            (self.external_port != 0, TYPE_PORT),
        ];
        let present = fields.iter().filter(|(present, _)| *present);
        present.fold(0, |all, (_, field)| (all << TYPE_BITS) | field)
    }

    /// Loads the fields of a packet from the first register on.
    pub(crate) fn load(&self, passage: Passage, rule: &mut Expressions<'_, '_>) {
        let mut register = Register::FIRST;
        let bytes = address_bytes(self.version);
        for (side, bits) in [(Side::Internal, self.internal), (Side::External, self.external)] {
            if bits == 0 {
                continue;
            }
            passage.load_address(rule, self.version, side, register);
            if bits < self.version.address_bits() {
                match Network::new(all_ones(self.version), bits).address() {
                    IpAddr::V4(mask) => rule.mask(register, &mask.octets()),
                    IpAddr::V6(mask) => rule.mask(register, &mask.octets()),
                }
            }
            register = register.after(bytes);
        }
        self.load_protocol(passage, register, rule);
        register = register.after(1);
        for (side, bits) in [(Side::Internal, self.internal_port), (Side::External, self.external_port)] {
            if bits == 0 {
                continue;
            }
            passage.load_port(rule, side, register);
            if bits < PORT_BITS {
                rule.mask(register, &port_mask(bits).to_be_bytes());
            }
            register = register.after(2);
        }
    }

    fn load_protocol(&self, passage: Passage, register: Register, rule: &mut Expressions<'_, '_>) {
        passage.load_protocol(rule, register);
        if self.protocol == ProtocolMatch::Any {
            rule.mask(register, &[0]);
        }
    }
}

/// Goes on with packets whose address on this side is in the network.
pub(crate) fn load_network(rule: &mut Expressions<'_, '_>, passage: Passage, side: Side, network: &Network) {
    let version = network.version();
    let octets = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    passage.load_address(rule, version, side, Register::FIRST);
    if network.host().is_none() {
        let mask = Network::new(all_ones(version), network.prefix_length());
        rule.mask(Register::FIRST, &octets(mask.address()));
    }
    rule.compare(Register::FIRST, Comparison::Equal, &octets(network.address()));
}

/// The name in a set's name: `4_32_24_p_16_0`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = match self.version {
            IpVersion::V4 => '4',
            IpVersion::V6 => '6',
        };
        let protocol = match self.protocol {
            ProtocolMatch::One => 'p',
            ProtocolMatch::Any => 'x',
        };
        let Self { internal, external, internal_port, external_port, .. } = self;
        write!(f, "{version}_{internal}_{external}_{protocol}_{internal_port}_{external_port}")
    }
}

impl FromStr for Shape {
    type Err = NoShape;

    fn from_str(name: &str) -> Result<Self, NoShape> {
        let fields: SmallVec<[&str; 6]> = name.split('_').collect();
        let &[version, internal, external, protocol, internal_port, external_port] = fields.as_slice() else {
            return Err(NoShape);
        };
        let version = match version {
            "4" => IpVersion::V4,
            "6" => IpVersion::V6,
            _ => return Err(NoShape),
        };
        let protocol = match protocol {
            "p" => ProtocolMatch::One,
            "x" => ProtocolMatch::Any,
            _ => return Err(NoShape),
        };
        let bits = |text: &str, most: u8| text.parse().ok().filter(|bits| *bits <= most).ok_or(NoShape);
        Ok(Self {
            version,
            internal: bits(internal, version.address_bits())?,
            external: bits(external, version.address_bits())?,
            protocol,
            internal_port: bits(internal_port, PORT_BITS)?,
            external_port: bits(external_port, PORT_BITS)?,
        })
    }
}

/// A name that is not a shape's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoShape;

/// Returns the shapes and keys that together match exactly the packets of a rule.
pub(crate) fn matches(rule: &FilterRule) -> impl Iterator<Item = (Shape, Key)> + use<> {
    let (internal, external) = (rule.internal.network, rule.external.network);
    let protocol = rule.protocol;
    rule.port_pairs().flat_map(move |(internal_ports, external_ports)| {
        let pair = move |inside: PortBlock, outside: PortBlock| {
            let shape = Shape {
                version: internal.version(),
                internal: internal.prefix_length(),
                external: external.prefix_length(),
                protocol: if protocol.is_any() { ProtocolMatch::Any } else { ProtocolMatch::One },
                internal_port: inside.bits,
                external_port: outside.bits,
            };
            let mut key = Key::new();
            push_address(&mut key, &internal);
            push_address(&mut key, &external);
            key.extend_from_slice(&[protocol.get(), 0, 0, 0]);
            inside.push(&mut key);
            outside.push(&mut key);
            (shape, key)
        };
        let outside = blocks(external_ports);
        blocks(internal_ports)
            .into_iter()
            .flat_map(move |inside| outside.clone().into_iter().map(move |outside| pair(inside, outside)))
    })
}

/// Ports with the same leading bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PortBlock {
    first: u16,
    bits: u8,
}

impl PortBlock {
    fn push(self, key: &mut Key) {
        if self.bits != 0 {
            let [high, low] = self.first.to_be_bytes();
            key.extend_from_slice(&[high, low, 0, 0]);
        }
    }
}

/// Returns the fewest blocks that make up these ports: at most thirty.
fn blocks(ports: Ports) -> SmallVec<[PortBlock; 4]> {
    let mut found = SmallVec::new();
    let Ports::Range { first, .. } = ports else {
        found.push(PortBlock { first: 0, bits: 0 });
        return found;
    };
    let (mut from, last) = (u32::from(first), u32::from(ports.last()));
    while from <= last {
        let aligned = from.trailing_zeros().min(u32::from(PORT_BITS));
        let fitting = (last - from + 1).ilog2();
        let size = aligned.min(fitting);
        let bits = u8::try_from(u32::from(PORT_BITS) - size).unwrap_or(PORT_BITS);
        found.push(PortBlock { first: u16::try_from(from).unwrap_or(u16::MAX), bits });
        from += 1 << size;
    }
    found
}

fn push_address(key: &mut Key, network: &Network) {
    match (network.prefix_length(), network.address()) {
        (0, _) => {}
        (_, IpAddr::V4(address)) => key.extend_from_slice(&address.octets()),
        (_, IpAddr::V6(address)) => key.extend_from_slice(&address.octets()),
    }
}

/// Returns the number of octets of an address.
pub(crate) const fn address_bytes(version: IpVersion) -> u32 {
    match version {
        IpVersion::V4 => 4,
        IpVersion::V6 => 16,
    }
}

const fn all_ones(version: IpVersion) -> IpAddr {
    match version {
        IpVersion::V4 => IpAddr::V4(core::net::Ipv4Addr::BROADCAST),
        IpVersion::V6 => IpAddr::V6(core::net::Ipv6Addr::from_bits(u128::MAX)),
    }
}

const fn port_mask(bits: u8) -> u16 {
    match bits {
        0 => 0,
        bits => u16::MAX << (PORT_BITS - bits),
    }
}

const PORT_BITS: u8 = 16;
/// How nft numbers the types of fields, and joins them.
pub(crate) const TYPE_BITS: u32 = 6;
pub(crate) const TYPE_IPV4_ADDRESS: u32 = 7;
pub(crate) const TYPE_IPV6_ADDRESS: u32 = 8;
pub(crate) const TYPE_PROTOCOL: u32 = 12;
pub(crate) const TYPE_PORT: u32 = 13;

#[cfg(test)]
mod tests;
