//! The places at which a packet shows its internal and its external side.

use simco::{IpVersion, TransportProtocol};

use super::expression::{
    Comparison, ConnectionKey, ConnectionSide, Expressions, Meta, PacketField, Register,
};

/// The packet that is looked at, and the way it goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Passage {
    /// A packet from outside.
    In,
    /// A packet from inside.
    Out,
    /// An ICMP error about a flow that was begun from inside, as the connection tracker knows it: with the addresses that each
    /// end has of its own, whatever is translated on the way.
    BegunInside,
    /// An ICMP error about a flow that was begun from outside.
    BegunOutside,
}

/// Internal or external, whichever way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Internal,
    External,
}

impl Passage {
    pub(crate) const ALL: [Self; 4] = [Self::In, Self::Out, Self::BegunInside, Self::BegunOutside];

    /// Returns the beginning of its chains' names.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::BegunInside => "begun_inside",
            Self::BegunOutside => "begun_outside",
        }
    }

    /// Loads the address of a side.
    pub(crate) fn load_address(
        self,
        rule: &mut Expressions<'_, '_>,
        version: IpVersion,
        side: Side,
        register: Register,
    ) {
        let (source, destination, bytes, key) = match version {
            IpVersion::V4 => (12, 16, 4, ConnectionKey::SourceV4),
            IpVersion::V6 => (8, 24, 16, ConnectionKey::SourceV6),
        };
        match self.end(side) {
            End::Source => rule.payload(PacketField::network(source), bytes, register),
            End::Destination => rule.payload(PacketField::network(destination), bytes, register),
            End::Of(end) => rule.connection(key, Some(end), register),
        }
    }

    /// Loads the port of a side.
    pub(crate) fn load_port(self, rule: &mut Expressions<'_, '_>, side: Side, register: Register) {
        match self.end(side) {
            End::Source => rule.payload(PacketField::transport(0), 2, register),
            End::Destination => rule.payload(PacketField::transport(2), 2, register),
            End::Of(end) => rule.connection(ConnectionKey::SourcePort, Some(end), register),
        }
    }

    /// Loads the protocol.
    pub(crate) fn load_protocol(self, rule: &mut Expressions<'_, '_>, register: Register) {
        if self.is_error() {
            rule.connection(ConnectionKey::Protocol, None, register);
        } else {
            rule.meta(Meta::Protocol, register);
        }
    }

    /// Goes on with ICMP errors, if it is about those: nft understands the ports of a flow only where it knows which protocol
    /// the packet has.
    pub(crate) fn require_error(self, rule: &mut Expressions<'_, '_>, version: IpVersion) {
        if self.is_error() {
            rule.meta(Meta::Protocol, Register::FIRST);
            rule.compare(Register::FIRST, Comparison::Equal, &[icmp(version)]);
        }
    }

    /// Returns whether it looks at an ICMP error.
    pub(crate) const fn is_error(self) -> bool {
        match self {
            Self::In | Self::Out => false,
            Self::BegunInside | Self::BegunOutside => true,
        }
    }

    /// Returns where to find a side.
    const fn end(self, side: Side) -> End {
        match (self, side) {
            (Self::In, Side::External) | (Self::Out, Side::Internal) => End::Source,
            (Self::In, Side::Internal) | (Self::Out, Side::External) => End::Destination,
            (Self::BegunInside, Side::Internal) | (Self::BegunOutside, Side::External) => {
                End::Of(ConnectionSide::Original)
            }
            (Self::BegunInside, Side::External) | (Self::BegunOutside, Side::Internal) => {
                End::Of(ConnectionSide::Reply)
            }
        }
    }
}

/// An end of a packet or of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Source,
    Destination,
    /// The address from which the flow's packets of this direction come.
    Of(ConnectionSide),
}

/// Returns the protocol of ICMP.
pub(crate) const fn icmp(version: IpVersion) -> u8 {
    match version {
        IpVersion::V4 => TransportProtocol::ICMP.get(),
        IpVersion::V6 => ICMPV6,
    }
}

const ICMPV6: u8 = 58;
