//! What the driver knows of one association beyond the core: who waits for it, what they were told.

use std::collections::VecDeque;
use std::sync::Arc;

use sctp_core::{AssociationStatistics, Event};
use tokio::sync::Notify;

use crate::error::CommunicationLost;

/// One association as its users see it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) signals: Arc<Signals>,
    pub(crate) phase: Phase,
    pub(crate) holder: Holder,
    pub(crate) events: EventQueue,
    /// The last ones, taken when the association ended.
    pub(crate) statistics: Option<AssociationStatistics>,
}

impl Slot {
    pub(crate) fn new(phase: Phase, holder: Holder) -> Self {
        Self { signals: Arc::default(), phase, holder, events: EventQueue::default(), statistics: None }
    }

    /// Where the association ended: how.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Ended(ending) => Some(ending),
            Phase::Connecting | Phase::Established => None,
        }
    }
}

/// How far an association is.
#[derive(Debug)]
pub(crate) enum Phase {
    Connecting,
    Established,
    Ended(Ending),
}

/// How an association ended: by agreement, or why not.
pub(crate) type Ending = Result<(), CommunicationLost>;

/// Who is responsible for an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody yet: it waits for `accept`.
    Backlog,
    /// The application has handles.
    Application,
    /// Nobody any more: the last handle is gone.
    Nobody,
}

/// What tasks wait for. Every waiter checks the state first and again after each signal.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The phase changed.
    pub(crate) phase: Notify,
    /// There may be a message to receive.
    pub(crate) readable: Notify,
    /// There may be room in the send buffer.
    pub(crate) writable: Notify,
    /// There may be an event.
    pub(crate) event: Notify,
}

impl Signals {
    /// The association ended: whatever somebody waits for, it will not come.
    pub(crate) fn wake_all(&self) {
        for signal in [&self.phase, &self.readable, &self.writable, &self.event] {
            signal.notify_waiters();
        }
    }
}

/// Events nobody has asked for yet.
///
/// Keeps the latest [`EVENTS_KEPT`] and, beyond that, every `SendFailed`: those carry messages that were in the
/// send buffer, whose size bounds them.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: VecDeque<Event>,
    /// Events other than `SendFailed`.
    notices: usize,
}

impl EventQueue {
    /// False if it stands there already, unread.
    pub(crate) fn push(&mut self, event: Event) -> bool {
        if !is_send_failed(&event) {
            if matches!((self.events.back(), &event), (Some(Event::SenderDry), Event::SenderDry)) {
                return false;
            }
            self.notices += 1;
            if self.notices > EVENTS_KEPT {
                self.drop_oldest_notice();
            }
        }
        self.events.push_back(event);
        true
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if !is_send_failed(&event) {
            self.notices -= 1;
        }
        Some(event)
    }

    fn drop_oldest_notice(&mut self) {
        if let Some(oldest) = self.events.iter().position(|event| !is_send_failed(event)) {
            self.events.remove(oldest);
            self.notices -= 1;
        }
    }
}

fn is_send_failed(event: &Event) -> bool {
    matches!(event, Event::SendFailed { .. })
}

/// An application that never looks at events must not pay for them without bound.
const EVENTS_KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use sctp_core::{AssociationError, Message, StreamId};

    use super::*;

    const RESTART: Event = Event::Restart { outbound_streams: 1, inbound_streams: 1 };

    #[test]
    fn repeated_sender_dry_is_one_event() {
        let mut queue = EventQueue::default();
        queue.push(Event::SenderDry);
        queue.push(Event::SenderDry);
        queue.push(RESTART);
        queue.push(Event::SenderDry);
        let all: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(all, [Event::SenderDry, RESTART, Event::SenderDry]);
    }

    #[test]
    fn old_notices_make_room_but_failed_messages_stay() {
        let failed = Event::SendFailed {
            message: Message::ordered(StreamId::new(0), "lost"),
            was_sent: false,
            reason: AssociationError::PeerRestarted.into(),
        };
        let mut queue = EventQueue::default();
        queue.push(failed.clone());
        queue.push(Event::ShutdownReceived);
        for _ in 0..EVENTS_KEPT {
            queue.push(RESTART);
        }
        assert_eq!(queue.pop(), Some(failed));
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest, vec![RESTART; EVENTS_KEPT]);
    }
}
