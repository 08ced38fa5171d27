//! The user hands in messages.

use virtual_time::Instant;

use super::Association;
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
            if let Err(message) = self.outbound.sender.send_plain(now, message)
                && let Err(error) = self.send_with_care(now, message)
            {
                self.after_messages(now, taken);
                return (taken, Some(error));
            }
            taken += 1;
        }
        self.after_messages(now, taken);
        (taken, None)
    }

    /// Takes a message for which there may be no room, or that is none.
    #[cold]
    fn send_with_care(&mut self, now: Instant, message: Message) -> Result<(), SendError> {
        let displaced = self.outbound.sender.send(now, message)?;
        self.session.tell_failed(displaced);
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
