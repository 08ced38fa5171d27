//! DATA chunks sent and not yet cumulatively acknowledged, by TSN.
//!
//! A ring: the chunk with TSN `first + n` stands at index `n`. Also keeps what is in flight on each path and
//! how many chunks wait for retransmission.

mod untouched;

use core::mem::size_of;
use core::ops::Range;
use std::collections::{BTreeSet, VecDeque};

use sctp_wire::Tsn;
use smallvec::SmallVec;
use virtual_time::Instant;

pub(crate) use self::untouched::UntouchedRun;
use super::coverage::{Coverage, RANGES_MAX, Ranges};
use super::firsts::{Again, ChunkKind, Firsts};
use super::messages::{MessageKey, Renamed};
use super::queue::{Fragment, Framing};
use super::sent_chunk::{ChunkState, Sending, SentChunk};
use super::steps::step;
use crate::path::PerPath;
use crate::transmit::PathIndex;

/// The ring of outstanding chunks.
#[derive(Debug)]
pub(crate) struct Outstanding {
    chunks: VecDeque<SentChunk>,
    first: Tsn,
    /// How many chunks have left the ring: the number of the first one in it.
    passed: u64,
    paths: PerPath<OnPath>,
    /// The chunks before this number were given up.
    abandoned_through: u64,
    /// Payload octets in flight on all paths.
    flight_payload: usize,
    lost: usize,
    /// The index of the first of them, if there is any.
    lost_from: usize,
    /// The chunks that gap ack blocks cover.
    coverage: Coverage,
    /// To the chunks from this number on nothing has happened since they were sent.
    untouched_from: u64,
}

/// The chunks last sent on one path.
#[derive(Clone, Debug, Default)]
struct OnPath {
    /// Octets in flight, chunk headers and padding included.
    flight: usize,
    /// Chunks in flight that may go again as a probe.
    probeable: usize,
    /// Chunks acknowledged by gap ack blocks.
    acknowledged: usize,
    firsts: Firsts,
}

/// Whether a chunk may be sent once more under the terms of its message, not even as a probe otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tries {
    More,
    Last,
}

impl Outstanding {
    pub(crate) fn new(first: Tsn) -> Self {
        Self {
            chunks: VecDeque::new(),
            first,
            passed: 0,
            paths: PerPath::default(),
            abandoned_through: 0,
            flight_payload: 0,
            lost: 0,
            lost_from: 0,
            coverage: Coverage::default(),
            untouched_from: 0,
        }
    }

    /// Returns the TSN before the earliest outstanding one: the Cumulative TSN Ack Point.
    pub(crate) fn cumulative_ack(&self) -> Tsn {
        self.first.previous()
    }

