//! The receiving half of an association: DATA or I-DATA chunks in, whole messages and SACKs out.
//!
//! ```text
//! take_in ─► tsn_map: new? ─► window: room? ─► reassembly: whole? ─► ordering: its turn? ─► receive
//!                │                │
//!                └──── sack ◄─────┘ ─► on_packet_end: at once, delayed, nothing ─► write_sack
//!                                          earlier: due before the next packet was read ──┘
//! ```
//!
//! Owns what has arrived and is not yet with the application. Does not own timers or packets, and never
//! answers by itself: it says what happened ([`Arrival`], [`SackDemand`]) and the association acts.
//!
//! A chunk is refused before it changes anything, in this order: empty, seen before, out of reach, no room,
//! at odds with its neighbours. What is acknowledged is never given up again (no reneging): when the
//! buffer is full of messages that cannot be delivered, the one chunk that everything waits for is let in
//! beyond the limit. That is where we leave RFC 9260 §6.2, which would drop the highest TSN for it.

use bytes::Bytes;
use sctp_wire::{Chunks, Full, PacketWriter, Tsn};
use virtual_time::Instant;

pub(crate) use blocks::SpareBlocks;
pub(crate) use forward::ForwardOutcome;
use outcome::ReceiverTally;
pub(crate) use outcome::{Arrival, TakenIn};
pub(crate) use partial::Aborted;
pub(crate) use sack::SackDemand;

use crate::capabilities::{Capabilities, Capability};
use crate::error::ReceiverViolation;
use crate::message::Received;
use crate::stats::ReceiverStatistics;
use crate::stream_set::AwaitedReset;
use arena::Arena;
use earlier::EarlierSacks;
use fragment::{DataChunk, Numbering};
use ordering::Ordering;
use reassembly::{Assembled, Reassembly};
use sack::SackSchedule;
use tsn_map::{Position, TsnMap, TsnPlace};
use unread::Unread;
use window::{Credit, ReceiveWindow};

mod arena;
mod blocks;
mod earlier;
mod expected;
mod forward;
mod fragment;
mod ordering;
mod outcome;
mod partial;
mod reassembly;
mod reconfig;
mod sack;
mod tsn_map;
mod unread;
mod window;

/// The association's configuration of receiving, after negotiation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverConfig {
    /// The window we advertise, in octets of payload.
    pub buffer_bytes: usize,
    /// What the window grows to at most, while the application keeps up; zero where it keeps its size.
    pub grown_bytes: u32,
    /// The longest message put together from fragments.
    pub message_bytes: usize,
    /// More octets than this of an unfinished message are delivered (RFC 9260 §6.9); `None`: never.
    pub partial_delivery_point: Option<usize>,
    /// Streams the peer may use: 0 to one less.
    pub inbound_streams: u16,
    /// A SACK is due after this many packets with new DATA at the latest (RFC 9260 §6.2: 2).
    pub sack_every_packets: u32,
    /// The extensions agreed on.
    pub capabilities: Capabilities,
}

impl ReceiverConfig {
    /// Returns how messages are numbered: as I-DATA alone or DATA alone does it (RFC 8260 §2.2.1).
    fn numbering(&self) -> Numbering {
        if self.capabilities.has(Capability::Interleaving) { Numbering::Mid } else { Numbering::Ssn }
    }

    /// Returns the number of octets beyond the window that the chunk everything waits for may take: a longest
    /// message, or as much of one as may wait before a piece of it is delivered, and a chunk.
    fn overdraft_bytes(&self) -> usize {
        let chunk_bytes = if self.partial_delivery_point.is_some() { usize::from(u16::MAX) } else { 0 };
        self.message_bytes.saturating_add(chunk_bytes)
    }
}

/// What of the configuration is looked at all the time; the window knows the rest.
#[derive(Clone, Copy, Debug)]
struct ReceiverRules {
    /// More octets than this of an unfinished message are delivered; `usize::MAX`: never.
    partial_delivery_point: usize,
    sack_every_packets: u32,
    inbound_streams: u16,
    numbering: Numbering,
}

