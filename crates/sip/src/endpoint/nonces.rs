//! Tags and branches: HMAC-SHA-256 of a counter under a secret key, which nobody can guess or link.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::text::hex;

/// A keyed stream of texts.
#[derive(Clone)]
pub(super) struct Nonces {
    keyed: Option<Hmac<Sha256>>,
    counter: u64,
}

/// Never shows the key.
impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonces")
    }
}

impl Nonces {
    pub(super) fn new(seed: &[u8; 32]) -> Self {
        // HMAC takes keys of any length.
        Self { keyed: Hmac::new_from_slice(seed).ok(), counter: 0 }
    }

    /// Draws twenty hexadecimal digits: 80 bits, where RFC 3261 §19.3 asks for 32.
    pub(super) fn text(&mut self) -> String {
        hex(&self.octets()[..OCTETS])
    }

    /// Draws a number.
    pub(super) fn number(&mut self) -> u64 {
        self.octets().first_chunk().map_or(0, |octets| u64::from_be_bytes(*octets))
    }

    fn octets(&mut self) -> [u8; 32] {
        self.counter += 1;
        let tag =
            |mac: Hmac<Sha256>| mac.chain_update(self.counter.to_be_bytes()).finalize().into_bytes().into();
        self.keyed.clone().map_or([0; 32], tag)
    }
}

const OCTETS: usize = 10;
