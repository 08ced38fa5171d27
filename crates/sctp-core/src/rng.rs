//! Unpredictable numbers from one seed: tags, TSNs, nonces, jitter.
//!
//! BLAKE2b (RFC 7693) over a key and a counter, which is one block of it and gives 64 octets: the key is secret and of
//! fixed length, so that the blocks tell nothing of each other. The driver supplies the first key: the operating system's
//! entropy in production, a number derived from the run's seed in a simulation. Nothing here asks the system.

use core::time::Duration;

use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use blake2::{Blake2b512, Blake2bMac, Digest};
use sctp_wire::{Tsn, VerificationTag};

/// A keyed stream of unpredictable numbers, for an endpoint.
#[derive(Clone)]
pub(crate) struct Rng {
    key: [u8; 32],
    counter: u64,
    block: [u8; BLOCK_BYTES],
    used: usize,
    /// The value of every initial TSN, for tests.
    initial_tsn: Option<Tsn>,
}

/// Never shows the key.
impl core::fmt::Debug for Rng {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Rng")
    }
}

impl Rng {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        let (block, used) = ([0; BLOCK_BYTES], BLOCK_BYTES);
        Self { key: *seed, counter: 0, block, used, initial_tsn: None }
    }

    /// Creates an independent stream, for a component of its own.
    pub(crate) fn split(&mut self) -> Self {
        Self::new(&self.octets())
    }

    /// Creates a stream beside this one, which draws what it would have drawn without it.
    pub(crate) fn beside(&self) -> Self {
        Self::new(&split_first(block(&self.key, BESIDE)))
    }

    /// Creates the source of random numbers of an association.
    pub(crate) fn nonces(&mut self) -> Nonces {
        Nonces { key: self.octets(), first: self.u64(), drawn: 0 }
    }

    /// Draws the next octets of the stream.
    pub(crate) fn octets<const N: usize>(&mut self) -> [u8; N] {
        let mut octets = [0; N];
        let mut open = &mut octets[..];
        while !open.is_empty() {
            if self.used == BLOCK_BYTES {
                self.refill();
            }
            let count = open.len().min(BLOCK_BYTES - self.used);
            let (now, later) = open.split_at_mut(count);
            now.copy_from_slice(&self.block[self.used..self.used + count]);
            self.used += count;
            open = later;
        }
        octets
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.octets())
    }

    /// Draws a verification tag: any value but zero (RFC 9260 §5.3.1).
    pub(crate) fn verification_tag(&mut self) -> VerificationTag {
        loop {
            let tag = u32::from_be_bytes(self.octets());
            if tag != 0 {
                return VerificationTag::new(tag);
            }
        }
    }

    /// Draws the TSN to begin with, unless it was [set](Self::set_initial_tsn).
    pub(crate) fn tsn(&mut self) -> Tsn {
        let drawn = Tsn::new(u32::from_be_bytes(self.octets()));
        self.initial_tsn.unwrap_or(drawn)
    }

    /// Lets every association begin at this TSN from now on.
    pub(crate) fn set_initial_tsn(&mut self, tsn: Tsn) {
        self.initial_tsn = Some(tsn);
    }

    fn refill(&mut self) {
        self.block = block(&self.key, self.counter);
        self.counter += 1;
        self.used = 0;
    }
}

/// The unpredictable numbers of an association. It needs few and there are many of it: no block is kept, only what makes
/// the next one. The first number came with the key.
pub(crate) struct Nonces {
    key: [u8; 16],
    first: u64,
    drawn: u32,
}

/// Never shows the key.
impl core::fmt::Debug for Nonces {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Nonces")
    }
}

