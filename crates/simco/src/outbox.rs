//! The queue of messages to be sent on one connection.

use std::collections::VecDeque;

use crate::numbers::StreamNumber;

/// Messages in order: run together for an octet stream, each by itself with its stream otherwise.
#[derive(Debug)]
pub(crate) enum Outbox {
    Octets(Vec<u8>),
    Messages { queue: VecDeque<(StreamNumber, Vec<u8>)>, bytes: usize },
}

impl Outbox {
    pub(crate) const fn octets() -> Self {
        Self::Octets(Vec::new())
    }

    pub(crate) const fn messages() -> Self {
        Self::Messages { queue: VecDeque::new(), bytes: 0 }
    }

    /// Lets `write` append one message.
    pub(crate) fn push(&mut self, stream: StreamNumber, write: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Octets(octets) => write(octets),
            Self::Messages { queue, bytes } => {
                let mut message = Vec::with_capacity(TYPICAL_MESSAGE_BYTES);
                write(&mut message);
                *bytes += message.len();
                queue.push_back((stream, message));
            }
        }
    }

    /// Takes out what to send next: everything there is, or one message.
    pub(crate) fn pop(&mut self) -> Option<(StreamNumber, Vec<u8>)> {
        match self {
            Self::Octets(octets) if octets.is_empty() => None,
            Self::Octets(octets) => Some((StreamNumber::CONTROL, core::mem::take(octets))),
            Self::Messages { queue, bytes } => {
                let (stream, message) = queue.pop_front()?;
                *bytes -= message.len();
                Some((stream, message))
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Returns the number of octets that wait.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Octets(octets) => octets.len(),
            Self::Messages { bytes, .. } => *bytes,
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Octets(octets) => octets.clear(),
            Self::Messages { queue, bytes } => {
                queue.clear();
                *bytes = 0;
            }
        }
    }
}

const TYPICAL_MESSAGE_BYTES: usize = 72;
