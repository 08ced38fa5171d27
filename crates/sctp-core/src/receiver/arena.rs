//! The copies of messages that arrive whole and in turn: those that arrive together share a block. Allocators
//! are slow beside the copy itself.
//!
//! *Short* ones share it with the others of their packet: all of it is copied at once. What a message keeps is never more
//! than a packet.
//!
//! *Long* ones, as long as a packet, share a block as large as what the application lately had to read at once, so that a
//! message that comes alone has a place of its own, and nothing is kept while nothing comes.
//!
//! A message keeps its block. One that has to wait for others is therefore not put into one: it would outlast its
//! neighbours, and more would be held in memory than is counted.

use bytes::{Bytes, BytesMut};

use crate::allocation::allocated_bytes;

/// A rest of a packet, in which messages stand.
#[derive(Debug)]
pub(super) struct PacketCopy<'a> {
    octets: &'a [u8],
    /// Octets of the longest payload that shares the copy.
    longest: usize,
    /// Made when the first of them is kept.
    copy: Option<Bytes>,
}

impl<'a> PacketCopy<'a> {
    #[inline]
    pub(super) fn of(octets: &'a [u8]) -> Self {
        let longest = if octets.len() > BLOCK_BYTES { 0 } else { octets.len() / SHARED_BY };
        Self { octets, longest: longest.min(SHORT_BYTES - 1), copy: None }
    }

    /// Returns the number of octets of the copy that messages share; zero if there is none.
    #[inline]
    pub(super) fn copied_bytes(&self) -> usize {
        self.copy.as_ref().map_or(0, Bytes::len)
    }

    /// Returns the part of the copy that is this payload; `None` if there is no copy, or the payload had better not share it.
    #[inline(always)]
    fn share(&self, payload: &[u8]) -> Option<Bytes> {
        let copy = self.copy.as_ref().filter(|_| payload.len() <= self.longest)?;
        let start = payload.as_ptr().addr().checked_sub(self.octets.as_ptr().addr())?;
        let end = start + payload.len();
        (end <= copy.len()).then(|| copy.slice(start..end))
    }
}

/// The block that is being filled.
#[derive(Debug, Default)]
pub(super) struct Arena {
    block: BytesMut,
    /// Octets since the application had read everything, and as many as there were before that.
    round_bytes: usize,
    expected_bytes: usize,
    /// Octets that the copies took since somebody asked.
    taken_bytes: usize,
}

impl Arena {
    /// Returns a copy of this payload.
    #[inline(always)]
    pub(super) fn copy(&mut self, payload: &[u8], packet: &mut PacketCopy<'_>) -> Bytes {
        packet.share(payload).unwrap_or_else(|| self.copy_anew(payload, packet))
    }

    /// Returns a copy of a payload for which there is none in a copy of its packet.
    #[inline(never)]
    fn copy_anew(&mut self, payload: &[u8], packet: &mut PacketCopy<'_>) -> Bytes {
        if payload.len() <= packet.longest {
            self.copy_packet(payload, packet)
        } else if payload.len() < SHORT_BYTES {
            self.copy_alone(payload)
        } else {
            self.copy_long(payload)
        }
    }

    /// Returns a copy of the first payload of a packet that shares a copy of it with others.
    #[inline(never)]
    fn copy_packet(&mut self, payload: &[u8], packet: &mut PacketCopy<'_>) -> Bytes {
        if packet.copy.is_none() {
            self.taken_bytes += allocated_bytes(packet.octets.len()) + SHARED_BYTES;
            packet.copy = Some(Bytes::copy_from_slice(packet.octets));
        }
        packet.share(payload).unwrap_or_else(|| self.copy_alone(payload))
    }

    /// Returns a copy in a piece of its own.
    #[inline]
    pub(super) fn copy_alone(&mut self, payload: &[u8]) -> Bytes {
        self.taken_bytes += allocated_bytes(payload.len());
        Bytes::copy_from_slice(payload)
    }

    /// Returns the octets that the copies made since the last call take.
    #[inline]
    pub(super) fn taken_bytes(&mut self) -> usize {
        core::mem::take(&mut self.taken_bytes)
    }

    fn copy_long(&mut self, payload: &[u8]) -> Bytes {
        self.taken_bytes += payload.len();
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

    /// Returns a block for a payload and those that are likely to follow; false if it had better be alone.
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

/// Payloads below this share a block with no other packet.
const SHORT_BYTES: usize = 1000;

/// The least number of messages that share the copy of a packet.
pub(super) const SHARED_BY: usize = 4;

/// Octets of what counts who shares a copy.
const SHARED_BYTES: usize = allocated_bytes(3 * size_of::<usize>());

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
            assert_eq!(arena.copy(&[7; 1000], &mut PacketCopy::of(&[])), &[7; 1000][..]);
            arena.end_round();
            assert_eq!(arena.block.capacity(), 0);
        }
        let first: Vec<Bytes> =
            (0..10).map(|number| arena.copy(&[number; 1000], &mut PacketCopy::of(&[]))).collect();
        arena.end_round();
        let second: Vec<Bytes> =
            (0..10).map(|number| arena.copy(&[number; 1000], &mut PacketCopy::of(&[]))).collect();
        assert!(first.iter().zip(0..).all(|(copy, number)| *copy == [number; 1000][..]));
        assert_eq!((first, neighbours(&second)), (second.clone(), 9));
        assert_eq!(arena.block.capacity(), 0);
    }

    #[test]
    fn short_payloads_share_a_copy_of_their_packet_and_nothing_else_does() {
        let mut arena = Arena::default();
        let packet: Vec<u8> = (0..=200).collect();
        let mut copy = PacketCopy::of(&packet[..160]);
        let payloads = [&packet[16..56], &packet[72..112], &packet[60..101], &packet[130..170], b"elsewhere"];
        let copies = payloads.map(|payload| arena.copy(payload, &mut copy));
        assert_eq!(copies.each_ref().map(|copy| &copy[..]), payloads);
        let places: Vec<usize> = copies.iter().map(|copy| copy.as_ptr().addr()).collect();
        assert_eq!(places[1] - places[0], 56);
        let block = copy.copy.unwrap().as_ptr_range();
        let is_shared = copies.each_ref().map(|copy| block.contains(&copy.as_ptr()));
        assert_eq!(is_shared, [true, true, false, false, false]);
    }

    #[test]
    fn what_is_short_or_very_long_is_alone_and_blocks_are_bounded() {
        let mut arena = Arena::default();
        (0..100).for_each(|_| drop(arena.copy(&[7; 10_000], &mut PacketCopy::of(&[]))));
        (0..100).for_each(|_| drop(arena.copy(&[7; SHORT_BYTES - 1], &mut PacketCopy::of(&[]))));
        assert_eq!(arena.block.capacity(), 0);
        (0..3).for_each(|_| drop(arena.copy(&[7; SHORT_BYTES], &mut PacketCopy::of(&[]))));
        assert_eq!(arena.block.capacity(), BLOCK_BYTES - 3 * SHORT_BYTES);
    }
}
