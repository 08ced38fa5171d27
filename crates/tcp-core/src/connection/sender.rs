//! The sending half: what was acknowledged, what is lost, and what to send next.
//!
//! Losses are found by reports (RFC 6675) or by time (RFC 8985), and by the timer. Of RFC 6675's NextSeg the rescue
//! retransmission (rule 4) is left out: the timer, or the probe of RFC 8985, does its work.

use core::time::Duration;

use virtual_time::Instant;

use super::rack::{Patience, Rack};
use super::scoreboard::{Amount, Delivered, Judgement, Scoreboard};
use super::stream::Stream;
use super::window::{Standing, Validated, Window};
use crate::config::{Boundaries, CongestionAlgorithm, LossDetection, Nagle, TcpConfig, Timestamps};

/// The sending half of a connection. Positions are offsets in its sequence space: 0 is SYN, 1 the first octet.
#[derive(Debug)]
pub(crate) struct Sender {
    rules: Rules,
    pub(super) stream: Stream,
    /// The first offset not acknowledged, and the first never sent.
    una: u64,
    next: u64,
    peer_window: u64,
    board: Scoreboard,
    window: Window,
    rack: Rack,
    recovery: Option<Recovery>,
    /// The next segment ignores the window (RFC 6675 §5 (4.3)).
    is_forced: bool,
    probe: Option<Probe>,
    last_sent: Instant,
    pub(crate) counters: SenderCounters,
}

#[derive(Clone, Copy, Debug)]
struct Rules {
    mss: u64,
    nagle: Nagle,
    boundaries: Boundaries,
    detection: LossDetection,
    timestamps: Timestamps,
}

#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// The recovery ends when everything below this offset is acknowledged.
    point: u64,
    cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Reports,
    Timeout,
}

/// How often reports may find the same octets lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repetition {
    Once,
    Again,
}

/// A tail loss probe (RFC 8985 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// The last segment shall be sent again.
    Wanted,
    /// The probe was sent: everything below `end` had been sent then; whether it was a retransmission.
    Sent { end: u64, is_retransmission: bool },
}

/// Counters of the sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Octets of user data acknowledged.
    pub acknowledged_bytes: u64,
    /// Segments with data, SYN or FIN.
    pub segments: u64,
    /// The number of segments sent again.
    pub retransmissions: u64,
    /// Recoveries begun because of SACKs.
    pub recoveries: u64,
    /// The number of retransmission timeouts.
    pub timeouts: u64,
    /// The number of tail loss probes.
    pub probes: u64,
}

/// An acknowledgment as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) ack: u64,
    pub(crate) window: u64,
    /// The SACK blocks; the first may be of a duplicate (RFC 2883).
    pub(crate) sacked: &'a [(u64, u64)],
    pub(crate) srtt: Duration,
}

/// The changes that an acknowledgment made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckOutcome {
    pub(crate) advanced: bool,
    pub(crate) rtt: Option<Duration>,
    /// The time after which something more may turn out to be lost.
    pub(crate) look_again_in: Option<Duration>,
}