impl ReceiverRules {
    fn new(config: &ReceiverConfig) -> Self {
        Self {
            partial_delivery_point: config.partial_delivery_point.unwrap_or(usize::MAX),
            sack_every_packets: config.sack_every_packets,
            inbound_streams: config.inbound_streams,
            numbering: config.numbering(),
        }
    }

    fn partial_delivery_point(&self) -> Option<usize> {
        (self.partial_delivery_point < usize::MAX).then_some(self.partial_delivery_point)
    }
}

/// Everything that came from the peer and is not yet with the application.
#[derive(Debug)]
pub(crate) struct Receiver {
    rules: ReceiverRules,
    arrived: TsnMap,
    window: ReceiveWindow,
    arena: Arena,
    reassembly: Reassembly,
    ordering: Ordering,
    unread: Unread,
    sack: SackSchedule,
    earlier_sacks: EarlierSacks,
    /// The last position of what the peer gave up; `None` as long as it has given up nothing.
    given_up_through: Option<Position>,
    counters: ReceiverTally,
}

impl Receiver {
    pub(crate) fn new(config: ReceiverConfig, peer_initial_tsn: Tsn, blocks: &SpareBlocks) -> Self {
        Self {
            rules: ReceiverRules::new(&config),
            arrived: TsnMap::new(peer_initial_tsn),
            window: ReceiveWindow::new(config.buffer_bytes, config.grown_bytes, config.overdraft_bytes()),
            arena: Arena::default(),
            reassembly: Reassembly::new(config.numbering(), blocks.clone()),
            ordering: Ordering::new(config.numbering()),
            unread: Unread::default(),
            sack: SackSchedule::new(config.sack_every_packets),
            earlier_sacks: EarlierSacks::default(),
            given_up_through: None,
            counters: ReceiverTally::default(),
        }
    }

    /// Returns the length of the longest message put together. Where it is delivered in pieces, the window
    /// alone limits what waits.
    fn longest_bytes(&self) -> usize {
        if self.rules.partial_delivery_point().is_some() { usize::MAX } else { self.window.overdraft_bytes() }
    }

    /// A packet is about to be read. A SACK that those before it called for is sent as things stand now.
    #[inline]
    pub(crate) fn begin_packet(&mut self, now: Instant) {
        if self.sack.has_fallen_due() {
            self.set_sack_aside(now);
        }
    }

    #[inline(never)]
    fn set_sack_aside(&mut self, now: Instant) {
        let (cumulative, a_rwnd) = (self.cumulative_tsn(), self.a_rwnd());
        let blocks = self.arrived.gap_ack_blocks();
        if self.earlier_sacks.set_aside(now, (cumulative, a_rwnd), blocks, self.sack.duplicates()) {
            self.sack.on_sent();
            self.window.note_advertised(a_rwnd);
        } else {
            self.sack.on_left_out();
            self.counters.note().sacks_left_out += 1;
        }
    }

    /// Takes the DATA or I-DATA chunks that stand next in a packet, as long as they are of the kind agreed on and kept; but for
    /// those behind a reset that is awaited. There is no other way in.
    #[inline]
    pub(crate) fn take_in(
        &mut self,
        now: Instant,
        chunks: &mut Chunks<'_>,
        awaited: Option<&AwaitedReset>,
    ) -> TakenIn {
        let mut taken = TakenIn::default();
        if awaited.is_none() {
            self.take_expected(now, chunks, &mut taken);
        }
        if !chunks.rest().is_empty() {
            self.take_others(now, chunks, awaited, &mut taken);
        }
        taken
    }

