//! The messages between [`send`](super::Sender::send) and the acknowledgment of their last chunk.
//!
//! A message is written down once. The queues of the streams and the outstanding chunks name it by a key, so that
//! nothing of it is copied, counted or allocated per chunk.

use core::mem::size_of;

use sctp_wire::{Fsn, Mid};
use virtual_time::Instant;

use crate::message::{Message, Reliability};

/// Names a message as long as it is here; keys are given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageKey(u32);

impl MessageKey {
    /// The key of no message.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// A message, and how far it has been sent.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) message: Message,
    /// Counts the messages of the association in the order in which they were handed in.
    pub(crate) number: u64,
    /// The time at which the message is given up.
    pub(crate) deadline: Option<Instant>,
    /// Octets of its payload that have left in chunks; the longest message has fewer than 32 bits count.
    pub(crate) sent_bytes: u32,
    /// The number of the message in its stream, once it was begun.
    pub(crate) mid: Mid,
    pub(crate) next_fsn: Fsn,
    pub(crate) once_begun: OnceBegun,
}

/// The fate of a message that was begun: decided when it is, for it depends on the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnceBegun {
    /// The message is sent to its end, and again until it is acknowledged.
    IsFinished,
    /// The message may be given up, as its reliability says.
    MayBeGivenUp,
}

impl Stored {
    #[inline]
    pub(crate) fn new(message: Message, number: u64, deadline: Option<Instant>) -> Self {
        let (mid, next_fsn) = (Mid::new(0), Fsn::new(0));
        Self { message, number, deadline, sent_bytes: 0, mid, next_fsn, once_begun: OnceBegun::IsFinished }
    }

    pub(crate) fn unsent_bytes(&self) -> usize {
        self.message.payload.len() - self.sent_bytes as usize
    }

    /// Returns whether a chunk of it that was sent so often may be sent once more.
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
    /// Room for all places: it does not grow by itself.
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
        if self.places.len() == self.places.capacity() {
            self.grow();
        }
        // The send buffer counts over a hundred octets for each: there are far fewer than 2^32.
        let place = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(Some(stored));
        MessageKey(place)
    }

    /// Many associations never have more than one message at a time, and others many at once, again and again; many
    /// messages grow by an eighth, for each place counts.
    #[cold]
    fn grow(&mut self) {
        let places = self.places.len();
        let more = if places < 64 { (3 * places).max(1) } else { places / 8 };
        self.places.reserve_exact(more);
        self.free.reserve_exact(self.places.capacity() - self.free.len());
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
        self.free.push(key.0);
        Some(stored)
    }

    /// A message is not needed any more.
    #[inline]
    pub(crate) fn release(&mut self, key: MessageKey) {
        if let Some(place) = self.places.get_mut(key.0 as usize)
            && place.is_some()
        {
            *place = None;
            self.free.push(key.0);
        }
    }

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns the number of octets that hold them, beside their payload.
    pub(crate) fn held_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Option<Stored>>() + self.free.capacity() * size_of::<u32>()
    }

    /// Returns the number of octets of that in which nothing is.
    pub(crate) fn idle_bytes(&self) -> usize {
        (self.places.capacity() - self.len()) * PLACE_BYTES
    }

    /// Returns whether far more places are free than are not.
    #[inline]
    pub(crate) fn is_sparse(&self) -> bool {
        let (free, places) = (self.free.len(), self.places.len());
        (free == places && places > PLACES_KEPT) || free > places / 2 + PLACES_SPARE
    }

    /// Moves them together and gives the rest of the memory back; gives their new names by the old ones.
    pub(crate) fn compact(&mut self) -> Renamed {
        let (count, Self { places, .. }) = (self.len(), core::mem::take(self));
        if count == 0 {
            return Renamed(Vec::new());
        }
        let mut names = vec![MessageKey::NONE; places.len()];
        self.places.reserve_exact(count + count / 8);
        for (name, stored) in names.iter_mut().zip(places).filter(|(_, place)| place.is_some()) {
            *name = MessageKey(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
            self.places.push(stored);
        }
        self.free.reserve_exact(self.places.capacity());
        Renamed(names)
    }

    /// Returns the number of a message, to find it in the order in which they were handed in.
    pub(crate) fn number(&self, key: MessageKey) -> u64 {
        self.get(key).map_or(u64::MAX, |stored| stored.number)
    }
}

/// The names of messages that were moved.
#[derive(Debug)]
pub(crate) struct Renamed(Vec<MessageKey>);

impl Renamed {
    /// Returns the key that a message has now.
    pub(crate) fn name(&self, key: MessageKey) -> MessageKey {
        self.0.get(key.0 as usize).copied().unwrap_or(MessageKey::NONE)
    }
}

/// Octets of a message beside its payload, with its place in the list of free ones.
pub(crate) const PLACE_BYTES: usize = size_of::<Option<Stored>>() + size_of::<u32>();

/// Empty places kept for the next messages; an association that has sent more at once returns the memory when idle.
const PLACES_KEPT: usize = 8;

/// The number of spare places for which it is not worth to move messages.
const PLACES_SPARE: usize = 256;

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
    fn messages_move_together_when_most_are_gone_and_leave_no_memory_behind() {
        let mut messages = Messages::default();
        let keys: Vec<_> = (0..1000).map(|number| messages.insert(stored(number))).collect();
        assert!(messages.held_bytes() < 1000 * PLACE_BYTES * 9 / 8 + PLACE_BYTES);
        keys[..990].iter().for_each(|key| messages.release(*key));
        assert!(messages.is_sparse());
        let renamed = messages.compact();
        assert_eq!((messages.len(), renamed.name(keys[0])), (10, MessageKey::NONE));
        let kept: Vec<_> = keys[990..].iter().map(|key| renamed.name(*key)).collect();
        assert!(kept.iter().zip(990..).all(|(key, number)| messages.number(*key) == number));
        assert!(!messages.is_sparse() && messages.held_bytes() <= 12 * PLACE_BYTES);
        kept.into_iter().for_each(|key| messages.release(key));
        assert!(messages.is_sparse());
        messages.compact();
        assert_eq!(messages.held_bytes(), 0);
    }
}
