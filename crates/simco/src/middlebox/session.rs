//! One connection and what it has become (RFC 4540 §7.1).

use core::time::Duration;

use virtual_time::Instant;

use super::config::Protection;
use super::event::CloseReason;
use super::format::Phase;
use crate::auth::Key;
use crate::framer::Framer;
use crate::message::{Body, Message, Notification};
use crate::numbers::{StreamNumber, TransactionId};
use crate::outbox::Outbox;
use crate::rule::Owner;

/// Identifies a connection, from [`Middlebox::open`](super::Middlebox::open) to
/// [`MiddleboxEvent::Close`](super::MiddleboxEvent::Close). Never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub(crate) u64);

impl SessionId {
    /// Returns the plain number, for logs.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A connection that an agent has made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connection {
    /// The framing of messages: that of TCP or of SCTP.
    pub framing: Framing,
    /// The identity of an agent that does not authenticate itself: its address, for instance. An identity that
    /// is configured is refused here.
    pub peer: Owner,
    /// The identity according to the layers below, as by a certificate; no challenge is sent then.
    pub authenticated: Option<Owner>,
    /// The protection that the layers below give.
    pub protection: Protection,
}

/// How messages are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// The messages are framed by their length fields, in a stream of octets (TCP).
    Octets,
    /// Each is a message of the transport (SCTP).
    Messages {
        /// Streams that exist in both directions, at least 1.
        streams: u16,
    },
}

impl Framing {
    /// Returns the number of streams in both directions.
    #[must_use]
    pub const fn streams(self) -> u16 {
        match self {
            Self::Octets | Self::Messages { streams: 0 } => 1,
            Self::Messages { streams } => streams,
        }
    }
}

/// A connection of an agent, and the session on it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) framer: Framer,
    pub(crate) outbox: Outbox,
    pub(crate) state: State,
    /// The driver cannot take more for now.
    pub(crate) is_paused: bool,
    newest_notification: TransactionId,
    next_event_stream: u16,
}

/// The state of a connection.
#[derive(Debug)]
pub(crate) enum State {
    /// No session yet; not for ever.
    Closed { since: Instant },
    /// The agent was asked to prove who it is.
    NoAuth { proof: Box<Proof>, since: Instant },
    /// The connection carries an open session.
    Open { agent: Owner },
    /// The connection is ending: only what waits is still sent.
    Ending { reason: CloseReason },
}

/// The proof that an agent has to give.
#[derive(Debug)]
pub(crate) struct Proof {
    /// The identity that the agent claims; `None` if nobody we know.
    pub(crate) claimed: Option<Owner>,
    pub(crate) demand: Demand,
}

/// The demand on an agent's token.
#[derive(Debug)]
pub(crate) enum Demand {
    /// Nothing: the layers below have authenticated it.
    Nothing,
    /// The token has to be made with this key.
    Token { key: Key, agent_challenge: Vec<u8>, middlebox_challenge: [u8; 32] },
}

impl Session {
    pub(crate) const fn new(connection: Connection, now: Instant) -> Self {
        let outbox = match connection.framing {
            Framing::Octets => Outbox::octets(),
            Framing::Messages { .. } => Outbox::messages(),
        };
        Self {
            connection,
            framer: Framer::new(),
            outbox,
            state: State::Closed { since: now },
            is_paused: false,
            newest_notification: TransactionId::new(0),
            next_event_stream: 0,
        }
    }

    /// Returns how far the session is; `None` if it is ending.
    pub(crate) const fn phase(&self) -> Option<Phase> {
        match self.state {
            State::Closed { .. } => Some(Phase::Closed),
            State::NoAuth { .. } => Some(Phase::NoAuth),
            State::Open { .. } => Some(Phase::Open),
            State::Ending { .. } => None,
        }
    }

    /// Returns the agent of an open session.
    pub(crate) const fn agent(&self) -> Option<&Owner> {
        match &self.state {
            State::Open { agent } => Some(agent),
            State::Closed { .. } | State::NoAuth { .. } | State::Ending { .. } => None,
        }
    }

    /// Returns when patience ends: with half a message, or with a connection that is no session, which has so long to become one.
    pub(crate) fn deadline(&self, establishment: Duration) -> Option<Instant> {
        let establishment = match &self.state {
            State::Closed { since } | State::NoAuth { since, .. } => Some(*since + establishment),
            State::Open { .. } => None,
            State::Ending { .. } => return None,
        };
        match (establishment, self.framer.deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Queues a reply on the stream of the request.
    pub(crate) fn send(&mut self, stream: StreamNumber, message: &Message<'_>) {
        self.outbox.push(stream, |out| {
            // What is sent here fits: lists are limited, owners and tokens are ours.
            let written = message.encode(out);
            debug_assert_eq!(written, Ok(()));
        });
    }

    /// Queues a notification. Events go round all streams, the end on stream 0.
    pub(crate) fn notify(&mut self, notification: Notification) {
        let stream = match notification {
            Notification::RuleEvent { .. } => {
                let stream = StreamNumber::new(self.next_event_stream);
                self.next_event_stream = (self.next_event_stream + 1) % self.connection.framing.streams();
                stream
            }
            Notification::BadlyFormedMessage | Notification::SessionTermination => StreamNumber::CONTROL,
        };
        self.notify_on(stream, notification);
    }

    /// Queues a notification on a stream; on stream 0 if there is no such stream (ruling R19).
    pub(crate) fn notify_on(&mut self, stream: StreamNumber, notification: Notification) {
        let exists = stream.get() < self.connection.framing.streams();
        let stream = if exists { stream } else { StreamNumber::CONTROL };
        self.newest_notification = self.newest_notification.next();
        let body = Body::Notification(notification);
        self.send(stream, &Message { transaction: self.newest_notification, body });
    }
}
