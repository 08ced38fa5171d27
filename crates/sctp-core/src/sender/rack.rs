//! Time-based loss detection and tail-loss probes (RFC 8985), on chunks instead of segments.
//!
//! Pure bookkeeping per path: which of the delivered chunks was sent last, its round trip, how patient to be, how many
//! probes went unanswered. The caller marks chunks and sends probes. Chunks of different paths never judge each other.
//!
//! Three departures from RFC 8985 §7, two of them for thin flows: a probe is due two round trips after the *oldest*
//! unanswered transmission, not after the newest, and it carries the oldest chunks, which repairs the loss
//! instead of only revealing it; a probe that is lost is repeated with doubling until T3-rtx takes over; and a probe that
//! follows an answered one at once is evidence as any retransmission is, for the rest of a flight that was lost as a whole.

use core::time::Duration;

use sctp_wire::Tsn;
use smallvec::SmallVec;
use virtual_time::Instant;

use super::acknowledge::Delivered;
use super::firsts::{ChunkKind, is_after};
use super::outstanding::Outstanding;
use super::reordering::ReorderingWindow;
use super::sent_chunk::{Sending, SentChunk};
use crate::path::PerPath;
use crate::path::rto::RtoEstimator;
use crate::transmit::PathIndex;

/// Detection state of every path.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    paths: PerPath<RackPath>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RackPath {
    /// The delivered chunk that was sent last (RFC 8985 §5.2: RACK.xmit_ts, RACK.end_seq, RACK.rtt).
    newest: Option<MostRecentlySent>,
    highest_delivered: Option<Tsn>,
    window: ReorderingWindow,
    probes_unanswered: u32,
}

#[derive(Clone, Copy, Debug)]
struct MostRecentlySent {
    sent_at: Instant,
    tsn: Tsn,
    rtt: Duration,
}

impl Rack {
    /// Returns the round trip of the delivered chunk of a path that was sent last.
    pub(crate) fn latest_rtt(&self, path: PathIndex) -> Option<Duration> {
        self.paths.get(path)?.newest.map(|newest| newest.rtt)
    }

    /// Chunks were acknowledged for the first time (RFC 8985 §6.2 steps 1 to 3).
    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Instant, delivery: &Delivered, min_rtt: Option<Duration>) {
        let &Delivered { first, last, sent_at, transmissions, sending, is_moved, .. } = delivery;
        let path = self.path_mut(delivery.path);
        path.probes_unanswered = 0;
        // After a peer has paused, the answers to the originals look like answers to the probe: they say nothing
        // about what was sent in between.
        if sending == Sending::Probe || is_moved {
            return;
        }
        let rtt = now.since(sent_at);
        // The ack of a retransmission that came too soon is the original's.
        if transmissions > 1 && min_rtt.is_some_and(|smallest| rtt < smallest) {
            return;
        }
        if path.newest.is_none_or(|newest| is_after((sent_at, last), (newest.sent_at, newest.tsn))) {
            path.newest = Some(MostRecentlySent { sent_at, tsn: last, rtt });
        }
        if path.highest_delivered.is_some_and(|highest| first.precedes(highest))
            && transmissions == 1
            && !delivery.is_copied()
        {
            path.window.on_reordering();
        }
        if path.highest_delivered.is_none_or(|highest| !last.precedes(highest)) {
            path.highest_delivered = Some(last);
        }
    }

    /// Returns what the reordering window of a path goes by beyond its chunks.
    pub(crate) fn window_mut(&mut self, path: PathIndex) -> &mut ReorderingWindow {
        &mut self.path_mut(path).window
    }

    /// Everything up to this TSN is acknowledged.
    pub(crate) fn on_cumulative_ack(&mut self, point: Tsn) {
        self.paths.iter_mut().for_each(|path| path.window.on_cumulative_ack(point));
    }

    /// The way of a path is another one: nothing that was delivered says anything about it.
    pub(crate) fn forget(&mut self, path: PathIndex) {
        *self.path_mut(path) = RackPath::default();
    }

    /// Looks for chunks of a path sent so long before a delivered one that they must be lost (RFC 8985 §6.2 steps 4, 5), and appends
    /// their indices, ascending; returns when to look again.
    pub(crate) fn detect(
        &self,
        now: Instant,
        path: PathIndex,
        rto: &RtoEstimator,
        (outstanding, in_recovery): (&Outstanding, bool),
        lost: &mut SmallVec<[usize; 8]>,
    ) -> Option<Instant> {
        let state = self.paths.get(path)?;
        let newest = state.newest?;
        let is_passed = |(index, chunk): (usize, &SentChunk)| {
            is_after((newest.sent_at, newest.tsn), (chunk.sent_at, outstanding.tsn_at(index)))
        };
        let first = outstanding.first_of_kind(ChunkKind::Original, path);
        // Mostly all that is in flight left after what was delivered.
        if !first.is_some_and(is_passed) && !outstanding.has_sent_again(path) {
            return None;
        }
        let wait = newest.rtt + state.window.patience(rto, in_recovery, outstanding.acknowledged(path));
        let (before, mut again_at) = (lost.len(), None);
        // In the order of time, so that what comes behind a chunk that is not lost is not lost either.
        let mut judge = |(index, chunk): (usize, &SentChunk)| {
            let due = chunk.sent_at + wait;
            if !is_passed((index, chunk)) {
                return false;
            }
            if due > now {
                again_at = Some(again_at.map_or(due, |earliest: Instant| earliest.min(due)));
                return false;
            }
            lost.push(index);
            true
        };
        let _rest = outstanding.of_kind(ChunkKind::Original, path).find(|found| !judge(*found));
        if outstanding.has_sent_again(path) {
            let _rest = outstanding.sent_again(path).find(|found| !judge(*found));
            lost[before..].sort_unstable();
        }
        again_at
    }

    /// Returns when a probe is due (RFC 8985 §7.2): `None` while nothing is in flight or no round trip is
    /// known.
    #[inline(always)]
    pub(crate) fn probe_at(
        &self,
        path: PathIndex,
        rto: &RtoEstimator,
        outstanding: &Outstanding,
    ) -> Option<Instant> {
        let oldest = outstanding.earliest_in_flight(path)?;
        let srtt = rto.srtt()?;
        let sent = self.paths.get(path).map_or(0, |state| state.probes_unanswered);
        let first = srtt + srtt.max(PROBE_SLACK);
        let wait = if sent == 0 { first } else { first.saturating_mul(1 << sent.min(16)) };
        Some(oldest.sent_at + wait)
    }

    /// A probe was sent.
    pub(crate) fn on_probe(&mut self, path: PathIndex) {
        let state = self.path_mut(path);
        state.probes_unanswered = state.probes_unanswered.saturating_add(1);
    }

    /// Probes sent since a chunk of this path was last delivered.
    pub(crate) fn probes_unanswered(&self, path: PathIndex) -> u32 {
        self.paths.get(path).map_or(0, |state| state.probes_unanswered)
    }

    /// Returns whether the last time that an original of a path was delivered is so long ago; false if none ever was.
    pub(super) fn is_silent(&self, now: Instant, path: PathIndex, time: Duration) -> bool {
        let newest = self.paths.get(path).and_then(|state| state.newest);
        newest.is_some_and(|newest| newest.sent_at + newest.rtt + time <= now)
    }

    fn path_mut(&mut self, path: PathIndex) -> &mut RackPath {
        self.paths.entry(path)
    }
}

/// The least time that a probe waits longer than a round trip: on very short paths schedulers are not that
/// precise.
const PROBE_SLACK: Duration = Duration::from_millis(10);
