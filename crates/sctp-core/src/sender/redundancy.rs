//! Copies of what is not acknowledged yet, in packets of new data: a loss is mended by the next message.
//!
//! Owns what is known of the copies on their way. A copy leaves its chunk as it is, in flight since it was sent first, so that
//! timers and detection go on as if there were none. What a copy did shows in the SACK that acknowledges the new data it travelled
//! with: if the chunk is acknowledged there for the first time and not reported as received twice, the original was lost. That
//! is a congestion signal as any other loss (RFC 9260 §7.2.4 (2)).

use core::time::Duration;
use std::collections::VecDeque;

use sctp_wire::{PacketWriter, Sack, Tsn};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::acknowledge::{DUPLICATES_HEARD, Delivered, RttSample};
use super::sent_chunk::{ChunkState, SentChunk};
use super::steps::step;
use super::{SackOutcome, Sender};
use crate::config::{EarlyCopy, LossDetection, RedundancyConfig};
use crate::path::Path;
use crate::transmit::PathIndex;

/// The copies of an association that are on their way.
#[derive(Debug)]
pub(super) struct Redundancy {
    config: RedundancyConfig,
    copies: VecDeque<SentCopy>,
    /// The times of the last packet of new data, and of the one before.
    new_at: Instant,
    before: Option<Instant>,
    /// Duplicates of the present SACK that copies explain.
    explained: SmallVec<[Tsn; 4]>,
}

/// A copy whose packet is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct SentCopy {
    tsn: Tsn,
    path: PathIndex,
    /// The first chunk of new data in its packet.
    carrier: Tsn,
    /// Whether the present SACK acknowledges its chunk for the first time.
    is_news: bool,
}

impl Redundancy {
    pub(super) fn new(config: RedundancyConfig) -> Self {
        let (copies, explained) = (VecDeque::new(), SmallVec::new());
        Self { config, copies, new_at: Instant::EPOCH, before: None, explained }
    }

    /// New data leaves now.
    pub(super) fn on_new(&mut self, now: Instant) {
        if self.new_at != now {
            (self.before, self.new_at) = (Some(self.new_at), now);
        }
    }

    fn on_copied(&mut self, tsn: Tsn, path: PathIndex, carrier: Tsn) {
        if self.copies.len() >= REMEMBERED {
            self.copies.pop_front();
        }
        self.copies.push_back(SentCopy { tsn, path, carrier, is_news: false });
    }

    /// Chunks are acknowledged for the first time. Gives whether a copy may be what arrived, so that nothing is known of how
    /// long the original took, and nothing is measured by it.
    #[inline(never)]
    pub(super) fn on_delivered(
        &mut self,
        delivered: &Delivered,
        sack: &Sack<'_>,
        sample: Option<&mut RttSample>,
    ) -> bool {
        let mut is_ambiguous = false;
        for copy in self.copies.iter_mut().inspect(|_| step()).filter(|copy| delivered.contains(copy.tsn)) {
            copy.is_news = true;
            is_ambiguous |= covers(sack, copy.carrier);
        }
        if is_ambiguous && let Some(sample) = sample {
            sample.on_ambiguous(delivered);
        }
        is_ambiguous
    }

    /// Takes out the copies whose packets a SACK acknowledges, and gives the path of each that mended a loss.
    fn settle(&mut self, sack: &Sack<'_>) -> SmallVec<[PathIndex; 4]> {
        self.explained.clear();
        let (explained, mut mended) = (&mut self.explained, SmallVec::<[(Tsn, PathIndex); 4]>::new());
        self.copies.retain_mut(|copy| {
            let is_news = core::mem::take(&mut copy.is_news);
            if !covers(sack, copy.carrier) {
                return true;
            }
            if sack.duplicate_tsns().take(DUPLICATES_HEARD).any(|tsn| tsn == copy.tsn) {
                explained.push(copy.tsn);
            } else if is_news {
                mended.push((copy.tsn, copy.path));
            }
            false
        });
        mended.dedup_by_key(|(tsn, _)| *tsn);
        mended.into_iter().map(|(_, path)| path).collect()
    }

    /// Returns whether a duplicate that the present SACK reports was a copy, so that it tells nothing of a retransmission.
    pub(super) fn explains(&self, tsn: Tsn) -> bool {
        self.explained.contains(&tsn)
    }
}