    /// Returns the TSN the next new chunk gets.
    pub(crate) fn next_tsn(&self) -> Tsn {
        self.tsn_at(self.chunks.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    #[inline]
    pub(crate) fn flight(&self, path: PathIndex) -> usize {
        self.on(path).map_or(0, |on| on.flight)
    }

    #[inline]
    fn on(&self, path: PathIndex) -> Option<&OnPath> {
        self.paths.get(path)
    }

    #[inline]
    fn on_mut(&mut self, path: PathIndex) -> &mut OnPath {
        self.paths.entry(path)
    }

    /// Returns the paths that carried something so far.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathIndex> + use<> {
        PathIndex::below(self.paths.len())
    }

    /// Returns for each of these paths what `make` makes of it and the octets in flight there.
    #[inline]
    pub(crate) fn each_path<T>(&self, mut make: impl FnMut(PathIndex, usize) -> T) -> PerPath<T> {
        self.paths.map(|path, on| make(path, on.flight))
    }

    pub(crate) fn total_flight(&self) -> usize {
        self.paths.iter().map(|path| path.flight).sum()
    }

    /// Returns how many chunks of a path gap ack blocks cover.
    pub(crate) fn acknowledged(&self, path: PathIndex) -> usize {
        self.on(path).map_or(0, |on| on.acknowledged)
    }

    pub(crate) fn flight_payload(&self) -> usize {
        self.flight_payload
    }

    /// Returns the index of a TSN in the ring; `None` if it is not outstanding.
    pub(crate) fn index_of(&self, tsn: Tsn) -> Option<usize> {
        let index = self.first.distance(tsn) as usize;
        (index < self.chunks.len()).then_some(index)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the ring is bounded far below 2^32 chunks")]
    pub(crate) fn tsn_at(&self, index: usize) -> Tsn {
        self.first.advance(index as u32)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&SentChunk> {
        self.chunks.get(index)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &SentChunk)> {
        self.chunks.iter().enumerate()
    }

    /// Returns the in-flight chunk with the lowest TSN on this path that a probe could carry.
    #[inline]
    pub(crate) fn earliest_in_flight(&self, path: PathIndex) -> Option<&SentChunk> {
        let on = self.on(path).filter(|on| on.probeable > 0)?;
        self.first_on(ChunkKind::Probeable, path, on).map(|(_, chunk)| chunk)
    }

    /// Returns the outstanding, not yet acknowledged chunk with the lowest TSN last sent on this path.
    #[inline]
    pub(crate) fn earliest(&self, path: PathIndex) -> Option<usize> {
        // Every SACK asks for every path: those that are not in use must not cost a walk over the others' chunks.
        let on = self.on(path).filter(|on| on.flight > 0 || self.lost > 0)?;
        self.first_on(ChunkKind::Unsettled, path, on).map(|(index, _)| index)
    }

    /// Returns whether chunks last sent on this path are not yet acknowledged.
    #[inline]
    pub(crate) fn has_any_on(&self, path: PathIndex) -> bool {
        self.flight(path) > 0 || self.earliest(path).is_some()
    }

    /// Returns the first chunk of a kind on a path.
    #[inline]
    pub(crate) fn first_of_kind(&self, kind: ChunkKind, path: PathIndex) -> Option<(usize, &SentChunk)> {
        self.first_on(kind, path, self.on(path)?)
    }

    /// Returns the first chunk of a kind on a path, which mostly is where they begin.
    #[inline]
    fn first_on(&self, kind: ChunkKind, path: PathIndex, on: &OnPath) -> Option<(usize, &SentChunk)> {
        let from = self.index(on.firsts.from(kind));
        let found = self.chunks.get(from).filter(|chunk| kind.is_kind_of(chunk, path));
        step();
        found.map(|chunk| (from, chunk)).or_else(|| self.of_kind(kind, path).next())
    }

    /// Returns whether chunks of this path were sent again or taken back that may be in flight.
    #[inline]
    pub(crate) fn has_sent_again(&self, path: PathIndex) -> bool {
        self.on(path).is_some_and(|on| on.firsts.has_again())
    }

    /// Returns the chunks of a kind on a path, ascending.
    pub(crate) fn of_kind(
        &self,
        kind: ChunkKind,
        path: PathIndex,
    ) -> impl Iterator<Item = (usize, &SentChunk)> + use<'_> {
        let from = self.on(path).map_or(0, |on| on.firsts.from(kind));
        let from = self.index(from).min(self.chunks.len());
        let chunks = (from..).zip(self.chunks.range(from..)).inspect(|_| step());
        chunks.filter(move |(_, chunk)| kind.is_kind_of(chunk, path))
    }

    /// Returns the chunks in flight on this path that were sent again or taken back, the one that was so first
    /// in front.
    pub(crate) fn sent_again(&self, path: PathIndex) -> impl Iterator<Item = (usize, &SentChunk)> + use<'_> {
        let again = self.on(path).into_iter().flat_map(|on| on.firsts.again()).inspect(|_| step());
        let current = again.filter(move |again| self.is_current(path, again));
        current
            .filter_map(|again| Some((self.index(again.number), self.chunks.get(self.index(again.number))?)))
    }

    /// Returns whether nothing has happened to a chunk since.
    fn is_current(&self, path: PathIndex, again: &Again) -> bool {
        let chunk =
            again.number.checked_sub(self.passed).and_then(|_| self.chunks.get(self.index(again.number)));
        chunk.is_some_and(|chunk| {
            chunk.state == ChunkState::InFlight
                && chunk.path == path
                && !chunk.is_original()
                && chunk.sent_at == again.sent_at
        })
    }

    /// A SACK was taken in: what it settled is not looked at any more. The steps are those that the chunks of each path
    /// have been settled since the last one.
    pub(crate) fn advance_firsts(&mut self) {
        for path in self.paths() {
            self.advance_firsts_on(path);
        }
    }

    /// Does what [`advance_firsts`](Self::advance_firsts) does, for one path.
    #[inline]
    pub(crate) fn advance_firsts_on(&mut self, path: PathIndex) {
        if !self.on(path).is_none_or(|on| self.has_nothing(on) || self.begins_with_all(path, on)) {
            self.advance_firsts_of(path);
        }
    }

    /// Returns whether the first chunk of the ring is of all kinds, so that all begin there: mostly it is.
    #[inline]
    fn begins_with_all(&self, path: PathIndex, on: &OnPath) -> bool {
        step();
        !on.firsts.has_again()
            && self.chunks.front().is_some_and(|chunk| {
                ChunkKind::ALL
                    .iter()
                    .all(|kind| on.firsts.from(*kind) <= self.passed && kind.is_kind_of(chunk, path))
            })
    }

    fn advance_firsts_of(&mut self, path: PathIndex) {
        let mut firsts = core::mem::take(&mut self.on_mut(path).firsts);
        for kind in ChunkKind::ALL {
            let from = self.index(firsts.from(kind)).min(self.chunks.len());
            let found = self.chunks.range(from..).inspect(|_| step());
            let settled = found.take_while(|chunk| !kind.is_kind_of(chunk, path)).count();
            firsts.set(kind, self.number(from + settled));
        }
        firsts.forget_settled(|again| self.is_current(path, again));
        self.on_mut(path).firsts = firsts;
    }

    /// A chunk is in flight again.
    fn note_again(&mut self, path: PathIndex, index: usize, sent_at: Instant) {
        let again = Again { number: self.number(index), sent_at };
        let mut firsts = core::mem::take(&mut self.on_mut(path).firsts);
        firsts.on_again(again, |again| self.is_current(path, again));
        self.on_mut(path).firsts = firsts;
    }

    /// Returns the chunks that gap ack blocks cover, the last one first.
    pub(crate) fn covered_descending(&self) -> impl Iterator<Item = (usize, &SentChunk)> {
        let indices = self.coverage.descending().map(|number| self.index(number));
        indices.filter_map(|index| Some((index, self.chunks.get(index)?)))
    }

    fn number(&self, index: usize) -> u64 {
        self.passed + index as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "the ring is bounded far below 2^32 chunks")]
    fn index(&self, number: u64) -> usize {
        number.saturating_sub(self.passed) as usize
    }