    /// Takes in the chunks from one on that is not expected.
    #[inline(never)]
    fn take_others(
        &mut self,
        now: Instant,
        chunks: &mut Chunks<'_>,
        awaited: Option<&AwaitedReset>,
        taken: &mut TakenIn,
    ) {
        while let Some(chunk) = DataChunk::next(chunks, self.rules.numbering) {
            taken.any = true;
            if awaited.is_some_and(|reset| reset.precedes(chunk.tsn, chunk.stream)) {
                taken.withheld += 1;
                continue;
            }
            let arrival = self.on_fragment(now, &chunk);
            let Arrival::Accepted { message_ready } = arrival else {
                taken.stopped_at = Some(arrival);
                break;
            };
            taken.message_ready |= message_ready;
            if awaited.is_none() && !chunks.rest().is_empty() {
                self.take_expected(now, chunks, taken);
            }
        }
    }

    /// Decides about a SACK, once per packet that carried a DATA chunk, after its last chunk.
    pub(crate) fn on_packet_end(&mut self) -> SackDemand {
        self.sack.on_packet_end(self.arrived.has_gap())
    }

    /// From now on a SACK is due after so many packets.
    pub(crate) fn set_sack_every(&mut self, packets: u32) {
        self.rules.sack_every_packets = packets;
        self.sack.set_every(packets);
    }

    /// Makes a SACK that is owed and may wait go now.
    pub(crate) fn hurry_sack(&mut self) {
        self.sack.hurry();
    }

    /// The SACKs sent so far may not have arrived.
    pub(crate) fn repeat_sack(&mut self) {
        self.sack.repeat();
    }

    /// Returns whether a SACK must go now, for what arrived or for a window that opened.
    pub(crate) fn wants_sack(&self) -> bool {
        !self.earlier_sacks.is_empty()
            || self.sack.owed() == SackDemand::Immediate
            || self.window_update_due()
    }

    /// Returns whether there is something to acknowledge, so that a SACK should share a packet that goes
    /// anyway.
    pub(crate) fn is_sack_pending(&self) -> bool {
        !self.earlier_sacks.is_empty() || self.sack.owed() != SackDemand::None || self.window_update_due()
    }

    /// Returns whether a SACK is owed that may wait.
    pub(crate) fn is_sack_delayed(&self) -> bool {
        self.sack.owed() == SackDemand::Delayed
    }

    /// Writes a SACK: the first that was set aside, or else how things stand now, after which none is owed.
    ///
    /// It reports as many gap ack blocks, lowest first, and then duplicates as the packet has room for.
    ///
    /// # Errors
    ///
    /// [`Full`]: nothing is written and it is still owed.
    pub(crate) fn write_sack(&mut self, writer: &mut PacketWriter<'_>) -> Result<(), Full> {
        if !self.earlier_sacks.is_empty() {
            return self.earlier_sacks.write_first(writer);
        }
        let a_rwnd = self.a_rwnd();
        if self.arrived.has_gap() || !self.sack.duplicates().is_empty() {
            self.write_reports(a_rwnd, writer)?;
        } else {
            writer.cumulative_sack(self.cumulative_tsn(), a_rwnd)?;
        }
        self.sack.on_sent();
        self.window.note_advertised(a_rwnd);
        Ok(())
    }

    /// Writes a SACK that reports gaps or duplicates.
    #[inline(never)]
    fn write_reports(&self, a_rwnd: u32, writer: &mut PacketWriter<'_>) -> Result<(), Full> {
        let duplicates = self.sack.duplicates().iter().copied();
        writer.sack(self.cumulative_tsn(), a_rwnd, self.arrived.gap_ack_blocks(), duplicates)
    }

    /// Returns the last TSN below which nothing is missing.
    pub(crate) fn cumulative_tsn(&self) -> Tsn {
        self.arrived.cumulative_tsn()
    }

    /// Returns the window as the next SACK reports it.
    pub(crate) fn a_rwnd(&self) -> u32 {
        self.window.a_rwnd()
    }

    /// Returns the next message for the application; its room in the window is free again.
    pub(crate) fn receive(&mut self) -> Option<Received> {
        let received = self.ordering.receive()?;
        self.release(1, received.message.payload.len());
        Some(received)
    }

