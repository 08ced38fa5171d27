//! The messages that nearly always arrive: behind everything else the one its stream waits for, whole, with
//! room for it.
//!
//! Such messages go from the packet to the application's queue in one walk over their chunks. Everything they count in is
//! brought up to date once for all of them. Where anything is missing, blocked, incomplete or given up,
//! [`on_fragment`](Receiver::on_fragment) decides.

use sctp_wire::Chunks;
use virtual_time::Instant;

use super::Receiver;
use super::arena::{PacketCopy, SHARED_BY};
use super::fragment::{DataChunk, Numbering};
use super::ordering::Ordering;
use super::outcome::TakenIn;

impl Receiver {
    /// Takes the messages in that are expected, up to a chunk that is not one of them.
    #[inline]
    pub(super) fn take_expected(&mut self, now: Instant, chunks: &mut Chunks<'_>, taken: &mut TakenIn) {
        if !self.is_settled() {
            return;
        }
        match self.rules.numbering {
            Numbering::Ssn => self.take_expected_data(now, chunks, taken),
            Numbering::Mid => self.take_expected_i_data(now, chunks, taken),
        }
    }

    #[inline(never)]
    fn take_expected_data(&mut self, now: Instant, chunks: &mut Chunks<'_>, taken: &mut TakenIn) {
        self.walk_expected(now, Numbering::Ssn, chunks, taken);
    }

    #[inline(never)]
    fn take_expected_i_data(&mut self, now: Instant, chunks: &mut Chunks<'_>, taken: &mut TakenIn) {
        self.walk_expected(now, Numbering::Mid, chunks, taken);
    }

    /// In each of its two places the numbering is known, so that no chunk is asked for it.
    #[inline(always)]
    fn walk_expected(
        &mut self,
        now: Instant,
        numbering: Numbering,
        chunks: &mut Chunks<'_>,
        taken: &mut TakenIn,
    ) {
        let (mut tsn, mut room) = (self.cumulative_tsn(), self.window.room());
        let mut packet = PacketCopy::of(chunks.rest());
        let (mut messages, mut octets, mut is_immediate) = (0_u32, 0, false);
        let limits = WholeMessageLimits { bytes: self.longest_bytes(), streams: self.rules.inbound_streams };
        let mut ahead = chunks.clone();
        while let Some(data) = DataChunk::next(&mut ahead, numbering)
            && data.tsn == tsn.next()
            && limits.admit(&data)
            && self.ordering.expects(&data)
            && room.take(data.payload.len())
        {
            let payload = self.arena.copy(data.payload, &mut packet);
            self.ordering.deliver_expected(now, &data, payload);
            tsn = data.tsn;
            messages += 1;
            octets += data.payload.len();
            is_immediate |= data.flags.immediate;
            *chunks = ahead.clone();
        }
        if messages > 0 {
            if packet.copied_bytes() > 0 {
                self.part_if_better(packet.copied_bytes(), messages as usize, octets);
            }
            self.note_expected(messages, octets, is_immediate);
            (taken.any, taken.message_ready) = (true, true);
        }
    }

    /// Returns whether nothing is missing, incomplete or blocked, and what was given up ended before the last
    /// chunk.
    fn is_settled(&self) -> bool {
        !self.arrived.has_gap()
            && self.reassembly.is_empty()
            && !self.ordering.is_blocking()
            && self.given_up_through.is_none_or(|through| through.next() < self.arrived.head())
    }

    fn note_expected(&mut self, messages: u32, octets: usize, is_immediate: bool) {
        self.arrived.advance(messages);
        self.window.hold(octets);
        let beside = self.arena.taken_bytes().saturating_sub(octets);
        self.ordering.note_beside(beside);
        self.window.add_overhead(Ordering::ready_overhead_bytes(messages as usize) + beside);
        debug_assert_eq!(self.window.overhead_bytes(), self.overhead_bytes());
        self.sack.on_new(is_immediate);
        self.counters.data_chunks += u64::from(messages);
        self.counters.messages += u64::from(messages);
        self.counters.octets += octets as u64;
    }

    /// A copy of a packet that is mostly something else is far more than its messages, and one for few of them takes more
    /// than pieces of their own: then they get such.
    #[inline(never)]
    fn part_if_better(&mut self, copied_bytes: usize, messages: usize, octets: usize) {
        if messages < SHARED_BY || copied_bytes > octets + messages * MOST_BESIDE {
            self.arena.taken_bytes();
            self.ordering.each_of_last(messages, |payload| *payload = self.arena.copy_alone(payload));
        }
    }
}

/// Octets of a packet beside a message that are copied with it at most: its header, its padding, and its share of the rest.
const MOST_BESIDE: usize = 24;

/// The limits of messages that are taken without a closer look.
struct WholeMessageLimits {
    /// Octets of payload.
    bytes: usize,
    /// Streams are numbered below this.
    streams: u16,
}

impl WholeMessageLimits {
    /// Returns whether a chunk is a whole message within these limits.
    #[inline(always)]
    fn admit(&self, data: &DataChunk<'_>) -> bool {
        data.flags.is_whole()
            && !data.payload.is_empty()
            && data.payload.len() <= self.bytes
            && data.stream.get() < self.streams
    }
}
