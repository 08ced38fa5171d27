//! Positive replies (RFC 4540 §5.3).

use super::RuleIds;
use crate::attributes::{AttributeWriter, Attributes};
use crate::codepoints::{AttributeType, PositiveType};
use crate::error::{AttributeError, DecodeError, EncodeError};
use crate::numbers::{GroupId, Lifetime, PolicyRuleId};
use crate::parameters::{Capabilities, EnableParameters};
use crate::tuple::{AddressTuple, Location};

/// A reply that says that the request was met, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PositiveReply<'a> {
    /// The session is open (reply to SE).
    SessionEstablishment {
        /// The abilities of the middlebox.
        capabilities: Capabilities,
    },
    /// SA: authentication first. Has a challenge or a token or both.
    SessionAuthentication {
        /// The challenge that the agent has to answer.
        challenge: Option<&'a [u8]>,
        /// The answer to the agent's challenge; empty if the middlebox has none.
        token: Option<&'a [u8]>,
    },
    /// The session is over (reply to ST).
    SessionTermination,
    /// A reserve rule was made (reply to PRR).
    Reserve(Reserved),
    /// An enable rule was made (reply to PER and PEA).
    Enable(Enabled),
    /// A disable rule was made (reply to PDR).
    Disable {
        /// The identifier of the new rule.
        rule: PolicyRuleId,
        /// The lifetime that was granted.
        lifetime: Lifetime,
    },
    /// The lifetime of a rule was changed (reply to PLC).
    LifetimeChange {
        /// The lifetime that was granted, not zero.
        lifetime: Lifetime,
    },
    /// The rule was deleted (PRD, a reply to PLC).
    Deletion,
    /// The rule is a reserve rule (PRS, a reply to PRS).
    ReserveStatus(ReserveStatus<'a>),
    /// The rule is an enable rule (PES, a reply to PRS).
    EnableStatus(EnableStatus<'a>),
    /// The rule is a disable rule (PDS, a reply to PRS).
    DisableStatus(DisableStatus<'a>),
    /// The identifiers of all rules that the agent may access (reply to PRL).
    List(RuleIds<'a>),
}

/// The content of the reply to PRR: a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserved {
    /// The identifier of the new rule.
    pub rule: PolicyRuleId,
    /// The group that the rule belongs to.
    pub group: GroupId,
    /// The lifetime that was granted.
    pub lifetime: Lifetime,
    /// The reserved address and ports outside, A2.
    pub outside: AddressTuple,
    /// The reserved address and ports inside, A1; of twice NAT only.
    pub inside: Option<AddressTuple>,
}

/// The content of the reply to PER and PEA: a pinhole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enabled {
    /// The identifier of the rule.
    pub rule: PolicyRuleId,
    /// The group that the rule belongs to.
    pub group: GroupId,
    /// The lifetime that was granted.
    pub lifetime: Lifetime,
    /// The address and ports that the external endpoint talks to, A2.
    pub outside: AddressTuple,
    /// A1; a traditional NAT leaves it out (ruling R3), and it is A3 then.
    pub inside: Option<AddressTuple>,
}

/// The status of a reserve rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReserveStatus<'a> {
    /// The content of the reply to PRR, with what remains of the lifetime.
    pub reserved: Reserved,
    /// The identity of the agent that owns the rule.
    pub owner: &'a [u8],
}

/// The status of an enable rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnableStatus<'a> {
    /// The parameters of the request.
    pub parameters: EnableParameters,
    /// The internal endpoint as in the request, A0.
    pub internal: AddressTuple,
    /// The external endpoint as in the request, A3.
    pub external: AddressTuple,
    /// The content of the reply to PER, with what remains of the lifetime.
    pub enabled: Enabled,
    /// The identity of the agent that owns the rule.
    pub owner: &'a [u8],
}

/// The status of a disable rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DisableStatus<'a> {
    /// The identifier of the rule.
    pub rule: PolicyRuleId,
    /// The internal endpoint as in the request, A0.
    pub internal: AddressTuple,
    /// The external endpoint as in the request, A3.
    pub external: AddressTuple,
    /// The lifetime that remains.
    pub lifetime: Lifetime,
    /// The identity of the agent that owns the rule.
    pub owner: &'a [u8],
}

impl<'a> PositiveReply<'a> {
    /// Reads the attributes of a reply of this sub-type.
    ///
    /// # Errors
    ///
    /// [`DecodeError::UnknownSubType`], or [`DecodeError::Attribute`] if they do not fit.
    pub fn decode(sub_type: u8, payload: &'a [u8]) -> Result<Self, DecodeError> {
        let kind = PositiveType::from_value(sub_type);
        let kind = kind.ok_or(DecodeError::UnknownSubType { found: sub_type })?;
        if kind == PositiveType::List {
            return Ok(Self::List(RuleIds::decode(payload)?));
        }
        let mut attributes = Attributes::collect(payload)?;
        let reply = Self::take(kind, &mut attributes)?;
        attributes.finish()?;
        Ok(reply)
    }

