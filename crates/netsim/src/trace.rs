//! The trace hash: one number that two runs share if and only if (but for chance) the same packets met the same
//! fate at the same times.
//!
//! It is no secret and no signature, so multiply-and-fold (the step of wyhash: a 64 × 64 bit product, its halves
//! combined by exclusive or) is enough. It is written out here because recorded hashes must hold on every
//! platform and in every version.

use virtual_time::Instant;

use crate::id::LaneId;

/// The running hash over everything that happened to packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TraceHash {
    value: u64,
    /// The octets of packets are left out.
    is_blind: bool,
}

impl TraceHash {
    pub(crate) fn new(seed: u64) -> Self {
        Self { value: fold(seed ^ KEYS[0], KEYS[1]), is_blind: false }
    }

    /// Takes in one packet's fate. `lane` is `None` for a packet that found no link.
    pub(crate) fn record(
        &mut self,
        at: Instant,
        lane: Option<LaneId>,
        fate: Fate,
        wire_bytes: usize,
        digest: u64,
    ) {
        let place = lane.map_or(u64::MAX, |lane| word(lane.0));
        let what = (word(wire_bytes) << 8) | fate.code();
        let digest = if self.is_blind { 0 } else { digest };
        self.value = fold(self.value ^ at.as_nanos(), KEYS[1] ^ place);
        self.value = fold(self.value ^ what, KEYS[2] ^ digest);
    }

    /// Leaves the octets of packets out from now on.
    pub(crate) const fn leave_out_octets(&mut self) {
        self.is_blind = true;
    }

    pub(crate) const fn value(self) -> u64 {
        self.value
    }
}

/// The fate of a packet, as a trace records it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Delivered,
    Listed,
    Lost,
    QueueFull,
    LinkDown,
    BadChecksum,
    NotForHost,
    Unroutable,
    TooLong,
    Forwarded,
    HopLimit,
}

impl Fate {
    /// Returns the number that stands for the fate in a hash. Never renumber: recorded hashes contain it.
    const fn code(self) -> u64 {
        match self {
            Self::Delivered => 1,
            Self::Listed => 2,
            Self::Lost => 3,
            Self::QueueFull => 4,
            Self::LinkDown => 5,
            Self::BadChecksum => 6,
            Self::NotForHost => 7,
            Self::Unroutable => 8,
            Self::TooLong => 9,
            Self::Forwarded => 10,
            Self::HopLimit => 11,
        }
    }
}

/// Returns a 64-bit digest of `bytes`.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut hash = word(bytes.len()) ^ KEYS[0];
    let (blocks, rest) = bytes.as_chunks::<32>();
    if !blocks.is_empty() {
        hash = blocks
            .iter()
            .fold(KEYS, fold_block)
            .into_iter()
            .fold(hash, |hash, lane| fold(hash ^ lane, KEYS[1]));
    }
    let (words, tail) = rest.as_chunks::<8>();
    for octets in words {
        hash = fold(hash ^ u64::from_le_bytes(*octets), KEYS[2]);
    }
    fold(hash ^ little_endian(tail), KEYS[3])
}

/// Returns fewer than eight octets as a number, the first octet being the lowest. Packets are multiples of four octets, so what is
/// left over mostly is four, which are read at once.
fn little_endian(octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks::<4>();
    let above = rest.iter().rev().fold(0, |number, octet| (number << 8) | u64::from(*octet));
    words.iter().rev().fold(above, |number, word| (number << 32) | u64::from(u32::from_le_bytes(*word)))
}

/// Folds a block into four independent lanes, which keep the multiplier busy.
fn fold_block(lanes: [u64; 4], block: &[u8; 32]) -> [u64; 4] {
    let (words, _) = block.as_chunks::<8>();
    let mut next = lanes;
    for ((lane, octets), key) in next.iter_mut().zip(words).zip(KEYS) {
        *lane = fold(*lane ^ u64::from_le_bytes(*octets), key);
    }
    next
}

fn fold(a: u64, b: u64) -> u64 {
    let (low, high) = a.carrying_mul(b, 0);
    low ^ high
}

/// Returns a length or index as 64 bits; no platform has more of them.
fn word(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Nothing up the sleeve: the fractional digits of the square roots of 2 (made odd), 3, 5 and 7.
const KEYS: [u64; 4] =
    [0x6A09_E667_F3BC_C909, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_and_the_length_count() {
        for length in [0, 1, 7, 8, 9, 31, 32, 33, 64, 100] {
            let zeros = vec![0; length];
            let whole = digest(&zeros);
            assert_ne!(whole, digest(&[zeros.as_slice(), &[0]].concat()), "{length}");
            for position in 0..length {
                let mut changed = zeros.clone();
                changed[position] = 1;
                assert_ne!(whole, digest(&changed), "{length} {position}");
            }
        }
    }

    #[test]
    fn every_part_of_a_record_counts() {
        let hash = |at, lane, fate, wire_bytes, digest| {
            let mut trace = TraceHash::new(1);
            trace.record(Instant::from_nanos(at), lane, fate, wire_bytes, digest);
            trace.value()
        };
        let base = hash(1, Some(LaneId(1)), Fate::Delivered, 60, 7);
        for other in [
            hash(2, Some(LaneId(1)), Fate::Delivered, 60, 7),
            hash(1, Some(LaneId(2)), Fate::Delivered, 60, 7),
            hash(1, None, Fate::Delivered, 60, 7),
            hash(1, Some(LaneId(1)), Fate::Lost, 60, 7),
            hash(1, Some(LaneId(1)), Fate::Delivered, 61, 7),
            hash(1, Some(LaneId(1)), Fate::Delivered, 60, 8),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn digests_stay_what_they_were_when_results_were_recorded() {
        let octets: Vec<u8> = (0..=99).collect();
        assert_eq!(digest(&octets), RECORDED);
    }

    #[test]
    fn what_is_left_over_is_a_number_whose_first_octet_is_the_lowest() {
        let octets = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
        for length in 0..=octets.len() {
            let mut wide = [0; 8];
            wide[..length].copy_from_slice(&octets[..length]);
            assert_eq!(little_endian(&octets[..length]), u64::from_le_bytes(wide), "{length}");
        }
    }

    /// Computed from the description above by a few lines of another language.
    const RECORDED: u64 = 6_841_006_463_730_044_786;
}
