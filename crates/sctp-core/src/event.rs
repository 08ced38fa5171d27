//! What an association tells its user; names after RFC 6458 §6.1.

use crate::error::{AssociationError, RemoteError, SendFailure};
use crate::message::Message;
use crate::transmit::PathId;
use sctp_wire::SharedKeyId;

/// Something the user of an association should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The association is established (SCTP_COMM_UP).
    CommunicationUp {
        /// Streams this side may send on: ids 0 to this, exclusive.
        outbound_streams: u16,
        /// Streams the peer may send on.
        inbound_streams: u16,
        /// Who opened it.
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
    /// The peer asked for a graceful end; nothing more can be sent (SCTP_SHUTDOWN_EVENT).
    ShutdownReceived,
    /// Both sides delivered everything and the association is gone (SCTP_SHUTDOWN_COMP).
    ShutdownComplete,
    /// A path changed its state (SCTP_PEER_ADDR_CHANGE).
    PeerAddressChange {
        /// Which path.
        path: PathId,
        /// What it is now.
        state: PathState,
    },
    /// The peer reported an error (SCTP_REMOTE_ERROR).
    RemoteError(RemoteError),
    /// This message was accepted and is not sent any more (SCTP_SEND_FAILED_EVENT).
    SendFailed {
        /// The message, as it was handed in.
        message: Message,
        /// Whether any part of it was sent; the peer may have received it even so (SCTP_DATA_SENT).
        was_sent: bool,
        /// Why.
        reason: SendFailure,
    },
    /// The peer signs with another key than before; at first it is expected to use the one active here
    /// (SCTP_AUTH_NEW_KEY of SCTP_AUTHENTICATION_EVENT).
    NewPeerKey(SharedKeyId),
    /// Everything sent has been acknowledged (SCTP_SENDER_DRY_EVENT).
    SenderDry,
    /// A message can be read: read until there is none.
    MessageReady,
    /// After a refusal for lack of room, half of the send buffer is free again.
    SendBufferAvailable,
}

/// Who opened an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This side did.
    Initiated,
    /// The peer did.
    Accepted,
}

/// What is known of a path (RFC 9260 §5.4, §8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// The peer listed the address and has not shown to be there: carries HEARTBEATs only.
    Unconfirmed,
    /// In use.
    Active,
    /// More than PotentiallyFailed.Max.Retrans consecutive errors (RFC 7829): avoided while another path is active.
    PotentiallyFailed,
    /// More than Path.Max.Retrans consecutive errors.
    Inactive,
}
