//! The effect of a SACK on the outstanding chunks (RFC 9260 §6.2.1, §7.2.4).
//!
//! The whole of a SACK is checked before any of it is used.

use core::time::Duration;

use sctp_wire::{GapAckBlock, Sack, Tsn};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::firsts::ChunkKind;
use super::messages::Messages;
use super::outstanding::{Blocks, Outstanding, UntouchedRun};
use super::sent_chunk::{ChunkState, Sending, SentChunk};
use super::steps::step;
use crate::error::ProtocolViolation;
use crate::path::PerPath;
use crate::transmit::PathIndex;

/// The reason why a SACK was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SackRefused {
    /// The cumulative ack is behind ours: the SACK is an old one, overtaken on the way (RFC 9260 §6.2.1 (D)
    /// (i)).
    #[error("old SACK")]
    Old,
    /// Gap ack blocks that are empty, unsorted or overlap.
    #[error("malformed gap ack blocks")]
    Malformed,
    /// The SACK acknowledges what was never sent.
    #[error(transparent)]
    Violation(#[from] ProtocolViolation),
}

/// The changes that a SACK made.
#[derive(Debug, Default)]
pub(crate) struct Acknowledgment {
    pub(crate) cumulative_advanced: bool,
    /// Whether anything was acknowledged for the first time.
    pub(crate) is_news: bool,
    pub(crate) paths: SmallVec<[PathAcknowledgment; 1]>,
    /// Payload octets that left the send buffer.
    pub(crate) freed_payload: usize,
    /// Chunks that were declared lost and had arrived after all.
    pub(crate) spurious: usize,
}

/// The part of it that concerns one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathAcknowledgment {
    pub(crate) path: PathIndex,
    /// Octets newly acknowledged, chunk headers and padding included.
    pub(crate) bytes: usize,
    /// The time when the chunk sent last of those was sent.
    pub(crate) newest: Instant,
    pub(crate) flight_before: usize,
    /// The highest TSN acknowledged for the first time of those that never travelled on another path.
    pub(crate) highest_new: Option<Tsn>,
    /// Whether the earliest outstanding chunk of the path was acknowledged (RFC 9260 §6.3.2 (R3)).
    pub(crate) earliest: bool,
    /// Whether any of the chunks was sent on this path only, so that the path it came by is certain.
    pub(crate) is_certain: bool,
}

/// Chunks acknowledged for the first time: one, or several with consecutive TSNs to which nothing has ever happened, so
/// that the last speaks for all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) first: Tsn,
    pub(crate) last: Tsn,
    pub(crate) path: PathIndex,
    /// The time at which the last of them was sent.
    pub(crate) sent_at: Instant,
    pub(crate) transmissions: u16,
    pub(crate) sending: Sending,
    pub(crate) is_moved: bool,
    pub(crate) was: ChunkState,
    /// Octets, chunk headers and padding included.
    bytes: usize,
}

impl Delivered {
    fn of(tsn: Tsn, chunk: &SentChunk, was: ChunkState) -> Self {
        let &SentChunk { path, sent_at, transmissions, sending, is_moved, .. } = chunk;
        let bytes = chunk.wire_bytes();
        Self { first: tsn, last: tsn, path, sent_at, transmissions, sending, is_moved, was, bytes }
    }

    /// Returns the delivery of chunks of a path to which nothing has ever happened.
    #[inline]
    pub(super) fn untouched(path: PathIndex, run: &UntouchedRun) -> Self {
        let &UntouchedRun { first, last, sent_at, load } = run;
        let (transmissions, sending, is_moved) = (1, Sending::Original, false);
        let (was, bytes) = (ChunkState::InFlight, load.wire);
        Self { first, last, path, sent_at, transmissions, sending, is_moved, was, bytes }
    }

    /// Returns whether a copy of it may be what arrived.
    pub(crate) fn is_copied(&self) -> bool {
        self.sending == Sending::Copied
    }