impl Nonces {
    #[cfg(any(test, fuzzing))]
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Rng::new(seed).nonces()
    }

    pub(crate) fn u64(&mut self) -> u64 {
        let place = self.drawn;
        self.drawn += 1;
        if place == 0 { self.first } else { first_of(block(&self.key, place.into())) }
    }

    /// Draws a time, uniform between zero and `span`.
    pub(crate) fn up_to(&mut self, span: Duration) -> Duration {
        let [_, _, _, _, number @ ..] = self.u64().to_be_bytes();
        span.mul_f64(f64::from(u32::from_be_bytes(number)) / f64::from(u32::MAX))
    }

    /// Stands for both tags of the association in cookies (RFC 9260 §5.2.2); never zero.
    pub(crate) fn tie_tag(&self) -> u64 {
        first_of(block(&self.key, TIE_TAG)) | 1
    }

    /// Returns the source of the association that takes the place of this one.
    pub(crate) fn renewed(&self) -> Self {
        Rng::new(&split_first(block(&self.key, RENEWAL))).nonces()
    }
}

/// A keyed hash of 16 octets with its key in place; a copy of it is fed.
pub(crate) type KeyedHash = Blake2bMac<U16>;

/// Creates BLAKE2b with a key (RFC 7693 §2.9), which takes the place of HMAC.
pub(crate) fn keyed(key: &[u8; 64]) -> KeyedHash {
    // A block is worked in when it is known that another follows: one octet more, and that of the key is worked in here
    // and not once for each copy.
    KeyedHash::new(key.into()).chain_update([0])
}

fn block<const KEY: usize>(key: &[u8; KEY], counter: u64) -> [u8; BLOCK_BYTES] {
    Blake2b512::new_with_prefix(key).chain_update(counter.to_be_bytes()).finalize().into()
}

fn first_of(block: [u8; BLOCK_BYTES]) -> u64 {
    u64::from_be_bytes(split_first(block))
}

fn split_first<const N: usize>(block: [u8; BLOCK_BYTES]) -> [u8; N] {
    let mut first = [0; N];
    first.copy_from_slice(&block[..N]);
    first
}

const BLOCK_BYTES: usize = 64;
/// Places that counting does not reach.
const TIE_TAG: u64 = u64::MAX;
const RENEWAL: u64 = u64::MAX - 1;
const BESIDE: u64 = u64::MAX - 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_parts_of_a_block_are_used_up() {
        let whole: [u8; 3 * BLOCK_BYTES] = Rng::new(&[7; 32]).octets();
        let mut rng = Rng::new(&[7; 32]);
        let mut parts = Vec::new();
        for _ in 0..6 {
            parts.extend(rng.octets::<5>());
            parts.extend(rng.u64().to_be_bytes());
            parts.extend(rng.octets::<19>());
        }
        assert_eq!(parts, whole);
        assert_ne!(Rng::new(&[8; 32]).octets::<64>()[..], whole[..64]);
    }

    #[test]
    fn streams_that_were_split_off_share_no_number() {
        let mut rng = Rng::new(&[7; 32]);
        let (mut one, mut other, mut nonces) = (rng.split(), rng.split(), rng.nonces());
        let (mut renewed, mut beside) = (nonces.renewed(), rng.beside());
        let mut numbers = vec![nonces.tie_tag(), renewed.tie_tag()];
        for _ in 0..100 {
            numbers.extend([rng.u64(), one.u64(), other.u64(), nonces.u64(), renewed.u64(), beside.u64()]);
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 602);
    }

    /// RFC 7693 §2.9: the key is a block of its own, and what follows is hashed behind it.
    #[test]
    fn keyed_hash_depends_on_key_and_content() {
        let hash = |key: u8, content: &[u8]| {
            let octets: [u8; 16] = keyed(&[key; 64]).chain_update(content).finalize().into_bytes().into();
            octets
        };
        assert_eq!(hash(1, b"content"), hash(1, b"content"));
        assert_ne!(hash(1, b"content"), hash(2, b"content"));
        assert_ne!(hash(1, b"content"), hash(1, b"contents"));
    }

    #[test]
    fn jitter_stays_within_its_span() {
        let mut nonces = Nonces::new(&[3; 32]);
        let span = Duration::from_millis(200);
        let drawn: Vec<Duration> = (0..200).map(|_| nonces.up_to(span)).collect();
        assert!(drawn.iter().all(|jitter| *jitter <= span));
        assert!(
            drawn.iter().any(|jitter| *jitter < span / 4) && drawn.iter().any(|jitter| *jitter > span / 2)
        );
    }
}
