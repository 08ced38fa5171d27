//! DATA or I-DATA chunks into packets: retransmissions, new data, probes.

use sctp_wire::{
    COMMON_HEADER_BYTES, DataFlags, DataHeader, FragmentLabel, Full, IDataHeader, PacketWriter, Tsn,
};
use virtual_time::Instant;

use super::acknowledge::RttSample;
use super::messages::Messages;
use super::outstanding::SentChunk;
use super::queue::{Cuts, Fragment, Framing, Next};
use super::{Sender, WindowProbe};
use crate::config::{ImmediateSack, MessageBundling, Nagle};
use crate::path::{Loss, Path, PathSet};
use crate::transmit::PathId;

/// Why no more new data goes into this packet or the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// Nothing is queued.
    NothingToSend,
    /// The next fragment does not fit this packet any more.
    PacketFull,
    /// The congestion window is used up (RFC 9260 §6.1 (B)).
    CongestionWindow,
    /// The peer's window is (RFC 9260 §6.1 (A)).
    PeerWindow,
    /// Nagle waits for a fuller packet.
    Nagle,
    /// As many chunks are outstanding as the TSN and SSN spaces bear.
    TooManyOutstanding,
}

impl Sender {
    /// Whether a packet of new data could go out on this path, for want of anything else to send there.
    pub(crate) fn wants_to_send(&self, path: &Path) -> bool {
        self.has_window(path) && self.first(usize::MAX, self.full_room(path)).is_ok()
    }

    /// Whether the congestion window of a path has room (RFC 9260 §6.1 (B)).
    pub(crate) fn has_window(&self, path: &Path) -> bool {
        path.congestion.admits(self.flight(path.id))
    }

    /// Whether chunks wait for retransmission.
    pub(crate) fn has_lost(&self) -> bool {
        self.outstanding.has_lost()
    }

    /// The path on which the chunk goes that is sent again first (RFC 9260 §6.4).
    pub(crate) fn path_of_lost(&mut self, paths: &PathSet) -> Option<PathId> {
        let index = self.outstanding.first_lost()?;
        self.outstanding.get(index).map(|chunk| target(chunk, paths))
    }

    /// Tail-loss probes sent for a path since it last answered.
    pub(crate) fn probes_unanswered(&self, path: PathId) -> u32 {
        self.rack.probes_unanswered(path)
    }

    /// Octets of the chunk that is sent again first; zero if none waits.
    pub(crate) fn first_lost_bytes(&mut self) -> usize {
        let first = self.outstanding.first_lost().and_then(|index| self.outstanding.get(index));
        first.map_or(0, |chunk| chunk.wire_bytes() + self.options.reserved_bytes)
    }

    /// Whether what is queued waits for the peer's window alone, with nothing in flight: probe it (§6.1 (A)).
    pub(crate) fn needs_window_probe(&self, path: &Path) -> bool {
        self.window_probe == WindowProbe::Idle
            && self.outstanding.is_empty()
            // A window with room for any chunk stops none.
            && self.advertised_window < self.full_room(path)
            && self.next(usize::MAX, self.full_room(path)) == Err(Blocked::PeerWindow)
    }

    /// The window-probe timer expired: one chunk may go out although the window is closed.
    pub(crate) fn allow_window_probe(&mut self) {
        self.window_probe = WindowProbe::Allowed;
    }

    /// Whether the earliest outstanding chunk is more than the peer has room for: it will not be acknowledged,
    /// lost or not.
    pub(crate) fn waits_for_window(&self) -> bool {
        self.outstanding.get(0).is_some_and(|chunk| chunk.payload_bytes() > self.advertised_window)
    }

