//! What the user is to be told, in the order in which it happened.

use std::collections::VecDeque;

use crate::event::Event;

/// Events that wait for the user. That a message can be read, which is nearly always the only one, takes no room.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    waiting: VecDeque<Event>,
    /// Behind those: a message can be read.
    is_message_ready: bool,
}

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        if core::mem::take(&mut self.is_message_ready) {
            self.waiting.push_back(Event::MessageReady);
        }
        self.waiting.push_back(event);
    }

    /// A message can be read: told once, however many come before something else happens.
    #[inline]
    pub(super) fn push_message_ready(&mut self) {
        self.is_message_ready = true;
    }

    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.push(event));
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.waiting.is_empty() {
            return core::mem::take(&mut self.is_message_ready).then_some(Event::MessageReady);
        }
        let event = self.waiting.pop_front();
        // Most of the time nothing waits, and associations are many.
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        event
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.is_message_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_of_once_between_other_events_and_in_their_place() {
        let mut events = EventQueue::default();
        assert!(events.is_empty() && events.pop().is_none());
        events.push_message_ready();
        events.push_message_ready();
        events.extend([Event::SenderDry, Event::SendBufferAvailable]);
        events.push_message_ready();
        let told: Vec<Event> = core::iter::from_fn(|| events.pop()).collect();
        let ready = Event::MessageReady;
        assert_eq!(told, [ready.clone(), Event::SenderDry, Event::SendBufferAvailable, ready]);
        assert!(events.is_empty());
    }
}
