//! Runs of neighbouring fragments, and how DATA makes neighbours (RFC 9260 §6.9).
//!
//! A chunk joins the run below it, the run above it, or both; a run that holds both ends leaves as a message.
//! What comes in order is written behind what is there, and leaves as it stands; pieces that came apart are put together
//! when the message is whole.

use core::ops::RangeInclusive;
use std::collections::{BTreeMap, VecDeque};

use sctp_wire::{PayloadProtocolId, StreamId, Tsn};

use super::{Assembled, Discarded};
use crate::allocation::{BESIDE_PAYLOAD_BYTES, allocated_bytes};
use crate::error::ReceiverViolation;
use crate::message::{Delivery, Piece};
use crate::receiver::blocks::SpareBlocks;
use crate::receiver::fragment::{DataChunk, Sequence};
use crate::receiver::partial::Aborted;
use crate::receiver::tsn_map::{Position, TsnMap};

/// The place of a fragment among all others; those of one message count on.
pub(in crate::receiver) trait FragmentPosition: Copy + Ord {
    /// Octets of the range of TSNs that a run is, about: most runs of DATA are one, in a list with free places; of I-DATA few are.
    const RANGE_BYTES: usize;

    /// Returns the number of the place, which counts the fragments of a message.
    fn index(self) -> u64;

    /// Returns the place with another number beside this one.
    fn at(self, index: u64) -> Self;

    /// Returns the lowest place that can be of the same message.
    fn lowest(self) -> Self;

    /// Returns the place from which on none can be of the same message.
    fn highest(self) -> Self {
        self.at(u64::MAX)
    }

    /// Returns the place after this one.
    fn next(self) -> Self {
        self.at(self.index() + 1)
    }
}

impl FragmentPosition for Position {
    const RANGE_BYTES: usize = 20;

    fn index(self) -> u64 {
        self.get()
    }

    fn at(self, index: u64) -> Self {
        Self::new(index)
    }

    fn lowest(self) -> Self {
        Self::new(0)
    }
}

/// The runs that are not yet messages, by the place of their first fragment.
#[derive(Debug)]
pub(in crate::receiver) struct Runs<P> {
    runs: BTreeMap<P, Box<Run>>,
    bytes: usize,
    /// Octets of the message that was completed last: the next one is likely to be as long.
    expected_bytes: usize,
    /// Messages delivered in part that were dropped, until somebody asks.
    aborted: Vec<Aborted>,
    blocks: SpareBlocks,
}

impl<P: FragmentPosition> Runs<P> {
    pub(super) fn new(blocks: SpareBlocks) -> Self {
        Self { runs: BTreeMap::new(), bytes: 0, expected_bytes: 0, aborted: Vec::new(), blocks }
    }

