//! PER and PEA: a pinhole opens (RFC 4540 §8.4, §8.5).

use core::net::IpAddr;
use std::sync::Arc;

use virtual_time::Instant;

use super::reserve::{occupied, tuple_of};
use super::{Asker, Policies, permitted};
use crate::codepoints::NegativeCode;
use crate::filter::{Change, FilterRule, Mapping, Ports, Selector, Translation};
use crate::message::{EnableRequest, Enabled, PositiveReply};
use crate::middlebox::checks::{self, Purpose};
use crate::middlebox::translator::{PoolUse, Translator, Wanted};
use crate::numbers::{GroupId, Lifetime, PolicyRuleId, TransportProtocol};
use crate::parameters::{Direction, EnableParity, ReserveParity};
use crate::rule::{Owner, Pinhole, PolicyRule, Reservation, RuleKind};
use crate::tuple::{IpVersion, Location};

impl Policies {
    pub(super) fn enable(
        &mut self,
        now: Instant,
        asker: Asker<'_>,
        request: &EnableRequest,
    ) -> Result<PositiveReply<'static>, NegativeCode> {
        permitted(asker.policy.may_enable)?;
        self.group_is_joinable(asker, request.group)?;
        self.check_pinhole(asker, request)?;
        self.has_room(asker)?;
        let lifetime = self.grant(request.lifetime)?;
        let translation = self.translation(request)?;
        let group = request.group.unwrap_or_else(|| self.rules.new_group_id());
        let id = self.rules.new_rule_id();
        let rule = rule(id, now, lifetime, asker.agent, pinhole(request, group, translation));
        let reply = enabled(&rule, lifetime);
        self.stage(Change::Insert(rule));
        reply
    }

    pub(super) fn enable_reserved(
        &mut self,
        now: Instant,
        asker: Asker<'_>,
        id: PolicyRuleId,
        request: &EnableRequest,
    ) -> Result<PositiveReply<'static>, NegativeCode> {
        permitted(asker.policy.may_enable)?;
        let old = Arc::clone(self.rules.rule(id).ok_or(NegativeCode::NoSuchRule)?);
        let RuleKind::Reserve(reservation) = old.kind else {
            return Err(NegativeCode::InconsistentRequest);
        };
        self.accessible(asker, id)?;
        self.check_pinhole(asker, request)?;
        agrees_with(request, &reservation)?;
        let lifetime = self.grant(request.lifetime)?;
        let mut new = rule(id, now, lifetime, &old.owner, pinhole(request, reservation.group, None));
        let reserved = Arc::get_mut(&mut new).ok_or(NegativeCode::ConfigurationFailed)?;
        reserved.created = old.created;
        if let (RuleKind::Enable(pinhole), Some(translation)) = (&mut reserved.kind, reservation.translation)
        {
            pinhole.translation = Some(translation);
            pinhole.outside = reservation.outside;
            pinhole.inside = reservation.inside;
            self.reserved_translation_fits(request, reserved)?;
        }
        let reply = enabled(&new, lifetime);
        self.stage(Change::Replace { old, new });
        reply
    }

    fn check_pinhole(&self, asker: Asker<'_>, request: &EnableRequest) -> Result<(), NegativeCode> {
        let EnableRequest { internal, external, parameters, .. } = request;
        self.against(asker).tuples(Purpose::Open, internal, external)?;
        checks::direction(parameters.direction, internal, external)?;
        let wanted = filter_rule_of(request);
        if self.rules.blocks().any(|block| block.overlaps(&wanted)) {
            return Err(NegativeCode::Conflict);
        }
        Ok(())
    }

    /// Returns what a translator makes of the endpoints; `None` on a firewall.
    fn translation(&self, request: &EnableRequest) -> Result<Option<Translation>, NegativeCode> {
        let Some(translator) = &self.translator else { return Ok(None) };
        let wanted = filter_rule_of(request);
        // Ruling R26: a wildcard has no binding.
        let host = wanted.internal.network.host().ok_or(NegativeCode::WildcardNotSupported)?;
        let existing = || self.rules.translated(host).filter_map(|rule| rule.filter_rule());
        let is_twice = translator.inside.is_some();
        let serves = |rule: &FilterRule| {
            rule.protocol == wanted.protocol
                && rule.internal == wanted.internal
                && (!is_twice || rule.external == wanted.external)
                && has_parity(request, rule.translation.as_ref())
        };
        let near =
            existing().find_map(|rule| rule.translation).map(|translation| translation.outside.address);
        let translation = match existing().find(serves).and_then(|rule| rule.translation) {
            Some(same) => same,
            None => choose(translator, request, &wanted, near)?,
        };
        let wanted = FilterRule { translation: Some(translation), ..wanted };
        if existing().any(|rule| contradict(&rule, &wanted)) {
            return Err(NegativeCode::Conflict);
        }
        Ok(Some(translation))
    }

    /// Checks that a reservation's ports and addresses suit the pinhole that takes it over.
    fn reserved_translation_fits(
        &self,
        request: &EnableRequest,
        new: &PolicyRule,
    ) -> Result<(), NegativeCode> {
        let wanted = new.filter_rule().ok_or(NegativeCode::ConfigurationFailed)?;
        let host = wanted.internal.network.host().ok_or(NegativeCode::WildcardNotSupported)?;
        let is_twice = wanted.translation.is_some_and(|translation| translation.inside.is_some());
        if is_twice && wanted.external.network.host().is_none() {
            return Err(NegativeCode::WildcardNotSupported);
        }
        if !has_parity(request, wanted.translation.as_ref()) {
            return Err(NegativeCode::ParityMismatch);
        }
        for (tuple, selector) in [(&request.internal, wanted.internal), (&request.external, wanted.external)]
        {
            // The range of the reservation prevails, and may not fit behind the port.
            if let (Some((_, port, _)), Ports::Range { count, .. }) = (tuple.full(), selector.ports)
                && port.checked_add(count.get() - 1).is_none()
            {
                return Err(NegativeCode::IllegalPort);
            }
        }
        let mut others = self.rules.translated(host).filter_map(|rule| rule.filter_rule());
        if others.any(|rule| contradict(&rule, &wanted)) { Err(NegativeCode::Conflict) } else { Ok(()) }
    }
}

