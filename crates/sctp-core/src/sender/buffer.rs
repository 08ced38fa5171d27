//! How much the sending half holds, and may hold: payload, and everything that holds it.
//!
//! What is held is counted by what was allocated. That is not looked up for each message: between two looks, each takes
//! its payload and [`MESSAGE_BYTES`] from a balance. What grows does so by an eighth, so that the limit is exceeded by an
//! eighth of the bookkeeping at most.

use virtual_time::Instant;

use super::Sender;
use super::abandon::Failed;
use super::messages::PLACE_BYTES;
use super::outstanding::CHUNK_BYTES;
use super::queue::{DISPLACEABLE_BYTES, WAITING_BYTES};
use crate::config::Buffers;
use crate::error::SendError;
use crate::message::{Message, Reliability};
use crate::stats::Buffered;

/// The send buffer, as numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    limit: usize,
    /// Octets of all messages that are here, whether sent or not.
    payload_bytes: usize,
    /// Octets that are free in any case. More may have become so since the last look.
    free_bytes: usize,
    /// Messages were refused: say so when there is room again.
    refused: Option<Refused>,
    /// What the limit grows to at most, where it grows.
    grown_bytes: u32,
    /// Say so when no more payload than this is here.
    low_water_bytes: Option<usize>,
}

impl SendBuffer {
    pub(super) fn new(buffers: &Buffers) -> Self {
        let (limit, grown_bytes) = (buffers.send_bytes, buffers.may_grow_to());
        Self { limit, payload_bytes: 0, free_bytes: 0, refused: None, grown_bytes, low_water_bytes: None }
    }

    /// Takes note that so much payload is not here any more.
    #[inline]
    pub(super) fn release(&mut self, payload_bytes: usize) {
        self.payload_bytes -= payload_bytes;
    }
}

/// The octets that refused messages need.
#[derive(Clone, Copy, Debug)]
struct Refused {
    smallest: usize,
    largest: usize,
}

impl Refused {
    /// Adds one to those that were refused before.
    fn with(before: Option<Self>, bytes: usize) -> Self {
        let Self { smallest, largest } = before.unwrap_or(Self { smallest: bytes, largest: bytes });
        Self { smallest: smallest.min(bytes), largest: largest.max(bytes) }
    }

    /// Returns the room in a buffer with this limit at which their users are told: a quarter of it, or as much as lets the largest one
    /// in. One that needs more than half of the buffer is waited for only while no smaller one waits.
    ///
    /// Who is told of less than a quarter is woken for little. Who is told when half is free has half a buffer under way in each round
    /// trip: what is still here then is a little more than half, and is acknowledged a round trip after it was sent.
    fn room_bytes(self, limit: usize) -> usize {
        self.smallest.max(self.largest.min(limit / 2)).max(limit / 4)
    }
}

impl Sender {
    /// Returns whether the buffer may become larger than it is.
    #[inline]
    pub(crate) fn may_buffer_grow(&self) -> bool {
        self.buffer.limit < self.buffer.grown_bytes as usize
    }

    /// A path has this congestion window: as much may wait as keeps it filled, and the bookkeeping besides.
    #[cold]
    pub(crate) fn grow_buffer(&mut self, cwnd: usize) {
        let wanted = cwnd.saturating_mul(WINDOWS).min(self.buffer.grown_bytes as usize);
        self.buffer.limit = self.buffer.limit.max(wanted);
    }

    /// Queues a message for which there is room and nothing else to be said; otherwise it comes back, for
    /// [`send`](Self::send).
    #[inline]
    pub(crate) fn send_plain(&mut self, now: Instant, message: Message) -> Result<(), Message> {
        if self.is_sound(&message)
            && let Some(left) = self.buffer.free_bytes.checked_sub(message.payload.len() + MESSAGE_BYTES)
        {
            self.accept(now, message, left);
            return Ok(());
        }
        Err(message)
    }

    /// Returns whether a message can be sent at all, if there is room.
    #[inline(always)]
    fn is_sound(&self, message: &Message) -> bool {
        // Neither empty nor too long, with one comparison: each message is looked at here.
        let has_length = message.payload.len().wrapping_sub(1) < self.options.message_bytes;
        has_length && message.stream.get() < self.options.outbound_streams
    }

    /// Returns what is wrong with a message that is not [sound](Self::is_sound).
    #[cold]
    fn fault(&self, message: &Message) -> SendError {
        let (bytes, limit) = (message.payload.len(), self.options.message_bytes);
        if bytes == 0 {
            SendError::Empty
        } else if bytes > limit {
            SendError::TooLong { bytes, limit }
        } else {
            SendError::UnknownStream { stream: message.stream, negotiated: self.options.outbound_streams }
        }
    }

    /// Queues a message, or says why not. Gives what it displaced.
    pub(crate) fn send(&mut self, now: Instant, message: Message) -> Result<Vec<Failed>, SendError> {
        if !self.is_sound(&message) {
            return Err(self.fault(&message));
        }
        let wanted = message.payload.len() + MESSAGE_BYTES;
        let missing = self.look_for_room(wanted);
        let mut displaced = Vec::new();
        // A message that finds the buffer empty is always taken.
        if missing > 0 && self.buffer.payload_bytes > 0 {
            displaced = self.displace(now, missing, message.reliability);
            if displaced.is_empty() {
                self.buffer.refused = Some(Refused::with(self.buffer.refused, wanted));
                return Err(SendError::BufferFull(message));
            }
        }
        let left = self.buffer.free_bytes.saturating_sub(wanted);
        self.accept(now, message, left);
        Ok(displaced)
    }