    /// Returns the number of octets that hold the chunks.
    pub(crate) fn held_bytes(&self) -> usize {
        self.chunks.capacity() * CHUNK_BYTES
    }

    /// Returns the number of octets of that in which no chunk is.
    pub(crate) fn idle_bytes(&self) -> usize {
        (self.chunks.capacity() - self.chunks.len()) * CHUNK_BYTES
    }

    /// Makes room for the chunks of a packet: where there are many, the ring grows by an eighth.
    #[inline]
    pub(crate) fn make_room(&mut self) {
        let chunks = self.chunks.len();
        if chunks >= CHUNKS_KEPT && chunks + CHUNKS_PER_PACKET > self.chunks.capacity() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.chunks.reserve_exact(self.chunks.len() / 8 + CHUNKS_PER_PACKET);
    }

    /// Returns whether there is room for many more chunks than there are.
    #[inline]
    pub(crate) fn is_sparse(&self) -> bool {
        self.chunks.capacity() > 2 * self.chunks.len() + 2 * CHUNKS_KEPT
    }

    /// Gives back what is not used.
    pub(crate) fn trim(&mut self) {
        if self.is_sparse() {
            self.chunks.shrink_to(self.chunks.len() + CHUNKS_KEPT);
        }
    }

    /// Messages have other names.
    pub(crate) fn rename(&mut self, renamed: &Renamed) {
        for fragment in self.chunks.iter_mut().map(|chunk| &mut chunk.fragment) {
            fragment.message = renamed.name(fragment.message);
        }
    }

