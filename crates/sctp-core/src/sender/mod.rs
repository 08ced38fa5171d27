//! The sending half of an association: from the user's messages to acknowledged DATA chunks.
//!
//! Owns what is queued and what is outstanding, decides what a SACK or a timer means for it, and writes DATA
//! chunks into packets. It does not own windows of the network (`path::congestion`) or timers: it returns what
//! happened and the association applies it.

pub(crate) mod abandon;
pub(crate) mod acknowledge;
mod buffer;
mod coverage;
pub(crate) mod expected;
mod firsts;
mod forward;
pub(crate) mod messages;
pub(crate) mod outstanding;
mod probe;
pub(crate) mod queue;
pub(crate) mod rack;
pub(crate) mod recovery;
mod redundancy;
mod reordering;
pub(crate) mod scheduler;
mod sent_chunk;
mod steps;
mod streams;
#[cfg(test)]
mod tests;
mod write;

use core::time::Duration;

use sctp_wire::{Sack, Tsn};
use smallvec::SmallVec;
use virtual_time::Instant;

use self::acknowledge::{
    Acknowledgment, DUPLICATES_HEARD, Delivered, MISSING_REPORTS, Reneging, Repetition, RttSample,
    SackRefused,
};
use self::buffer::SendBuffer;
use self::firsts::ChunkKind;
use self::forward::Forwarding;
use self::outstanding::Outstanding;
use self::probe::TailLossProbe;
use self::queue::{Framing, SendQueue, Unfinished};
use self::rack::Rack;
use self::recovery::{Recoveries, Refuted};
use self::redundancy::Redundancy;
use self::sent_chunk::{ChunkState, SentChunk};
use self::steps::step;
use self::streams::RestartPoints;
use crate::capabilities::Negotiated;
use crate::config::{
    AssociationConfig, CongestionAlgorithm, ImmediateSack, LossDetection, MessageBundling, Nagle,
};
use crate::message::Message;
use crate::path::{Path, PathIds, PathSet, PerPath};
use crate::seldom::Seldom;
use crate::stats::SenderStatistics;
use crate::trace::{self, LossEvidence};
use crate::transmit::PathIndex;

/// The sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    options: SenderOptions,
    queue: SendQueue,
    outstanding: Outstanding,
    reneging: Reneging,
    /// The window the peer last advertised; less what is in flight it is what it has room for.
    advertised_window: usize,
    /// The points acknowledged each time TSNs were restarted (RFC 6525 §5.1.4), the last times.
    before_restarts: Option<Box<RestartPoints>>,
    recoveries: Recoveries,
    rack: Rack,
    rtt_samples: PerPath<RttSample>,
    /// The last tail-loss probe of each path, until its fate is known.
    probes: Vec<TailLossProbe>,
    window_probe: WindowProbe,
    forwarding: Seldom<Forwarding>,
    buffer: SendBuffer,
    /// The copies on their way, where the user wants any.
    redundancy: Option<Box<Redundancy>>,
    statistics: SenderTally,
}

#[derive(Clone, Copy, Debug)]
struct SenderOptions {
    outbound_streams: u16,
    message_bytes: usize,
    loss_detection: LossDetection,
    immediate_sack: ImmediateSack,
    nagle: Nagle,
    bundling: MessageBundling,
    /// Octets of each packet that other things than DATA take.
    reserved_bytes: usize,
    /// The user asked for shutdown: what is left goes out with the I bit (RFC 9260 §9.2).
    is_draining: bool,
    /// Some message was not reliable: look for what has to be given up.
    gives_up: bool,
    /// Congestion control wants to know of each chunk that is lost.
    tells_losses: bool,
}

/// Zero-window probing (RFC 9260 §6.1 (A)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowProbe {
    /// The window is open, or nothing waits for it.
    Idle,
    /// The timer allowed one chunk in spite of the closed window.
    Allowed,
    /// The probe of the window is on its way.
    Sent,
}

/// The counts of the sending half.
#[derive(Debug, Default)]
struct SenderTally {
    chunks: u64,
    retransmissions: u64,
    /// The statistics but for these.
    seldom: Seldom<SenderStatistics>,
}

impl SenderTally {
    fn get(&self) -> SenderStatistics {
        let Self { chunks, retransmissions, .. } = *self;
        SenderStatistics { chunks, retransmissions, ..self.seldom.get() }
    }

    fn note(&mut self) -> &mut SenderStatistics {
        self.seldom.note()
    }
}

