//! What the user is to be told, in the order in which it happened.

use std::collections::VecDeque;

use crate::event::Event;

/// Events that wait for the user. Those that come again and again take no room.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    waiting: VecDeque<Event>,
    /// Behind those, in this order.
    frequent: [Option<Frequent>; 2],
}

/// An event that says how things are, and is told once, however often it happens before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frequent {
    MessageReady,
    SenderDry,
}

impl Frequent {
    fn event(self) -> Event {
        match self {
            Self::MessageReady => Event::MessageReady,
            Self::SenderDry => Event::SenderDry,
        }
    }
}

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        if matches!(event, Event::SenderDry) {
            self.push_frequent(Frequent::SenderDry);
        } else if matches!(event, Event::MessageReady) {
            self.push_frequent(Frequent::MessageReady);
        } else {
            self.push_rare(event);
        }
    }

    /// A message can be read.
    #[inline]
    pub(super) fn push_message_ready(&mut self) {
        self.push_frequent(Frequent::MessageReady);
    }

    #[inline]
    fn push_frequent(&mut self, event: Frequent) {
        match &mut self.frequent {
            [first @ None, _] => *first = Some(event),
            [Some(first), second @ None] if *first != event => *second = Some(event),
            [Some(_), _] => {}
        }
    }

    fn push_rare(&mut self, event: Event) {
        let before = core::mem::take(&mut self.frequent);
        self.waiting.extend(before.into_iter().flatten().map(Frequent::event));
        self.waiting.push_back(event);
    }

    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.push(event));
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.waiting.is_empty() {
            let [first, second] = core::mem::take(&mut self.frequent);
            self.frequent = [second, None];
            return first.map(Frequent::event);
        }
        self.pop_rare()
    }

    fn pop_rare(&mut self) -> Option<Event> {
        let event = self.waiting.pop_front();
        // Most of the time nothing waits, and associations are many.
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        event
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.frequent[0].is_none()
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

    #[test]
    fn frequent_events_keep_their_order_and_are_told_once() {
        let mut events = EventQueue::default();
        events.push(Event::SenderDry);
        events.push_message_ready();
        events.push(Event::SenderDry);
        assert_eq!(events.pop(), Some(Event::SenderDry));
        events.push_message_ready();
        events.push(Event::SenderDry);
        let told: Vec<Event> = core::iter::from_fn(|| events.pop()).collect();
        assert_eq!(told, [Event::MessageReady, Event::SenderDry]);
    }
}
