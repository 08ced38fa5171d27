//! Requests (RFC 4540 §5.1).

use crate::attributes::{AttributeWriter, Attributes};
use crate::codepoints::RequestType;
use crate::error::{AttributeError, DecodeError, EncodeError};
use crate::numbers::{GroupId, Lifetime, PolicyRuleId};
use crate::parameters::{EnableParameters, ReserveParameters, Version};
use crate::tuple::AddressTuple;

/// A request of an agent to the middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// A request to open a session (SE).
    SessionEstablishment {
        /// The version the agent speaks.
        version: Version,
        /// Asks the middlebox to authenticate itself.
        challenge: Option<&'a [u8]>,
    },
    /// A token that proves who the agent is (SA).
    SessionAuthentication {
        /// Answers the middlebox' challenge, where it sent one.
        token: Option<&'a [u8]>,
    },
    /// A request to end the session (ST).
    SessionTermination,
    /// A transaction on policy rules.
    Policy(PolicyRequest),
}

/// A transaction on policy rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyRequest {
    /// PRR: reserve addresses and ports.
    Reserve(ReserveRequest),
    /// A request to open a pinhole (PER).
    Enable(EnableRequest),
    /// PEA: open a pinhole with what was reserved.
    EnableReserved {
        /// The reservation, which becomes the pinhole.
        rule: PolicyRuleId,
        /// The pinhole; it inherits the group, so `group` is not sent.
        pinhole: EnableRequest,
    },
    /// PDR: block packets, whatever pinholes there are.
    Disable(DisableRequest),
    /// PLC: change a lifetime; zero deletes.
    LifetimeChange {
        /// The identifier of the rule.
        rule: PolicyRuleId,
        /// The lifetime from now on; zero deletes the rule.
        lifetime: Lifetime,
    },
    /// A request for the status of a rule (PRS).
    Status {
        /// The identifier of the rule.
        rule: PolicyRuleId,
    },
    /// PRL: which rules are there?
    List,
}

/// The content of PRR: the reservation that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReserveRequest {
    /// Translation, parity, versions, protocol, number of ports.
    pub parameters: ReserveParameters,
    /// The lifetime that is asked for.
    pub lifetime: Lifetime,
    /// The group to join; `None` for one of its own.
    pub group: Option<GroupId>,
}

/// The content of PER and PEA: the pinhole that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnableRequest {
    /// The parity and the direction.
    pub parameters: EnableParameters,
    /// The first address tuple, A0 if the agent is right.
    pub internal: AddressTuple,
    /// The second address tuple, A3 if the agent is right.
    pub external: AddressTuple,
    /// The lifetime that is asked for.
    pub lifetime: Lifetime,
    /// The group to join; `None` for one of its own.
    pub group: Option<GroupId>,
}

/// The content of PDR: the traffic that is to be blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DisableRequest {
    /// The first address tuple, A0 if the agent is right.
    pub internal: AddressTuple,
    /// The second address tuple, A3 if the agent is right.
    pub external: AddressTuple,
    /// The lifetime that is asked for.
    pub lifetime: Lifetime,
}

impl<'a> Request<'a> {
    /// Reads the attributes of a request of this sub-type.
    ///
    /// # Errors
    ///
    /// [`DecodeError::UnknownSubType`], or [`DecodeError::Attribute`] if they do not fit.
    pub fn decode(sub_type: u8, payload: &'a [u8]) -> Result<Self, DecodeError> {
        let kind = RequestType::from_value(sub_type);
        let kind = kind.ok_or(DecodeError::UnknownSubType { found: sub_type })?;
        Ok(Self::decode_attributes(kind, payload)?)
    }