/// The outcome of a SACK, or of a look at the clock.
#[derive(Debug, Default)]
pub(crate) struct SackOutcome {
    pub(crate) acknowledgment: Acknowledgment,
    pub(crate) rtt: SmallVec<[(PathIndex, Duration); 1]>,
    pub(crate) losses: Losses,
    /// Octets of chunks sent again that the peer reports to have received twice, and where they were lost.
    pub(crate) duplicates: SmallVec<[(PathIndex, usize); 1]>,
    /// Paths on which a probe or a copy turned out to have repaired a loss, which begins a recovery.
    pub(crate) repaired: PathIds,
    /// The peer took a FORWARD TSN in that was sent on this path.
    pub(crate) forward_confirmed: Option<PathIndex>,
    /// Paths that were in Fast Recovery when the SACK came.
    pub(crate) recovering: PathIds,
    /// Recoveries that turned out to have been needless: what they did to windows and timers is to be undone.
    pub(crate) refuted: SmallVec<[Refuted; 1]>,
    pub(crate) all_acknowledged: bool,
    pub(crate) buffer_available: bool,
}

/// Newly lost chunks.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// Paths on which losses began a new recovery: their windows are to be cut.
    pub(crate) paths: PathIds,
    /// Paths on which a chunk was lost as often as suggests that packets of its size vanish (RFC 8899 §4.3).
    pub(crate) vanishing: PathIds,
    /// The time when the reordering window of a chunk runs out.
    pub(crate) look_again_at: Option<Instant>,
    /// Whether any chunk was declared lost.
    pub(crate) any: bool,
    /// The chunks, where congestion control wants to know of each.
    pub(crate) chunks: Seldom<Vec<LostChunk>>,
}

/// A chunk that acknowledgments, or the time, say is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostChunk {
    pub(crate) path: PathIndex,
    /// Octets, chunk header and padding included.
    pub(crate) bytes: usize,
    /// The time at which it was last sent.
    pub(crate) sent_at: Instant,
}

impl Sender {
    /// Creates a sender that knows nothing of its peer yet.
    pub(crate) fn new(config: &AssociationConfig, initial_tsn: Tsn) -> Self {
        Self {
            options: SenderOptions {
                outbound_streams: config.streams.outbound,
                message_bytes: config.buffers.message_bytes,
                loss_detection: config.recovery.loss_detection,
                immediate_sack: config.recovery.immediate_sack,
                nagle: config.transmission.nagle,
                bundling: write::bundling(config.transmission),
                reserved_bytes: 0,
                is_draining: false,
                gives_up: false,
                tells_losses: config.congestion.algorithm == CongestionAlgorithm::Bbr,
            },
            queue: SendQueue::new(config.transmission.scheduler),
            outstanding: Outstanding::new(initial_tsn),
            reneging: Reneging::default(),
            advertised_window: 0,
            before_restarts: None,
            recoveries: Recoveries::default(),
            rack: Rack::default(),
            rtt_samples: PerPath::default(),
            probes: Vec::new(),
            window_probe: WindowProbe::Idle,
            forwarding: Seldom::default(),
            buffer: SendBuffer::new(&config.buffers),
            redundancy: config.recovery.redundancy.map(|wanted| Box::new(Redundancy::new(wanted))),
            statistics: SenderTally::default(),
        }
    }

    /// Takes note of the streams, extensions and the window of the peer, once they are known; returns what was
    /// queued for other streams.
    pub(crate) fn on_negotiated(&mut self, agreed: Negotiated, peer_window: u32) -> Vec<Message> {
        self.options.outbound_streams = agreed.outbound;
        self.advertised_window = peer_window as usize;
        let framing = Framing::agreed(agreed.capabilities);
        self.queue.on_negotiated(framing, Unfinished::agreed(agreed.capabilities));
        self.outstanding.set_framing(framing);
        let unknown = self.queue.drain_unknown_streams(agreed.outbound);
        self.buffer.release(unknown.iter().map(|message| message.payload.len()).sum());
        unknown
    }

    /// Every packet with DATA has this many octets less for it.
    pub(crate) fn reserve_in_packets(&mut self, reserved_bytes: usize) {
        self.options.reserved_bytes = reserved_bytes;
    }

    /// Says whether a SACK counts.
    ///
    /// # Errors
    /// It is old, malformed, or acknowledges what was never sent.
    pub(crate) fn screen(&self, sack: &Sack<'_>) -> Result<(), SackRefused> {
        if self.is_from_before_restart(sack.cumulative_tsn_ack) {
            return Err(SackRefused::Old);
        }
        acknowledge::check(sack, &self.outstanding)
    }

