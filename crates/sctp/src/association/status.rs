//! The knowledge that an association has of itself: who it joins, how it stands, what it counts.

use std::fmt;
use std::net::SocketAddr;

use sctp_core::{AssociationStatistics, AssociationStatus, Buffered, Capabilities, UnknownAssociation};

use super::Association;
use crate::error::CommunicationLost;
use crate::shared::until;

/// The knowledge of an association about itself.
impl Association {
    /// Returns who the association joins, and how it stands now: addresses, SCTP ports, streams, state, what is buffered, the
    /// path in use with its round trip. After its end, how it stood then.
    ///
    /// ```
    /// # use sctp::{Endpoint, EndpointConfig, SctpPort};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let port = SctpPort::try_from(3863)?;
    /// # let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
    /// # let client = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
    /// let association = client.connect(server.local_address(), port).await?;
    /// let status = association.status()?;
    /// println!("{}: SCTP port {} at {:?}", association.id(), status.peer_port, status.peer_addresses);
    /// println!("{:?} round trip, {} octets buffered", status.path.srtt, status.buffered.bytes());
    /// # assert_eq!(status.peer_port, port);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// None as long as it goes on, nor once [`closed`](Self::closed) has told of its end.
    pub fn status(&self) -> Result<AssociationStatus, UnknownAssociation> {
        let state = self.inner.shared.lock();
        let now = state.core.association(self.inner.id).map(sctp_core::Association::status);
        now.or_else(|| Some(state.last(self.inner.id)?.status.clone())).ok_or(UnknownAssociation)
    }

    /// Returns the address that the socket is bound to, with the UDP port, or with the SCTP port if there is no UDP.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.inner.shared.io.local_address()
    }

    /// Returns how the association ended, as [`closed`](Self::closed) does; `None` while it goes on.
    #[must_use]
    pub fn close_reason(&self) -> Option<Result<(), CommunicationLost>> {
        self.ending(&self.inner.shared.lock())
    }

    /// Returns the octets of payload that were handed in and are not acknowledged.
    #[must_use]
    pub fn buffered(&self) -> Buffered {
        let state = self.inner.shared.lock();
        state.core.association(self.inner.id).map(sctp_core::Association::buffered).unwrap_or_default()
    }

    /// Waits until no more than so many octets of payload are [buffered](Self::buffered): a low-water mark. 0 waits until
    /// everything is acknowledged.
    ///
    /// [`send`](Self::send) waits for room by itself. This is for who wants less to wait than the send buffer holds, so that
    /// what becomes urgent later is not behind it. Cancellation-safe.
    ///
    /// # Errors
    ///
    /// If the association ended, and not by agreement.
    pub async fn drained_to(&self, octets: usize) -> Result<(), CommunicationLost> {
        until(&self.inner.signals.writable, || {
            let mut state = self.inner.shared.lock();
            if let Some(ending) = self.ending(&state) {
                return Some(ending);
            }
            // Of an association that is gone nothing is buffered; its end has been told.
            let is_above = state.core.await_low_water(self.inner.id, octets).unwrap_or(false);
            (!is_above).then_some(Ok(()))
        })
        .await
    }

    /// Returns the extensions both sides agreed on; none before the association is established or after its
    /// end.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        let state = self.inner.shared.lock();
        state.core.association(self.inner.id).map_or(Capabilities::NONE, sctp_core::Association::capabilities)
    }

    /// Returns the counters of the association; after its end, the final ones.
    #[must_use]
    pub fn statistics(&self) -> AssociationStatistics {
        let state = self.inner.shared.lock();
        let slot = state.slots.get(&self.inner.id);
        let mut statistics = match state.core.association(self.inner.id) {
            Some(association) => association.statistics(),
            None => state.last(self.inner.id).map(|last| last.statistics.clone()).unwrap_or_default(),
        };
        // Events leave the core at once and wait here.
        let dropped = slot.map(|slot| slot.events.dropped()).unwrap_or_default();
        statistics.events = statistics.events.with(dropped);
        statistics
    }
}

/// Shows the number of the association: all else is behind a lock.
impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Association").field("id", &self.inner.id).finish_non_exhaustive()
    }
}
