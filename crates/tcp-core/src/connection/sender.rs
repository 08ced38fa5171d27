//! The sending half: the stream until it is acknowledged, the scoreboard, and what to send next (RFC 6675).
//!
//! Positions are offsets in the sequence space of the connection: 0 is SYN, 1 the first octet, FIN comes behind the
//! last. Losses are found by SACK (RFC 6675 §4, §5) and by the timer; rule 4 of NextSeg, the rescue retransmission, is
//! left out.

use core::time::Duration;
use std::collections::VecDeque;

use virtual_time::Instant;

use super::congestion::Congestion;
use crate::config::{Nagle, TcpConfig};
use crate::ranges::RangeSet;

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    mss: u64,
    nagle: Nagle,
    limit: usize,
    /// Written and not acknowledged.
    stream: VecDeque<u8>,
    /// Octets ever written.
    written: u64,
    is_finished: bool,
    /// The first offset not acknowledged, and the first never sent.
    una: u64,
    next: u64,
    peer_window: u64,
    board: Scoreboard,
    congestion: Congestion,
    initial_window: u64,
    /// A segment sent once whose acknowledgment will be a measurement: its end, and when it left.
    timed: Option<(u64, Instant)>,
    last_sent: Instant,
    pub(crate) counters: SenderCounters,
}

/// What is known of the octets between `una` and `next`.
#[derive(Debug, Default)]
struct Scoreboard {
    /// Where the segments between `una` and `next` begin, as they were first sent.
    segments: VecDeque<u64>,
    sacked: RangeSet,
    /// Everything lost below this offset was sent again in this recovery (HighRxt).
    resent_to: u64,
    /// A timeout declared everything below this lost.
    timed_out_to: u64,
    recovery: Option<Recovery>,
    /// The next retransmission ignores the window (RFC 6675 §5 (4.3)).
    is_forced: bool,
}

#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// It ends when everything below this is acknowledged.
    point: u64,
    cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Sack,
    Timeout,
}

/// Counters of the sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Octets of user data acknowledged.
    pub acknowledged_bytes: u64,
    /// Segments with data, SYN or FIN.
    pub segments: u64,
    /// Of those, sent again.
    pub retransmissions: u64,
    /// Recoveries begun because of SACKs.
    pub recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// What an acknowledgment changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acked {
    pub(crate) advanced: bool,
    pub(crate) rtt: Option<Duration>,
}

