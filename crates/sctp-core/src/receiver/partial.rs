//! Long messages in pieces (RFC 9260 §6.9, RFC 6458 §6.1.7): the beginning of a message is delivered while its rest is
//! under way.
//!
//! Only the message its stream waits for is begun, so that pieces are in order as whole messages are; others of the stream
//! wait until it is complete. With DATA it is the message that the cumulative TSN stands in, for the fragments of a
//! message follow each other: one at a time. With I-DATA every stream may have one, and every unordered message is one.

use sctp_wire::StreamId;
use virtual_time::Instant;

use super::Receiver;
use super::fragment::DataChunk;
use super::reassembly::PartialCandidate;

/// A message delivered in part that will never be complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Aborted {
    pub(crate) stream: StreamId,
    /// The number of the message among those delivered in pieces.
    pub(crate) message: u64,
}

impl Receiver {
    /// Delivers what is there of a message that is long enough, after something changed in a stream, perhaps by
    /// a fragment; returns whether that was any.
    pub(super) fn deliver_piece(
        &mut self,
        now: Instant,
        point: usize,
        stream: StreamId,
        fragment: Option<&DataChunk<'_>>,
    ) -> bool {
        let unordered = fragment.filter(|fragment| fragment.flags.unordered);
        let candidate = PartialCandidate {
            head: self.arrived.head(),
            stream,
            unordered: unordered.is_some(),
            sequence: unordered.map_or(self.ordering.next(stream), |fragment| fragment.sequence),
        };
        let ordering = &self.ordering;
        let is_next = |stream, order| ordering.next(stream) == order;
        let Some(piece) = self.reassembly.take_piece(
            &candidate,
            point,
            is_next,
            &mut self.counters.note().messages_in_pieces,
        ) else {
            return false;
        };
        self.counters.note().pieces += 1;
        self.ordering.insert_piece(now, piece);
        self.count_held();
        true
    }

    /// Takes out the messages that turned out never to become complete, since the last call.
    pub(crate) fn take_aborted(&mut self) -> Vec<Aborted> {
        let aborted = self.reassembly.take_aborted();
        if !aborted.is_empty() {
            self.counters.note().pieces_aborted += u64::try_from(aborted.len()).unwrap_or(u64::MAX);
        }
        aborted
    }

    /// Takes note that no more data comes: what was delivered in part stays incomplete.
    pub(crate) fn abort_partial(&mut self) -> Vec<Aborted> {
        self.reassembly.abort_partial();
        self.take_aborted()
    }

    /// Returns whether any message turned out never to become complete since they were taken out last.
    #[inline]
    pub(crate) fn has_aborted(&self) -> bool {
        self.reassembly.has_aborted()
    }
}
