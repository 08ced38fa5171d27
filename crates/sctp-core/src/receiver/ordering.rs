//! Order within a stream, by SSN or MID (RFC 9260 §6.5, §6.6, RFC 8260 §2.1), and what it costs.
//!
//! An unordered message, and the one its stream waits for, go to the application's queue at once. Any other
//! one is *blocked*: complete, yet held back by an earlier one. How long is the study's question, so it is
//! measured here for every message.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use sctp_wire::{PayloadProtocolId, StreamId, Tsn};
use virtual_time::Instant;

use super::ReceiverViolation;
use super::fragment::{DataChunk, Numbering, Sequence};
use super::reassembly::Assembled;
use crate::allocation::{BESIDE_PAYLOAD_BYTES, allocated_bytes, beside_bytes};
use crate::message::{Delivery, Piece, Received, ReceivedMessage};
use crate::stats::BlockingStatistics;
use crate::steps::step;
use crate::stream_set::StreamSet;

/// Complete messages: those that wait for an earlier one, and those that wait for the application.
#[derive(Debug)]
pub(super) struct Ordering {
    numbering: Numbering,
    /// The number each stream waits for, as far as the highest stream used.
    next: Vec<Sequence>,
    blocked: BTreeMap<(u16, u32), Box<BlockedMessage>>,
    ready: VecDeque<Ready>,
    /// Octets that the payloads of these take beside their own.
    beside_bytes: usize,
    /// The statistics of blocking, once a message has waited.
    statistics: Option<Box<BlockingStatistics>>,
}

impl Ordering {
    pub(super) fn new(numbering: Numbering) -> Self {
        Self {
            numbering,
            next: Vec::new(),
            blocked: BTreeMap::new(),
            ready: VecDeque::new(),
            beside_bytes: 0,
            statistics: None,
        }
    }

    /// Returns whether a chunk's message is one its stream still waits for; each number is used once per round.
    #[inline]
    pub(super) fn check(&self, fragment: &DataChunk<'_>) -> Result<(), ReceiverViolation> {
        let (tsn, stream) = (fragment.tsn, fragment.stream);
        let Some(order) = fragment.order() else { return Ok(()) };
        if !order.precedes(self.next(stream)) && !self.is_blocked(stream, order) {
            return Ok(());
        }
        Err(match self.numbering {
            Numbering::Ssn => ReceiverViolation::SsnUsedTwice { tsn, stream, ssn: order.ssn() },
            Numbering::Mid => ReceiverViolation::MidUsedTwice { tsn, stream, mid: order.mid() },
        })
    }

    fn is_blocked(&self, stream: StreamId, order: Sequence) -> bool {
        !self.blocked.is_empty() && self.blocked.contains_key(&key(stream, order))
    }

    /// Returns whether a message's number is one that its stream has delivered or skipped.
    #[inline]
    pub(super) fn has_passed(&self, stream: StreamId, order: Sequence) -> bool {
        order.precedes(self.next(stream))
    }

    /// Waits no longer for any message up to `last`: those that are there are delivered, and those that only
    /// waited for them (RFC 3758 §3.6).
    pub(super) fn skip(&mut self, now: Instant, stream: StreamId, last: Sequence) -> Passed {
        let next = self.next(stream);
        if last.precedes(next) {
            return Passed::default();
        }
        let ready = self.ready.len();
        let steps = self.numbering.distance(next, last);
        let mut undelivered = u64::from(steps) + 1;
        while let Some(order) = self.first_blocked(stream, next)
            && self.numbering.distance(next, order) <= steps
            && let Some(stranded) = self.blocked.remove(&key(stream, order))
        {
            undelivered -= 1;
            self.deliver(now, stranded.complete_at, stranded.message);
        }
        self.follow(now, stream, self.numbering.next(last));
        Passed { undelivered, message_ready: self.ready.len() > ready }
    }

    /// Takes a complete message; says whether anything new waits for the application.
    #[inline]
    pub(super) fn insert(&mut self, now: Instant, message: Assembled) -> bool {
        let Some(order) = message.order() else {
            self.deliver(now, now, message);
            return true;
        };
        let stream = message.stream;
        if self.has_passed(stream, order) {
            // Its stream has gone on without it: late, but whole.
            self.deliver(now, now, message);
            return true;
        }
        if order != self.next(stream) {
            self.blocked.insert(key(stream, order), Box::new(BlockedMessage { message, complete_at: now }));
            return false;
        }
        self.deliver(now, now, message);
        self.follow(now, stream, self.numbering.next(order));
        true
    }

