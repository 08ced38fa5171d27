//! The messages between [`send`](super::Sender::send) and the acknowledgment of their last chunk.
//!
//! A message is written down once. The queues of the streams and the outstanding chunks name it by a key, so that
//! nothing of it is copied, counted or allocated per chunk.

use sctp_wire::{Fsn, Mid};
use virtual_time::Instant;

use crate::message::{Message, Reliability};

/// Names a message as long as it is here; keys are given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageKey(u32);

impl MessageKey {
    /// Of no message.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// A message, and how far it has been sent.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) message: Message,
    /// Counts the messages of the association in the order in which they were handed in.
    pub(crate) number: u64,
    /// When it is given up.
    pub(crate) deadline: Option<Instant>,
    /// Octets of its payload that have left in chunks.
    pub(crate) sent_bytes: usize,
    /// Its number in its stream, once it was begun.
    pub(crate) mid: Mid,
    pub(crate) next_fsn: Fsn,
    pub(crate) once_begun: OnceBegun,
}

/// What becomes of a message that was begun: decided when it is, for it depends on the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnceBegun {
    /// It is sent to its end, and again until it is acknowledged.
    IsFinished,
    /// It may be given up, as its reliability says.
    MayBeGivenUp,
}

impl Stored {
    #[inline]
    pub(crate) fn new(message: Message, number: u64, deadline: Option<Instant>) -> Self {
        let (mid, next_fsn) = (Mid::new(0), Fsn::new(0));
        Self { message, number, deadline, sent_bytes: 0, mid, next_fsn, once_begun: OnceBegun::IsFinished }
    }

    pub(crate) fn unsent_bytes(&self) -> usize {
        self.message.payload.len() - self.sent_bytes
    }

    /// Whether a chunk of it that was sent so often may be sent once more.
    pub(crate) fn allows(&self, now: Instant, transmissions: u32) -> bool {
        if self.once_begun == OnceBegun::IsFinished {
            return true;
        }
        match self.message.reliability {
            Reliability::Reliable | Reliability::Priority(_) => true,
            Reliability::Lifetime(_) => self.deadline.is_none_or(|deadline| now < deadline),
            Reliability::Retransmissions(limit) => transmissions <= limit,
        }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    places: Vec<Option<Stored>>,
    free: Vec<u32>,
}

impl Messages {
    /// Puts a message in.
    #[inline]
    pub(crate) fn insert(&mut self, stored: Stored) -> MessageKey {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(stored);
            return MessageKey(place);
        }
        // The send buffer counts 64 octets for each: there are far fewer than 2^32.
        let place = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        if place == 0 {
            self.begin();
        }
        self.places.push(Some(stored));
        MessageKey(place)
    }

    /// Many associations never have more than one message at a time.
    #[cold]
    fn begin(&mut self) {
        self.places.reserve_exact(1);
    }

    pub(crate) fn get(&self, key: MessageKey) -> Option<&Stored> {
        self.places.get(key.0 as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, key: MessageKey) -> Option<&mut Stored> {
        self.places.get_mut(key.0 as usize)?.as_mut()
    }

    /// Takes a message out.
    pub(crate) fn remove(&mut self, key: MessageKey) -> Option<Stored> {
        let stored = self.places.get_mut(key.0 as usize)?.take()?;
        self.give_back(key);
        Some(stored)
    }

    /// A message is not needed any more.
    #[inline]
    pub(crate) fn release(&mut self, key: MessageKey) {
        if let Some(place) = self.places.get_mut(key.0 as usize)
            && place.is_some()
        {
            *place = None;
            self.give_back(key);
        }
    }

    #[inline]
    fn give_back(&mut self, key: MessageKey) {
        self.free.push(key.0);
        if self.free.len() == self.places.len() && self.places.len() > PLACES_KEPT {
            *self = Self::default();
        }
    }

    /// The number of a message, to find it in the order in which they were handed in.
    pub(crate) fn number(&self, key: MessageKey) -> u64 {
        self.get(key).map_or(u64::MAX, |stored| stored.number)
    }
}

/// Empty places kept for the next messages; an association that has sent more at once returns the memory when idle.
const PLACES_KEPT: usize = 8;

#[cfg(test)]
mod tests {
    use sctp_wire::StreamId;

    use super::*;

    fn stored(number: u64) -> Stored {
        Stored::new(Message::ordered(StreamId::new(0), "x"), number, None)
    }

    #[test]
    fn keys_of_removed_messages_are_given_out_again_and_name_nothing_meanwhile() {
        let mut messages = Messages::default();
        let keys: Vec<_> = (0..3).map(|number| messages.insert(stored(number))).collect();
        assert_eq!(messages.remove(keys[1]).map(|stored| stored.number), Some(1));
        assert!(messages.get(keys[1]).is_none() && messages.remove(keys[1]).is_none());
        assert!(messages.get(MessageKey::NONE).is_none());
        assert_eq!(messages.insert(stored(7)), keys[1]);
        assert_eq!((messages.number(keys[1]), messages.number(keys[2])), (7, 2));
    }

    #[test]
    fn many_messages_leave_no_memory_behind() {
        let mut messages = Messages::default();
        let keys: Vec<_> = (0..1000).map(|number| messages.insert(stored(number))).collect();
        keys.into_iter().for_each(|key| assert!(messages.remove(key).is_some()));
        assert_eq!(messages.places.capacity() + messages.free.capacity(), 0);
    }
}
