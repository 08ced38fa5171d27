//! User messages, the unit SCTP keeps whole.

use core::time::Duration;

use bytes::Bytes;
use sctp_wire::{Mid, PayloadProtocolId, Ssn, StreamId, Tsn};
use virtual_time::Instant;

/// Whether a message waits for earlier ones of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Delivery {
    /// Delivered after all earlier ordered messages of the same stream (RFC 9260 §6.6).
    #[default]
    Ordered,
    /// Delivered as soon as it is complete.
    Unordered,
}

/// How long a message is worth sending (RFC 3758, RFC 7496).
///
/// What is given up comes back as [`Event::SendFailed`](crate::Event::SendFailed). Once part of a message has been
/// sent, the peer has to know partial reliability, or the message is sent to its end and again until it is
/// acknowledged ([`Capability::PartialReliability`](crate::Capability::PartialReliability)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Reliability {
    /// The message is sent until it is acknowledged or the association ends.
    #[default]
    Reliable,
    /// The message is neither sent nor sent again once this much time has passed since it was handed in (RFC
    /// 3758 §4.1).
    Lifetime(Duration),
    /// The chunks of the message are not sent again more often than this; 0: never (RFC 7496 §3.1).
    Retransmissions(u32),
    /// The message is as reliable as any, but while nothing of it is sent it makes room in a full send buffer:
    /// for messages with a lower number, and for all that have none (RFC 7496 §3.2). 0 is the highest priority.
    Priority(u32),
}

/// A user message to be sent: it arrives whole, whatever packets it travels in, as a [`ReceivedMessage`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Message {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Payload protocol identifier: passed through untouched, host byte order.
    pub ppid: PayloadProtocolId,
    /// The order of delivery: with or without regard to other messages of the stream.
    pub delivery: Delivery,
    /// The rule by which the sender may give the message up; not transmitted.
    pub reliability: Reliability,
    /// The sender's own mark, handed back with [`Event::SendFailed`](crate::Event::SendFailed) (RFC 6458 §5.3.4,
    /// `snd_context`); not transmitted.
    pub context: u64,
    /// The content of the message, at least one octet (RFC 9260 §3.3.1 knows no empty message).
    pub payload: Bytes,
}

impl Message {
    /// Creates an ordered message without a payload protocol identifier.
    #[must_use]
    pub fn ordered(stream: StreamId, payload: impl Into<Bytes>) -> Self {
        Self {
            stream,
            ppid: PayloadProtocolId::UNSPECIFIED,
            delivery: Delivery::Ordered,
            reliability: Reliability::Reliable,
            context: 0,
            payload: payload.into(),
        }
    }

    /// Creates an unordered message without a payload protocol identifier.
    #[must_use]
    pub fn unordered(stream: StreamId, payload: impl Into<Bytes>) -> Self {
        Self { delivery: Delivery::Unordered, ..Self::ordered(stream, payload) }
    }

    /// Creates a reliable message with or without order.
    #[must_use]
    pub fn new(stream: StreamId, delivery: Delivery, payload: impl Into<Bytes>) -> Self {
        Self { delivery, ..Self::ordered(stream, payload) }
    }

    /// Returns the message with this payload protocol identifier.
    #[must_use]
    pub fn with_ppid(self, ppid: PayloadProtocolId) -> Self {
        Self { ppid, ..self }
    }

    /// Returns the message with a lifetime, after which it is given up ([`Reliability::Lifetime`]).
    #[must_use]
    pub fn with_lifetime(self, lifetime: Duration) -> Self {
        Self { reliability: Reliability::Lifetime(lifetime), ..self }
    }

    /// Returns the message with a limit of retransmissions, after which it is given up
    /// ([`Reliability::Retransmissions`]).
    #[must_use]
    pub fn with_retransmissions(self, limit: u32) -> Self {
        Self { reliability: Reliability::Retransmissions(limit), ..self }
    }

    /// Makes room for messages with a lower number ([`Reliability::Priority`]).
    #[must_use]
    pub fn with_priority(self, priority: u32) -> Self {
        Self { reliability: Reliability::Priority(priority), ..self }
    }

    /// Returns the message with a mark of the sender's own.
    #[must_use]
    pub fn with_context(self, context: u64) -> Self {
        Self { context, ..self }
    }
}

