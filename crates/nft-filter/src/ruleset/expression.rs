//! Rules as lists of expressions: load something into a register, compare it, look it up, decide.

use crate::netlink::{APPEND, Attributes, Batch, CREATE, data, message, rule};

/// Appends a rule to a chain.
pub(crate) fn append_rule(
    batch: &mut Batch,
    table: &str,
    chain: &str,
    write: impl FnOnce(&mut Expressions<'_, '_>),
) {
    batch.message(message::NEW_RULE, CREATE | APPEND, |attributes| {
        attributes.text(rule::TABLE, table);
        attributes.text(rule::CHAIN, chain);
        attributes.nested(rule::EXPRESSIONS, |list| write(&mut Expressions { list }));
    });
}

/// The expressions of a rule, in order. A comparison that fails ends the rule.
#[derive(Debug)]
pub(crate) struct Expressions<'a, 'b> {
    list: &'a mut Attributes<'b>,
}

impl Expressions<'_, '_> {
    /// Loads octets of the packet.
    pub(crate) fn payload(&mut self, from: PacketField, bytes: u32, into: Register) {
        self.expression("payload", |data| {
            data.u32(1, into.0);
            data.u32(2, from.base);
            data.u32(3, from.offset);
            data.u32(4, bytes);
        });
    }

    /// Loads something the kernel knows about the packet.
    pub(crate) fn meta(&mut self, key: Meta, into: Register) {
        self.expression("meta", |data| {
            data.u32(1, into.0);
            data.u32(2, key.code());
        });
    }

    /// Loads something the connection tracker knows of the packet's flow; ends the rule where there is no flow. That there is
    /// such a rule has the kernel put fragments together, of all packets.
    pub(crate) fn connection(&mut self, key: ConnectionKey, side: Option<ConnectionSide>, into: Register) {
        self.expression("ct", |data| {
            data.u32(1, into.0);
            data.u32(2, key.code());
            if let Some(side) = side {
                data.octets(3, &[side.code()]);
            }
        });
    }

    /// Loads a value.
    pub(crate) fn immediate(&mut self, value: &[u8], into: Register) {
        self.expression("immediate", |attributes| {
            attributes.u32(1, into.0);
            attributes.nested(2, |nested| nested.octets(data::VALUE, value));
        });
    }

    /// Sets bits of the packet's mark.
    pub(crate) fn mark(&mut self, bits: u32) {
        let register = Register::FIRST;
        self.expression("meta", |data| {
            data.u32(1, register.0);
            data.u32(2, Meta::MARK);
        });
        self.bits(register, &(!bits).to_ne_bytes(), &bits.to_ne_bytes());
        self.expression("meta", |data| {
            data.u32(2, Meta::MARK);
            data.u32(3, register.0);
        });
    }

    /// Keeps the bits of `mask`.
    pub(crate) fn mask(&mut self, register: Register, mask: &[u8]) {
        self.bits(register, mask, &[0; 16][..mask.len().min(16)]);
    }

    /// Keeps the bits of `mask`, and turns those of `flip` round.
    fn bits(&mut self, register: Register, mask: &[u8], flip: &[u8]) {
        self.expression("bitwise", |attributes| {
            attributes.u32(1, register.0);
            attributes.u32(2, register.0);
            attributes.u32(3, u32::try_from(mask.len()).unwrap_or(u32::MAX));
            attributes.nested(4, |nested| nested.octets(data::VALUE, mask));
            attributes.nested(5, |nested| nested.octets(data::VALUE, flip));
        });
    }

    /// Goes on if the register compares so.
    pub(crate) fn compare(&mut self, register: Register, comparison: Comparison, value: &[u8]) {
        self.expression("cmp", |attributes| {
            attributes.u32(1, register.0);
            attributes.u32(2, comparison.code());
            attributes.nested(3, |nested| nested.octets(data::VALUE, value));
        });
    }

    /// Goes on if the octets from `register` on are in the set, or are not.
    pub(crate) fn lookup(&mut self, set: &str, register: Register, membership: Membership) {
        self.expression("lookup", |attributes| {
            attributes.text(1, set);
            attributes.u32(2, register.0);
            if membership == Membership::Absent {
                attributes.u32(5, 1);
            }
        });
    }

    /// Goes on if the octets from `register` on are in the map, with what they map to in `into`.
    pub(crate) fn map(&mut self, map: &str, register: Register, into: Register) {
        self.expression("lookup", |attributes| {
            attributes.text(1, map);
            attributes.u32(2, register.0);
            attributes.u32(3, into.0);
        });
    }

