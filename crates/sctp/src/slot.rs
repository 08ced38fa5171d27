//! The driver's knowledge of one association beyond the core: who waits for it, and what they were told.

use std::sync::Arc;

use sctp_core::{AssociationStatistics, AssociationStatus, Buffers, EventMask, EventQueue};

use crate::error::CommunicationLost;
use crate::surroundings::Notify;

/// One association as its users see it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) signals: Arc<Signals>,
    pub(crate) phase: Phase,
    pub(crate) holder: Holder,
    /// Events that nobody has asked for yet.
    pub(crate) events: EventQueue,
    /// The knowledge of it when it ended.
    pub(crate) last: Option<Box<Last>>,
}

/// The last that was known of an association.
#[derive(Debug)]
pub(crate) struct Last {
    pub(crate) status: AssociationStatus,
    pub(crate) statistics: AssociationStatistics,
}

impl Slot {
    pub(crate) fn new(phase: Phase, holder: Holder, buffers: &Buffers) -> Self {
        let mut events = EventQueue::new(buffers);
        // What comes here was asked for.
        events.set_mask(EventMask::ALL);
        Self { signals: Arc::default(), phase, holder, events, last: None }
    }

    /// Returns how the association ended, if it has.
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

/// The owner of an association, who is responsible for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody yet: it waits for `accept`.
    Backlog,
    /// The application has handles.
    Application,
    /// Nobody any more: the last handle is gone.
    Nobody,
}

/// The signals that tasks wait for. Every waiter checks the state first and again after each signal.
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
