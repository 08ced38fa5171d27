//! How much an association keeps: what is to be sent, what was received, and what the application has to hear.

use super::{EventLimits, at_least, at_most};
use crate::error::ConfigError;

/// Limits on memory. They are always enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Buffers {
    /// Octets of memory that messages queued and in flight take at most; [`send`](crate::Endpoint::send) refuses beyond it.
    /// Each message takes its payload and some 160 octets that hold it, so that a mebibyte has room for 900 messages of 1000
    /// octets, or 4000 of 100. Default 1 MiB. Raise it for bulk over long paths (bandwidth × round-trip time), more so
    /// where messages are short.
    pub send_bytes: usize,
    /// Octets received and not yet read at most: the window advertised to the peer (a_rwnd). Default 1 MiB.
    pub receive_bytes: usize,
    /// Octets to which [`send_bytes`](Self::send_bytes) and [`receive_bytes`](Self::receive_bytes) grow by themselves at most, each on its own; neither ever
    /// shrinks. The send buffer is three congestion windows once these are larger than a third of it, so that only a path that
    /// carries so much makes it grow; the receive buffer doubles whenever the application has read as much as it holds and leaves less than half of it unread, so
    /// that only one that keeps up has more. What all associations hold unread stays within
    /// [`receive_memory_bytes`](crate::EndpointConfig::receive_memory_bytes) of the endpoint. Default `None`: they keep their
    /// size. Set it where transfers are larger than what is on its way through a long path, 8 MiB for 500 Mbit/s at 100 ms; a server multiplies
    /// it by its associations.
    pub grown_bytes: Option<u32>,
    /// The largest message accepted from the application and from the peer. Default 256 KiB. At most
    /// [`Buffers::receive_bytes`] and [`Buffers::send_bytes`]. With a partial delivery point the peer's messages may be
    /// longer.
    pub message_bytes: usize,
    /// SCTP_PARTIAL_DELIVERY_POINT (RFC 9260 §6.9, RFC 6458 §8.1.21): once more than so many octets from the beginning of a
    /// message are there, and it is the next of its stream, the application gets them as a
    /// [`Piece`](crate::Piece), and the rest as it comes; then messages of any length can be received, longer than the
    /// receive buffer too. Default `None`: whole messages only. At most [`Buffers::message_bytes`]. Set it where peers
    /// send files or media as single messages and the application can work on their beginnings.
    pub partial_delivery_point_bytes: Option<usize>,
    /// Events that wait for the application at most.
    pub events: EventLimits,
}

impl Buffers {
    /// Returns the octets that either buffer may grow to; none where they keep their size.
    pub(crate) fn may_grow_to(&self) -> u32 {
        self.grown_bytes.unwrap_or(0)
    }

    /// Returns the octets of the largest receive window there may ever be.
    pub(super) fn most_receive_bytes(&self) -> usize {
        self.receive_bytes.max(self.may_grow_to() as usize)
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        at_least("buffers.message_bytes", self.message_bytes, 1)?;
        // An INIT with a smaller window is refused by every peer: RFC 9260 §3.3.2.
        at_least("buffers.receive_bytes", self.receive_bytes, 1500)?;
        at_most("buffers.receive_bytes", self.receive_bytes, u32::MAX as usize)?;
        at_most("buffers.message_bytes", self.message_bytes, self.receive_bytes)?;
        at_most("buffers.message_bytes", self.message_bytes, self.send_bytes)?;
        if let Some(point) = self.partial_delivery_point_bytes {
            at_least("buffers.partial_delivery_point_bytes", point, 1)?;
            at_most("buffers.partial_delivery_point_bytes", point, self.message_bytes)?;
        }
        if let Some(grown) = self.grown_bytes {
            at_least("buffers.grown_bytes", grown as usize, self.send_bytes.max(self.receive_bytes))?;
        }
        Ok(())
    }
}
