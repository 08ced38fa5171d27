//! Events that wait for the user, within bounds.
//!
//! Three kinds, each with a rule of its own:
//!
//! | kind | which | bound |
//! |---|---|---|
//! | news | the association is up, began anew, is ending, is over; something can be read or written | one of each: the others never make it go |
//! | failures | [`Event::SendFailed`] | [`EventLimits::failures`] |
//! | notices | all others | [`EventLimits::notices`] |
//!
//! Failures and notices that are one too many go, the oldest of their kind first, and are counted.

use core::mem::size_of;
use std::collections::VecDeque;

use super::{Event, Origin};
use crate::allocation::allocated_bytes;
use crate::config::{Buffers, EventGroup, EventLimit, EventMask};
use crate::message::Message;
use crate::seldom::Seldom;

/// The events of one association that wait for its user, in the order in which they happened.
///
/// An [`Endpoint`](crate::Endpoint) has one for each association. Drivers that take events from there and hand them to
/// applications, which may never ask, keep them in one of their own.
///
/// * An event that says how things are ([`Event::MessageReady`], [`Event::SenderDry`], [`Event::SendBufferAvailable`])
///   waits once, however often it happens, where it happened first.
/// * [`Event::CommunicationUp`], [`Event::Restart`], [`Event::ShutdownReceived`] and those that end the association are
///   never dropped. Of each the newest waits: a peer that restarts again and again makes one [`Event::Restart`].
/// * Of kinds that the [`EventMask`] leaves out there are none.
/// * [`Event::SendFailed`] and all others wait within [`EventLimits`](crate::EventLimits). The oldest are dropped and
///   counted in [`EventCounters`].
///
/// ```
/// use sctp_core::{AssociationConfig, Event, EventQueue};
///
/// let mut events = EventQueue::new(&AssociationConfig::default().buffers);
/// assert!(events.push(Event::MessageReady));
/// assert!(!events.push(Event::MessageReady), "it waits already");
/// assert!(!events.push(Event::SenderDry), "nobody asked for it");
/// assert_eq!(events.pop(), Some(Event::MessageReady));
/// assert!(events.is_empty());
/// ```
#[derive(Debug)]
pub struct EventQueue {
    mask: EventMask,
    notices: EventLimit,
    failures: EventLimit,
    /// The events that happen all the time, in this order, as long as nothing else waits.
    frequent: [Option<Frequent>; 2],
    /// News before these, as long as nothing else waits: most associations are up or over, and no more.
    alone: Option<Alone>,
    /// Exists while anything else waits: mostly nothing does, and associations are many.
    waiting: Option<Box<WaitingEvents>>,
    dropped: Seldom<EventCounters>,
}

/// Events that nobody asked for in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EventCounters {
    /// The number of [`Event::SendFailed`] dropped because too many waited, or too large ones.
    pub failures_dropped: u64,
    /// The number of other events dropped for that reason.
    pub notices_dropped: u64,
}

impl EventCounters {
    /// Returns the sum of two queues behind each other.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            failures_dropped: self.failures_dropped.saturating_add(other.failures_dropped),
            notices_dropped: self.notices_dropped.saturating_add(other.notices_dropped),
        }
    }
}

/// An event that is told once, however often it happens before another one.
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

/// News that wait for themselves. That an association is up, all of them tell: it takes no memory elsewhere.
#[derive(Debug)]
enum Alone {
    Up { outbound_streams: u16, inbound_streams: u16, origin: Origin },
    Other(Box<Event>),
}

impl Alone {
    fn new(event: Event) -> Self {
        if let Event::CommunicationUp { outbound_streams, inbound_streams, origin } = event {
            Self::Up { outbound_streams, inbound_streams, origin }
        } else {
            Self::Other(Box::new(event))
        }
    }

    fn event(self) -> Event {
        match self {
            Self::Up { outbound_streams, inbound_streams, origin } => {
                Event::CommunicationUp { outbound_streams, inbound_streams, origin }
            }
            Self::Other(event) => *event,
        }
    }
}

