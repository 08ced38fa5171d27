//! Messages out of a byte stream, by the framer that ships.

use bytes::Bytes;
use sip::MessageLimits;

use crate::traffic::framer::Cut;

/// The stream of one connection.
#[derive(Debug)]
pub(super) struct SipFramer(sip::Framer);

impl Default for SipFramer {
    fn default() -> Self {
        Self(sip::Framer::new(MessageLimits::default()))
    }
}

impl Cut for SipFramer {
    fn push(&mut self, octets: &[u8]) {
        self.0.push(octets);
    }

    fn next_message(&mut self) -> Result<Option<Bytes>, String> {
        self.0.next_message().map_err(|error| error.to_string())
    }
}
