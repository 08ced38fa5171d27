//! SACK: what has arrived, what is missing, what came twice (RFC 9260 §3.3.4).

use core::fmt;

use crate::cursor::Cursor;
use crate::error::Flaw;
use crate::numbers::Tsn;

/// A SACK chunk: the TSNs that have arrived, and the room in the receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sack<'a> {
    /// Everything up to this TSN has arrived.
    pub cumulative_tsn_ack: Tsn,
    /// Octets of receive buffer its sender has left.
    pub a_rwnd: u32,
    gaps: &'a [[u8; 4]],
    duplicates: &'a [[u8; 4]],
}

impl<'a> Sack<'a> {
    /// Octets of a SACK without gap ack blocks and duplicates, chunk header included.
    pub const HEADER_BYTES: usize = 16;

    /// Creates a SACK without gap ack blocks and duplicates: what the cumulative ack of a SHUTDOWN amounts to.
    #[must_use]
    pub const fn cumulative(cumulative_tsn_ack: Tsn, a_rwnd: u32) -> Self {
        Self { cumulative_tsn_ack, a_rwnd, gaps: &[], duplicates: &[] }
    }

    pub(super) fn decode(mut cursor: Cursor<'a>) -> Result<Self, Flaw> {
        let cumulative_tsn_ack = Tsn::new(cursor.u32()?);
        let a_rwnd = cursor.u32()?;
        let gap_count = usize::from(cursor.u16()?);
        let duplicate_count = usize::from(cursor.u16()?);
        let gaps = cursor.groups(gap_count)?;
        let duplicates = cursor.groups(duplicate_count)?;
        cursor.finish()?;
        Ok(Self { cumulative_tsn_ack, a_rwnd, gaps, duplicates })
    }

    /// Reads the value of a SACK that has neither gap ack blocks nor duplicates.
    #[inline]
    pub(crate) fn read_cumulative(value: &[u8]) -> Option<Sack<'static>> {
        let &[t0, t1, t2, t3, w0, w1, w2, w3, 0, 0, 0, 0] = value else { return None };
        let cumulative_tsn_ack = Tsn::new(u32::from_be_bytes([t0, t1, t2, t3]));
        Some(Sack::cumulative(cumulative_tsn_ack, u32::from_be_bytes([w0, w1, w2, w3])))
    }

    /// Returns the blocks as sent: neither sorted nor checked for sense.
    pub fn gap_ack_blocks(&self) -> impl ExactSizeIterator<Item = GapAckBlock> + Clone + use<'a> {
        self.gaps.iter().map(|&[s0, s1, e0, e1]| GapAckBlock {
            start: u16::from_be_bytes([s0, s1]),
            end: u16::from_be_bytes([e0, e1]),
        })
    }

    /// Returns how many gap ack blocks there are.
    #[must_use]
    pub const fn gap_ack_block_count(&self) -> usize {
        self.gaps.len()
    }

    /// Returns whether it reports more than what has arrived in order: gap ack blocks, or duplicates.
    #[must_use]
    pub const fn has_reports(&self) -> bool {
        self.gaps.len() + self.duplicates.len() > 0
    }

    /// Returns the TSNs that arrived more than once since the last SACK.
    pub fn duplicate_tsns(&self) -> impl ExactSizeIterator<Item = Tsn> + Clone + use<'a> {
        self.duplicates.iter().map(|&octets| Tsn::new(u32::from_be_bytes(octets)))
    }
}

/// A run of TSNs that have arrived, as offsets from the cumulative TSN ack, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GapAckBlock {
    /// Offset of the first TSN of the run; 2 or more in a sound SACK.
    pub start: u16,
    /// The offset of the last TSN of the block.
    pub end: u16,
}

impl fmt::Display for GapAckBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}
