//! The map of TSNs that have arrived: the cumulative TSN and the ranges above it (RFC 9260 §6.7).
//!
//! A TSN wraps after 2³² chunks. Inside the receiver a chunk therefore has a [`Position`], which counts on
//! for ever and can be compared; only this file turns one into the other.
//!
//! Two bounds keep a peer from growing the map: [`TSN_HORIZON`] and [`RANGE_LIMIT`]. What lies outside is
//! dropped as if the network had lost it, and the peer sends it again.

use std::collections::VecDeque;

use sctp_wire::{GapAckBlock, Tsn};

/// The TSNs that have arrived.
#[derive(Debug)]
pub(super) struct TsnMap {
    cumulative: Position,
    cumulative_tsn: Tsn,
    /// The ranges above the cumulative TSN; ascending, disjoint, never adjacent.
    ranges: VecDeque<Range>,
}

impl TsnMap {
    pub(super) fn new(peer_initial_tsn: Tsn) -> Self {
        Self { cumulative: Position(0), cumulative_tsn: peer_initial_tsn.previous(), ranges: VecDeque::new() }
    }

    /// Returns the last TSN below which nothing is missing.
    pub(super) fn cumulative_tsn(&self) -> Tsn {
        self.cumulative_tsn
    }

    /// Returns whether a TSN is missing below one that arrived.
    pub(super) fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Returns the position after the cumulative TSN: the chunk everything else waits for.
    pub(super) fn head(&self) -> Position {
        self.cumulative.next()
    }

    /// Returns where a TSN belongs. Changes nothing: the chunk may yet be refused.
    #[inline]
    pub(super) fn place(&self, tsn: Tsn) -> TsnPlace {
        // No range begins where everything else waits for a chunk.
        if self.cumulative_tsn.next() == tsn {
            return TsnPlace::New(self.head());
        }
        if !self.cumulative_tsn.precedes(tsn) {
            return TsnPlace::Duplicate;
        }
        let ahead = self.cumulative_tsn.distance(tsn);
        let position = Position(self.cumulative.0 + u64::from(ahead));
        if ahead > TSN_HORIZON {
            TsnPlace::OutOfReach
        } else if self.contains(position) {
            TsnPlace::Duplicate
        } else if self.ranges.len() >= RANGE_LIMIT && self.starts_new_range(position) {
            TsnPlace::OutOfReach
        } else {
            TsnPlace::New(position)
        }
    }

    /// Returns whether the chunk at this position has arrived.
    pub(super) fn contains(&self, position: Position) -> bool {
        position <= self.cumulative
            || self.ranges.get(self.range_at_or_above(position)).is_some_and(|range| range.first <= position)
    }

    /// Notes the arrival of a chunk that [`place`](Self::place) called new.
    #[inline]
    pub(super) fn insert(&mut self, position: Position) {
        if position == self.head() {
            self.advance_from(position);
        } else {
            self.insert_above(position);
        }
    }

    /// Notes the arrival of so many chunks behind the cumulative TSN, where nothing has arrived above it.
    pub(super) fn advance(&mut self, chunks: u32) {
        self.cumulative = Position(self.cumulative.0 + u64::from(chunks));
        self.cumulative_tsn = self.cumulative_tsn.advance(chunks);
    }

    fn insert_above(&mut self, position: Position) {
        let above = self.range_at_or_above(position);
        let joins_above = self.ranges.get(above).is_some_and(|range| range.first == position.next());
        let joins_below = self.ends_range_below(above, position);
        match (joins_below, joins_above) {
            (true, true) => {
                let last = self.ranges.remove(above).map_or(position, |range| range.last);
                self.range_below(above, |range| range.last = last);
            }
            (true, false) => self.range_below(above, |range| range.last = position),
            (false, true) => {
                if let Some(range) = self.ranges.get_mut(above) {
                    range.first = position;
                }
            }
            (false, false) => self.ranges.insert(above, Range { first: position, last: position }),
        }
    }

