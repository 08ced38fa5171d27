//! Where the payload of long messages is copied to that arrive whole and in turn: those that arrive together share a
//! block. Allocators are quick with what is short and slow with what is as long as a packet.
//!
//! A block is as large as what the application lately had to read at once, so that a message that comes alone has a place of
//! its own, and nothing is kept while nothing comes. A message keeps its block. One that has to wait for others is therefore
//! not put into one: it would outlast its neighbours, and more would be held in memory than is counted.

use bytes::{Bytes, BytesMut};

/// The block that is being filled.
#[derive(Debug, Default)]
pub(super) struct Arena {
    block: BytesMut,
    /// Octets since the application had read everything, and as many as there were before that.
    round_bytes: usize,
    expected_bytes: usize,
}

impl Arena {
    /// A copy of this payload.
    #[inline]
    pub(super) fn copy(&mut self, payload: &[u8]) -> Bytes {
        if payload.len() < SHORT_BYTES {
            return Bytes::copy_from_slice(payload);
        }
        let room = self.block.capacity() - self.block.len();
        if payload.len() > room && !self.begin_block(payload.len()) {
            self.round_bytes += payload.len();
            return Bytes::copy_from_slice(payload);
        }
        self.round_bytes += payload.len();
        self.block.extend_from_slice(payload);
        self.block.split().freeze()
    }

    /// The application has read everything.
    #[inline]
    pub(super) fn end_round(&mut self) {
        self.expected_bytes = core::mem::take(&mut self.round_bytes);
        if self.block.capacity() > 0 {
            self.block = BytesMut::new();
        }
    }

    /// A block for a payload and those that are likely to follow; false if it had better be alone.
    fn begin_block(&mut self, payload_bytes: usize) -> bool {
        let likely = self.expected_bytes.saturating_sub(self.round_bytes).max(self.round_bytes);
        let block_bytes = likely.min(BLOCK_BYTES);
        if block_bytes < 2 * payload_bytes {
            return false;
        }
        self.block = BytesMut::with_capacity(block_bytes);
        true
    }
}

/// Payloads below this have a place of their own in any case.
const SHORT_BYTES: usize = 1000;

/// Octets of a block at most: what a message that the application keeps may keep with it.
const BLOCK_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these copies stand right behind the one before.
    fn neighbours(copies: &[Bytes]) -> usize {
        copies.windows(2).filter(|pair| pair[0].as_ptr_range().end == pair[1].as_ptr()).count()
    }

    #[test]
    fn payloads_that_come_together_stand_together_and_one_alone_is_alone() {
        let mut arena = Arena::default();
        for _ in 0..3 {
            assert_eq!(arena.copy(&[7; 1000]), &[7; 1000][..]);
            arena.end_round();
            assert_eq!(arena.block.capacity(), 0);
        }
        let first: Vec<Bytes> = (0..10).map(|number| arena.copy(&[number; 1000])).collect();
        arena.end_round();
        let second: Vec<Bytes> = (0..10).map(|number| arena.copy(&[number; 1000])).collect();
        assert!(first.iter().zip(0..).all(|(copy, number)| *copy == [number; 1000][..]));
        assert_eq!((first, neighbours(&second)), (second.clone(), 9));
        assert_eq!(arena.block.capacity(), 0);
    }

    #[test]
    fn what_is_short_or_very_long_is_alone_and_blocks_are_bounded() {
        let mut arena = Arena::default();
        (0..100).for_each(|_| drop(arena.copy(&[7; 10_000])));
        (0..100).for_each(|_| drop(arena.copy(&[7; SHORT_BYTES - 1])));
        assert_eq!(arena.block.capacity(), 0);
        (0..3).for_each(|_| drop(arena.copy(&[7; SHORT_BYTES])));
        assert_eq!(arena.block.capacity(), BLOCK_BYTES - 3 * SHORT_BYTES);
    }
}