    /// Queues a message that leaves so many octets of the buffer free.
    #[inline(always)]
    fn accept(&mut self, now: Instant, message: Message, free_bytes: usize) {
        self.buffer.payload_bytes += message.payload.len();
        self.buffer.free_bytes = free_bytes;
        self.options.gives_up |= message.reliability != Reliability::Reliable;
        self.queue.push(now, message);
    }

    /// Looks what is free: what the messages that are here will take once they are sent is not. Gives how much is missing
    /// for so many octets.
    fn look_for_room(&mut self, wanted: usize) -> usize {
        let taken = self.taken_bytes() + self.queue.waiting() * CHUNK_BYTES;
        self.buffer.free_bytes = self.buffer.limit.saturating_sub(taken);
        (taken + wanted).saturating_sub(self.buffer.limit)
    }

    fn held_bytes(&self) -> usize {
        self.buffer.payload_bytes + self.queue.held_bytes() + self.outstanding.held_bytes()
    }

    /// Returns the number of octets of that which the next messages do not find free.
    fn taken_bytes(&self) -> usize {
        self.held_bytes() - self.queue.idle_bytes() - self.outstanding.idle_bytes()
    }

    /// Takes note that payload was acknowledged; returns whether to tell the user that there is room again.
    #[inline]
    pub(super) fn release(&mut self, payload_bytes: usize) -> bool {
        self.buffer.release(payload_bytes);
        if self.queue.is_sparse() || self.outstanding.is_sparse() {
            self.give_back();
        }
        self.buffer_available()
    }

    #[cold]
    fn give_back(&mut self) {
        if self.queue.is_sparse() {
            let renamed = self.queue.compact();
            self.outstanding.rename(&renamed);
        }
        self.outstanding.trim();
    }

    /// Returns whether to tell the user that there is room again, or as little here as was waited for.
    pub(super) fn buffer_available(&mut self) -> bool {
        let has_room = self.buffer.refused.is_some_and(|refused| self.has_room_again(refused));
        let is_low = self.buffer.low_water_bytes.is_some_and(|mark| self.buffer.payload_bytes <= mark);
        self.buffer.refused = self.buffer.refused.filter(|_| !has_room);
        self.buffer.low_water_bytes = self.buffer.low_water_bytes.filter(|_| !is_low);
        has_room || is_low
    }

    /// Returns whether what was refused finds room now.
    #[inline(never)]
    fn has_room_again(&mut self, refused: Refused) -> bool {
        self.look_for_room(refused.room_bytes(self.buffer.limit)) == 0 || self.buffer.payload_bytes == 0
    }

    /// The user waits until no more payload than this is here, or than another such call said.
    pub(crate) fn await_low_water(&mut self, payload_bytes: usize) {
        self.buffer.low_water_bytes = self.buffer.low_water_bytes.max(Some(payload_bytes));
    }

    /// Returns the octets of payload that are here.
    pub(crate) fn buffered(&self) -> Buffered {
        if self.is_dry() {
            return Buffered::default();
        }
        let unsent_bytes = self.queue.payload_bytes();
        Buffered {
            unsent_bytes,
            unacknowledged_bytes: self.buffer.payload_bytes.saturating_sub(unsent_bytes),
        }
    }

    /// Returns the number of octets that the messages which are here take; none where there are none.
    pub(crate) fn buffered_bytes(&self) -> usize {
        if self.is_dry() { 0 } else { self.taken_bytes() }
    }

    /// Returns the number of octets of memory for the messages which are here, with places that others have
    /// left; none where there are none.
    pub(crate) fn memory_bytes(&self) -> usize {
        if self.is_dry() { 0 } else { self.held_bytes() }
    }

    /// Returns the number of octets of what is kept for each stream until the association ends.
    pub(crate) fn table_bytes(&self) -> usize {
        self.queue.table_bytes()
    }

    /// Returns the number of octets that the messages which are here come to, each with a fixed sum: what shows
    /// whether they become fewer.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.buffer.payload_bytes + self.queue.messages().len() * NOMINAL_MESSAGE_BYTES
    }
}

impl Buffers {
    /// Returns the [`send_bytes`](Self::send_bytes) with room for so many messages of so many octets each, from eight on
    /// give or take an eighth. Messages are to be short enough for a packet.
    #[must_use]
    pub const fn send_bytes_for(messages: usize, octets: usize) -> usize {
        let each = octets.saturating_add(MESSAGE_BYTES);
        // What holds a message takes less once it was sent, and grows by more than one place at a time.
        messages.saturating_mul(each).saturating_add(each / 2)
    }
}

/// Congestion windows that the send buffer has room for where it may grow: one on its way, one that waits, and what holds them.
const WINDOWS: usize = 3;

/// Octets that a message takes beside its payload, one chunk included.
const MESSAGE_BYTES: usize = WAITING_BYTES + CHUNK_BYTES;

/// Octets that are free once a message is displaced, beside its payload.
pub(super) const DISPLACED_BYTES: usize = PLACE_BYTES + DISPLACEABLE_BYTES + CHUNK_BYTES;

const _: () = assert!(PLACE_BYTES >= size_of::<Message>(), "what the limit on failures is computed from");

/// The octets that a message counts for beside its payload where all that matters is that it does.
const NOMINAL_MESSAGE_BYTES: usize = 64;
