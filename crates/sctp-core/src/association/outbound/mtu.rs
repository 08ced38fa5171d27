//! Probing for the largest packets a path carries (RFC 8899 §6.2): when probes go, what their answers change.

use virtual_time::Instant;

use super::Outbound;
use crate::association::timers::Timer;
use crate::path::pmtud::{Next, PathMtu};
use crate::trace;
use crate::transmit::PathIndex;

impl Outbound {
    /// Every path that is in use begins its search (RFC 8899 §6.2.1.1: once connectivity is confirmed).
    pub(in crate::association) fn begin_mtu_search(&mut self, now: Instant, path: PathIndex) {
        let next = self.paths.path_mut(path).change_mtu(PathMtu::begin);
        self.apply_mtu(now, path, next);
    }

    /// The probe went unanswered, or it is time to look for more.
    pub(in crate::association) fn on_mtu_timer(&mut self, now: Instant, path: PathIndex) {
        let entry = self.paths.path_mut(path);
        if !entry.mtu.is_probing() {
            return self.begin_mtu_search(now, path);
        }
        // No error of the path and no congestion: the size was too large (RFC 8899 §6.2.1.2, §3 point 7).
        let (next, has_fallen) = entry.change_mtu(PathMtu::on_unanswered);
        self.apply_mtu(now, path, next);
        if has_fallen {
            self.on_black_hole(path);
        }
    }

    /// Takes in a HEARTBEAT ACK that may answer a probe; returns what comes next if it does.
    pub(in crate::association) fn on_mtu_ack(&mut self, path: PathIndex, nonce: u64) -> Option<Next> {
        self.paths.path_mut(path).change_mtu(|mtu| mtu.on_ack(nonce))
    }

    /// Chunks vanish again and again: large packets may not get through any more (RFC 8899 §4.3).
    pub(super) fn on_vanishing(&mut self, path: PathIndex) {
        if self.paths.path_mut(path).change_mtu(PathMtu::on_black_hole) {
            self.timers.stop(Timer::PathMtu(path));
            self.on_black_hole(path);
        }
    }

    fn on_black_hole(&mut self, path: PathIndex) {
        let entry = self.paths.path_mut(path);
        entry.counters.note().black_holes += 1;
        trace::path_mtu_black_hole(path, entry.mtu.current());
        self.sender.on_packets_shrunk(self.paths.path(path));
    }

    /// A router said that packets are too big for it; the endpoint has made sure that it saw one of ours.
    pub(in crate::association) fn on_packet_too_big(&mut self, path: PathIndex, mtu_bytes: usize) {
        if self.paths.path_mut(path).mtu.on_hint(mtu_bytes) {
            self.timers.stop(Timer::PathMtu(path));
        }
    }

    /// Returns the octets of the probe that goes now, as an SCTP packet; its answer is waited for.
    pub(in crate::association) fn begin_mtu_probe(
        &mut self,
        now: Instant,
        path: PathIndex,
        nonce: u64,
    ) -> Option<usize> {
        let entry = self.paths.path_mut(path);
        let size = entry.mtu.send_probe(nonce)?;
        entry.counters.note().mtu_probes += 1;
        self.timers.set(Timer::PathMtu(path), now + entry.rto.without_back_off());
        Some((size - entry.destination.header_bytes()) & !3)
    }

    /// Sets the timer of a path to what its search for the path MTU does next.
    pub(super) fn apply_mtu(&mut self, now: Instant, path: PathIndex, next: Next) {
        match next {
            Next::Nothing | Next::Probe => self.timers.stop(Timer::PathMtu(path)),
            Next::RaiseAfter(pause) => self.timers.set(Timer::PathMtu(path), now + pause),
        }
    }
}
