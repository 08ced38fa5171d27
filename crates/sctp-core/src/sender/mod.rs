//! The sending half of an association: from the user's messages to acknowledged DATA chunks.
//!
//! Owns what is queued and what is outstanding, decides what a SACK or a timer means for it, and writes DATA
//! chunks into packets. It does not own windows of the network (`path::congestion`) or timers: it returns what
//! happened and the association applies it.

pub(crate) mod acknowledge;
pub(crate) mod outstanding;
pub(crate) mod queue;
pub(crate) mod rack;
#[cfg(test)]
mod tests;
mod write;

use core::time::Duration;

use sctp_wire::{Sack, Ssn, Tsn};
use smallvec::SmallVec;
use virtual_time::Instant;

use self::acknowledge::{Acknowledgment, Repetition, RttSample, SackRefused};
use self::outstanding::{ChunkState, Outstanding};
use self::queue::SendQueue;
use self::rack::Rack;
use crate::config::{AssociationConfig, ImmediateSack, LossDetection, Nagle};
use crate::error::SendError;
use crate::message::{Delivery, Message};
use crate::path::PathSet;
use crate::transmit::PathId;

/// The sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    options: SenderOptions,
    queue: SendQueue,
    outstanding: Outstanding,
    /// The SSN of the next ordered message, by stream; grows with the streams used.
    next_ssn: Vec<Ssn>,
    /// The window the peer last advertised; less what is in flight it is what it has room for.
    advertised_window: usize,
    /// Fast Recovery lasts until this TSN is acknowledged (RFC 9260 §7.2.4 (6)).
    recovery_exit: Option<Tsn>,
    rack: Rack,
    rtt_samples: SmallVec<[RttSample; 1]>,
    /// The last tail-loss probe, until its fate is known.
    probe: Option<Probe>,
    window_probe: WindowProbe,
    buffer: SendBuffer,
    statistics: SenderStatistics,
}

#[derive(Clone, Copy, Debug)]
struct SenderOptions {
    outbound_streams: u16,
    message_bytes: usize,
    loss_detection: LossDetection,
    immediate_sack: ImmediateSack,
    nagle: Nagle,
    /// The user asked for shutdown: what is left goes out with the I bit (RFC 9260 §9.2).
    is_draining: bool,
}

/// A tail-loss probe whose meaning is open: did it repair a loss, or was it needless (RFC 8985 §7.4)?
#[derive(Clone, Copy, Debug)]
struct Probe {
    path: PathId,
    sent_at: Instant,
    highest: Tsn,
    /// When one of its chunks was acknowledged first; whether thanks to the probe shows a moment later, when
    /// duplicates are reported, or not.
    answered_at: Option<Instant>,
}

/// Zero-window probing (RFC 9260 §6.1 (A)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowProbe {
    /// The window is open, or nothing waits for it.
    Idle,
    /// The timer allowed one chunk in spite of the closed window.
    Allowed,
    /// That chunk is on its way.
    Sent,
}

/// What the send buffer holds.
#[derive(Clone, Copy, Debug)]
struct SendBuffer {
    limit: usize,
    used: usize,
    /// A message was refused: say so when there is room again.
    refused: bool,
}

/// Counters of the sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Messages accepted from the user.
    pub messages: u64,
    /// DATA chunks sent for the first time.
    pub chunks: u64,
    /// DATA chunks sent again after they were declared lost.
    pub retransmissions: u64,
    /// DATA chunks sent again as tail-loss probes.
    pub probe_chunks: u64,
    /// Chunks declared lost by acknowledgments (missing reports or time).
    pub lost_by_acknowledgment: u64,
    /// Chunks declared lost by T3-rtx.
    pub lost_by_timeout: u64,
    /// Chunks declared lost that had arrived.
    pub spurious: u64,
    /// Duplicates the peer reported.
    pub duplicates_reported: u64,
}

/// What a SACK, or a look at the clock, led to.
#[derive(Debug, Default)]
pub(crate) struct SackOutcome {
    pub(crate) acknowledgment: Acknowledgment,
    pub(crate) rtt: SmallVec<[(PathId, Duration); 1]>,
    pub(crate) losses: Losses,
    /// A probe turned out to have repaired a loss on this path.
    pub(crate) repaired_by_probe: Option<PathId>,
    pub(crate) in_recovery: bool,
    pub(crate) all_acknowledged: bool,
    pub(crate) buffer_available: bool,
}