    /// Returns the octets of payload in fragments that wait for others.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of octets in what holds them: a run with the place of a piece, its key and pointer in
    /// nodes that are half full and have links beside their entries, and the range of TSNs.
    pub(super) fn overhead_bytes(&self) -> usize {
        let in_node = 2 * (size_of::<P>() + size_of::<usize>() + 5);
        let run = allocated_bytes(size_of::<Run>()) + allocated_bytes(size_of::<Vec<u8>>());
        self.runs.len() * (run + in_node + P::RANGE_BYTES + BESIDE_PAYLOAD_BYTES)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Takes a fragment that agrees with its neighbours; gives the message it completes.
    pub(super) fn insert(&mut self, place: P, fragment: &DataChunk<'_>) -> Option<Assembled> {
        self.bytes += fragment.payload.len();
        let first = self.join_below(place, fragment);
        let is_last = fragment.flags.ending || self.runs.len() == 1;
        let above = if is_last { None } else { self.runs.remove(&place.next()) };
        let run = self.runs.get_mut(&first)?;
        if let Some(above) = above {
            run.append(*above);
        }
        if !run.begins || !run.ends {
            return None;
        }
        let mut run = self.runs.remove(&first)?;
        self.bytes -= run.bytes;
        self.expected_bytes = run.bytes;
        Some(run.take_piece(&self.blocks))
    }

    /// Takes the pieces of a run that begins its message, if they have more than `point` octets and the message is the next
    /// of its stream. The run stays, for what follows. Counts in `messages`, which gives a message its number.
    pub(super) fn take_piece(
        &mut self,
        first: P,
        point: usize,
        is_next: impl Fn(StreamId, Sequence) -> bool,
        messages: &mut u64,
    ) -> Option<Assembled> {
        let run = self.runs.get_mut(&first).filter(|run| run.begins && run.bytes > point)?;
        if !run.order().is_none_or(|order| is_next(run.stream, order)) {
            return None;
        }
        if run.delivered.is_none() {
            *messages += 1;
            run.delivered = Some(Box::new(DeliveredPart { message: *messages, bytes: 0 }));
        }
        self.bytes -= run.bytes;
        Some(run.take_piece(&self.blocks))
    }

    /// Returns whether pieces of messages were dropped that have not been taken out.
    #[inline]
    pub(super) fn has_aborted(&self) -> bool {
        !self.aborted.is_empty()
    }

    /// Takes out the messages delivered in part that were dropped since the last call.
    pub(super) fn take_aborted(&mut self) -> Vec<Aborted> {
        core::mem::take(&mut self.aborted)
    }

    /// No message delivered in part becomes complete any more.
    pub(super) fn abort_partial(&mut self) {
        self.aborted.extend(self.runs.values_mut().filter_map(|run| run.abort()));
    }

    /// Throws all runs away.
    pub(super) fn clear(&mut self) -> Discarded {
        self.abort_partial();
        let runs = core::mem::take(&mut self.runs);
        let bytes = core::mem::take(&mut self.bytes);
        drop(runs);
        Discarded { bytes, messages: 0 }
    }

    /// Returns the run that begins at a place or above, nearest to it, if it may be of the same message.
    pub(super) fn run_from(&self, place: P) -> Option<(P, &Run)> {
        if self.runs.len() == 1 {
            let only = self.runs.first_key_value().map(|(first, run)| (*first, &**run));
            return only.filter(|(first, _)| *first >= place && *first < place.highest());
        }
        self.runs.range(place..place.highest()).next().map(|(first, run)| (*first, &**run))
    }

    /// Returns the run that begins below a place, nearest to it, if it may be of the same message.
    pub(super) fn run_below(&self, place: P) -> Option<(P, &Run)> {
        // What comes in order finds one run, and that is where it belongs.
        if self.runs.len() == 1 {
            let only = self.runs.first_key_value().map(|(first, run)| (*first, &**run));
            return only.filter(|(first, _)| *first < place && *first >= place.lowest());
        }
        self.runs.range(place.lowest()..place).next_back().map(|(first, run)| (*first, &**run))
    }

    /// Puts a fragment into the run right below it, or into a new one; gives where that begins.
    fn join_below(&mut self, place: P, fragment: &DataChunk<'_>) -> P {
        let below = if fragment.flags.beginning { None } else { self.run_below(place) };
        let joined = below.filter(|(_, run)| run.end == place.index()).map(|(first, _)| first);
        if let Some(first) = joined
            && let Some(run) = self.runs.get_mut(&first)
        {
            run.extend(fragment);
            return first;
        }
        let block = self.blocks.take(self.likely_bytes(fragment));
        self.runs.insert(place, Box::new(Run::new(place.index(), fragment, block)));
        place
    }

    /// Returns the room for the message that a fragment begins, so that it need not be moved while it grows.
    /// For one message at a time: what has come only in part is not to hold much more memory than it has
    /// octets.
    fn likely_bytes(&self, fragment: &DataChunk<'_>) -> usize {
        let is_alone = fragment.flags.beginning && self.runs.is_empty();
        let likely = if is_alone { self.expected_bytes.min(LIKELY_BYTES) } else { 0 };
        likely.max(fragment.payload.len())
    }

    /// Throws a run away.
    pub(super) fn discard(&mut self, first: P, discarded: &mut Discarded) {
        if let Some(mut run) = self.runs.remove(&first) {
            self.aborted.extend(run.abort());
            self.bytes -= run.bytes;
            discarded.bytes += run.bytes;
        }
    }

    /// Returns where the runs within these bounds begin.
    pub(super) fn firsts(&self, bounds: RangeInclusive<P>) -> Vec<P> {
        self.runs.range(bounds).map(|(first, _)| *first).collect()
    }
}

/// DATA: neighbours are chunks with consecutive TSNs.
impl Runs<Position> {
    /// Returns whether a chunk agrees with the neighbours that have arrived. Changes nothing.
    pub(super) fn check(
        &self,
        position: Position,
        data: &DataChunk<'_>,
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

    /// Returns where the run begins that ends right below a position.
    pub(super) fn run_up_to(&self, position: Position) -> Option<Position> {
        self.run_below(position).filter(|(_, run)| run.end == position.index()).map(|(first, _)| first)
    }

    /// Drops every run that misses a chunk up to `through`, or whose message its stream `has_passed`. Gives also
    /// the last position up to which chunks of dropped messages may follow.
    pub(super) fn forward(
        &mut self,
        through: Position,
        has_passed: impl Fn(StreamId, Sequence) -> bool,
    ) -> (Discarded, Position) {
        let (mut discarded, mut end) = (Discarded::default(), through);
        for first in self.firsts(Position::new(0)..=through.next()) {
            let Some(run) = self.runs.get(&first) else { continue };
            let is_passed = run.order().is_some_and(|order| has_passed(run.stream, order));
            let misses_nothing = run.begins && run.end > through.get();
            if misses_nothing && !is_passed {
                continue;
            }
            if !run.ends {
                end = end.max(Position::new(run.end).previous());
            }
            self.discard(first, &mut discarded);
        }
        (discarded, end)
    }

    /// Drops the run that ends right below a position without having ended its message.
    pub(super) fn cut_off_below(&mut self, position: Position) -> Discarded {
        let mut discarded = Discarded::default();
        let cut_off = self.run_below(position).filter(|(_, run)| run.end == position.get() && !run.ends);
        if let Some((first, _)) = cut_off {
            self.discard(first, &mut discarded);
        }
        discarded
    }

    fn below(&self, position: Position, arrived: &TsnMap) -> Neighbour<'_> {
        match self.run_below(position).filter(|(_, run)| run.end == position.index()) {
            Some((_, run)) if !run.ends => Neighbour::SameMessage(run),
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
}

/// Consecutive fragments of one message.
#[derive(Debug)]
pub(super) struct Run {
    /// The number after that of the last fragment.
    pub(super) end: u64,
    pub(super) begins: bool,
    pub(super) ends: bool,
    stream: StreamId,
    delivery: Delivery,
    sequence: Sequence,
    /// The TSN and the payload protocol identifier of the lowest fragment; the first one's count.
    tsn: Tsn,
    ppid: PayloadProtocolId,
    /// The octets in the pieces that wait.
    pub(super) bytes: usize,
    pieces: VecDeque<Vec<u8>>,
    /// The part that was delivered before them; `None` if nothing was.
    delivered: Option<Box<DeliveredPart>>,
}

/// The part of a message that was delivered before it was complete.
#[derive(Clone, Copy, Debug)]
struct DeliveredPart {
    message: u64,
    bytes: u64,
}

impl Run {
    /// Begins with a fragment, in an empty block.
    fn new(index: u64, fragment: &DataChunk<'_>, mut piece: Vec<u8>) -> Self {
        piece.extend_from_slice(fragment.payload);
        Self {
            end: index + 1,
            begins: fragment.flags.beginning,
            ends: fragment.flags.ending,
            stream: fragment.stream,
            delivery: fragment.delivery(),
            sequence: fragment.sequence,
            tsn: fragment.tsn,
            ppid: fragment.ppid,
            bytes: piece.len(),
            pieces: VecDeque::from([piece]),
            delivered: None,
        }
    }

    /// Returns the place of the message in its stream; `None` for an unordered one.
    fn order(&self) -> Option<Sequence> {
        match self.delivery {
            Delivery::Ordered => Some(self.sequence),
            Delivery::Unordered => None,
        }
    }

    fn extend(&mut self, fragment: &DataChunk<'_>) {
        self.end += 1;
        self.ends = fragment.flags.ending;
        self.bytes += fragment.payload.len();
        match self.pieces.back_mut() {
            Some(piece) => extend(piece, fragment.payload),
            None => self.pieces.push_back(fragment.payload.to_vec()),
        }
    }

    /// Puts the run right above behind this one. The shorter one moves, so that neither order of arrival is slow.
    fn append(&mut self, mut above: Self) {
        if self.pieces.len() >= above.pieces.len() {
            self.pieces.append(&mut above.pieces);
        } else {
            while let Some(piece) = self.pieces.pop_back() {
                above.pieces.push_front(piece);
            }
            self.pieces = above.pieces;
        }
        (self.end, self.ends) = (above.end, above.ends);
        self.bytes += above.bytes;
    }

    /// Takes out everything that waits.
    fn take_piece(&mut self, blocks: &SpareBlocks) -> Assembled {
        let payload = if self.pieces.len() > 1 {
            let mut whole = blocks.take(self.bytes);
            self.pieces.drain(..).for_each(|piece| whole.extend(piece));
            whole
        } else {
            self.pieces.pop_front().unwrap_or_default()
        };
        let bytes = core::mem::take(&mut self.bytes);
        let is_last = self.ends;
        let piece = self.delivered.as_mut().map(|delivered| {
            let offset = delivered.bytes;
            delivered.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
            Piece { message: delivered.message, offset, is_last }
        });
        Assembled {
            tsn: self.tsn,
            stream: self.stream,
            delivery: self.delivery,
            sequence: self.sequence,
            ppid: self.ppid,
            payload: blocks.hand_out(payload),
            piece,
        }
    }

    /// Gives the message up; returns which it is, if part of it was delivered.
    fn abort(&mut self) -> Option<Aborted> {
        let delivered = self.delivered.take()?;
        Some(Aborted { stream: self.stream, message: delivered.message })
    }
}

/// A long piece grows by an eighth, and not to the double: it is counted by its octets.
#[inline]
fn extend(piece: &mut Vec<u8>, payload: &[u8]) {
    if piece.capacity() - piece.len() < payload.len() && piece.len() >= LONG_PIECE_BYTES {
        piece.reserve_exact(payload.len().max(piece.len() / 8));
    }
    piece.extend_from_slice(payload);
}

/// The knowledge of the chunk right below or above another one.
enum Neighbour<'a> {
    Missing,
    /// Part of the same message, unless the chunk contradicts.
    SameMessage(&'a Run),
    /// A message ends between the two.
    OtherMessage,
}

impl Neighbour<'_> {
    /// Returns the neighbour that waits in no run: if it has arrived, it belonged to a message that is whole.
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

/// Checks one side of a chunk: `is_boundary` is its B bit below and its E bit above.
fn check_side(
    neighbour: &Neighbour<'_>,
    data: &DataChunk<'_>,
    is_boundary: bool,
    missing_boundary: ReceiverViolation,
) -> Result<(), ReceiverViolation> {
    match neighbour {
        Neighbour::OtherMessage if !is_boundary => Err(missing_boundary),
        Neighbour::SameMessage(_) if is_boundary => Err(ReceiverViolation::BoundaryInsideMessage(data.tsn)),
        Neighbour::SameMessage(run) if run.stream != data.stream || run.order() != data.order() => {
            Err(ReceiverViolation::MixedFragments(data.tsn))
        }
        Neighbour::SameMessage(_) | Neighbour::OtherMessage | Neighbour::Missing => Ok(()),
    }
}

/// The size from which on a piece grows with care, in octets.
const LONG_PIECE_BYTES: usize = 16 << 10;

/// Octets kept free at most for the rest of a message.
const LIKELY_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests;
