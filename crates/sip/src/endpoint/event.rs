//! Things that an endpoint hands out: messages to be sent, and events.

use bytes::Bytes;

use super::TransactionId;
use crate::essentials::Essentials;
use crate::message::{Request, Response};
use crate::transport::Flow;

/// A message that is to be sent now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The flow by which the message goes.
    pub flow: Flow,
    /// The octets of the message.
    pub octets: Bytes,
}

/// Something that has happened, and that the user of the endpoint is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A request came; it has to be answered by [`Endpoint::respond`](super::Endpoint::respond).
    Request {
        /// The transaction of the request.
        transaction: TransactionId,
        /// The request; its topmost Via says where it really came from.
        request: Box<Request>,
        /// The header fields that were read already.
        essentials: Box<Essentials>,
        /// The flow that it came by.
        from: Flow,
    },
    /// The INVITE was cancelled, and the CANCEL answered. The INVITE still has to be answered, with 487.
    Cancelled {
        /// The transaction of the INVITE.
        transaction: TransactionId,
    },
    /// The ACK for a 2xx came, for the first time.
    Acknowledged {
        /// The transaction of the INVITE.
        transaction: TransactionId,
        /// The ACK, which may have a session description.
        ack: Box<Request>,
    },
    /// No ACK for a 2xx came within 64·T1: the session should be ended (RFC 3261 §13.3.1.4).
    Unacknowledged {
        /// The transaction of the INVITE.
        transaction: TransactionId,
    },
    /// A response came. A 2xx to INVITE has to be acknowledged by
    /// [`Endpoint::acknowledge`](super::Endpoint::acknowledge); each fork's comes once.
    Response {
        /// The transaction of the request.
        transaction: TransactionId,
        /// The response as it was read.
        response: Box<Response>,
        /// The header fields that were read already.
        essentials: Box<Essentials>,
    },
    /// A request came to nothing.
    Failed {
        /// The transaction of the request.
        transaction: TransactionId,
        /// The reason why the request came to nothing.
        failure: Failure,
    },
}

/// The reason why a request came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// No final response came in time; to be taken for a 408 (RFC 3261 §8.1.3.1).
    #[error("no answer in time")]
    Timeout,
    /// The transport did not carry it; to be taken for a 503 (RFC 3261 §8.1.3.1).
    #[error("the transport did not carry it")]
    Transport,
}