    /// Appends a chunk sent for the first time. What it adds to what is in flight is added to `load`, which
    /// [`enter`](Self::enter) takes when the packet is full.
    #[inline]
    pub(crate) fn append(&mut self, now: Instant, fragment: Fragment, tries: Tries, load: &mut Load) {
        let chunk = SentChunk {
            fragment,
            state: ChunkState::InFlight,
            path: load.path,
            sent_at: now,
            transmissions: 1,
            missing_reports: 0,
            sending: Sending::Original,
            copies: 0,
            fast_retransmitted: false,
            is_last_try: tries == Tries::Last,
            is_moved: false,
        };
        load.add(&chunk);
        self.chunks.push_back(chunk);
    }

    /// Takes note that the chunks appended from this TSN on are in flight; returns how many they are.
    pub(crate) fn enter(&mut self, first: Tsn, load: &Load) -> u32 {
        let chunks = first.distance(self.next_tsn());
        if chunks > 0 {
            if self.on(load.path).is_none_or(|on| self.has_nothing(on)) {
                let number = self.passed + u64::from(self.first.distance(first));
                self.on_mut(load.path).firsts.begin_at(number);
            }
            self.enter_flight(load);
        }
        chunks
    }

    /// Returns whether no chunk of a path is in flight or lost, as can be told at a glance. False says nothing.
    #[inline]
    fn has_nothing(&self, on: &OnPath) -> bool {
        on.flight == 0 && self.lost == 0 && !on.firsts.has_again()
    }