    /// Translates to the address in a register, and to a port from one register to that in another.
    pub(crate) fn translate(
        &mut self,
        side: TranslatedSide,
        family: u8,
        address: Register,
        ports: Option<(Register, Register)>,
    ) {
        self.expression("nat", |attributes| {
            attributes.u32(1, side.code());
            attributes.u32(2, family.into());
            attributes.u32(3, address.0);
            attributes.u32(4, address.0);
            if let Some((first, last)) = ports {
                attributes.u32(5, first.0);
                attributes.u32(6, last.0);
            }
        });
    }

    /// Counts the packets that come so far, and their octets; `nft list` shows them.
    pub(crate) fn count(&mut self) {
        self.expression("counter", |_| ());
    }

    /// Writes a verdict, which decides.
    pub(crate) fn verdict(&mut self, verdict: Verdict<'_>) {
        self.expression("immediate", |attributes| {
            attributes.u32(1, Register::VERDICT.0);
            attributes.nested(2, |nested| nested.nested(data::VERDICT, |inner| verdict.write(inner)));
        });
    }

    fn expression(&mut self, name: &str, write: impl FnOnce(&mut Attributes<'_>)) {
        self.list.nested(rule::LIST_ELEMENT, |element| {
            element.text(rule::EXPRESSION_NAME, name);
            element.nested(rule::EXPRESSION_DATA, write);
        });
    }
}

/// A register of four octets, or the first of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register(u32);

impl Register {
    const VERDICT: Self = Self(0);
    /// The first of sixteen.
    pub(crate) const FIRST: Self = Self(8);

    /// Returns the register `bytes` octets further; a value takes whole registers.
    pub(crate) const fn after(self, bytes: u32) -> Self {
        Self(self.0 + bytes.div_ceil(4))
    }
}

/// The place of octets in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketField {
    base: u32,
    offset: u32,
}

impl PacketField {
    /// Creates the place at an offset from the start of the IP header.
    pub(crate) const fn network(offset: u32) -> Self {
        Self { base: 1, offset }
    }

    /// Creates the place at an offset from the start of what follows the IP header.
    pub(crate) const fn transport(offset: u32) -> Self {
        Self { base: 2, offset }
    }
}

/// A fact that the kernel knows about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meta {
    /// Interface it came in by, 16 octets.
    InputName,
    /// Interface it will go out by, 16 octets.
    OutputName,
    /// IPv4 or IPv6, one octet.
    Family,
    /// Protocol after the IP headers, one octet.
    Protocol,
}

/// A fact that the connection tracker knows about a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionKey {
    /// The direction of the packet in the flow, one octet: see [`ConnectionSide::code`].
    Direction,
    /// Protocol, one octet.
    Protocol,
    /// Port, two octets.
    SourcePort,
    /// Address, four octets.
    SourceV4,
    /// Address, sixteen octets.
    SourceV6,
}

impl ConnectionKey {
    const fn code(self) -> u32 {
        match self {
            Self::Direction => 1,
            Self::Protocol => 10,
            Self::SourcePort => 11,
            Self::SourceV4 => 19,
            Self::SourceV6 => 21,
        }
    }
}

/// A direction of a flow, and with it the end that packets of this direction come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionSide {
    /// The direction from whoever began the flow.
    Original,
    /// The direction back.
    Reply,
}

impl ConnectionSide {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Original => 0,
            Self::Reply => 1,
        }
    }
}

impl Meta {
    /// The packet's mark.
    const MARK: u32 = 3;

    const fn code(self) -> u32 {
        match self {
            Self::InputName => 6,
            Self::OutputName => 7,
            Self::Family => 15,
            Self::Protocol => 16,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    Different,
    AtMost,
    AtLeast,
}

impl Comparison {
    const fn code(self) -> u32 {
        match self {
            Self::Equal => 0,
            Self::Different => 1,
            Self::AtMost => 3,
            Self::AtLeast => 5,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Membership {
    Present,
    Absent,
}

/// The address of a packet that a translation changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TranslatedSide {
    Source,
    Destination,
}

impl TranslatedSide {
    const fn code(self) -> u32 {
        match self {
            Self::Source => 0,
            Self::Destination => 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict<'a> {
    Accept,
    Drop,
    /// The packet jumps to a chain, and back after its end.
    Jump(&'a str),
    /// The packet goes to a chain, without return.
    Goto(&'a str),
}

impl Verdict<'_> {
    fn write(self, attributes: &mut Attributes<'_>) {
        let (code, chain): (i32, Option<&str>) = match self {
            Self::Drop => (0, None),
            Self::Accept => (1, None),
            Self::Jump(chain) => (-3, Some(chain)),
            Self::Goto(chain) => (-4, Some(chain)),
        };
        attributes.octets(data::VERDICT_CODE, &code.to_be_bytes());
        if let Some(chain) = chain {
            attributes.text(data::VERDICT_CHAIN, chain);
        }
    }
}
