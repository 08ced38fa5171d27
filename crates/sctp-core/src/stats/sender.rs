//! The statistics of the sending half of an association, and of its streams.

/// Counters of the sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SenderStatistics {
    /// Messages accepted from the user.
    pub messages: u64,
    /// DATA chunks sent for the first time.
    pub chunks: u64,
    /// DATA chunks sent again after they were declared lost.
    pub retransmissions: u64,
    /// DATA chunks sent again as tail-loss probes.
    pub probe_chunks: u64,
    /// The copies that packets of new data carried ([`RedundancyConfig`](crate::RedundancyConfig)).
    pub copies: CopyCounters,
    /// Chunks declared lost by acknowledgments (missing reports or time).
    pub lost_by_acknowledgment: u64,
    /// Chunks declared lost by T3-rtx.
    pub lost_by_timeout: u64,
    /// Chunks declared lost that were acknowledged before they were sent again.
    pub spurious: u64,
    /// Chunks sent again because they were late, of which the peer reports that it has them twice.
    pub needless_retransmissions: u64,
    /// Recoveries that were needless by what the peer reports, and not undone because too many were of late.
    pub undoings_refused: u64,
    /// Times such a report made a path more patient (RFC 8985 §6.2 step 4).
    pub reordering_window_growths: u64,
    /// Duplicates the peer reported.
    pub duplicates_reported: u64,
    /// Messages given up (RFC 7496 §4.4).
    pub abandoned: AbandonedMessages,
    /// FORWARD TSN or I-FORWARD-TSN chunks sent.
    pub forward_tsns: u64,
    /// Messages that the peer had not acknowledged when the association ended.
    pub undelivered: AbandonedCount,
}

/// The statistics of one outgoing stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamStatistics {
    /// Messages accepted from the user.
    pub messages_queued: u64,
    /// The number of octets of their payload.
    pub octets_queued: u64,
    /// Messages sent to their last fragment; retransmissions do not count.
    pub messages_sent: u64,
    /// Payload octets sent; retransmissions do not count.
    pub octets_sent: u64,
    /// Messages given up (RFC 7496 §4.3).
    pub abandoned: AbandonedMessages,
}

/// Copies of unacknowledged chunks in packets of new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CopyCounters {
    /// The number of copies sent; early ones in packets of their own count as probes.
    pub sent: u64,
    /// Losses that a copy mended, by what the peer reports.
    pub mended: u64,
}

/// Messages given up by policy (RFC 7496 §4.3, §4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AbandonedMessages {
    /// The messages given up by [`Reliability::Lifetime`](crate::Reliability::Lifetime).
    pub lifetime: AbandonedCount,
    /// The messages given up by [`Reliability::Retransmissions`](crate::Reliability::Retransmissions).
    pub retransmissions: AbandonedCount,
    /// The messages given up by [`Reliability::Priority`](crate::Reliability::Priority).
    pub priority: AbandonedCount,
}

/// Messages given up for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AbandonedCount {
    /// The number given up before any part of them was sent.
    pub unsent: u64,
    /// The number given up after a part of them was sent.
    pub sent: u64,
}
