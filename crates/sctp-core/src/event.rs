//! The events that an association reports to its user; names after RFC 6458 §6.1.

mod queue;

pub use self::queue::{EventCounters, EventQueue};
use std::net::IpAddr;

use crate::config::Exposure;
use crate::error::{AssociationError, RemoteError, SendFailure};
use crate::message::Message;
use crate::transmit::PathId;
use sctp_wire::{ReconfigResult, SharedKeyId, StreamId};

/// Something the user of an association should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Event {
    /// The association is established (SCTP_COMM_UP).
    CommunicationUp {
        /// Streams this side may send on: ids 0 to this, exclusive.
        outbound_streams: u16,
        /// Streams the peer may send on.
        inbound_streams: u16,
        /// The side that opened the association.
        origin: Origin,
    },
    /// The association ended, not by agreement (SCTP_COMM_LOST).
    CommunicationLost(AssociationError),
    /// The association could not be set up (SCTP_CANT_STR_ASSOC).
    CannotStart(AssociationError),
    /// The peer lost its state and started anew: stream sequence numbers begin at zero, what was in flight is
    /// lost (SCTP_RESTART, RFC 9260 §5.2.4 action A).
    Restart {
        /// Streams this side may send on from now on.
        outbound_streams: u16,
        /// Streams the peer may send on from now on.
        inbound_streams: u16,
    },
    /// Streams begin at their first message again, or the peer would not have it (SCTP_STREAM_RESET_EVENT, RFC 6525).
    StreamsReset {
        /// The direction of the streams.
        direction: StreamDirection,
        /// The streams that were reset; none listed means all.
        streams: Vec<StreamId>,
        /// The outcome of the request.
        result: ReconfigOutcome,
    },
    /// TSNs and all streams began anew, asked for by either side, or the peer would not have it
    /// (SCTP_ASSOC_RESET_EVENT).
    AssociationReset {
        /// The outcome of the request.
        result: ReconfigOutcome,
    },
    /// The peer has answered a request for more streams, or has added some itself (SCTP_STREAM_CHANGE_EVENT).
    StreamsAdded {
        /// Streams this side may send on now.
        outbound_streams: u16,
        /// Streams the peer may send on now.
        inbound_streams: u16,
        /// The outcome of the request.
        result: ReconfigOutcome,
    },
    /// The peer asked for a graceful end; nothing more can be sent (SCTP_SHUTDOWN_EVENT).
    ShutdownReceived,
    /// Both sides delivered everything and the association is gone (SCTP_SHUTDOWN_COMP).
    ShutdownComplete,
    /// A path changed its state (SCTP_PEER_ADDR_CHANGE).
    PeerAddressChange {
        /// The path that changed its state.
        path: PathId,
        /// The state that the path has now.
        state: PathState,
    },
    /// The peer reported an error (SCTP_REMOTE_ERROR).
    RemoteError(RemoteError),
    /// This message was accepted and is not sent any more (SCTP_SEND_FAILED_EVENT).
    SendFailed {
        /// The message, as it was handed in.
        message: Message,
        /// Whether any part of it was sent; the peer may have received it even so (SCTP_DATA_SENT). When an association
        /// ends, that is every message the peer had not acknowledged in full.
        was_sent: bool,
        /// The reason why it is not sent.
        reason: SendFailure,
    },
    /// A message of which pieces were delivered will never be complete: the peer gave it up, or the association ended
    /// (SCTP_PARTIAL_DELIVERY_EVENT with SCTP_PARTIAL_DELIVERY_ABORTED). Pieces not read yet can still be read.
    PartialDeliveryAborted {
        /// The stream of the message.
        stream: StreamId,
        /// The number of the message: [`Piece::message`](crate::Piece::message).
        message: u64,
    },
    /// The peer signs with another key than before; at first it is expected to use the one active here
    /// (SCTP_AUTH_NEW_KEY of SCTP_AUTHENTICATION_EVENT).
    NewPeerKey(SharedKeyId),
    /// The peer answered a request to change this side's addresses (RFC 5061 §5.1).
    AddressChangeAnswered {
        /// The change that was asked for.
        change: AddressChange,
        /// The answer of the peer to it.
        outcome: AddressOutcome,
    },
    /// The peer would like to be sent to on this path; it is the primary one as soon as its address is confirmed
    /// (SCTP_ADDR_MADE_PRIM of SCTP_PEER_ADDR_CHANGE).
    PeerPrimary(PathId),
    /// A packet train of the peer has come to an address of this host that is not the one in use, but perhaps for one packet: the
    /// peer measures what the path there carries ([`StartUp::Probe`](crate::StartUp::Probe) at its end), and has the answers half a
    /// round trip later. From then on it begins there with what it knows. Once for each train; nothing proves that it was one.
    TrainReceived {
        /// The address of this host that the train came to.
        local: IpAddr,
    },
    /// Everything sent has been acknowledged (SCTP_SENDER_DRY_EVENT). Left out by default:
    /// [`EventMask`](crate::EventMask).
    SenderDry,
    /// A message can be read: read until there is none.
    MessageReady,
    /// After a refusal for lack of room, a quarter of the send buffer is free again and what was refused finds room, the
    /// largest of several messages unless it takes more than half of the buffer; or no more is buffered than
    /// [`await_low_water`](crate::Endpoint::await_low_water) asked for.
    SendBufferAvailable,
}

