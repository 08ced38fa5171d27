//! The peer's UDP port, which NATs on the way change (RFC 6951 §5.4): it is followed when the peer has answered a HEARTBEAT there.
//!
//! Until then everything goes where it went, but for answers to HEARTBEATs: those go where they were asked, and are no longer than
//! the question (docs/decisions/0072-ports-that-change.md).

use sctp_wire::ChunkBuf;
use virtual_time::Instant;

use super::Outbound;
use crate::association::AssociationState as S;
use crate::association::control::Bundling;
use crate::association::session::Session;
use crate::association::timers::Timer;
use crate::path::{Answer, Heartbeat, Question, Way};
use crate::transmit::PathIndex;

/// Whether an answer says that the peer is at another port than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::association) enum Whereabouts {
    Known,
    New,
}

impl Outbound {
    /// A packet has been read: where it came from another port than the path's, asks whether the peer is there.
    #[inline]
    pub(in crate::association) fn look_at_port(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
    ) {
        if let Some(way) = self.paths.other_port(path) {
            self.on_other_port((now, path), way, session);
        }
    }

    #[cold]
    fn on_other_port(&mut self, (now, path): (Instant, PathIndex), way: Way, session: &mut Session) {
        match session.state.name() {
            // No HEARTBEAT may be sent any more (RFC 9260 §8.3), and nothing of the user's is.
            S::ShutdownSent | S::ShutdownAckSent => self.paths.move_to_port(path, way.encapsulation),
            S::Closed | S::CookieWait | S::CookieEchoed => {}
            S::Established | S::ShutdownPending | S::ShutdownReceived => {
                let nonce = session.nonces.u64();
                let entry = self.paths.path_mut(path);
                let patience = entry.rto.without_back_off();
                match entry.rebinding.on_packet((now, patience), way.encapsulation, nonce) {
                    Question::Asked => {}
                    Question::TooMany => entry.counters.note().rebindings_over_limit += 1,
                    Question::Ask => {
                        entry.counters.note().rebindings_asked += 1;
                        entry.counters.note().heartbeats += 1;
                        let info = Heartbeat::info(path, nonce);
                        let to = (path, session.tag_of_peer());
                        self.queue(to, Bundling::AloneBy(way), session, ChunkBuf::heartbeat(&info));
                    }
                }
            }
        }
    }

    /// Takes in the echo of a nonce, which may have been sent to the port that it comes from: then the path goes there, and what
    /// went to the port before is asked for at once.
    pub(super) fn on_port_answer(
        &mut self,
        now: Instant,
        path: PathIndex,
        nonce: u64,
        session: &mut Session,
    ) -> Whereabouts {
        let way = self.paths.other_port(path);
        let rebinding = &self.paths.path(path).rebinding;
        let verified = way.and_then(|way| Some((way, rebinding.on_answer(now, way.encapsulation, nonce)?)));
        let Some((way, rtt)) = verified else { return Whereabouts::Known };
        self.paths.move_to_port(path, way.encapsulation);
        self.paths.on_measurement(path, now, rtt);
        self.answered(now, path, Answer::Verified, session);
        self.ask_for_flight(now, path);
        Whereabouts::New
    }

    /// What is in flight on a path may have gone where the peer is not: a tail-loss probe goes, and T3-rtx has no back-off.
    fn ask_for_flight(&mut self, now: Instant, path: PathIndex) {
        let is_probed = self.sender.probe_at(self.paths.path(path)).is_some();
        let entry = self.paths.path_mut(path);
        entry.probe_is_due |= is_probed;
        let (t3, expires_at) = (Timer::T3Rtx(path), now + entry.rto.rto());
        if self.timers.at(t3).is_some_and(|at| at > expires_at) {
            self.timers.set(t3, expires_at);
        }
    }
}
