//! The framers that cut messages out of a byte stream.

use core::fmt;

use bytes::Bytes;
use workload::StreamFramer;

/// Cuts a byte stream into the messages of a workload.
pub(crate) type Framer = Box<dyn Cut>;

/// The way to tell the messages of one workload apart.
pub(crate) trait Cut: fmt::Debug + Send {
    /// Takes in what has arrived.
    fn push(&mut self, octets: &[u8]);

    /// Returns the next whole message; why there will be none any more.
    fn next_message(&mut self) -> Result<Option<Bytes>, String>;
}

/// Goes by the length at the beginning of each message of the laboratory.
impl Cut for StreamFramer {
    fn push(&mut self, octets: &[u8]) {
        Self::push(self, octets);
    }

    fn next_message(&mut self) -> Result<Option<Bytes>, String> {
        Self::next_message(self).map_err(|error| error.to_string())
    }
}
