//! What an agent tells its user.

use core::time::Duration;

use crate::codepoints::NegativeCode;
use crate::error::DecodeError;
use crate::message::{Enabled, PolicyRequest, PositiveReply, Reserved};
use crate::numbers::{Lifetime, PolicyRuleId, TransactionId};
use crate::parameters::{Capabilities, EnableParameters, Version};
use crate::rule::Owner;
use crate::tuple::AddressTuple;

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentEvent {
    /// The session is open: requests may be made.
    Opened {
        /// What the middlebox can do.
        capabilities: Capabilities,
    },
    /// A request was answered.
    Answered {
        /// Which.
        transaction: TransactionId,
        /// What was asked.
        request: PolicyRequest,
        /// Done, or why not.
        outcome: Result<PolicyReply, NegativeCode>,
    },
    /// Somebody else, or time, changed a rule this agent may access (ARE).
    RuleEvent {
        /// Which.
        rule: PolicyRuleId,
        /// What it has now; zero if it is gone.
        lifetime: Lifetime,
    },
    /// A rule this agent knew is gone without its doing.
    RuleLost {
        /// Which.
        rule: PolicyRuleId,
        /// How it was noticed.
        loss: Loss,
    },
    /// A refresh was refused; it is tried again before the rule ends.
    RefreshRefused {
        /// Which rule.
        rule: PolicyRuleId,
        /// Why.
        code: NegativeCode,
    },
    /// A rule of an earlier session or of somebody else, found while resynchronising.
    Found {
        /// What it is.
        status: PolicyReply,
    },
    /// All rules the middlebox listed have been asked for.
    Resynchronised {
        /// How many it listed.
        listed: usize,
    },
    /// The middlebox could not read what was sent (BFM).
    NotUnderstood,
    /// The session is over. Close the connection, unless that is how it ended.
    Closed {
        /// Why.
        reason: AgentCloseReason,
    },
    /// Another attempt to connect will be made ([`Agent::next_attempt`](super::Agent::next_attempt)).
    Reconnecting {
        /// Which, counted from 1 after a session that lasted.
        attempt: u32,
        /// After how long.
        after: Duration,
    },
}

/// How the loss of a rule was noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The middlebox said so (ARE).
    Notified,
    /// A refresh was answered with 0x0343.
    NotFound,
    /// Its time was up.
    Expired,
    /// A new session found it gone.
    NotListed,
}

/// Why a session is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AgentCloseReason {
    /// This agent has ended it.
    #[error("the session was ended")]
    Terminated,
    /// The middlebox has ended it (AST).
    #[error("the middlebox has ended the session")]
    TerminatedByMiddlebox,
    /// The middlebox does not accept this agent.
    #[error("the middlebox refuses the session: {0}")]
    Refused(NegativeCode),
    /// The middlebox speaks another version.
    #[error("the middlebox speaks SIMCO {}.{}, this agent 3.0", .0.major, .0.minor)]
    OtherVersion(Version),
    /// The middlebox has not proved that it has the key.
    #[error("the middlebox has not proved that it has the key of this agent")]
    NotAuthenticated,
    /// The middlebox wants this agent to prove who it is, and it has no key.
    #[error("the middlebox wants to know who this agent is; give it a name and a key")]
    NoCredentials,
    /// What came was no message.
    #[error("the middlebox sent what is no message: {0}")]
    BadlyFormed(DecodeError),
    /// A request, or a reply to nothing or of the wrong kind.
    #[error("the middlebox sent a message that does not belong here")]
    OutOfPlace,
    /// The connection is gone.
    #[error("the connection is lost")]
    Lost,
}

