//! DATA or I-DATA chunks into packets: retransmissions, new data, probes.

use sctp_wire::{
    COMMON_HEADER_BYTES, DataFlags, DataHeader, FragmentLabel, Full, IDataHeader, PacketWriter, Tsn,
};
use virtual_time::Instant;

use super::acknowledge::RttSample;
use super::outstanding::Load;
use super::queue::{ChunkRoom, Cut, Fragment, Framing, Taken};
use super::scheduler::Rest;
use super::sent_chunk::{ChunkState, SentChunk};
use super::{Sender, SenderOptions, WindowProbe};
use crate::config::{ImmediateSack, MessageBundling, Nagle, StreamScheduler, TransmissionConfig};
use crate::message::Message;
use crate::path::{Loss, Path, PathSet};
use crate::transmit::PathIndex;

/// The reason why no more new data goes into this packet or the next.
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
    /// The outstanding chunks are as many as the TSN and SSN spaces bear.
    TooManyOutstanding,
}

impl Sender {
    /// Returns whether a packet of new data could go out on this path, for want of anything else to send there.
    #[inline]
    pub(crate) fn wants_to_send(&self, path: &Path) -> bool {
        !self.queue.is_empty() && self.may_send_next(path)
    }

    #[inline]
    fn may_send_next(&self, path: &Path) -> bool {
        if !self.has_window(path) {
            return false;
        }
        let room = self.room(usize::MAX, self.full_room(path));
        if self.queue.fits(room.alone.min(room.window)) && self.check_outstanding().is_ok() {
            debug_assert!(self.queue.next_bytes(&room).is_ok());
            return self.check_nagle(room.alone).is_ok();
        }
        self.check_first(&room).is_ok()
    }

    /// Returns whether unacknowledged chunks travel with new data once more.
    pub(crate) fn is_redundant(&self) -> bool {
        self.redundancy.is_some()
    }

    /// Returns whether the congestion window of a path has room (RFC 9260 §6.1 (B)).
    pub(crate) fn has_window(&self, path: &Path) -> bool {
        path.congestion.admits(self.flight(path.index))
    }

