//! The only place where octets leave: asks what is due and fills packets.
//!
//! [`due`](Association::due) alone decides, in this order: control chunks → SACK → FORWARD TSN → retransmissions →
//! tail-loss probe → new data. What else goes the same way comes along in the packet. When nothing is due a train of packets
//! that measures a path may go, or a probe of the path MTU, in packets of their own.

mod envelope;
mod probe;
#[cfg(test)]
mod tests;

use sctp_wire::PacketWriter;
use virtual_time::Instant;

use self::envelope::Envelope;
use self::probe::probe_due;
use super::control::Bundling;
use super::outbound::{DataDue, DataWritten};
use super::{Association, AssociationState as S};
use crate::transmit::{PathIndex, Transmit};

/// The purpose of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Control(PathIndex),
    Sack(PathIndex),
    /// A FORWARD TSN.
    Forward(PathIndex),
    Data(DataDue),
}

impl Due {
    fn path(self) -> PathIndex {
        match self {
            Self::Control(path) | Self::Sack(path) | Self::Forward(path) => path,
            Self::Data(data) => data.path(),
        }
    }
}

/// The packets that were sent on one occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmitted {
    pub(crate) packets: usize,
    /// There is nothing more to send.
    pub(crate) is_all: bool,
}

impl Association {
    /// Appends up to `limit` packets to `buffer` and tells `each` of them.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        limit: usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> Transmitted {
        let mut packets = 0;
        while let Some(due) = self.next_due(now) {
            if packets >= limit {
                return Transmitted { packets, is_all: false };
            }
            let written = self.write_run(now, due, limit - packets, buffer, each);
            if written == 0 {
                return Transmitted { packets, is_all: true };
            }
            packets += written;
            // What is queued waits for the next call, whether it may go by now or not.
            if packets >= limit && self.outbound.sender.has_queued() {
                return Transmitted { packets, is_all: false };
            }
        }
        self.settle_when_idle(now);
        let is_all =
            probe_due(now, self).is_none() || self.write_probes(now, limit, &mut packets, buffer, each);
        Transmitted { packets, is_all }
    }

    /// Returns what is due by now, after what time has changed about it.
    #[inline]
    fn next_due(&mut self, now: Instant) -> Option<Due> {
        if self.session.state.name().sends_data() {
            self.outbound.give_up(now, &mut self.session);
        }
        self.outbound.renew_burst();
        self.due(now)
    }

    /// Returns what the next packet is sent for. Everything that asks for what is to be sent asks here.
    #[inline(always)]
    fn due(&self, now: Instant) -> Option<Due> {
        if let Some(control) = self.outbound.control.front() {
            return Some(Due::Control(control.path));
        }
        let state = self.session.state.name();
        // RFC 9260 §5.1 (C): until COOKIE ACK only COOKIE ECHO travels, and data only in its packet. A packet
        // without it would be out of the blue if it is lost, and be answered with ABORT.
        if matches!(state, S::Closed | S::CookieEchoed) {
            return None;
        }
        if let Some(path) = self.inbound.sack_due(&self.outbound.paths) {
            return Some(Due::Sack(path));
        }
        if let Some(path) = self.outbound.forward_due(state) {
            return Some(Due::Forward(path));
        }
        self.outbound.data_due(now, state).map(Due::Data)
    }

    /// Writes a packet of what is due and, if that was new data, packets of nothing but new data behind it.
    #[inline(never)]
    fn write_run(
        &mut self,
        now: Instant,
        due: Due,
        limit: usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> usize {
        let path = due.path();
        let Some(envelope) = Envelope::of(path, &self.session, &self.outbound) else {
            return 0;
        };
        let mut writer = envelope.open(buffer);
        let mut data = DataWritten::default();
        let mut written = Bundling::Bundled;
        if !self.outbound.control.is_empty() {
            written = self.write_control(&envelope, &mut writer);
        }
        if written == Bundling::Bundled {
            data = self.write_bundle(now, due, &mut writer);
        }
        if writer.is_empty() {
            return 0;
        }
        let has_data = data.any || data.forward;
        if has_data {
            self.outbound.on_data_packet(now, path, writer.len(), data.any);
        }
        let mut transmit = self.finish_packet(&envelope, writer);
        if written != Bundling::Bundled {
            written.direct(&mut transmit);
        }
        each(transmit);
        let mut followers = 0;
        // Nothing but new data can be due behind a packet of it until something else comes in.
        let is_new = data.new && self.outbound.sender.has_queued();
        if is_new && self.due(now) == Some(Due::Data(DataDue::New(path))) {
            followers = self.write_followers(now, &envelope, limit - 1, buffer, each);
        }
        if has_data {
            let state = self.session.state.name();
            self.outbound.on_run_sent(now, path, data, state);
        }
        1 + followers
    }

    /// Writes the control chunks that go the way of the packet, as many as fit; says how the last of them travels.
    #[inline(never)]
    fn write_control(&mut self, envelope: &Envelope, writer: &mut PacketWriter<'_>) -> Bundling {
        let handshake = |chunk, writer: &mut PacketWriter<'_>| {
            self.session.write_handshake(chunk, &self.outbound.paths, writer)
        };
        self.outbound.control.write(envelope.path, envelope.tag, writer, handshake)
    }

    /// Writes what goes into a packet behind control chunks: SACK, FORWARD TSN, data.
    #[inline]
    fn write_bundle(&mut self, now: Instant, due: Due, writer: &mut PacketWriter<'_>) -> DataWritten {
        let (path, state) = (due.path(), self.session.state.name());
        let wanted = match due {
            Due::Data(data) => Some(data),
            Due::Control(_) | Due::Sack(_) | Due::Forward(_) => self.outbound.data_due(now, state),
        };
        let wanted = wanted.filter(|data| data.path() == path);
        if !matches!(state, S::Closed | S::CookieEchoed) {
            self.inbound.write_sack(path, wanted.is_some(), writer, &mut self.outbound.timers);
        }
        let forward = self.outbound.write_forward(now, path, state, writer);
        let mut data = DataWritten::default();
        data.forward = forward;
        if let Some(due) = wanted {
            self.outbound.write_data(now, path, due, writer, &mut data);
        }
        if let Some(path) = data.to_be_asked {
            self.outbound.probe_path(now, path, &mut self.session);
        }
        data
    }

    /// Nothing leaves any more on this occasion.
    fn settle_when_idle(&mut self, now: Instant) {
        if self.session.config.congestion.paces() {
            self.outbound.watch_pacing(now, self.session.state.name());
        }
        self.outbound.end_burst();
    }

    /// Returns the number of packets of new data alone, on the path of the first, as long as windows and burst
    /// let them go.
    #[inline(never)]
    fn write_followers(
        &mut self,
        now: Instant,
        envelope: &Envelope,
        limit: usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> usize {
        let mut count = 0;
        while count < limit && self.outbound.may_follow(now, envelope.path) {
            let mut writer = envelope.open(buffer);
            if !self.outbound.write_follower(now, envelope.path, &mut writer) {
                break;
            }
            each(self.finish_packet(envelope, writer));
            count += 1;
        }
        count
    }

    /// Counts a packet, closes it, and says where it goes.
    #[inline(always)]
    fn finish_packet(&mut self, envelope: &Envelope, writer: PacketWriter<'_>) -> Transmit {
        let only_source = self.addresses.only_source();
        envelope.finish(writer, &mut self.session, &mut self.outbound, only_source)
    }
}
