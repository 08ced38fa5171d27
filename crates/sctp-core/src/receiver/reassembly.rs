//! Pieces become messages: by TSN in DATA (RFC 9260 §6.9), by MID and FSN in I-DATA (RFC 8260 §2.2.3).
//!
//! What waits here are *runs*: neighbouring fragments of one message, wherever in it they stand. The two
//! kinds of chunk differ in what makes neighbours; everything after that is the same.

use bytes::Bytes;
use sctp_wire::{PayloadProtocolId, StreamId, Tsn};

use super::ReceiverViolation;
use super::blocks::SpareBlocks;
use super::fragment::{DataChunk, Numbering, Sequence};
use super::partial::Aborted;
use super::tsn_map::{Position, TsnMap};
use crate::message::{Delivery, Piece};
use crate::stream_set::StreamSet;
use interleaved::FsnPlace;
use runs::Runs;

mod interleaved;
mod runs;

/// The fragments that are not yet messages.
#[derive(Debug)]
pub(super) enum Reassembly {
    /// DATA: the fragments of a message have consecutive TSNs.
    ByTsn(Runs<Position>),
    /// I-DATA: nothing is known from TSNs.
    ByFsn(Runs<FsnPlace>),
}

impl Reassembly {
    pub(super) fn new(numbering: Numbering, blocks: SpareBlocks) -> Self {
        match numbering {
            Numbering::Ssn => Self::ByTsn(Runs::new(blocks)),
            Numbering::Mid => Self::ByFsn(Runs::new(blocks)),
        }
    }

    /// Returns the octets of payload in fragments that wait for others.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::ByTsn(runs) => runs.bytes(),
            Self::ByFsn(runs) => runs.bytes(),
        }
    }

    /// Returns whether a chunk agrees with what has arrived. Changes nothing.
    #[inline]
    pub(super) fn check(
        &self,
        position: Position,
        fragment: &DataChunk<'_>,
        arrived: &TsnMap,
        message_bytes: usize,
    ) -> Result<(), ReceiverViolation> {
        // A whole message contradicts nothing but a part of another one.
        if fragment.flags.is_whole() && self.is_empty() && fragment.payload.len() <= message_bytes {
            return Ok(());
        }
        match self {
            Self::ByTsn(runs) => runs.check(position, fragment, arrived, message_bytes),
            Self::ByFsn(runs) => runs.check(fragment, message_bytes),
        }
    }

    /// Returns whether no fragment waits.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::ByTsn(runs) => runs.is_empty(),
            Self::ByFsn(runs) => runs.is_empty(),
        }
    }

    /// Returns the number of octets in what holds them, besides their payload.
    #[inline]
    pub(super) fn overhead_bytes(&self) -> usize {
        match self {
            Self::ByTsn(runs) => runs.overhead_bytes(),
            Self::ByFsn(runs) => runs.overhead_bytes(),
        }
    }

    /// Takes a fragment that passed [`check`](Self::check); gives the message it completes.
    pub(super) fn insert(&mut self, position: Position, fragment: &DataChunk<'_>) -> Option<Assembled> {
        match self {
            Self::ByTsn(runs) => runs.insert(position, fragment),
            Self::ByFsn(runs) => runs.insert(runs.place_of(fragment), fragment),
        }
    }

    /// Takes what is there of an unfinished message from its beginning on, if that is more than `point` octets and the
    /// message the next of its stream. Counts in `messages`, which gives a message its number.
    pub(super) fn take_piece(
        &mut self,
        candidate: &PartialCandidate,
        point: usize,
        is_next: impl Fn(StreamId, Sequence) -> bool,
        messages: &mut u64,
    ) -> Option<Assembled> {
        match self {
            Self::ByTsn(runs) => {
                let first = runs.run_up_to(candidate.head)?;
                runs.take_piece(first, point, is_next, messages)
            }
            Self::ByFsn(runs) => {
                let PartialCandidate { stream, unordered, sequence, .. } = *candidate;
                runs.take_piece(FsnPlace::beginning(stream, unordered, sequence), point, is_next, messages)
            }
        }
    }

    /// Returns whether messages delivered in part were dropped that have not been taken out.
    #[inline]
    pub(super) fn has_aborted(&self) -> bool {
        match self {
            Self::ByTsn(runs) => runs.has_aborted(),
            Self::ByFsn(runs) => runs.has_aborted(),
        }
    }

    /// Takes out the messages delivered in part that were dropped since the last call.
    pub(super) fn take_aborted(&mut self) -> Vec<Aborted> {
        match self {
            Self::ByTsn(runs) => runs.take_aborted(),
            Self::ByFsn(runs) => runs.take_aborted(),
        }
    }

    /// No message delivered in part becomes complete any more.
    pub(super) fn abort_partial(&mut self) {
        match self {
            Self::ByTsn(runs) => runs.abort_partial(),
            Self::ByFsn(runs) => runs.abort_partial(),
        }
    }

    /// Drops everything, and returns what that was.
    pub(super) fn clear(&mut self) -> Discarded {
        match self {
            Self::ByTsn(runs) => runs.clear(),
            Self::ByFsn(runs) => runs.clear(),
        }
    }

    /// Waits for no chunk up to a position any more, and for none of a message its stream `has_passed`: drops
    /// what cannot be completed. Gives also the end of the last message dropped, if it lies above.
    pub(super) fn forward(
        &mut self,
        through: Position,
        has_passed: impl Fn(StreamId, Sequence) -> bool,
    ) -> (Discarded, Position) {
        match self {
            Self::ByTsn(runs) => runs.forward(through, has_passed),
            // What is given up is listed, message by message: TSNs say nothing (RFC 8260 §2.2.3).
            Self::ByFsn(_) => (Discarded::default(), through),
        }
    }

    /// Drops the messages of a stream up to one; with DATA the TSNs say which those are.
    pub(super) fn skip(&mut self, stream: StreamId, unordered: bool, last: Sequence) -> Discarded {
        match self {
            Self::ByTsn(_) => Discarded::default(),
            Self::ByFsn(runs) => runs.skip(stream, unordered, last),
        }
    }

    /// Drops what is incomplete in streams whose MIDs start again. With DATA the TSNs keep what is old apart from what is
    /// new.
    pub(super) fn reset(&mut self, streams: &StreamSet) -> Discarded {
        match self {
            Self::ByTsn(_) => Discarded::default(),
            Self::ByFsn(runs) => runs.reset(streams),
        }
    }

    /// Drops the beginning of a message whose next fragment would stand at a position where another begins.
    pub(super) fn cut_off_below(&mut self, position: Position) -> Discarded {
        match self {
            Self::ByTsn(runs) => runs.cut_off_below(position),
            Self::ByFsn(_) => Discarded::default(),
        }
    }
}

