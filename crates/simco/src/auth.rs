//! Authentication with keys known to both sides. RFC 4540 §4.2.2 leaves the method open; this is ours.
//!
//! ```text
//! agent ── SE, challenge = length ‖ identity ‖ 32 octets ─────────────────► middlebox
//!       ◄─ SA, token = HMAC(key, "simco-middlebox" ‖ both challenges), challenge = 32 octets
//!       ── SA, token = HMAC(key, "simco-agent" ‖ both challenges) ────────►
//!       ◄─ SE
//! ```
//!
//! The identity stands in the agent's challenge because the middlebox has to choose the key before it answers.
//! Each side's label keeps its token from being sent back to it as the other's.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::rule::Owner;

/// A key of 32 octets that an agent and a middlebox share. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Creates a key from its 32 octets.
    #[must_use]
    pub const fn new(octets: [u8; 32]) -> Self {
        Self(octets)
    }

    /// Reads a key file: 64 hexadecimal digits, white space around them.
    ///
    /// # Errors
    ///
    /// Anything else.
    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        let digits = text.trim();
        if digits.len() != 64 {
            return Err(KeyError::Length { digits: digits.chars().count() });
        }
        let mut octets = [0; 32];
        for (octet, pair) in octets.iter_mut().zip(digits.as_bytes().as_chunks::<2>().0) {
            let (high, low) = (nibble(pair[0])?, nibble(pair[1])?);
            *octet = (high << 4) | low;
        }
        Ok(Self(octets))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// The reason why a text is no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// The key is too long or too short.
    #[error(
        "a key of {digits} characters: write 64 hexadecimal digits, as `openssl rand -hex 32` prints them"
    )]
    Length {
        /// How many characters there are.
        digits: usize,
    },
    /// Something that is no hexadecimal digit.
    #[error("`{0}` in a key: write 64 hexadecimal digits, as `openssl rand -hex 32` prints them")]
    Digit(char),
}

fn nibble(digit: u8) -> Result<u8, KeyError> {
    let character = char::from(digit);
    let value = character.to_digit(16).and_then(|value| u8::try_from(value).ok());
    value.ok_or(KeyError::Digit(character))
}

/// The side that a token proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Agent,
    Middlebox,
}

/// Returns the agent's challenge.
pub(crate) fn agent_challenge(identity: &Owner, nonce: &[u8; 32]) -> Vec<u8> {
    let identity = identity.octets();
    let length = u8::try_from(identity.len()).unwrap_or(u8::MAX);
    let mut challenge = Vec::with_capacity(1 + identity.len() + nonce.len());
    challenge.push(length);
    challenge.extend(identity);
    challenge.extend(nonce);
    challenge
}

/// Returns the identity that the sender of this challenge claims; `None` if the challenge is not made as ours
/// are.
pub(crate) fn claimed_identity(challenge: &[u8]) -> Option<Owner> {
    let (length, rest) = challenge.split_first()?;
    let (identity, nonce) = rest.split_at_checked(usize::from(*length))?;
    if nonce.len() != 32 {
        return None;
    }
    Owner::new(identity).ok()
}

/// Returns the token that proves that its sender has the key.
pub(crate) fn token(key: &Key, side: Side, agent_challenge: &[u8], middlebox_challenge: &[u8]) -> [u8; 32] {
    let mut octets = [0; 32];
    octets.copy_from_slice(&mac(key, side, agent_challenge, middlebox_challenge).finalize().into_bytes());
    octets
}

/// Returns whether `token` is that of `side`; the time it takes does not tell how much of it is right.
pub(crate) fn is_token(
    key: &Key,
    side: Side,
    agent_challenge: &[u8],
    middlebox_challenge: &[u8],
    token: &[u8],
) -> bool {
    mac(key, side, agent_challenge, middlebox_challenge).verify_slice(token).is_ok()
}

fn mac(key: &Key, side: Side, agent_challenge: &[u8], middlebox_challenge: &[u8]) -> Hmac<Sha256> {
    let label: &[u8] = match side {
        Side::Agent => b"simco-agent",
        Side::Middlebox => b"simco-middlebox",
    };
    let mut mac = keyed(&key.0);
    mac.update(label);
    mac.update(agent_challenge);
    mac.update(middlebox_challenge);
    mac
}

/// Unpredictable octets from one secret: HMAC-SHA-256 in counter mode. The driver supplies the secret, from the
/// operating system or, in a simulation, from the seed of the run.
#[derive(Clone)]
pub(crate) struct Nonces {
    keyed: Hmac<Sha256>,
    counter: u64,
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonces")
    }
}

impl Nonces {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self { keyed: keyed(secret), counter: 0 }
    }

    /// Returns the next 32 octets.
    pub(crate) fn next(&mut self) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        mac.update(&self.counter.to_be_bytes());
        self.counter += 1;
        let mut octets = [0; 32];
        octets.copy_from_slice(&mac.finalize().into_bytes());
        octets
    }

    /// Returns a random number, uniform from 0 to 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        let [a, b, c, d, ..] = self.next();
        f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(u32::MAX)
    }
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    // A key of exactly 32 octets fits the 64-octet block: RFC 2104 §2 pads it with zeros.
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    block[..32].copy_from_slice(key);
    Hmac::<Sha256>::new(&block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_of_one_side_is_not_that_of_the_other() {
        let key = Key::new([7; 32]);
        let challenge = agent_challenge(&Owner::new(b"b2bua").unwrap(), &[1; 32]);
        let token = token(&key, Side::Agent, &challenge, &[2; 32]);
        assert!(is_token(&key, Side::Agent, &challenge, &[2; 32], &token));
        assert!(!is_token(&key, Side::Middlebox, &challenge, &[2; 32], &token));
        assert!(!is_token(&key, Side::Agent, &challenge, &[3; 32], &token));
        assert!(!is_token(&Key::new([8; 32]), Side::Agent, &challenge, &[2; 32], &token));
        assert!(!is_token(&key, Side::Agent, &challenge, &[2; 32], &token[..31]));
    }

    #[test]
    fn challenge_names_the_agent() {
        let agent = Owner::new(b"b2bua").unwrap();
        let challenge = agent_challenge(&agent, &[1; 32]);
        assert_eq!(claimed_identity(&challenge), Some(agent));
        assert_eq!(claimed_identity(&challenge[..30]), None);
        assert_eq!(claimed_identity(&[]), None);
    }

    #[test]
    fn key_file_has_64_hexadecimal_digits() {
        let text = format!("{}\n", "0a".repeat(32));
        assert_eq!(Key::from_hex(&text), Ok(Key::new([10; 32])));
        assert_eq!(Key::from_hex("0a"), Err(KeyError::Length { digits: 2 }));
        assert_eq!(Key::from_hex(&"g".repeat(64)), Err(KeyError::Digit('g')));
        assert!(Key::from_hex(&"é".repeat(32)).is_err());
    }
}