/// Newly lost chunks.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// Paths on which losses began a new recovery: their windows are to be cut.
    pub(crate) paths: SmallVec<[PathId; 1]>,
    /// When the reordering window of a chunk runs out.
    pub(crate) look_again_at: Option<Instant>,
    /// Whether any chunk was declared lost.
    pub(crate) any: bool,
}

impl Sender {
    pub(crate) fn new(
        config: &AssociationConfig,
        initial_tsn: Tsn,
        outbound_streams: u16,
        peer_window: u32,
    ) -> Self {
        Self {
            options: SenderOptions {
                outbound_streams,
                message_bytes: config.buffers.message_bytes,
                loss_detection: config.recovery.loss_detection,
                immediate_sack: config.recovery.immediate_sack,
                nagle: config.nagle,
                is_draining: false,
            },
            queue: SendQueue::default(),
            outstanding: Outstanding::new(initial_tsn),
            next_ssn: Vec::new(),
            advertised_window: peer_window as usize,
            recovery_exit: None,
            rack: Rack::default(),
            rtt_samples: SmallVec::new(),
            probe: None,
            window_probe: WindowProbe::Idle,
            buffer: SendBuffer { limit: config.buffers.send_bytes, used: 0, refused: false },
            statistics: SenderStatistics::default(),
        }
    }

    /// Queues a message, or says why not.
    pub(crate) fn send(&mut self, message: Message) -> Result<(), SendError> {
        let (bytes, limit) = (message.payload.len(), self.options.message_bytes);
        if bytes == 0 {
            return Err(SendError::Empty);
        }
        if bytes > limit {
            return Err(SendError::TooLong { bytes, limit });
        }
        if message.stream.get() >= self.options.outbound_streams {
            let (stream, negotiated) = (message.stream, self.options.outbound_streams);
            return Err(SendError::UnknownStream { stream, negotiated });
        }
        let cost = bytes + MESSAGE_OVERHEAD_BYTES;
        if self.buffer.used > 0 && self.buffer.used + cost > self.buffer.limit {
            self.buffer.refused = true;
            return Err(SendError::BufferFull(message));
        }
        self.buffer.used += cost;
        self.statistics.messages += 1;
        self.queue.push(message);
        Ok(())
    }

    /// Streams were negotiated and the peer's window is known. Gives back what was queued for other streams.
    pub(crate) fn on_negotiated(&mut self, outbound_streams: u16, peer_window: u32) -> Vec<Message> {
        self.options.outbound_streams = outbound_streams;
        self.advertised_window = peer_window as usize;
        let unknown = self.queue.drain_unknown_streams(outbound_streams);
        let freed: usize = unknown.iter().map(|message| message.payload.len() + MESSAGE_OVERHEAD_BYTES).sum();
        self.buffer.used -= freed;
        unknown
    }

    /// Takes a SACK in (RFC 9260 §6.2.1, then §7.2.4 or RFC 8985 §6.2).
    pub(crate) fn on_sack(
        &mut self,
        now: Instant,
        sack: &Sack<'_>,
        paths: &PathSet,
    ) -> Result<SackOutcome, SackRefused> {
        acknowledge::check(sack, &self.outstanding)?;
        let mut outcome = SackOutcome::default();
        let (rack, samples) = (&mut self.rack, &mut self.rtt_samples);
        let probe = self.probe;
        let mut probe_answered = false;
        outcome.acknowledgment = acknowledge::apply(now, sack, &mut self.outstanding, |tsn, chunk| {
            rack.on_delivered(now, tsn, chunk, paths.path(chunk.path).rto.min_rtt());
            let sample = samples.get_mut(chunk.path.index()).and_then(|sample| sample.on_delivered(now, tsn));
            outcome.rtt.extend(sample.map(|rtt| (chunk.path, rtt)));
            probe_answered |=
                probe.is_some_and(|probe| chunk.transmissions > 1 && !probe.highest.precedes(tsn));
        });
        self.settle_probe(now, sack, paths, probe_answered, &mut outcome);
        self.leave_recovery();
        self.update_window(now, sack.a_rwnd as usize, paths);
        // Growth comes before the cut (RFC 9260 §7.2.4, note): what counts is the state the SACK met.
        outcome.in_recovery = self.recovery_exit.is_some();
        outcome.losses = self.losses_after_sack(now, paths, &outcome.acknowledgment);
        outcome.all_acknowledged = self.outstanding.is_empty();
        outcome.buffer_available = self.release(&outcome.acknowledgment);
        self.statistics.spurious += outcome.acknowledgment.spurious as u64;
        self.statistics.duplicates_reported += sack.duplicate_tsns().len() as u64;
        Ok(outcome)
    }