    /// Takes in a SACK that [counts](Self::screen) (RFC 9260 §6.2.1, then §7.2.4 or RFC 8985 §6.2).
    #[inline]
    pub(crate) fn on_sack(&mut self, now: Instant, sack: &Sack<'_>, paths: &PathSet) -> SackOutcome {
        let mut outcome = SackOutcome::default();
        self.take_in_sack(now, sack, paths, &mut outcome);
        outcome
    }

    fn take_in_sack(&mut self, now: Instant, sack: &Sack<'_>, paths: &PathSet, outcome: &mut SackOutcome) {
        self.apply_sack(now, sack, paths, outcome);
        if self.redundancy.is_some() {
            self.settle_copies(sack, outcome);
        }
        self.settle_probes(now, sack, paths, outcome);
        self.judge_recoveries(now, sack, outcome);
        self.update_window(now, sack.a_rwnd as usize, paths);
        outcome.forward_confirmed = self.advance_peer_ack_point();
        self.on_unconfirmed_forward(paths);
        // Growth comes before the cut (RFC 9260 §7.2.4, note): what counts is the state the SACK met.
        if self.recoveries.have_begun() {
            let recovering = self.outstanding.paths().filter(|path| self.recoveries.is_recovering(*path));
            outcome.recovering = recovering.collect();
        }
        outcome.losses = self.losses_after_sack(now, paths, &outcome.acknowledgment);
        outcome.all_acknowledged = self.outstanding.is_empty();
        outcome.buffer_available = self.release(outcome.acknowledgment.freed_payload);
        let (spurious, duplicates) = (outcome.acknowledgment.spurious, sack.duplicate_tsns().len());
        if spurious > 0 || duplicates > 0 {
            let statistics = self.statistics.note();
            statistics.spurious += spurious as u64;
            statistics.duplicates_reported += duplicates as u64;
        }
    }

    fn apply_sack(&mut self, now: Instant, sack: &Sack<'_>, paths: &PathSet, outcome: &mut SackOutcome) {
        let (rack, samples, probes) = (&mut self.rack, &mut self.rtt_samples, &mut self.probes);
        let (recoveries, redundancy) = (&mut self.recoveries, &mut self.redundancy);
        let is_rack = self.options.loss_detection == LossDetection::Rack;
        let has_spoiled = is_rack && samples.iter().any(RttSample::is_spoiled);
        let mut newest = SmallVec::<[(PathIndex, Duration); 1]>::new();
        let sent = (&mut self.outstanding, self.queue.messages_mut(), &mut self.reneging);
        let (result, round_trips) = (&mut outcome.acknowledgment, &mut outcome.rtt);
        acknowledge::apply(now, sack, sent, result, |delivered| {
            let path = delivered.path;
            let min_rtt = paths.path(path).rto.min_rtt();
            rack.on_delivered(now, delivered, min_rtt);
            recoveries.on_delivered(now, delivered, min_rtt);
            let is_ambiguous = match redundancy {
                Some(copies) => copies.on_delivered(delivered, sack, samples.get_mut(path)),
                None => false,
            };
            let sample = samples.get_mut(path);
            if let Some(rtt) = sample.and_then(|sample| sample.on_delivered(now, delivered)) {
                round_trips.push((path, rtt));
            }
            if has_spoiled && !is_ambiguous {
                note_newest(&mut newest, now, delivered);
            }
            probes.iter_mut().for_each(|probe| probe.on_delivered(now, delivered));
        });
        if has_spoiled {
            newest.retain(|&mut (path, _)| samples.get_mut(path).is_some_and(RttSample::take_spoiled));
            outcome.rtt.extend(newest);
        }
    }

