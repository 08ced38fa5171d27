//! The user reads a message, and what may come of it.

use virtual_time::Instant;

use super::{Association, Timer};
use crate::message::Received;
use crate::receiver::Receiver;

impl Association {
    /// Returns whether the user has something to read.
    #[inline]
    pub(crate) fn has_message(&self) -> bool {
        self.inbound.has_message()
    }

    /// Returns whether the peer has sent user data.
    pub(crate) fn has_user_data(&self) -> bool {
        self.inbound.has_user_data()
    }

    /// Returns the next message. [`after_reading`](Self::after_reading) says what comes of it.
    #[inline]
    pub(crate) fn receive(&mut self) -> Option<Received> {
        self.inbound.receive()
    }

    /// Appends up to `limit` messages for the user; returns how many there were.
    #[inline]
    pub(crate) fn receive_many(&mut self, limit: usize, into: &mut Vec<Received>) -> usize {
        self.inbound.receive_many(limit, into)
    }

    /// Appends up to `limit` messages that go on counting against the window; returns how many there were.
    pub(crate) fn take_unread(&mut self, limit: usize, into: &mut Vec<Received>) -> usize {
        self.inbound.receiver.as_mut().map_or(0, |receiver| receiver.take_unread(limit, into))
    }

    /// Messages that were taken out have been read.
    pub(crate) fn mark_read(&mut self, messages: usize, payload_bytes: usize) {
        if let Some(receiver) = &mut self.inbound.receiver {
            receiver.mark_read(messages, payload_bytes);
        }
    }

    /// Returns what is to be done after messages were read.
    #[inline]
    pub(crate) fn after_reading(&self) -> AfterReading {
        if self.is_closed() {
            AfterReading::Farewell
        } else if self.inbound.receiver.as_ref().is_some_and(Receiver::window_update_due) {
            AfterReading::WindowUpdate
        } else {
            AfterReading::Nothing
        }
    }

    /// The peer is to hear that there is room again.
    pub(crate) fn update_window(&mut self, now: Instant) {
        self.inbound.hurry_sack();
        self.outbox.timers.stop(Timer::SackDelay);
        self.after_input(now);
    }
}

/// The work that is to be done after messages were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterReading {
    /// There is less to read.
    Nothing,
    /// The peer is to hear of the room there is.
    WindowUpdate,
    /// The association is over: the last message may have been the last thing left to do.
    Farewell,
}