    /// Takes a piece of the message its stream waits for, and goes on waiting for the rest.
    pub(super) fn insert_piece(&mut self, now: Instant, piece: Assembled) {
        self.deliver(now, now, piece);
    }

    /// Returns whether a complete message waits for an earlier one.
    pub(super) fn is_blocking(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// Returns whether a message is the one its stream, which has been used before, waits for; or it has no
    /// order.
    #[inline(always)]
    pub(super) fn expects(&self, fragment: &DataChunk<'_>) -> bool {
        fragment.flags.unordered
            || self
                .next
                .get(usize::from(fragment.stream.get()))
                .is_some_and(|next| *next == fragment.sequence)
    }

    /// Delivers a message that is [expected](Self::expects), while none is blocked.
    #[inline(always)]
    pub(super) fn deliver_expected(&mut self, now: Instant, fragment: &DataChunk<'_>, payload: Bytes) {
        let &DataChunk { tsn, stream, ppid, sequence, .. } = fragment;
        let (numbering, mut delivery) = (self.numbering, Delivery::Unordered);
        if !fragment.flags.unordered {
            delivery = Delivery::Ordered;
            if let Some(next) = self.next.get_mut(usize::from(stream.get())) {
                *next = numbering.next(sequence);
            }
        }
        let (complete_at, blocked_nanos, piece) = (now, 0, None);
        self.push_ready(Ready {
            payload,
            complete_at,
            blocked_nanos,
            piece,
            ppid,
            tsn,
            sequence,
            stream,
            delivery,
            numbering,
        });
    }

    /// Changes the payloads of the messages that became ready last.
    pub(super) fn each_of_last(&mut self, messages: usize, mut change: impl FnMut(&mut Bytes)) {
        let others = self.ready.len().saturating_sub(messages);
        self.ready.range_mut(others..).for_each(|ready| change(&mut ready.payload));
    }

    /// Returns the next message for the application.
    pub(super) fn receive(&mut self) -> Option<Received> {
        self.ready.pop_front().map(Received::from)
    }

    /// Appends the next ones, at most so many.
    #[inline(always)]
    pub(super) fn receive_many(&mut self, limit: usize, into: &mut Vec<Received>) {
        let count = limit.min(self.ready.len());
        into.reserve(count);
        // Not `extend`, which would move each message twice: an `Option` of it first.
        if count == 1
            && let Some(ready) = self.ready.pop_front()
        {
            into.push(ready.into());
        } else {
            for ready in self.ready.drain(..count) {
                into.push(ready.into());
            }
        }
    }

    /// Lets these streams wait for their first message again. What waited for an earlier message of such a
    /// stream waits in vain: it is delivered. Returns whether there was any. Takes as many steps as streams are
    /// listed and messages delivered.
    pub(super) fn reset(&mut self, now: Instant, streams: &StreamSet) -> bool {
        let ready = self.ready.len();
        if streams.is_all() {
            while let Some(&(stream, _)) = self.blocked.keys().next() {
                self.deliver_stranded(now, StreamId::new(stream));
            }
            self.next.clear();
        }
        let mut rest = streams.listed();
        while let [first, ..] = rest
            && let Some((&(stream, _), _)) = self.blocked.range((first.get(), 0)..).next()
        {
            step();
            // Nothing waits in the streams passed over.
            rest = &rest[rest.partition_point(|listed| listed.get() < stream)..];
            if let Some((&first, others)) = rest.split_first().filter(|(first, _)| first.get() == stream) {
                self.deliver_stranded(now, first);
                rest = others;
            }
        }
        for stream in streams.listed() {
            step();
            if let Some(next) = self.next.get_mut(usize::from(stream.get())) {
                *next = Sequence::default();
            }
        }
        self.ready.len() > ready
    }

    /// Delivers what is blocked in a stream, in the order of its numbers from the one that it waits for.
    fn deliver_stranded(&mut self, now: Instant, stream: StreamId) {
        let mut next = self.next(stream);
        while let Some(order) = self.first_blocked(stream, next) {
            step();
            if let Some(blocked) = self.blocked.remove(&key(stream, order)) {
                self.deliver(now, blocked.complete_at, blocked.message);
            }
            next = order;
        }
    }

    /// Puts a message of a predecessor behind what is ready.
    pub(super) fn adopt(&mut self, received: Received) {
        step();
        self.beside_bytes += beside_bytes(received.message.payload.len());
        self.push_ready(received.into());
    }

    /// Takes note of the octets that the payloads delivered last take beside their own.
    #[inline]
    pub(super) fn note_beside(&mut self, octets: usize) {
        self.beside_bytes += octets;
    }

    /// Takes note that so many messages were read; returns the share of the octets beside payloads that are theirs.
    #[inline]
    pub(super) fn forget_beside(&mut self, read: usize) -> usize {
        let freed = share_of(self.beside_bytes, read, self.ready.len());
        self.beside_bytes -= freed;
        freed
    }

    /// Returns the number of octets in what holds complete messages, besides their payload.
    #[inline]
    pub(super) fn overhead_bytes(&self) -> usize {
        let blocked = self.blocked.len() * BLOCKED_BYTES;
        Self::ready_overhead_bytes(self.ready.len()) + self.beside_bytes + blocked
    }

    /// Returns the octets of bookkeeping of so many messages that are ready, but for what is beside their payload.
    #[inline]
    pub(super) const fn ready_overhead_bytes(messages: usize) -> usize {
        messages * READY_BYTES
    }

    /// Returns the number of octets of what is kept for each stream until the association ends.
    pub(super) fn table_bytes(&self) -> usize {
        let statistics = self.statistics.as_deref().map_or(0, BlockingStatistics::held_bytes);
        self.next.capacity() * size_of::<Sequence>() + statistics
    }

    /// Gives back memory: what was read leaves no more room behind than what is left needs, but for a little.
    #[inline(always)]
    pub(super) fn give_back(&mut self) {
        if self.ready.capacity() > PLACES_KEPT {
            self.shrink();
        }
    }

    #[inline(never)]
    fn shrink(&mut self) {
        if self.ready.capacity() - self.ready.len() > self.ready.len() / 6 {
            let most = self.ready.len() + self.ready.len() / 16;
            self.ready.shrink_to(most.max(PLACES_KEPT));
        }
    }

    /// A long queue grows by an eighth, and not to the double: it is counted by its messages.
    #[inline(always)]
    fn push_ready(&mut self, ready: Ready) {
        if self.ready.len() == self.ready.capacity() {
            self.grow();
        }
        self.ready.push_back(ready);
    }

    #[cold]
    fn grow(&mut self) {
        let places = self.ready.len();
        if places >= PLACES_KEPT {
            self.ready.reserve_exact(places / 8);
        }
    }

    /// Returns whether the application has something to read.
    pub(super) fn has_message(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns whether no message is held, ready or blocked.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.blocked.is_empty()
    }

    pub(super) fn statistics(&self) -> BlockingStatistics {
        self.statistics.as_deref().cloned().unwrap_or_default()
    }

    /// Delivers what waited for nothing but its predecessor, from `next` on.
    #[inline]
    fn follow(&mut self, now: Instant, stream: StreamId, mut next: Sequence) {
        while !self.blocked.is_empty()
            && let Some(follower) = self.blocked.remove(&key(stream, next))
        {
            self.deliver(now, follower.complete_at, follower.message);
            next = self.numbering.next(next);
        }
        self.set_next(stream, next);
    }

    /// Returns the blocked message of a stream that comes first, counted from the one it waits for.
    fn first_blocked(&self, stream: StreamId, next: Sequence) -> Option<Sequence> {
        let (lowest, from, highest) = ((stream.get(), 0), key(stream, next), (stream.get(), u32::MAX));
        let first =
            self.blocked.range(from..=highest).next().or_else(|| self.blocked.range(lowest..from).next());
        first.map(|(&(_, order), _)| Sequence::from_key(order))
    }

    fn deliver(&mut self, now: Instant, complete_at: Instant, assembled: Assembled) {
        let Assembled { tsn, stream, delivery, sequence, ppid, payload, piece } = assembled;
        let blocked = now.since(complete_at);
        if !blocked.is_zero() {
            self.statistics.get_or_insert_default().record(stream, blocked);
        }
        self.beside_bytes += beside_bytes(payload.len());
        let counted = self.numbering.counted(sequence);
        let message = ReceivedMessage { stream, ppid, delivery, payload };
        self.push_ready(Received { message, tsn, counted, complete_at, blocked, piece }.into());
    }

    /// Returns what a stream waits for.
    #[inline]
    pub(super) fn next(&self, stream: StreamId) -> Sequence {
        self.next.get(usize::from(stream.get())).copied().unwrap_or_default()
    }

    fn set_next(&mut self, stream: StreamId, next: Sequence) {
        let index = usize::from(stream.get());
        if index >= self.next.len() {
            self.next.resize(index + 1, Sequence::default());
        }
        if let Some(slot) = self.next.get_mut(index) {
            *slot = next;
        }
    }
}

/// A message that waits for the application, in 72 octets: there may be very many of them at once.
#[derive(Debug)]
struct Ready {
    payload: Bytes,
    complete_at: Instant,
    blocked_nanos: u64,
    piece: Option<Box<Piece>>,
    ppid: PayloadProtocolId,
    tsn: Tsn,
    sequence: Sequence,
    stream: StreamId,
    delivery: Delivery,
    /// The way in which the number counts: a peer that began anew may number otherwise than before.
    numbering: Numbering,
}

impl From<Ready> for Received {
    #[inline(always)]
    fn from(ready: Ready) -> Self {
        let is_usual = ready.blocked_nanos == 0 && ready.piece.is_none();
        if is_usual { ready.usual() } else { ready.with_wait_and_piece() }
    }
}

impl Ready {
    /// Returns a message that has not waited and is whole, as nearly all are.
    #[inline(always)]
    fn usual(self) -> Received {
        let Self { payload, complete_at, ppid, tsn, sequence, stream, delivery, numbering, .. } = self;
        let message = ReceivedMessage { stream, ppid, delivery, payload };
        let counted = numbering.counted(sequence);
        Received { message, tsn, counted, complete_at, blocked: Duration::ZERO, piece: None }
    }

