//! How much the peer may send: the receive window, and the memory behind it (RFC 9260 §6.2).
//!
//! Three budgets, because a peer counts payload only and memory does not:
//!
//! * **window**: payload octets, `buffer_bytes` in all, promised to the peer as a_rwnd;
//! * **memory**: payload and what holds it, at most [`CHUNK_OVERHEAD_BYTES`] for each chunk,
//!   [`MEMORY_FACTOR`] × `buffer_bytes` in all. With chunks of at least 128 octets on average the window is always the
//!   tighter of the two; a peer that sends smaller ones may meet the memory limit, and a_rwnd tells it.
//!
//! * **allowance**: of memory, what the endpoint leaves this association beside all others.
//!
//! What an a_rwnd promised is kept: it shrinks by what arrives (overhead included where memory is the tighter
//! budget) and by nothing else, unless other associations use up what the endpoint has for all of them.

/// The buffer of one association, as numbers.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    buffer_bytes: usize,
    /// What the buffer grows to at most, where it grows.
    grown_bytes: u32,
    /// Octets read since it grew last.
    read_bytes: u32,
    message_bytes: usize,
    /// The octets that the peer believes to be left: the last a_rwnd less what has arrived since.
    promised: usize,
    payload_bytes: usize,
    /// The octets in what holds the payload.
    overhead_bytes: usize,
    /// Memory the endpoint grants; all of it while there is no endpoint to ask.
    allowance_bytes: usize,
}

impl ReceiveWindow {
    /// Creates an empty buffer whose size the peer learns from INIT or INIT ACK.
    pub(super) fn new(buffer_bytes: usize, grown_bytes: u32, message_bytes: usize) -> Self {
        Self {
            buffer_bytes,
            grown_bytes,
            read_bytes: 0,
            message_bytes,
            promised: buffer_bytes,
            payload_bytes: 0,
            overhead_bytes: 0,
            allowance_bytes: usize::MAX,
        }
    }

    /// Returns the number of octets beyond the window that the chunk everything waits for may take.
    pub(super) fn overdraft_bytes(&self) -> usize {
        self.message_bytes
    }

    /// The endpoint grants this much memory.
    pub(super) fn grant(&mut self, bytes: usize) {
        self.allowance_bytes = bytes;
    }

    /// Returns whether a chunk with this much payload may be kept.
    pub(super) fn admits(&self, payload_bytes: usize, credit: Credit) -> bool {
        self.fits_here(payload_bytes, credit) && self.with_chunk(payload_bytes) <= self.allowance_bytes
    }

    /// Returns whether a chunk that everything waits for could be kept if the endpoint had memory for it.
    pub(super) fn could_admit(&self, payload_bytes: usize) -> bool {
        self.fits_here(payload_bytes, Credit::Overdraft)
    }

    /// Takes note that so much payload is kept.
    pub(super) fn hold(&mut self, payload_bytes: usize) {
        self.payload_bytes += payload_bytes;
        self.promised = self.promised.saturating_sub(payload_bytes);
    }

    /// Returns what may be kept within what the peer was promised.
    pub(super) fn room(&self) -> WindowRoom {
        let memory = self.buffer_bytes.saturating_mul(MEMORY_FACTOR).min(self.allowance_bytes);
        WindowRoom {
            payload_bytes: self.buffer_bytes.saturating_sub(self.payload_bytes),
            memory_bytes: memory.saturating_sub(self.memory_bytes()),
        }
    }

    /// Takes note that so much payload is not kept any more.
    pub(super) fn release(&mut self, payload_bytes: usize) {
        self.payload_bytes -= payload_bytes;
        if self.buffer_bytes < self.grown_bytes as usize {
            self.on_read(payload_bytes);
        }
    }

    /// Doubles the buffer when all that it holds was read once more and less than half of it is unread: whoever has read so much reads
    /// as much again, and a path that is not longer leaves it unused.
    #[cold]
    fn on_read(&mut self, payload_bytes: usize) {
        self.read_bytes = self.read_bytes.saturating_add(saturated(payload_bytes));
        if self.read_bytes as usize >= self.buffer_bytes && self.payload_bytes < self.buffer_bytes / 2 {
            self.buffer_bytes = self.buffer_bytes.saturating_mul(2).min(self.grown_bytes as usize);
            self.read_bytes = 0;
        }
    }

    /// Sets the octets that hold the payload.
    #[inline]
    pub(super) fn set_overhead(&mut self, bytes: usize) {
        self.overhead_bytes = bytes;
    }

    /// Adds to the octets that hold the payload.
    #[inline]
    pub(super) fn add_overhead(&mut self, bytes: usize) {
        self.overhead_bytes += bytes;
    }

