//! Recoveries, path by path: how long each lasts, and whether it turns out to have been needless.
//!
//! A recovery begins when chunks are declared lost and halves (or, by T3-rtx, shrinks) the window of the path. It is
//! refuted when every single loss of it is: a chunk is acknowledged before it was sent again, or so soon after that
//! the answer can only be the original's, or the peer reports that it has it twice. A timeout is refuted already when
//! its earliest chunk turns out to have been acknowledged before (the idea of RFC 5682, with RFC 4015's response).
//!
//! A receiver that reports every retransmission as duplicate would have every recovery refuted (RFC 3708 §5), and a network
//! that delays its answers can look the same. No evidence tells the two apart, so what it can gain is bounded:
//! [`UNDONE_AT_FIRST`] recoveries of a path are undone on what the peer says, and one of [`UNDONE_ONE_OF`] in the long run.
//! Where packets are late often, patience grows ([`reordering`](super::reordering)), and needless recoveries become few.
//!
//! A network that duplicates makes such reports worthless (RFC 3708 §3): one of a chunk that was not sent again
//! closes the running investigations.

use core::time::Duration;
use std::collections::VecDeque;

use sctp_wire::Tsn;
use smallvec::SmallVec;
use virtual_time::Instant;

use super::acknowledge::Delivered;
use super::sent_chunk::{ChunkState, SentChunk};
use super::steps::step;
use crate::path::{PathIds, PerPath};
use crate::trace::LossCause;
use crate::transmit::PathIndex;

/// The recoveries of every path, and what was sent again of late.
#[derive(Debug, Default)]
pub(crate) struct Recoveries {
    /// The state from the first loss or probe on.
    begun: Option<Box<BegunRecoveries>>,
}

#[derive(Debug, Default)]
struct BegunRecoveries {
    paths: PerPath<PathRecovery>,
    resent: VecDeque<ResentChunk>,
}

#[derive(Clone, Copy, Debug)]
struct PathRecovery {
    /// Fast Recovery lasts until this TSN is acknowledged (RFC 9260 §7.2.4 (6)).
    exit: Option<Tsn>,
    /// Counts the recoveries of the path, to tell what belongs to which.
    number: u32,
    open: Option<Investigation>,
    /// The credit for undoing: every undone recovery takes [`UNDONE_ONE_OF`], every recovery gives one.
    credit: u8,
}

impl Default for PathRecovery {
    fn default() -> Self {
        Self { exit: None, number: 0, open: None, credit: CREDIT_MAX }
    }
}

/// Losses of a recovery, as long as each may still turn out to be none.
#[derive(Clone, Copy, Debug)]
struct Investigation {
    cause: LossCause,
    declared: u32,
    refuted: u32,
    /// The earliest chunk in flight when T3-rtx ran out.
    earliest: Option<Tsn>,
    timeout_refuted: bool,
}

impl Investigation {
    fn is_refuted(&self) -> bool {
        self.timeout_refuted || (self.declared > 0 && self.refuted >= self.declared)
    }
}

/// A chunk that was sent again.
#[derive(Clone, Copy, Debug)]
struct ResentChunk {
    tsn: Tsn,
    /// The path it was lost on.
    path: PathIndex,
    number: u32,
    cause: LossCause,
    is_refuted: bool,
    /// Octets of the chunk.
    bytes: usize,
    /// How often it had been sent before.
    transmissions: u16,
    /// The time at which it was sent for the first time, if that is remembered and it never went another way.
    begun_at: Option<Instant>,
    /// The time at which it was acknowledged, sent again.
    delivered_at: Option<Instant>,
}

/// The chunk that the peer reports to have received again, of what was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duplicate {
    /// The path it was lost on.
    pub(crate) path: PathIndex,
    /// Octets of the chunk.
    pub(crate) bytes: usize,
    /// Whether it was sent again because acknowledgments said, too soon, that it was lost.
    pub(crate) was_impatient: bool,
    /// How long the original took to be acknowledged, once everything that was sent after it is reported, as probes or by T3-rtx: all
    /// have arrived, and the first to arrive was acknowledged. Not where T3-rtx alone sent it again: then everything is as it was
    /// before (RFC 4015 §3.2).
    pub(crate) round_trip: Option<Duration>,
}

/// A recovery that turned out to have been needless: its effects are to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refuted {
    pub(crate) path: PathIndex,
    pub(crate) cause: LossCause,
}

/// Recoveries that were refuted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refutations {
    pub(crate) undone: SmallVec<[Refuted; 1]>,
    /// How many are not undone, because too many were of late.
    pub(crate) refused: u64,
}