    /// Returns any message. Apart, for what it takes is in the way where usual ones are handed out by the dozen.
    #[cold]
    #[inline(never)]
    fn with_wait_and_piece(mut self) -> Received {
        let piece = self.piece.take().map(|piece| *piece);
        let blocked = Duration::from_nanos(self.blocked_nanos);
        Received { blocked, piece, ..self.usual() }
    }
}

impl From<Received> for Ready {
    fn from(received: Received) -> Self {
        let Received { message, tsn, counted, complete_at, blocked, piece } = received;
        let ReceivedMessage { stream, ppid, delivery, payload } = message;
        let (numbering, sequence) = Numbering::of(counted);
        let blocked_nanos = u64::try_from(blocked.as_nanos()).unwrap_or(u64::MAX);
        let piece = piece.map(Box::new);
        Self { payload, complete_at, blocked_nanos, piece, ppid, tsn, sequence, stream, delivery, numbering }
    }
}

/// The effect of [`Ordering::skip`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Passed {
    /// Messages that will never be delivered.
    pub(super) undelivered: u64,
    /// Whether others were delivered because of it.
    pub(super) message_ready: bool,
}

#[derive(Debug)]
struct BlockedMessage {
    message: Assembled,
    complete_at: Instant,
}

/// Returns what of a sum belongs to `read` messages, of which `left` are left: all of it if none is.
#[inline]
pub(super) fn share_of(sum: usize, read: usize, left: usize) -> usize {
    if left == 0 { sum } else { sum.saturating_mul(read) / (read + left) }
}

/// Octets of a place in the queue of what is ready, with its share of the free ones.
const READY_BYTES: usize = size_of::<Ready>() + size_of::<Ready>() / 16;

/// Octets of a blocked message, and its key and pointer in nodes that are two thirds full.
const BLOCKED_BYTES: usize =
    allocated_bytes(size_of::<BlockedMessage>()) + 16 * 3 / 2 + 4 + BESIDE_PAYLOAD_BYTES;

/// Places that an empty queue keeps: as many as many packets fill at once.
const PLACES_KEPT: usize = (64 << 10) / size_of::<Ready>();

/// Returns the key of a message, which is looked up only, never ordered by number: serial numbers have no
/// order.
fn key(stream: StreamId, order: Sequence) -> (u16, u32) {
    (stream.get(), order.get())
}

#[cfg(test)]
mod tests;