/// A part of the sequence space to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            rules: Rules {
                mss: u64::from(config.mss),
                nagle: config.nagle,
                boundaries: config.segments.boundaries,
                detection: config.detection,
                timestamps: config.segments.timestamps,
            },
            stream: Stream::new(config.send_bytes, config.segments.boundaries),
            una: 0,
            next: 0,
            peer_window: 1,
            board: match config.congestion {
                CongestionAlgorithm::Bbr => Scoreboard::telling_losses(),
                CongestionAlgorithm::NewReno
                | CongestionAlgorithm::Cubic
                | CongestionAlgorithm::LinuxCubic => Scoreboard::default(),
            },
            window: Window::new(config),
            rack: Rack::default(),
            recovery: None,
            is_forced: false,
            probe: None,
            last_sent: Instant::EPOCH,
            counters: SenderCounters::default(),
        }
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn next_offset(&self) -> u64 {
        self.next
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.una > 0
    }

    pub(crate) fn has_in_flight(&self) -> bool {
        self.una < self.next
    }

    pub(crate) fn is_fin_acknowledged(&self) -> bool {
        self.stream.is_finished() && self.una == self.stream.end()
    }

    /// Returns whether something waits for a window that is closed, and nothing in flight will open it (RFC
    /// 9293 §3.8.6.1).
    pub(crate) fn waits_for_window(&self) -> bool {
        self.is_open() && !self.has_in_flight() && self.next < self.stream.end() && self.peer_window == 0
    }

    /// The peer's SYN said what it accepts.
    pub(crate) fn limit_mss(&mut self, mss: u16) {
        self.rules.mss = self.rules.mss.min(u64::from(mss.max(1)));
    }

    /// Takes in an acknowledgment of everything below `ack`, with ranges beyond it, and returns what it
    /// changed.
    pub(crate) fn on_ack(&mut self, now: Instant, arrived: &Arrived<'_>) -> AckOutcome {
        let ack = arrived.ack;
        if ack < self.una || ack > self.next {
            return AckOutcome::default();
        }
        let before = self.board.in_flight();
        let is_duplicate = is_duplicate_report(ack, arrived.sacked);
        let told = self.board.on_ack(now, ack, &arrived.sacked[usize::from(is_duplicate)..]);
        let (was_open, advanced) = (self.is_open(), ack > self.una);
        self.counters.acknowledged_bytes += self.stream.release(ack);
        self.una = ack;
        self.peer_window = arrived.window;
        self.rack.on_delivered(now, &told);
        if is_duplicate {
            self.rack.on_duplicate(self.una, self.next);
        }
        let (is_recovering, has_waiting) = (self.recovery.is_some(), self.next < self.stream.end());
        self.window.on_delivered(now, &told, Standing { before, has_waiting, is_recovering });
        let was_recovering = self.recovery.is_some_and(|recovery| recovery.cause == Cause::Reports);
        self.recovery = self.recovery.filter(|recovery| ack < recovery.point);
        if advanced && was_open && !was_recovering {
            let srtt = told.rtt.unwrap_or(arrived.srtt);
            self.window.on_acknowledged(now, &told, srtt, before);
        }
        self.on_probe_answered(advanced, is_duplicate);
        let look_again_in = self.detect(now, arrived.srtt);
        AckOutcome { advanced, rtt: self.measurement(now, &told), look_again_in }
    }

    /// Returns the round-trip time measured, by Karn's rule: an acknowledgment of what was sent twice tells
    /// nothing, unless a timestamp says which (RFC 7323 §4).
    fn measurement(&self, now: Instant, told: &Delivered) -> Option<Duration> {
        let by_timestamp = || told.latest.map(|(sent_at, _, _)| now.since(sent_at));
        match self.rules.timestamps {
            Timestamps::On => told.rtt.or_else(by_timestamp),
            Timestamps::Off => told.rtt,
        }
    }

    /// Looks for losses, and begins a recovery if there are. Gives how long until there may be more.
    pub(crate) fn detect(&mut self, now: Instant, srtt: Duration) -> Option<Duration> {
        let mut look_again_in = None;
        match self.rules.detection {
            LossDetection::Reports(reports) => self.count_reports(u64::from(reports), Repetition::Once),
            LossDetection::RepeatedReports(reports) => {
                self.count_reports(u64::from(reports), Repetition::Again);
            }
            LossDetection::RackTlp if self.board.sacked() > 0 || self.board.has_resent() => {
                let (is_recovering, sacked) = (self.recovery.is_some(), self.board.sacked());
                look_again_in =
                    self.rack.detect(now, &mut self.board, Patience { is_recovering, sacked, srtt });
            }
            LossDetection::RackTlp => {}
        }
        for lost in self.board.take_losses() {
            self.window.on_lost(now, &lost);
        }
        if self.recovery.is_none() && self.board.has_lost() {
            self.recovery = Some(Recovery { point: self.next, cause: Cause::Reports });
            self.is_forced = true;
            self.probe = None;
            self.window.on_loss(self.outstanding());
            self.counters.recoveries += 1;
        }
        look_again_in
    }

    /// Marks as lost what has had enough reports (RFC 6675 §4); with [`Repetition::Again`] also what was sent
    /// again, once as many segments sent after that were reported.
    fn count_reports(&mut self, reports: u64, repetition: Repetition) {
        if self.board.sacked() < reports {
            return;
        }
        let below = self.board.reported_above(reports);
        self.board.mark_lost(|segment| {
            if segment.from >= below {
                Judgement::Stop
            } else if segment.is_resent && (repetition == Repetition::Once || segment.behind > below) {
                Judgement::Fine
            } else {
                Judgement::Lost
            }
        });
    }

    fn outstanding(&self) -> Amount {
        Amount { segments: self.board.len(), bytes: self.next - self.una }
    }

    /// The retransmission timer expired (RFC 6298 §5).
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        let outstanding = self.outstanding();
        match self.rules.detection {
            LossDetection::RackTlp => self.rack.on_timeout(now, &mut self.board),
            LossDetection::Reports(_) | LossDetection::RepeatedReports(_) => {
                self.board.mark_lost(|_| Judgement::Lost);
            }
        }
        // What a timeout finds counts as that alone.
        self.board.take_losses();
        let is_again = self.recovery.is_some_and(|recovery| recovery.cause == Cause::Timeout);
        self.recovery = Some(Recovery { point: self.next, cause: Cause::Timeout });
        self.is_forced = true;
        self.probe = None;
        // RFC 5681 §3.1: what times out again halves nothing again.
        let outstanding = (!is_again).then_some(outstanding);
        self.window.on_timeout(outstanding, self.board.in_flight());
        self.counters.timeouts += 1;
    }

    /// Returns whether a tail loss probe may be planned: everything goes well so far (RFC 8985 §7.2).
    pub(crate) fn may_probe(&self) -> bool {
        self.rules.detection == LossDetection::RackTlp
            && self.is_open()
            && self.has_in_flight()
            && self.recovery.is_none()
            && self.probe.is_none()
            && self.board.sacked() == 0
    }

    /// Returns the number of segments not acknowledged.
    pub(crate) fn outstanding_segments(&self) -> u64 {
        self.board.len()
    }

    /// RFC 8985 §7.3: new data if there is, else the last segment again; the window does not count.
    pub(crate) fn on_probe_timeout(&mut self) {
        self.counters.probes += 1;
        if self.new_piece(0).is_some() {
            self.is_forced = true;
            self.probe = Some(Probe::Sent { end: self.next, is_retransmission: false });
        } else {
            self.probe = Some(Probe::Wanted);
        }
    }

    /// RFC 8985 §7.4: a probe that repaired a loss tells of congestion.
    fn on_probe_answered(&mut self, advanced: bool, is_duplicate: bool) {
        let Some(Probe::Sent { end, is_retransmission }) = self.probe else { return };
        if self.una < end {
            return;
        }
        if !is_retransmission || is_duplicate || (self.una == end && !advanced) {
            self.probe = None;
        } else if self.una > end {
            self.probe = None;
            self.window.on_loss(self.outstanding());
        }
    }

    /// Returns what to send now, if anything: NextSeg of RFC 6675 §4, and the windows. `options` octets of each
    /// segment are taken by options.
    pub(crate) fn next_piece(&self, options: u64) -> Option<Piece> {
        if self.probe == Some(Probe::Wanted) {
            return self.board.newest().map(|newest| Piece { from: newest.from, to: newest.to });
        }
        let piece =
            self.lost_piece(options).or_else(|| self.new_piece(options)).or_else(|| self.doubtful_piece())?;
        let is_allowed =
            self.is_forced || self.window.has_room(self.board.in_flight(), piece.to - piece.from);
        is_allowed.then_some(piece)
    }

    /// Returns the time until which what would leave now has to wait for the rate of its congestion control; `None` if it need not.
    pub(crate) fn paced_until(&self, now: Instant) -> Option<Instant> {
        let is_unasked = self.is_forced || self.probe == Some(Probe::Wanted);
        if is_unasked { None } else { self.window.paced_until(now) }
    }

    /// Returns the first loss that was not repaired yet, and lost neighbours as far as they fit (rule 1 of
    /// NextSeg, RFC 6675 §4).
    fn lost_piece(&self, options: u64) -> Option<Piece> {
        let lost = self.board.first_lost()?;
        if lost.from == 0 {
            return Some(Piece { from: 0, to: 1 });
        }
        let limit = lost.from + self.payload_limit(options);
        let to = match self.rules.boundaries {
            Boundaries::Stream => self.board.lost_run(lost.from, limit),
            Boundaries::Writes => lost.to,
        };
        Some(Piece { from: lost.from, to })
    }

    /// Returns data that was never sent (rule 2 of NextSeg, RFC 6675 §4).
    fn new_piece(&self, options: u64) -> Option<Piece> {
        if !self.is_open() {
            return (self.next == 0).then_some(Piece { from: 0, to: 1 });
        }
        let end = self.stream.end();
        let allowed = end.min(self.una + self.peer_window.max(u64::from(self.is_forced)));
        if self.next >= allowed {
            return None;
        }
        let limit = self.next + self.payload_limit(options);
        let boundary = self.stream.boundary(self.next);
        // FIN goes with the last data.
        let reach = allowed.min(limit + 1);
        let is_last = self.stream.is_finished() && reach == end && end - 1 <= boundary;
        let to = if is_last { end } else { allowed.min(limit).min(boundary) };
        let is_small = to < limit && !is_last;
        let is_held = self.rules.nagle == Nagle::On && self.has_in_flight() && is_small;
        (!is_held).then_some(Piece { from: self.next, to })
    }

    /// Returns what may be lost, in a recovery with nothing else to send (rule 3 of NextSeg, RFC 6675 §4).
    /// RACK, which judges by time, needs no such guess.
    fn doubtful_piece(&self) -> Option<Piece> {
        let by_reports = self.rules.detection != LossDetection::RackTlp;
        self.recovery.filter(|recovery| by_reports && recovery.cause == Cause::Reports)?;
        self.board.first_doubtful().map(|segment| Piece { from: segment.from, to: segment.to })
    }

    fn payload_limit(&self, options: u64) -> u64 {
        self.rules.mss.saturating_sub(options).max(1)
    }

    pub(crate) fn on_sent(&mut self, now: Instant, piece: Piece) {
        self.counters.segments += 1;
        self.last_sent = now;
        self.is_forced = false;
        self.window.on_sent(now, piece.to - piece.from, self.board.in_flight());
        if piece.from < self.next {
            self.counters.retransmissions += 1;
            self.board.resend(now, piece.from, piece.to, self.next);
        } else {
            self.board.push(now, piece.from, piece.to);
            self.stream.on_sent(piece.to);
            self.next = piece.to;
        }
        if self.probe == Some(Probe::Wanted) {
            self.probe = Some(Probe::Sent { end: self.next, is_retransmission: true });
        }
    }

    /// Notes how the window was used, after something was sent, or nothing could be.
    pub(crate) fn validate(&mut self, now: Instant, rto: Duration) {
        let has_waiting = self.next < self.stream.end();
        let state = Validated {
            is_limiting: has_waiting && !self.window.has_room(self.board.in_flight(), self.rules.mss),
            in_flight: self.board.in_flight(),
            outstanding: self.board.len(),
            una: self.una,
            next: self.next,
            rto,
        };
        self.window.validate(now, state);
    }

    /// Reduces the window after an idle RTO, before something is sent.
    pub(crate) fn on_send(&mut self, now: Instant, rto: Duration) {
        if !self.has_in_flight() && self.is_open() && self.next < self.stream.end() {
            self.window.on_idle(now, now.since(self.last_sent), rto);
        }
    }

    /// One octet may go out in spite of the closed window.
    pub(crate) fn probe_window(&mut self) {
        self.is_forced = true;
    }
}

/// Returns whether the first SACK block reports a segment that had arrived before (RFC 2883 §4).
fn is_duplicate_report(ack: u64, sacked: &[(u64, u64)]) -> bool {
    let Some((first, rest)) = sacked.split_first() else { return false };
    first.1 <= ack || rest.first().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1)
}