impl Recoveries {
    /// Returns whether losses of this path are under repair: further ones cut its window no more.
    pub(crate) fn is_recovering(&self, path: PathIndex) -> bool {
        let state = self.begun.as_ref().and_then(|begun| begun.paths.get(path));
        state.is_some_and(|state| state.exit.is_some())
    }

    /// Acknowledgments said that chunks of this path are lost; `highest` is the highest outstanding TSN.
    pub(crate) fn begin(&mut self, path: PathIndex, highest: Tsn) {
        self.restart(path, LossCause::Acknowledgment, None).exit = Some(highest);
    }

    /// T3-rtx ran out on this path, with `earliest` as the first chunk in flight there.
    pub(crate) fn on_timeout(&mut self, path: PathIndex, earliest: Option<Tsn>) {
        self.restart(path, LossCause::Timeout, earliest).exit = None;
    }

    /// What was sent on this path went another way than what is sent there from now on: its recoveries are over, and are not judged
    /// any more.
    pub(crate) fn forget(&mut self, path: PathIndex) {
        let state = self.begun.as_mut().and_then(|begun| begun.paths.get_mut(path));
        if let Some(state) = state {
            *state = PathRecovery { exit: None, number: state.number.wrapping_add(1), open: None, ..*state };
        }
    }

    fn restart(&mut self, path: PathIndex, cause: LossCause, earliest: Option<Tsn>) -> &mut PathRecovery {
        let state = self.begun.get_or_insert_default().paths.entry(path);
        state.number = state.number.wrapping_add(1);
        state.credit = (state.credit + 1).min(CREDIT_MAX);
        let (declared, refuted, timeout_refuted) = (0, 0, false);
        state.open = Some(Investigation { cause, declared, refuted, earliest, timeout_refuted });
        state
    }

    /// A chunk of this path was declared lost.
    pub(crate) fn on_lost(&mut self, path: PathIndex) {
        if let Some(open) = self.begun.as_mut().and_then(|begun| begun.open(path)) {
            open.declared = open.declared.saturating_add(1);
        }
    }

    /// A chunk is about to be sent again, on this path.
    pub(crate) fn on_resent(&mut self, tsn: Tsn, chunk: &SentChunk, on: PathIndex) {
        let BegunRecoveries { paths, resent } = &mut **self.begun.get_or_insert_default();
        let state = paths.get(chunk.path).copied().unwrap_or_default();
        let cause = match chunk.state {
            ChunkState::Lost => state.open.map_or(LossCause::Acknowledgment, |open| open.cause),
            ChunkState::TimedOut => state.open.map_or(LossCause::Timeout, |open| open.cause),
            ChunkState::InFlight | ChunkState::Acknowledged | ChunkState::Abandoned => LossCause::Probe,
        };
        if resent.len() >= REMEMBERED {
            resent.pop_front();
        }
        let begun_at = match chunk.transmissions {
            _ if chunk.is_moved || chunk.path != on => None,
            // What counts as sent later than it was has no time of its own.
            1 => chunk.is_original().then_some(chunk.sent_at),
            _ => resent.iter().rev().find(|earlier| earlier.tsn == tsn).and_then(|earlier| earlier.begun_at),
        };
        let (path, number, bytes) = (chunk.path, state.number, chunk.wire_bytes());
        let (transmissions, is_refuted, delivered_at) = (chunk.transmissions, false, None);
        resent.push_back(ResentChunk {
            tsn,
            path,
            number,
            cause,
            is_refuted,
            bytes,
            transmissions,
            begun_at,
            delivered_at,
        });
    }

    /// Chunks were acknowledged for the first time.
    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Instant, chunk: &Delivered, min_rtt: Option<Duration>) {
        if let Some(begun) = &mut self.begun {
            begun.on_delivered(now, chunk, min_rtt);
        }
    }

    /// Takes in a report of the peer that it received a chunk again. Of several retransmissions of it each
    /// needs a report, the first one first: the last was needless only if the original arrived. `None` for what
    /// was not sent again, or too long ago.
    pub(crate) fn on_duplicate(&mut self, tsn: Tsn) -> Option<Duplicate> {
        self.begun.as_mut()?.on_duplicate(tsn)
    }

    /// Returns whether a recovery lasts, or is about to be taken back.
    #[inline]
    pub(crate) fn are_under_way(&self) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.are_under_way())
    }

    /// Returns whether anything was lost or sent again so far.
    #[inline]
    pub(crate) fn have_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Takes out the recoveries that are refuted by now; each is given once and is over.
    pub(crate) fn take_refuted(&mut self) -> Refutations {
        self.begun.as_mut().map(|begun| begun.take_refuted()).unwrap_or_default()
    }

    /// Takes note that everything up to this TSN is acknowledged; returns the paths on which a recovery ended.
    #[inline]
    pub(crate) fn on_cumulative_ack(&mut self, point: Tsn) -> PathIds {
        self.begun.as_mut().map(|begun| begun.on_cumulative_ack(point)).unwrap_or_default()
    }
}

