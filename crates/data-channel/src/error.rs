//! Errors: what the application cannot have, and what the peer must not do.

use sctp_core::{PayloadProtocolId, StreamId};

use crate::dcep::{DcepError, NotEncodable};
use crate::payload::Payload;

/// A channel that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There is no room in the message that would open it.
    #[error(transparent)]
    NotEncodable(#[from] NotEncodable),
    /// There are as many channels as the limits allow, or no stream of this end is free.
    #[error("there are {channels} channels, and no more are possible")]
    TooMany {
        /// Channels that there are, those that are closing included.
        channels: usize,
    },
    /// The stream has a channel, or had one that the peer did not close.
    #[error("stream {0} is in use")]
    InUse(StreamId),
    /// The association does not take the message that opens it; [`sctp_core::SendError::BufferFull`] will pass.
    #[error(transparent)]
    Association(#[from] sctp_core::SendError),
}

/// A message that is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no such channel, or none any more.
    #[error(transparent)]
    UnknownChannel(#[from] UnknownChannel),
    /// The channel is closing, by either end.
    #[error("the channel on stream {0} is closing")]
    Closing(StreamId),
    /// The message is longer than the peer takes.
    #[error("a message of {octets} octets; the peer takes {limit}")]
    TooLong {
        /// The length of the message.
        octets: usize,
        /// The longest that the peer takes.
        limit: usize,
    },
    /// The association's send buffer is full: try again after
    /// [`Event::SendBufferAvailable`](sctp_core::Event::SendBufferAvailable). The message comes back.
    #[error("the send buffer is full; wait until there is room")]
    BufferFull(Payload),
    /// The association does not take the message.
    #[error(transparent)]
    Association(sctp_core::SendError),
}

/// A channel that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no data channel on stream {0}")]
pub struct UnknownChannel(pub StreamId);

/// Something that the peer must not do. The stream it was on is closed (RFC 8832 §6), the others go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelViolation {
    /// The message with the identifier of DCEP cannot be read.
    #[error(transparent)]
    Dcep(#[from] DcepError),
    /// The peer opened a channel on a stream that only this end may open.
    #[error("the peer opened a channel on a stream of this end's")]
    WrongStream,
    /// The peer opened a channel where there is one.
    #[error("the peer opened a channel on a stream that has one")]
    OpenedTwice,
    /// The peer opened more channels than the limits allow, or with longer names.
    #[error("the peer opened more channels, or with longer names, than are allowed")]
    TooMany,
    /// A message came on a stream without a channel.
    #[error("a message on a stream that has no channel")]
    NoChannel,
    /// A message says that it is text, and is not UTF-8.
    #[error("a text that is not UTF-8")]
    NotText,
    /// The payload protocol identifier is none of a data channel's.
    #[error("payload protocol identifier {0} is none of data channels")]
    UnknownIdentifier(PayloadProtocolId),
}
