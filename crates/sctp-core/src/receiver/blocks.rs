//! The blocks of long messages that the user has dropped: the next long messages are put together in them.
//!
//! An allocator gives what is freed at the end of its heap back to the system, and the next message faults it in again, page
//! by page. A receiver that had to wait, and then frees at once what piled up meanwhile, spends a quarter of its time on that.
//! So a handle to the last messages that the user got is kept here. When it is the only one left, the block is free.
//!
//! A block is of use for messages that are about as long as it is: it never has more than an eighth of its message in free
//! places, so that what counts messages by their octets counts nearly what they take.

#![allow(clippy::disallowed_types, reason = "the associations of an endpoint share what none of them owns")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

/// The blocks that the associations of an endpoint share: no more than [`SPARE_BYTES`] of them.
///
/// The lock is there for the endpoint to be sent to other threads: whoever has the endpoint finds it open.
#[derive(Clone, Debug)]
pub(crate) struct SpareBlocks(Arc<Mutex<Stock>>);

impl SpareBlocks {
    /// Returns none, which become a sixteenth of the memory for what is received at most.
    pub(crate) fn within(receive_memory_bytes: usize) -> Self {
        let limit_bytes = (receive_memory_bytes / 16).min(SPARE_BYTES);
        Self(Arc::new(Mutex::new(Stock { lent: VecDeque::new(), bytes: 0, limit_bytes })))
    }

    /// Returns an empty block for a message of so many octets.
    pub(super) fn take(&self, bytes: usize) -> Vec<u8> {
        let spare = if bytes < LEAST_BYTES { None } else { self.take_spare(bytes) };
        spare.unwrap_or_else(|| Vec::with_capacity(bytes))
    }

    /// Returns a message as its user gets it: its block can be taken again when that is dropped.
    pub(super) fn hand_out(&self, message: Vec<u8>) -> Bytes {
        if message.len() < LEAST_BYTES || !fills(message.len(), message.capacity()) {
            // What was taken too much of goes back.
            return message.into_boxed_slice().into();
        }
        let message = Bytes::from(message);
        if let Ok(mut stock) = self.0.try_lock() {
            stock.note(&message);
        }
        message
    }

    fn take_spare(&self, bytes: usize) -> Option<Vec<u8>> {
        self.0.try_lock().ok()?.take(bytes)
    }
}

/// The messages that users got last, whether they still have them or not.
#[derive(Debug)]
struct Stock {
    lent: VecDeque<Bytes>,
    bytes: usize,
    limit_bytes: usize,
}

impl Stock {
    /// Takes out a block of the right size that no user has any more. Looks at the newest, which are the likeliest to be in a cache,
    /// and at the oldest, which are the likeliest to have been dropped.
    fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let count = self.lent.len();
        let newest = (count.saturating_sub(LOOKS)..count).rev();
        let is_free = |lent: &Bytes| fills(bytes, lent.len()) && lent.is_unique();
        let place = newest.chain(0..LOOKS.min(count)).find(|place| is_free(&self.lent[*place]))?;
        let block = self.lent.remove(place)?;
        self.bytes -= block.len();
        let mut block = block.try_into_mut().ok()?;
        block.clear();
        Some(block.into())
    }

    /// Keeps a handle to a message. The oldest ones go for it.
    fn note(&mut self, message: &Bytes) {
        if message.len() > self.limit_bytes {
            return;
        }
        self.bytes += message.len();
        while self.bytes > self.limit_bytes
            && let Some(oldest) = self.lent.pop_front()
        {
            self.bytes -= oldest.len();
        }
        self.lent.push_back(message.clone());
    }
}

/// Returns whether so many octets fill a block, but for an eighth of their number.
const fn fills(bytes: usize, block_bytes: usize) -> bool {
    bytes <= block_bytes && block_bytes <= bytes + bytes / 8
}

/// Octets of the messages whose blocks may be kept at most: sixteen of 64,000 octets, as many as a busy user has at a time.
const SPARE_BYTES: usize = 1 << 20;

/// How many of the newest, and of the oldest, are looked at for each message.
const LOOKS: usize = 4;