    /// No further message will come: send the rest without delay.
    pub(crate) fn drain(&mut self) {
        self.options.is_draining = true;
        self.options.nagle = Nagle::Off;
    }

    /// The window the peer last advertised, for acknowledgments that carry none (SHUTDOWN, RFC 9260 §9.2).
    pub(crate) fn peer_window(&self) -> usize {
        self.advertised_window
    }

    /// What the peer has room for beyond what is on its way (RFC 9260 §6.2.1 (B), (C), (D) (ii)).
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
            LossDetection::MissingReports => self.losses_by_reports(acknowledgment, Repetition::Never),
            LossDetection::RepeatedMissingReports => {
                self.losses_by_reports(acknowledgment, Repetition::Allowed)
            }
            LossDetection::Rack => self.losses_by_time(now, paths),
        }
    }

    fn losses_by_reports(&mut self, acknowledgment: &Acknowledgment, repetition: Repetition) -> Losses {
        let Some(highest_new) = acknowledgment.highest_new else { return Losses::default() };
        let in_recovery = self.recovery_exit.is_some();
        // In Fast Recovery an advancing cumulative ack counts for all that the SACK reports missing.
        let below = if in_recovery && acknowledgment.cumulative_advanced {
            self.highest_acknowledged().unwrap_or(highest_new)
        } else {
            highest_new
        };
        let lost =
            acknowledge::report_missing(&mut self.outstanding, below, acknowledgment.newest, repetition);
        self.declare_lost(&lost)
    }

    /// Looks for overdue chunks (RFC 8985 §6.2 step 5): after a SACK and when the reordering window runs out.
    pub(crate) fn losses_by_time(&mut self, now: Instant, paths: &PathSet) -> Losses {
        let in_recovery = self.recovery_exit.is_some();
        let mut lost = SmallVec::<[usize; 8]>::new();
        let mut again_at: Option<Instant> = None;
        for path in paths.iter() {
            let verdict = self.rack.detect(now, path.id, &path.rto, &self.outstanding, in_recovery);
            lost.extend_from_slice(&verdict.lost);
            again_at = again_at.into_iter().chain(verdict.again_at).min();
        }
        let losses = self.declare_lost(&lost);
        Losses { look_again_at: again_at, ..losses }
    }

    fn declare_lost(&mut self, indices: &[usize]) -> Losses {
        let mut losses = Losses::default();
        for &index in indices {
            let Some(path) = self.outstanding.get(index).map(|chunk| chunk.path) else { continue };
            if self.outstanding.mark_lost(index) {
                self.statistics.lost_by_acknowledgment += 1;
                losses.any = true;
                if self.recovery_exit.is_none() && !losses.paths.contains(&path) {
                    losses.paths.push(path);
                }
            }
        }
        if losses.any {
            self.recovery_exit.get_or_insert(self.outstanding.next_tsn().previous());
        }
        losses
    }

    /// T3-rtx expired on a path: everything in flight there counts as lost (RFC 9260 §6.3.3 (E3)).
    pub(crate) fn on_timeout(&mut self, now: Instant, path: PathId) {
        // A first chunk that is gap-acknowledged cannot be: the peer took its word back.
        if self.outstanding.get(0).is_some_and(|chunk| chunk.state == ChunkState::Acknowledged) {
            for index in 0..self.outstanding.len() {
                self.outstanding.renege(now, index);
            }
        }
        for index in 0..self.outstanding.len() {
            let here = self.outstanding.get(index).is_some_and(|chunk| chunk.path == path);
            if here && self.outstanding.mark_lost(index) {
                self.statistics.lost_by_timeout += 1;
            }
        }
        self.recovery_exit = None;
        self.probe = None;
    }

    /// When the next tail-loss probe of a path is due; `None` where the profile has none or repair is under way.
    pub(crate) fn probe_at(&self, path: PathId, paths: &PathSet) -> Option<Instant> {
        let wanted =
            self.options.loss_detection == LossDetection::Rack && self.window_probe != WindowProbe::Sent;
        let idle = wanted && !self.outstanding.has_lost();
        if idle { self.rack.probe_at(path, &paths.path(path).rto, &self.outstanding) } else { None }
    }

    /// RFC 8985 §7.4.2: a probe that was acknowledged and, a round trip after it was sent, not reported as a duplicate
    /// has repaired a loss.
    fn settle_probe(
        &mut self,
        now: Instant,
        sack: &Sack<'_>,
        paths: &PathSet,
        answered: bool,
        outcome: &mut SackOutcome,
    ) {
        let Some(probe) = self.probe.as_mut() else { return };
        if answered {
            probe.answered_at.get_or_insert(now);
        }
        if sack.duplicate_tsns().any(|tsn| !probe.highest.precedes(tsn)) {
            self.probe = None;
            return;
        }
        let round_trip = paths.path(probe.path).rto.srtt().unwrap_or_default();
        let path = probe.path;
        let is_settled = probe.answered_at.is_some_and(|at| now.since(at) >= round_trip / 4);
        if is_settled && now.since(probe.sent_at) >= round_trip {
            self.probe = None;
            if self.recovery_exit.is_none() {
                self.recovery_exit = Some(self.outstanding.next_tsn().previous());
                outcome.repaired_by_probe = Some(path);
            }
        }
    }

    fn leave_recovery(&mut self) {
        let point = self.outstanding.cumulative_ack();
        self.recovery_exit = self.recovery_exit.filter(|exit| point.precedes(*exit));
    }

    /// The peer's window as it is now. Chunks it had no room for, and now has, go out again without waiting for a
    /// timer that may have backed off for as long as the window was closed.
    fn update_window(&mut self, now: Instant, a_rwnd: usize, paths: &PathSet) {
        let was_closed = self.waits_for_window();
        self.advertised_window = a_rwnd;
        if self.outstanding.is_empty() {
            self.window_probe = WindowProbe::Idle;
        }
        if !was_closed || self.waits_for_window() {
            return;
        }
        self.window_probe = WindowProbe::Idle;
        for index in 0..self.outstanding.len() {
            let Some(chunk) = self.outstanding.get(index) else { break };
            // What left less than a round trip ago may still be on its way.
            let rtt = paths.path(chunk.path).rto.min_rtt().unwrap_or_default();
            if now.since(chunk.sent_at) >= rtt {
                self.outstanding.mark_lost(index);
            }
        }
    }

    fn release(&mut self, acknowledgment: &Acknowledgment) -> bool {
        self.buffer.used -=
            acknowledgment.freed_payload + acknowledgment.freed_messages * MESSAGE_OVERHEAD_BYTES;
        let available = self.buffer.refused && self.buffer.used <= self.buffer.limit / 2;
        self.buffer.refused &= !available;
        available
    }

    fn highest_acknowledged(&self) -> Option<Tsn> {
        let last =
            self.outstanding.iter().filter(|(_, chunk)| chunk.state == ChunkState::Acknowledged).last();
        last.map(|(index, _)| self.outstanding.tsn_at(index))
    }

    fn ssn_for(next_ssn: &mut Vec<Ssn>, message: &Message) -> Ssn {
        if message.delivery == Delivery::Unordered {
            return Ssn::new(0);
        }
        let stream = usize::from(message.stream.get());
        if next_ssn.len() <= stream {
            next_ssn.resize(stream + 1, Ssn::new(0));
        }
        let ssn = next_ssn[stream];
        next_ssn[stream] = ssn.next();
        ssn
    }

    /// Everything of which nothing was sent.
    pub(crate) fn drain_unsent(&mut self) -> impl Iterator<Item = Message> {
        self.queue.drain_unsent()
    }

    /// Whether nothing is queued and nothing outstanding.
    pub(crate) fn is_dry(&self) -> bool {
        self.queue.is_empty() && self.outstanding.is_empty()
    }

    pub(crate) fn has_outstanding(&self, path: PathId) -> bool {
        self.outstanding.earliest(path).is_some()
    }

    pub(crate) fn flight(&self, path: PathId) -> usize {
        self.outstanding.flight(path)
    }

    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffer.used
    }

    pub(crate) fn statistics(&self) -> SenderStatistics {
        self.statistics
    }
}

/// What a queued message costs beside its payload. Counted, so that tiny messages cannot exhaust memory.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 64;
