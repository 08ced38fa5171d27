//! Replies on their way: held for the processing time, then for lanes that are closed.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use virtual_time::Instant;

/// A message on its way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply<L> {
    /// Where the request came from.
    pub lane: L,
    /// Its octets.
    pub message: Bytes,
}

/// Replies of one server. `L` says where they go.
///
/// Contract: [`push`](Self::push), drain [`poll_transmit`](Self::poll_transmit), wait until
/// [`poll_timeout`](Self::poll_timeout). A transport that cannot take a reply gives it back with
/// [`defer`](Self::defer).
#[derive(Debug)]
pub struct Replies<L> {
    held_for: Duration,
    /// In the order of being due, since the processing time is the same for all.
    processing: VecDeque<(Instant, Reply<L>)>,
    /// Replies of lanes that are open again, oldest first.
    released: VecDeque<Reply<L>>,
    /// Replies by lane that is closed.
    deferred: BTreeMap<L, VecDeque<Reply<L>>>,
    queued_bytes: usize,
}

impl<L: Clone + Ord> Replies<L> {
    /// None yet; each will be held for `held_for`.
    #[must_use]
    pub fn new(held_for: Duration) -> Self {
        Self {
            held_for,
            processing: VecDeque::new(),
            released: VecDeque::new(),
            deferred: BTreeMap::new(),
            queued_bytes: 0,
        }
    }

    /// Takes a reply.
    pub fn push(&mut self, now: Instant, reply: Reply<L>) {
        self.queued_bytes += reply.message.len();
        self.processing.push_back((now + self.held_for, reply));
    }

    /// When a reply will be ready; `None` while none is being processed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.processing.front().map(|(due, _)| *due)
    }

    /// The next reply that is due, for a lane that is open.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Reply<L>> {
        let reply = self.released.pop_front().or_else(|| self.next_processed(now))?;
        self.queued_bytes -= reply.message.len();
        Some(reply)
    }

    /// Takes back the reply that [`poll_transmit`](Self::poll_transmit) gave last: the transport cannot take it
    /// now. Its lane is closed until [`resume`](Self::resume); other lanes go on.
    pub fn defer(&mut self, reply: Reply<L>) {
        self.queued_bytes += reply.message.len();
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

    /// Octets of all replies that were not yet handed to the transport.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes
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
