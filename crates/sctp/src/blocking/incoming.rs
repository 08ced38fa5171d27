//! Peers that ask for an association, decided about by blocking code.

use std::sync::Arc;
use std::time::Duration;

use sctp_core::{AcceptError, AssociationConfig, Newcomer, RefusalCause};

use super::seat::ThreadDriver;
use super::{Association, Endpoint};
use crate::error::{IncomingError, TimeoutError};

/// A peer that asks for an association and waits for a decision; see [`sctp::Incoming`](crate::Incoming).
#[derive(Debug)]
pub struct Incoming {
    inner: crate::Incoming,
    driver: Arc<ThreadDriver>,
}

impl Incoming {
    /// Returns who asks: its address, its ports, and what its INIT said.
    #[must_use]
    pub const fn newcomer(&self) -> &Newcomer {
        self.inner.newcomer()
    }

    /// Opens the association with the parameters of all that peers open.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`].
    pub fn accept(self) -> Result<Association, AcceptError> {
        Ok(Association::new(self.inner.accept()?, self.driver))
    }

    /// Opens the association with parameters of its own, as
    /// [`sctp::Incoming::accept_with`](crate::Incoming::accept_with) does.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`].
    pub fn accept_with(self, config: AssociationConfig) -> Result<Association, AcceptError> {
        Ok(Association::new(self.inner.accept_with(config)?, self.driver))
    }

    /// Turns the peer away at once: ABORT with this cause.
    pub fn refuse<'a>(self, cause: impl Into<RefusalCause<'a>>) {
        self.inner.refuse(cause);
    }

    /// Answers nothing, now or when the peer repeats its COOKIE ECHO.
    pub fn ignore(self) {
        self.inner.ignore();
    }
}

impl Endpoint {
    /// Returns the next peer that asks for an association, to be accepted, refused or ignored, as
    /// [`sctp::Endpoint::incoming`](crate::Endpoint::incoming) does.
    ///
    /// # Errors
    ///
    /// See [`IncomingError`].
    pub fn incoming(&self) -> Result<Incoming, IncomingError> {
        self.driver.wait(self.inner.incoming()).map(|inner| self.asked(inner))
    }

    /// Returns the next peer that asks for an association within `limit`.
    ///
    /// # Errors
    ///
    /// As [`incoming`](Self::incoming), or if none came in that time.
    pub fn incoming_timeout(&self, limit: Duration) -> Result<Incoming, TimeoutError<IncomingError>> {
        let incoming = TimeoutError::flatten(self.driver.wait_timeout(limit, self.inner.incoming()))?;
        Ok(self.asked(incoming))
    }

    fn asked(&self, inner: crate::Incoming) -> Incoming {
        Incoming { inner, driver: Arc::clone(&self.driver) }
    }
}
