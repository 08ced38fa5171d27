//! The only place where octets leave: asks what is due and fills packets.
//!
//! [`due`](Association::due) alone decides, in this order: control chunks → SACK → FORWARD TSN → retransmissions →
//! tail-loss probe → new data. What else goes the same way comes along in the packet. When nothing is due a probe of the path
//! MTU may go, in a packet of its own.

use sctp_wire::{
    AuthPolicy, COMMON_HEADER_BYTES, ChunkBuf, ChunkType, Full, PacketWriter, SctpPort, VerificationTag,
};
use virtual_time::Instant;

use super::control::{Bundling, Content, ControlChunk, HandshakeChunk};
use super::{Association, AssociationState as S, Capability, Timer};
use crate::config::Pacing;
use crate::receiver::Receiver;
use crate::transmit::{Encapsulation, Fragmentation, PathId, Transmit};

/// The user's data in a packet.
#[derive(Clone, Copy, Debug, Default)]
struct DataWritten {
    any: bool,
    new: bool,
    /// Chunks that were sent before.
    resent: bool,
    /// The earliest outstanding chunk was sent again: T3-rtx starts anew.
    earliest: bool,
    /// A FORWARD TSN, for which T3-rtx has to run as well (RFC 3758 §3.5 (C5)).
    forward: bool,
}

/// The purpose of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Control(PathId),
    Sack(PathId),
    /// A FORWARD TSN.
    Forward(PathId),
    Data(DataDue),
}

impl Due {
    fn path(self) -> PathId {
        match self {
            Self::Control(path) | Self::Sack(path) | Self::Forward(path) => path,
            Self::Data(data) => data.path(),
        }
    }
}

/// The user's data that wants to be sent, and its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataDue {
    /// Chunks that were lost (RFC 9260 §6.3.3, §7.2.4).
    Lost(PathId),
    /// A tail-loss probe for what is in flight on one path, sent on the same or another.
    Probe { of: PathId, on: PathId },
    /// New data is to be sent on this path.
    New(PathId),
}

