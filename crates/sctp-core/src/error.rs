//! Every way things can go wrong, one variant each.

use core::time::Duration;
use std::net::IpAddr;
use std::sync::Arc;

use sctp_wire::{ChunkType, Fsn, Mid, SharedKeyId, Ssn, StreamId, Tsn};

use crate::message::Message;
use crate::transmit::PathId;

/// A configuration that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A field is below its bound.
    #[error("{field} is {value}; it must be at least {bound}")]
    TooSmall {
        /// The name of the field in question.
        field: &'static str,
        /// The value that it was set to.
        value: usize,
        /// The smallest value that works.
        bound: usize,
    },
    /// A field is above its bound.
    #[error("{field} is {value}; it must be at most {bound}")]
    TooLarge {
        /// The name of the field in question.
        field: &'static str,
        /// The value that it was set to.
        value: usize,
        /// The largest value that works.
        bound: usize,
    },
    /// An address that cannot be used.
    #[error("{field} has {address}; each must be a unicast address and stand there once")]
    Address {
        /// The name of the field in question.
        field: &'static str,
        /// The address that was given.
        address: IpAddr,
    },
    /// A duration outside its bounds.
    #[error("{field} is {value:?}; it must be from {min:?} to {max:?}")]
    Duration {
        /// The name of the field in question.
        field: &'static str,
        /// The value that it was set to.
        value: Duration,
        /// The shortest time that works.
        min: Duration,
        /// The longest time that works.
        max: Duration,
    },
    /// A chunk type is listed that cannot be authenticated (RFC 4895 §3.2).
    #[error("authentication.chunks lists {chunk}, which cannot be authenticated; leave it out")]
    NotAuthenticable {
        /// The chunk type in question.
        chunk: ChunkType,
    },
    /// Authentication is needed and not offered.
    #[error(
        "extensions.authentication is off, and authentication.chunks or extensions.dynamic_addresses needs it; switch it on"
    )]
    AuthenticationOff,
    /// A start-up is chosen that spreads packets, and packets are not to be spread.
    #[error("congestion.start_up is to resume or to probe, which needs congestion.pacing; switch that on")]
    NeedsPacing,
}

/// The reason why an association could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No destination was given.
    #[error("no destination address was given")]
    NoDestination,
    /// There are more destinations than an association has paths.
    #[error("{given} destination addresses were given; an association has at most {limit} paths")]
    TooManyDestinations {
        /// The number of destinations given.
        given: usize,
        /// The largest number there may be.
        limit: usize,
    },
    /// One association per pair of transport addresses.
    #[error("an association with this peer address and port exists already")]
    Exists,
    /// The endpoint's limit is reached.
    #[error("the endpoint holds {limit} associations already; raise association_limit")]
    TooMany {
        /// The limit that was reached.
        limit: usize,
    },
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The reason why a peer that asks for an association did not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// It has waited too long, has given up or begun anew, or has an association with this endpoint by now.
    #[error("the peer does not wait for an answer any more")]
    Gone,
    /// The endpoint's limit is reached, or the share of the peer's network; the peer was refused with "Out of Resource".
    #[error(
        "the endpoint holds as many associations as it may ({limit}), or as many of the peer's network; raise association_limit or crowds.network_percent"
    )]
    TooMany {
        /// The limit to all associations of the endpoint.
        limit: usize,
    },
    /// The configuration cannot work; the peer still waits.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl From<UnknownNewcomer> for AcceptError {
    fn from(UnknownNewcomer: UnknownNewcomer) -> Self {
        Self::Gone
    }
}

/// The peer does not wait for a decision (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer does not wait for an answer any more")]
pub struct UnknownNewcomer;

/// The reason why a message was not queued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The send buffer is full; the message comes back. Wait for
    /// [`Event::SendBufferAvailable`](crate::Event::SendBufferAvailable).
    #[error("the send buffer is full")]
    BufferFull(Message),
    /// The stream was not negotiated.
    #[error("stream {stream} does not exist; {negotiated} streams were negotiated")]
    UnknownStream {
        /// The stream that was asked for.
        stream: StreamId,
        /// The number of streams there are.
        negotiated: u16,
    },
    /// The message is longer than [`Buffers::message_bytes`](crate::Buffers::message_bytes).
    #[error("a message of {bytes} octets is longer than the limit of {limit}")]
    TooLong {
        /// The length of the message in octets.
        bytes: usize,
        /// The longest that can be sent, in octets.
        limit: usize,
    },
    /// SCTP has no message without payload (RFC 9260 §3.3.1).
    #[error("a message needs at least one octet")]
    Empty,
    /// The association is shutting down or over.
    #[error("the association is shutting down or closed")]
    ShuttingDown,
    /// No such association (any more).
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
}

