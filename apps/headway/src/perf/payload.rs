//! The octets of messages: the same for all of them, or made and read one message after the other (`--fresh`).

use std::hint::black_box;

use bytes::Bytes;

/// The payloads of one connection, one after the other.
#[derive(Debug)]
pub(crate) struct Payloads {
    first: Bytes,
    /// The number of the last message that was made; `None` where all have the memory of the first.
    made: Option<u64>,
}

impl Payloads {
    /// Creates the payloads of messages that all share this one.
    pub(crate) const fn shared(payload: Bytes) -> Self {
        Self { first: payload, made: None }
    }

    /// Creates payloads as long as this one, each made when it is asked for.
    pub(crate) const fn fresh(like: Bytes) -> Self {
        Self { first: like, made: Some(0) }
    }

    /// Returns the payload of the next message, in memory of its own if it is made anew.
    pub(crate) fn next(&mut self) -> Bytes {
        match self.next_octet() {
            Some(octet) => Bytes::from(vec![octet; self.first.len()]),
            None => self.first.clone(),
        }
    }

    /// Returns a buffer for [`Self::rewrite`] that holds the first payload.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.first.to_vec()
    }

    /// Writes the next message over the one before, if each is made anew.
    pub(crate) fn rewrite(&mut self, buffer: &mut [u8]) {
        if let Some(octet) = self.next_octet() {
            buffer.fill(octet);
        }
    }

    /// Returns what the next message is full of: never zero, because memory full of zeros need not be written.
    fn next_octet(&mut self) -> Option<u8> {
        let made = self.made.as_mut()?;
        *made += 1;
        u8::try_from(*made % 255 + 1).ok()
    }
}

/// Reads every octet, whatever the compiler thinks of the result, which depends on each of them.
pub(crate) fn read(octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks();
    let words = words.iter().fold(0, |sum, word| sum ^ u64::from_ne_bytes(*word));
    black_box(rest.iter().fold(words, |sum, octet| sum ^ u64::from(*octet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_payload_is_the_same_memory_each_time() {
        let payload = Bytes::from_static(b"abc");
        let mut payloads = Payloads::shared(payload.clone());
        assert_eq!(payloads.next().as_ptr(), payload.as_ptr());
        let mut buffer = payloads.buffer();
        payloads.rewrite(&mut buffer);
        assert_eq!(buffer, payload);
    }

    #[test]
    fn each_fresh_payload_differs_from_the_one_before_and_is_nowhere_zero() {
        let mut payloads = Payloads::fresh(Bytes::from_static(&[0; 20]));
        let mut buffer = payloads.buffer();
        let mut last = Bytes::new();
        for _ in 0..300 {
            let next = payloads.next();
            assert!(next.len() == 20 && next.iter().all(|octet| *octet != 0) && next != last);
            last = next;
            payloads.rewrite(&mut buffer);
            assert_ne!(buffer, last);
            last = Bytes::copy_from_slice(&buffer);
        }
    }

    #[test]
    fn every_octet_counts_for_what_was_read() {
        let octets = [7; 21];
        for place in 0..octets.len() {
            let mut other = octets;
            other[place] ^= 1;
            assert_ne!(read(&other), read(&octets), "{place}");
        }
    }
}