/// The place where an unfinished message may be long enough to be delivered in part.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartialCandidate {
    /// DATA: the message that this position, after the cumulative TSN, belongs to.
    pub(super) head: Position,
    /// I-DATA: this message of this stream.
    pub(super) stream: StreamId,
    pub(super) unordered: bool,
    pub(super) sequence: Sequence,
}

impl Assembled {
    /// Wraps a message that is no fragment.
    #[inline]
    pub(super) fn whole(fragment: &DataChunk<'_>, payload: Bytes) -> Self {
        let &DataChunk { tsn, stream, sequence, ppid, .. } = fragment;
        Self { tsn, stream, delivery: fragment.delivery(), sequence, ppid, payload, piece: None }
    }

    /// Returns the place of the message in its stream; `None` for an unordered one.
    #[inline]
    pub(super) fn order(&self) -> Option<Sequence> {
        match self.delivery {
            Delivery::Ordered => Some(self.sequence),
            Delivery::Unordered => None,
        }
    }
}

/// A whole message, or a piece of one; not yet in order.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Assembled {
    /// The TSN of its first fragment.
    pub(super) tsn: Tsn,
    pub(super) stream: StreamId,
    pub(super) delivery: Delivery,
    /// The number of the message in its stream; of an unordered one in DATA it means nothing.
    pub(super) sequence: Sequence,
    pub(super) ppid: PayloadProtocolId,
    pub(super) payload: Bytes,
    /// `None` for a message that is delivered as a whole.
    pub(super) piece: Option<Piece>,
}

/// Fragments thrown away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Discarded {
    /// The number of octets of payload.
    pub(super) bytes: usize,
    /// Messages they were of; not counted with DATA.
    pub(super) messages: u64,
}