/// The reason why a stream could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream was not negotiated.
    #[error("stream {stream} does not exist; {negotiated} streams were negotiated")]
    UnknownStream {
        /// The stream that was asked for.
        stream: StreamId,
        /// The number of streams there are.
        negotiated: u16,
    },
    /// No such association (any more).
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
}

/// The reason why a parameter of a running association was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The value cannot work, or not with the others.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The association has no such path.
    #[error("the association has no {0}")]
    UnknownPath(PathId),
    /// No such association (any more).
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
}

/// The reason why a path did not become the primary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetPrimaryError {
    /// The association has no such path.
    #[error("the association has no {0}")]
    UnknownPath(PathId),
    /// The address of the path is not verified yet, so no data may go there (RFC 9260 §5.4).
    #[error("the address of {0} is not confirmed yet; wait until its state is no longer Unconfirmed")]
    Unconfirmed(PathId),
    /// No such association (any more).
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
}

/// The reason why the peer is not asked to change addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressChangeError {
    /// Both ends have to offer [`Extensions::dynamic_addresses`](crate::Extensions::dynamic_addresses).
    #[error("dynamic addresses were not agreed on; switch on extensions.dynamic_addresses at both ends")]
    NotAgreed,
    /// The peer agreed and then did not understand such a request: it is not asked again (RFC 5061 §5.3 (F3)).
    #[error("the peer does not understand this kind of change")]
    NotUnderstood,
    /// The association is not established, or is ending (RFC 5061 §5.1.1 (C4)).
    #[error("the association is not up, or shutting down")]
    WrongState,
    /// The address is the last one of this side (RFC 5061 §5.3, F5).
    #[error("{0} is the last address of this side; add another one before")]
    LastAddress(IpAddr),
    /// The peer answers one request at a time.
    #[error("too many changes wait for the peer; wait for Event::AddressChangeAnswered")]
    TooMany,
    /// No such association (any more).
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
    /// The peer's addresses and those where it may be besides are more than an association keeps.
    #[error("a peer has at most {limit} addresses, those included where it may be")]
    TooManyPeerAddresses {
        /// The number of addresses of one peer at most.
        limit: usize,
    },
    /// Packets cannot be sent to the address as to that of one host.
    #[error("{0} is not the address of a host")]
    NotAHost(IpAddr),
}

/// The reason why a key could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthKeyError {
    /// No key has this identifier.
    #[error("there is no key {0}; set it first")]
    Unknown(SharedKeyId),
    /// The active key stays: without one everything would go out unsigned.
    #[error("key {0} is active; activate another one before it is deleted")]
    Active(SharedKeyId),
    /// No such association (any more).
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
}

/// The reason why a re-configuration of streams (RFC 6525) was not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReconfigError {
    /// The association is not established, so there is nothing to re-configure.
    #[error("the association is not established, or shutting down")]
    NotEstablished,
    /// One of the two sides did not offer the extension.
    #[error("re-configuration was not agreed on; both sides have to offer it")]
    NotAgreed,
    /// The stream was not negotiated.
    #[error("stream {stream} does not exist; {negotiated} streams were negotiated")]
    UnknownStream {
        /// The stream that was asked for.
        stream: StreamId,
        /// The number of streams there are.
        negotiated: u16,
    },
    /// The request lists more streams than it can name.
    #[error("{listed} streams were listed, and a request names at most {limit}; list fewer, or none for all")]
    TooManyListed {
        /// The number of streams listed.
        listed: usize,
        /// The number that can be listed.
        limit: usize,
    },
    /// There are 65,535 streams at most in each direction.
    #[error("{added} streams beyond {present} are more than 65535")]
    TooManyStreams {
        /// The number of streams there are.
        present: u16,
        /// How many more were asked for.
        added: u16,
    },
    /// Zero streams in both directions.
    #[error("no stream is to be added")]
    NothingToAdd,
    /// Requests are sent one at a time.
    #[error("{limit} requests wait for the peer's answers already")]
    TooManyRequests {
        /// The number of requests that may wait.
        limit: usize,
    },
    /// One association reset in 30 seconds (RFC 6525 §5.1.4).
    #[error("the last association reset is too recent; the next may follow in {wait:?}")]
    TooSoon {
        /// The time to wait before the next one.
        wait: Duration,
    },
    /// No such association (any more).
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
}

/// The association does not exist (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such association; it may have ended")]
pub struct UnknownAssociation;

