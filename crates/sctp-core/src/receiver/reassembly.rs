//! Fragments become messages (RFC 9260 §6.9).
//!
//! The fragments of a message have consecutive TSNs from the B bit to the E bit, so what waits here are
//! *runs*: neighbours of one message, wherever in it they stand. A chunk joins the run below it, the run
//! above it, or both; a run that holds both ends leaves as a message. Fragments join by reference, and the
//! octets are copied once, when the message is whole.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use sctp_wire::{Data, PayloadProtocolId, Ssn, StreamId};

use super::ReceiverViolation;
use super::tsn_map::{Position, TsnMap};

/// The runs that are not yet messages, by the position of their first fragment.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    runs: BTreeMap<Position, Run>,
    bytes: usize,
}

impl Reassembly {
    /// Payload octets in fragments that wait for others.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a chunk agrees with the neighbours that have arrived. Changes nothing.
    pub(super) fn check(
        &self,
        position: Position,
        data: &Data<'_>,
        arrived: &TsnMap,
        message_bytes: usize,
    ) -> Result<(), ReceiverViolation> {
        let below = self.below(position, arrived);
        let above = self.above(position, arrived);
        check_side(&below, data, data.flags.beginning, ReceiverViolation::NoBeginning(data.tsn))?;
        check_side(&above, data, data.flags.ending, ReceiverViolation::NoEnding(data.tsn))?;
        let bytes = below.bytes() + data.payload.len() + above.bytes();
        if bytes > message_bytes {
            return Err(ReceiverViolation::MessageTooLong { bytes, limit: message_bytes });
        }
        Ok(())
    }

    /// Takes a chunk that passed [`check`](Self::check); gives the message it completes.
    pub(super) fn insert(&mut self, position: Position, data: &Data<'_>) -> Option<Assembled> {
        let piece = Bytes::copy_from_slice(data.payload);
        if data.flags.is_whole() {
            return Some(Assembled::whole(data, piece));
        }
        self.bytes += piece.len();
        let run = self.join(position, data, piece);
        if run.begins && run.ends {
            self.bytes -= run.bytes;
            return Some(run.into_message());
        }
        self.runs.insert(run.first, run);
        None
    }

    /// The run a fragment makes with its neighbours, taken out of the map.
    fn join(&mut self, position: Position, data: &Data<'_>, piece: Bytes) -> Run {
        let below = if data.flags.beginning { None } else { self.run_below(position).map(|run| run.first) };
        let run = match below.and_then(|first| self.runs.remove(&first)) {
            Some(below) => below.extended_by(data, piece),
            None => Run::new(position, data, piece),
        };
        let above = if data.flags.ending { None } else { self.runs.remove(&run.end) };
        match above {
            Some(above) => run.followed_by(above),
            None => run,
        }
    }

    fn below(&self, position: Position, arrived: &TsnMap) -> Neighbour<'_> {
        match self.run_below(position) {
            Some(run) if !run.ends => Neighbour::SameMessage(run),
            Some(_) => Neighbour::OtherMessage,
            None => Neighbour::outside_runs(arrived.contains(position.previous())),
        }
    }

    fn above(&self, position: Position, arrived: &TsnMap) -> Neighbour<'_> {
        match self.runs.get(&position.next()) {
            Some(run) if !run.begins => Neighbour::SameMessage(run),
            Some(_) => Neighbour::OtherMessage,
            None => Neighbour::outside_runs(arrived.contains(position.next())),
        }
    }

    /// The run whose last fragment is right below the position.
    fn run_below(&self, position: Position) -> Option<&Run> {
        let (_, run) = self.runs.range(..position).next_back()?;
        (run.end == position).then_some(run)
    }
}

/// A whole message, not yet in order.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Assembled {
    pub(super) stream: StreamId,
    /// `None` for an unordered message, whose SSN means nothing (RFC 9260 §6.6).
    pub(super) ssn: Option<Ssn>,
    pub(super) ppid: PayloadProtocolId,
    pub(super) payload: Bytes,
    /// How many chunks it came in.
    pub(super) chunks: usize,
}

