//! What happens when a timer runs out.

use sctp_wire::ChunkBuf;
use virtual_time::Instant;

use super::{Association, AssociationState as S, Timer};
use crate::error::AssociationError;
use crate::event::Event;
use crate::transmit::PathId;

impl Association {
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.take_expired(now) {
            tracing::trace!(?timer, "expired");
            self.on_expired(now, timer);
        }
        self.after_input(now);
    }

    fn on_expired(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::T1Init | Timer::T1Cookie => self.on_t1(now, timer),
            Timer::T2Shutdown => self.on_t2(now),
            Timer::T5ShutdownGuard => {
                self.abort_quietly(AssociationError::ShutdownTimedOut);
            }
            Timer::SackDelay => {
                if let Some(receiver) = self.receiver.as_mut() {
                    receiver.on_sack_timer();
                }
            }
            Timer::WindowProbe => self.sender.allow_window_probe(),
            Timer::Reordering => {
                let losses = self.sender.losses_by_time(now, &self.paths);
                self.apply_losses(&losses);
            }
            Timer::T3Rtx(path) => self.on_t3(now, path),
            Timer::TailLossProbe(path) => self.outgoing.probe_due = Some(path),
            // That time has passed is all there is to it: the packetizer looks again.
            Timer::Pacing(_) => {}
            Timer::Heartbeat(path) => self.on_heartbeat_timer(now, path),
        }
    }

    /// RFC 9260 §5.1.6 with the limit of Max.Init.Retransmits.
    fn on_t1(&mut self, now: Instant, timer: Timer) {
        match self.state.retry_handshake(self.config.attempts.init) {
            Ok(()) => {
                self.paths.path_mut(PathId::FIRST).rto.back_off();
                self.counters.handshake_retransmissions += 1;
                self.sender.on_timeout(now, PathId::FIRST);
                self.send_handshake_chunk(now, timer);
                self.outgoing.handshake_sent_at = None;
            }
            Err(attempts) => self.close(Some(AssociationError::HandshakeTimedOut { attempts })),
        }
    }

    fn on_t2(&mut self, now: Instant) {
        let path = self.paths.for_data();
        if self.unanswered(path) {
            self.paths.path_mut(path).rto.back_off();
            self.send_shutdown(now);
        }
    }

    /// RFC 9260 §6.3.3.
    fn on_t3(&mut self, now: Instant, path: PathId) {
        // A closed window that the peer keeps confirming is no failure (RFC 9260 §6.1 (A)).
        let waits_for_window = self.sender.waits_for_window();
        let heard = core::mem::take(&mut self.outgoing.peer_is_alive);
        let excused = waits_for_window && heard;
        if !excused && !self.unanswered(path) {
            return;
        }
        let entry = self.paths.path_mut(path);
        entry.rto.back_off();
        entry.counters.timeouts += 1;
        if !waits_for_window {
            entry.congestion.on_timeout();
        }
        tracing::debug!(%path, rto = ?entry.rto.rto(), errors = entry.errors, "T3-rtx expired");
        self.sender.on_timeout(now, path);
        self.timers.stop(Timer::Reordering);
        self.timers.stop(Timer::TailLossProbe(path));
        self.outgoing.probe_due = None;
        self.outgoing.fast_retransmit = false;
    }

    /// Counts an error on path and association. False if that was one too many and the association is over.
    fn unanswered(&mut self, path: PathId) -> bool {
        let entry = self.paths.path_mut(path);
        if entry.on_unanswered(self.config.attempts.path) {
            let state = entry.state;
            tracing::debug!(%path, "path inactive");
            self.events.push_back(Event::PeerAddressChange { path, state });
        }
        self.outgoing.errors += 1;
        let errors = self.outgoing.errors;
        if errors <= self.config.attempts.association {
            return true;
        }
        self.abort_quietly(AssociationError::PeerUnreachable { errors });
        false
    }

    /// Gives up: an ABORT is sent on the chance that the peer hears it.
    fn abort_quietly(&mut self, error: AssociationError) {
        self.control.clear();
        let abort = ChunkBuf::abort(sctp_wire::TagOrigin::Receiver, &[]);
        self.push_control(self.paths.for_data(), abort, super::Bundling::Alone);
        self.close(Some(error));
    }

    /// RFC 9260 §8.3: the last HEARTBEAT went unanswered for an RTO, or the path was idle for a period.
    fn on_heartbeat_timer(&mut self, now: Instant, path: PathId) {
        let Some(interval) = self.config.heartbeat.interval else { return };
        if !matches!(self.state.name(), S::Established | S::ShutdownPending | S::ShutdownReceived) {
            return;
        }
        if self.paths.path_mut(path).heartbeat.expire() {
            if self.unanswered(path) {
                self.paths.path_mut(path).rto.back_off();
                self.timers.set(Timer::Heartbeat(path), now + interval);
            }
            return;
        }
        let last_used = self.paths.path(path).last_used;
        if now.since(last_used) < interval {
            return self.schedule_heartbeat(last_used, path);
        }
        let nonce = self.rng.u64();
        let entry = self.paths.path_mut(path);
        let info = entry.heartbeat.send(now, path, nonce);
        let unanswered_at = now + entry.rto.rto();
        self.push_chunk(path, ChunkBuf::heartbeat(&info));
        self.timers.set(Timer::Heartbeat(path), unanswered_at);
    }

    /// The next HEARTBEAT: after RTO + HB.interval, give or take half an RTO.
    pub(super) fn schedule_heartbeat(&mut self, now: Instant, path: PathId) {
        let Some(interval) = self.config.heartbeat.interval else { return };
        let rto = self.paths.path(path).rto.rto();
        let jittered = rto / 2 + self.rng.up_to(rto);
        self.timers.set(Timer::Heartbeat(path), now + interval + jittered);
    }
}
