//! The messages and events that a middlebox hands to its driver.

use std::sync::Arc;

use super::SessionId;
use crate::codepoints::{NegativeCode, RequestType};
use crate::filter::{Change, FilterError};
use crate::numbers::StreamNumber;
use crate::rule::Owner;

/// The octets to send on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The connection on which to send.
    pub session: SessionId,
    /// The stream, with [`Framing::Messages`](super::Framing::Messages); they go ordered, one SCTP message, with
    /// [`PAYLOAD_PROTOCOL`](crate::PAYLOAD_PROTOCOL).
    pub stream: StreamNumber,
    /// One message; with [`Framing::Octets`](super::Framing::Octets) one or several.
    pub octets: Vec<u8>,
}

/// An event of a middlebox, for its operator.
#[derive(Debug)]
pub enum MiddleboxEvent {
    /// An agent has opened a session.
    Opened {
        /// The connection of the session.
        session: SessionId,
        /// The agent that opened it.
        agent: Owner,
    },
    /// An agent could not prove who it is.
    AuthenticationFailed {
        /// The connection of the session.
        session: SessionId,
        /// The identity that the agent claimed, if any.
        claimed: Option<Owner>,
    },
    /// The middlebox refused a request.
    Refused {
        /// The session of the request.
        session: SessionId,
        /// The type of the request meant.
        request: RequestType,
        /// The reason for the refusal.
        code: NegativeCode,
    },
    /// The rule base has changed and the packet filter with it: for an audit log.
    Changed {
        /// The agent that asked, and its session; `None` for time and the operator.
        by: Option<(SessionId, Owner)>,
        /// The change of the rule base.
        change: Change,
    },
    /// The packet filter failed. What was asked for was refused; what expired is gone from the rule base all the same.
    FilterFailed {
        /// The error that the filter returned.
        error: Arc<FilterError>,
    },
    /// Close the connection: everything for it has left [`poll_transmit`](super::Middlebox::poll_transmit). The session is
    /// forgotten, and nothing more is taken for it.
    Close {
        /// The connection to be closed.
        session: SessionId,
        /// The reason for closing it.
        reason: CloseReason,
    },
}

/// The reason why a connection is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// The agent has ended the session.
    Terminated,
    /// The agent was refused before there was a session.
    Refused(NegativeCode),
    /// Something came that was no message, or half of one and no more.
    BadlyFormed,
    /// There was no session in time.
    NotEstablished,
    /// There were as many connections as there may be, and this was the oldest that said nothing.
    Displaced,
    /// The agent does not read what is sent to it.
    TooSlow,
    /// The operator has ended the session, or the agent is no longer known.
    Administrative,
}