    /// The peer was asked anew, and agreed to other chunks than those of a COOKIE ECHO packet it refused.
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        for index in 0..self.chunks.len() {
            let before = Load::of(&self.chunks[index]);
            self.chunks[index].fragment.framing = framing;
            if self.chunks[index].state == ChunkState::InFlight {
                self.leave_flight(&before);
                self.enter_flight(&Load::of(&self.chunks[index]));
            }
        }
    }

    /// A chunk was sent again: lost ones return into flight, probed ones stay in it.
    pub(crate) fn resent(&mut self, now: Instant, path: PathIndex, index: usize, tries: Tries) {
        self.touch(index);
        let Some(chunk) = self.chunks.get_mut(index) else { return };
        let before = Load::of(chunk);
        let was = chunk.state;
        chunk.sending = if was == ChunkState::InFlight { Sending::Probe } else { Sending::Again };
        chunk.state = ChunkState::InFlight;
        chunk.is_moved |= before.path != path;
        chunk.path = path;
        chunk.sent_at = now;
        chunk.transmissions = chunk.transmissions.saturating_add(1);
        chunk.is_last_try = tries == Tries::Last;
        chunk.missing_reports = 0;
        let after = Load::of(chunk);
        match was {
            ChunkState::Lost | ChunkState::TimedOut => {
                self.lost -= 1;
                self.find_first_lost();
            }
            ChunkState::InFlight | ChunkState::Acknowledged | ChunkState::Abandoned => {
                self.leave_flight(&before);
            }
        }
        self.enter_flight(&after);
        self.note_again(path, index, now);
    }

    /// The probe that this chunk was just sent as repeats what was lost: an acknowledgment answers the probe, as it would any other
    /// retransmission.
    pub(super) fn note_retransmission(&mut self, index: usize) {
        if let Some(chunk) = self.chunks.get_mut(index) {
            chunk.sending = Sending::Again;
        }
    }

    /// Returns the lost chunk with the lowest TSN.
    #[inline]
    pub(crate) fn first_lost(&self) -> Option<usize> {
        (self.lost > 0).then_some(self.lost_from)
    }

    /// Some are lost no longer. None before the one that was the first has been lost meanwhile.
    #[inline]
    fn find_first_lost(&mut self) {
        if self.lost > 0 {
            let found = self.chunks.range(self.lost_from..).position(|chunk| chunk.state.is_lost());
            self.lost_from += found.unwrap_or_default();
        }
    }

    /// Declares a chunk lost by what was acknowledged. True if it was in flight.
    pub(crate) fn mark_lost(&mut self, index: usize) -> bool {
        self.lose(index, ChunkState::Lost)
    }

    /// Declares a chunk lost whose path did not answer in time; returns whether it was in flight.
    pub(crate) fn mark_timed_out(&mut self, index: usize) -> bool {
        if let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::Lost) {
            chunk.state = ChunkState::TimedOut;
        }
        self.lose(index, ChunkState::TimedOut)
    }

    /// Takes note that a chunk was sent another way than its path goes now: an acknowledgment of it says nothing about the way
    /// that it is sent again.
    pub(crate) fn mark_moved(&mut self, index: usize) {
        self.touch(index);
        if let Some(chunk) = self.chunks.get_mut(index) {
            chunk.is_moved = true;
        }
    }

    fn lose(&mut self, index: usize, state: ChunkState) -> bool {
        let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::InFlight)
        else {
            return false;
        };
        chunk.state = state;
        let load = Load::of(chunk);
        self.touch(index);
        self.leave_flight(&load);
        self.lost_from = self.first_lost().map_or(index, |first| first.min(index));
        self.lost += 1;
        true
    }

    /// Marks a chunk as covered by a gap ack block; returns it, and what it was, if that is news.
    fn acknowledge(&mut self, index: usize) -> Option<(&SentChunk, ChunkState)> {
        let chunk = self.chunks.get_mut(index).filter(|chunk| chunk.is_unsettled())?;
        let was = core::mem::replace(&mut chunk.state, ChunkState::Acknowledged);
        let load = Load::of(chunk);
        self.touch(index);
        self.leave(was, &load);
        self.on_mut(load.path).acknowledged += 1;
        self.chunks.get(index).map(|chunk| (chunk, was))
    }

    /// Takes in gap ack blocks, as offsets from the cumulative ack with both ends. `delivered` hears of each chunk they
    /// cover for the first time. Gives what is to be done about those they do not cover any more.
    pub(crate) fn cover(
        &mut self,
        blocks: impl ExactSizeIterator<Item = Range<u64>>,
        mut delivered: impl FnMut(Tsn, &SentChunk, ChunkState),
    ) -> Option<Blocks> {
        if blocks.len() == 0 && self.coverage.is_empty() {
            return None;
        }
        self.coverage.trim(self.passed);
        let blocks: Ranges = blocks.map(|block| self.passed + block.start..self.passed + block.end).collect();
        // Nobody who receives has that many gaps: such blocks count as not reported.
        let is_too_much = self.coverage.len() + blocks.len() > RANGES_MAX;
        if is_too_much || (blocks.is_empty() && self.coverage.is_empty()) {
            return None;
        }
        let additions = self.coverage.additions(&blocks);
        for number in additions.iter().cloned().flatten().inspect(|_| step()) {
            let (index, tsn) = (self.index(number), self.tsn_at(self.index(number)));
            if let Some((chunk, was)) = self.acknowledge(index) {
                delivered(tsn, chunk, was);
            }
        }
        self.find_first_lost();
        Some(Blocks { blocks, additions })
    }

    /// The blocks are not believed, or say nothing new, about what they do not cover.
    pub(crate) fn keep_uncovered(&mut self, blocks: Blocks) {
        if !blocks.additions.is_empty() {
            self.coverage.extend(blocks.additions);
        }
    }

    /// Chunks once covered by a gap ack block and no longer so count as in flight again (RFC 9260 §6.2.1 (D) (iii)).
    pub(crate) fn take_back_uncovered(&mut self, now: Instant, blocks: Blocks) {
        let reach = reach(self.passed, &blocks);
        for number in self.coverage.replace(blocks.blocks, reach).into_iter().flatten() {
            step();
            self.renege(now, self.index(number));
        }
    }

    /// Returns whether the blocks leave out what was covered before.
    pub(crate) fn takes_back(&self, blocks: &Blocks) -> bool {
        self.coverage.loses(&blocks.blocks, reach(self.passed, blocks))
    }

    /// The first chunk is missing in any case.
    pub(crate) fn take_back_first(&mut self, now: Instant) {
        self.renege(now, 0);
    }

    /// Nothing is covered any more.
    pub(crate) fn take_back_all(&mut self, now: Instant) {
        self.coverage.clear();
        for index in 0..self.chunks.len() {
            self.renege(now, index);
        }
    }

    /// The cumulative ack covers the chunks up to this one: they leave the ring. `each` sees them before they do.
    pub(crate) fn pass(&mut self, cumulative: Tsn, mut each: impl FnMut(Tsn, &SentChunk)) {
        let ahead = self.cumulative_ack().distance(cumulative) as usize;
        let count = ahead.min(self.chunks.len());
        let Some(path) = self.chunks.front().filter(|_| count > 0).map(|chunk| chunk.path) else { return };
        // What is in flight leaves it path by path, not chunk by chunk.
        let mut leaving = Load::on(path);
        let mut others = SmallVec::<[(ChunkState, Load); 4]>::new();
        let mut tsn = self.first;
        for chunk in self.chunks.range(..count) {
            each(tsn, chunk);
            tsn = tsn.next();
            if chunk.state == ChunkState::InFlight && chunk.path == path {
                leaving.add(chunk);
            } else {
                others.push((chunk.state, Load::of(chunk)));
            }
        }
        if count == self.chunks.len() {
            self.chunks.clear();
        } else {
            self.chunks.drain(..count);
        }
        self.leave_flight(&leaving);
        for (state, load) in &others {
            if *state == ChunkState::Acknowledged {
                self.on_mut(load.path).acknowledged -= 1;
            }
            self.leave(*state, load);
        }
        self.first = tsn;
        self.passed += count as u64;
        self.lost_from = self.lost_from.saturating_sub(count);
        self.find_first_lost();
    }

    /// Chunks of a path that wait for retransmission count as in flight again, as if sent now: they were declared lost
    /// without need.
    pub(crate) fn take_back_lost(&mut self, now: Instant, path: PathIndex) {
        if self.lost == 0 {
            return;
        }
        for index in 0..self.chunks.len() {
            let chunk = &mut self.chunks[index];
            if chunk.state.is_lost() && chunk.path == path {
                chunk.take_back(now);
                let load = Load::of(chunk);
                self.lost -= 1;
                self.enter_flight(&load);
                self.note_again(path, index, now);
            }
        }
        self.find_first_lost();
    }

    /// The peer took a gap acknowledgment back (RFC 9260 §6.2.1): the chunk counts as in flight again, as if sent
    /// now, so that one SACK alone does not condemn it.
    fn renege(&mut self, now: Instant, index: usize) {
        let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::Acknowledged)
        else {
            return;
        };
        chunk.take_back(now);
        let load = Load::of(chunk);
        self.on_mut(load.path).acknowledged -= 1;
        self.enter_flight(&load);
        self.note_again(load.path, index, now);
    }

    /// Gives up every chunk of these messages, keys ascending: what is in flight leaves it, what was acknowledged is
    /// not waited for either (RFC 3758 §3.5 (A2), (A3)). Gives the payload octets that are not kept any more.
    pub(crate) fn abandon(&mut self, messages: &[MessageKey]) -> usize {
        let mut freed = 0;
        for index in 0..self.chunks.len() {
            let chunk = &mut self.chunks[index];
            if messages.binary_search(&chunk.fragment.message).is_err() {
                continue;
            }
            let load = Load::of(chunk);
            let was = core::mem::replace(&mut chunk.state, ChunkState::Abandoned);
            // Its bookkeeping is freed together with the message.
            chunk.fragment.forget_message();
            freed += load.payload;
            self.touch(index);
            if was == ChunkState::Acknowledged {
                self.on_mut(load.path).acknowledged -= 1;
            }
            self.leave(was, &load);
        }
        self.find_first_lost();
        freed
    }

    /// Returns the messages sent to their end of which the peer has not acknowledged everything, in the order
    /// in which they ended.
    pub(crate) fn unacknowledged(&self) -> Vec<MessageKey> {
        let unsettled: BTreeSet<_> = self
            .chunks
            .iter()
            .filter(|chunk| chunk.is_unsettled())
            .map(|chunk| chunk.fragment.message)
            .collect();
        let ended = self.chunks.iter().filter(|chunk| chunk.fragment.flags().ending);
        ended.map(|chunk| chunk.fragment.message).filter(|message| unsettled.contains(message)).collect()
    }

    /// Takes up a TSN for what is not sent.
    pub(crate) fn push_abandoned(&mut self, now: Instant, path: PathIndex, fragment: Fragment) {
        self.append(now, fragment, Tries::Last, &mut Load::on(path));
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.state = ChunkState::Abandoned;
        }
        self.touch(self.chunks.len() - 1);
    }

    /// Returns the number of chunks at the front that were given up: how far the Advanced.Peer.Ack.Point is
    /// ahead of the Cumulative TSN Ack Point (RFC 3758 §3.5 (C2)).
    pub(crate) fn abandoned_ahead(&mut self) -> usize {
        let known = self.index(self.abandoned_through).min(self.chunks.len());
        let further = self.chunks.range(known..).inspect(|_| step());
        let ahead = known + further.take_while(|chunk| chunk.state == ChunkState::Abandoned).count();
        self.abandoned_through = self.number(ahead);
        ahead
    }

    /// A packet of new data carries a chunk once more.
    pub(crate) fn note_copy(&mut self, index: usize) {
        self.touch(index);
        if let Some(chunk) = self.chunks.get_mut(index) {
            chunk.on_copied();
        }
    }

    /// Marks a chunk as not to be sent again, not even as a probe.
    pub(crate) fn mark_last_try(&mut self, index: usize) {
        let Some(chunk) = self.chunks.get_mut(index) else { return };
        if !core::mem::replace(&mut chunk.is_last_try, true) && chunk.state == ChunkState::InFlight {
            let path = chunk.path;
            self.on_mut(path).probeable -= 1;
        }
    }

    /// Records a missing report on a chunk in flight and gives the count.
    pub(crate) fn report_missing(&mut self, index: usize) -> Option<&mut SentChunk> {
        let chunk = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::InFlight)?;
        chunk.missing_reports = chunk.missing_reports.saturating_add(1);
        Some(chunk)
    }

    /// Updates the counters for a chunk that is acknowledged.
    fn leave(&mut self, was: ChunkState, load: &Load) {
        match was {
            ChunkState::InFlight => self.leave_flight(load),
            ChunkState::Lost | ChunkState::TimedOut => self.lost -= 1,
            ChunkState::Acknowledged | ChunkState::Abandoned => {}
        }
    }

    fn enter_flight(&mut self, load: &Load) {
        let path = self.on_mut(load.path);
        path.flight += load.wire;
        path.probeable += load.probeable;
        self.flight_payload += load.payload;
    }

    fn leave_flight(&mut self, load: &Load) {
        let path = self.on_mut(load.path);
        path.flight -= load.wire;
        path.probeable -= load.probeable;
        self.flight_payload -= load.payload;
    }
}

