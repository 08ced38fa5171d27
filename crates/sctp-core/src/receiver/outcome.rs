//! The outcomes that the receiver returns to the association, the peer's offences, and statistics.

use sctp_wire::{StreamId, Tsn};

use super::blocking::BlockingStatistics;
use super::forward::GivenUp;
use crate::error::ReceiverViolation;
use crate::seldom::Seldom;

/// The outcome of one DATA or I-DATA chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// Kept; `message_ready` says whether the application has something new to read because of it.
    Accepted { message_ready: bool },
    /// The chunk was seen before.
    Duplicate,
    /// There is no room. As if lost; the SACK shows the window.
    DroppedNoBuffer,
    /// No room, and never any more: the buffer is full of pieces of messages, the application has read everything,
    /// and the peer would send the same chunk for ever. More long messages were begun at once than the buffer
    /// holds (RFC 8260 lets every stream begin one); answer with ABORT, cause Out of Resource.
    Hopeless {
        /// Payload octets in those pieces.
        bytes: usize,
    },
    /// The chunk is too far above the cumulative TSN, or makes one gap too many. As if lost.
    DroppedOutOfReach,
    /// The chunk belongs to a message the peer gave up before: acknowledged and thrown away.
    GivenUp,
    /// Acknowledged and thrown away; answer with ERROR, cause Invalid Stream Identifier (RFC 9260 §6.5).
    InvalidStream(StreamId),
    /// A chunk without payload; answer with ABORT, cause No User Data (RFC 9260 §6.2).
    NoUserData(Tsn),
    /// The peer contradicts itself; answer with ABORT, cause Protocol Violation (RFC 9260 §3.3.10.13).
    Violation(ReceiverViolation),
}

/// The outcome of the DATA or I-DATA chunks that stood next to each other in a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TakenIn {
    /// Whether there was any.
    pub(crate) any: bool,
    /// Whether the application has something new to read.
    pub(crate) message_ready: bool,
    /// The outcome of the last one, if it was not kept; what stands behind it has not been looked at.
    pub(crate) stopped_at: Option<Arrival>,
}

/// The counts of the receiving half.
#[derive(Debug, Default)]
pub(super) struct ReceiverTally {
    pub(super) data_chunks: u64,
    pub(super) octets: u64,
    pub(super) messages: u64,
    /// The statistics but for these, and for `reassembly_bytes` and `blocked`, which their owners know.
    seldom: Seldom<ReceiverStatistics>,
}

impl ReceiverTally {
    pub(super) fn get(&self) -> ReceiverStatistics {
        let Self { data_chunks, octets, messages, .. } = *self;
        ReceiverStatistics { data_chunks, octets, messages, ..self.seldom.get() }
    }

    pub(super) fn note(&mut self) -> &mut ReceiverStatistics {
        self.seldom.note()
    }
}

/// The statistics of the receiving half of an association.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
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
