//! Tail-loss probes (RFC 8985 §7): when one is due, what it carries, what its answer says.

use core::time::Duration;

use sctp_wire::{PacketWriter, Sack, Tsn};
use virtual_time::Instant;

use super::acknowledge::{DUPLICATES_HEARD, Delivered};
use super::sent_chunk::{ChunkState, SentChunk};
use super::{SackOutcome, Sender, WindowProbe};
use crate::config::LossDetection;
use crate::path::{Path, PathSet};
use crate::trace;
use crate::transmit::PathIndex;

/// A tail-loss probe whose meaning is open: did it repair a loss, or was it needless (RFC 8985 §7.4)?
#[derive(Clone, Copy, Debug)]
pub(super) struct TailLossProbe {
    path: PathIndex,
    sent_at: Instant,
    highest: Tsn,
    /// The time at which one of its chunks was acknowledged first; whether thanks to the probe shows a moment
    /// later, when duplicates are reported, or not.
    answered_at: Option<Instant>,
    /// Nothing had been heard of the path for a while before it, or before those that it follows.
    follows_silence: bool,
}

impl TailLossProbe {
    /// Returns whether this chunk is the first that the peer did not have when it had what the probe carried, though it was
    /// sent before.
    fn leads_to(&self, tsn: Tsn, chunk: &SentChunk) -> bool {
        self.answered_at.is_some() && self.highest.next() == tsn && chunk.sent_at <= self.sent_at
    }

    pub(super) fn is_on(&self, path: PathIndex) -> bool {
        self.path == path
    }

    /// Chunks were acknowledged for the first time.
    pub(super) fn on_delivered(&mut self, now: Instant, delivered: &Delivered) {
        let is_probed = delivered.path == self.path && delivered.transmissions > 1;
        if is_probed && !self.highest.precedes(delivered.last) {
            self.answered_at.get_or_insert(now);
        }
    }
}

/// The fate of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Needless,
    Repaired,
}

impl Sender {
    /// Returns when the next tail-loss probe of a path is due; `None` where the profile has none or repair is
    /// under way.
    #[inline]
    pub(crate) fn probe_at(&self, path: &Path) -> Option<Instant> {
        let wanted =
            self.options.loss_detection == LossDetection::Rack && self.window_probe != WindowProbe::Sent;
        if !wanted || self.outstanding.is_empty() || self.outstanding.has_lost() {
            return None;
        }
        let late = self.rack.probe_at(path.index, &path.rto, &self.outstanding);
        if self.redundancy.is_none() {
            return late;
        }
        self.early_copy_at(path).into_iter().chain(late).min()
    }

    /// Returns the number of octets of the chunk that a probe for this path begins with, and of what goes
    /// before it; zero if there is none.
    pub(crate) fn probe_bytes(&self, path: PathIndex) -> usize {
        let first = self.outstanding.earliest_in_flight(path);
        first.map_or(0, |chunk| chunk.wire_bytes() + self.options.reserved_bytes)
    }

