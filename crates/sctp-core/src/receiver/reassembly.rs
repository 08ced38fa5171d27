//! Pieces become messages: by TSN in DATA (RFC 9260 §6.9), by MID and FSN in I-DATA (RFC 8260 §2.2.3).
//!
//! What waits here are *runs*: neighbouring fragments of one message, wherever in it they stand. The two
//! kinds of chunk differ in what makes neighbours; everything after that is the same.

use bytes::Bytes;
use sctp_wire::{PayloadProtocolId, StreamId};

use super::ReceiverViolation;
use super::fragment::{Fragment, Numbering, Sequence};
use super::tsn_map::{Position, TsnMap};
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
    pub(super) fn new(numbering: Numbering) -> Self {
        match numbering {
            Numbering::Ssn => Self::ByTsn(Runs::default()),
            Numbering::Mid => Self::ByFsn(Runs::default()),
        }
    }

    /// Payload octets in fragments that wait for others.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::ByTsn(runs) => runs.bytes(),
            Self::ByFsn(runs) => runs.bytes(),
        }
    }

    /// Whether a chunk agrees with what has arrived. Changes nothing.
    pub(super) fn check(
        &self,
        position: Position,
        fragment: &Fragment<'_>,
        arrived: &TsnMap,
        message_bytes: usize,
    ) -> Result<(), ReceiverViolation> {
        match self {
            Self::ByTsn(runs) => runs.check(position, fragment, arrived, message_bytes),
            Self::ByFsn(runs) => runs.check(fragment, message_bytes),
        }
    }

    /// Takes a chunk that passed [`check`](Self::check); gives the message it completes.
    pub(super) fn insert(&mut self, position: Position, fragment: &Fragment<'_>) -> Option<Assembled> {
        match self {
            Self::ByTsn(runs) => runs.insert(position, fragment),
            Self::ByFsn(runs) => runs.insert(runs.place_of(fragment), fragment),
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

    /// Drops what is incomplete in streams whose MIDs start again; none listed means all. With DATA the TSNs keep
    /// what is old apart from what is new.
    pub(super) fn reset(&mut self, streams: &[StreamId]) -> Discarded {
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

/// A whole message, not yet in order.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Assembled {
    pub(super) stream: StreamId,
    /// `None` for an unordered message.
    pub(super) order: Option<Sequence>,
    pub(super) ppid: PayloadProtocolId,
    pub(super) payload: Bytes,
    /// How many chunks it came in.
    pub(super) chunks: usize,
}

/// Fragments thrown away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Discarded {
    /// Payload octets.
    pub(super) bytes: usize,
    pub(super) chunks: usize,
    /// Messages they were of; not counted with DATA.
    pub(super) messages: u64,
}
