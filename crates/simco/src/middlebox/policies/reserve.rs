//! PRR: addresses and ports are kept (RFC 4540 §8.2).

use core::num::NonZeroU16;
use std::sync::Arc;

use virtual_time::Instant;

use super::{Asker, Policies, permitted};
use crate::codepoints::NegativeCode;
use crate::filter::{Change, Mapping, Ports, Translation};
use crate::message::{PositiveReply, ReserveRequest, Reserved};
use crate::middlebox::translator::{Translator, Wanted};
use crate::numbers::TransportProtocol;
use crate::parameters::{IpVersions, NatMode, ReserveParameters};
use crate::rule::{PolicyRule, Reservation, RuleKind};
use crate::tuple::{AddressTuple, IpVersion, Location};

impl Policies {
    pub(super) fn reserve(
        &mut self,
        now: Instant,
        asker: Asker<'_>,
        request: &ReserveRequest,
    ) -> Result<PositiveReply<'static>, NegativeCode> {
        permitted(asker.policy.may_reserve)?;
        self.group_is_joinable(asker, request.group)?;
        let parameters = request.parameters;
        let (inside_version, outside_version) = self.versions(&parameters)?;
        self.against(asker).protocol(parameters.protocol)?;
        if parameters.port_range == 0 {
            return Err(NegativeCode::IllegalPortRange);
        }
        self.has_room(asker)?;
        let lifetime = self.grant(request.lifetime)?;
        let translation = match &self.translator {
            None => None,
            Some(translator) => {
                Some(reserve_translation(translator, &parameters, inside_version, outside_version)?)
            }
        };
        let protocol = parameters.protocol;
        let outside = match &translation {
            None => AddressTuple::protocols_only(Location::OUTSIDE, protocol, outside_version),
            Some(translation) => tuple_of(Location::OUTSIDE, protocol, &translation.outside),
        };
        let inside = translation.as_ref().and_then(|translation| translation.inside.as_ref());
        let inside = inside.map(|mapping| tuple_of(Location::INSIDE, protocol, mapping));
        let group = request.group.unwrap_or_else(|| self.rules.new_group_id());
        let id = self.rules.new_rule_id();
        self.stage(Change::Insert(Arc::new(PolicyRule {
            id,
            owner: asker.agent.clone(),
            created: now,
            deadline: now + lifetime.span(),
            kind: RuleKind::Reserve(Reservation { group, parameters, outside, inside, translation }),
        })));
        Ok(PositiveReply::Reserve(Reserved { rule: id, group, lifetime, outside, inside }))
    }

    /// Returns the versions inside and outside; equal, for nothing here translates one to the other. Ruling
    /// R12: the choice is reported, never "any".
    fn versions(&self, parameters: &ReserveParameters) -> Result<(IpVersion, IpVersion), NegativeCode> {
        let (inside, outside) = (self.capabilities.internal_versions, self.capabilities.external_versions);
        let common = IpVersions { v4: inside.v4 && outside.v4, v6: inside.v6 && outside.v6 };
        let asked = parameters.inside_version.or(parameters.outside_version);
        let version = asked.or(common.preferred()).ok_or(NegativeCode::IpVersionMismatch)?;
        let is_agreed = |asked: Option<IpVersion>| asked.is_none_or(|asked| asked == version);
        if common.contains(version)
            && is_agreed(parameters.inside_version)
            && is_agreed(parameters.outside_version)
        {
            Ok((version, version))
        } else {
            Err(NegativeCode::IpVersionMismatch)
        }
    }
}

fn reserve_translation(
    translator: &Translator,
    parameters: &ReserveParameters,
    inside_version: IpVersion,
    outside_version: IpVersion,
) -> Result<Translation, NegativeCode> {
    let inside_pool = match (parameters.nat_mode, &translator.inside) {
        (Some(NatMode::Traditional), _) => None,
        (Some(NatMode::Twice), Some(pool)) => Some(pool),
        (Some(NatMode::Twice), None) | (None, _) => return Err(NegativeCode::NatModeNotSupported),
    };
    let protocol = parameters.protocol;
    let count = NonZeroU16::new(parameters.port_range).ok_or(NegativeCode::IllegalPortRange)?;
    let wanted = match parameters.port_range {
        _ if !protocol.has_ports() => Wanted::Address,
        ReserveParameters::ALL_PORTS => Wanted::AllPorts,
        range if usize::from(range) > translator.outside.most_ports() => {
            return Err(NegativeCode::IllegalPortRange);
        }
        _ => Wanted::Ports { count, parity: parameters.parity },
    };
    let outside = translator.outside.choose(protocol, outside_version, wanted, None)?;
    let inside = inside_pool.map(|pool| pool.choose(protocol, inside_version, wanted, None)).transpose()?;
    Ok(Translation { protocol: occupied(protocol), outside, inside })
}

/// Returns the protocol whose ports a translation for `protocol` occupies: without ports, the address with
/// everything.
pub(super) const fn occupied(protocol: TransportProtocol) -> TransportProtocol {
    if protocol.has_ports() { protocol } else { TransportProtocol::ANY }
}

/// Returns the tuple that reports a mapping: full, of one host, lowest port and range (RFC 4540 §8.2, §8.4).
pub(super) fn tuple_of(location: Location, protocol: TransportProtocol, mapping: &Mapping) -> AddressTuple {
    let (port, range) = match mapping.ports {
        Ports::Any => (0, 1),
        Ports::Range { first, count } => (first, count.get()),
    };
    AddressTuple::host(location, protocol, mapping.address, port, range)
}
