//! The way of re-configuration through the association: calls of the user, RE-CONFIG chunks, the timer.

use sctp_wire::{ReConfig, StreamId};
use virtual_time::Instant;

use super::ResetDirection;
use super::requester::Expiry;
use crate::association::Association;
use crate::error::ReconfigError;
use crate::path::Unanswered;
use crate::transmit::PathIndex;

impl Association {
    pub(crate) fn reset_streams(
        &mut self,
        now: Instant,
        streams: &[StreamId],
        direction: ResetDirection,
    ) -> Result<(), ReconfigError> {
        self.reconfig.ask_stream_reset(streams, direction, &self.session)?;
        self.progress_reconfig(now);
        Ok(())
    }

    pub(crate) fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigError> {
        self.reconfig.ask_association_reset(now, &self.session)?;
        self.progress_reconfig(now);
        Ok(())
    }

    pub(crate) fn add_streams(
        &mut self,
        now: Instant,
        outbound: u16,
        inbound: u16,
    ) -> Result<(), ReconfigError> {
        self.reconfig.ask_more_streams(outbound, inbound, &self.session)?;
        self.progress_reconfig(now);
        Ok(())
    }

    /// Takes whatever step of re-configuration has become possible.
    pub(in crate::association) fn progress_reconfig(&mut self, now: Instant) {
        let (session, outbound, inbound) = (&mut self.session, &mut self.outbound, &mut self.inbound);
        self.reconfig.progress(now, session, outbound, inbound);
    }

    /// Acts on the re-configuration timer, which has run out (RFC 6525 §5.1.1, §5.2.7 (H2)).
    pub(in crate::association) fn on_reconfig_timer(&mut self, now: Instant) {
        if !self.session.state.name().reconfigures() {
            return;
        }
        let Some((chunk, expiry)) = self.reconfig.expire() else { return };
        let path = self.outbound.paths.for_data();
        if expiry == Expiry::PeerIsAtIt || self.unanswered(now, path, Unanswered::Transmission) {
            self.reconfig.repeat(now, chunk, &mut self.session, &mut self.outbound);
        }
    }

    /// Takes in a RE-CONFIG chunk (RFC 6525 §5.2.1).
    pub(in crate::association) fn on_reconfig(
        &mut self,
        now: Instant,
        path: PathIndex,
        chunk: &ReConfig<'_>,
    ) {
        let (session, outbound, inbound) = (&mut self.session, &mut self.outbound, &mut self.inbound);
        self.reconfig.on_chunk((now, path), chunk, session, outbound, inbound);
    }
}