    /// Judges recoveries by a SACK: over, or needless from the beginning.
    fn judge_recoveries(&mut self, now: Instant, sack: &Sack<'_>, outcome: &mut SackOutcome) {
        let point = self.outstanding.cumulative_ack();
        self.rack.on_cumulative_ack(point);
        for path in self.recoveries.on_cumulative_ack(point) {
            trace::recovery_ended(path);
            self.rack.window_mut(path).on_recovered();
        }
        let is_rack = self.options.loss_detection == LossDetection::Rack;
        for tsn in sack.duplicate_tsns().take(DUPLICATES_HEARD) {
            if self.redundancy.as_ref().is_some_and(|redundancy| redundancy.explains(tsn)) {
                continue;
            }
            let Some(duplicate) = self.recoveries.on_duplicate(tsn) else { continue };
            let path = duplicate.path;
            outcome.duplicates.push((path, duplicate.bytes));
            let sample = self.rtt_samples.get_mut(path).filter(|_| is_rack);
            if let Some(rtt) = duplicate.round_trip
                && sample.is_some_and(RttSample::take_spoiled)
            {
                outcome.rtt.push((path, rtt));
            }
            if duplicate.was_impatient {
                let next_tsn = self.outstanding.next_tsn();
                let grew = self.rack.window_mut(path).on_needless_retransmission(next_tsn);
                let statistics = self.statistics.note();
                statistics.needless_retransmissions += 1;
                statistics.reordering_window_growths += u64::from(grew);
            }
        }
        // RFC 9260 takes nothing back. A path that is dead keeps its back-off even if the peer shows, by way of
        // another path, that only the last acknowledgment was lost.
        if is_rack && self.recoveries.have_begun() {
            let refutations = self.recoveries.take_refuted();
            outcome.refuted = refutations.undone;
            if refutations.refused > 0 {
                self.statistics.note().undoings_refused += refutations.refused;
            }
        }
        for refuted in &outcome.refuted {
            self.outstanding.take_back_lost(now, refuted.path);
        }
    }

    /// No further message will come: send the rest without delay.
    pub(crate) fn drain(&mut self) {
        self.options.is_draining = true;
        self.options.nagle = Nagle::Off;
    }

    /// Returns the window the peer last advertised, for acknowledgments that carry none (SHUTDOWN, RFC 9260
    /// §9.2).
    pub(crate) fn peer_window(&self) -> usize {
        self.advertised_window
    }

    /// Returns what the peer has room for beyond what is on its way (RFC 9260 §6.2.1 (B), (C), (D) (ii)).
    fn free_window(&self) -> usize {
        self.advertised_window.saturating_sub(self.outstanding.flight_payload())
    }

    fn losses_after_sack(
        &mut self,
        now: Instant,
        paths: &PathSet,
        acknowledgment: &Acknowledgment,
    ) -> Losses {
        match self.options.loss_detection {
            LossDetection::MissingReports => {
                self.losses_by_reports(acknowledgment, MISSING_REPORTS, Repetition::Never)
            }
            LossDetection::RepeatedMissingReports { reports } => {
                self.losses_by_reports(acknowledgment, reports, Repetition::Allowed)
            }
            LossDetection::Rack => self.losses_by_time(now, paths),
        }
    }

    fn losses_by_reports(
        &mut self,
        acknowledgment: &Acknowledgment,
        reports: u8,
        repetition: Repetition,
    ) -> Losses {
        let mut lost = SmallVec::<[usize; 8]>::new();
        for path in self.outstanding.paths() {
            let news = acknowledgment.paths.iter().find(|entry| entry.path == path);
            let mut below = news.and_then(|entry| entry.highest_new);
            // In Fast Recovery an advancing cumulative ack counts for all that the SACK reports missing.
            if self.recoveries.is_recovering(path) && acknowledgment.cumulative_advanced {
                below = self.highest_acknowledged(path).or(below);
            }
            if let Some(below) = below {
                let (outstanding, newest) = (&mut self.outstanding, acknowledgment.newest());
                lost.extend(acknowledge::report_missing(
                    outstanding,
                    path,
                    below,
                    newest,
                    (reports, repetition),
                ));
            }
        }
        self.declare_lost(&lost)
    }

    /// Looks for overdue chunks (RFC 8985 §6.2 step 5): after a SACK and when the reordering window runs out.
    #[inline]
    pub(crate) fn losses_by_time(&mut self, now: Instant, paths: &PathSet) -> Losses {
        if self.outstanding.is_empty() { Losses::default() } else { self.overdue(now, paths) }
    }

    fn overdue(&mut self, now: Instant, paths: &PathSet) -> Losses {
        let mut lost = SmallVec::<[usize; 8]>::new();
        let mut again_at: Option<Instant> = None;
        for path in paths.iter() {
            let in_recovery = self.recoveries.is_recovering(path.index);
            let again =
                self.rack.detect(now, path.index, &path.rto, (&self.outstanding, in_recovery), &mut lost);
            again_at = again_at.into_iter().chain(again).min();
        }
        let mut losses = if lost.is_empty() { Losses::default() } else { self.declare_lost(&lost) };
        losses.look_again_at = again_at;
        losses
    }

