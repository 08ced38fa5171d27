//! CRC32c over a packet whose checksum field counts as zero (RFC 9260 §6.8, appendix A).
//!
//! The value is stored least significant octet first, unlike every other number of SCTP.

use crc_fast::{CrcAlgorithm, Digest};

/// Octets of the common header.
pub(crate) const HEADER: usize = 12;

/// The common header that came last, as far as all packets of an association have it in common, and what it adds to
/// their checksums.
#[derive(Clone, Copy, Debug)]
pub struct KnownHeader {
    /// Ports and verification tag.
    octets: [u8; 8],
    /// The CRC register behind it and a checksum field of zeros.
    register: u64,
}

impl Default for KnownHeader {
    fn default() -> Self {
        Self::of([0; 8])
    }
}

impl KnownHeader {
    fn of(octets: [u8; 8]) -> Self {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&octets);
        Self { octets, register: u64::from(!of_zeroed(&header)) }
    }
}

/// Returns the CRC32c of a received packet, its checksum field taken as zero without touching it.
#[inline]
pub(crate) fn of_received(header: &[u8; HEADER], chunks: &[u8], last: &mut KnownHeader) -> u32 {
    let [s0, s1, d0, d1, t0, t1, t2, t3, ..] = *header;
    let octets = [s0, s1, d0, d1, t0, t1, t2, t3];
    if last.octets != octets {
        *last = KnownHeader::of(octets);
    }
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, last.register);
    digest.update(chunks);
    low_half(digest.finalize())
}

/// Returns the CRC32c of a packet whose checksum field is still zero.
pub(crate) fn of_zeroed(packet: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(packet)
}

/// Returns the lower half of a sum that the algorithm computed in 64 bits.
const fn low_half(wide: u64) -> u32 {
    let [b0, b1, b2, b3, ..] = wide.to_le_bytes();
    u32::from_le_bytes([b0, b1, b2, b3])
}

#[cfg(test)]
mod tests;