    /// Writes lost chunks, lowest TSN first, up to one that is to go on another path.
    pub(crate) fn write_lost(
        &mut self,
        now: Instant,
        path: PathId,
        paths: &PathSet,
        writer: &mut PacketWriter<'_>,
    ) -> Resent {
        let mut resent = Resent::default();
        let earliest = self.outstanding.iter().find(|(_, chunk)| chunk.is_unsettled());
        let earliest = earliest.map(|(index, _)| index);
        while let Some(index) = self.outstanding.first_lost() {
            let bytes = self.outstanding.get(index).map_or(0, SentChunk::wire_bytes);
            let goes_here = self.outstanding.get(index).is_some_and(|chunk| target(chunk, paths) == path);
            if !goes_here || self.write_again(now, path, index, writer).is_none() {
                break;
            }
            self.statistics.retransmissions += 1;
            resent.any = true;
            resent.bytes += bytes;
            resent.earliest |= Some(index) == earliest;
        }
        resent
    }

    /// Writes new chunks until something forbids it, and says what.
    pub(crate) fn write_new(
        &mut self,
        now: Instant,
        path: &Path,
        writer: &mut PacketWriter<'_>,
    ) -> (bool, Blocked) {
        let result = self.fill(now, path, writer);
        self.queue.end_packet();
        result
    }

    fn fill(&mut self, now: Instant, path: &Path, writer: &mut PacketWriter<'_>) -> (bool, Blocked) {
        let mut any = false;
        // RFC 9260 §6.1 (B): one packet may exceed cwnd, so the window is looked at before the packet only.
        if !path.congestion.admits(self.flight(path.id)) {
            return (any, Blocked::CongestionWindow);
        }
        let full_room = self.full_room(path);
        loop {
            let room = writer.remaining().saturating_sub(self.header_bytes());
            let next = if any { self.next(room, full_room) } else { self.first(room, full_room) };
            let next = match next {
                Ok(next) => next,
                Err(blocked) => return (any, blocked),
            };
            if !self.write_next(now, path, next, writer) {
                return (any, Blocked::PacketFull);
            }
            any = true;
            if self.options.bundling == MessageBundling::Off {
                return (any, Blocked::PacketFull);
            }
        }
    }

    /// What the next new chunk carries, with so much room in this packet and in one of its own.
    #[inline]
    fn next(&self, room: usize, full_room: usize) -> Result<Next, Blocked> {
        let head = self.queue.head().ok_or(Blocked::NothingToSend)?;
        if self.outstanding.len() >= OUTSTANDING_CHUNKS_MAX {
            return Err(Blocked::TooManyOutstanding);
        }
        let cuts = Cuts::new(self.options.bundling, full_room);
        let next = self.queue.next(head, room.min(full_room), cuts).ok_or(Blocked::PacketFull)?;
        if next.len > self.free_window() && self.window_probe != WindowProbe::Allowed {
            return Err(Blocked::PeerWindow);
        }
        Ok(next)
    }

    /// The same for the first new chunk of a packet: Nagle holds packets back, not chunks that could share one.
    fn first(&self, room: usize, full_room: usize) -> Result<Next, Blocked> {
        let next = self.next(room, full_room)?;
        let is_held = self.options.nagle == Nagle::On
            && self.outstanding.total_flight() > 0
            && self.queue.payload_bytes() < full_room;
        if is_held { Err(Blocked::Nagle) } else { Ok(next) }
    }

    #[inline]
    fn write_next(&mut self, now: Instant, path: &Path, next: Next, writer: &mut PacketWriter<'_>) -> bool {
        let Some(fragment) = self.queue.take(next) else { return false };
        let tsn = self.outstanding.next_tsn();
        let flags = self.flags(&fragment, path);
        if write_chunk(writer, tsn, &fragment, self.queue.messages(), flags).is_err() {
            return false;
        }
        if self.window_probe == WindowProbe::Allowed {
            self.window_probe = WindowProbe::Sent;
        }
        let tries = self.tries_left(now, fragment.message, 1);
        self.outstanding.push(now, path.id, fragment, tries);
        self.rtt_sample(path.id).on_sent(now, tsn);
        self.statistics.chunks += 1;
        true
    }

