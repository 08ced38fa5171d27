//! The end: SHUTDOWN and SHUTDOWN ACK, and the timers that they wait with (RFC 9260 §9.2).

use sctp_wire::{ChunkBuf, Tsn};
use virtual_time::Instant;

use super::Session;
use crate::association::AssociationState as S;
use crate::association::outbound::Outbound;
use crate::association::timers::Timer;
use crate::transmit::PathIndex;

impl Session {
    /// The association is ending: what waits has to be taken.
    pub(in crate::association) fn guard_shutdown(&self, now: Instant, outbound: &mut Outbound) {
        outbound.guard_shutdown(now, self.guard_period());
    }

    /// Takes the next step, because everything sent is acknowledged; returns whether SHUTDOWN or SHUTDOWN ACK is to be sent now.
    /// SHUTDOWN waits, too, until both ends agree on where TSNs begin: no request goes again after it, and what a peer
    /// sends that has begun anew would be discarded as out of reach. SHUTDOWN ACK waits for an address of this host that the peer
    /// knows: no ASCONF that tells of one goes after it.
    pub(in crate::association) fn progress_shutdown(
        &mut self,
        now: Instant,
        is_renumbering: bool,
        outbound: &mut Outbound,
    ) -> bool {
        match self.state.name() {
            S::ShutdownPending if !is_renumbering => {
                self.state.enter_shutdown_sent();
                self.guard_shutdown(now, outbound);
                true
            }
            S::ShutdownReceived if outbound.paths.has_source() => {
                self.state.enter_shutdown_ack_sent();
                // RFC 9260 §9.2: T5 is the timer of who sends SHUTDOWN. Here Association.Max.Retrans is the limit.
                outbound.timers.stop(Timer::T5ShutdownGuard);
                true
            }
            S::ShutdownPending
            | S::CookieWait
            | S::CookieEchoed
            | S::Established
            | S::ShutdownSent
            | S::ShutdownReceived
            | S::ShutdownAckSent
            | S::Closed => false,
        }
    }

    /// Sends SHUTDOWN or SHUTDOWN ACK, whichever this state sends, and starts T2 (again).
    pub(in crate::association) fn send_shutdown(
        &mut self,
        now: Instant,
        path: PathIndex,
        cumulative_tsn: Tsn,
        outbound: &mut Outbound,
    ) {
        let chunk = match self.state.name() {
            S::ShutdownSent => ChunkBuf::shutdown(cumulative_tsn),
            S::ShutdownAckSent => ChunkBuf::shutdown_ack(),
            S::CookieWait
            | S::CookieEchoed
            | S::Established
            | S::ShutdownPending
            | S::ShutdownReceived
            | S::Closed => return,
        };
        outbound.push(path, self, Ok(chunk));
        (self.control_path, self.has_waited_longer) = (path, false);
        outbound.timers.set(Timer::T2Shutdown, now + outbound.paths.path(path).rto.rto());
    }
}