    /// Takes from the octets that hold the payload.
    #[inline]
    pub(super) fn drop_overhead(&mut self, bytes: usize) {
        self.overhead_bytes = self.overhead_bytes.saturating_sub(bytes);
    }

    #[inline]
    pub(super) fn overhead_bytes(&self) -> usize {
        self.overhead_bytes
    }

    /// Returns what a SACK says now.
    ///
    /// A window that is nearly closed is not opened by small steps, or the peer would fill it with small
    /// chunks for ever (silly window syndrome, RFC 9293 §3.8.6.2.2).
    pub(super) fn a_rwnd(&self) -> u32 {
        let free = self.free();
        let is_silly = free < self.small_bytes();
        let offer = if is_silly { free.min(self.promised) } else { free };
        saturated(offer)
    }

    /// A SACK has told the peer [`a_rwnd`](Self::a_rwnd), as it was then.
    pub(super) fn note_advertised(&mut self, a_rwnd: u32) {
        self.promised = usize::try_from(a_rwnd).unwrap_or(usize::MAX);
    }

    /// Returns whether the peer should hear of a window that opened without waiting for more data: it grew by
    /// at least a quarter of the buffer beyond what the peer believes (RFC 9260 §6.2).
    #[inline]
    pub(super) fn is_update_due(&self) -> bool {
        let step = (self.buffer_bytes / 4).max(1);
        // No window is larger than the buffer: mostly that is all there is to look at.
        self.promised.saturating_add(step) <= self.buffer_bytes && self.growth() >= step
    }

    /// Returns what the peer does not know of.
    fn growth(&self) -> usize {
        usize::try_from(self.a_rwnd()).unwrap_or(usize::MAX).saturating_sub(self.promised)
    }

    /// Returns whether the peer believes the window to be nearly closed, and it is not.
    #[inline]
    pub(super) fn has_reopened(&self) -> bool {
        self.promised < self.small_bytes() && self.free() >= self.small_bytes()
    }

    /// Returns the number of octets in use, overhead included.
    pub(super) fn memory_bytes(&self) -> usize {
        self.payload_bytes + self.overhead_bytes
    }

    fn fits_here(&self, payload_bytes: usize, credit: Credit) -> bool {
        let limit = match credit {
            Credit::Window => self.buffer_bytes,
            Credit::Overdraft => self.buffer_bytes.saturating_add(self.message_bytes),
        };
        self.payload_bytes + payload_bytes <= limit
            && self.with_chunk(payload_bytes) <= limit.saturating_mul(MEMORY_FACTOR)
    }

    /// Returns the number of octets in use with one more chunk.
    fn with_chunk(&self, payload_bytes: usize) -> usize {
        self.memory_bytes() + payload_bytes + CHUNK_OVERHEAD_BYTES
    }

    fn free(&self) -> usize {
        let window = self.buffer_bytes.saturating_sub(self.payload_bytes);
        // What is promised must fit in one chunk at least.
        let memory = self.buffer_bytes.saturating_mul(MEMORY_FACTOR).min(self.allowance_bytes);
        window.min(memory.saturating_sub(self.with_chunk(0)))
    }

    /// Returns the size below which a window counts as nearly closed.
    fn small_bytes(&self) -> usize {
        SMALL_WINDOW_BYTES.min(self.buffer_bytes / 4)
    }
}

/// Room for chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowRoom {
    payload_bytes: usize,
    memory_bytes: usize,
}

impl WindowRoom {
    /// Takes the room of a chunk with this much payload, if there is.
    #[inline(always)]
    pub(super) fn take(&mut self, payload_bytes: usize) -> bool {
        let memory_bytes = payload_bytes + CHUNK_OVERHEAD_BYTES;
        let fits = payload_bytes <= self.payload_bytes && memory_bytes <= self.memory_bytes;
        if fits {
            self.payload_bytes -= payload_bytes;
            self.memory_bytes -= memory_bytes;
        }
        fits
    }
}

/// Returns a number of octets as windows are told on the wire.
fn saturated(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The account on which a chunk is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Credit {
    /// The chunk is within what the peer was promised.
    Window,
    /// The chunk is beyond it, by at most one longest message: only the chunk everything else waits for.
    Overdraft,
}

/// The octets that one more chunk may take besides its payload at most: a run of its own with its place in a
/// map.
pub(super) const CHUNK_OVERHEAD_BYTES: usize = 256;

/// Memory limit over window: 128 octets of payload bring 256 of overhead.
pub(super) const MEMORY_FACTOR: usize = 3;

/// The size of a small window in octets: about one packet.
const SMALL_WINDOW_BYTES: usize = 1_500;

#[cfg(test)]
mod tests;