    /// Counts everything up to a TSN as arrived, and what follows it without a gap (RFC 3758 §3.6).
    pub(super) fn forward(&mut self, new_cumulative: Tsn) -> Forward {
        if !self.cumulative_tsn.precedes(new_cumulative) {
            return Forward::Old;
        }
        let ahead = self.cumulative_tsn.distance(new_cumulative);
        if ahead > FORWARD_HORIZON {
            return Forward::OutOfReach;
        }
        let through = Position(self.cumulative.0 + u64::from(ahead));
        while self.ranges.pop_front_if(|range| range.last <= through).is_some() {}
        if let Some(range) = self.ranges.front_mut().filter(|range| range.first <= through) {
            range.first = through.next();
        }
        self.advance_from(through);
        Forward::Through(through)
    }

    /// Returns the ranges above the cumulative TSN as offsets from it, lowest first.
    pub(super) fn gap_ack_blocks(&self) -> impl Iterator<Item = GapAckBlock> {
        // TSN_HORIZON fits u16, so nothing saturates.
        let offset = |position: Position| u16::try_from(position.0 - self.cumulative.0).unwrap_or(u16::MAX);
        self.ranges
            .iter()
            .map(move |range| GapAckBlock { start: offset(range.first), end: offset(range.last) })
    }

    fn advance_from(&mut self, position: Position) {
        let joined = self.ranges.pop_front_if(|range| range.first == position.next());
        let cumulative = joined.map_or(position, |range| range.last);
        // At most FORWARD_HORIZON and a range, so nothing saturates.
        let steps = u32::try_from(cumulative.0 - self.cumulative.0).unwrap_or(u32::MAX);
        self.cumulative = cumulative;
        self.cumulative_tsn = self.cumulative_tsn.advance(steps);
    }

    fn starts_new_range(&self, position: Position) -> bool {
        position != self.head() && !self.contains(position.previous()) && !self.contains(position.next())
    }

    /// Returns the index of the first range that does not end below the position; constant time at the upper
    /// end.
    fn range_at_or_above(&self, position: Position) -> usize {
        match self.ranges.back() {
            Some(highest) if highest.last >= position => {
                self.ranges.partition_point(|range| range.last < position)
            }
            Some(_) | None => self.ranges.len(),
        }
    }

    fn ends_range_below(&self, above: usize, position: Position) -> bool {
        let below = above.checked_sub(1).and_then(|index| self.ranges.get(index));
        below.is_some_and(|range| range.last.next() == position)
    }

    fn range_below(&mut self, above: usize, change: impl FnOnce(&mut Range)) {
        if let Some(range) = above.checked_sub(1).and_then(|index| self.ranges.get_mut(index)) {
            change(range);
        }
    }
}

/// A chunk's place in the peer's sequence; 1 is the initial TSN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Position(u64);

impl Position {
    pub(super) const fn new(index: u64) -> Self {
        Self(index)
    }

    pub(super) const fn get(self) -> u64 {
        self.0
    }

    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    pub(super) const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// The answer of [`TsnMap::place`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TsnPlace {
    New(Position),
    Duplicate,
    /// The TSN is beyond one of the two bounds.
    OutOfReach,
}

/// The effect of [`TsnMap::forward`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forward {
    /// The cumulative TSN moved: up to this position nothing is missing any more; perhaps further.
    Through(Position),
    /// Nothing: it had all arrived.
    Old,
    /// Nothing: beyond [`FORWARD_HORIZON`].
    OutOfReach,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    first: Position,
    last: Position,
}

/// How far above the cumulative TSN a chunk is taken. Gap ack blocks reach 65,535 (RFC 9260 §3.3.4); half of
/// that also keeps the SSNs of one stream, at most one per TSN, within the half circle where their serial
/// comparison has an answer.
pub(super) const TSN_HORIZON: u32 = 32_767;

/// How far the cumulative TSN is moved at once: as far as a gap ack block reaches (RFC 9260 §3.3.4). Nobody has
/// more in flight who wants it acknowledged.
pub(super) const FORWARD_HORIZON: u32 = 65_535;

/// How many separate ranges are kept; three times what a SACK in an Ethernet frame can report. A chunk that
/// would open one more is dropped; one that extends a range or fills a gap is always taken.
pub(super) const RANGE_LIMIT: usize = 1_024;

#[cfg(test)]
mod tests;