/// The reason why an association ended other than by agreement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AssociationError {
    /// INIT or COOKIE ECHO went unanswered.
    #[error("the peer did not answer {attempts} attempts to set up the association")]
    HandshakeTimedOut {
        /// The number of times it was sent.
        attempts: u32,
    },
    /// The peer answered INIT with ABORT: nobody listens there, or it is out of resources.
    #[error("the peer refused the association: {0}")]
    Refused(RemoteError),
    /// The peer does not answer: Association.Max.Retrans was exceeded.
    #[error("the peer is unreachable: {errors} consecutive transmissions went unanswered")]
    PeerUnreachable {
        /// The number of errors in a row.
        errors: u32,
    },
    /// The peer sent an ABORT, with these causes.
    #[error("the peer aborted the association: {0}")]
    AbortedByPeer(RemoteError),
    /// [`abort`](crate::Endpoint::abort) was called.
    #[error("aborted by this side")]
    AbortedLocally,
    /// Associations became many, and the peer had sent no user data yet; an ABORT was sent
    /// ([`CrowdLimits`](crate::CrowdLimits)).
    #[error("ended to make room: the peer had sent nothing, and its network has many associations here")]
    GaveWay,
    /// T5-shutdown-guard expired (RFC 9260 §9.2): five times RTO.Max after SHUTDOWN, or in a time as long in which the peer
    /// took less than 16 octets a second of what still waited for it when the shutdown began.
    #[error("the peer did not finish the shutdown within the guard time")]
    ShutdownTimedOut,
    /// Data waited, and the peer acknowledged none of it for as long as [`Attempts::persist`](crate::Attempts::persist)
    /// allows.
    #[error(
        "the peer acknowledged nothing for {limit:?} although data waited; attempts.persist allows no more"
    )]
    NothingAcknowledged {
        /// The time that the peer had.
        limit: Duration,
    },
    /// The receive buffer is full of pieces of messages of which none can be completed any more; an ABORT was sent.
    /// Happens only where interleaving was agreed on ([`Extensions::interleaving`](crate::Extensions::interleaving)).
    #[error(
        "the peer began more long messages at once than the receive buffer holds ({bytes} octets of pieces): raise buffers.receive_bytes"
    )]
    ReceiveBufferExhausted {
        /// Payload octets in pieces.
        bytes: usize,
    },
    /// The peer broke the protocol; an ABORT was sent.
    #[error("the peer violated the protocol: {0}")]
    ProtocolViolation(#[from] ProtocolViolation),
    /// Queued before the handshake, for a stream the peer then did not allow.
    #[error("the peer allows fewer streams than this message's")]
    StreamNotNegotiated,
    /// The peer restarted: what was queued for its predecessor is void.
    #[error("the peer restarted")]
    PeerRestarted,
}

/// The reason why a message that was accepted is not sent any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum SendFailure {
    /// The association ended or began anew, or was never there.
    #[error(transparent)]
    Association(#[from] AssociationError),
    /// [`Reliability::Lifetime`](crate::Reliability::Lifetime): it took too long.
    #[error("the message's lifetime is over")]
    LifetimeExpired,
    /// [`Reliability::Retransmissions`](crate::Reliability::Retransmissions): it would have to be sent once more.
    #[error("the message was lost as often as its limit of retransmissions allows")]
    RetransmissionsExceeded,
    /// [`Reliability::Priority`](crate::Reliability::Priority): it made room for a more important one.
    #[error("the message was displaced by one of higher priority")]
    Displaced,
}

/// An error the peer reported: the first cause of an ABORT or ERROR chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RemoteError {
    /// The cause code (RFC 9260 §3.3.10); `None` if the chunk carried none.
    pub cause: Option<u16>,
    /// The cause as one readable line of at most 256 octets; where the peer says more, it ends in `…`.
    pub text: Arc<str>,
}

impl core::fmt::Display for RemoteError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.text.is_empty() { f.write_str("no cause given") } else { f.write_str(&self.text) }
    }
}

