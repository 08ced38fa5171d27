//! Opening associations with blocking calls.

use std::sync::Arc;
use std::time::Duration;

use sctp_core::{AssociationConfig, SctpPort};

use super::seat::ThreadDriver;
use super::{Association, Endpoint};
use crate::destinations::Destinations;
use crate::error::ConnectError;

impl Endpoint {
    /// Opens an association; returns when it is established.
    ///
    /// # Errors
    ///
    /// As [`sctp::Endpoint::connect`](crate::Endpoint::connect).
    pub fn connect(&self, to: impl Into<Destinations>, port: SctpPort) -> Result<Association, ConnectError> {
        self.driver.wait(self.inner.connect(to, port)).map(|inner| self.association(inner))
    }

    /// Opens an association as [`connect`](Self::connect) does, with parameters of its own.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let connecting = self.inner.connect_with(to, port, config);
        self.driver.wait(connecting).map(|inner| self.association(inner))
    }

    /// Opens an association as [`connect`](Self::connect) does, if it is established within `limit`.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect); [`ConnectError::TimedOut`] if it took longer, and then the attempt is aborted.
    pub fn connect_timeout(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
        limit: Duration,
    ) -> Result<Association, ConnectError> {
        let connecting = self.driver.wait_timeout(limit, self.inner.connect(to, port));
        connecting.map_err(ConnectError::TimedOut)?.map(|inner| self.association(inner))
    }

    /// Begins to open an association that can be sent on at once, as
    /// [`sctp::Endpoint::connect_early`](crate::Endpoint::connect_early) does; what may be lost, [`Connecting`](crate::Connecting)
    /// says.
    ///
    /// # Errors
    ///
    /// If the request itself cannot be met.
    pub fn connect_early(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
    ) -> Result<Connecting, ConnectError> {
        self.connect_early_with(to, port, self.inner.association_config())
    }

    /// Begins to open an association as [`connect_early`](Self::connect_early) does, with parameters of its own.
    ///
    /// # Errors
    ///
    /// As [`connect_early`](Self::connect_early).
    pub fn connect_early_with(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
        config: AssociationConfig,
    ) -> Result<Connecting, ConnectError> {
        let inner = self.inner.connect_early_with(to, port, config)?;
        let association = self.association(inner.association().clone());
        Ok(Connecting { inner, association, driver: Arc::clone(&self.driver) })
    }
}

/// An association that is being opened, and can be sent on already; see [`sctp::Connecting`](crate::Connecting).
#[derive(Debug)]
#[must_use = "dropped, the attempt is aborted"]
pub struct Connecting {
    inner: crate::Connecting,
    association: Association,
    driver: Arc<ThreadDriver>,
}

impl Connecting {
    /// Returns the association as it will be.
    #[must_use]
    pub const fn association(&self) -> &Association {
        &self.association
    }

    /// Waits until the association is established.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub fn established(self) -> Result<Association, ConnectError> {
        self.driver.wait(self.inner.established())?;
        Ok(self.association)
    }
}