/// Checks that the request does not ask for something else than the reservation fixed (RFC 5189 §2.3.9).
fn agrees_with(request: &EnableRequest, reservation: &Reservation) -> Result<(), NegativeCode> {
    let reserved = reservation.parameters.protocol;
    if !reserved.is_any() && reserved != request.internal.protocol {
        return Err(NegativeCode::ProtocolMismatch);
    }
    if reservation.outside.version() != request.external.version() {
        return Err(NegativeCode::IpVersionMismatch);
    }
    Ok(())
}

/// Chooses new addresses and ports for a pinhole.
fn choose(
    translator: &Translator,
    request: &EnableRequest,
    wanted: &FilterRule,
    near: Option<IpAddr>,
) -> Result<Translation, NegativeCode> {
    let (protocol, parity) = (wanted.protocol, request.parameters.parity);
    // Ruling R15: the outside tuple has the version of A3, the inside tuple that of A0.
    let version = request.external.version();
    let outside = match (wanted.internal.ports, request.parameters.direction) {
        (Ports::Any, Direction::Outbound) if protocol.has_ports() => {
            translator.outside.shared(version, near)?
        }
        (Ports::Any, _) if protocol.has_ports() => return Err(NegativeCode::WildcardNotSupported),
        (ports, _) => choose_for(&translator.outside, protocol, version, ports, parity, near)?,
    };
    let Some(pool) = &translator.inside else {
        return Ok(Translation { protocol: occupied(protocol), outside, inside: None });
    };
    if wanted.external.network.host().is_none() {
        return Err(NegativeCode::WildcardNotSupported);
    }
    let version = request.internal.version();
    let inside = choose_for(pool, protocol, version, wanted.external.ports, parity, None)?;
    Ok(Translation { protocol: occupied(protocol), outside, inside: Some(inside) })
}