/// A way in which a peer can break the protocol so that the association cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ProtocolViolation {
    /// RFC 9260 §3.3.4: a cumulative or gap ack beyond what was sent.
    #[error("SACK acknowledges TSN {0}, which was never sent")]
    AcknowledgedUnsent(Tsn),
    /// RFC 9260 §3.3.3: initiate tag zero.
    #[error("INIT ACK with initiate tag 0")]
    ZeroInitiateTag,
    /// RFC 9260 §3.3.3: no streams.
    #[error("INIT ACK with zero streams")]
    ZeroStreams,
    /// RFC 9260 §3.3.3: INIT ACK without its one mandatory parameter.
    #[error("INIT ACK without a state cookie")]
    MissingCookie,
    /// RFC 9260 §3.3.2.1.6: the deprecated host name address.
    #[error("host name address parameter")]
    HostNameAddress,
    /// RFC 4895 §6.1: RANDOM has to be 32 octets long.
    #[error("RANDOM parameter of {octets} octets instead of 32")]
    RandomLength {
        /// The length of its RANDOM in octets.
        octets: usize,
    },
    /// Chunks are to be authenticated ([`AuthConfig::chunks`](crate::AuthConfig::chunks)), and the peer cannot.
    #[error("the peer does not do the authentication that is asked for here")]
    NoAuthentication,
    /// An ASCONF-ACK answers an ASCONF that was never sent (RFC 5061 §5.3, F0).
    #[error("ASCONF-ACK for an ASCONF that was never sent")]
    IllegalAsconfAck,
    /// RFC 5061 §6: dynamic addresses without authentication are refused.
    #[error("the peer lists ASCONF without authentication")]
    AsconfWithoutAuthentication,
    /// RFC 9260 §6.5, §6.9, RFC 8260 §2: DATA or I-DATA chunks that contradict each other or the limits.
    #[error(transparent)]
    Data(#[from] ReceiverViolation),
    /// RFC 9260 §3.3.1, RFC 8260 §2.1: DATA or I-DATA without payload.
    #[error("DATA chunk with TSN {0} carries no user data")]
    NoUserData(Tsn),
}

/// A way in which a peer's DATA and I-DATA chunks contradict each other, or us.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ReceiverViolation {
    /// The chunk before it ends a message, yet it has no B bit.
    #[error("TSN {0} follows the end of a message but does not begin one")]
    NoBeginning(Tsn),
    /// The chunk after it begins a message, yet it has no E bit.
    #[error("TSN {0} stands before the beginning of a message but does not end one")]
    NoEnding(Tsn),
    /// A B bit after a fragment without E, or an E bit before one without B.
    #[error("TSN {0} begins or ends a message in the middle of another")]
    BoundaryInsideMessage(Tsn),
    /// A fragment whose stream, SSN or U bit is not its neighbour's.
    #[error("TSN {0} differs from its neighbour in stream, SSN or U bit though both are of one message")]
    MixedFragments(Tsn),
    /// More octets than a message may have here.
    #[error(
        "a message of at least {bytes} octets exceeds the limit of {limit}: raise the limit on messages received"
    )]
    MessageTooLong {
        /// The octets of payload so far.
        bytes: usize,
        /// The limit of the configuration.
        limit: usize,
    },
    /// A second message with the SSN of one that is complete or delivered.
    #[error("TSN {tsn} uses SSN {ssn} of stream {stream} a second time")]
    SsnUsedTwice {
        /// The TSN of the chunk meant.
        tsn: Tsn,
        /// The stream that the chunk is on.
        stream: StreamId,
        /// The SSN that was used twice.
        ssn: Ssn,
    },
    /// A second ordered message with the MID of one that is complete or delivered.
    #[error("TSN {tsn} uses MID {mid} of stream {stream} a second time")]
    MidUsedTwice {
        /// The TSN of the chunk meant.
        tsn: Tsn,
        /// The stream that the chunk is on.
        stream: StreamId,
        /// The MID that was used twice.
        mid: Mid,
    },
    /// Two fragments of a message have the same number.
    #[error("TSN {tsn} is fragment {fsn} of message {mid} of stream {stream}, which another TSN was before")]
    FsnUsedTwice {
        /// The TSN of the chunk meant.
        tsn: Tsn,
        /// The stream that the chunk is on.
        stream: StreamId,
        /// The message of the chunk.
        mid: Mid,
        /// The FSN that was used twice.
        fsn: Fsn,
    },
    /// DATA though both sides agreed on I-DATA (RFC 8260 §2.2.1).
    #[error("TSN {0} came in a DATA chunk though I-DATA was agreed on")]
    DataInsteadOfIData(Tsn),
    /// I-DATA though the peer did not offer it (RFC 8260 §2.2.1).
    #[error("TSN {0} came in an I-DATA chunk though the peer did not offer I-DATA")]
    IDataNotAgreed(Tsn),
    /// FORWARD TSN though both sides agreed on I-DATA, with which I-FORWARD-TSN goes (RFC 8260 §2.3.1).
    #[error("FORWARD TSN to {0} though I-DATA was agreed on: it takes an I-FORWARD-TSN")]
    ForwardTsnWithIData(Tsn),
    /// I-FORWARD-TSN though I-DATA was not agreed on (RFC 8260 §2.3.1).
    #[error("I-FORWARD-TSN to {0} though I-DATA was not agreed on: it takes a FORWARD TSN")]
    IForwardTsnWithData(Tsn),
}