    pub(super) fn write_again(
        &mut self,
        now: Instant,
        path: PathId,
        index: usize,
        writer: &mut PacketWriter<'_>,
    ) -> Option<()> {
        let chunk = self.outstanding.get(index)?;
        let tsn = self.outstanding.tsn_at(index);
        let mut flags = chunk.fragment.flags;
        flags.immediate = self.options.immediate_sack == ImmediateSack::WhenSenderDry;
        write_chunk(writer, tsn, &chunk.fragment, self.queue.messages(), flags).ok()?;
        self.recoveries.on_resent(tsn, chunk);
        let transmissions = u32::from(chunk.transmissions.saturating_add(1));
        let tries = self.tries_left(now, chunk.fragment.message, transmissions);
        self.outstanding.resent(now, path, index, tries);
        for sample in &mut self.rtt_samples {
            sample.on_resent(tsn);
        }
        Some(())
    }

    /// The I bit (RFC 9260 §6.1): on the last chunk there is, and on the one that fills a window of one packet. The SACK
    /// for two packets opens a larger one, and a SACK for every packet would double the acknowledgments of bulk.
    #[inline]
    fn flags(&self, fragment: &Fragment, path: &Path) -> DataFlags {
        let fills_window = || {
            let flight = self.flight(path.id) + self.header_bytes() + fragment.payload_bytes();
            flight <= path.packet_bytes() && !path.congestion.admits(flight)
        };
        let immediate = match self.options.immediate_sack {
            ImmediateSack::WhenSenderDry => !self.queue.has_next() || fills_window(),
            ImmediateSack::WhenShuttingDown => self.options.is_draining,
        };
        DataFlags { immediate, ..fragment.flags }
    }

    /// Octets of a chunk before its payload.
    pub(crate) fn header_bytes(&self) -> usize {
        self.queue.framing().header_bytes()
    }

    /// Payload octets of a chunk alone in a packet.
    fn full_room(&self, path: &Path) -> usize {
        path.packet_bytes() - COMMON_HEADER_BYTES - self.options.reserved_bytes - self.header_bytes()
    }

    #[inline]
    fn rtt_sample(&mut self, path: PathId) -> &mut RttSample {
        if self.rtt_samples.len() <= path.index() {
            self.rtt_samples.resize(path.index() + 1, RttSample::default());
        }
        &mut self.rtt_samples[path.index()]
    }
}

/// What was sent again in one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resent {
    pub(crate) any: bool,
    /// Octets of DATA chunks.
    pub(crate) bytes: usize,
    /// The earliest outstanding chunk was among it: T3-rtx starts anew (RFC 9260 §6.1).
    pub(crate) earliest: bool,
}

/// Where a lost chunk goes again.
fn target(chunk: &SentChunk, paths: &PathSet) -> PathId {
    let loss = if chunk.timed_out { Loss::TimedOut } else { Loss::Reported };
    paths.for_lost(chunk.path, loss)
}

#[inline]
fn write_chunk(
    writer: &mut PacketWriter<'_>,
    tsn: Tsn,
    fragment: &Fragment,
    messages: &Messages,
    flags: DataFlags,
) -> Result<(), Full> {
    let Some(stored) = messages.get(fragment.message) else { return Err(Full) };
    let &Fragment { stream, mid, fsn, .. } = fragment;
    let (ppid, payload) = (stored.message.ppid, fragment.payload(&stored.message));
    match fragment.framing {
        Framing::Data => writer.data(&DataHeader { tsn, stream, ssn: fragment.ssn(), ppid, flags }, payload),
        Framing::IData => {
            let label =
                if flags.beginning { FragmentLabel::Beginning(ppid) } else { FragmentLabel::Later(fsn) };
            writer.i_data(&IDataHeader { tsn, stream, mid, label, flags }, payload)
        }
    }
}

/// Outstanding chunks at most: TSNs and SSNs stay unambiguous (RFC 9260 §6.1 allows 2^16 − 1 messages a stream).
const OUTSTANDING_CHUNKS_MAX: usize = 65_535;
