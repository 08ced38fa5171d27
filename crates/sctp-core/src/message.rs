//! User messages, the unit SCTP keeps whole.

use core::time::Duration;

use bytes::Bytes;
use sctp_wire::{PayloadProtocolId, StreamId};
use virtual_time::Instant;

/// Whether a message waits for earlier ones of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Delivered after all earlier ordered messages of the same stream (RFC 9260 §6.6).
    #[default]
    Ordered,
    /// Delivered as soon as it is complete.
    Unordered,
}

/// A user message: whole on both sides, whatever packets it travelled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Payload protocol identifier: passed through untouched, host byte order.
    pub ppid: PayloadProtocolId,
    /// Ordered or unordered.
    pub delivery: Delivery,
    /// At least one octet (RFC 9260 §3.3.1 knows no empty message).
    pub payload: Bytes,
}

impl Message {
    /// An ordered message without a payload protocol identifier.
    #[must_use]
    pub fn ordered(stream: StreamId, payload: impl Into<Bytes>) -> Self {
        Self {
            stream,
            ppid: PayloadProtocolId::UNSPECIFIED,
            delivery: Delivery::Ordered,
            payload: payload.into(),
        }
    }

    /// An unordered message without a payload protocol identifier.
    #[must_use]
    pub fn unordered(stream: StreamId, payload: impl Into<Bytes>) -> Self {
        Self { delivery: Delivery::Unordered, ..Self::ordered(stream, payload) }
    }
}

/// A message from the peer, and how long head-of-line blocking held it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The message.
    pub message: Message,
    /// When its last missing octet arrived.
    pub complete_at: Instant,
    /// How long it was complete but waited for an earlier message of its stream; zero if it did not wait.
    pub blocked: Duration,
}
