//! Changes of a running association by its application: parameters, streams (RFC 6525), addresses of this side (RFC 5061).
//!
//! Parameters are this side's alone. Of streams and addresses every call only asks: the peer's answer comes as an event,
//! which [`Association::next_event`] hands out.

use std::net::IpAddr;

use sctp_core::{
    AddressChangeError, AssociationConfig, Destination, Endpoint, PathId, PathSetting, PathSettings,
    ReconfigError, ResetDirection, Setting, SettingError, StreamId, StreamStatistics, UnknownAssociation,
};
use virtual_time::Instant;

use super::{Association, AssociationInner};

/// Changes of parameters, in effect from the next packet and the next timer on.
///
/// ```
/// use std::time::Duration;
///
/// use sctp::{Dscp, Heartbeats, PathId, PathSetting, Setting};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let port = sctp::SctpPort::try_from(3863)?;
/// # let config = sctp::EndpointConfig::new(port);
/// # let server = sctp::Endpoint::bind(config.clone(), "127.0.0.1:0".parse()?).await?;
/// # let client = sctp::Endpoint::bind(config, "127.0.0.1:0".parse()?).await?;
/// let association = client.connect(server.local_address(), port).await?;
/// association.set(Setting::Dscp(Dscp::CS5))?;
/// association.set_path(PathId::FIRST, PathSetting::Heartbeats(Heartbeats::Every(Duration::from_secs(5))))?;
/// association.set_path(PathId::FIRST, PathSetting::Dscp(Some(Dscp::AF41)))?;
/// assert_eq!(association.path_settings(PathId::FIRST)?.dscp, Some(Dscp::AF41));
/// # Ok(())
/// # }
/// ```
impl Association {
    /// Changes a parameter: timeouts, acknowledgments, HEARTBEATs, limits of errors, packets.
    ///
    /// # Errors
    ///
    /// The value cannot work, alone or with the others, and then nothing is changed; or the association is over.
    pub fn set(&self, setting: Setting) -> Result<(), SettingError> {
        let id = self.inner.id;
        self.ask(|core, now| core.set(now, id, setting))
    }

    /// Changes a parameter of one path; the paths there are stand in [`statistics`](Self::statistics).
    ///
    /// # Errors
    ///
    /// There is no such path, the value cannot work, or the association is over.
    pub fn set_path(&self, path: PathId, setting: PathSetting) -> Result<(), SettingError> {
        let id = self.inner.id;
        self.ask(|core, now| core.set_path(now, id, path, setting))
    }

    /// Returns the settings that a path has of its own, as [`set_path`](Self::set_path) made them.
    ///
    /// # Errors
    ///
    /// There is no such path, or the association is over.
    pub fn path_settings(&self, path: PathId) -> Result<PathSettings, SettingError> {
        let state = self.inner.shared.lock();
        let association = state.core.association(self.inner.id).ok_or(UnknownAssociation)?;
        PathSettings::of(association, path).ok_or(SettingError::UnknownPath(path))
    }

    /// Returns the parameters that the association has now.
    ///
    /// # Errors
    ///
    /// The association is over and everything of it was handed out.
    pub fn config(&self) -> Result<AssociationConfig, UnknownAssociation> {
        let state = self.inner.shared.lock();
        state
            .core
            .association(self.inner.id)
            .map(|association| association.config().clone())
            .ok_or(UnknownAssociation)
    }
}

/// Changes of streams. Both sides must offer [`Extensions::reconfiguration`](crate::Extensions::reconfiguration). Requests reach the
/// peer one at a time, in the order asked; up to 16 wait.
impl Association {
    /// Asks the peer to reset streams, so that they begin at their first message again; none listed means all,
    /// and at most 100 can be listed. [`Event::StreamsReset`](crate::Event::StreamsReset) reports the outcome,
    /// once for each direction; see [`sctp_core::Endpoint::reset_streams`].
    ///
    /// # Errors
    ///
    /// The extension is not agreed on, there is no such stream, too many are listed or too much waits already, or the
    /// association is not established; see [`ReconfigError`].
    pub fn reset_streams(
        &self,
        streams: &[StreamId],
        direction: ResetDirection,
    ) -> Result<(), ReconfigError> {
        let id = self.inner.id;
        self.ask(|core, now| core.reset_streams(now, id, streams, direction))
    }

