//! The peer has begun anew (RFC 9260 §5.2.4.1): so does this side, and the user keeps the association.

use sctp_wire::{Cause, ChunkBuf};
use virtual_time::Instant;

use super::{Association, AssociationState as S, LocalAddresses, StateCookie};
use crate::error::AssociationError;
use crate::event::AddressOutcome;
use crate::event::Event;
use crate::trace;
use crate::transmit::Destination;

impl Association {
    /// Action A: the peer begins anew; so do we, keeping identity and the user's attention.
    pub(super) fn on_restart(
        &mut self,
        now: Instant,
        source: Destination,
        cookie: &StateCookie,
        locals: &LocalAddresses,
    ) {
        if self.session.state.name() == S::ShutdownAckSent {
            let path = self.outbound.path_of(source);
            self.outbound.push(path, &mut self.session, Ok(ChunkBuf::shutdown_ack()));
            let error = ChunkBuf::error(&[Cause::CookieReceivedWhileShuttingDown]);
            self.outbound.push(path, &mut self.session, error);
            return;
        }
        let from = self.session.state.name();
        let failed = self.outbound.sender.fail_all(&AssociationError::PeerRestarted);
        self.session.tell_failed(failed);
        self.inbound.abort_partial(&mut self.session);
        self.give_up_requests();
        let mut fresh = Self::accept(
            now,
            cookie,
            source,
            locals,
            self.session.config.clone(),
            self.session.nonces.renewed(),
        );
        if let (Some(new), Some(old)) = (fresh.inbound.receiver.as_mut(), self.inbound.receiver.as_mut()) {
            new.adopt_ready(old);
        }
        fresh.outbound.sender.adopt_shares(&self.outbound.sender);
        fresh.outbound.paths.adopt_verification(&self.outbound.paths);
        let restarts = fresh.session.succeed(&mut self.session);
        fresh.session.tell(Event::Restart {
            outbound_streams: cookie.agreed.outbound,
            inbound_streams: cookie.agreed.inbound,
        });
        // Whoever waited for room in the old buffer finds it in the new one.
        fresh.session.tell(Event::SendBufferAvailable);
        fresh.addresses.adopt_statistics(&self.addresses);
        // One that ended for want of use is used again.
        let shutdown_wanted = self.session.shutdown_wanted && !self.outbound.supervision.usage.is_autoclosed;
        *self = *fresh;
        trace::association_restarted(restarts);
        if from != S::Established {
            trace::association_state(from, self.session.state.name(), &"peer restarted");
        }
        // Whoever wanted the end waits for it, or is not there any more to want it again.
        if shutdown_wanted {
            self.shutdown(now);
        }
    }

    /// Gives up what was asked of the peer before its restart: the one there is now will not answer.
    fn give_up_requests(&mut self) {
        self.reconfig.give_up(&mut self.session);
        for change in self.addresses.take_requests() {
            self.session.tell_address_outcome(change, AddressOutcome::PeerRestarted);
        }
    }
}