    /// Reads the attributes of a request.
    ///
    /// # Errors
    ///
    /// They do not fit.
    pub fn decode_attributes(kind: RequestType, payload: &'a [u8]) -> Result<Self, AttributeError> {
        let mut attributes = Attributes::collect(payload)?;
        let from = &mut attributes;
        let request = match kind {
            RequestType::SessionEstablishment => {
                Self::SessionEstablishment { version: from.version()?, challenge: from.challenge() }
            }
            RequestType::SessionAuthentication => Self::SessionAuthentication { token: from.token() },
            RequestType::SessionTermination => Self::SessionTermination,
            RequestType::Reserve => Self::Policy(PolicyRequest::Reserve(ReserveRequest {
                parameters: from.reserve()?,
                lifetime: from.lifetime()?,
                group: from.optional_group(),
            })),
            RequestType::Enable => {
                let group = from.optional_group();
                Self::Policy(PolicyRequest::Enable(EnableRequest { group, ..pinhole(from)? }))
            }
            RequestType::EnableReserved => {
                let rule = from.rule()?;
                Self::Policy(PolicyRequest::EnableReserved { rule, pinhole: pinhole(from)? })
            }
            RequestType::Disable => Self::Policy(PolicyRequest::Disable(DisableRequest {
                internal: from.next_tuple()?,
                external: from.next_tuple()?,
                lifetime: from.lifetime()?,
            })),
            RequestType::LifetimeChange => {
                Self::Policy(PolicyRequest::LifetimeChange { rule: from.rule()?, lifetime: from.lifetime()? })
            }
            RequestType::Status => Self::Policy(PolicyRequest::Status { rule: from.rule()? }),
            RequestType::List => Self::Policy(PolicyRequest::List),
        };
        attributes.finish()?;
        Ok(request)
    }

    /// Returns the type of the request.
    #[must_use]
    pub const fn sub_type(&self) -> RequestType {
        match self {
            Self::SessionEstablishment { .. } => RequestType::SessionEstablishment,
            Self::SessionAuthentication { .. } => RequestType::SessionAuthentication,
            Self::SessionTermination => RequestType::SessionTermination,
            Self::Policy(request) => request.sub_type(),
        }
    }

    pub(super) fn encode_attributes(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut to = AttributeWriter::new(out);
        match self {
            Self::SessionEstablishment { version, challenge } => {
                to.version(*version);
                to.challenge(*challenge)
            }
            Self::SessionAuthentication { token } => to.token(*token),
            Self::SessionTermination => Ok(()),
            Self::Policy(request) => {
                request.encode_attributes(&mut to);
                Ok(())
            }
        }
    }
}

impl PolicyRequest {
    /// Returns the type of the request.
    #[must_use]
    pub const fn sub_type(&self) -> RequestType {
        match self {
            Self::Reserve(_) => RequestType::Reserve,
            Self::Enable(_) => RequestType::Enable,
            Self::EnableReserved { .. } => RequestType::EnableReserved,
            Self::Disable(_) => RequestType::Disable,
            Self::LifetimeChange { .. } => RequestType::LifetimeChange,
            Self::Status { .. } => RequestType::Status,
            Self::List => RequestType::List,
        }
    }

    /// Returns the rule that the request names, if it names one.
    #[must_use]
    pub const fn rule(&self) -> Option<PolicyRuleId> {
        match self {
            Self::EnableReserved { rule, .. } | Self::LifetimeChange { rule, .. } | Self::Status { rule } => {
                Some(*rule)
            }
            Self::Reserve(_) | Self::Enable(_) | Self::Disable(_) | Self::List => None,
        }
    }

    fn encode_attributes(&self, to: &mut AttributeWriter<'_>) {
        match self {
            Self::Reserve(request) => {
                to.reserve(request.parameters);
                to.lifetime(request.lifetime);
                to.optional_group(request.group);
            }
            Self::Enable(request) => {
                encode_pinhole(request, to);
                to.optional_group(request.group);
            }
            Self::EnableReserved { rule, pinhole } => {
                encode_pinhole(pinhole, to);
                to.rule(*rule);
            }
            Self::Disable(request) => {
                to.tuple(&request.internal);
                to.tuple(&request.external);
                to.lifetime(request.lifetime);
            }
            Self::LifetimeChange { rule, lifetime } => {
                to.rule(*rule);
                to.lifetime(*lifetime);
            }
            Self::Status { rule } => to.rule(*rule),
            Self::List => {}
        }
    }
}

/// Reads the part that PER and PEA have in common.
fn pinhole(from: &mut Attributes<'_>) -> Result<EnableRequest, AttributeError> {
    Ok(EnableRequest {
        parameters: from.enable()?,
        internal: from.next_tuple()?,
        external: from.next_tuple()?,
        lifetime: from.lifetime()?,
        group: None,
    })
}

fn encode_pinhole(request: &EnableRequest, to: &mut AttributeWriter<'_>) {
    to.enable(request.parameters);
    to.tuple(&request.internal);
    to.tuple(&request.external);
    to.lifetime(request.lifetime);
}
