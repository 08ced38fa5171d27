//! Probing for the largest packets a path carries (RFC 8899 §6.2): when probes go, what their answers change.

use sctp_wire::{CHUNK_HEADER_BYTES, COMMON_HEADER_BYTES, VerificationTag};
use virtual_time::Instant;

use super::{Association, Timer};
use crate::event::PathState;
use crate::path::pmtud::{Next, PathMtu};
use crate::path::{Answer, Heartbeat};
use crate::trace;
use crate::transmit::{PathId, Transmit};

impl Association {
    /// Every path that is in use begins its search (RFC 8899 §6.2.1.1: once connectivity is confirmed).
    pub(super) fn begin_mtu_search(&mut self, now: Instant, path: PathId) {
        let next = self.paths.path_mut(path).change_mtu(PathMtu::begin);
        self.apply_mtu(now, path, next);
    }

    /// The probe went unanswered, or it is time to look for more.
    pub(super) fn on_mtu_timer(&mut self, now: Instant, path: PathId) {
        let entry = self.paths.path_mut(path);
        if !entry.mtu.is_probing() {
            return self.begin_mtu_search(now, path);
        }
        // No error of the path and no congestion: the size was too large (RFC 8899 §6.2.1.2, §3 point 7).
        let (next, has_fallen) = entry.change_mtu(PathMtu::on_unanswered);
        if has_fallen {
            entry.counters.note().black_holes += 1;
            trace::path_mtu_black_hole(path, entry.mtu.current());
        }
        self.apply_mtu(now, path, next);
        if has_fallen {
            self.sender.on_packets_shrunk(self.paths.path(path));
        }
    }

    /// Takes in a HEARTBEAT ACK that answers no HEARTBEAT; returns whether it answers a probe.
    pub(super) fn on_mtu_ack(&mut self, now: Instant, path: PathId, nonce: u64) -> bool {
        let Some(next) = self.paths.path_mut(path).change_mtu(|mtu| mtu.on_ack(nonce)) else { return false };
        self.answered(now, path, Answer::Verified);
        self.apply_mtu(now, path, next);
        true
    }

    /// Chunks vanish again and again: large packets may not get through any more (RFC 8899 §4.3).
    pub(super) fn on_vanishing(&mut self, path: PathId) {
        let entry = self.paths.path_mut(path);
        if entry.change_mtu(PathMtu::on_black_hole) {
            entry.counters.note().black_holes += 1;
            trace::path_mtu_black_hole(path, entry.mtu.current());
            self.timers.stop(Timer::PathMtu(path));
            self.sender.on_packets_shrunk(self.paths.path(path));
        }
    }

    /// A router said that packets are too big for it; the endpoint has made sure that it saw one of ours.
    pub(crate) fn on_packet_too_big(&mut self, path: PathId, mtu_bytes: usize) {
        if self.paths.path_mut(path).mtu.on_hint(mtu_bytes) {
            self.timers.stop(Timer::PathMtu(path));
        }
    }

    fn apply_mtu(&mut self, now: Instant, path: PathId, next: Next) {
        match next {
            Next::Nothing | Next::Probe => self.timers.stop(Timer::PathMtu(path)),
            Next::RaiseAfter(pause) => self.timers.set(Timer::PathMtu(path), now + pause),
        }
    }

    /// Returns the path that a probe is to be sent on, when nothing else wants to go.
    pub(super) fn mtu_probe_path(&self) -> Option<PathId> {
        let wants = |path: &&crate::path::Path| path.state == PathState::Active && path.mtu.wants_probe();
        if !self.may_send_data() || self.is_setting_up() {
            return None;
        }
        self.paths.iter().find(wants).map(|path| path.id)
    }

    /// Writes HEARTBEAT and PAD, together as large as the size that is tried (RFC 8899 §6.2.1.2).
    pub(super) fn write_mtu_probe(
        &mut self,
        now: Instant,
        path: PathId,
        tag: VerificationTag,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let nonce = self.nonces.u64();
        let entry = self.paths.path_mut(path);
        let size = entry.mtu.send_probe(nonce)?;
        entry.counters.note().mtu_probes += 1;
        let limit = (size - entry.destination.header_bytes()) & !3;
        self.timers.set(Timer::PathMtu(path), now + entry.rto.without_back_off());
        let envelope = self.probe_envelope(path, tag, limit);
        let mut writer = envelope.open(buffer);
        writer.heartbeat(&Heartbeat::info(path, nonce)).ok()?;
        // What is left beside HEARTBEAT, and beside AUTH where the peer wants that (RFC 4895).
        let mut padding = limit - COMMON_HEADER_BYTES - CHUNK_HEADER_BYTES;
        while writer.pad(padding).is_err() {
            padding = padding.checked_sub(4)?;
        }
        Some(self.finish_packet(&envelope, writer))
    }
}