/// The treatment of an event when others come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventClass {
    /// Says how things are: one that waits says it already.
    State,
    /// Stays, but for the next of its sort.
    News,
    Failure,
    Notice,
}

fn kind(event: &Event) -> EventClass {
    match event {
        Event::MessageReady | Event::SenderDry | Event::SendBufferAvailable => EventClass::State,
        Event::CommunicationUp { .. }
        | Event::Restart { .. }
        | Event::ShutdownReceived
        | Event::ShutdownComplete
        | Event::CommunicationLost(_)
        | Event::CannotStart(_) => EventClass::News,
        Event::SendFailed { .. } => EventClass::Failure,
        Event::StreamsReset { .. }
        | Event::AssociationReset { .. }
        | Event::StreamsAdded { .. }
        | Event::PeerAddressChange { .. }
        | Event::RemoteError(_)
        | Event::PartialDeliveryAborted { .. }
        | Event::NewPeerKey(_)
        | Event::AddressChangeAnswered { .. }
        | Event::PeerPrimary(_)
        | Event::TrainReceived { .. } => EventClass::Notice,
    }
}

/// Returns the kind by which a mask leaves an event out; `None` if none does.
fn mask_kind(event: &Event) -> Option<EventGroup> {
    match event {
        Event::SenderDry => Some(EventGroup::SenderDry),
        Event::SendFailed { .. } => Some(EventGroup::SendFailed),
        Event::PeerAddressChange { .. } | Event::PeerPrimary(_) | Event::TrainReceived { .. } => {
            Some(EventGroup::Paths)
        }
        Event::RemoteError(_) => Some(EventGroup::RemoteErrors),
        Event::PartialDeliveryAborted { .. } => Some(EventGroup::PartialDelivery),
        Event::NewPeerKey(_) => Some(EventGroup::Keys),
        Event::AddressChangeAnswered { .. } => Some(EventGroup::AddressChanges),
        Event::MessageReady
        | Event::SendBufferAvailable
        | Event::CommunicationUp { .. }
        | Event::Restart { .. }
        | Event::ShutdownReceived
        | Event::ShutdownComplete
        | Event::CommunicationLost(_)
        | Event::CannotStart(_)
        | Event::StreamsReset { .. }
        | Event::AssociationReset { .. }
        | Event::StreamsAdded { .. } => None,
    }
}

impl EventQueue {
    /// Makes an empty queue with the limits of an association that has these buffers.
    #[must_use]
    pub fn new(buffers: &Buffers) -> Self {
        Self {
            mask: buffers.events.mask,
            notices: buffers.events.notices,
            failures: failure_limit(buffers),
            frequent: [None; 2],
            alone: None,
            waiting: None,
            dropped: Seldom::default(),
        }
    }

    /// Keeps events of these kinds from now on. Those that wait stay.
    pub const fn set_mask(&mut self, mask: EventMask) {
        self.mask = mask;
    }

    /// Puts an event behind those that wait. False if it says nothing new, is too large to be kept, or is left out.
    pub fn push(&mut self, event: Event) -> bool {
        if matches!(event, Event::SenderDry) {
            self.mask.has(EventGroup::SenderDry) && self.push_frequent(Frequent::SenderDry)
        } else if matches!(event, Event::MessageReady) {
            self.push_frequent(Frequent::MessageReady)
        } else {
            self.push_rare(event)
        }
    }

    /// A message can be read.
    #[inline]
    pub(crate) fn push_message_ready(&mut self) {
        self.push_frequent(Frequent::MessageReady);
    }

    #[inline]
    fn push_frequent(&mut self, event: Frequent) -> bool {
        if self.waiting.is_some() {
            return self.push_rare(event.event());
        }
        match &mut self.frequent {
            [first @ None, _] => *first = Some(event),
            [Some(first), second @ None] if *first != event => *second = Some(event),
            [Some(_), _] => return false,
        }
        true
    }