fn choose_for(
    pool: &PoolUse,
    protocol: TransportProtocol,
    version: IpVersion,
    ports: Ports,
    parity: EnableParity,
    near: Option<IpAddr>,
) -> Result<Mapping, NegativeCode> {
    let wanted = match ports {
        Ports::Any if protocol.has_ports() => Wanted::AllPorts,
        Ports::Any => Wanted::Address,
        Ports::Range { first, count } => {
            let parity = match (parity, first.is_multiple_of(2)) {
                (EnableParity::Any, _) => ReserveParity::Any,
                (EnableParity::Same, true) => ReserveParity::Even,
                (EnableParity::Same, false) => ReserveParity::Odd,
            };
            Wanted::Ports { count, parity }
        }
    };
    pool.choose(protocol, version, wanted, near)
}

/// Returns whether parity "same" holds: of A0 and A2, and of A1 and A3 (RFC 5189 §2.3.5).
fn has_parity(request: &EnableRequest, translation: Option<&Translation>) -> bool {
    let (EnableParity::Same, Some(translation)) = (request.parameters.parity, translation) else {
        return true;
    };
    let same = |selector: Selector, mapping: Option<Mapping>| match (selector.ports, mapping) {
        (Ports::Range { first, .. }, Some(Mapping { ports: Ports::Range { first: mapped, .. }, .. })) => {
            first % 2 == mapped % 2
        }
        (Ports::Any | Ports::Range { .. }, _) => true,
    };
    same(Selector::of(&request.internal), Some(translation.outside))
        && same(Selector::of(&request.external), translation.inside)
}

/// Returns whether some packet would be translated in two ways (RFC 5189 §2.3.9). An address that is shared
/// agrees with any of its ports.
fn contradict(one: &FilterRule, other: &FilterRule) -> bool {
    let (Some(mine), Some(theirs)) = (&one.translation, &other.translation) else { return false };
    let agree = |a: Option<Mapping>, b: Option<Mapping>| match (a, b) {
        (Some(a), Some(b)) => {
            a == b || (a.address == b.address && (a.ports == Ports::Any || b.ports == Ports::Any))
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    let agreed = agree(Some(mine.outside), Some(theirs.outside)) && agree(mine.inside, theirs.inside);
    !agreed && one.overlaps(other)
}

fn filter_rule_of(request: &EnableRequest) -> FilterRule {
    FilterRule {
        id: PolicyRuleId::default(),
        action: crate::filter::FilterAction::Open(request.parameters.direction),
        protocol: request.internal.protocol,
        internal: Selector::of(&request.internal),
        external: Selector::of(&request.external),
        translation: None,
        deadline: Instant::MAX,
    }
}

/// Creates a pinhole with the tuples to report: a firewall's are those it was asked for (ruling R13); a
/// traditional NAT leaves A1 out (ruling R3).
fn pinhole(request: &EnableRequest, group: GroupId, translation: Option<Translation>) -> Pinhole {
    let EnableRequest { parameters, internal, external, .. } = *request;
    let protocol = internal.protocol;
    let (outside, inside) = match &translation {
        None => (internal.at(Location::OUTSIDE), Some(external.at(Location::INSIDE))),
        Some(Translation { outside, inside, .. }) => {
            let inside = inside.as_ref().map(|mapping| tuple_of(Location::INSIDE, protocol, mapping));
            (tuple_of(Location::OUTSIDE, protocol, outside), inside)
        }
    };
    Pinhole { group, parameters, internal, external, outside, inside, translation }
}

fn rule(
    id: PolicyRuleId,
    now: Instant,
    lifetime: Lifetime,
    owner: &Owner,
    pinhole: Pinhole,
) -> Arc<PolicyRule> {
    let deadline = now + lifetime.span();
    Arc::new(PolicyRule { id, owner: owner.clone(), created: now, deadline, kind: RuleKind::Enable(pinhole) })
}

fn enabled(rule: &PolicyRule, lifetime: Lifetime) -> Result<PositiveReply<'static>, NegativeCode> {
    let RuleKind::Enable(Pinhole { group, outside, inside, .. }) = rule.kind else {
        return Err(NegativeCode::ConfigurationFailed);
    };
    Ok(PositiveReply::Enable(Enabled { rule: rule.id, group, lifetime, outside, inside }))
}
