//! The events that an agent reports to its user.

use core::time::Duration;

use crate::codepoints::NegativeCode;
use crate::error::DecodeError;
use crate::message::{Enabled, PolicyRequest, PositiveReply, Reserved};
use crate::numbers::{Lifetime, PolicyRuleId, TransactionId};
use crate::parameters::{Capabilities, EnableParameters, Version};
use crate::rule::Owner;
use crate::tuple::AddressTuple;

/// An event of an agent's session, requests or rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentEvent {
    /// The session is open: requests may be made.
    Opened {
        /// The abilities of the middlebox.
        capabilities: Capabilities,
    },
    /// The middlebox answered a request.
    Answered {
        /// The transaction of the request.
        transaction: TransactionId,
        /// The request that was answered.
        request: PolicyRequest,
        /// The reply, or the reason why the request was refused.
        outcome: Result<PolicyReply, NegativeCode>,
    },
    /// Somebody else, or time, changed a rule this agent may access (ARE).
    RuleEvent {
        /// The identifier of the rule.
        rule: PolicyRuleId,
        /// The lifetime the rule has now; zero if it is gone.
        lifetime: Lifetime,
    },
    /// A rule this agent knew is gone without its doing.
    RuleLost {
        /// The identifier of the rule.
        rule: PolicyRuleId,
        /// The way in which the loss was noticed.
        loss: Loss,
    },
    /// A refresh was refused; it is tried again before the rule ends.
    RefreshRefused {
        /// The identifier of the rule.
        rule: PolicyRuleId,
        /// The reason for the refusal.
        code: NegativeCode,
    },
    /// A rule of an earlier session or of somebody else, found while resynchronising.
    Found {
        /// The status that the rule has.
        status: PolicyReply,
    },
    /// All rules the middlebox listed have been asked for.
    Resynchronised {
        /// The number of rules the middlebox listed.
        listed: usize,
    },
    /// The middlebox could not read what was sent (BFM).
    NotUnderstood,
    /// The session is over. Close the connection, unless that is how it ended.
    Closed {
        /// The reason for the end of the session.
        reason: AgentCloseReason,
    },
    /// The agent will make another attempt to connect ([`Agent::next_attempt`](super::Agent::next_attempt)).
    Reconnecting {
        /// The number of the attempt, counted from 1 after a session that lasted.
        attempt: u32,
        /// The wait before the attempt.
        after: Duration,
    },
}

/// The way in which the loss of a rule was noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The middlebox said so (ARE).
    Notified,
    /// A refresh was answered with 0x0343.
    NotFound,
    /// The rule's deadline has passed.
    Expired,
    /// A new session found it gone.
    NotListed,
}

/// The reason why a session is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AgentCloseReason {
    /// The agent itself has ended the session.
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
    /// The octets that came were no message.
    #[error("the middlebox sent what is no message: {0}")]
    BadlyFormed(DecodeError),
    /// A request, or a reply to nothing or of the wrong kind.
    #[error("the middlebox sent a message that does not belong here")]
    OutOfPlace,
    /// The connection to the middlebox is gone.
    #[error("the connection is lost")]
    Lost,
}

/// A positive reply to a request on policy rules, on its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PolicyReply {
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
        /// The lifetime that was granted.
        lifetime: Lifetime,
    },
    /// The rule was deleted (PRD, a reply to PLC).
    Deletion,
    /// The rule is a reserve rule (PRS, a reply to PRS).
    ReserveStatus {
        /// The content of the reply to PRR, with what remains of the lifetime.
        reserved: Reserved,
        /// The agent that owns the rule.
        owner: Owner,
    },
    /// The rule is an enable rule (PES, a reply to PRS).
    EnableStatus {
        /// The parameters of the request.
        parameters: EnableParameters,
        /// The internal endpoint, A0.
        internal: AddressTuple,
        /// The external endpoint, A3.
        external: AddressTuple,
        /// The content of the reply to PER, with what remains of the lifetime.
        enabled: Enabled,
        /// The agent that owns the rule.
        owner: Owner,
    },
    /// The rule is a disable rule (PDS, a reply to PRS).
    DisableStatus {
        /// The identifier of the rule.
        rule: PolicyRuleId,
        /// The internal endpoint, A0.
        internal: AddressTuple,
        /// The external endpoint, A3.
        external: AddressTuple,
        /// The lifetime that remains.
        lifetime: Lifetime,
        /// The agent that owns the rule.
        owner: Owner,
    },
    /// The identifiers of all rules that the agent may access (reply to PRL).
    List(Vec<PolicyRuleId>),
}

impl PolicyReply {
    /// Copies the reply out of a message; `None` for session control and owners that cannot be.
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

    /// Returns whether this can be the answer to `request`.
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

    /// Returns the rule a reply names, and the lifetime it has.
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
