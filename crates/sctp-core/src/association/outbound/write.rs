//! The user's data in a packet, and what follows from its leaving.

use sctp_wire::PacketWriter;
use virtual_time::Instant;

use super::{DataDue, Outbound};
use crate::association::AssociationState;
use crate::association::timers::Timer;
use crate::transmit::PathIndex;

/// The user's data in a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::association) struct DataWritten {
    pub(in crate::association) any: bool,
    pub(in crate::association) new: bool,
    /// Chunks that were sent before.
    resent: bool,
    /// The earliest outstanding chunk was sent again: T3-rtx starts anew.
    earliest: bool,
    /// A FORWARD TSN, for which T3-rtx has to run as well (RFC 3758 §3.5 (C5)).
    pub(in crate::association) forward: bool,
    /// The path for which a tail-loss probe went on another one: an answer by that one says nothing about it.
    pub(in crate::association) to_be_asked: Option<PathIndex>,
}

impl Outbound {
    /// Writes FORWARD TSN before DATA (RFC 3758 §3.5 (F2)), on the path that data takes.
    pub(in crate::association) fn write_forward(
        &mut self,
        now: Instant,
        path: PathIndex,
        state: AssociationState,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        self.sender.forward_is_due()
            && path == self.paths.for_data()
            && state.sends_data()
            && self.paths.is_open()
            && state != AssociationState::CookieEchoed
            && self.sender.write_forward(now, path, writer)
    }

    /// Writes data that is due, and says what it was.
    #[inline]
    pub(in crate::association) fn write_data(
        &mut self,
        now: Instant,
        path: PathIndex,
        due: DataDue,
        writer: &mut PacketWriter<'_>,
        written: &mut DataWritten,
    ) {
        if writer.remaining() <= self.sender.header_bytes() {
            return;
        }
        // Only data ends the idleness of a congestion window (RFC 9260 §7.2.1).
        let (rto, flight) = (self.paths.path(path).rto.rto(), self.sender.flight(path));
        let entry = self.paths.path_mut(path);
        entry.change_window("unused", |congestion| congestion.on_send(now, rto, flight));
        if let DataDue::New(_) = due {
            // Windows and burst have been asked.
            let (any, _blocked) = self.sender.write_new(now, self.paths.path(path), writer);
            (written.any, written.new) = (any, any);
        } else {
            self.write_again(now, (path, flight), due, writer, written);
        }
    }

    /// Writes data of which some was sent before, in a packet that goes out on a path with so much in flight.
    #[inline(never)]
    fn write_again(
        &mut self,
        now: Instant,
        (path, flight): (PathIndex, usize),
        due: DataDue,
        writer: &mut PacketWriter<'_>,
        written: &mut DataWritten,
    ) {
        if let DataDue::Probe { of, on } = due
            && self.write_probe(now, (of, on), writer)
        {
            (written.any, written.resent) = (true, true);
            written.to_be_asked = (of != on).then_some(of);
            return;
        }
        let entry = self.paths.path(path);
        let window_open = entry.congestion.admits(flight) && self.burst_allows(now, path);
        if self.sender.has_lost() && (window_open || self.fast_retransmit) {
            let resent = self.sender.write_lost(now, path, &self.paths, writer);
            self.fast_retransmit &= !resent.any;
            self.paths.path_mut(path).congestion.on_resent(resent.bytes);
            (written.any, written.resent, written.earliest) = (resent.any, resent.any, resent.earliest);
        }
        if window_open && path == self.paths.for_data() && !self.sender.has_lost() {
            let (any, _blocked) = self.sender.write_new(now, self.paths.path(path), writer);
            written.any |= any;
            written.new = any;
        }
    }

    /// Writes a tail-loss probe for what is in flight on path `of`, in a packet that goes out `on` a path.
    fn write_probe(
        &mut self,
        now: Instant,
        (of, on): (PathIndex, PathIndex),
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        let is_written = self.sender.write_probe(now, self.paths.path(of), on, writer);
        let entry = self.paths.path_mut(of);
        // Kept for the next packet if this one had no room beside its control chunks.
        entry.probe_is_due = !is_written && !writer.is_empty();
        if is_written {
            entry.counters.note().probes += 1;
        }
        is_written
    }

    /// Writes a packet of new data alone, as far as windows and burst let it go.
    #[inline]
    pub(in crate::association) fn write_follower(
        &mut self,
        now: Instant,
        path: PathIndex,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        self.paths.path_mut(path).congestion.note_flight(self.sender.flight(path));
        if !self.sender.write_new(now, self.paths.path(path), writer).0 {
            return false;
        }
        self.on_data_packet(now, path, writer.len(), true);
        true
    }

    /// Returns whether a packet of new data may follow another one on this path.
    #[inline]
    pub(in crate::association) fn may_follow(&self, now: Instant, path: PathIndex) -> bool {
        self.burst_allows(now, path)
    }

    /// A packet with data, or what stands for it, is about to leave.
    #[inline]
    pub(in crate::association) fn on_data_packet(
        &mut self,
        now: Instant,
        path: PathIndex,
        packet_bytes: usize,
        has_chunks: bool,
    ) {
        self.paths.path_mut(path).congestion.on_sent(now, packet_bytes);
        if has_chunks {
            self.burst.count(self.sender.flight(path));
        }
    }

    /// Sets the timers after packets were written, of which the first carried this.
    pub(in crate::association) fn on_run_sent(
        &mut self,
        now: Instant,
        path: PathIndex,
        data: DataWritten,
        state: AssociationState,
    ) {
        self.supervision.usage.on_user_data(now);
        let entry = self.paths.path_mut(path);
        if data.new {
            entry.last_used = now;
        }
        // Data that went with COOKIE ECHO goes with the next one: T1-cookie is its timer.
        if state == AssociationState::CookieEchoed {
            return;
        }
        // RFC 9260 §6.3.2 (R1), and §6.1: anew when the earliest outstanding chunk is sent again.
        let at = now + entry.rto.rto();
        if data.earliest {
            self.timers.set(Timer::T3Rtx(path), at);
        } else {
            self.timers.start_if_stopped(Timer::T3Rtx(path), at);
        }
        // A probe is for the oldest chunk in flight, which new ones do not change; an early copy gives way to them.
        let is_new_alone = !data.resent && !data.forward && !self.sender.is_redundant();
        if !is_new_alone || !self.timers.is_running(Timer::TailLossProbe(path)) {
            self.watch_tail(now, state);
        }
    }
}
