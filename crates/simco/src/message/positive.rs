//! Positive replies (RFC 4540 §5.3).

use super::RuleIds;
use crate::attributes::{AttributeWriter, Attributes};
use crate::codepoints::{AttributeType, PositiveType};
use crate::error::{AttributeError, DecodeError, EncodeError};
use crate::numbers::{GroupId, Lifetime, PolicyRuleId};
use crate::parameters::{Capabilities, EnableParameters};
use crate::tuple::{AddressTuple, Location};

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PositiveReply<'a> {
    /// SE: the session is open.
    SessionEstablishment {
        /// What the middlebox can do.
        capabilities: Capabilities,
    },
    /// SA: authentication first. Has a challenge or a token or both.
    SessionAuthentication {
        /// For the agent to answer.
        challenge: Option<&'a [u8]>,
        /// The answer to the agent's challenge; empty if the middlebox has none.
        token: Option<&'a [u8]>,
    },
    /// ST: the session is over.
    SessionTermination,
    /// PRR.
    Reserve(Reserved),
    /// PER, to PER and PEA.
    Enable(Enabled),
    /// PDR.
    Disable {
        /// The new rule.
        rule: PolicyRuleId,
        /// As granted.
        lifetime: Lifetime,
    },
    /// PLC.
    LifetimeChange {
        /// As granted, not zero.
        lifetime: Lifetime,
    },
    /// PRD.
    Deletion,
    /// PRS.
    ReserveStatus(ReserveStatus<'a>),
    /// PES.
    EnableStatus(EnableStatus<'a>),
    /// PDS.
    DisableStatus(DisableStatus<'a>),
    /// PRL.
    List(RuleIds<'a>),
}

/// What was reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserved {
    /// The new rule.
    pub rule: PolicyRuleId,
    /// Its group.
    pub group: GroupId,
    /// As granted.
    pub lifetime: Lifetime,
    /// A2.
    pub outside: AddressTuple,
    /// A1, of twice NAT only.
    pub inside: Option<AddressTuple>,
}

/// What was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enabled {
    /// The rule.
    pub rule: PolicyRuleId,
    /// Its group.
    pub group: GroupId,
    /// As granted.
    pub lifetime: Lifetime,
    /// A2.
    pub outside: AddressTuple,
    /// A1; a traditional NAT leaves it out (ruling R3), and it is A3 then.
    pub inside: Option<AddressTuple>,
}

/// What a reserve rule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReserveStatus<'a> {
    /// As in the reply to PRR, with what remains of the lifetime.
    pub reserved: Reserved,
    /// Whose rule it is.
    pub owner: &'a [u8],
}

/// What an enable rule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnableStatus<'a> {
    /// As in the request.
    pub parameters: EnableParameters,
    /// A0, as in the request.
    pub internal: AddressTuple,
    /// A3, as in the request.
    pub external: AddressTuple,
    /// As in the reply, with what remains of the lifetime.
    pub enabled: Enabled,
    /// Whose rule it is.
    pub owner: &'a [u8],
}

/// What a disable rule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DisableStatus<'a> {
    /// The rule.
    pub rule: PolicyRuleId,
    /// A0, as in the request.
    pub internal: AddressTuple,
    /// A3, as in the request.
    pub external: AddressTuple,
    /// What remains.
    pub lifetime: Lifetime,
    /// Whose rule it is.
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

    /// Which reply it is.
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

    /// The order is not that of the reply to PER: the tuples stand from A0 to A3.
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