    /// Appends up to `limit` of them; gives how many there were.
    pub(crate) fn receive_many(&mut self, limit: usize, into: &mut Vec<Received>) -> usize {
        if !self.ordering.has_message() {
            return 0;
        }
        let before = into.len();
        self.ordering.receive_many(limit, into);
        let received = &into[before..];
        let payload_bytes = match received {
            [only] => only.message.payload.len(),
            all => all.iter().map(|received| received.message.payload.len()).sum(),
        };
        self.release(received.len(), payload_bytes);
        received.len()
    }

    /// Takes note that `messages` messages went to the application.
    #[inline(always)]
    fn release(&mut self, messages: usize, payload_bytes: usize) {
        self.window.release(payload_bytes);
        let beside = self.ordering.forget_beside(messages);
        self.window.drop_overhead(Ordering::ready_overhead_bytes(messages) + beside);
        debug_assert_eq!(self.window.overhead_bytes(), self.overhead_bytes());
        self.ordering.give_back();
        if !self.ordering.has_message() {
            self.arena.end_round();
        }
    }

    /// Takes over what a predecessor had ready for the application, when the peer has restarted.
    pub(crate) fn adopt_ready(&mut self, predecessor: &mut Self) {
        // Pieces among it keep their numbers, which nobody else may get.
        let messages_in_pieces = predecessor.counters.get().messages_in_pieces;
        if messages_in_pieces > 0 {
            self.counters.note().messages_in_pieces = messages_in_pieces;
        }
        while let Some(received) = predecessor.receive() {
            self.window.hold(received.message.payload.len());
            self.ordering.adopt(received);
        }
        self.adopt_unread(predecessor);
        self.count_held();
    }

    /// Returns the number of octets of what is kept for each stream until the association ends.
    pub(crate) fn table_bytes(&self) -> usize {
        self.ordering.table_bytes()
    }

    /// Counts anew what holds the payload, because it has changed.
    #[inline]
    fn count_held(&mut self) {
        self.window.set_overhead(self.overhead_bytes());
    }

    #[inline]
    fn overhead_bytes(&self) -> usize {
        self.ordering.overhead_bytes() + self.reassembly.overhead_bytes() + self.unread.overhead_bytes()
    }

    /// Returns whether the peer should hear that the window opened, though nothing arrived (RFC 9260 §6.2): it
    /// grew by a quarter of the buffer, or the application has read everything and a window that the peer
    /// believes to be closed has room for a packet.
    #[inline]
    pub(crate) fn window_update_due(&self) -> bool {
        self.window.is_update_due() || (self.window.has_reopened() && !self.has_unread())
    }

    /// Returns whether [`receive`](Self::receive) would give something.
    pub(crate) fn has_message(&self) -> bool {
        self.ordering.has_message()
    }

