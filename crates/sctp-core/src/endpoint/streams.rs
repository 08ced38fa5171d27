//! Streams of a running association: resetting and adding them (RFC 6525).

use virtual_time::Instant;

use sctp_wire::StreamId;

use super::{AssociationId, Endpoint};
use crate::association::ResetDirection;
use crate::error::ReconfigError;

/// Re-configuration, where both sides offer [`Extensions::reconfiguration`](crate::Extensions::reconfiguration).
/// Requests reach the peer one at a time, in the order asked; up to 16 wait.
impl Endpoint {
    /// Asks the peer to reset streams, so that they begin at their first message again; none listed means all.
    /// [`Event::StreamsReset`](crate::Event) reports the outcome, once for each direction.
    ///
    /// Outgoing streams are reset once everything begun on them is acknowledged; what is sent on them after this call
    /// waits and comes after the reset. Incoming streams are the peer's to reset: it is asked to.
    ///
    /// # Errors
    /// See [`ReconfigError`]; at most 100 streams can be listed.
    pub fn reset_streams(
        &mut self,
        now: Instant,
        id: AssociationId,
        streams: &[StreamId],
        direction: ResetDirection,
    ) -> Result<(), ReconfigError> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.reset_streams(now, streams, direction))
    }

    /// Asks the peer to begin anew with TSNs and all streams in both directions, once everything begun is
    /// acknowledged. [`Event::AssociationReset`](crate::Event) reports the outcome.
    ///
    /// # Errors
    /// See [`ReconfigError`]; once in 30 seconds.
    pub fn reset_association(&mut self, now: Instant, id: AssociationId) -> Result<(), ReconfigError> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.reset_association(now))
    }

    /// Asks for more streams to send on (`outbound`) and to receive on (`inbound`).
    /// [`Event::StreamsAdded`](crate::Event) tells what became of it, once for each direction; streams may be used
    /// from then on, and have the ids that follow those there are.
    ///
    /// # Errors
    /// See [`ReconfigError`].
    pub fn add_streams(
        &mut self,
        now: Instant,
        id: AssociationId,
        outbound: u16,
        inbound: u16,
    ) -> Result<(), ReconfigError> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.add_streams(now, outbound, inbound))
    }
}
