//! The echo server.

use core::time::Duration;

use bytes::Bytes;
use virtual_time::Instant;

use crate::message::{Message, MessageError};
use crate::replies::{Replies, Reply};

/// Returns every whole message where it came from, after the processing time.
///
/// `L` says where that is: a connection, an association's stream with its unordered flag and PPID, or a socket
/// address. The server keeps no state about requests; a request that comes twice is answered twice, as RFC 3261
/// §17.2 asks of a server over an unreliable transport. Byte streams go through a
/// [`StreamFramer`](crate::StreamFramer) first.
///
/// Contract: `handle_message`, drain [`poll_transmit`](Self::poll_transmit), wait until
/// [`poll_timeout`](Self::poll_timeout). A transport that cannot take a reply gives it back with
/// [`defer`](Self::defer); a driver stops reading while [`queued_bytes`](Self::queued_bytes) is high.
#[derive(Debug)]
pub struct EchoServer<L> {
    replies: Replies<L>,
    counters: EchoCounters,
}

impl<L: Clone + Ord> EchoServer<L> {
    /// A server with nothing to do.
    #[must_use]
    pub fn new(config: EchoConfig) -> Self {
        Self { replies: Replies::new(config.processing), counters: EchoCounters::default() }
    }

    /// Takes one whole message.
    ///
    /// # Errors
    ///
    /// [`MessageError`] for octets that are not a message; they are counted and not answered.
    pub fn handle_message(&mut self, now: Instant, lane: L, message: Bytes) -> Result<(), MessageError> {
        if let Err(error) = Message::decode(&message) {
            self.counters.malformed += 1;
            return Err(error);
        }
        self.counters.requests += 1;
        self.replies.push(now, Reply { lane, message });
        Ok(())
    }

    /// When a reply will be ready; `None` while none is being processed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.replies.poll_timeout()
    }

    /// Nothing but the passing of time changes: [`poll_transmit`](Self::poll_transmit) looks at `now` itself.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// The next reply that is due, for a lane that is open.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Reply<L>> {
        let reply = self.replies.poll_transmit(now)?;
        self.counters.replies += 1;
        Some(reply)
    }

    /// Takes back the reply that [`poll_transmit`](Self::poll_transmit) gave last: the transport cannot take it
    /// now. Its lane is closed until [`resume`](Self::resume); other lanes go on.
    pub fn defer(&mut self, reply: Reply<L>) {
        self.counters.replies -= 1;
        self.replies.defer(reply);
    }

    /// The transport can take replies for this lane again.
    pub fn resume(&mut self, lane: &L) {
        self.replies.resume(lane);
    }

    /// Forgets a lane that is no more, such as a closed connection; its replies are dropped.
    pub fn forget(&mut self, lane: &L) {
        self.replies.forget(lane);
    }

    /// Octets of all messages that were not yet handed to the transport.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        self.replies.queued_bytes()
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> &EchoCounters {
        &self.counters
    }
}

/// How an echo server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EchoConfig {
    /// How long each reply is held. Default 0: the network alone is measured. Set it to the time that a real server
    /// needs for one request when its share of the response time matters; requests do not queue for it.
    pub processing: Duration,
}

/// Counts of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoCounters {
    /// Whole messages taken.
    pub requests: u64,
    /// Replies handed to the transport.
    pub replies: u64,
    /// Messages that were none.
    pub malformed: u64,
}

#[cfg(test)]
mod tests;