    /// Returns whether nothing is held: no fragment, no blocked message, none for the application.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.reassembly.bytes() == 0 && self.ordering.is_empty()
    }

    /// The endpoint lets it hold this much in all, bookkeeping included.
    pub(crate) fn grant_memory(&mut self, bytes: usize) {
        self.window.grant(bytes);
    }

    /// Returns the memory in use by what arrived, bookkeeping included, in octets.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.window.memory_bytes()
    }

    /// Returns whether any DATA chunk was kept so far.
    pub(crate) fn has_received(&self) -> bool {
        self.counters.data_chunks > 0
    }

    /// Returns what has happened so far.
    pub(crate) fn statistics(&self) -> ReceiverStatistics {
        ReceiverStatistics {
            reassembly_bytes: self.reassembly.bytes(),
            blocked: self.ordering.statistics(),
            ..self.counters.get()
        }
    }

    fn on_fragment(&mut self, now: Instant, data: &DataChunk<'_>) -> Arrival {
        if data.payload.is_empty() {
            return Arrival::NoUserData(data.tsn);
        }
        match self.arrived.place(data.tsn) {
            TsnPlace::New(position) => self.on_new(now, position, data),
            TsnPlace::Duplicate => {
                self.counters.note().duplicates += 1;
                self.sack.on_duplicate(data.tsn);
                Arrival::Duplicate
            }
            TsnPlace::OutOfReach => {
                self.counters.note().dropped_out_of_reach += 1;
                self.sack.on_dropped();
                Arrival::DroppedOutOfReach
            }
        }
    }

    fn on_new(&mut self, now: Instant, position: Position, data: &DataChunk<'_>) -> Arrival {
        if data.stream.get() >= self.rules.inbound_streams {
            return self.acknowledge_only(position, data);
        }
        if self.is_given_up(position, data) {
            return self.on_given_up(position, data);
        }
        self.cut_off_below(position, data);
        if !self.has_room(position, data.payload.len()) {
            return self.drop_for_room(position, data.payload.len());
        }
        if let Err(violation) = self.check(position, data) {
            return Arrival::Violation(violation);
        }
        self.accept(now, position, data)
    }

    /// Drops a chunk as if lost, and the peer sends it again; unless nothing it could send would ever help.
    #[cold]
    fn drop_for_room(&mut self, position: Position, payload_bytes: usize) -> Arrival {
        self.counters.note().dropped_no_window += 1;
        self.sack.on_dropped();
        // With DATA the next chunk always belongs to the one message that waits for it, and enters; unless that is long
        // and its stream, by the peer's mistake, waits for another one.
        let may_be_hopeless =
            self.rules.numbering == Numbering::Mid || self.rules.partial_delivery_point().is_some();
        let is_hopeless = may_be_hopeless
            && position == self.arrived.head()
            && !self.has_unread()
            && !self.window.could_admit(payload_bytes);
        if is_hopeless {
            return Arrival::Hopeless { bytes: self.reassembly.bytes() };
        }
        Arrival::DroppedNoBuffer
    }

    /// Acknowledges a chunk on a stream that does not exist, and throws it away (RFC 9260 §6.5).
    #[cold]
    fn acknowledge_only(&mut self, position: Position, data: &DataChunk<'_>) -> Arrival {
        self.counters.note().invalid_streams += 1;
        self.arrived.insert(position);
        self.sack.on_new(data.flags.immediate);
        Arrival::InvalidStream(data.stream)
    }

    /// Returns whether there is room for a chunk. The one after the cumulative TSN may overdraw while the
    /// application has nothing to read: nobody else could ever make room for it.
    fn has_room(&self, position: Position, payload_bytes: usize) -> bool {
        let is_awaited = position == self.arrived.head() && !self.has_unread();
        let credit = if is_awaited { Credit::Overdraft } else { Credit::Window };
        self.window.admits(payload_bytes, credit)
    }

    fn check(&self, position: Position, data: &DataChunk<'_>) -> Result<(), ReceiverViolation> {
        self.ordering.check(data)?;
        self.reassembly.check(position, data, &self.arrived, self.longest_bytes())
    }

    fn accept(&mut self, now: Instant, position: Position, data: &DataChunk<'_>) -> Arrival {
        self.arrived.insert(position);
        self.window.hold(data.payload.len());
        self.sack.on_new(data.flags.immediate);
        self.counters.data_chunks += 1;
        self.counters.octets += u64::try_from(data.payload.len()).unwrap_or(u64::MAX);
        let mut message_ready = if data.flags.is_whole() {
            self.counters.messages += 1;
            self.ordering.insert(now, Assembled::whole(data, Bytes::copy_from_slice(data.payload)))
        } else {
            self.assemble(now, position, data)
        };
        if let Some(point) = self.rules.partial_delivery_point() {
            message_ready |= self.deliver_piece(now, point, data.stream, Some(data));
        }
        self.count_held();
        Arrival::Accepted { message_ready }
    }

    /// Adds a part of a message; returns whether it completed it.
    fn assemble(&mut self, now: Instant, position: Position, data: &DataChunk<'_>) -> bool {
        let Some(message) = self.reassembly.insert(position, data) else { return false };
        self.counters.messages += 1;
        self.ordering.insert(now, message)
    }
}

#[cfg(test)]
mod tests;
