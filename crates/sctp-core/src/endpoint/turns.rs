//! The round robin of associations that have something to send.

use std::collections::VecDeque;

use virtual_time::Instant;

use super::deadlines::SlotKey;
use super::slots::Slots;
use super::table::Entry;

/// The queue of associations that have something to do.
#[derive(Default)]
pub(super) struct Turns {
    /// Associations that are over. What they have to say, an ABORT with its cause for example, goes before answers to
    /// packets that came after they were (RFC 9260 §8.4): who gets both is to see why.
    pub(super) farewells: TurnQueue,
    /// Associations that may have packets to send.
    pub(super) sendable: TurnQueue,
    /// Associations that have events.
    pub(super) eventful: TurnQueue,
    /// One that packets were handed to, and that has not yet done what follows from them.
    pub(super) unsettled: Option<usize>,
    /// Closed associations whose last event was handed out, each once.
    pub(super) finished: Vec<usize>,
}

/// Associations in the order in which they came, each at most once. One that is forgotten keeps its place until its turn
/// comes, or until there are more such places than others.
#[derive(Default)]
pub(super) struct TurnQueue {
    places: VecDeque<SlotKey>,
    forgotten: usize,
    /// Places looked at to find those that are forgotten.
    #[cfg(test)]
    pub(super) steps: usize,
}

impl TurnQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn push(&mut self, place: SlotKey) {
        self.places.push_back(place);
    }

    /// Returns the first that is still there, as `is_there` says.
    pub(super) fn front(&mut self, is_there: impl Fn(SlotKey) -> bool) -> Option<SlotKey> {
        loop {
            let place = *self.places.front()?;
            if is_there(place) {
                return Some(place);
            }
            self.forgotten = self.forgotten.saturating_sub(1);
            self.places.pop_front();
        }
    }

    /// The first has had its turn.
    pub(super) fn pop(&mut self) {
        self.places.pop_front();
    }

    /// One that stands here is forgotten. Every step is paid for by one that was.
    pub(super) fn forget(&mut self, is_there: impl Fn(SlotKey) -> bool) {
        self.forgotten += 1;
        if 2 * self.forgotten > self.places.len() {
            #[cfg(test)]
            {
                self.steps += self.places.len();
            }
            self.places.retain(|place| is_there(*place));
            self.places.shrink_to(2 * self.places.len());
            self.forgotten = 0;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Returns whether an association is still there.
pub(super) fn is_in(associations: &Slots<Entry>) -> impl Fn(SlotKey) -> bool {
    |place| associations.get(place.slot).is_some_and(|entry| entry.generation == place.generation)
}

/// Returns whether it waits for this time and for no earlier one.
pub(super) fn waits_in(associations: &Slots<Entry>) -> impl Fn(Instant, SlotKey) -> bool {
    |at, SlotKey { slot, generation }| {
        let entry = associations.get(slot).filter(|entry| entry.generation == generation);
        entry.is_some_and(|entry| entry.armed_at == Some(at))
    }
}
