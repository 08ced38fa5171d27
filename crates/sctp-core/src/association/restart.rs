//! The peer has begun anew (RFC 9260 §5.2.4.1): so does this side, and the user keeps the association.

use sctp_wire::{Cause, ChunkBuf};
use virtual_time::Instant;

use super::{Association, AssociationState as S};
use crate::endpoint::cookie::StateCookie;
use crate::error::AssociationError;
use crate::event::AddressOutcome;
use crate::event::Event;
use crate::receiver::Receiver;
use crate::trace;
use crate::transmit::Destination;

impl Association {
    /// Action A: the peer begins anew; so do we, keeping identity and the user's attention.
    pub(super) fn on_restart(&mut self, now: Instant, source: Destination, cookie: &StateCookie) {
        if self.state.name() == S::ShutdownAckSent {
            let path = self.path_of(source);
            self.push_chunk(path, Ok(ChunkBuf::shutdown_ack()));
            self.push_chunk(path, ChunkBuf::error(&[Cause::CookieReceivedWhileShuttingDown]));
            return;
        }
        let from = self.state.name();
        let failed = self.sender.fail_all(&AssociationError::PeerRestarted);
        self.report_failed(failed);
        self.report_aborted(Receiver::abort_partial);
        self.give_up_requests();
        let locals = self.paths.local_addresses();
        let mut fresh = Self::accept(now, cookie, source, locals, self.config.clone(), self.nonces.renewed());
        if let (Some(new), Some(old)) = (fresh.receiver.as_mut(), self.receiver.as_mut()) {
            new.adopt_ready(old);
        }
        fresh.sender.adopt_shares(&self.sender);
        fresh.paths.adopt_verification(&self.paths);
        core::mem::swap(&mut fresh.events, &mut self.events);
        fresh.events.push(Event::Restart {
            outbound_streams: cookie.agreed.outbound,
            inbound_streams: cookie.agreed.inbound,
        });
        // Whoever waited for room in the old buffer finds it in the new one.
        fresh.events.push(Event::SendBufferAvailable);
        fresh.peer.origin = self.peer.origin;
        fresh.authentication.statistics = core::mem::take(&mut self.authentication.statistics);
        fresh.addresses.statistics = core::mem::take(&mut self.addresses.statistics);
        let ignored = fresh.counters.get().addresses_ignored;
        fresh.counters = core::mem::take(&mut self.counters);
        let counters = fresh.counters.note();
        counters.restarts += 1;
        counters.addresses_ignored += ignored;
        let restarts = counters.restarts;
        // One that ended for want of use is used again.
        let shutdown_wanted = self.outgoing.shutdown_wanted && !self.outgoing.usage.is_autoclosed;
        *self = *fresh;
        trace::association_restarted(restarts);
        if from != S::Established {
            trace::association_state(from, self.state.name(), &"peer restarted");
        }
        // Whoever wanted the end waits for it, or is not there any more to want it again.
        if shutdown_wanted {
            self.shutdown(now);
        }
    }

    /// Gives up what was asked of the peer before its restart: the one there is now will not answer.
    fn give_up_requests(&mut self) {
        self.give_up_reconfiguration();
        for change in self.addresses.take_requests() {
            self.tell_address_outcome(change, AddressOutcome::PeerRestarted);
        }
    }
}
