//! Negative replies and notifications (RFC 4540 §5.2, §5.4).

use crate::attributes::{AttributeWriter, Attributes};
use crate::codepoints::{NegativeCode, NotificationType};
use crate::error::{AttributeError, DecodeError};
use crate::numbers::{Lifetime, PolicyRuleId};
use crate::parameters::Version;

/// The reason why a request was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NegativeReply {
    /// The middlebox speaks another version of SIMCO (0x0322).
    VersionMismatch {
        /// A version the middlebox speaks.
        supported: Version,
    },
    /// The request was refused for any other reason.
    Refused(Refusal),
}

/// A reason without attributes: every code but 0x0322.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal(NegativeCode);

impl NegativeReply {
    /// Creates a refusal for this reason; for [`NegativeCode::VersionMismatch`] with [`Version::CURRENT`].
    #[must_use]
    pub const fn new(code: NegativeCode) -> Self {
        if matches!(code, NegativeCode::VersionMismatch) {
            Self::VersionMismatch { supported: Version::CURRENT }
        } else {
            Self::Refused(Refusal(code))
        }
    }

    /// Returns the reason for the refusal.
    #[must_use]
    pub const fn code(&self) -> NegativeCode {
        match self {
            Self::VersionMismatch { .. } => NegativeCode::VersionMismatch,
            Self::Refused(Refusal(code)) => *code,
        }
    }

    /// Reads the attributes of a negative reply of this sub-type.
    ///
    /// # Errors
    ///
    /// [`DecodeError::UnknownSubType`], or [`DecodeError::Attribute`] if they do not fit.
    pub fn decode(sub_type: u8, payload: &[u8]) -> Result<Self, DecodeError> {
        let code = NegativeCode::from_value(sub_type);
        let code = code.ok_or(DecodeError::UnknownSubType { found: sub_type })?;
        let mut attributes = Attributes::collect(payload)?;
        let reply = if code == NegativeCode::VersionMismatch {
            Self::VersionMismatch { supported: attributes.version()? }
        } else {
            Self::Refused(Refusal(code))
        };
        attributes.finish()?;
        Ok(reply)
    }

    pub(super) fn encode_attributes(&self, out: &mut Vec<u8>) {
        if let Self::VersionMismatch { supported } = self {
            AttributeWriter::new(out).version(*supported);
        }
    }
}

/// A message that a middlebox sends without being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notification {
    /// BFM: something came that could not be read.
    BadlyFormedMessage,
    /// AST: the session is over.
    SessionTermination,
    /// ARE: somebody else, or time, changed a rule.
    RuleEvent {
        /// The identifier of the rule.
        rule: PolicyRuleId,
        /// The lifetime the rule has now; zero if it is gone.
        lifetime: Lifetime,
    },
}

impl Notification {
    /// Reads the attributes of a notification of this sub-type.
    ///
    /// # Errors
    ///
    /// [`DecodeError::UnknownSubType`], or [`DecodeError::Attribute`] if they do not fit.
    pub fn decode(sub_type: u8, payload: &[u8]) -> Result<Self, DecodeError> {
        let kind = NotificationType::from_value(sub_type);
        let kind = kind.ok_or(DecodeError::UnknownSubType { found: sub_type })?;
        let mut attributes = Attributes::collect(payload)?;
        let notification = Self::take(kind, &mut attributes)?;
        attributes.finish()?;
        Ok(notification)
    }

    fn take(kind: NotificationType, from: &mut Attributes<'_>) -> Result<Self, AttributeError> {
        Ok(match kind {
            NotificationType::BadlyFormedMessage => Self::BadlyFormedMessage,
            NotificationType::SessionTermination => Self::SessionTermination,
            NotificationType::RuleEvent => Self::RuleEvent { rule: from.rule()?, lifetime: from.lifetime()? },
        })
    }

    /// Returns the type of the notification.
    #[must_use]
    pub const fn sub_type(&self) -> NotificationType {
        match self {
            Self::BadlyFormedMessage => NotificationType::BadlyFormedMessage,
            Self::SessionTermination => NotificationType::SessionTermination,
            Self::RuleEvent { .. } => NotificationType::RuleEvent,
        }
    }

    pub(super) fn encode_attributes(&self, out: &mut Vec<u8>) {
        if let Self::RuleEvent { rule, lifetime } = self {
            let mut to = AttributeWriter::new(out);
            to.rule(*rule);
            to.lifetime(*lifetime);
        }
    }
}
