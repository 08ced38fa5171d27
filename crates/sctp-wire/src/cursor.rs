//! The one place where octets are read: every access is bounds-checked, nothing is copied.

use crate::codepoints::ChunkType;
use crate::error::{DecodeError, Flaw, Layer};

/// Reads from the front of a slice and knows where it is in the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    offset: usize,
}

/// A chunk, parameter or cause whose length has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tlv<'a> {
    /// The two octets before the length: chunk type and flags, parameter type, or cause code.
    pub(crate) head: [u8; 2],
    /// Header and value, without padding.
    pub(crate) raw: &'a [u8],
    /// The value, without padding.
    pub(crate) value: &'a [u8],
    /// The octets of the list that follow the item, its padding first.
    pub(crate) behind: &'a [u8],
    /// The offset of its header in the packet.
    pub(crate) offset: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { rest: bytes, offset }
    }

    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let Some((array, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Flaw::TooShort { needed: N, available: self.rest.len() });
        };
        self.rest = rest;
        self.offset += N;
        Ok(*array)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Flaw> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Flaw> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads `count` groups of `N` octets.
    pub(crate) fn groups<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], Flaw> {
        let needed = count.saturating_mul(N);
        let Some((list, rest)) = self.rest.split_at_checked(needed) else {
            return Err(Flaw::TooShort { needed, available: self.rest.len() });
        };
        self.rest = rest;
        self.offset += needed;
        Ok(list.as_chunks().0)
    }

    /// Reads everything that is left, in groups of `N` octets.
    pub(crate) fn all_groups<const N: usize>(self) -> Result<&'a [[u8; N]], Flaw> {
        match self.rest.as_chunks() {
            (list, []) => Ok(list),
            (_, left) => Err(Flaw::TooLong { octets: left.len() }),
        }
    }

    /// Flags and value of the chunk at the front, if it is of this type and its length is sound.
    #[inline]
    pub(crate) fn front(&self, kind: ChunkType) -> Option<(u8, &'a [u8])> {
        let (&[found, flags, length0, length1], _) = self.rest.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([length0, length1]));
        let value = self.rest.get(HEADER..length)?;
        (found == kind.get()).then_some((flags, value))
    }

    /// Goes on behind the chunk at the front, which has this value.
    #[inline]
    pub(crate) fn pass(&mut self, value: &'a [u8]) {
        let padded = ((HEADER + value.len() + 3) & !3).min(self.rest.len());
        self.rest = &self.rest[padded..];
        self.offset += padded;
    }

    /// Returns the item of this list whose header begins at `offset` of the packet.
    pub(crate) fn tlv_at(&self, layer: Layer, offset: usize) -> Option<Tlv<'a>> {
        let onward = self.rest.get(offset.checked_sub(self.offset)?..)?;
        Self::new(onward, offset).tlv(layer)?.ok()
    }

    /// Checks that no octets are left.
    pub(crate) const fn finish(self) -> Result<(), Flaw> {
        match self.rest.len() {
            0 => Ok(()),
            octets => Err(Flaw::TooLong { octets }),
        }
    }

    /// Returns the next item of a list, its padding skipped; `None` at the end.
    ///
    /// The padding of the last item may be missing (RFC 9260 §3.2). After an error the list is at its end.
    #[inline]
    pub(crate) fn tlv(&mut self, layer: Layer) -> Option<Result<Tlv<'a>, DecodeError>> {
        let (bytes, offset) = (self.rest, self.offset);
        if bytes.is_empty() {
            return None;
        }
        self.rest = &[];
        let Some((&[head0, head1, length0, length1], _)) = bytes.split_first_chunk() else {
            return Some(Err(DecodeError::Header { layer, offset, available: bytes.len() }));
        };
        let head = [head0, head1];
        let length = u16::from_be_bytes([length0, length1]);
        let Some((raw, value)) = bytes.get(..usize::from(length)).and_then(|raw| Some((raw, raw.get(4..)?)))
        else {
            let (item, available) = (layer.item(head), bytes.len());
            return Some(Err(DecodeError::Length { item, offset, length, available }));
        };
        let padded = raw.len().next_multiple_of(4).min(bytes.len());
        self.rest = &bytes[padded..];
        self.offset = offset + padded;
        let behind = &bytes[raw.len()..];
        Some(Ok(Tlv { head, raw, value, behind, offset }))
    }
}

/// Octets of the header of a chunk, parameter or cause.
const HEADER: usize = 4;