impl Sender {
    /// Writes copies in front of the new chunks of a packet, in the order of their TSNs (RFC 9260 §6.10), if all that is queued finds room
    /// behind them.
    #[inline(never)]
    pub(super) fn write_copies(&mut self, now: Instant, path: &Path, writer: &mut PacketWriter<'_>) {
        let is_new_sent = self.queue.payload_bytes() > 0
            && path.congestion.admits(self.flight(path.index))
            && self.check_nagle(self.full_room(path)).is_ok();
        let Some(redundancy) = self.redundancy.as_deref_mut().filter(|_| is_new_sent) else { return };
        redundancy.on_new(now);
        let spare = writer.remaining().checked_sub(self.queue.most_wire_bytes());
        let Some(spare) = spare.filter(|_| self.queue.payload_bytes() <= self.free_window()) else { return };
        let carrier = self.outstanding.next_tsn();
        for index in self.copied_next(now, path.index, spare).into_iter().rev() {
            let tsn = self.outstanding.tsn_at(index);
            if self.write_copy(index, writer).is_none() {
                return;
            }
            self.outstanding.note_copy(index);
            if let Some(redundancy) = &mut self.redundancy {
                redundancy.on_copied(tsn, path.index, carrier);
            }
            self.statistics.note().copies.sent += 1;
        }
    }

    /// Returns the indices of the chunks that the next packet carries once more, the newest first.
    fn copied_next(&self, now: Instant, path: PathIndex, spare: usize) -> SmallVec<[usize; 8]> {
        let Some(Redundancy { config, .. }) = self.redundancy.as_deref() else { return SmallVec::new() };
        let mut left = spare.min(config.bytes.into());
        let wanted = |chunk: &SentChunk| {
            chunk.state == ChunkState::InFlight
                && chunk.path == path
                && chunk.is_original()
                && !chunk.is_last_try
                && chunk.copies < config.copies
                // What left just now would share the fate of its copy.
                && chunk.sent_at < now
        };
        let newest = self.outstanding.iter().rev().take(REACH).inspect(|_| step());
        let chosen = newest.filter(|(_, chunk)| wanted(chunk)).take_while(|(_, chunk)| {
            let fits = chunk.wire_bytes() <= left;
            left = left.saturating_sub(chunk.wire_bytes());
            fits
        });
        chosen.map(|(index, _)| index).collect()
    }

    /// Returns when what is in flight goes once more in a packet of its own: nothing has left in the four round trips before, nor since.
    #[inline(never)]
    pub(super) fn early_copy_at(&self, path: &Path) -> Option<Instant> {
        let redundancy = self.redundancy.as_deref()?;
        let Redundancy { config, new_at, before, .. } = redundancy;
        let is_wanted = config.early == EarlyCopy::Thin && self.options.loss_detection == LossDetection::Rack;
        let oldest = self.outstanding.earliest_in_flight(path.index).filter(|_| is_wanted)?;
        let srtt = path.rto.srtt()?;
        let is_thin = before.is_none_or(|before| new_at.since(before) >= PAUSE * srtt);
        let is_alone = oldest.sent_at == *new_at && oldest.is_original();
        let is_short = self.outstanding.flight(path.index) <= config.bytes.into();
        let is_first = self.rack.probes_unanswered(path.index) == 0;
        (is_thin && is_alone && is_short && is_first).then(|| *new_at + (srtt / 4).max(EARLIEST))
    }

    /// Takes in what a SACK says of copies.
    #[inline(never)]
    pub(super) fn settle_copies(&mut self, sack: &Sack<'_>, outcome: &mut SackOutcome) {
        let Some(redundancy) = &mut self.redundancy else { return };
        let highest = self.outstanding.next_tsn().previous();
        for path in redundancy.settle(sack) {
            self.statistics.note().copies.mended += 1;
            if !self.recoveries.is_recovering(path) {
                self.recoveries.begin(path, highest);
                outcome.repaired.insert(path);
            }
            // It was a loss whatever becomes of the others.
            self.recoveries.on_lost(path);
        }
        if self.outstanding.is_empty() {
            redundancy.copies.clear();
        }
    }
}

/// Returns whether a SACK acknowledges this TSN.
fn covers(sack: &Sack<'_>, tsn: Tsn) -> bool {
    let point = sack.cumulative_tsn_ack;
    if !point.precedes(tsn) {
        return true;
    }
    let ahead = point.distance(tsn);
    let mut blocks = sack.gap_ack_blocks();
    blocks.any(|block| (u32::from(block.start)..=u32::from(block.end)).contains(&ahead))
}

/// Copies remembered at most; what an older one did stays unknown.
const REMEMBERED: usize = 64;

/// Outstanding chunks among which those to copy are looked for.
const REACH: usize = 32;

/// Round trips without anything new after which what leaves counts as alone. Of Poisson arrivals every 55th has a pause of two such before it
/// where each round trip brings two messages, and every 3000th one of four.
const PAUSE: u32 = 4;

/// The least time before an early copy: drivers wake in milliseconds.
const EARLIEST: Duration = Duration::from_millis(1);