    /// Returns whether messages, or the rest of one, have not been sent yet.
    pub(crate) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns whether anything has not been sent, or not as often as it has to be.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        self.has_queued() || self.has_lost()
    }

    /// Returns whether chunks wait for retransmission.
    pub(crate) fn has_lost(&self) -> bool {
        self.outstanding.has_lost()
    }

    /// Returns the path on which the chunk goes that is sent again first (RFC 9260 §6.4).
    #[inline]
    pub(crate) fn path_of_lost(&self, paths: &PathSet) -> Option<PathIndex> {
        let index = self.outstanding.first_lost()?;
        self.outstanding.get(index).map(|chunk| target(chunk, paths))
    }

    /// Tail-loss probes sent for a path since it last answered.
    pub(crate) fn probes_unanswered(&self, path: PathIndex) -> u32 {
        self.rack.probes_unanswered(path)
    }

    /// Returns the number of octets of the chunk that is sent again first; zero if none waits.
    pub(crate) fn first_lost_bytes(&self) -> usize {
        let first = self.outstanding.first_lost().and_then(|index| self.outstanding.get(index));
        first.map_or(0, |chunk| chunk.wire_bytes() + self.options.reserved_bytes)
    }

    /// Returns whether something is queued, with nothing in flight, and the peer's window has not room for any chunk, whatever the
    /// path.
    #[inline]
    pub(crate) fn may_need_window_probe(&self) -> bool {
        self.window_probe == WindowProbe::Idle
            && self.outstanding.is_empty()
            && !self.queue.is_empty()
            && self.advertised_window < usize::from(u16::MAX)
    }

    /// Returns whether what is queued waits for the peer's window alone, with nothing in flight: probe it (§6.1
    /// (A)).
    #[inline(never)]
    pub(crate) fn needs_window_probe(&self, path: &Path) -> bool {
        self.may_need_window_probe()
            // A window with room for any chunk of this path stops none.
            && self.advertised_window < self.full_room(path)
            && self.next_bytes(usize::MAX, self.full_room(path)) == Err(Blocked::PeerWindow)
    }

    /// The window-probe timer expired: one chunk may go out although the window is closed.
    pub(crate) fn allow_window_probe(&mut self) {
        self.window_probe = WindowProbe::Allowed;
    }

    /// Returns whether the earliest outstanding chunk is more than the peer has room for: it will not be
    /// acknowledged, lost or not.
    pub(crate) fn waits_for_window(&self) -> bool {
        self.outstanding.get(0).is_some_and(|chunk| chunk.payload_bytes() > self.advertised_window)
    }

    /// Writes lost chunks, lowest TSN first, up to one that is to go on another path.
    pub(crate) fn write_lost(
        &mut self,
        now: Instant,
        path: PathIndex,
        paths: &PathSet,
        writer: &mut PacketWriter<'_>,
    ) -> ResentInPacket {
        let mut resent = ResentInPacket::default();
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
        if self.redundancy.is_some() {
            self.write_copies(now, path, writer);
        }
        let result = self.fill(now, path, writer);
        self.queue.end_packet();
        result
    }

    fn fill(&mut self, now: Instant, path: &Path, writer: &mut PacketWriter<'_>) -> (bool, Blocked) {
        // RFC 9260 §6.1 (B): one packet may exceed cwnd, so the window is looked at before the packet only.
        if !path.congestion.admits(self.flight(path.index)) {
            return (false, Blocked::CongestionWindow);
        }
        let header_bytes = self.header_bytes();
        let mut room = self.room(writer.remaining().saturating_sub(header_bytes), self.full_room(path));
        room.cut = self.cut(path);
        if let Err(blocked) = self.check_nagle(room.alone) {
            return (false, self.queue.next_bytes(&room).err().unwrap_or(blocked));
        }
        let first = self.outstanding.next_tsn();
        let mut load = Load::on(path.index);
        let (flight, packet_bytes) = (self.flight(path.index), path.packet_bytes());
        let (least, most) = (path.congestion.octets_to_fill(flight), packet_bytes.saturating_sub(flight));
        let fills_window = |octets: usize| least <= octets && octets <= most;
        self.outstanding.make_room();
        let blocked = loop {
            match self.write_next(now, &room, writer, &mut load, fills_window) {
                Ok(Rest::Some) => {}
                Ok(Rest::None) => break self.check_outstanding().err().unwrap_or(Blocked::NothingToSend),
                Err(blocked) => break blocked,
            }
            if self.options.bundling == MessageBundling::Off {
                break Blocked::PacketFull;
            }
            room.here = writer.remaining().saturating_sub(header_bytes);
            room.window = self.free_window().saturating_sub(load.payload);
        };
        let chunks = self.outstanding.enter(first, &load);
        if chunks > 0 {
            self.window_probe = match self.window_probe {
                WindowProbe::Allowed => WindowProbe::Sent,
                other @ (WindowProbe::Idle | WindowProbe::Sent) => other,
            };
            self.rtt_sample(path.index).on_sent(now, first);
            self.statistics.chunks += u64::from(chunks);
        }
        (chunks > 0, blocked)
    }

    /// Returns what the next new chunk may carry, with so much room in this packet and in one of its own.
    fn room(&self, here: usize, alone: usize) -> ChunkRoom {
        let is_probe = self.window_probe == WindowProbe::Allowed;
        let window = if is_probe { usize::MAX } else { self.free_window() };
        ChunkRoom { here, alone, window, cut: Cut::WhatFitsNoPacket }
    }

    /// Returns which messages the next packet cuts. With messages that may be given up it is left alone: in two
    /// packets they are lost twice as often.
    fn cut(&self, path: &Path) -> Cut {
        let is_filled = match self.options.bundling {
            MessageBundling::On | MessageBundling::Off => false,
            MessageBundling::FilledWhenLimited => {
                path.congestion.is_spread()
                    && !self.options.gives_up
                    && self.waits_for_congestion_window(path)
            }
            MessageBundling::Filled => true,
        };
        if is_filled { Cut::ToFill } else { Cut::WhatFitsNoPacket }
    }

    /// Returns whether data will be left when the congestion window is full, and would find room at the peer.
    fn waits_for_congestion_window(&self, path: &Path) -> bool {
        let room = path.congestion.room(self.flight(path.index));
        room < self.queue.payload_bytes() && room < self.free_window()
    }

    /// Returns the octets of payload of the next new chunk.
    fn next_bytes(&self, here: usize, alone: usize) -> Result<usize, Blocked> {
        self.check_outstanding()?;
        self.queue.next_bytes(&self.room(here, alone))
    }

    /// Returns the octets of payload of the first new chunk of a packet.
    fn check_first(&self, room: &ChunkRoom) -> Result<usize, Blocked> {
        self.check_outstanding()?;
        let octets = self.queue.next_bytes(room)?;
        self.check_nagle(room.alone).map(|()| octets)
    }

    /// Checks whether Nagle holds the next packet back; it does not hold chunks that could share one.
    pub(super) fn check_nagle(&self, alone: usize) -> Result<(), Blocked> {
        let is_held = self.options.nagle == Nagle::On
            && self.outstanding.total_flight() > 0
            && self.queue.payload_bytes() < alone;
        if is_held { Err(Blocked::Nagle) } else { Ok(()) }
    }

    fn check_outstanding(&self) -> Result<(), Blocked> {
        let is_full = self.outstanding.len() >= OUTSTANDING_CHUNKS_MAX;
        if is_full { Err(Blocked::TooManyOutstanding) } else { Ok(()) }
    }

    /// Writes a new chunk, and says whether another one could be taken; what it adds to what is in flight is added to `load`.
    #[inline(always)]
    fn write_next(
        &mut self,
        now: Instant,
        room: &ChunkRoom,
        writer: &mut PacketWriter<'_>,
        load: &mut Load,
        fills_window: impl FnOnce(usize) -> bool,
    ) -> Result<Rest, Blocked> {
        self.check_outstanding()?;
        let Taken { fragment, message, has_next } = self.queue.take(room)?;
        let octets = load.wire + fragment.framing.header_bytes() + fragment.payload_bytes();
        let immediate = self.options.asks_at_once(has_next, || fills_window(octets));
        let flags = DataFlags { immediate, ..fragment.flags() };
        write_chunk(writer, self.outstanding.next_tsn(), &fragment, message, flags)
            .map_err(|Full| Blocked::PacketFull)?;
        let tries = self.tries_left(now, fragment.message, 1);
        self.outstanding.append(now, fragment, tries, load);
        Ok(if has_next { Rest::Some } else { Rest::None })
    }

    /// Writes a chunk once more that stays as it is.
    pub(super) fn write_copy(&self, index: usize, writer: &mut PacketWriter<'_>) -> Option<()> {
        let chunk = self.outstanding.get(index)?;
        let stored = self.queue.messages().get(chunk.fragment.message)?;
        let (tsn, flags) = (self.outstanding.tsn_at(index), chunk.fragment.flags());
        write_chunk(writer, tsn, &chunk.fragment, &stored.message, flags).ok()
    }

    pub(super) fn write_again(
        &mut self,
        now: Instant,
        path: PathIndex,
        index: usize,
        writer: &mut PacketWriter<'_>,
    ) -> Option<()> {
        let chunk = self.outstanding.get(index)?;
        let tsn = self.outstanding.tsn_at(index);
        let mut flags = chunk.fragment.flags();
        flags.immediate = self.options.immediate_sack == ImmediateSack::WhenSenderDry;
        let stored = self.queue.messages().get(chunk.fragment.message)?;
        write_chunk(writer, tsn, &chunk.fragment, &stored.message, flags).ok()?;
        self.recoveries.on_resent(tsn, chunk, path);
        let transmissions = u32::from(chunk.transmissions.saturating_add(1));
        let tries = self.tries_left(now, chunk.fragment.message, transmissions);
        self.outstanding.resent(now, path, index, tries);
        for sample in self.rtt_samples.iter_mut() {
            sample.on_resent(tsn);
        }
        Some(())
    }

    /// Returns the number of octets of a chunk before its payload.
    pub(crate) fn header_bytes(&self) -> usize {
        self.queue.framing().header_bytes()
    }

    /// Returns the octets of payload of a chunk alone in a packet.
    pub(super) fn full_room(&self, path: &Path) -> usize {
        path.packet_bytes() - COMMON_HEADER_BYTES - self.options.reserved_bytes - self.header_bytes()
    }

    #[inline]
    fn rtt_sample(&mut self, path: PathIndex) -> &mut RttSample {
        self.rtt_samples.entry(path)
    }
}

