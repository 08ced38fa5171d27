use sctp_wire::{SharedKeyId, StreamId};

use super::*;
use crate::config::{AssociationConfig, EventLimits, EventMask};
use crate::error::{AssociationError, RemoteError, SendFailure};
use crate::event::{ReconfigOutcome, StreamDirection};
use crate::message::Message;

fn queue() -> EventQueue {
    let mut queue = EventQueue::new(&AssociationConfig::default().buffers);
    queue.set_mask(EventMask::ALL);
    queue
}

fn limited(notices: EventLimit, failures: EventLimit) -> EventQueue {
    let events = EventLimits { notices, failures: Some(failures), mask: EventMask::ALL };
    EventQueue::new(&Buffers { events, ..AssociationConfig::default().buffers })
}

fn all(events: &mut EventQueue) -> Vec<Event> {
    core::iter::from_fn(|| events.pop()).collect()
}

fn key(number: u16) -> Event {
    Event::NewPeerKey(SharedKeyId::new(number))
}

fn restart(streams: u16) -> Event {
    Event::Restart { outbound_streams: streams, inbound_streams: streams }
}

fn failed(context: u64, len: usize) -> Event {
    let message = Message::ordered(StreamId::new(0), vec![0; len]).with_context(context);
    Event::SendFailed { message, was_sent: false, reason: SendFailure::LifetimeExpired }
}

const PLENTY: EventLimit = EventLimit { number: 1000, bytes: 1 << 20 };

#[test]
fn events_come_in_the_order_in_which_they_happened_and_states_once() {
    let mut events = queue();
    assert!(events.is_empty() && events.pop().is_none());
    events.push_message_ready();
    events.push_message_ready();
    events.extend([Event::SenderDry, key(1), failed(1, 1), Event::SendBufferAvailable, key(2), failed(2, 1)]);
    events.push_message_ready();
    events.extend([Event::SenderDry, Event::SendBufferAvailable, Event::ShutdownComplete]);
    let told = [Event::MessageReady, Event::SenderDry, key(1), failed(1, 1), Event::SendBufferAvailable];
    let then = [key(2), failed(2, 1), Event::ShutdownComplete];
    assert_eq!(all(&mut events), [&told[..], &then].concat());
    assert!(events.is_empty() && events.waiting.is_none());
}

#[test]
fn states_that_were_told_are_told_again() {
    let mut events = queue();
    assert!(events.push(Event::SenderDry) && events.push(Event::MessageReady));
    assert!(!events.push(Event::SenderDry));
    assert_eq!(events.pop(), Some(Event::SenderDry));
    assert!(events.push(Event::SenderDry));
    assert_eq!(all(&mut events), [Event::MessageReady, Event::SenderDry]);
    events.extend([key(1), Event::SenderDry]);
    assert_eq!(all(&mut events), [key(1), Event::SenderDry]);
    assert!(events.push(Event::SenderDry));
}

#[test]
fn oldest_notices_go_by_number_and_what_must_be_known_stays() {
    let mut events = limited(EventLimit { number: 3, ..PLENTY }, PLENTY);
    let up = Event::CommunicationUp {
        outbound_streams: 1,
        inbound_streams: 1,
        origin: crate::event::Origin::Accepted,
    };
    events.extend([up.clone(), failed(1, 1)]);
    events.extend((0..10_000).flat_map(|number| [key(number), restart(number)]));
    events.push(Event::CommunicationLost(AssociationError::AbortedLocally));
    let lost = Event::CommunicationLost(AssociationError::AbortedLocally);
    let kept = [up, failed(1, 1), key(9_997), key(9_998), key(9_999), restart(9_999), lost];
    assert_eq!(all(&mut events), kept);
    assert_eq!(events.dropped(), EventCounters { notices_dropped: 9_997, failures_dropped: 0 });
}

#[test]
fn octets_count_as_they_are_held() {
    let one = EVENT_BYTES + 112;
    let mut events = limited(PLENTY, EventLimit { bytes: 3 * one, ..PLENTY });
    events.extend((0..10).map(|context| failed(context, 100)));
    // It takes the place of two, and a larger one finds none at all.
    assert!(events.push(failed(10, 2 * one - EVENT_BYTES - 8)));
    assert!(!events.push(failed(11, 3 * one)));
    assert_eq!(all(&mut events), [failed(9, 100), failed(10, 2 * one - EVENT_BYTES - 8)]);
    assert_eq!(events.dropped(), EventCounters { notices_dropped: 0, failures_dropped: 10 });
}

#[test]
fn lists_and_texts_of_the_peer_count() {
    let (direction, result) = (StreamDirection::Incoming, ReconfigOutcome::Performed);
    let streams = vec![StreamId::new(0); 1000];
    let reset = Event::StreamsReset { direction, streams, result };
    let error = Event::RemoteError(RemoteError { cause: None, text: "x".repeat(2000).into() });
    let mut events = limited(EventLimit { bytes: 2016 + EVENT_BYTES, ..PLENTY }, PLENTY);
    events.extend([reset.clone(), error.clone()]);
    assert_eq!(all(&mut events), [error]);
    events.extend([key(1), reset.clone()]);
    assert_eq!(all(&mut events), [reset]);
    assert_eq!(events.dropped().notices_dropped, 2);
}

#[test]
fn by_default_a_full_send_buffer_can_fail_and_is_told_of_to_the_last_message() {
    let buffers = AssociationConfig::default().buffers;
    for len in [1, 1000, buffers.message_bytes] {
        let mut events = queue();
        let messages = buffers.send_bytes / (len + MESSAGE_LEAST_BYTES);
        events.extend((0..messages).map(|_| failed(0, len)));
        assert_eq!(events.dropped(), EventCounters::default(), "{messages} of {len}");
    }
}

#[test]
fn kinds_that_are_left_out_do_not_wait_and_are_not_counted() {
    let mut events = queue();
    events.set_mask(EventMask::NONE);
    assert!(!events.push(Event::SenderDry) && !events.push(key(1)) && !events.push(failed(1, 1)));
    assert!(events.push(restart(1)) && events.push(Event::MessageReady), "these cannot be left out");
    assert_eq!(events.dropped(), EventCounters::default());
    events.set_mask(EventMask::NONE.with(EventGroup::Keys));
    assert!(events.push(key(2)) && !events.push(Event::SenderDry));
    assert_eq!(all(&mut events), [restart(1), Event::MessageReady, key(2)]);
}