/// Streams have one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum StreamDirection {
    /// The streams on which this side sends.
    Outgoing,
    /// The streams on which the peer sends.
    Incoming,
}

/// The outcome of a request to re-configure streams (RFC 6525 §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ReconfigOutcome {
    /// The request was carried out.
    Performed,
    /// The peer saw nothing to do; nothing changed.
    NothingToDo,
    /// The peer does not allow it.
    Denied,
    /// The peer does not know one of the streams.
    UnknownStream,
    /// The peer is busy with another request; it may be asked again later.
    Busy,
    /// The peer expected another request number: it cannot be asked any more.
    BadSequenceNumber,
    /// The peer's answer lacks what belongs to it.
    Malformed,
    /// The peer began anew before it answered (RFC 9260 §5.2.4.1), and with it all streams.
    PeerRestarted,
    /// A result this implementation does not know.
    Unknown(u32),
}

impl From<ReconfigResult> for ReconfigOutcome {
    fn from(result: ReconfigResult) -> Self {
        match result {
            ReconfigResult::Performed => Self::Performed,
            ReconfigResult::NothingToDo => Self::NothingToDo,
            ReconfigResult::Denied => Self::Denied,
            ReconfigResult::WrongSsn => Self::UnknownStream,
            ReconfigResult::RequestAlreadyInProgress | ReconfigResult::InProgress => Self::Busy,
            ReconfigResult::BadSequenceNumber => Self::BadSequenceNumber,
            ReconfigResult::Unknown(number) => Self::Unknown(number),
        }
    }
}

/// The side that opened an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Origin {
    /// This side opened the association.
    Initiated,
    /// The peer opened the association.
    Accepted,
}

/// The state of an association (RFC 9260 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AssociationState {
    /// INIT was sent, and not answered yet.
    CookieWait,
    /// COOKIE ECHO was sent, and not answered yet.
    CookieEchoed,
    /// The association is up: data flows both ways.
    Established,
    /// The user asked for shutdown; data is still on its way.
    ShutdownPending,
    /// SHUTDOWN was sent, and not answered yet.
    ShutdownSent,
    /// SHUTDOWN received; data is still on its way.
    ShutdownReceived,
    /// SHUTDOWN ACK was sent, and not answered yet.
    ShutdownAckSent,
    /// The association is over, and nothing of it is left.
    Closed,
}

/// The state of a path (RFC 9260 §5.4, §8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum PathState {
    /// The peer listed the address and has not shown to be there: carries HEARTBEATs only.
    Unconfirmed,
    /// The path works, and may carry data.
    Active,
    /// The path had more than PotentiallyFailed.Max.Retrans consecutive errors (RFC 7829): it is avoided while
    /// another one is active.
    PotentiallyFailed,
    /// The path had more than Path.Max.Retrans consecutive errors.
    Inactive,
    /// The peer has deleted the address (RFC 5061 §4.2.2): nothing is sent there any more.
    Removed,
}

impl PathState {
    /// Returns what the user gets to see of it.
    pub(crate) const fn shown(self, exposure: Exposure) -> Self {
        match (self, exposure) {
            (Self::PotentiallyFailed, Exposure::Hidden) => Self::Active,
            (
                Self::Unconfirmed | Self::Active | Self::PotentiallyFailed | Self::Inactive | Self::Removed,
                Exposure::Exposed | Exposure::Hidden,
            ) => self,
        }
    }

    /// Returns the name of the state in small letters, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unconfirmed => "unconfirmed",
            Self::Active => "active",
            Self::PotentiallyFailed => "potentially_failed",
            Self::Inactive => "inactive",
            Self::Removed => "removed",
        }
    }
}

/// A change of this side's addresses that the peer is asked for. The unspecified address stands for the one the
/// request is sent from; in [`AddressChange::Delete`] for all but that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AddressChange {
    /// We can be reached here too (RFC 5061 §4.2.1).
    Add(IpAddr),
    /// We cannot be reached here any more (RFC 5061 §4.2.2).
    Delete(IpAddr),
    /// Send here, please (RFC 5061 §4.2.4).
    SetPrimary(IpAddr),
}

/// The outcome of an [`AddressChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AddressOutcome {
    /// The peer has made the change.
    Done,
    /// The peer has refused the change.
    Refused {
        /// The cause it gave (RFC 5061 §4.3); 0 without one.
        cause: u16,
    },
    /// The peer does not know ASCONF after all.
    NotUnderstood,
    /// The peer answers everything but this. Whether it has done it is not known; it is not asked for changes any more.
    NotAnswered,
    /// The peer began anew before it answered (RFC 9260 §5.2.4.1): the new association has told it the addresses there are.
    PeerRestarted,
}
