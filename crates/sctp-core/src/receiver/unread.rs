//! Messages that the user took out to sort them and has not read yet: they count as if they were still here.

use core::mem::size_of;

use super::Receiver;
use super::ordering::share_of;
use crate::message::Received;

/// The messages taken out and not read yet, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    messages: usize,
    payload_bytes: usize,
    /// Octets that the payloads take beside their own.
    beside_bytes: usize,
}

impl Unread {
    pub(super) fn is_empty(self) -> bool {
        self.messages == 0
    }

    /// Returns the number of octets in what holds them, besides their payload.
    #[inline]
    pub(super) fn overhead_bytes(self) -> usize {
        self.messages * UNREAD_BYTES + self.beside_bytes
    }

    /// Takes note that some were read; returns how much payload that frees, which is never more than there was.
    fn forget(&mut self, messages: usize, payload_bytes: usize) -> usize {
        let left = self.messages.saturating_sub(messages);
        let payload_bytes =
            if left == 0 { self.payload_bytes } else { payload_bytes.min(self.payload_bytes) };
        self.beside_bytes -= share_of(self.beside_bytes, messages, left);
        self.messages = left;
        self.payload_bytes -= payload_bytes;
        payload_bytes
    }
}

impl Receiver {
    /// Appends up to `limit` messages for the user, whose room in the window is not free before
    /// [`mark_read`](Self::mark_read); gives how many there were.
    pub(crate) fn take_unread(&mut self, limit: usize, into: &mut Vec<Received>) -> usize {
        let before = into.len();
        self.ordering.receive_many(limit, into);
        let taken = &into[before..];
        self.unread.beside_bytes += self.ordering.forget_beside(taken.len());
        self.unread.messages += taken.len();
        self.unread.payload_bytes +=
            taken.iter().map(|received| received.message.payload.len()).sum::<usize>();
        self.ordering.give_back();
        self.count_held();
        if !self.ordering.has_message() {
            self.arena.end_round();
        }
        taken.len()
    }

    /// Takes note that the user has read some of the messages taken out: their room in the window is free again.
    pub(crate) fn mark_read(&mut self, messages: usize, payload_bytes: usize) {
        let freed = self.unread.forget(messages, payload_bytes);
        self.window.release(freed);
        self.count_held();
    }

    /// Takes over what the user of a predecessor has taken out and not read, when the peer has restarted.
    pub(super) fn adopt_unread(&mut self, predecessor: &mut Self) {
        self.unread = core::mem::take(&mut predecessor.unread);
        self.window.hold(self.unread.payload_bytes);
    }

    /// Returns whether there is a message that the user has not read, here or taken out.
    #[inline]
    pub(super) fn has_unread(&self) -> bool {
        self.ordering.has_message() || !self.unread.is_empty()
    }
}

/// Octets of a message in a queue of the user's, with its share of the free places.
const UNREAD_BYTES: usize = size_of::<Received>() + size_of::<Received>() / 2;