/// A positive reply to a request on policy rules, on its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PolicyReply {
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
        /// As granted.
        lifetime: Lifetime,
    },
    /// PRD.
    Deletion,
    /// PRS.
    ReserveStatus {
        /// As in the reply to PRR, with what remains of the lifetime.
        reserved: Reserved,
        /// Whose rule it is.
        owner: Owner,
    },
    /// PES.
    EnableStatus {
        /// As in the request.
        parameters: EnableParameters,
        /// A0.
        internal: AddressTuple,
        /// A3.
        external: AddressTuple,
        /// As in the reply, with what remains of the lifetime.
        enabled: Enabled,
        /// Whose rule it is.
        owner: Owner,
    },
    /// PDS.
    DisableStatus {
        /// The rule.
        rule: PolicyRuleId,
        /// A0.
        internal: AddressTuple,
        /// A3.
        external: AddressTuple,
        /// What remains.
        lifetime: Lifetime,
        /// Whose rule it is.
        owner: Owner,
    },
    /// PRL.
    List(Vec<PolicyRuleId>),
}

impl PolicyReply {
    /// The reply on its own; `None` for session control and owners that cannot be.
    pub(crate) fn of(reply: &PositiveReply<'_>) -> Option<Self> {
        Some(match *reply {
            PositiveReply::SessionEstablishment { .. }
            | PositiveReply::SessionAuthentication { .. }
            | PositiveReply::SessionTermination => return None,
            PositiveReply::Reserve(reserved) => Self::Reserve(reserved),
            PositiveReply::Enable(enabled) => Self::Enable(enabled),
            PositiveReply::Disable { rule, lifetime } => Self::Disable { rule, lifetime },
            PositiveReply::LifetimeChange { lifetime } => Self::LifetimeChange { lifetime },
            PositiveReply::Deletion => Self::Deletion,
            PositiveReply::ReserveStatus(status) => {
                Self::ReserveStatus { reserved: status.reserved, owner: Owner::new(status.owner).ok()? }
            }
            PositiveReply::EnableStatus(status) => Self::EnableStatus {
                parameters: status.parameters,
                internal: status.internal,
                external: status.external,
                enabled: status.enabled,
                owner: Owner::new(status.owner).ok()?,
            },
            PositiveReply::DisableStatus(status) => Self::DisableStatus {
                rule: status.rule,
                internal: status.internal,
                external: status.external,
                lifetime: status.lifetime,
                owner: Owner::new(status.owner).ok()?,
            },
            PositiveReply::List(rules) => Self::List(rules.iter().collect()),
        })
    }

    /// Whether this can be the answer to `request`.
    pub(crate) const fn answers(&self, request: &PolicyRequest) -> bool {
        match request {
            PolicyRequest::Reserve(_) => matches!(self, Self::Reserve(_)),
            PolicyRequest::Enable(_) => matches!(self, Self::Enable(_)),
            PolicyRequest::EnableReserved { rule, .. } => {
                matches!(self, Self::Enable(enabled) if enabled.rule.get() == rule.get())
            }
            PolicyRequest::Disable(_) => matches!(self, Self::Disable { .. }),
            PolicyRequest::LifetimeChange { .. } => {
                matches!(self, Self::LifetimeChange { .. } | Self::Deletion)
            }
            PolicyRequest::Status { .. } => matches!(
                self,
                Self::ReserveStatus { .. } | Self::EnableStatus { .. } | Self::DisableStatus { .. }
            ),
            PolicyRequest::List => matches!(self, Self::List(_)),
        }
    }

    /// The rule a reply names, and the lifetime it has.
    #[must_use]
    pub const fn rule(&self) -> Option<(PolicyRuleId, Lifetime)> {
        match self {
            Self::Reserve(reserved) | Self::ReserveStatus { reserved, .. } => {
                Some((reserved.rule, reserved.lifetime))
            }
            Self::Enable(enabled) | Self::EnableStatus { enabled, .. } => {
                Some((enabled.rule, enabled.lifetime))
            }
            Self::Disable { rule, lifetime } | Self::DisableStatus { rule, lifetime, .. } => {
                Some((*rule, *lifetime))
            }
            Self::LifetimeChange { .. } | Self::Deletion | Self::List(_) => None,
        }
    }
}