impl DataDue {
    fn path(self) -> PathId {
        match self {
            Self::Lost(path) | Self::Probe { on: path, .. } | Self::New(path) => path,
        }
    }
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
            if packets >= limit && self.sender.has_queued() {
                return Transmitted { packets, is_all: false };
            }
        }
        self.settle_when_idle(now);
        let is_all = self.write_mtu_probes(now, limit, &mut packets, buffer, each);
        Transmitted { packets, is_all }
    }

    /// Returns what is due by now, after what time has changed about it.
    #[inline]
    fn next_due(&mut self, now: Instant) -> Option<Due> {
        if self.may_send_data() {
            self.give_up(now);
        }
        self.renew_burst();
        self.due(now)
    }

    /// Writes a packet of what is due and, if that was new data, packets of nothing but new data behind it.
    fn write_run(
        &mut self,
        now: Instant,
        due: Due,
        limit: usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> usize {
        let path = due.path();
        let Some(envelope) = self.envelope(path) else { return 0 };
        let mut writer = envelope.open(buffer);
        let mut data = DataWritten::default();
        if self.write_control(path, envelope.tag, &mut writer) == Bundling::Bundled {
            let wanted = match due {
                Due::Data(data) => Some(data),
                Due::Control(_) | Due::Sack(_) | Due::Forward(_) => self.data_due(now),
            };
            let wanted = wanted.filter(|data| data.path() == path);
            self.write_sack(path, wanted, &mut writer);
            let forward = self.write_forward(now, path, &mut writer);
            data = DataWritten { forward, ..self.write_data(now, path, wanted, &mut writer) };
        }
        if writer.is_empty() {
            return 0;
        }
        if data.any || data.forward {
            self.on_data_packet(now, path, writer.len(), data);
        }
        each(self.finish_packet(&envelope, writer));
        let mut followers = 0;
        // Nothing but new data can be due behind a packet of it until something else comes in.
        let is_new = data.new && self.sender.has_queued();
        if is_new && self.due(now) == Some(Due::Data(DataDue::New(path))) {
            followers = self.write_followers(now, &envelope, limit - 1, buffer, each);
        }
        self.on_run_sent(now, path, data);
        1 + followers
    }

    /// Writes probes of path MTUs, because nothing of the user's or the peer's is due; returns whether that is
    /// all.
    fn write_mtu_probes(
        &mut self,
        now: Instant,
        limit: usize,
        packets: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> bool {
        while let Some((path, tag)) = self.mtu_probe_path().zip(self.peer.peer_tag) {
            if *packets >= limit {
                return false;
            }
            let Some(transmit) = self.write_mtu_probe(now, path, tag, buffer) else { break };
            each(transmit);
            *packets += 1;
        }
        true
    }

    /// Nothing leaves any more on this occasion.
    fn settle_when_idle(&mut self, now: Instant) {
        if self.config.congestion.pacing == Pacing::On {
            self.watch_pacing(now);
        }
        self.end_burst();
    }

    /// Returns the number of packets of new data alone, on the path of the first, as long as windows and burst
    /// let them go.
    fn write_followers(
        &mut self,
        now: Instant,
        envelope: &Envelope,
        limit: usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> usize {
        let path = envelope.path;
        let mut count = 0;
        while count < limit && self.burst_allows(now, path) {
            let mut writer = envelope.open(buffer);
            self.paths.path_mut(path).congestion.note_flight(self.sender.flight(path));
            if !self.sender.write_new(now, self.paths.path(path), &mut writer).0 {
                break;
            }
            let data = DataWritten { any: true, new: true, ..DataWritten::default() };
            self.on_data_packet(now, path, writer.len(), data);
            each(self.finish_packet(envelope, writer));
            count += 1;
        }
        count
    }

    /// Returns what all packets of a run have in common; `None` while the peer's tag is unknown.
    fn envelope(&self, path: PathId) -> Option<Envelope> {
        let tag = self.control.front().map(|control| control.tag).or(self.peer.peer_tag)?;
        let limit = self.packet_limit(path);
        let entry = self.paths.path(path);
        let fits = limit <= entry.packet_bytes();
        let fragmentation =
            if entry.mtu.is_searching() && fits { Fragmentation::Forbidden } else { Fragmentation::Allowed };
        Some(Envelope {
            path,
            tag,
            ports: (self.peer.local_port, self.peer.peer_port),
            limit,
            policy: self.authentication.policy(&self.config.authentication.keys),
            fragmentation,
            coverage: self.next_checksum(path, tag),
        })
    }

    /// Returns the envelope of a packet of its own with this limit, which is not to be fragmented.
    pub(super) fn probe_envelope(&self, path: PathId, tag: VerificationTag, limit: usize) -> Envelope {
        Envelope {
            path,
            tag,
            ports: (self.peer.local_port, self.peer.peer_port),
            limit,
            policy: self.authentication.policy(&self.config.authentication.keys),
            fragmentation: Fragmentation::Forbidden,
            coverage: Coverage::Checksum,
        }
    }

    /// Counts a packet, closes it, and says where it goes.
    pub(super) fn finish_packet(&mut self, envelope: &Envelope, mut writer: PacketWriter<'_>) -> Transmit {
        if envelope.policy.is_some() {
            let (authentication, keys) = (&mut self.authentication, &self.config.authentication.keys);
            writer.sign(|octets, hmac| authentication.sign(keys, octets, hmac));
        }
        let path = self.paths.path_mut(envelope.path);
        path.counters.packets_sent += 1;
        let len = match envelope.coverage {
            Coverage::Checksum => writer.finish(),
            Coverage::LayerBelow => {
                path.counters.note().zero_checksums_sent += 1;
                writer.finish_with_zero_checksum()
            }
        };
        Transmit {
            path: path.id,
            source: path.source.or(self.addresses.only_source()),
            destination: path.destination,
            len,
            fragmentation: envelope.fragmentation,
            dscp: self.config.transmission.dscp,
            segment_bytes: None,
        }
    }

    /// Returns whether the next packet may leave its checksum to the layer below (RFC 9653): the peer accepts
    /// that, this is its channel, and none of the chunks is one that has to be protected whatever is agreed.
    fn next_checksum(&self, path: PathId, tag: VerificationTag) -> Coverage {
        let is_channel = self.paths.path(path).destination.encapsulation == Encapsulation::Datagrams;
        let is_agreed = self.peer.agreed.capabilities.has(Capability::ZeroChecksum);
        let is_of_peer = Some(tag) == self.peer.peer_tag;
        if is_channel && is_agreed && is_of_peer && !self.control.kinds().any(needs_checksum) {
            Coverage::LayerBelow
        } else {
            Coverage::Checksum
        }
    }

    /// Returns the number of octets of the next packet at most. A chunk to be sent again that the path no
    /// longer carries in one packet goes alone and is left to IP to fragment (RFC 9260 §6.9).
    fn packet_limit(&self, path: PathId) -> usize {
        let limit = self.paths.path(path).packet_bytes();
        let longest = if self.control.is_empty() { self.sender.first_lost_bytes() } else { 0 };
        limit.max(COMMON_HEADER_BYTES + longest)
    }

    /// Returns what the next packet is sent for. Everything that asks for what is to be sent asks here.
    #[inline(always)]
    fn due(&self, now: Instant) -> Option<Due> {
        if let Some(control) = self.control.front() {
            return Some(Due::Control(control.path));
        }
        // RFC 9260 §5.1 (C): until COOKIE ACK only COOKIE ECHO travels, and data only in its packet. A packet
        // without it would be out of the blue if it is lost, and be answered with ABORT.
        if self.is_closed() || self.state.name() == S::CookieEchoed {
            return None;
        }
        let sack_path = self.outgoing.sack_path;
        if self.receiver.as_ref().is_some_and(Receiver::wants_sack) && !self.paths.path(sack_path).is_stranded
        {
            return Some(Due::Sack(sack_path));
        }
        if self.sender.forward_is_due() && self.may_send_data() && self.paths.is_open() {
            return Some(Due::Forward(self.paths.for_data()));
        }
        self.data_due(now).map(Due::Data)
    }

    /// Returns what of the user's data is to be sent, and where.
    fn data_due(&self, now: Instant) -> Option<DataDue> {
        self.data_wanted().filter(|data| match data {
            DataDue::Lost(path) => self.outgoing.fast_retransmit || self.burst_allows(now, *path),
            DataDue::Probe { .. } => true,
            DataDue::New(path) => self.burst_allows(now, *path),
        })
    }

    /// Returns what of the user's data would be sent if it were for windows and states alone.
    #[inline]
    fn data_wanted(&self) -> Option<DataDue> {
        let probed = self.paths.iter().find(|path| path.probe_is_due);
        if !(self.data_waits() || probed.is_some()) || !self.may_send_data() || !self.paths.is_open() {
            return None;
        }
        if let Some(path) = self.sender.path_of_lost(&self.paths) {
            let may_go = self.outgoing.fast_retransmit || self.sender.has_window(self.paths.path(path));
            return may_go.then_some(DataDue::Lost(path));
        }
        if let Some(probed) = probed {
            let of = probed.id;
            return Some(DataDue::Probe { of, on: self.path_for_probe(of) });
        }
        let path = self.paths.for_data();
        self.sender.wants_to_send(self.paths.path(path)).then_some(DataDue::New(path))
    }

    /// Whether anything has not been sent, or not as often as it has to be.
    #[inline]
    fn data_waits(&self) -> bool {
        self.sender.has_queued() || self.sender.has_lost()
    }

    /// Returns how much may leave on one occasion: the pacer says it or, while there is none, Max.Burst (RFC
    /// 9260 §6.1 (D)).
    fn burst_allows(&self, now: Instant, path: PathId) -> bool {
        let congestion = &self.paths.path(path).congestion;
        if congestion.is_paced() { congestion.paced_until(now).is_none() } else { self.burst_is_open(path) }
    }

    /// Nothing leaves now: wakes up when the pacer lets something go, if it is what data waits for.
    fn watch_pacing(&mut self, now: Instant) {
        let path = self.sender.path_of_lost(&self.paths).unwrap_or_else(|| self.paths.for_data());
        let may_wait = self.data_waits() && self.state.name() != S::CookieEchoed;
        let wanted = if may_wait { self.data_wanted() } else { None };
        let until = wanted.and_then(|_| self.paths.path(path).congestion.paced_until(now));
        let is_new = until.is_some() && !self.timers.is_running(Timer::Pacing(path));
        let congestion = &mut self.paths.path_mut(path).congestion;
        congestion.note_held(until.is_some());
        if is_new {
            congestion.on_paced();
        }
        self.timers.apply(Timer::Pacing(path), until);
    }

    /// Returns the path for a tail-loss probe. A second one in a row takes another path, if one is active and
    /// wide enough: the first may have been lost for the same reason as what it probes for.
    fn path_for_probe(&self, of: PathId) -> PathId {
        let is_first = self.sender.probes_unanswered(of) == 0;
        let other = if is_first { None } else { self.paths.alternate(of) };
        let packet_bytes = COMMON_HEADER_BYTES + self.sender.probe_bytes(of);
        other.filter(|other| packet_bytes <= self.paths.path(*other).packet_bytes()).unwrap_or(of)
    }

    fn write_control(
        &mut self,
        path: PathId,
        tag: VerificationTag,
        writer: &mut PacketWriter<'_>,
    ) -> Bundling {
        while let Some(control) = self.control.front() {
            let alone = control.bundling == Bundling::Alone;
            if control.path != path || control.tag != tag || (alone && !writer.is_empty()) {
                break;
            }
            let written = match control.content {
                Content::Encoded(chunk) => writer.raw(chunk),
                Content::Handshake(chunk) => self.write_handshake(chunk, writer),
            };
            if written.is_err() {
                // Alone in a packet and still too long: it can never be sent. Or nobody waits for it any more.
                if writer.is_empty() {
                    self.control.pop();
                    continue;
                }
                break;
            }
            self.control.pop();
            if alone {
                return Bundling::Alone;
            }
        }
        Bundling::Bundled
    }

    /// A SACK goes out when it must, or along with data (RFC 9260 §6.1); always where the data came from (§6.4).
    fn write_sack(&mut self, path: PathId, along: Option<DataDue>, writer: &mut PacketWriter<'_>) {
        let is_elsewhere = path != self.outgoing.sack_path;
        if is_elsewhere || self.state.name() == S::CookieEchoed || self.is_closed() {
            return;
        }
        let Some(receiver) = self.receiver.as_ref().filter(|receiver| receiver.is_sack_pending()) else {
            return;
        };
        let is_due = along.is_some() || receiver.wants_sack();
        if is_due && self.receiver.as_mut().is_some_and(|receiver| receiver.write_sack(writer).is_ok()) {
            if !self.receiver.as_ref().is_some_and(Receiver::is_sack_delayed) {
                self.timers.stop(Timer::SackDelay);
            }
            self.outgoing.sacked_on = path;
        }
    }

    /// Writes FORWARD TSN before DATA (RFC 3758 §3.5 (F2)), on the path that data takes.
    fn write_forward(&mut self, now: Instant, path: PathId, writer: &mut PacketWriter<'_>) -> bool {
        path == self.paths.for_data()
            && self.may_send_data()
            && self.paths.is_open()
            && self.state.name() != S::CookieEchoed
            && self.sender.write_forward(now, path, writer)
    }

    fn write_data(
        &mut self,
        now: Instant,
        path: PathId,
        due: Option<DataDue>,
        writer: &mut PacketWriter<'_>,
    ) -> DataWritten {
        if writer.remaining() <= self.sender.header_bytes() {
            return DataWritten::default();
        }
        let Some(due) = due else { return DataWritten::default() };
        // Only data ends the idleness of a congestion window (RFC 9260 §7.2.1).
        let (rto, flight) = (self.paths.path(path).rto.rto(), self.sender.flight(path));
        let entry = self.paths.path_mut(path);
        entry.change_window("unused", |congestion| congestion.on_send(now, rto, flight));
        if let DataDue::Probe { of, on } = due
            && self.write_probe(now, (of, on), writer)
        {
            return DataWritten { any: true, resent: true, ..DataWritten::default() };
        }
        let mut written = DataWritten::default();
        let entry = self.paths.path(path);
        let window_open = entry.congestion.admits(flight) && self.burst_allows(now, path);
        if self.sender.has_lost() && (window_open || self.outgoing.fast_retransmit) {
            let resent = self.sender.write_lost(now, path, &self.paths, writer);
            self.outgoing.fast_retransmit &= !resent.any;
            self.paths.path_mut(path).congestion.on_resent(resent.bytes);
            written =
                DataWritten { any: resent.any, resent: resent.any, earliest: resent.earliest, ..written };
        }
        if window_open && path == self.paths.for_data() && !self.sender.has_lost() {
            let (any, _blocked) = self.sender.write_new(now, self.paths.path(path), writer);
            written.any |= any;
            written.new = any;
        }
        written
    }

    /// Writes a tail-loss probe for what is in flight on path `of`, in a packet that goes out `on` a path.
    fn write_probe(
        &mut self,
        now: Instant,
        (of, on): (PathId, PathId),
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        let is_written = self.sender.write_probe(now, self.paths.path(of), on, writer);
        let entry = self.paths.path_mut(of);
        // Kept for the next packet if this one had no room beside its control chunks.
        entry.probe_is_due = !is_written && !writer.is_empty();
        if is_written {
            entry.counters.note().probes += 1;
        }
        if is_written && of != on {
            // An answer by the other path says nothing about this one.
            self.probe_path(now, of);
        }
        is_written
    }

    /// A packet with data, or what stands for it, is about to leave.
    #[inline]
    fn on_data_packet(&mut self, now: Instant, path: PathId, packet_bytes: usize, data: DataWritten) {
        self.paths.path_mut(path).congestion.on_sent(now, packet_bytes);
        if data.any {
            self.count_in_burst(path);
        }
    }

    /// Timers after packets were written, of which the first carried this.
    fn on_run_sent(&mut self, now: Instant, path: PathId, data: DataWritten) {
        if !data.any && !data.forward {
            return;
        }
        let entry = self.paths.path_mut(path);
        if data.new {
            entry.last_used = now;
        }
        self.outgoing.usage.on_user_data(now);
        // Data that went with COOKIE ECHO goes with the next one: T1-cookie is its timer.
        if self.state.name() == S::CookieEchoed {
            return;
        }
        // RFC 9260 §6.3.2 (R1), and §6.1: anew when the earliest outstanding chunk is sent again.
        let at = now + entry.rto.rto();
        if data.earliest {
            self.timers.set(Timer::T3Rtx(path), at);
        } else {
            self.timers.start_if_stopped(Timer::T3Rtx(path), at);
        }
        // A probe is for the oldest chunk in flight, which new ones do not change.
        if data.resent || data.forward || !self.timers.is_running(Timer::TailLossProbe(path)) {
            self.watch_tail(now);
        }
    }

    /// Queues a control chunk that may be bundled; one that could not be encoded is counted and dropped.
    pub(super) fn push_chunk(&mut self, path: PathId, chunk: Result<ChunkBuf, Full>) {
        self.push_control(path, chunk, Bundling::Bundled);
    }

    pub(super) fn push_control(&mut self, path: PathId, chunk: Result<ChunkBuf, Full>, bundling: Bundling) {
        self.push_to(self.permitted(path), chunk, bundling);
    }

    /// HEARTBEAT or HEARTBEAT ACK: these may also go to an unconfirmed address (RFC 9260 §5.4).
    pub(super) fn push_heartbeat(&mut self, path: PathId, chunk: Result<ChunkBuf, Full>) {
        self.push_to(path, chunk, Bundling::Bundled);
    }

    /// Queues a chunk of the handshake, which takes the place of the last one.
    pub(super) fn push_handshake(&mut self, path: PathId, chunk: HandshakeChunk) {
        self.control.push_handshake(chunk, path, self.tag_of_peer());
    }

    /// Returns the peer's tag; zero before it is known, which only INIT travels without (RFC 9260 §8.5.1 (A)).
    fn tag_of_peer(&self) -> VerificationTag {
        self.peer.peer_tag.unwrap_or(VerificationTag::ZERO)
    }

    pub(super) fn push_to(&mut self, path: PathId, chunk: Result<ChunkBuf, Full>, bundling: Bundling) {
        self.push_tagged(path, self.tag_of_peer(), chunk, bundling);
    }

    /// Queues a chunk for a packet with any tag: to a peer whose own does not count.
    pub(super) fn push_tagged(
        &mut self,
        path: PathId,
        tag: VerificationTag,
        chunk: Result<ChunkBuf, Full>,
        bundling: Bundling,
    ) {
        let Ok(chunk) = chunk else {
            self.counters.note().control_dropped += 1;
            return;
        };
        let queued = self.control.push(ControlChunk { path, tag, chunk, bundling });
        if !queued {
            self.counters.note().control_dropped += 1;
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

/// The part that packets share which go to the same place on the same occasion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    path: PathId,
    tag: VerificationTag,
    /// Ours and the peer's.
    ports: (SctpPort, SctpPort),
    /// Octets at most.
    limit: usize,
    policy: Option<AuthPolicy>,
    fragmentation: Fragmentation,
    coverage: Coverage,
}

impl Envelope {
    /// Begins a packet.
    pub(super) fn open<'b>(&self, buffer: &'b mut Vec<u8>) -> PacketWriter<'b> {
        let mut writer = PacketWriter::begin(buffer, self.ports.0, self.ports.1, self.tag, self.limit);
        if let Some(policy) = self.policy {
            writer.authenticate(policy);
        }
        writer
    }
}

/// The protection of a packet from errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// CRC32c (RFC 9260 §6.8).
    Checksum,
    /// The channel; the checksum is zero (RFC 9653).
    LayerBelow,
}

/// Returns whether a chunk is never sent without a checksum: it may reach a peer that has not agreed, or has
/// forgotten.
fn needs_checksum(kind: ChunkType) -> bool {
    matches!(kind, ChunkType::INIT | ChunkType::COOKIE_ECHO | ChunkType::ASCONF)
}

#[cfg(test)]
mod tests;