    /// Returns whether this is one of them.
    pub(crate) fn contains(&self, tsn: Tsn) -> bool {
        self.first.distance(tsn) <= self.first.distance(self.last)
    }
}

/// Gathers what is delivered into runs.
struct Deliveries<'a, F> {
    run: Option<Delivered>,
    before: PerPath<Before>,
    result: &'a mut Acknowledgment,
    hear: F,
}

impl<F: FnMut(&Delivered)> Deliveries<'_, F> {
    #[inline(always)]
    fn add(&mut self, tsn: Tsn, chunk: &SentChunk, was: ChunkState) {
        if chunk.is_untouched()
            && was == ChunkState::InFlight
            && let Some(run) = &mut self.run
            && run.path == chunk.path
            && run.last.next() == tsn
        {
            run.last = tsn;
            run.sent_at = chunk.sent_at;
            run.bytes += chunk.wire_bytes();
            return;
        }
        self.begin_run(tsn, chunk, was);
    }

    #[inline(never)]
    fn begin_run(&mut self, tsn: Tsn, chunk: &SentChunk, was: ChunkState) {
        if self.run.is_some() {
            self.end_run();
        }
        self.run = Some(Delivered::of(tsn, chunk, was));
        // To what something has happened nothing is added.
        if !chunk.is_untouched() || was != ChunkState::InFlight {
            self.end_run();
        }
    }

    fn end_run(&mut self) {
        if let Some(run) = &self.run {
            self.result.spurious += usize::from(run.was.is_lost() && !run.is_copied());
            let before = self.before.get(run.path).copied().unwrap_or_default();
            self.result.note(run, before);
            (self.hear)(run);
            self.run = None;
        }
    }
}

impl Acknowledgment {
    /// Returns the time when the chunk sent last of those acknowledged for the first time was sent.
    pub(crate) fn newest(&self) -> Instant {
        self.paths.iter().map(|entry| entry.newest).max().unwrap_or_default()
    }

    fn note(&mut self, delivered: &Delivered, before: Before) {
        self.is_news = true;
        match self.paths.iter_mut().find(|entry| entry.path == delivered.path) {
            Some(entry) => entry.add(delivered, before),
            None => self.paths.push(PathAcknowledgment::of(delivered, before)),
        }
    }
}

impl PathAcknowledgment {
    /// Returns what the delivery of the earliest chunks comes to, with so many octets in flight before.
    #[inline]
    pub(super) fn of_earliest(delivered: &Delivered, flight_before: usize) -> Self {
        Self::of(delivered, Before { flight: flight_before, earliest: None })
    }

    #[inline]
    fn of(delivered: &Delivered, before: Before) -> Self {
        let (path, flight_before, newest) = (delivered.path, before.flight, Instant::EPOCH);
        let (bytes, highest_new, earliest, is_certain) = (0, None, false, false);
        let mut entry = Self { path, bytes, newest, flight_before, highest_new, earliest, is_certain };
        entry.add(delivered, before);
        entry
    }

    #[inline]
    fn add(&mut self, delivered: &Delivered, before: Before) {
        self.newest = self.newest.max(delivered.sent_at);
        self.bytes += delivered.bytes;
        self.earliest |= before.earliest.is_none_or(|earliest| delivered.contains(earliest));
        self.is_certain |= !delivered.is_moved;
        if !delivered.is_moved && self.highest_new.is_none_or(|highest| highest.precedes(delivered.last)) {
            self.highest_new = Some(delivered.last);
        }
    }
}

/// How a path stood before a SACK.
#[derive(Clone, Copy, Default)]
struct Before {
    flight: usize,
    /// The earliest outstanding chunk, where another one may be the first to be delivered: gap ack blocks pass chunks over, and the
    /// cumulative ack none.
    earliest: Option<Tsn>,
}

impl Before {
    fn of(path: PathIndex, flight: usize, sack: &Sack<'_>, outstanding: &Outstanding) -> Self {
        let passes_over = sack.gap_ack_block_count() > 0;
        let earliest = if passes_over { outstanding.earliest(path) } else { None };
        Self { flight, earliest: earliest.map(|index| outstanding.tsn_at(index)) }
    }
}

