//! One stream of QUIC as a lane: messages written into it, and messages cut out of what comes, in order, each with how long
//! it was held behind missing octets.
//!
//! Octets are taken from quinn as they come, in whatever order, and put in order here: so it is known when a message was
//! complete, which a reader of the ordered stream never learns.

use ::core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use quinn_proto::{Connection, StreamId, WriteError};
use virtual_time::Instant;

use crate::traffic::Framer;

/// A stream in both directions.
pub(super) struct Stream {
    id: StreamId,
    /// The unwritten rest of a message that was written in part.
    unwritten: Bytes,
    pub(super) incoming: Incoming,
}

impl Stream {
    pub(super) fn new(id: StreamId, framer: Framer) -> Self {
        Self { id, unwritten: Bytes::new(), incoming: Incoming::new(framer) }
    }

    /// Returns whether everything was written.
    pub(super) fn is_free(&self) -> bool {
        self.unwritten.is_empty()
    }

    /// Writes a message as far as there is room; whether that was all.
    pub(super) fn write(&mut self, connection: &mut Connection, message: Bytes) -> bool {
        self.unwritten = message;
        self.write_rest(connection)
    }

    /// Writes what is left of a message; whether that was all.
    pub(super) fn write_rest(&mut self, connection: &mut Connection) -> bool {
        while !self.unwritten.is_empty() {
            let mut chunks = [::core::mem::take(&mut self.unwritten)];
            let written = connection.send_stream(self.id).write_chunks(&mut chunks);
            let [rest] = chunks;
            match written {
                Ok(_) => self.unwritten = rest,
                Err(WriteError::Blocked) => {
                    self.unwritten = rest;
                    return false;
                }
                // The connection's end is told by itself.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return true,
            }
        }
        true
    }

    /// Reads what has come, in whatever order, and gives it with its offset.
    pub(super) fn read(&self, connection: &mut Connection) -> Vec<(u64, Bytes)> {
        let mut read = Vec::new();
        let mut stream = connection.recv_stream(self.id);
        if let Ok(mut chunks) = stream.read(false) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                read.push((chunk.offset, chunk.bytes));
            }
            // What follows from it is looked for anyway.
            let _should_transmit = chunks.finalize();
        }
        read
    }
}

/// The octets that have come of a stream.
pub(super) struct Incoming {
    framer: Framer,
    /// The end of what the framer has.
    end: u64,
    /// The octets that came beyond a gap, and when they came.
    ahead: BTreeMap<u64, (Bytes, Instant)>,
    /// Parts of what the framer has and no message has ended in: their ends, and when they came.
    parts: VecDeque<(u64, Instant)>,
    /// The end of the last whole message.
    taken: u64,
}

/// A whole message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) octets: Bytes,
    /// The time at which its last octet came; it may have waited since for others before it.
    pub(super) complete_at: Instant,
}

impl Incoming {
    pub(super) fn new(framer: Framer) -> Self {
        let (ahead, parts) = (BTreeMap::new(), VecDeque::new());
        Self { framer, end: 0, ahead, parts, taken: 0 }
    }

    /// Takes in octets that were not there before.
    pub(super) fn take(&mut self, now: Instant, offset: u64, octets: Bytes) {
        self.ahead.insert(offset, (octets, now));
        while let Some(entry) = self.ahead.first_entry().filter(|entry| *entry.key() == self.end) {
            let (octets, came) = entry.remove();
            self.end += u64::try_from(octets.len()).unwrap_or(0);
            self.framer.push(&octets);
            self.parts.push_back((self.end, came));
        }
    }

    /// Returns the next whole message; why there will be none any more.
    pub(super) fn next_message(&mut self) -> Result<Option<Whole>, String> {
        let Some(octets) = self.framer.next_message()? else { return Ok(None) };
        self.taken += u64::try_from(octets.len()).unwrap_or(0);
        let mut complete_at = Instant::EPOCH;
        while let Some((end, came)) = self.parts.front().copied() {
            complete_at = complete_at.max(came);
            if end > self.taken {
                break;
            }
            self.parts.pop_front();
            if end == self.taken {
                break;
            }
        }
        Ok(Some(Whole { octets, complete_at }))
    }
}

/// The cost of head-of-line blocking: messages that were complete and waited, and how long, all together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocked {
    messages: u64,
    total: Duration,
}

impl Blocked {
    /// Counts a message that is delivered now; gives how long it waited.
    pub(super) fn count(&mut self, now: Instant, whole: &Whole) -> Duration {
        let waited = now.since(whole.complete_at);
        self.messages += u64::from(!waited.is_zero());
        self.total = self.total.saturating_add(waited);
        waited
    }

    pub(super) fn counts(self) -> (u64, Duration) {
        (self.messages, self.total)
    }
}

#[cfg(test)]
mod tests {
    use workload::{Message, MessageNumber, MessageSize, SendTime};

    use super::*;
    use crate::traffic::Workload;

    fn message(number: u64) -> Bytes {
        let sent = SendTime::from(Instant::EPOCH);
        Message { number: MessageNumber(number), sent, size: MessageSize::default() }.encode()
    }

    #[test]
    fn a_message_behind_a_gap_waits_from_when_it_was_complete() {
        let at = Instant::from_millis;
        let mut incoming = Incoming::new(Workload::ECHO.framer());
        let (first, second) = (message(0), message(1));
        let middle = first.len() as u64;
        incoming.take(at(10), middle, second.slice(..20));
        incoming.take(at(20), middle + 20, second.slice(20..));
        assert_eq!(incoming.next_message(), Ok(None));
        incoming.take(at(50), 0, first.clone());
        let mut blocked = Blocked::default();
        for (octets, complete_at, waited) in [(first, at(50), 0), (second, at(20), 30)] {
            let whole = incoming.next_message().unwrap().unwrap();
            assert_eq!(whole, Whole { octets, complete_at });
            assert_eq!(blocked.count(at(50), &whole), Duration::from_millis(waited));
        }
        assert_eq!(blocked.counts(), (1, Duration::from_millis(30)));
        assert!(incoming.parts.is_empty() && incoming.ahead.is_empty());
    }
}
