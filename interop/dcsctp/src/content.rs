//! The content of messages, the same as in `peer/content.c`.

use std::collections::BTreeMap;

/// Creates a message: octets 0-3 the stream, 4-7 the index, big-endian; octet `k` from 8 on is (31 stream + 7 index + k) mod 251.
pub(crate) fn payload(stream: u16, index: u32, bytes: usize) -> Vec<u8> {
    let start = (31 * u64::from(stream) + 7 * u64::from(index)) % PERIOD;
    let head = [u32::from(stream).to_be_bytes(), index.to_be_bytes()].concat();
    let tail = (8..).map(|k: u64| u8::try_from((start + k) % PERIOD).unwrap_or_default());
    head.into_iter().chain(tail).take(bytes).collect()
}

/// Compares messages with those due on their streams.
#[derive(Debug, Default)]
pub(crate) struct Verification {
    next: BTreeMap<u16, u32>,
    /// Unordered, per stream: sum of index less how many came before; 0 if none is missing or double.
    displaced: BTreeMap<u16, i64>,
}

impl Verification {
    /// Tells what is wrong with a message, if something is.
    pub(crate) fn check(&mut self, stream: u16, data: &[u8], order: Order) -> Option<&'static str> {
        let next = self.next.entry(stream).or_default();
        let due = *next;
        *next += 1;
        let named = data.get(4..8).and_then(|octets| octets.try_into().ok()).map(u32::from_be_bytes);
        let index = match (order, named) {
            (Order::Any, Some(named)) => {
                *self.displaced.entry(stream).or_default() += i64::from(named) - i64::from(due);
                named
            }
            (Order::Gaps, Some(named)) if named > due => {
                *next = named + 1;
                named
            }
            (Order::Any | Order::Gaps | Order::Strict, _) => due,
        };
        match data == payload(stream, index, data.len()) {
            true => None,
            false if named.is_some_and(|named| named != index) => Some("out of order"),
            false => Some("content"),
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.displaced.values().all(|sum| *sum == 0)
    }
}

/// The message that may come next on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The next message.
    Strict,
    /// A later one: the sender gives some up.
    Gaps,
    /// Any: messages are unordered.
    Any,
}

const PERIOD: u64 = 251;
