//! The states of an association (RFC 9260 §4) and the transitions between them.
//!
//! A state carries what exists only in it. One method per transition; each writes one trace line.

use core::fmt::Display;

use crate::error::AssociationError;
use crate::event::AssociationState;
use crate::trace;

/// The questions that the rules ask of a state.
impl AssociationState {
    /// Returns whether data may be sent.
    #[inline]
    pub(crate) const fn sends_data(self) -> bool {
        matches!(
            self,
            Self::CookieEchoed | Self::Established | Self::ShutdownPending | Self::ShutdownReceived
        )
    }

    /// Returns whether the peer may send data (RFC 9260 §6).
    #[inline]
    pub(crate) const fn takes_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }

    pub(crate) const fn is_setting_up(self) -> bool {
        matches!(self, Self::CookieWait | Self::CookieEchoed)
    }

    /// Returns whether HEARTBEATs may be sent: from ESTABLISHED until SHUTDOWN or SHUTDOWN ACK (RFC 9260 §8.3).
    pub(crate) const fn sends_heartbeats(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Returns whether requests to re-configure streams may be sent.
    pub(crate) const fn reconfigures(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Returns whether requests to re-configure streams are answered: as long as data is taken, because the peer may hold
    /// back data until a reset is done, and not end before.
    pub(crate) const fn answers_reconfiguration(self) -> bool {
        self.reconfigures() || matches!(self, Self::ShutdownSent)
    }

    /// Returns whether address changes may be asked for (RFC 5061 §5.1.1 (C4)).
    pub(crate) const fn changes_addresses(self) -> bool {
        self.answers_reconfiguration()
    }
}

/// The state with what belongs to it.
#[derive(Debug)]
pub(crate) struct State(Inner);

#[derive(Debug)]
enum Inner {
    CookieWait { preservative_ms: Option<u32>, attempts: u32 },
    CookieEchoed { cookie: Box<[u8]>, attempts: u32 },
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Closed,
}

impl State {
    /// Creates the state of an association whose INIT is about to be sent.
    pub(crate) fn cookie_wait() -> Self {
        Self(Inner::CookieWait { preservative_ms: None, attempts: 1 })
    }

    /// Creates the state after a valid COOKIE ECHO arrived at the side that kept no state so far.
    pub(crate) fn established() -> Self {
        Self(Inner::Established)
    }

    #[inline]
    pub(crate) fn name(&self) -> AssociationState {
        match self.0 {
            Inner::CookieWait { .. } => AssociationState::CookieWait,
            Inner::CookieEchoed { .. } => AssociationState::CookieEchoed,
            Inner::Established => AssociationState::Established,
            Inner::ShutdownPending => AssociationState::ShutdownPending,
            Inner::ShutdownSent => AssociationState::ShutdownSent,
            Inner::ShutdownReceived => AssociationState::ShutdownReceived,
            Inner::ShutdownAckSent => AssociationState::ShutdownAckSent,
            Inner::Closed => AssociationState::Closed,
        }
    }

    /// The association is there, as it was made.
    pub(crate) fn begin(&self) {
        trace::association_state(AssociationState::Closed, self.name(), &"association begins");
    }

    /// Returns the cookie to be echoed.
    pub(crate) fn cookie(&self) -> Option<&[u8]> {
        let Inner::CookieEchoed { cookie, .. } = &self.0 else { return None };
        Some(cookie)
    }

    /// Returns how much longer than usual the next cookie is asked to live.
    pub(crate) fn preservative_ms(&self) -> Option<u32> {
        let Inner::CookieWait { preservative_ms, .. } = self.0 else { return None };
        preservative_ms
    }

    /// Counts one more attempt after T1 expired, or gives the number made when `retransmits` are used up.
    pub(crate) fn retry_handshake(&mut self, retransmits: u32) -> Result<(), u32> {
        let (Inner::CookieWait { attempts, .. } | Inner::CookieEchoed { attempts, .. }) = &mut self.0 else {
            return Ok(());
        };
        if *attempts > retransmits {
            return Err(*attempts);
        }
        *attempts += 1;
        Ok(())
    }

    /// INIT ACK received (RFC 9260 §5.1 (C)).
    pub(crate) fn enter_cookie_echoed(&mut self, cookie: &[u8]) {
        self.enter(Inner::CookieEchoed { cookie: cookie.into(), attempts: 1 }, &"INIT ACK received");
    }

    /// The cookie was stale: begin again (RFC 9260 §5.2.6 (1)).
    pub(crate) fn enter_cookie_wait(&mut self, preservative_ms: u32) {
        self.enter(
            Inner::CookieWait { preservative_ms: Some(preservative_ms), attempts: 1 },
            &"cookie was stale",
        );
    }

    /// COOKIE ACK received, or COOKIE ECHO accepted in a collision (RFC 9260 §5.1 (E), §5.2.4).
    pub(crate) fn enter_established(&mut self) {
        self.enter(Inner::Established, &"handshake complete");
    }

    /// The user asked for shutdown (RFC 9260 §9.2).
    pub(crate) fn enter_shutdown_pending(&mut self) {
        self.enter(Inner::ShutdownPending, &"user shuts down");
    }

    /// Everything is acknowledged: SHUTDOWN goes out.
    pub(crate) fn enter_shutdown_sent(&mut self) {
        self.enter(Inner::ShutdownSent, &"all data acknowledged, SHUTDOWN");
    }

    /// Enters SHUTDOWN-RECEIVED, because SHUTDOWN was received.
    pub(crate) fn enter_shutdown_received(&mut self) {
        self.enter(Inner::ShutdownReceived, &"SHUTDOWN received");
    }

    /// Everything is acknowledged after the peer's SHUTDOWN: SHUTDOWN ACK goes out.
    pub(crate) fn enter_shutdown_ack_sent(&mut self) {
        self.enter(Inner::ShutdownAckSent, &"all data acknowledged, SHUTDOWN ACK");
    }

    /// Ends the association, by agreement or by error.
    pub(crate) fn enter_closed(&mut self, error: Option<&AssociationError>) {
        match error {
            None => self.enter(Inner::Closed, &"shutdown complete"),
            Some(error) => self.enter(Inner::Closed, error),
        }
    }

    fn enter(&mut self, next: Inner, because: &dyn Display) {
        let from = self.name();
        self.0 = next;
        trace::association_state(from, self.name(), because);
    }
}
