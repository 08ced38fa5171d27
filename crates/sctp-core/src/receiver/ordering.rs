//! Order within a stream (RFC 9260 §6.5, §6.6), and what it costs.
//!
//! An unordered message, and the one its stream waits for, go to the application's queue at once. Any other
//! one is *blocked*: complete, yet held back by an earlier one. How long is the study's question, so it is
//! measured here for every message.

use std::collections::{BTreeMap, VecDeque};

use sctp_wire::{Ssn, StreamId, Tsn};
use virtual_time::Instant;

use super::ReceiverViolation;
use super::blocking::BlockingStatistics;
use super::reassembly::Assembled;
use crate::message::{Delivery, Message, Received};

/// Complete messages: those that wait for an earlier one, and those that wait for the application.
#[derive(Debug, Default)]
pub(super) struct Ordering {
    /// By stream, as far as the highest stream used.
    next_ssns: Vec<Ssn>,
    blocked: BTreeMap<(u16, u16), Blocked>,
    ready: VecDeque<Received>,
    statistics: BlockingStatistics,
}

impl Ordering {
    /// Whether a chunk's SSN is one its stream still waits for; each SSN is used once per round.
    pub(super) fn check(
        &self,
        tsn: Tsn,
        stream: StreamId,
        ssn: Option<Ssn>,
    ) -> Result<(), ReceiverViolation> {
        let Some(ssn) = ssn else { return Ok(()) };
        if ssn.precedes(self.next_ssn(stream)) || self.blocked.contains_key(&key(stream, ssn)) {
            return Err(ReceiverViolation::SsnUsedTwice { tsn, stream, ssn });
        }
        Ok(())
    }

    /// Takes a complete message; says whether anything new waits for the application.
    pub(super) fn insert(&mut self, now: Instant, message: Assembled) -> bool {
        let Some(ssn) = message.ssn else {
            self.deliver(now, now, message);
            return true;
        };
        let stream = message.stream;
        if ssn != self.next_ssn(stream) {
            self.blocked.insert(key(stream, ssn), Blocked { message, complete_at: now });
            return false;
        }
        self.deliver(now, now, message);
        let mut next = ssn.next();
        while let Some(follower) = self.blocked.remove(&key(stream, next)) {
            self.deliver(now, follower.complete_at, follower.message);
            next = next.next();
        }
        self.expect(stream, next);
        true
    }

    /// The next message for the application.
    pub(super) fn receive(&mut self) -> Option<Received> {
        self.ready.pop_front()
    }

    /// Puts a message of a predecessor behind what is ready.
    pub(super) fn adopt(&mut self, received: Received) {
        self.ready.push_back(received);
    }

    /// Whether the application has something to read.
    pub(super) fn has_message(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether no message is held, ready or blocked.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.blocked.is_empty()
    }

    pub(super) fn statistics(&self) -> &BlockingStatistics {
        &self.statistics
    }

    fn deliver(&mut self, now: Instant, complete_at: Instant, assembled: Assembled) {
        let Assembled { stream, ssn, ppid, payload, chunks: _ } = assembled;
        let blocked = now.since(complete_at);
        self.statistics.record(stream, blocked);
        let delivery = if ssn.is_some() { Delivery::Ordered } else { Delivery::Unordered };
        let message = Message::new(stream, delivery, payload).with_ppid(ppid);
        self.ready.push_back(Received { message, complete_at, blocked });
    }

    fn next_ssn(&self, stream: StreamId) -> Ssn {
        self.next_ssns.get(usize::from(stream.get())).copied().unwrap_or(Ssn::new(0))
    }

    fn expect(&mut self, stream: StreamId, next: Ssn) {
        let index = usize::from(stream.get());
        if index >= self.next_ssns.len() {
            self.next_ssns.resize(index + 1, Ssn::new(0));
        }
        if let Some(slot) = self.next_ssns.get_mut(index) {
            *slot = next;
        }
    }
}

#[derive(Debug)]
struct Blocked {
    message: Assembled,
    complete_at: Instant,
}

/// Looked up only, never ordered by SSN: serial numbers have no order.
fn key(stream: StreamId, ssn: Ssn) -> (u16, u16) {
    (stream.get(), ssn.get())
}

#[cfg(test)]
mod tests;
