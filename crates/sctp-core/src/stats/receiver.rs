//! The statistics of the receiving half of an association.

use super::blocking::BlockingStatistics;

/// The statistics of the receiving half of an association.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ReceiverStatistics {
    /// DATA and I-DATA chunks kept.
    pub data_chunks: u64,
    /// The number of octets in them.
    pub octets: u64,
    /// Messages completed, whether read or not.
    pub messages: u64,
    /// Messages of which pieces were delivered, complete by now or not.
    pub messages_in_pieces: u64,
    /// Pieces delivered of messages that were not complete yet.
    pub pieces: u64,
    /// Messages of which pieces were delivered and that will never be complete.
    pub pieces_aborted: u64,
    /// DATA chunks that came again.
    pub duplicates: u64,
    /// DATA chunks dropped because window or memory had no room.
    pub dropped_no_window: u64,
    /// DATA chunks dropped because they were too far ahead or made too many gaps.
    pub dropped_out_of_reach: u64,
    /// DATA chunks acknowledged and thrown away because their stream does not exist.
    pub invalid_streams: u64,
    /// SACKs left out because too many fell due in packets that arrived together; the next one said the same and more.
    pub sacks_left_out: u64,
    /// Payload octets in fragments that wait for others, now.
    pub reassembly_bytes: usize,
    /// The statistics of what the peer gave up.
    pub given_up: GivenUp,
    /// The statistics of head-of-line blocking.
    pub blocked: BlockingStatistics,
}

/// The statistics of what the peer gave up (RFC 3758 §3.6, RFC 8260 §2.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GivenUp {
    /// FORWARD TSN and I-FORWARD-TSN that moved the cumulative TSN.
    pub forward_tsns: u64,
    /// The number of those that came too late to move anything.
    pub old_forward_tsns: u64,
    /// The number of those discarded because they reached further than any chunk in flight.
    pub dropped_forward_tsns: u64,
    /// Entries in them discarded because their stream does not exist.
    pub invalid_streams: u64,
    /// Messages that will never be delivered, as far as their numbers tell: an unordered message without a MID
    /// of which nothing arrived is not known here.
    pub messages: u64,
    /// Chunks of such messages that came later.
    pub late_chunks: u64,
}