    fn push_rare(&mut self, event: Event) -> bool {
        if mask_kind(&event).is_some_and(|kind| !self.mask.has(kind)) {
            return false;
        }
        if self.is_empty() && kind(&event) == EventClass::News {
            self.alone = Some(Alone::new(event));
            return true;
        }
        let waiting = self.waiting.get_or_insert_default();
        if let Some(alone) = self.alone.take() {
            // This one and the one that comes are mostly all there will be.
            waiting.news.reserve_exact(2);
            let _first = waiting.push_news(alone.event());
        }
        for before in core::mem::take(&mut self.frequent).into_iter().flatten() {
            let _first = waiting.push_state(before.event());
        }
        let is_new = match kind(&event) {
            EventClass::State => waiting.push_state(event),
            EventClass::News => waiting.push_news(event),
            EventClass::Failure => {
                let number = waiting.next();
                let room = waiting.failures.push(number, event, self.failures);
                room.count(|| &mut self.dropped.note().failures_dropped)
            }
            EventClass::Notice => {
                let number = waiting.next();
                let room = waiting.notices.push(number, event, self.notices);
                room.count(|| &mut self.dropped.note().notices_dropped)
            }
        };
        self.forget_if_empty();
        is_new
    }

    /// Puts events behind those that wait.
    pub(crate) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            let _is_new = self.push(event);
        }
    }

    /// Takes the event that has waited longest.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.waiting.is_none() {
            if let Some(alone) = self.alone.take() {
                return Some(alone.event());
            }
            let [first, second] = core::mem::take(&mut self.frequent);
            self.frequent = [second, None];
            return first.map(Frequent::event);
        }
        self.pop_rare()
    }

    fn pop_rare(&mut self) -> Option<Event> {
        let waiting = self.waiting.as_deref_mut()?;
        let event = waiting.pop();
        self.forget_if_empty();
        event
    }

    fn forget_if_empty(&mut self) {
        if self.waiting.as_deref().is_some_and(WaitingEvents::is_empty) {
            self.waiting = None;
        }
    }

    /// Returns whether nothing waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_none() && self.frequent[0].is_none() && self.alone.is_none()
    }

    /// Returns how many events were dropped so far.
    #[must_use]
    pub fn dropped(&self) -> EventCounters {
        self.dropped.get()
    }
}

/// Everything that waits, each event with its number in the order in which they happened.
#[derive(Debug, Default)]
struct WaitingEvents {
    numbers: u64,
    /// States and news: at most one of a sort, so it is short.
    news: VecDeque<Numbered>,
    failures: Bounded,
    notices: Bounded,
}

type Numbered = (u64, Event);

impl WaitingEvents {
    fn next(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn push_state(&mut self, event: Event) -> bool {
        let is_new = !self.news.iter().any(|(_, waiting)| *waiting == event);
        if is_new {
            let number = self.next();
            self.news.push_back((number, event));
        }
        is_new
    }

    fn push_news(&mut self, event: Event) -> bool {
        let sort = core::mem::discriminant(&event);
        self.news.retain(|(_, waiting)| core::mem::discriminant(waiting) != sort);
        let number = self.next();
        self.news.push_back((number, event));
        true
    }

    fn pop(&mut self) -> Option<Event> {
        let fronts = [&self.news, &self.failures.events, &self.notices.events];
        let [news, failure, notice] =
            fronts.map(|events| events.front().map_or(u64::MAX, |(number, _)| *number));
        if news <= failure.min(notice) {
            self.news.pop_front().map(|(_, event)| event)
        } else if failure < notice {
            self.failures.pop()
        } else {
            self.notices.pop()
        }
    }

    fn is_empty(&self) -> bool {
        self.news.is_empty() && self.failures.events.is_empty() && self.notices.events.is_empty()
    }
}

/// Events of which the newest are kept.
#[derive(Debug, Default)]
struct Bounded {
    events: VecDeque<Numbered>,
    bytes: usize,
}

/// How room was made for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventRoom {
    /// There is room, after so many older events were dropped.
    Made { dropped: u64 },
    /// There is no room: the event is larger than all of them may be together, and was dropped itself.
    None,
}

