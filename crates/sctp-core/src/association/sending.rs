//! The user hands in messages.

use virtual_time::Instant;

use super::{Association, AssociationState};
use crate::error::SendError;
use crate::message::Message;

impl Association {
    /// Returns whether the user may hand in messages.
    fn takes_messages(&self) -> bool {
        match self.state.name() {
            AssociationState::CookieWait | AssociationState::CookieEchoed | AssociationState::Established => {
                !self.outgoing.shutdown_wanted
            }
            AssociationState::ShutdownPending
            | AssociationState::ShutdownSent
            | AssociationState::ShutdownReceived
            | AssociationState::ShutdownAckSent
            | AssociationState::Closed => false,
        }
    }

    /// Takes messages until one is refused; gives how many were taken, and why the next one was not.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        messages: impl IntoIterator<Item = Message>,
    ) -> (usize, Option<SendError>) {
        if !self.takes_messages() {
            return (0, Some(SendError::ShuttingDown));
        }
        let mut taken = 0;
        for message in messages {
            if let Err(message) = self.sender.send_plain(now, message)
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
        let displaced = self.sender.send(now, message)?;
        self.report_failed(displaced);
        Ok(())
    }

    fn after_messages(&mut self, now: Instant, taken: usize) {
        if taken == 0 {
            return;
        }
        self.outgoing.usage.on_user_data(now);
        self.watch_lifetimes();
        self.watch_progress(now);
        if self.outgoing.renew_at != Some(now) {
            self.renew_burst();
            self.outgoing.renew_at = Some(now);
        }
        // With something outstanding its acknowledgment will tell of the peer's window.
        if !self.sender.has_any_outstanding() {
            self.watch_peer_window(now);
        }
    }
}
