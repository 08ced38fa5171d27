//! One JSON object per line on standard output, in the words of `peer`.

use std::io::{self, Write};
use std::net::SocketAddr;

use sctp::{AssociationError, CommunicationLost, Event};
use serde::Serialize;

/// A line of output.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line {
    /// Connect from now on.
    Listening {
        port: u16,
        at: SocketAddr,
    },
    Up {
        outbound_streams: u16,
        inbound_streams: u16,
        error: u16,
    },
    ShutdownReceived,
    ShutdownComplete,
    /// `error` is the cause code of an ABORT, 0 if it had none or there was no ABORT.
    Lost {
        error: u16,
        text: String,
    },
    Restart,
    RemoteError {
        error: u16,
        text: String,
    },
    Path {
        path: String,
        state: String,
    },
    StreamReset {
        direction: String,
        result: String,
        streams: Vec<u16>,
    },
    StreamsChanged {
        inbound_streams: u16,
        outbound_streams: u16,
        result: String,
    },
    /// The peer answered a request to change addresses of this end.
    AddressChange {
        change: String,
        outcome: String,
    },
    /// An action, and what the stack objected.
    Did {
        what: &'static str,
        message: String,
    },
    Wrong {
        stream: u16,
        message: u64,
        bytes: usize,
        what: String,
    },
    /// The last line of an association.
    Done {
        ok: bool,
        sent: u64,
        received: u64,
        octets: u64,
        wrong: u64,
        restarts: u32,
        end: &'static str,
        seconds: f64,
    },
    Error {
        call: &'static str,
        message: String,
    },
    Timeout,
}

impl Line {
    /// Prints the line at once. If standard output is gone, nobody wants to know.
    pub(crate) fn print(&self) {
        if let Ok(text) = serde_json::to_string(self) {
            let mut output = io::stdout().lock();
            let _ = writeln!(output, "{text}").and_then(|()| output.flush());
        }
    }

    /// Returns the line for an event; `None` for those that no case asks for.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::CommunicationUp { outbound_streams, inbound_streams, origin: _ } => Some(Self::Up {
                outbound_streams: *outbound_streams,
                inbound_streams: *inbound_streams,
                error: 0,
            }),
            Event::CommunicationLost(error) | Event::CannotStart(error) => {
                Some(Self::Lost { error: cause(error), text: error.to_string() })
            }
            Event::Restart { .. } => Some(Self::Restart),
            Event::ShutdownReceived => Some(Self::ShutdownReceived),
            Event::ShutdownComplete => Some(Self::ShutdownComplete),
            Event::PeerAddressChange { path, state } => {
                Some(Self::Path { path: path.to_string(), state: format!("{state:?}") })
            }
            Event::RemoteError(error) => {
                Some(Self::RemoteError { error: error.cause.unwrap_or_default(), text: error.to_string() })
            }
            Event::StreamsReset { direction, streams, result } => Some(Self::StreamReset {
                direction: format!("{direction:?}"),
                result: format!("{result:?}"),
                streams: streams.iter().map(|stream| stream.get()).collect(),
            }),
            Event::StreamsAdded { outbound_streams, inbound_streams, result } => Some(Self::StreamsChanged {
                inbound_streams: *inbound_streams,
                outbound_streams: *outbound_streams,
                result: format!("{result:?}"),
            }),
            Event::AddressChangeAnswered { change, outcome } => {
                Some(Self::AddressChange { change: format!("{change:?}"), outcome: format!("{outcome:?}") })
            }
            Event::SendFailed { .. }
            | Event::AssociationReset { .. }
            | Event::NewPeerKey(_)
            | Event::PartialDeliveryAborted { .. }
            | Event::PeerPrimary(_)
            | Event::TrainReceived { .. }
            | Event::SenderDry
            | Event::MessageReady
            | Event::SendBufferAvailable
            | _ => None,
        }
    }
}

/// Returns the cause code of the ABORT that ended an association, 0 if none did.
fn cause(error: &AssociationError) -> u16 {
    match error {
        AssociationError::Refused(remote) | AssociationError::AbortedByPeer(remote) => {
            remote.cause.unwrap_or_default()
        }
        AssociationError::HandshakeTimedOut { .. }
        | AssociationError::PeerUnreachable { .. }
        | AssociationError::AbortedLocally
        | AssociationError::GaveWay
        | AssociationError::ShutdownTimedOut
        | AssociationError::NothingAcknowledged { .. }
        | AssociationError::ProtocolViolation(_)
        | AssociationError::ReceiveBufferExhausted { .. }
        | AssociationError::StreamNotNegotiated
        | AssociationError::PeerRestarted
        | _ => 0,
    }
}

/// Tells how an association ended, in a word.
pub(crate) fn ending(ending: &Result<(), CommunicationLost>) -> &'static str {
    match ending {
        Ok(()) => "shutdown",
        Err(CommunicationLost::Association(
            AssociationError::AbortedByPeer(_) | AssociationError::AbortedLocally,
        )) => "abort",
        Err(_) => "lost",
    }
}
