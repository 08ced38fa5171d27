//! The user reads a message, and what may come of it.

use virtual_time::Instant;

use super::{Association, Timer};
use crate::message::Received;

impl Association {
    /// The next message, and whether more came of reading it.
    pub(crate) fn receive(&mut self, now: Instant) -> Option<(Received, AfterReading)> {
        let is_closed = self.is_closed();
        let receiver = self.receiver.as_mut()?;
        let received = receiver.receive()?;
        if is_closed {
            return Some((received, AfterReading::More));
        }
        if !receiver.window_update_due() {
            return Some((received, AfterReading::Nothing));
        }
        receiver.on_sack_timer();
        self.timers.stop(Timer::SackDelay);
        self.after_input(now);
        Some((received, AfterReading::More))
    }
}

/// What reading a message led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterReading {
    /// There is one less to read.
    Nothing,
    /// The peer is to hear of it, or it was the last thing left to do.
    More,
}
