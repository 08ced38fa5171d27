//! Policy rules as the middlebox keeps them (RFC 4540 §6.3, §8).

use core::fmt;
use std::sync::Arc;

use virtual_time::Instant;

use crate::codepoints::OWNER_BYTES;
use crate::filter::{FilterAction, FilterRule, Selector, Translation};
use crate::message::{DisableStatus, EnableStatus, Enabled, PositiveReply, ReserveStatus, Reserved};
use crate::numbers::{GroupId, Lifetime, PolicyRuleId};
use crate::parameters::{EnableParameters, ReserveParameters};
use crate::tuple::AddressTuple;

/// A policy rule: everything that has to be known to go on with it after a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyRule {
    /// The identifier of the rule, unique over the whole middlebox.
    pub id: PolicyRuleId,
    /// The agent that created it; never changes.
    pub owner: Owner,
    /// The time at which the rule was made.
    pub created: Instant,
    /// The time at which the rule ends.
    pub deadline: Instant,
    /// The kind of the rule, with what only that has.
    pub kind: RuleKind,
}

/// The kind of a policy rule: a reservation, a pinhole or a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleKind {
    /// Addresses and ports are kept; no packet passes.
    Reserve(Reservation),
    /// An enable rule: its packets pass.
    Enable(Pinhole),
    /// A disable rule: its packets are blocked.
    Disable(Blockade),
}

/// Addresses and ports that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The group that the rule belongs to.
    pub group: GroupId,
    /// The parameters of the request.
    pub parameters: ReserveParameters,
    /// The reserved address and ports outside, A2, as in the reply.
    pub outside: AddressTuple,
    /// The reserved address and ports inside, A1, as in the reply.
    pub inside: Option<AddressTuple>,
    /// The translation that the translator keeps; `None` on a mere firewall.
    pub translation: Option<Translation>,
}

/// A way through for packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pinhole {
    /// The group that the rule belongs to.
    pub group: GroupId,
    /// The parameters of the request.
    pub parameters: EnableParameters,
    /// The internal endpoint as in the request, A0.
    pub internal: AddressTuple,
    /// The external endpoint as in the request, A3.
    pub external: AddressTuple,
    /// The address and ports that the external endpoint talks to, A2, as in the reply.
    pub outside: AddressTuple,
    /// The address and ports that the internal endpoint talks to, A1, as in the reply.
    pub inside: Option<AddressTuple>,
    /// How packets are translated; `None` on a mere firewall.
    pub translation: Option<Translation>,
}

/// Packets that may not pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blockade {
    /// The internal endpoint as in the request, A0.
    pub internal: AddressTuple,
    /// The external endpoint as in the request, A3.
    pub external: AddressTuple,
}

impl PolicyRule {
    /// Returns the group, which all but disable rules have.
    #[must_use]
    pub const fn group(&self) -> Option<GroupId> {
        match &self.kind {
            RuleKind::Reserve(reservation) => Some(reservation.group),
            RuleKind::Enable(pinhole) => Some(pinhole.group),
            RuleKind::Disable(_) => None,
        }
    }

    /// Returns the translation that the translator keeps for the rule, if any.
    #[must_use]
    pub const fn translation(&self) -> Option<&Translation> {
        match &self.kind {
            RuleKind::Reserve(reservation) => reservation.translation.as_ref(),
            RuleKind::Enable(pinhole) => pinhole.translation.as_ref(),
            RuleKind::Disable(_) => None,
        }
    }

    /// Returns what the packet filter has to do for it; `None` for reservations, which no packet notices.
    #[must_use]
    pub fn filter_rule(&self) -> Option<FilterRule> {
        let (action, internal, external, translation) = match &self.kind {
            RuleKind::Reserve(_) => return None,
            RuleKind::Enable(pinhole) => {
                let action = FilterAction::Open(pinhole.parameters.direction);
                (action, pinhole.internal, pinhole.external, pinhole.translation)
            }
            RuleKind::Disable(block) => (FilterAction::Block, block.internal, block.external, None),
        };
        // Of a reservation the number of ports prevails over what the request for the pinhole says.
        let reserved = translation.map(|translation| translation.outside.ports);
        Some(FilterRule {
            id: self.id,
            action,
            protocol: internal.protocol,
            internal: Selector::of(&internal).as_many_as(reserved),
            external: Selector::of(&external).as_many_as(reserved),
            translation,
            deadline: self.deadline,
        })
    }

    /// Returns the lifetime that remains at `now`.
    #[must_use]
    pub fn remaining(&self, now: Instant) -> Lifetime {
        Lifetime::remaining(self.deadline.since(now))
    }

    /// Returns the reply to a status request (PRS) about the rule: PRS, PES or PDS (RFC 4540 §8.7).
    #[must_use]
    pub fn status(&self, now: Instant) -> PositiveReply<'_> {
        let (rule, lifetime, owner) = (self.id, self.remaining(now), self.owner.octets());
        match self.kind {
            RuleKind::Reserve(Reservation { group, outside, inside, .. }) => {
                let reserved = Reserved { rule, group, lifetime, outside, inside };
                PositiveReply::ReserveStatus(ReserveStatus { reserved, owner })
            }
            RuleKind::Enable(Pinhole { group, parameters, internal, external, outside, inside, .. }) => {
                let enabled = Enabled { rule, group, lifetime, outside, inside };
                PositiveReply::EnableStatus(EnableStatus { parameters, internal, external, enabled, owner })
            }
            RuleKind::Disable(Blockade { internal, external }) => {
                PositiveReply::DisableStatus(DisableStatus { rule, internal, external, lifetime, owner })
            }
        }
    }
}

/// The identity of the agent that created a rule (RFC 4540 §4.2.8): at most 255 octets. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<[u8]>);

impl Owner {
    /// Creates an owner with this identity.
    ///
    /// # Errors
    ///
    /// It is longer than 255 octets.
    pub fn new(identity: &[u8]) -> Result<Self, OwnerTooLong> {
        if identity.len() > OWNER_BYTES {
            return Err(OwnerTooLong { length: identity.len() });
        }
        Ok(Self(Arc::from(identity)))
    }

    /// Returns the octets of the identity.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.0
    }
}

/// As text; octets that are no text are escaped.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({self})")
    }
}

/// An identity that is too long to be an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an identity of {length} octets, at most 255 are allowed")]
pub struct OwnerTooLong {
    /// The length of the identity in octets.
    pub length: usize,
}
