//! Cuts an octet stream into messages by their length fields (RFC 4540 §4.1, §5.5).

use core::time::Duration;

use virtual_time::Instant;

use crate::codepoints::HEADER_BYTES;
use crate::error::DecodeError;
use crate::message::Header;

/// How long the rest of a message may keep silent (RFC 4540 §5.5).
pub(crate) const REST_OF_MESSAGE: Duration = Duration::from_secs(60);

/// The octets of a message that is not whole yet. Holds less than one message.
#[derive(Clone, Debug)]
pub(crate) struct Framer {
    begun: Vec<u8>,
    last_octet: Instant,
}

impl Framer {
    pub(crate) const fn new() -> Self {
        Self { begun: Vec::new(), last_octet: Instant::EPOCH }
    }

    /// Takes `octets` in and calls `whole` with each whole message until it returns [`Go::Stop`].
    ///
    /// Messages that came in one piece are not copied.
    ///
    /// # Errors
    ///
    /// A header that cannot be: nothing behind it can be found.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        octets: &[u8],
        mut whole: impl FnMut(&[u8]) -> Go,
    ) -> Result<(), DecodeError> {
        if !octets.is_empty() {
            self.last_octet = now;
        }
        let mut rest = octets;
        if !self.begun.is_empty() {
            rest = self.complete(rest, HEADER_BYTES);
            let Some(length) = message_length(&self.begun)? else { return Ok(()) };
            rest = self.complete(rest, length);
            if self.begun.len() < length {
                return Ok(());
            }
            let begun = core::mem::take(&mut self.begun);
            if whole(&begun) == Go::Stop {
                return Ok(());
            }
        }
        while let Some(message) = message_length(rest)?.and_then(|length| rest.get(..length)) {
            rest = &rest[message.len()..];
            if whole(message) == Go::Stop {
                return Ok(());
            }
        }
        self.begun.extend(rest);
        Ok(())
    }

    /// Returns the time at which patience with the message that has begun ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (!self.begun.is_empty()).then(|| self.last_octet + REST_OF_MESSAGE)
    }

    /// Fills what has begun up to `length` and returns what is left.
    fn complete<'a>(&mut self, octets: &'a [u8], length: usize) -> &'a [u8] {
        let missing = length.saturating_sub(self.begun.len()).min(octets.len());
        let (now, later) = octets.split_at(missing);
        self.begun.extend(now);
        later
    }
}

/// Whether to go on with the next message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Go {
    On,
    Stop,
}

/// Returns the octets of header and payload of the message that begins here; `None` while the header is not
/// there.
fn message_length(octets: &[u8]) -> Result<Option<usize>, DecodeError> {
    match Header::decode(octets) {
        Ok(header) => Ok(Some(HEADER_BYTES + header.payload_bytes)),
        Err(DecodeError::ShortHeader { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_gives_the_same_messages() {
        let messages: [&[u8]; 3] =
            [&[1, 3, 0, 0, 0, 0, 0, 1], &[1, 1, 0, 2, 0, 0, 0, 2, 7, 7], &[4, 1, 0, 0, 0, 0, 0, 3]];
        let stream = messages.concat();
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let (mut framer, mut found) = (Framer::new(), Vec::new());
                for piece in [&stream[..first], &stream[first..second], &stream[second..]] {
                    let whole = |message: &[u8]| {
                        found.push(message.to_vec());
                        Go::On
                    };
                    framer.take(Instant::EPOCH, piece, whole).unwrap();
                }
                assert_eq!(found, messages, "cut at {first} and {second}");
                assert_eq!(framer.deadline(), None);
            }
        }
    }

    #[test]
    fn patience_counts_from_the_last_octet() {
        let mut framer = Framer::new();
        for second in 0..3 {
            framer.take(Instant::from_millis(1000 * second), &[1], |_| Go::On).unwrap();
        }
        assert_eq!(framer.deadline(), Some(Instant::from_millis(62_000)));
    }

    #[test]
    fn length_beyond_the_limit_stops() {
        let mut framer = Framer::new();
        let octets = [1, 1, 0xFF, 0xFF, 0, 0, 0, 1];
        framer.take(Instant::EPOCH, &octets[..5], |_| Go::On).unwrap();
        let rest = framer.take(Instant::EPOCH, &octets[5..], |_| Go::On);
        assert_eq!(rest, Err(DecodeError::TooLong { length: 65_535 }));
    }
}