/// A part of the sequence space to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig, mss: u16) -> Self {
        let mss = u64::from(mss);
        Self {
            mss,
            nagle: config.nagle,
            limit: config.send_bytes,
            stream: VecDeque::new(),
            written: 0,
            is_finished: false,
            una: 0,
            next: 0,
            peer_window: 1,
            board: Scoreboard::default(),
            congestion: Congestion::new(config, mss),
            initial_window: mss * u64::from(config.initial_window_segments),
            timed: None,
            last_sent: Instant::EPOCH,
            counters: SenderCounters::default(),
        }
    }

    /// Takes as much of the user's data as there is room for.
    pub(crate) fn write(&mut self, data: &[u8]) -> usize {
        let taken = data.len().min(self.limit.saturating_sub(self.stream.len()));
        self.stream.extend(&data[..taken]);
        self.written += octets(taken);
        taken
    }

    /// Nothing more will be written: FIN follows.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn next_offset(&self) -> u64 {
        self.next
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.congestion.cwnd()
    }

    pub(crate) fn unacknowledged_bytes(&self) -> usize {
        self.stream.len()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.una > 0
    }

    pub(crate) fn has_in_flight(&self) -> bool {
        self.una < self.next
    }

    /// The user has nothing more to write.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_finished
    }

    pub(crate) fn is_fin_acknowledged(&self) -> bool {
        self.is_finished && self.una == self.end()
    }

    /// Something waits for a window that is closed, and nothing in flight will open it (RFC 9293 §3.8.6.1).
    pub(crate) fn waits_for_window(&self) -> bool {
        self.is_open() && !self.has_in_flight() && self.next < self.end() && self.peer_window == 0
    }

    /// The peer's SYN said what it accepts.
    pub(crate) fn limit_mss(&mut self, mss: u16) {
        self.mss = self.mss.min(u64::from(mss.max(1)));
    }

    /// An acknowledgment of everything below `ack`, with ranges beyond it (RFC 6675 §5).
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        ack: u64,
        window: u64,
        sacked: &[(u64, u64)],
        srtt: Duration,
    ) -> Acked {
        if ack < self.una || ack > self.next {
            return Acked::default();
        }
        let is_window_used = self.pipe() + self.mss > self.congestion.cwnd();
        let bytes = ack - self.una;
        self.release(ack);
        self.peer_window = window;
        for &(from, to) in sacked {
            self.board.sacked.insert(from.max(self.una), to.min(self.next));
        }
        let rtt = self.timed.filter(|(end, _)| *end <= ack).map(|(_, sent_at)| now.since(sent_at));
        self.timed = self.timed.filter(|(end, _)| *end > ack);
        let recovers_from_loss = self.board.recovery.is_some_and(|recovery| recovery.cause == Cause::Sack);
        self.board.recovery = self.board.recovery.filter(|recovery| ack < recovery.point);
        if bytes > 0 && !recovers_from_loss {
            self.congestion.on_acknowledged(now, bytes, rtt.unwrap_or(srtt), is_window_used);
        }
        if self.board.recovery.is_none() && self.una < self.lost_below() {
            self.begin_recovery();
        }
        Acked { advanced: bytes > 0, rtt }
    }

    fn release(&mut self, ack: u64) {
        let data = self.data_offset(ack) - self.data_offset(self.una);
        self.stream.drain(..length(data));
        self.counters.acknowledged_bytes += data;
        self.una = ack;
        while self.board.segments.pop_front_if(|start| *start < ack).is_some() {}
        self.board.resent_to = self.board.resent_to.max(ack);
        self.board.sacked.remove_below(ack);
    }

    fn begin_recovery(&mut self) {
        let flight = self.next - self.una;
        self.board.recovery = Some(Recovery { point: self.next, cause: Cause::Sack });
        self.board.resent_to = self.una;
        self.board.is_forced = true;
        self.congestion.on_loss(flight);
        self.counters.recoveries += 1;
    }

    /// The retransmission timer expired (RFC 6298 §5, RFC 6675 §5.1): everything not reported as received is lost.
    pub(crate) fn on_timeout(&mut self) {
        let flight = self.next - self.una;
        self.board.recovery = Some(Recovery { point: self.next, cause: Cause::Timeout });
        self.board.resent_to = self.una;
        self.board.timed_out_to = self.next;
        // The peer may have dropped what it reported (RFC 2018 §8).
        self.board.sacked.clear();
        self.timed = None;
        self.congestion.on_timeout(flight);
        self.counters.timeouts += 1;
    }

    /// Everything missing below this is lost: three ranges, three segments, or more octets than two full ones have, were
    /// received above it (IsLost, RFC 6675 §4). Segments are counted because small ones never add up to octets enough; the
    /// three duplicate acknowledgments of step 1 in §5 say the same.
    fn lost_below(&self) -> u64 {
        self.lost_below_octets().max(self.lost_below_segments())
    }

    fn lost_below_segments(&self) -> u64 {
        if self.board.sacked.highest().is_none() {
            return 0;
        }
        let is_received = |start: &&u64| self.board.sacked.containing(**start).is_some();
        let received = self.board.segments.iter().rev().filter(is_received);
        received.copied().nth(THRESHOLD_SEGMENTS - 1).unwrap_or(0)
    }

    fn lost_below_octets(&self) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        for (from, to) in self.board.sacked.iter().rev() {
            ranges += 1;
            bytes += to - from;
            if ranges >= DUPLICATE_THRESHOLD || bytes > (DUPLICATE_THRESHOLD - 1) * self.mss {
                return from.max(self.board.timed_out_to);
            }
        }
        self.board.timed_out_to
    }

    /// Octets in the network (SetPipe, RFC 6675 §4).
    fn pipe(&self) -> u64 {
        let (lost_below, resent_to) = (self.lost_below(), self.board.resent_to);
        let octets = |(from, to): (u64, u64)| {
            let in_flight = to - from.max(lost_below).min(to);
            let again = if self.board.recovery.is_some() { resent_to.clamp(from, to) - from } else { 0 };
            in_flight + again
        };
        self.board.sacked.holes(self.una, self.next).map(octets).sum()
    }

    /// What to send now, if anything: NextSeg of RFC 6675 §4, and the windows.
    pub(crate) fn next_piece(&self) -> Option<Piece> {
        let room = self.congestion.cwnd().saturating_sub(self.pipe());
        if let Some(piece) = self.lost_piece() {
            let is_allowed = self.board.is_forced || room >= piece.to - piece.from || self.pipe() == 0;
            return is_allowed.then_some(piece);
        }
        let piece = self.new_piece().or_else(|| self.unsure_piece())?;
        let is_allowed = room >= piece.to - piece.from || self.pipe() == 0;
        is_allowed.then_some(piece)
    }

    /// Rule 1: the first loss that was not repaired yet.
    fn lost_piece(&self) -> Option<Piece> {
        let from = self.board.resent_to.max(self.una);
        self.board.recovery?;
        let (from, to) = self.board.sacked.holes(from, self.lost_below().min(self.next)).next()?;
        Some(self.piece(from, to))
    }

    /// Rule 2: what was never sent.
    fn new_piece(&self) -> Option<Piece> {
        let end = if self.is_open() { self.end() } else { 1 };
        let allowed = end.min(self.una + self.peer_window.max(u64::from(self.board.is_forced)));
        if self.next >= allowed {
            return None;
        }
        let piece = self.piece(self.next, allowed);
        let is_last = piece.to == end && self.is_finished;
        let is_small = piece.to - piece.from < self.mss && !is_last;
        let is_held = self.nagle == Nagle::On && self.has_in_flight() && is_small && self.is_open();
        (!is_held).then_some(piece)
    }

    /// Rule 3: in a recovery with nothing else to send, what may be lost.
    fn unsure_piece(&self) -> Option<Piece> {
        self.board.recovery.filter(|recovery| recovery.cause == Cause::Sack)?;
        let from = self.board.resent_to.max(self.una);
        let (from, to) = self.board.sacked.holes(from, self.board.sacked.highest()?).next()?;
        Some(self.piece(from, to))
    }

    /// One segment at most; SYN goes alone, FIN with the last data or without.
    fn piece(&self, from: u64, to: u64) -> Piece {
        let limit = if from == 0 { 1 } else { from + self.mss };
        let with_fin = to.min(limit + 1) == self.end() && self.is_finished && from > 0;
        Piece { from, to: if with_fin { to.min(limit + 1) } else { to.min(limit) } }
    }

    /// The user data of a piece, appended to `buffer`; whether FIN goes with it.
    pub(crate) fn copy(&self, piece: Piece, buffer: &mut Vec<u8>) -> bool {
        let base = self.data_offset(self.una);
        let index = |offset: u64| length(self.data_offset(offset).saturating_sub(base));
        buffer.extend(self.stream.range(index(piece.from)..index(piece.to)));
        self.is_finished && piece.to == self.end()
    }

    pub(crate) fn on_sent(&mut self, now: Instant, piece: Piece) {
        self.counters.segments += 1;
        self.last_sent = now;
        self.board.is_forced = false;
        if piece.from < self.next {
            self.counters.retransmissions += 1;
            self.board.resent_to = self.board.resent_to.max(piece.to);
            // Karn: an acknowledgment of what was sent twice tells nothing.
            self.timed = None;
        } else {
            self.timed.get_or_insert((piece.to, now));
            self.board.segments.push_back(piece.from);
        }
        self.next = self.next.max(piece.to);
    }

    /// Before something is sent: after an idle RTO the window begins anew.
    pub(crate) fn on_send(&mut self, now: Instant, rto: Duration) {
        if !self.has_in_flight() && self.is_open() && now.since(self.last_sent) > rto {
            self.congestion.on_idle(self.initial_window);
        }
    }

    /// One octet may go out in spite of the closed window.
    pub(crate) fn probe_window(&mut self) {
        self.board.is_forced = true;
    }

    /// Octets of user data before an offset.
    fn data_offset(&self, offset: u64) -> u64 {
        offset.saturating_sub(1).min(self.written)
    }

    /// Behind the last octet written, and behind FIN once there will be no more.
    fn end(&self) -> u64 {
        1 + self.written + u64::from(self.is_finished)
    }
}

fn octets(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

fn length(octets: u64) -> usize {
    usize::try_from(octets).unwrap_or(usize::MAX)
}

/// DupThresh of RFC 6675 §2.
const DUPLICATE_THRESHOLD: u64 = 3;
/// The same as a number of segments.
const THRESHOLD_SEGMENTS: usize = 3;