    /// Writes a tail-loss probe for `path` into a packet that goes out `on` a path: the overdue chunks with the lowest
    /// TSNs, as many as fit (RFC 8985 §7.3).
    ///
    /// The answer to a first probe does not tell that a whole flight was lost: a peer that had paused may be answering the
    /// originals. If it has what that probe carried and nothing behind it, the probe that follows is a retransmission like any
    /// other, by whose answer the rest of the flight is lost; but not while answers come, however slowly: then a queue has grown.
    pub(crate) fn write_probe(
        &mut self,
        now: Instant,
        path: &Path,
        on: PathIndex,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        let srtt = path.rto.srtt().unwrap_or_default();
        let is_early = self.early_copy_at(path).is_some_and(|at| at <= now);
        let overdue =
            if is_early { Duration::ZERO } else { srtt + path.rto.min_rtt().unwrap_or_default() / 4 };
        let last = self.probes.iter().find(|probe| probe.is_on(path.index)).copied();
        let mut follows_silence = self.rack.is_silent(now, path.index, srtt / 2);
        let (mut highest, mut lost_until) = (None, None);
        for index in 0..self.outstanding.len() {
            let Some(chunk) = self.outstanding.get(index) else { break };
            let wanted = chunk.state == ChunkState::InFlight && chunk.path == path.index;
            if !wanted || now.since(chunk.sent_at) < overdue {
                continue;
            }
            // Found lost it is given up: what would repair it is not sent (RFC 3758 §4.1 (TR4), RFC 7496 §3.1).
            if !self.may_be_resent(now, chunk) {
                self.outstanding.mark_last_try(index);
                continue;
            }
            let tsn = self.outstanding.tsn_at(index);
            if highest.is_none()
                && let Some(last) = last.filter(|last| last.leads_to(tsn, chunk))
            {
                follows_silence = last.follows_silence;
                lost_until = follows_silence.then_some(last.sent_at);
            }
            let is_lost = lost_until.is_some_and(|until| chunk.sent_at <= until);
            if self.write_again(now, on, index, writer).is_none() {
                // Longer than the packets of that path, which may be narrower than the one it was cut for: counted as
                // sent, or it would be due again at once and for ever. T3-rtx takes over.
                if writer.is_empty() {
                    self.rack.on_probe(path.index);
                }
                break;
            }
            if is_lost {
                self.outstanding.note_retransmission(index);
            }
            self.statistics.note().probe_chunks += 1;
            highest = Some(tsn);
        }
        let Some(highest) = highest else { return false };
        trace::tail_loss_probe_sent(path.index, on, highest);
        // It came before anything was overdue: the next one has to wait no longer for it.
        if !is_early {
            self.rack.on_probe(path.index);
        }
        self.probes.retain(|probe| probe.path != path.index);
        let answered_at = None;
        self.probes.push(TailLossProbe {
            path: path.index,
            sent_at: now,
            highest,
            answered_at,
            follows_silence,
        });
        true
    }

    /// RFC 8985 §7.4.2: a probe that was acknowledged and, a round trip after it was sent, not reported as a duplicate
    /// has repaired a loss. That is no shorter than the latest one, behind which the smoothed one falls where a queue builds up:
    /// what is acknowledged after so long was sent after the probe, and the report would have come before.
    pub(super) fn settle_probes(
        &mut self,
        now: Instant,
        sack: &Sack<'_>,
        paths: &PathSet,
        outcome: &mut SackOutcome,
    ) {
        if self.probes.is_empty() {
            return;
        }
        let (recoveries, highest) = (&mut self.recoveries, self.outstanding.next_tsn().previous());
        let redundancy = self.redundancy.as_deref();
        let is_copy = |tsn: Tsn| redundancy.is_some_and(|redundancy| redundancy.explains(tsn));
        let rack = &self.rack;
        self.probes.retain(|probe| {
            let smoothed = paths.path(probe.path).rto.srtt().unwrap_or_default();
            let latest = rack.latest_rtt(probe.path).unwrap_or_default();
            let fate = fate(probe, now, (sack, is_copy), [smoothed, latest]);
            if fate == Fate::Repaired && !recoveries.is_recovering(probe.path) {
                recoveries.begin(probe.path, highest);
                trace::tail_loss_probe_repaired(probe.path);
                outcome.repaired.insert(probe.path);
            }
            fate == Fate::Open
        });
    }
}

fn fate(
    probe: &TailLossProbe,
    now: Instant,
    (sack, is_copy): (&Sack<'_>, impl Fn(Tsn) -> bool),
    [smoothed, latest]: [Duration; 2],
) -> Fate {
    let mut duplicates = sack.duplicate_tsns().take(DUPLICATES_HEARD);
    if duplicates.any(|tsn| !probe.highest.precedes(tsn) && !is_copy(tsn)) {
        return Fate::Needless;
    }
    let is_settled = probe.answered_at.is_some_and(|at| now.since(at) >= smoothed / 4);
    if is_settled && now.since(probe.sent_at) >= smoothed.max(latest) { Fate::Repaired } else { Fate::Open }
}
