//! Whole messages (RFC 4540 §4, §5): header, requests, replies, notifications.

mod header;
mod negative;
mod positive;
mod request;
mod rule_ids;

pub use self::header::Header;
pub use self::negative::{NegativeReply, Notification};
pub use self::positive::{DisableStatus, EnableStatus, Enabled, PositiveReply, ReserveStatus, Reserved};
pub use self::request::{DisableRequest, EnableRequest, PolicyRequest, Request, ReserveRequest};
pub use self::rule_ids::{RuleIds, RuleIdsIter};

use crate::codepoints::BasicType;
use crate::error::{DecodeError, EncodeError};
use crate::numbers::TransactionId;

/// A SIMCO message of any kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The transaction: of the request that is made or answered, or of the notification.
    pub transaction: TransactionId,
    /// The content of the message.
    pub body: Body<'a>,
}

/// The content of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body<'a> {
    /// A request of an agent to the middlebox.
    Request(Request<'a>),
    /// A reply that says that the request was met.
    Positive(PositiveReply<'a>),
    /// A reply that says that the request was refused.
    Negative(NegativeReply),
    /// A notification, which nobody has asked for.
    Notification(Notification),
}

impl<'a> Message<'a> {
    /// Reads exactly one message.
    ///
    /// A middlebox, which has an answer for each step that may fail, takes [`Header::decode`] and
    /// [`Request::decode`] instead.
    ///
    /// # Errors
    ///
    /// See [`DecodeError`].
    pub fn decode(octets: &'a [u8]) -> Result<Self, DecodeError> {
        let (header, payload) = Header::split_message(octets)?;
        let basic = BasicType::from_value(header.basic_type);
        let body = match basic.ok_or(DecodeError::UnknownBasicType { found: header.basic_type })? {
            BasicType::Request => Body::Request(Request::decode(header.sub_type, payload)?),
            BasicType::PositiveReply => Body::Positive(PositiveReply::decode(header.sub_type, payload)?),
            BasicType::NegativeReply => Body::Negative(NegativeReply::decode(header.sub_type, payload)?),
            BasicType::Notification => Body::Notification(Notification::decode(header.sub_type, payload)?),
        };
        Ok(Self { transaction: header.transaction, body })
    }

    /// Appends the message to `out`.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`]; `out` is as it was then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let (basic, sub_type) = match &self.body {
            Body::Request(request) => (BasicType::Request, request.sub_type().get()),
            Body::Positive(reply) => (BasicType::PositiveReply, reply.sub_type().get()),
            Body::Negative(reply) => (BasicType::NegativeReply, reply.code().get()),
            Body::Notification(notification) => (BasicType::Notification, notification.sub_type().get()),
        };
        header::write(out, basic, sub_type, self.transaction, |out| match &self.body {
            Body::Request(request) => request.encode_attributes(out),
            Body::Positive(reply) => reply.encode_attributes(out),
            Body::Negative(reply) => {
                reply.encode_attributes(out);
                Ok(())
            }
            Body::Notification(notification) => {
                notification.encode_attributes(out);
                Ok(())
            }
        })
    }
}
