//! Whether the address tuples of a request can be (RFC 4540 §8.3 to §8.5, §8.8; RFC 5189 §2.3.6).
//!
//! The order of checks decides which code is sent: the first that fails.

use core::net::IpAddr;

use super::config::Realms;
use crate::codepoints::NegativeCode;
use crate::filter::{Network, Selector};
use crate::numbers::TransportProtocol;
use crate::parameters::{Capabilities, Direction, IpVersions};
use crate::tuple::{AddressTuple, Location};

/// What tuples are checked against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Against<'a> {
    pub(crate) capabilities: &'a Capabilities,
    pub(crate) realms: &'a Realms,
    pub(crate) protocols: Option<&'a [TransportProtocol]>,
}

impl Against<'_> {
    /// The checks that PER, PEA and PDR share.
    ///
    /// # Errors
    ///
    /// The code to send.
    pub(crate) fn tuples(
        &self,
        internal: &AddressTuple,
        external: &AddressTuple,
    ) -> Result<(), NegativeCode> {
        if internal.location != Location::INTERNAL || external.location != Location::EXTERNAL {
            return Err(NegativeCode::InconsistentRequest);
        }
        if internal.protocol != external.protocol {
            return Err(NegativeCode::InconsistentRequest);
        }
        ranges_agree(internal, external)?;
        self.protocol(internal.protocol)?;
        if internal.version() != external.version() {
            return Err(NegativeCode::IpVersionMismatch);
        }
        side(internal, self.capabilities.internal_versions, &self.realms.internal)?;
        side(external, self.capabilities.external_versions, &self.realms.external)?;
        let closed = |tuple: &AddressTuple| is_within(&self.realms.closed, tuple);
        if closed(internal) || closed(external) {
            return Err(NegativeCode::AddressSpaceNotAvailable);
        }
        self.wildcards(internal, external)
    }

    /// Whether the protocol is served.
    pub(crate) fn protocol(&self, protocol: TransportProtocol) -> Result<(), NegativeCode> {
        match self.protocols {
            Some(served) if !served.contains(&protocol) => Err(NegativeCode::ProtocolNotSupported),
            Some(_) | None => Ok(()),
        }
    }

    fn wildcards(&self, internal: &AddressTuple, external: &AddressTuple) -> Result<(), NegativeCode> {
        let supported = &self.capabilities.wildcards;
        let port = internal.has_port_wildcard() || external.has_port_wildcard();
        let unsupported = (internal.has_address_wildcard() && !supported.internal_address)
            || (external.has_address_wildcard() && !supported.external_address)
            || (port && !supported.port);
        if unsupported { Err(NegativeCode::WildcardNotSupported) } else { Ok(()) }
    }
}

/// Both ways at once allows no wildcard but the transport protocol (RFC 4540 §8.4; for PEA ruling R11).
pub(crate) fn direction(
    direction: Direction,
    internal: &AddressTuple,
    external: &AddressTuple,
) -> Result<(), NegativeCode> {
    let has_wildcard = |tuple: &AddressTuple| tuple.has_address_wildcard() || tuple.has_port_wildcard();
    match direction {
        Direction::BiDirectional if has_wildcard(internal) || has_wildcard(external) => {
            Err(NegativeCode::InconsistentRequest)
        }
        Direction::BiDirectional | Direction::Inbound | Direction::Outbound => Ok(()),
    }
}

/// Port ranges are equal unless a wildcard makes one meaningless (ruling R27).
fn ranges_agree(internal: &AddressTuple, external: &AddressTuple) -> Result<(), NegativeCode> {
    let (Some((_, port, range)), Some((_, other_port, other_range))) = (internal.full(), external.full())
    else {
        return Ok(());
    };
    let is_irrelevant = port == 0 || other_port == 0 || internal.protocol.is_any();
    if is_irrelevant || range == other_range || range == u16::MAX || other_range == u16::MAX {
        return Ok(());
    }
    Err(NegativeCode::InconsistentRequest)
}

/// One tuple by itself.
fn side(tuple: &AddressTuple, versions: IpVersions, realm: &[Network]) -> Result<(), NegativeCode> {
    if !versions.contains(tuple.version()) {
        return Err(NegativeCode::IpVersionMismatch);
    }
    let Some((address, port, range)) = tuple.full() else { return Ok(()) };
    if tuple.prefix_length > tuple.version().address_bits() {
        return Err(NegativeCode::IllegalAddress);
    }
    let is_host = !tuple.has_address_wildcard();
    if is_host && (!is_host_address(address) || !(realm.is_empty() || is_within(realm, tuple))) {
        return Err(NegativeCode::IllegalAddress);
    }
    ports(tuple.protocol, port, range)
}

fn ports(protocol: TransportProtocol, port: u16, range: u16) -> Result<(), NegativeCode> {
    if protocol.is_any() {
        return Ok(());
    }
    if !protocol.has_ports() {
        return if port == 0 { Ok(()) } else { Err(NegativeCode::IllegalPort) };
    }
    match (port, range) {
        (0, _) => Ok(()),
        (_, 0) => Err(NegativeCode::IllegalPortRange),
        (port, range) if port.checked_add(range - 1).is_none() => Err(NegativeCode::IllegalPort),
        (_, _) => Ok(()),
    }
}

/// Whether it can be the address of one host.
fn is_host_address(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast
}

/// Whether all addresses of the tuple lie in one of these networks.
fn is_within(networks: &[Network], tuple: &AddressTuple) -> bool {
    let network = Selector::of(tuple).network;
    let covers =
        |each: &Network| each.prefix_length() <= network.prefix_length() && each.contains(network.address());
    networks.iter().any(covers)
}
