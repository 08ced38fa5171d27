//! Unpredictable numbers from one seed: tags, TSNs, nonces, jitter.
//!
//! SHA-256 over a key and a counter, which is one block of it: the key is secret and of fixed length, so that the
//! blocks tell nothing of each other. The driver supplies the first key: the operating system's entropy in production, a
//! number derived from the run's seed in a simulation. Nothing here asks the system.

use core::time::Duration;

use hmac::{Hmac, KeyInit};
use sctp_wire::{Tsn, VerificationTag};
use sha2::{Digest, Sha256};

/// A keyed stream of unpredictable numbers.
#[derive(Clone)]
pub(crate) struct Rng {
    key: [u8; 32],
    counter: u64,
    block: [u8; 32],
    used: usize,
}

/// Never shows the key.
impl core::fmt::Debug for Rng {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Rng")
    }
}

impl Rng {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self { key: *seed, counter: 0, block: [0; 32], used: 32 }
    }

    /// An independent stream, for a component of its own.
    pub(crate) fn split(&mut self) -> Self {
        Self::new(&self.key())
    }

    /// 32 octets to key something with.
    pub(crate) fn key(&mut self) -> [u8; 32] {
        self.refill();
        self.used = self.block.len();
        self.block
    }

    pub(crate) fn u32(&mut self) -> u32 {
        if self.used + 4 > self.block.len() {
            self.refill();
        }
        let mut octets = [0; 4];
        octets.copy_from_slice(&self.block[self.used..self.used + 4]);
        self.used += 4;
        u32::from_be_bytes(octets)
    }

    pub(crate) fn u64(&mut self) -> u64 {
        (u64::from(self.u32()) << 32) | u64::from(self.u32())
    }

    /// RFC 9260 §5.3.1: any value but zero.
    pub(crate) fn verification_tag(&mut self) -> VerificationTag {
        loop {
            let tag = self.u32();
            if tag != 0 {
                return VerificationTag::new(tag);
            }
        }
    }

    pub(crate) fn tsn(&mut self) -> Tsn {
        Tsn::new(self.u32())
    }

    /// Uniform between zero and `span`.
    pub(crate) fn up_to(&mut self, span: Duration) -> Duration {
        span.mul_f64(f64::from(self.u32()) / f64::from(u32::MAX))
    }

    fn refill(&mut self) {
        let hash = Sha256::new_with_prefix(self.key).chain_update(self.counter.to_be_bytes());
        self.block.copy_from_slice(&hash.finalize());
        self.counter += 1;
        self.used = 0;
    }
}

/// An HMAC state for a 32-octet key. Cloning it is cheaper than keying anew.
pub(crate) fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    // A key of exactly 32 octets fits the 64-octet block: RFC 2104 §2 pads it with zeros.
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    block[..32].copy_from_slice(key);
    Hmac::<Sha256>::new(&block)
}