/// Checks a SACK against what was sent (RFC 9260 §3.3.4).
pub(crate) fn check(sack: &Sack<'_>, outstanding: &Outstanding) -> Result<(), SackRefused> {
    let point = outstanding.cumulative_ack();
    let cumulative = sack.cumulative_tsn_ack;
    if cumulative.precedes(point) {
        return Err(SackRefused::Old);
    }
    let beyond = outstanding.next_tsn();
    if !cumulative.precedes(beyond) {
        return Err(ProtocolViolation::AcknowledgedUnsent(cumulative).into());
    }
    let mut previous_end = 0;
    for GapAckBlock { start, end } in sack.gap_ack_blocks() {
        step();
        // Offset 1 would be the next TSN in sequence: then the cumulative ack would have covered it.
        if start < 2 || start <= previous_end || end < start {
            return Err(SackRefused::Malformed);
        }
        previous_end = end;
    }
    let highest = cumulative.advance(u32::from(previous_end));
    if !highest.precedes(beyond) {
        return Err(ProtocolViolation::AcknowledgedUnsent(highest).into());
    }
    Ok(())
}

/// Applies a checked SACK: the messages of which it covers the last chunk leave `messages`. `hear` is told of all that
/// is acknowledged for the first time, `result` gets what it comes to.
#[inline]
pub(crate) fn apply(
    now: Instant,
    sack: &Sack<'_>,
    (outstanding, messages, reneging): (&mut Outstanding, &mut Messages, &mut Reneging),
    result: &mut Acknowledgment,
    hear: impl FnMut(&Delivered),
) {
    let before = outstanding.each_path(|path, flight| Before::of(path, flight, sack, outstanding));
    let mut deliveries = Deliveries { run: None, before, result, hear };
    outstanding.pass(sack.cumulative_tsn_ack, |tsn, chunk| {
        deliveries.result.cumulative_advanced = true;
        deliveries.result.freed_payload += chunk.payload_bytes();
        if chunk.fragment.flags().ending {
            messages.release(chunk.fragment.message);
        }
        if chunk.is_unsettled() {
            deliveries.add(tsn, chunk, chunk.state);
        }
    });
    let range = |block: GapAckBlock| u64::from(block.start) - 1..u64::from(block.end);
    let blocks = outstanding.cover(sack.gap_ack_blocks().map(range), |tsn, chunk, was| {
        deliveries.add(tsn, chunk, was);
    });
    deliveries.end_run();
    let is_news = deliveries.result.is_news;
    if let Some(blocks) = blocks {
        take_back(now, outstanding, blocks, is_news, reneging);
    }
    outstanding.advance_firsts();
}

/// RFC 9260 §6.2.1 (D) (iii). Only a SACK that brings news can take something back: one that brings none may be old,
/// overtaken by the one that did.
fn take_back(
    now: Instant,
    outstanding: &mut Outstanding,
    blocks: Blocks,
    is_news: bool,
    reneging: &mut Reneging,
) {
    if !is_news {
        return outstanding.keep_uncovered(blocks);
    }
    if !outstanding.takes_back(&blocks) || reneging.admits(now) {
        outstanding.take_back_uncovered(now, blocks);
    } else {
        outstanding.keep_uncovered(blocks);
        outstanding.take_back_first(now);
    }
}

/// How often a peer may take back what it has acknowledged by gap ack blocks. To and fro would cost work for each chunk in
/// each packet; what it takes back sooner is in flight again when it is first, or with T3-rtx.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reneging {
    last: Option<Instant>,
}

impl Reneging {
    fn admits(&mut self, now: Instant) -> bool {
        let is_soon = self.last.is_some_and(|last| now.since(last) < RENEGING_PAUSE);
        if !is_soon {
            self.last = Some(now);
        }
        !is_soon
    }
}

/// Time between two SACKs that take something back.
const RENEGING_PAUSE: Duration = Duration::from_secs(1);