/// The size from which on blocks are kept, in octets: below it an allocator is as fast.
const LEAST_BYTES: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE_BYTES: usize = 64_000;

    fn blocks() -> SpareBlocks {
        SpareBlocks::within(usize::MAX)
    }

    /// A message in a block from here.
    fn message(blocks: &SpareBlocks, bytes: usize) -> Bytes {
        let mut block = blocks.take(bytes);
        block.resize(bytes, 7);
        blocks.hand_out(block)
    }

    /// The octets of the messages to which there are handles.
    fn noted_bytes(blocks: &SpareBlocks) -> usize {
        let stock = blocks.0.lock().unwrap();
        assert_eq!(stock.bytes, stock.lent.iter().map(Bytes::len).sum::<usize>());
        stock.bytes
    }

    #[test]
    fn the_next_message_is_where_the_last_one_was_once_all_its_parts_are_dropped() {
        let blocks = blocks();
        let first = message(&blocks, MESSAGE_BYTES);
        let (place, part) = (first.as_ptr(), first.slice(100..200));
        drop(first);
        let second = message(&blocks, MESSAGE_BYTES);
        assert_ne!(second.as_ptr(), place);
        drop(part);
        assert_eq!(message(&blocks, MESSAGE_BYTES).as_ptr(), place);
        assert_eq!((&second[..], noted_bytes(&blocks)), (&[7; MESSAGE_BYTES][..], 2 * MESSAGE_BYTES));
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes() {
        let blocks = blocks();
        let messages: Vec<Bytes> = (0..100).map(|_| message(&blocks, MESSAGE_BYTES)).collect();
        let last = messages[99].as_ptr();
        drop(messages);
        assert_eq!(noted_bytes(&blocks), SPARE_BYTES / MESSAGE_BYTES * MESSAGE_BYTES);
        assert_eq!(message(&blocks, MESSAGE_BYTES).as_ptr(), last);
        drop(message(&blocks, SPARE_BYTES + 1));
        assert_eq!(noted_bytes(&blocks), SPARE_BYTES / MESSAGE_BYTES * MESSAGE_BYTES);
        drop(message(&blocks, SPARE_BYTES));
        assert_eq!(noted_bytes(&blocks), SPARE_BYTES);
        let few = SpareBlocks::within(16 * MESSAGE_BYTES);
        drop([message(&few, MESSAGE_BYTES), message(&few, MESSAGE_BYTES)]);
        assert_eq!(noted_bytes(&few), MESSAGE_BYTES);
    }

    /// Its user has many more than are looked at, and drops the first.
    #[test]
    fn block_dropped_first_is_found_behind_many_that_are_not() {
        let blocks = blocks();
        let mut messages: Vec<Bytes> = (0..8 * LOOKS).map(|_| message(&blocks, LEAST_BYTES)).collect();
        let place = messages.remove(0).as_ptr();
        assert_eq!(message(&blocks, LEAST_BYTES).as_ptr(), place);
    }

    #[test]
    fn messages_get_blocks_of_about_their_length_and_leave_none_that_they_do_not_fill() {
        let blocks = blocks();
        let place = message(&blocks, MESSAGE_BYTES).as_ptr();
        let less = MESSAGE_BYTES - MESSAGE_BYTES / 10;
        for other in [MESSAGE_BYTES / 2, MESSAGE_BYTES + 1, LEAST_BYTES - 1] {
            assert_ne!(message(&blocks, other).as_ptr(), place);
        }
        assert_eq!(noted_bytes(&blocks), MESSAGE_BYTES / 2 + 2 * MESSAGE_BYTES + 1);
        let mut short = Vec::with_capacity(MESSAGE_BYTES);
        short.resize(LEAST_BYTES, 7);
        drop(blocks.hand_out(short));
        assert_eq!(noted_bytes(&blocks), MESSAGE_BYTES / 2 + 2 * MESSAGE_BYTES + 1);
        let reused = message(&blocks, less);
        assert_eq!((reused.len(), noted_bytes(&blocks)), (less, MESSAGE_BYTES / 2 + MESSAGE_BYTES + less));
    }
}
