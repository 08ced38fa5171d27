//! The user hands in messages.

use virtual_time::Instant;

use super::{Association, Outbound, Session};
use crate::error::SendError;
use crate::message::Message;

impl Association {
    /// Takes messages until one is refused; gives how many were taken, and why the next one was not.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        messages: impl IntoIterator<Item = Message>,
    ) -> (usize, Option<SendError>) {
        if !self.session.takes_messages() {
            return (0, Some(SendError::ShuttingDown));
        }
        let mut taken = 0;
        for message in messages {
            if let Err(error) = take_message(now, message, &mut self.outbound, &mut self.session) {
                self.after_messages(now, taken);
                return (taken, Some(error));
            }
            taken += 1;
        }
        self.after_messages(now, taken);
        (taken, None)
    }

    /// Takes a single message, or says why not.
    #[inline]
    pub(crate) fn send_one(&mut self, now: Instant, message: Message) -> Result<(), SendError> {
        if !self.session.takes_messages() {
            return Err(SendError::ShuttingDown);
        }
        take_message(now, message, &mut self.outbound, &mut self.session)?;
        self.after_messages(now, 1);
        Ok(())
    }

    #[inline]
    fn after_messages(&mut self, now: Instant, taken: usize) {
        if taken == 0 {
            return;
        }
        self.outbound.watch_messages(now, &self.session);
    }
}

#[inline(always)]
fn take_message(
    now: Instant,
    message: Message,
    outbound: &mut Outbound,
    session: &mut Session,
) -> Result<(), SendError> {
    match outbound.sender.send_plain(now, message) {
        Ok(()) => Ok(()),
        Err(message) => take_with_care(now, message, outbound, session),
    }
}

/// Takes a message for which there may be no room, or that is none.
#[cold]
fn take_with_care(
    now: Instant,
    message: Message,
    outbound: &mut Outbound,
    session: &mut Session,
) -> Result<(), SendError> {
    let displaced = outbound.sender.send(now, message)?;
    session.tell_failed(displaced);
    Ok(())
}