/// Counts a missing report on every chunk of a path in flight before `below`; returns those with `reports`, which are
/// three (RFC 9260 §7.2.4).
///
/// A chunk that was fast-retransmitted before is not so again (point 5), unless [`Repetition::Allowed`]: then reports
/// count that tell of a chunk sent after it was sent again. Only chunks of the same path count: after a changeover those
/// of the new path overtake those of the old one without anything being lost.
pub(crate) fn report_missing(
    outstanding: &mut Outstanding,
    path: PathIndex,
    below: Tsn,
    newest: Instant,
    (reports, repetition): (u8, Repetition),
) -> SmallVec<[usize; 8]> {
    let limit = outstanding.index_of(below).unwrap_or(0);
    let kind = match repetition {
        Repetition::Never => ChunkKind::Reportable,
        Repetition::Allowed => ChunkKind::Unsettled,
    };
    let counts = |chunk: &SentChunk| !chunk.fast_retransmitted || chunk.sent_at < newest;
    let missing = outstanding.of_kind(kind, path).take_while(|(index, _)| *index < limit);
    let missing: SmallVec<[usize; 16]> =
        missing.filter(|(_, chunk)| counts(chunk)).map(|(index, _)| index).collect();
    let mut due = SmallVec::new();
    for index in missing {
        if let Some(chunk) = outstanding.report_missing(index)
            && chunk.missing_reports >= reports
        {
            chunk.fast_retransmitted = true;
            due.push(index);
        }
    }
    due
}

/// Whether a chunk may be fast-retransmitted more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// A chunk is fast-retransmitted once (RFC 9260 §7.2.4 (5)).
    Never,
    Allowed,
}

/// Karn's rule for one path at a time: the chunk being timed (RFC 9260 §6.3.1 (C4), (C5)).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RttSample {
    timed: Option<(Tsn, Instant)>,
    /// A retransmission ended the last measurement, and nothing has been measured since.
    is_spoiled: bool,
}

impl RttSample {
    /// A chunk was sent for the first time: time it unless one is being timed.
    pub(crate) fn on_sent(&mut self, now: Instant, tsn: Tsn) {
        self.timed.get_or_insert((tsn, now));
    }

    /// A retransmission up to the timed chunk makes its ack ambiguous.
    pub(crate) fn on_resent(&mut self, tsn: Tsn) {
        let timed = self.timed.take();
        self.timed = timed.filter(|(timed, _)| timed.precedes(tsn));
        self.is_spoiled |= timed.is_some() && self.timed.is_none();
    }

    /// Returns whether a measurement was lost that has to be made up for.
    pub(crate) fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    /// Returns whether a measurement was lost that has to be made up for, and takes it as made up for.
    pub(crate) fn take_spoiled(&mut self) -> bool {
        core::mem::take(&mut self.is_spoiled)
    }

    /// Forgets what is timed if it is among what was delivered, and it cannot be told when.
    pub(crate) fn on_ambiguous(&mut self, delivered: &Delivered) {
        self.forget_if(|timed| delivered.contains(timed));
    }

    /// Forgets what is timed if it will not be acknowledged.
    pub(crate) fn forget_if(&mut self, is_lost_for_good: impl Fn(Tsn) -> bool) {
        self.timed = self.timed.filter(|(timed, _)| !is_lost_for_good(*timed));
    }

    pub(crate) fn on_delivered(&mut self, now: Instant, delivered: &Delivered) -> Option<Duration> {
        let (_, sent_at) = self.timed.filter(|(timed, _)| delivered.contains(*timed))?;
        self.timed = None;
        Some(now.since(sent_at))
    }
}

/// Duplicates of a SACK that are looked at; receivers of ours report 16, those of others up to 20.
pub(crate) const DUPLICATES_HEARD: usize = 32;

/// Reports after which a chunk is fast-retransmitted (RFC 9260 §7.2.4).
pub(super) const MISSING_REPORTS: u8 = 3;
