//! The framers that cut messages out of a byte stream.

use core::fmt;

use bytes::Bytes;
use workload::{MessageSize, StreamFramer};

/// Cuts a byte stream into the messages of a workload.
#[derive(Debug)]
pub(crate) struct Framer(Box<dyn Cut>);

impl Framer {
    pub(super) fn new(cut: impl Cut + 'static) -> Self {
        Self(Box::new(cut))
    }

    /// Creates the framer that goes by the length at the beginning of each message of the laboratory.
    pub(super) fn of_messages() -> Self {
        Self::new(StreamFramer::new(MessageSize::MAX))
    }

    pub(crate) fn push(&mut self, octets: &[u8]) {
        self.0.push(octets);
    }

    /// Returns the next whole message; why there will be none any more.
    pub(crate) fn next_message(&mut self) -> Result<Option<Bytes>, String> {
        self.0.next_message()
    }
}

/// The way to tell the messages of one workload apart.
pub(super) trait Cut: fmt::Debug + Send {
    fn push(&mut self, octets: &[u8]);
    fn next_message(&mut self) -> Result<Option<Bytes>, String>;
}

impl Cut for StreamFramer {
    fn push(&mut self, octets: &[u8]) {
        Self::push(self, octets);
    }

    fn next_message(&mut self) -> Result<Option<Bytes>, String> {
        Self::next_message(self).map_err(|error| error.to_string())
    }
}
