//! The echo server.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use virtual_time::Instant;

use crate::message::{Message, MessageError};

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
    config: EchoConfig,
    /// In the order of being due, since the processing time is the same for all.
    processing: VecDeque<(Instant, Reply<L>)>,
    /// Replies of lanes that are open again, oldest first.
    released: VecDeque<Reply<L>>,
    /// Replies by lane that is closed.
    deferred: BTreeMap<L, VecDeque<Reply<L>>>,
    queued_bytes: usize,
    counters: EchoCounters,
}

impl<L: Clone + Ord> EchoServer<L> {
    /// A server with nothing to do.
    #[must_use]
    pub fn new(config: EchoConfig) -> Self {
        Self {
            config,
            processing: VecDeque::new(),
            released: VecDeque::new(),
            deferred: BTreeMap::new(),
            queued_bytes: 0,
            counters: EchoCounters::default(),
        }
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
        self.queued_bytes += message.len();
        self.processing.push_back((now + self.config.processing, Reply { lane, message }));
        Ok(())
    }

    /// When a reply will be ready; `None` while none is being processed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.processing.front().map(|(due, _)| *due)
    }

    /// Nothing but the passing of time changes: [`poll_transmit`](Self::poll_transmit) looks at `now` itself.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// The next reply that is due, for a lane that is open.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Reply<L>> {
        let reply = self.released.pop_front().or_else(|| self.next_processed(now))?;
        self.queued_bytes -= reply.message.len();
        self.counters.replies += 1;
        Some(reply)
    }

    /// Takes back the reply that [`poll_transmit`](Self::poll_transmit) gave last: the transport cannot take it
    /// now. Its lane is closed until [`resume`](Self::resume); other lanes go on.
    pub fn defer(&mut self, reply: Reply<L>) {
        self.queued_bytes += reply.message.len();
        self.counters.replies -= 1;
        let lane = reply.lane.clone();
        let (same, others): (VecDeque<_>, VecDeque<_>) =
            core::mem::take(&mut self.released).into_iter().partition(|later| later.lane == lane);
        self.released = others;
        let held = self.deferred.entry(lane).or_default();
        held.push_back(reply);
        held.extend(same);
    }

    /// The transport can take replies for this lane again.
    pub fn resume(&mut self, lane: &L) {
        if let Some(held) = self.deferred.remove(lane) {
            self.released.extend(held);
        }
    }

    /// Forgets a lane that is no more, such as a closed connection; its replies are dropped.
    pub fn forget(&mut self, lane: &L) {
        self.deferred.remove(lane);
        self.released.retain(|reply| reply.lane != *lane);
        self.processing.retain(|(_, reply)| reply.lane != *lane);
        let deferred = self.deferred.values().flatten();
        let queued = self.processing.iter().map(|(_, reply)| reply).chain(&self.released).chain(deferred);
        self.queued_bytes = queued.map(|reply| reply.message.len()).sum();
    }

    /// Octets of all messages that were not yet handed to the transport.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> &EchoCounters {
        &self.counters
    }

    /// The oldest processed reply whose lane is open; those of closed lanes are put to their kind.
    fn next_processed(&mut self, now: Instant) -> Option<Reply<L>> {
        while let Some((_, reply)) = self.processing.pop_front_if(|(due, _)| *due <= now) {
            match self.deferred.get_mut(&reply.lane) {
                Some(held) => held.push_back(reply),
                None => return Some(reply),
            }
        }
        None
    }
}

/// How an echo server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EchoConfig {
    /// How long each reply is held. Default 0: the network alone is measured. Set it to the time that a real server
    /// needs for one request when its share of the response time matters; requests do not queue for it.
    pub processing: Duration,
}

/// A message on its way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply<L> {
    /// Where the request came from.
    pub lane: L,
    /// The request's octets.
    pub message: Bytes,
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
