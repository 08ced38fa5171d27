//! Whether the address tuples of a request can be (RFC 4540 §8.3 to §8.5, §8.8; RFC 5189 §2.3.6).
//!
//! The order of checks decides which code is sent: the first that fails.

use core::net::IpAddr;

use super::config::{Realms, Scope};
use crate::codepoints::NegativeCode;
use crate::filter::{Network, Ports, Selector};
use crate::numbers::TransportProtocol;
use crate::parameters::{Capabilities, Direction, IpVersions};
use crate::tuple::{AddressTuple, Location};

/// The rules of the middlebox and the agent against which tuples are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Against<'a> {
    pub(crate) capabilities: &'a Capabilities,
    pub(crate) realms: &'a Realms,
    pub(crate) protocols: Option<&'a [TransportProtocol]>,
    /// The scope to which the agent is confined beyond that.
    pub(crate) scope: &'a Scope,
}

/// The purpose of a pair of tuples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Packets are to pass: nothing closed may be touched.
    Open,
    /// Packets are not to pass: something must be there that is not closed anyway.
    Block,
}

impl Against<'_> {
    /// Checks what PER, PEA and PDR share. Whatever a wildcard matches has to be allowed.
    ///
    /// # Errors
    ///
    /// The code to send.
    pub(crate) fn tuples(
        &self,
        purpose: Purpose,
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
        side(internal, self.capabilities.internal_versions)?;
        side(external, self.capabilities.external_versions)?;
        for realms in [self.realms, &self.scope.realms] {
            if !is_allowed(&realms.internal, internal) || !is_allowed(&realms.external, external) {
                return Err(NegativeCode::IllegalAddress);
            }
            let closed = |tuple: &AddressTuple| {
                let network = Selector::of(tuple).network;
                match purpose {
                    Purpose::Open => realms.closed.iter().any(|closed| closed.overlaps(&network)),
                    Purpose::Block => covers(&realms.closed, network),
                }
            };
            if closed(internal) || closed(external) {
                return Err(NegativeCode::AddressSpaceNotAvailable);
            }
        }
        self.scoped_ports(internal)?;
        self.wildcards(internal, external)
    }

    /// Checks that every internal port is one the agent may name.
    fn scoped_ports(&self, internal: &AddressTuple) -> Result<(), NegativeCode> {
        let Some(allowed) = &self.scope.ports else { return Ok(()) };
        if !internal.protocol.is_any() && !internal.protocol.has_ports() {
            return Ok(());
        }
        match Selector::of(internal).ports {
            ports @ Ports::Range { first, .. }
                if allowed.contains(&first) && allowed.contains(&ports.last()) =>
            {
                Ok(())
            }
            Ports::Range { .. } | Ports::Any => Err(NegativeCode::IllegalPort),
        }
    }

    /// Returns whether the protocol is served.
    pub(crate) fn protocol(&self, protocol: TransportProtocol) -> Result<(), NegativeCode> {
        let lacks =
            |served: Option<&[TransportProtocol]>| served.is_some_and(|served| !served.contains(&protocol));
        if lacks(self.protocols) || lacks(self.scope.protocols.as_deref()) {
            return Err(NegativeCode::ProtocolNotSupported);
        }
        Ok(())
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

/// Checks the direction: both ways at once allows no wildcard but the transport protocol (RFC 4540 §8.4; for
/// PEA ruling R11).
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

/// Checks that port ranges are equal unless a wildcard makes one meaningless (ruling R27).
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

/// Checks one tuple by itself.
fn side(tuple: &AddressTuple, versions: IpVersions) -> Result<(), NegativeCode> {
    if !versions.contains(tuple.version()) {
        return Err(NegativeCode::IpVersionMismatch);
    }
    let Some((address, port, range)) = tuple.full() else { return Ok(()) };
    if tuple.prefix_length > tuple.version().address_bits() {
        return Err(NegativeCode::IllegalAddress);
    }
    let is_host = !tuple.has_address_wildcard();
    if is_host && !is_host_address(address) {
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

/// Returns whether it can be the address of one host.
fn is_host_address(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast
}

/// Returns whether all addresses of the tuple lie in these networks; without any, every address is allowed.
fn is_allowed(realm: &[Network], tuple: &AddressTuple) -> bool {
    realm.is_empty() || covers(realm, Selector::of(tuple).network)
}

/// Returns whether the networks together have all addresses of `network`. Halves it only where one of them
/// begins within.
fn covers(networks: &[Network], network: Network) -> bool {
    let contains =
        |each: &Network| each.prefix_length() <= network.prefix_length() && each.contains(network.address());
    if networks.iter().any(contains) {
        return true;
    }
    networks.iter().any(|each| each.overlaps(&network))
        && network.halves().is_some_and(|halves| halves.into_iter().all(|half| covers(networks, half)))
}