impl BegunRecoveries {
    fn on_delivered(&mut self, now: Instant, chunk: &Delivered, min_rtt: Option<Duration>) {
        if chunk.was.is_lost() {
            // What was sent again before and is lost once more proves nothing, nor does what was copied: which transmission arrived is unknown.
            let is_certain = chunk.transmissions == 1 && !chunk.is_copied();
            if let Some(open) = self.open(chunk.path).filter(|_| is_certain) {
                open.refuted = open.refuted.saturating_add(1);
            }
            return;
        }
        if chunk.transmissions > 1 {
            let resent = self.resent.iter_mut().filter(|resent| resent.tsn == chunk.last);
            resent.for_each(|resent| resent.delivered_at = Some(now));
        }
        let is_too_soon = min_rtt.is_some_and(|smallest| now.since(chunk.sent_at) < smallest / 2);
        // Of several retransmissions an earlier one may have repaired a loss.
        if chunk.transmissions == 2
            && is_too_soon
            && let Some(resent) = self.resent.iter_mut().find(|resent| resent.tsn == chunk.last)
        {
            resent.is_refuted = true;
            let resent = *resent;
            self.refute(resent);
        }
    }

    fn on_duplicate(&mut self, tsn: Tsn) -> Option<Duplicate> {
        let Some(index) = self.resent.iter().inspect(|_| step()).position(|resent| resent.tsn == tsn) else {
            for state in self.paths.iter_mut() {
                state.open = None;
            }
            return None;
        };
        let resent = self.resent.remove(index)?;
        if !resent.is_refuted {
            self.refute(resent);
        }
        let was_impatient = resent.cause == LossCause::Acknowledgment;
        let is_lone_timeout = resent.cause == LossCause::Timeout && resent.transmissions == 1;
        let is_measured =
            !was_impatient && !is_lone_timeout && self.resent.iter().all(|other| other.tsn != tsn);
        let times = resent.delivered_at.zip(resent.begun_at).filter(|_| is_measured);
        let round_trip = times.map(|(delivered_at, begun_at)| delivered_at.since(begun_at));
        Some(Duplicate { path: resent.path, bytes: resent.bytes, was_impatient, round_trip })
    }

    fn refute(&mut self, resent: ResentChunk) {
        let state = self.paths.get_mut(resent.path).filter(|state| state.number == resent.number);
        let Some(open) = state.and_then(|state| state.open.as_mut()) else { return };
        if resent.cause == LossCause::Probe {
            return;
        }
        open.refuted = open.refuted.saturating_add(1);
        open.timeout_refuted |= open.cause == LossCause::Timeout && open.earliest == Some(resent.tsn);
    }

    fn are_under_way(&self) -> bool {
        let is_under_way = |state: &PathRecovery| {
            state.exit.is_some() || state.open.as_ref().is_some_and(Investigation::is_refuted)
        };
        self.paths.iter().any(is_under_way)
    }

    fn take_refuted(&mut self) -> Refutations {
        let mut result = Refutations::default();
        for (path, state) in PathIndex::all().zip(self.paths.iter_mut()) {
            let Some(open) = state.open.take_if(|open| open.is_refuted()) else { continue };
            match state.credit.checked_sub(UNDONE_ONE_OF) {
                Some(left) => {
                    state.credit = left;
                    state.exit = None;
                    result.undone.push(Refuted { path, cause: open.cause });
                }
                None => result.refused += 1,
            }
        }
        result
    }

    fn on_cumulative_ack(&mut self, point: Tsn) -> PathIds {
        let mut ended = PathIds::default();
        for (path, state) in PathIndex::all().zip(self.paths.iter_mut()) {
            if state.exit.take_if(|exit| !point.precedes(*exit)).is_some() {
                ended.insert(path);
            }
        }
        ended
    }

    fn open(&mut self, path: PathIndex) -> Option<&mut Investigation> {
        self.paths.get_mut(path)?.open.as_mut()
    }
}

/// Recoveries that are undone one after the other.
const UNDONE_AT_FIRST: u8 = 8;

/// The number of recoveries of which in the long run one is undone: CUBIC's rate, which falls with the power
/// 0.75 of what cuts its window, rises by a tenth (RFC 9438 §5.2).
const UNDONE_ONE_OF: u8 = 8;

const CREDIT_MAX: u8 = UNDONE_AT_FIRST * UNDONE_ONE_OF;

/// Retransmissions remembered at most; the duplicate of an older one tells nothing.
const REMEMBERED: usize = 256;
