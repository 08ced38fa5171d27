//! The outcomes that the receiver returns to the association, and its counters.

use sctp_wire::{StreamId, Tsn};

use crate::error::ReceiverViolation;
use crate::seldom::Seldom;
use crate::stats::ReceiverStatistics;

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
    /// Chunks behind the awaited reset, treated as if they were lost.
    pub(crate) withheld: u64,
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