    /// Asks the peer to begin anew with TSNs and all streams in both directions, once everything begun is
    /// acknowledged. [`Event::AssociationReset`](crate::Event::AssociationReset) reports the outcome.
    ///
    /// # Errors
    ///
    /// As [`reset_streams`](Self::reset_streams); also if the last one is less than 30 seconds ago.
    pub fn reset_association(&self) -> Result<(), ReconfigError> {
        let id = self.inner.id;
        self.ask(|core, now| core.reset_association(now, id))
    }

    /// Asks the peer for more streams, `outbound` to send on and `inbound` to receive on.
    /// [`Event::StreamsAdded`](crate::Event::StreamsAdded) reports the outcome, once for each direction; the streams
    /// may be used from then on, and their ids follow those there are.
    ///
    /// # Errors
    ///
    /// As [`reset_streams`](Self::reset_streams); also if there would be more than 65535 streams, or none are asked for.
    pub fn add_streams(&self, outbound: u16, inbound: u16) -> Result<(), ReconfigError> {
        let id = self.inner.id;
        self.ask(|core, now| core.add_streams(now, id, outbound, inbound))
    }

    /// Returns the counters of an outgoing stream.
    ///
    /// # Errors
    ///
    /// The association is over and everything of it was handed out.
    pub fn stream_statistics(&self, stream: StreamId) -> Result<StreamStatistics, UnknownAssociation> {
        let state = self.inner.shared.lock();
        let association = state.core.association(self.inner.id).ok_or(UnknownAssociation)?;
        Ok(association.stream_statistics(stream))
    }
}

/// Changes of addresses. Both sides must offer [`Extensions::dynamic_addresses`](crate::Extensions::dynamic_addresses) and
/// authentication; [`Event::AddressChangeAnswered`](crate::Event::AddressChangeAnswered) brings the peer's answers. The
/// endpoint's socket must be bound to what is added: to all addresses of the host, or to this one among others.
impl Association {
    /// Tells the peer that this side can be reached at `address` too; it is sent from once the peer has agreed. The
    /// unspecified address stands for the one the request will seem to come from; see
    /// [`sctp_core::Endpoint::add_local_address`].
    ///
    /// # Errors
    ///
    /// The extension is not agreed on, too many requests wait, or the association is not established; see
    /// [`AddressChangeError`].
    pub fn add_local_address(&self, address: IpAddr) -> Result<(), AddressChangeError> {
        let id = self.inner.id;
        self.ask(|core, now| core.add_local_address(now, id, address))
    }

    /// Tells the peer that this side cannot be reached at `address` any more; nothing is sent from it from now on. The
    /// unspecified address stands for all but the one the request will seem to come from.
    ///
    /// # Errors
    ///
    /// As [`add_local_address`](Self::add_local_address); also if it is the last one.
    pub fn delete_local_address(&self, address: IpAddr) -> Result<(), AddressChangeError> {
        let id = self.inner.id;
        self.ask(|core, now| core.delete_local_address(now, id, address))
    }

    /// Asks the peer to send to `address` of this side.
    ///
    /// # Errors
    ///
    /// As [`add_local_address`](Self::add_local_address).
    pub fn request_peer_primary(&self, address: IpAddr) -> Result<(), AddressChangeError> {
        let id = self.inner.id;
        self.ask(|core, now| core.request_peer_primary(now, id, address))
    }

    /// Says where the peer may be, should it not answer at any of its addresses, in place of what was said before: what its
    /// name leads to, for example, when both ends have moved at the same time and neither can tell the other. What has not
    /// answered there gets nothing but HEARTBEATs and authenticated requests; see [`sctp_core::Endpoint::suggest_peer_addresses`].
    ///
    /// # Errors
    ///
    /// The extension is not agreed on, the association is not established, an address is none of a host, or there are more than 8
    /// with those that the peer has. Nothing has been done then.
    pub fn suggest_peer_addresses(&self, at: &[Destination]) -> Result<(), AddressChangeError> {
        let id = self.inner.id;
        self.ask(|core, now| core.suggest_peer_addresses(now, id, at))
    }

    fn ask<T>(&self, change: impl FnOnce(&mut Endpoint, Instant) -> T) -> T {
        let AssociationInner { shared, .. } = &*self.inner;
        shared.change(|state, now| change(&mut state.core, now))
    }
}