impl SenderOptions {
    /// Returns the I bit (RFC 9260 §6.1): on the last chunk there is, and on the one that fills a window of one
    /// packet. The SACK for two packets opens a larger one, and a SACK for every packet would double the
    /// acknowledgments of bulk.
    #[inline]
    fn asks_at_once(&self, has_next: bool, fills_window: impl FnOnce() -> bool) -> bool {
        match self.immediate_sack {
            ImmediateSack::WhenSenderDry => !has_next || fills_window(),
            ImmediateSack::WhenShuttingDown => self.is_draining,
        }
    }
}

/// The chunks that were sent again in one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResentInPacket {
    pub(crate) any: bool,
    /// Octets of DATA chunks.
    pub(crate) bytes: usize,
    /// The earliest outstanding chunk was among it: T3-rtx starts anew (RFC 9260 §6.1).
    pub(crate) earliest: bool,
}

/// Returns how packets of a new association are bundled. Another scheduler than the simplest chooses anew at
/// the end of each message: none is begun before its turn.
pub(super) fn bundling(config: TransmissionConfig) -> MessageBundling {
    match (config.bundling, config.scheduler) {
        (MessageBundling::FilledWhenLimited, StreamScheduler::FirstComeFirstServed) => {
            MessageBundling::FilledWhenLimited
        }
        (MessageBundling::FilledWhenLimited, _) => MessageBundling::On,
        (bundling, _) => bundling,
    }
}

/// Returns where a lost chunk goes again.
fn target(chunk: &SentChunk, paths: &PathSet) -> PathIndex {
    let loss = match chunk.state {
        ChunkState::TimedOut => Loss::TimedOut,
        ChunkState::Lost | ChunkState::InFlight | ChunkState::Acknowledged | ChunkState::Abandoned => {
            Loss::Reported
        }
    };
    paths.for_lost(chunk.path, loss)
}

#[inline(always)]
fn write_chunk(
    writer: &mut PacketWriter<'_>,
    tsn: Tsn,
    fragment: &Fragment,
    message: &Message,
    flags: DataFlags,
) -> Result<(), Full> {
    let &Fragment { stream, mid, fsn, .. } = fragment;
    let (ppid, payload) = (message.ppid, fragment.payload(message));
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