/// Octets of an outstanding chunk.
pub(crate) const CHUNK_BYTES: usize = size_of::<SentChunk>();

/// Chunks that the ring keeps room for: what an association with a window of this many has sent again and again.
const CHUNKS_KEPT: usize = 512;

/// More short chunks than there are in most packets.
const CHUNKS_PER_PACKET: usize = 64;

/// Returns the number up to which blocks speak. Nothing is said of what lies above the last one: a peer may
/// have more of them than it reports, and a SHUTDOWN reports none (RFC 9260 §3.3.8). The first chunk is missing
/// in any case.
fn reach(passed: u64, blocks: &Blocks) -> u64 {
    blocks.blocks.last().map_or(passed + 1, |block| block.end)
}

/// Gap ack blocks that were taken in.
#[derive(Debug)]
pub(crate) struct Blocks {
    blocks: Ranges,
    /// The chunks that they cover for the first time.
    additions: Ranges,
}

/// The amount that chunks add to what is in flight on a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    path: PathIndex,
    /// Octets of chunks.
    pub(crate) wire: usize,
    /// Octets of payload.
    pub(crate) payload: usize,
    probeable: usize,
}

impl Load {
    /// Creates an empty load of this path.
    pub(crate) fn on(path: PathIndex) -> Self {
        Self { path, wire: 0, payload: 0, probeable: 0 }
    }

    fn of(chunk: &SentChunk) -> Self {
        let mut load = Self::on(chunk.path);
        load.add(chunk);
        load
    }

    #[inline]
    fn add(&mut self, chunk: &SentChunk) {
        self.wire += chunk.wire_bytes();
        self.payload += chunk.payload_bytes();
        self.probeable += usize::from(!chunk.is_last_try);
    }
}
