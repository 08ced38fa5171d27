//! The handling of timers that run out.

use sctp_wire::ChunkBuf;
use virtual_time::Instant;

use super::{Association, Timer};
use crate::error::AssociationError;
use crate::path::{Congestion, Loss, Unanswered};
use crate::trace;
use crate::transmit::PathId;

impl Association {
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.take_expired(now) {
            self.tell_of(timer);
            self.on_expired(now, timer);
        }
        self.after_input(now);
    }

    fn on_expired(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::T1Init | Timer::T1Cookie => self.on_t1(now, timer),
            Timer::T2Shutdown => self.on_t2(now),
            Timer::T4Asconf => self.on_t4(now),
            Timer::T5ShutdownGuard => self.on_t5(now),
            Timer::SackDelay => {
                if let Some(receiver) = self.receiver.as_mut() {
                    receiver.on_sack_timer();
                }
            }
            Timer::WindowProbe => self.sender.allow_window_probe(),
            // What expired is looked for after every input.
            Timer::Lifetime => {}
            Timer::ForwardTsn => self.sender.repeat_forward(),
            Timer::Reordering => {
                let losses = self.sender.losses_by_time(now, &self.paths);
                self.apply_losses(&losses);
            }
            Timer::Reconfiguration => self.on_reconfig_timer(now),
            Timer::T3Rtx(path) => self.on_t3(now, path),
            Timer::TailLossProbe(path) => self.paths.path_mut(path).probe_is_due = true,
            Timer::PathMtu(path) => self.on_mtu_timer(now, path),
            // That time has passed is all there is to it: the packetizer looks again.
            Timer::Pacing(_) => {}
            Timer::Heartbeat(path) => self.on_heartbeat_timer(now, path),
            Timer::Autoclose => self.on_autoclose_timer(now),
            Timer::Persist => self.on_persist_timer(now),
        }
    }

    fn tell_of(&self, timer: Timer) {
        let control_path = self.outgoing.control_path;
        match timer {
            Timer::T1Init => trace::t1_init_expired(control_path),
            Timer::T1Cookie => trace::t1_cookie_expired(control_path),
            Timer::T2Shutdown => trace::t2_shutdown_expired(control_path),
            Timer::T3Rtx(path) => {
                trace::t3_rtx_expired(path, self.paths.path(path).rto.rto(), self.sender.flight(path));
            }
            Timer::T4Asconf => trace::t4_rto_expired(),
            Timer::Reconfiguration => trace::reconfig_timer_expired(),
            // What these lead to is told of where it happens.
            Timer::T5ShutdownGuard
            | Timer::SackDelay
            | Timer::WindowProbe
            | Timer::Lifetime
            | Timer::ForwardTsn
            | Timer::Reordering
            | Timer::TailLossProbe(_)
            | Timer::PathMtu(_)
            | Timer::Pacing(_)
            | Timer::Heartbeat(_)
            | Timer::Autoclose
            | Timer::Persist => {}
        }
    }

    /// RFC 9260 §5.1.6 with the limit of Max.Init.Retransmits. Each attempt goes to the next of the user's addresses.
    fn on_t1(&mut self, now: Instant, timer: Timer) {
        match self.state.retry_handshake(self.config.attempts.init) {
            Ok(()) => {
                let path = self.outgoing.control_path;
                self.paths.path_mut(path).back_off();
                self.counters.note().handshake_retransmissions += 1;
                self.sender.on_timeout(now, path);
                self.outgoing.control_path = self.paths.next_confirmed(path);
                self.send_handshake_chunk(now, timer);
                self.outgoing.handshake_sent_at = None;
            }
            Err(attempts) => self.close(Some(AssociationError::HandshakeTimedOut { attempts })),
        }
    }

    fn on_t2(&mut self, now: Instant) {
        let path = self.outgoing.control_path;
        if self.unanswered(now, path, Unanswered::Transmission) {
            self.paths.path_mut(path).back_off();
            // RFC 9260 §6.4: what timed out goes elsewhere.
            self.send_shutdown(now, self.paths.for_lost(path, Loss::TimedOut));
        }
    }

    /// Acts on T3-rtx, which has expired on a path (RFC 9260 §6.3.3).
    fn on_t3(&mut self, now: Instant, path: PathId) {
        // What was on its way to an address that the peer has deleted says nothing about the peer.
        if !self.paths.contains(path) {
            let _was_repeated = self.sender.on_timeout(now, path);
            return;
        }
        // A closed window that the peer keeps confirming is no failure (RFC 9260 §6.1 (A)).
        let waits_for_window = self.sender.waits_for_window();
        let heard = core::mem::take(&mut self.outgoing.peer_is_alive);
        let excused = waits_for_window && heard;
        if !excused && !self.unanswered(now, path, Unanswered::Transmission) {
            return;
        }
        let entry = self.paths.path_mut(path);
        entry.back_off();
        entry.counters.note().timeouts += 1;
        if !waits_for_window {
            entry.change_window("timeout", Congestion::on_timeout);
        }
        if self.sender.on_timeout(now, path) {
            self.on_vanishing(path);
        }
        self.timers.stop(Timer::TailLossProbe(path));
        self.paths.path_mut(path).probe_is_due = false;
        self.outgoing.fast_retransmit = false;
        // The reordering windows of the other paths run on.
        if self.timers.is_running(Timer::Reordering) {
            let losses = self.sender.losses_by_time(now, &self.paths);
            self.apply_losses(&losses);
        }
    }

    /// Gives up: an ABORT is sent on the chance that the peer hears it.
    pub(super) fn abort_quietly(&mut self, error: AssociationError) {
        self.control.clear();
        let abort = ChunkBuf::abort(sctp_wire::TagOrigin::Receiver, &[]);
        self.push_control(self.paths.for_data(), abort, super::Bundling::Alone);
        self.close(Some(error));
    }
}
