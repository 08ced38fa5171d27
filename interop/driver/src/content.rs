//! The content of messages, and whether those received are the ones due. The same as in `peer/content.c`.

use std::collections::{BTreeMap, BTreeSet};

use sctp::{Delivery, Message, StreamId};

/// Creates message number `index` of `stream`, both from 0: octets 0-3 the stream, 4-7 the index, big-endian; octet `k` from 8
/// on is (31 stream + 7 index + k) mod 251. A shorter message is the beginning of that.
pub(crate) fn payload(stream: StreamId, index: u32, bytes: usize) -> Vec<u8> {
    let (stream, index) = (u32::from(stream.get()), index);
    let head = [stream.to_be_bytes(), index.to_be_bytes()].concat();
    let start = (31 * u64::from(stream) + 7 * u64::from(index)) % PERIOD;
    let tail = (8..).map(|k: u64| u8::try_from((start + k) % PERIOD).unwrap_or_default());
    head.into_iter().chain(tail).take(bytes).collect()
}

/// Returns the index a message says it has.
fn index_of(message: &Message) -> Option<u32> {
    message.payload.get(4..HEAD).and_then(|octets| octets.try_into().ok()).map(u32::from_be_bytes)
}

/// Compares messages with those due: on each stream 0, 1, 2 and so on, unordered ones in any order.
#[derive(Debug, Default)]
pub(crate) struct Verification {
    /// Messages may be missing: the sender gives some up.
    allows_gaps: bool,
    ordered: BTreeMap<StreamId, u32>,
    unordered: BTreeMap<StreamId, BTreeSet<u32>>,
}

impl Verification {
    pub(crate) fn new(allows_gaps: bool) -> Self {
        Self { allows_gaps, ..Self::default() }
    }

    /// The peer counts from zero again.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.allows_gaps);
    }

    pub(crate) fn check(&mut self, message: &Message) -> Result<(), Wrong> {
        let stream = message.stream;
        let index = match message.delivery {
            Delivery::Ordered => {
                let next = self.ordered.entry(stream).or_default();
                let later = index_of(message).filter(|named| self.allows_gaps && *named > *next);
                let due = later.unwrap_or(*next);
                *next = due.saturating_add(1);
                due
            }
            Delivery::Unordered => {
                let index = index_of(message).ok_or(Wrong::Content)?;
                if !self.unordered.entry(stream).or_default().insert(index) {
                    return Err(Wrong::Double);
                }
                index
            }
        };
        if message.payload == payload(stream, index, message.payload.len()) {
            return Ok(());
        }
        match index_of(message) {
            Some(named) if named != index => Err(Wrong::Order),
            Some(_) | None => Err(Wrong::Content),
        }
    }

    /// Returns the streams whose unordered messages are not all there.
    pub(crate) fn incomplete(&self) -> impl Iterator<Item = StreamId> {
        let has_gap = |seen: &BTreeSet<u32>| seen.iter().zip(0..).any(|(index, due)| *index != due);
        let has_gap = move |seen: &BTreeSet<u32>| !self.allows_gaps && has_gap(seen);
        self.unordered.iter().filter(move |(_, seen)| has_gap(seen)).map(|(stream, _)| *stream)
    }
}

/// The fault of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    #[error("content")]
    Content,
    #[error("out of order")]
    Order,
    #[error("an unordered message came twice")]
    Double,
    #[error("an unordered message is missing")]
    Missing,
    #[error("length, payload protocol or order flag")]
    Frame,
}

const HEAD: usize = 8;
const PERIOD: u64 = 251;

#[cfg(test)]
mod tests;
