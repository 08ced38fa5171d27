//! Tags and branches: HMAC-SHA-256 of a counter under a secret key, which nobody can guess or link.

use core::fmt::{self, Write};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

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
        self.counter += 1;
        let mut text = String::with_capacity(OCTETS * 2);
        let Some(mut mac) = self.keyed.clone() else { return text };
        mac.update(&self.counter.to_be_bytes());
        for octet in mac.finalize().into_bytes().iter().take(OCTETS) {
            // Writing to a String does not fail.
            let _ = write!(text, "{octet:02x}");
        }
        text
    }
}

const OCTETS: usize = 10;