    fn declare_lost(&mut self, indices: &[usize]) -> Losses {
        let mut losses = Losses::default();
        for &index in indices {
            let Some(&SentChunk { path, transmissions, sent_at, .. }) = self.outstanding.get(index) else {
                continue;
            };
            if self.outstanding.mark_lost(index) {
                if transmissions >= VANISHED {
                    losses.vanishing.insert(path);
                }
                let evidence = match self.options.loss_detection {
                    LossDetection::Rack => LossEvidence::Time,
                    LossDetection::MissingReports | LossDetection::RepeatedMissingReports { .. } => {
                        LossEvidence::MissingReports
                    }
                };
                self.tell_of_loss(index, evidence);
                self.statistics.note().lost_by_acknowledgment += 1;
                losses.any = true;
                if self.options.tells_losses
                    && let Some(chunk) = self.outstanding.get(index)
                {
                    losses.chunks.note().push(LostChunk { path, bytes: chunk.wire_bytes(), sent_at });
                }
                if !self.recoveries.is_recovering(path) {
                    self.recoveries.begin(path, self.outstanding.next_tsn().previous());
                    losses.paths.insert(path);
                }
                self.recoveries.on_lost(path);
            }
        }
        losses
    }

    /// Counts everything in flight on a path as lost (RFC 9260 §6.3.3 (E3)), because T3-rtx expired there; returns whether
    /// something had been sent again before.
    pub(crate) fn lose_flight(&mut self, now: Instant, path: PathIndex) -> bool {
        self.distrust_first(now);
        let earliest = self.outstanding.earliest(path).map(|index| self.outstanding.tsn_at(index));
        self.recoveries.on_timeout(path, earliest);
        self.time_out(path)
    }

    /// Counts everything in flight on a path as lost, because the way that it went is not there any more: an end of it has lost its
    /// address. What the peer still says about it, that it came twice or how long ago it left, says nothing about the way that
    /// data goes from now on.
    pub(crate) fn strand_flight(&mut self, now: Instant, path: PathIndex) {
        self.distrust_first(now);
        for index in 0..self.outstanding.len() {
            if self.outstanding.get(index).is_some_and(|chunk| chunk.path == path) {
                self.outstanding.mark_moved(index);
            }
        }
        self.recoveries.forget(path);
        self.rack.forget(path);
        *self.rtt_samples.entry(path) = RttSample::default();
        let _was_repeated = self.time_out(path);
    }

    /// A first chunk that is gap-acknowledged cannot be: the peer took its word back.
    fn distrust_first(&mut self, now: Instant) {
        if self.outstanding.get(0).is_some_and(|chunk| chunk.state == ChunkState::Acknowledged) {
            self.outstanding.take_back_all(now);
        }
    }

    /// Marks everything in flight on a path as lost; returns whether something had been sent again before.
    fn time_out(&mut self, path: PathIndex) -> bool {
        let mut was_repeated = false;
        for index in 0..self.outstanding.len() {
            let here = self.outstanding.get(index).filter(|chunk| chunk.path == path);
            let Some(transmissions) = here.map(|chunk| chunk.transmissions) else { continue };
            if self.outstanding.mark_timed_out(index) {
                was_repeated |= transmissions > 1;
                self.tell_of_loss(index, LossEvidence::Timeout);
                self.statistics.note().lost_by_timeout += 1;
                self.recoveries.on_lost(path);
            }
        }
        self.probes.retain(|probe| !probe.is_on(path));
        // RFC 3758 §3.5 (A5).
        self.repeat_forward();
        was_repeated
    }

    /// Packets of a path have become smaller: chunks in flight that do not fit any more are lost, and go out again one to
    /// a packet (RFC 9260 §7.3).
    pub(crate) fn on_packets_shrunk(&mut self, path: &Path) {
        let room = path.packet_bytes() - sctp_wire::COMMON_HEADER_BYTES - self.options.reserved_bytes;
        for index in 0..self.outstanding.len() {
            let is_too_large = |chunk: &SentChunk| chunk.path == path.index && chunk.wire_bytes() > room;
            if self.outstanding.get(index).is_some_and(is_too_large) && self.outstanding.mark_lost(index) {
                self.tell_of_loss(index, LossEvidence::PacketSize);
                self.recoveries.on_lost(path.index);
            }
        }
    }