impl Assembled {
    fn whole(data: &Data<'_>, payload: Bytes) -> Self {
        Self { stream: data.stream, ssn: effective_ssn(data), ppid: data.ppid, payload, chunks: 1 }
    }
}

/// Consecutive fragments of one message.
#[derive(Debug)]
struct Run {
    first: Position,
    /// The position after the last fragment.
    end: Position,
    begins: bool,
    ends: bool,
    stream: StreamId,
    ssn: Option<Ssn>,
    /// That of the lowest fragment; the first one's counts.
    ppid: PayloadProtocolId,
    bytes: usize,
    pieces: VecDeque<Bytes>,
}

impl Run {
    fn new(position: Position, data: &Data<'_>, piece: Bytes) -> Self {
        Self {
            first: position,
            end: position.next(),
            begins: data.flags.beginning,
            ends: data.flags.ending,
            stream: data.stream,
            ssn: effective_ssn(data),
            ppid: data.ppid,
            bytes: piece.len(),
            pieces: VecDeque::from([piece]),
        }
    }

    fn extended_by(mut self, data: &Data<'_>, piece: Bytes) -> Self {
        self.end = self.end.next();
        self.ends = data.flags.ending;
        self.bytes += piece.len();
        self.pieces.push_back(piece);
        self
    }

    /// This run with the one right above it. The shorter one moves, so that neither order of arrival is slow.
    fn followed_by(mut self, mut above: Self) -> Self {
        let pieces = if self.pieces.len() >= above.pieces.len() {
            self.pieces.append(&mut above.pieces);
            self.pieces
        } else {
            while let Some(piece) = self.pieces.pop_back() {
                above.pieces.push_front(piece);
            }
            above.pieces
        };
        Self { end: above.end, ends: above.ends, bytes: self.bytes + above.bytes, pieces, ..self }
    }

    fn into_message(self) -> Assembled {
        let mut payload = BytesMut::with_capacity(self.bytes);
        self.pieces.iter().for_each(|piece| payload.extend_from_slice(piece));
        let chunks = self.pieces.len();
        Assembled { stream: self.stream, ssn: self.ssn, ppid: self.ppid, payload: payload.freeze(), chunks }
    }
}

/// What is known of the chunk right below or above another one.
enum Neighbour<'a> {
    Missing,
    /// Part of the same message, unless the chunk contradicts.
    SameMessage(&'a Run),
    /// A message ends between the two.
    OtherMessage,
}

impl Neighbour<'_> {
    /// What has arrived and waits in no run belonged to a message that is whole.
    fn outside_runs(arrived: bool) -> Self {
        if arrived { Self::OtherMessage } else { Self::Missing }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::SameMessage(run) => run.bytes,
            Self::OtherMessage | Self::Missing => 0,
        }
    }
}

/// One side of a chunk: `is_boundary` is its B bit below and its E bit above.
fn check_side(
    neighbour: &Neighbour<'_>,
    data: &Data<'_>,
    is_boundary: bool,
    missing_boundary: ReceiverViolation,
) -> Result<(), ReceiverViolation> {
    match neighbour {
        Neighbour::OtherMessage if !is_boundary => Err(missing_boundary),
        Neighbour::SameMessage(_) if is_boundary => Err(ReceiverViolation::BoundaryInsideMessage(data.tsn)),
        Neighbour::SameMessage(run) if run.stream != data.stream || run.ssn != effective_ssn(data) => {
            Err(ReceiverViolation::MixedFragments(data.tsn))
        }
        Neighbour::SameMessage(_) | Neighbour::OtherMessage | Neighbour::Missing => Ok(()),
    }
}

pub(super) fn effective_ssn(data: &Data<'_>) -> Option<Ssn> {
    (!data.flags.unordered).then_some(data.ssn)
}

#[cfg(test)]
mod tests;
