//! What a middlebox tells its driver besides octets.

use std::sync::Arc;

use super::SessionId;
use crate::codepoints::{NegativeCode, RequestType};
use crate::filter::{Change, FilterError};
use crate::numbers::StreamNumber;
use crate::rule::Owner;

/// Octets for a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Which connection.
    pub session: SessionId,
    /// The stream, with [`Framing::Messages`](super::Framing::Messages); they go ordered, one SCTP message, with
    /// [`PAYLOAD_PROTOCOL`](crate::PAYLOAD_PROTOCOL).
    pub stream: StreamNumber,
    /// One message; with [`Framing::Octets`](super::Framing::Octets) one or several.
    pub octets: Vec<u8>,
}

/// What happened.
#[derive(Debug)]
pub enum MiddleboxEvent {
    /// An agent has opened a session.
    Opened {
        /// Which.
        session: SessionId,
        /// Who.
        agent: Owner,
    },
    /// An agent could not prove who it is.
    AuthenticationFailed {
        /// Which connection.
        session: SessionId,
        /// Who it claimed to be, if anybody.
        claimed: Option<Owner>,
    },
    /// A request was refused.
    Refused {
        /// In which session.
        session: SessionId,
        /// What was asked.
        request: RequestType,
        /// Why not.
        code: NegativeCode,
    },
    /// The rule base has changed and the packet filter with it: for an audit log.
    Changed {
        /// Who asked; `None` for time and the operator.
        by: Option<(SessionId, Owner)>,
        /// What.
        change: Change,
    },
    /// The packet filter failed. What was asked for was refused; what expired is gone from the rule base all the same.
    FilterFailed {
        /// How.
        error: Arc<FilterError>,
    },
    /// Close the connection: everything for it has left [`poll_transmit`](super::Middlebox::poll_transmit). The session is
    /// forgotten, and nothing more is taken for it.
    Close {
        /// Which.
        session: SessionId,
        /// Why.
        reason: CloseReason,
    },
}

/// Why a connection is closed.
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