    fn take(kind: PositiveType, from: &mut Attributes<'a>) -> Result<Self, AttributeError> {
        Ok(match kind {
            PositiveType::SessionEstablishment => {
                Self::SessionEstablishment { capabilities: from.capabilities()? }
            }
            PositiveType::SessionAuthentication => match (from.challenge(), from.token()) {
                (None, None) => return Err(AttributeError::Missing { kind: AttributeType::Challenge }),
                (challenge, token) => Self::SessionAuthentication { challenge, token },
            },
            PositiveType::SessionTermination => Self::SessionTermination,
            PositiveType::Reserve => Self::Reserve(Reserved::take(from)?),
            PositiveType::Enable => Self::Enable(Enabled::take(from)?),
            PositiveType::Disable => Self::Disable { rule: from.rule()?, lifetime: from.lifetime()? },
            PositiveType::LifetimeChange => Self::LifetimeChange { lifetime: from.lifetime()? },
            PositiveType::Deletion => Self::Deletion,
            PositiveType::ReserveStatus => {
                Self::ReserveStatus(ReserveStatus { reserved: Reserved::take(from)?, owner: from.owner()? })
            }
            PositiveType::EnableStatus => Self::EnableStatus(EnableStatus::take(from)?),
            PositiveType::DisableStatus => Self::DisableStatus(DisableStatus {
                rule: from.rule()?,
                internal: from.tuple_at(Location::INTERNAL)?,
                external: from.tuple_at(Location::EXTERNAL)?,
                lifetime: from.lifetime()?,
                owner: from.owner()?,
            }),
            PositiveType::List => Self::List(RuleIds::of(&[])),
        })
    }

    /// Returns the type of the reply.
    #[must_use]
    pub const fn sub_type(&self) -> PositiveType {
        match self {
            Self::SessionEstablishment { .. } => PositiveType::SessionEstablishment,
            Self::SessionAuthentication { .. } => PositiveType::SessionAuthentication,
            Self::SessionTermination => PositiveType::SessionTermination,
            Self::Reserve(_) => PositiveType::Reserve,
            Self::Enable(_) => PositiveType::Enable,
            Self::Disable { .. } => PositiveType::Disable,
            Self::LifetimeChange { .. } => PositiveType::LifetimeChange,
            Self::Deletion => PositiveType::Deletion,
            Self::ReserveStatus(_) => PositiveType::ReserveStatus,
            Self::EnableStatus(_) => PositiveType::EnableStatus,
            Self::DisableStatus(_) => PositiveType::DisableStatus,
            Self::List(_) => PositiveType::List,
        }
    }

    pub(super) fn encode_attributes(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut to = AttributeWriter::new(out);
        match self {
            Self::SessionEstablishment { capabilities } => to.capabilities(*capabilities),
            Self::SessionAuthentication { challenge, token } => {
                to.challenge(*challenge)?;
                to.token(*token)?;
            }
            Self::SessionTermination | Self::Deletion => {}
            Self::Reserve(reserved) => reserved.encode(&mut to),
            Self::Enable(enabled) => enabled.encode(&mut to),
            Self::Disable { rule, lifetime } => {
                to.rule(*rule);
                to.lifetime(*lifetime);
            }
            Self::LifetimeChange { lifetime } => to.lifetime(*lifetime),
            Self::ReserveStatus(status) => {
                status.reserved.encode(&mut to);
                to.owner(status.owner)?;
            }
            Self::EnableStatus(status) => status.encode(&mut to)?,
            Self::DisableStatus(status) => {
                to.rule(status.rule);
                to.tuple(&status.internal);
                to.tuple(&status.external);
                to.lifetime(status.lifetime);
                to.owner(status.owner)?;
            }
            Self::List(rules) => rules.iter().for_each(|rule| to.rule(rule)),
        }
        Ok(())
    }
}

impl Reserved {
    fn take(from: &mut Attributes<'_>) -> Result<Self, AttributeError> {
        Ok(Self {
            rule: from.rule()?,
            group: from.group()?,
            lifetime: from.lifetime()?,
            outside: from.tuple_at(Location::OUTSIDE)?,
            inside: from.optional_tuple_at(Location::INSIDE),
        })
    }

    fn encode(&self, to: &mut AttributeWriter<'_>) {
        to.rule(self.rule);
        to.group(self.group);
        to.lifetime(self.lifetime);
        to.tuple(&self.outside);
        to.optional_tuple(self.inside.as_ref());
    }
}

impl Enabled {
    fn take(from: &mut Attributes<'_>) -> Result<Self, AttributeError> {
        let Reserved { rule, group, lifetime, outside, inside } = Reserved::take(from)?;
        Ok(Self { rule, group, lifetime, outside, inside })
    }

    fn encode(&self, to: &mut AttributeWriter<'_>) {
        let Self { rule, group, lifetime, outside, inside } = *self;
        Reserved { rule, group, lifetime, outside, inside }.encode(to);
    }
}

impl<'a> EnableStatus<'a> {
    fn take(from: &mut Attributes<'a>) -> Result<Self, AttributeError> {
        Ok(Self {
            enabled: Enabled::take(from)?,
            parameters: from.enable()?,
            internal: from.tuple_at(Location::INTERNAL)?,
            external: from.tuple_at(Location::EXTERNAL)?,
            owner: from.owner()?,
        })
    }

    /// Writes the attributes in an order that is not that of the reply to PER: the tuples stand from A0 to A3.
    fn encode(&self, to: &mut AttributeWriter<'_>) -> Result<(), EncodeError> {
        to.rule(self.enabled.rule);
        to.group(self.enabled.group);
        to.enable(self.parameters);
        to.tuple(&self.internal);
        to.optional_tuple(self.enabled.inside.as_ref());
        to.tuple(&self.enabled.outside);
        to.tuple(&self.external);
        to.lifetime(self.enabled.lifetime);
        to.owner(self.owner)
    }
}