/// A user message as it arrived: what of a [`Message`] has travelled.
///
/// It becomes a [`Message`] again, reliable and without a mark, for whoever sends it back or on.
///
/// ```
/// use sctp_core::{Message, ReceivedMessage};
///
/// fn answer(request: ReceivedMessage) -> Message {
///     Message::from(request).with_retransmissions(3)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ReceivedMessage {
    /// The stream on which the message came.
    pub stream: StreamId,
    /// The payload protocol identifier that the peer gave it, host byte order.
    pub ppid: PayloadProtocolId,
    /// Whether it kept its place among the messages of its stream.
    pub delivery: Delivery,
    /// The content of the message. It may share a block with others that came with it, of a packet, or of up to 16 KiB from
    /// 1000 octets on: who keeps one of many for long copies it. The block of a message in several packets goes to a later one
    /// when the last handle to it is dropped; made into a `Vec`, such a message is copied.
    pub payload: Bytes,
}

impl From<ReceivedMessage> for Message {
    fn from(received: ReceivedMessage) -> Self {
        let ReceivedMessage { stream, ppid, delivery, payload } = received;
        Self { ppid, ..Self::new(stream, delivery, payload) }
    }
}

/// Whether a message is what another one became on its way: what of the two travels is equal.
impl PartialEq<Message> for ReceivedMessage {
    fn eq(&self, sent: &Message) -> bool {
        let Message { stream, ppid, delivery, payload, reliability: _, context: _ } = sent;
        (self.stream, self.ppid, self.delivery, &self.payload) == (*stream, *ppid, *delivery, payload)
    }
}

/// The number that the sender gave a message within its stream (`rcv_ssn` of RFC 6458 §5.3.5): which of the two is one answer
/// for the whole association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MessageNumber {
    /// The number of an ordered message in DATA (RFC 9260 §3.3.1), which counts to 65535 and begins again.
    Ssn(Ssn),
    /// The number of a message in I-DATA (RFC 8260 §2.1). Unordered messages of a stream are counted apart from ordered ones.
    Mid(Mid),
}

/// A message from the peer, with its numbers, and how long head-of-line blocking held it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// The message that arrived.
    pub message: ReceivedMessage,
    /// The TSN of the chunk with which the message begins (`rcv_tsn` of RFC 6458 §5.3.5), by which it is found in a capture. The
    /// pieces of one message have the same.
    pub tsn: Tsn,
    /// The number of the message in its stream, as it was counted there.
    pub(crate) counted: Counted,
    /// The time when its last missing octet arrived.
    pub complete_at: Instant,
    /// How long it was complete but waited for an earlier message of its stream; zero if it did not wait.
    pub blocked: Duration,
    /// `None`: the message is whole. Otherwise the payload is a part of a longer one: only where
    /// [`Buffers::partial_delivery_point_bytes`](crate::Buffers::partial_delivery_point_bytes) is set.
    pub piece: Option<Piece>,
}

impl Received {
    /// Returns the number of the message in its stream; `None` if it came unordered in DATA, where such messages have none.
    #[must_use]
    pub fn number(&self) -> Option<MessageNumber> {
        let Counted { number, has_mid } = self.counted;
        match (has_mid, self.message.delivery) {
            (true, Delivery::Ordered | Delivery::Unordered) => Some(MessageNumber::Mid(Mid::new(number))),
            (false, Delivery::Ordered) => {
                u16::try_from(number >> 16).ok().map(Ssn::new).map(MessageNumber::Ssn)
            }
            (false, Delivery::Unordered) => None,
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Received {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Received", 6)?;
        fields.serialize_field("message", &self.message)?;
        fields.serialize_field("tsn", &self.tsn)?;
        fields.serialize_field("number", &self.number())?;
        fields.serialize_field("complete_at", &self.complete_at)?;
        fields.serialize_field("blocked", &self.blocked)?;
        fields.serialize_field("piece", &self.piece)?;
        fields.end()
    }
}

/// The number that stood in the chunks of a message, whether or not it means anything there: worked out when somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The MID, or the SSN in the upper half.
    pub(crate) number: u32,
    pub(crate) has_mid: bool,
}

/// The part of its message that a payload is (RFC 6458 §6.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Piece {
    /// Tells messages in delivery apart: the pieces of one have the same number, and no other message of the association has.
    pub message: u64,
    /// Octets of the message in the pieces before this one.
    pub offset: u64,
    /// Whether the message ends with it.
    pub is_last: bool,
}