    fn tell_of_loss(&self, index: usize, evidence: LossEvidence) {
        if let Some(chunk) = self.outstanding.get(index) {
            trace::chunk_lost(chunk.path, self.outstanding.tsn_at(index), evidence, chunk.transmissions);
        }
    }

    /// The peer's window as it is now. Chunks it had no room for, and now has, go out again without waiting for a
    /// timer that may have backed off for as long as the window was closed.
    #[inline]
    fn update_window(&mut self, now: Instant, a_rwnd: usize, paths: &PathSet) {
        let was_closed = self.waits_for_window();
        self.advertised_window = a_rwnd;
        if self.outstanding.is_empty() {
            self.window_probe = WindowProbe::Idle;
        } else if was_closed && !self.waits_for_window() {
            self.on_window_opened(now, paths);
        }
    }

    /// The peer has room now for what it had no room for.
    #[cold]
    fn on_window_opened(&mut self, now: Instant, paths: &PathSet) {
        self.window_probe = WindowProbe::Idle;
        let mut refused = SmallVec::<[usize; 8]>::new();
        for path in paths.iter() {
            // What left less than a round trip ago may still be on its way.
            let rtt = path.rto.min_rtt().unwrap_or_default();
            let is_older = |chunk: &SentChunk| now.since(chunk.sent_at) >= rtt;
            let originals = self.outstanding.of_kind(ChunkKind::Original, path.index);
            refused.extend(originals.take_while(|(_, chunk)| is_older(chunk)).map(|(index, _)| index));
            let others = self.outstanding.sent_again(path.index);
            refused.extend(others.take_while(|(_, chunk)| is_older(chunk)).map(|(index, _)| index));
        }
        refused.sort_unstable();
        for index in refused {
            if self.outstanding.mark_lost(index) {
                self.tell_of_loss(index, LossEvidence::WindowOpened);
            }
        }
    }

    fn highest_acknowledged(&self, path: PathIndex) -> Option<Tsn> {
        let is_evidence = |chunk: &SentChunk| {
            chunk.state == ChunkState::Acknowledged && chunk.path == path && !chunk.is_moved
        };
        // Further down it tells of little; and chunks of other paths may be many.
        let highest = self.outstanding.covered_descending().take(EVIDENCE_REACH);
        let last = highest.inspect(|_| step()).find(|(_, chunk)| is_evidence(chunk));
        last.map(|(index, _)| self.outstanding.tsn_at(index))
    }

    /// Returns whether nothing is queued and nothing outstanding.
    pub(crate) fn is_dry(&self) -> bool {
        self.queue.is_empty() && self.outstanding.is_empty()
    }

    pub(crate) fn has_any_outstanding(&self) -> bool {
        !self.outstanding.is_empty()
    }

    pub(crate) fn has_outstanding(&self, path: PathIndex) -> bool {
        self.outstanding.has_any_on(path)
    }

    /// Returns the round trip of the delivered chunk of a path that was sent last, where losses are found by time.
    pub(crate) fn latest_rtt(&self, path: PathIndex) -> Option<Duration> {
        self.rack.latest_rtt(path).filter(|_| self.options.loss_detection == LossDetection::Rack)
    }

    pub(crate) fn flight(&self, path: PathIndex) -> usize {
        self.outstanding.flight(path)
    }

    pub(crate) fn statistics(&self) -> SenderStatistics {
        SenderStatistics { messages: self.queue.accepted(), ..self.statistics.get() }
    }
}

/// Chunks that gap ack blocks cover among which the highest of a path is looked for.
const EVIDENCE_REACH: usize = 1_024;

/// Transmissions of a chunk after which its loss suggests that packets of its size vanish (RFC 8899 §4.3).
const VANISHED: u16 = 3;

/// The chunk sent last of those a SACK acknowledges, for paths whose measurement a retransmission has spoiled: while a
/// queue grows, repeated probes would otherwise see to it that the longer round trip is never measured. That chunk was
/// sent once, so its acknowledgment is not ambiguous: the blocks of a SACK name what arrived, and RFC 9260 §6.3.1 (C5)
/// only advises against it.
fn note_newest(newest: &mut SmallVec<[(PathIndex, Duration); 1]>, now: Instant, chunk: &Delivered) {
    if chunk.transmissions > 1 || chunk.is_moved {
        return;
    }
    let rtt = now.since(chunk.sent_at);
    match newest.iter_mut().find(|(path, _)| *path == chunk.path) {
        Some((_, least)) => *least = rtt.min(*least),
        None => newest.push((chunk.path, rtt)),
    }
}
