//! The parameters of a channel, and the bounds of what the peer may do.

use sctp_core::{Delivery, Reliability, StreamId};

/// A channel as its two ends agree on it (RFC 8832 §5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelConfig {
    /// The name that the application gives the channel; at most 65,535 octets. Default empty. Several channels may have
    /// the same.
    pub label: String,
    /// The name of the protocol that is spoken on it, registered or the application's own; at most 65,535 octets. Default
    /// empty.
    pub protocol: String,
    /// Whether messages wait for earlier ones of the channel. Default: they do.
    pub delivery: Delivery,
    /// How long a message is worth sending. Default: until it has arrived. [`Reliability::Priority`] is none of a data
    /// channel's.
    pub reliability: Reliability,
    /// The share of the channel where several have something to send. Default [`Priority::NORMAL`].
    pub priority: Priority,
}

impl ChannelConfig {
    /// Creates a reliable, ordered channel with this label.
    #[must_use]
    pub fn reliable(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// Returns the channel without order.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self { delivery: Delivery::Unordered, ..self }
    }

    /// Returns the channel with another rule by which messages are given up.
    #[must_use]
    pub fn with_reliability(self, reliability: Reliability) -> Self {
        Self { reliability, ..self }
    }

    pub(crate) fn name_bytes(&self) -> usize {
        self.label.len() + self.protocol.len()
    }
}

/// The weight of a channel (RFC 8831 §6.4): a channel of twice the priority gets twice the octets, where the association has
/// [`StreamScheduler::WeightedFair`](sctp_core::StreamScheduler::WeightedFair); other schedulers do not ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u16);

impl Priority {
    /// The priority below normal (RFC 8831 §6.4).
    pub const LOW: Self = Self(128);
    /// The priority of channels where nobody says otherwise.
    pub const NORMAL: Self = Self(256);
    /// The priority above normal.
    pub const HIGH: Self = Self(512);
    /// The highest priority that browsers know.
    pub const EXTRA_HIGH: Self = Self(1024);
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

/// The role that this end had in the DTLS handshake below: it says who opens channels on which streams (RFC 8832 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DtlsRole {
    /// The end that opens channels on even streams.
    Client,
    /// The end that opens channels on odd streams.
    Server,
}

impl DtlsRole {
    /// Returns the lowest stream of this end.
    pub(crate) const fn first_stream(self) -> u16 {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    /// Returns whether this end opens channels on the stream.
    #[must_use]
    pub const fn opens(self, stream: StreamId) -> bool {
        stream.get() % 2 == self.first_stream()
    }
}

/// The bounds of what both ends may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelLimits {
    /// The longest message that the peer takes, in octets: `a=max-message-size` of its session description (RFC 8841 §6).
    /// Default 65,536, which holds where the description does not say it.
    pub peer_message_bytes: usize,
    /// Channels at most, of both ends together, those that are closing included. Default 1024; one more that the peer opens
    /// is closed at once. Raise it for applications with a channel for each of many users.
    pub channels: usize,
    /// Octets at most of the labels and protocols that the peer gives its channels, together. Default 256 KiB; a channel
    /// that would make it more is closed at once.
    pub peer_name_bytes: usize,
}

impl Default for ChannelLimits {
    fn default() -> Self {
        Self { peer_message_bytes: 65_536, channels: 1024, peer_name_bytes: 256 << 10 }
    }
}