impl EventRoom {
    /// Counts what was dropped. Whether the event has found room.
    fn count<'a>(self, counter: impl FnOnce() -> &'a mut u64) -> bool {
        match self {
            Self::Made { dropped: 0 } => true,
            Self::Made { dropped } => {
                *counter() += dropped;
                true
            }
            Self::None => {
                *counter() += 1;
                false
            }
        }
    }
}

impl Bounded {
    fn push(&mut self, number: u64, event: Event, limit: EventLimit) -> EventRoom {
        let bytes = held_bytes(&event);
        if limit.number == 0 || bytes > limit.bytes {
            return EventRoom::None;
        }
        let mut dropped = 0;
        while self.events.len() >= limit.number || self.bytes + bytes > limit.bytes {
            let _oldest = self.pop();
            dropped += 1;
        }
        self.bytes += bytes;
        self.grow();
        self.events.push_back((number, event));
        EventRoom::Made { dropped }
    }

    /// Many events grow by an eighth, and not to the double: each counts its own place alone.
    fn grow(&mut self) {
        let places = self.events.len();
        if places == self.events.capacity() && places >= PLACES_BY_DOUBLES {
            self.events.reserve_exact(places / 8);
        }
    }

    fn pop(&mut self) -> Option<Event> {
        let (_, event) = self.events.pop_front()?;
        self.bytes -= held_bytes(&event);
        Some(event)
    }
}

/// Returns the limit that holds for [`Event::SendFailed`]: by default, as much as a full send buffer can hold.
fn failure_limit(buffers: &Buffers) -> EventLimit {
    buffers.events.failures.unwrap_or_else(|| {
        // A message that finds the buffer empty is always taken; an octet is the least that it carries.
        let number = buffers.send_bytes.div_ceil(MESSAGE_LEAST_BYTES + 1);
        let bytes = buffers.send_bytes.saturating_add(number.saturating_mul(EVENT_BYTES));
        EventLimit { number, bytes }
    })
}

/// Returns the number of octets that a waiting event holds in memory.
fn held_bytes(event: &Event) -> usize {
    let beside = match event {
        Event::SendFailed { message, .. } => allocated_bytes(message.payload.len()),
        Event::StreamsReset { streams, .. } => {
            allocated_bytes(streams.capacity() * size_of::<sctp_wire::StreamId>())
        }
        Event::RemoteError(error) => allocated_bytes(error.text.len()),
        Event::CommunicationUp { .. }
        | Event::Restart { .. }
        | Event::ShutdownReceived
        | Event::ShutdownComplete
        | Event::CommunicationLost(_)
        | Event::CannotStart(_)
        | Event::AssociationReset { .. }
        | Event::StreamsAdded { .. }
        | Event::PeerAddressChange { .. }
        | Event::PartialDeliveryAborted { .. }
        | Event::NewPeerKey(_)
        | Event::AddressChangeAnswered { .. }
        | Event::PeerPrimary(_)
        | Event::TrainReceived { .. }
        | Event::MessageReady
        | Event::SenderDry
        | Event::SendBufferAvailable => 0,
    };
    EVENT_BYTES + beside
}

/// Places up to which a queue grows to the double.
const PLACES_BY_DOUBLES: usize = 64;

/// Octets of a waiting event without what it points to.
const EVENT_BYTES: usize = size_of::<Numbered>();

/// Octets that a message takes in the send buffer at least, beside its payload.
const MESSAGE_LEAST_BYTES: usize = size_of::<Message>();

#[cfg(test)]
mod tests;
