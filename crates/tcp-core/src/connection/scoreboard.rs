//! The segments between the first octet not acknowledged and the last one sent, and what is known of each.

use core::time::Duration;
use std::collections::VecDeque;

use virtual_time::Instant;

/// Segments in flight, reported, or lost; in the order of the stream.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    sent: VecDeque<Sent>,
    in_flight: Amount,
    sacked: u64,
    lost: u64,
    /// The number of segments in flight that were sent again.
    resent: u64,
    /// The offset behind the highest octet that was reported out of order.
    highest_sacked: u64,
    /// The losses that were not fetched yet, if anybody wants to know of them.
    losses: Option<Vec<LostSegment>>,
}

/// A segment that was declared lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostSegment {
    pub(crate) bytes: u64,
    pub(crate) sent_at: Instant,
}

/// A segment that was sent and is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The last time.
    pub(crate) sent_at: Instant,
    pub(crate) is_resent: bool,
    /// The first octet that had not been sent when it was sent the last time.
    pub(crate) behind: u64,
    pub(crate) fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    InFlight,
    Sacked,
    Lost,
}

/// A number of segments, and of the octets of sequence space in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) segments: u64,
    pub(crate) bytes: u64,
}

/// The news in an acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    /// The amount acknowledged cumulatively.
    pub(crate) acked: Amount,
    /// Known to have arrived now and not before.
    pub(crate) new_segments: u64,
    /// Octets of sequence space in them.
    pub(crate) new_bytes: u64,
    /// The time from sending to this acknowledgment, of the oldest segment that was sent once; of others with
    /// timestamps.
    pub(crate) rtt: Option<Duration>,
    /// The last to be sent among the segments newly known to have arrived: when, its end, and whether it was
    /// sent again.
    pub(crate) latest: Option<(Instant, u64, bool)>,
    /// Something sent once arrived after something sent later.
    pub(crate) is_reordered: bool,
}

impl Scoreboard {
    /// Creates an empty one that keeps what is lost until it is [fetched](Self::take_losses).
    pub(crate) fn telling_losses() -> Self {
        Self { losses: Some(Vec::new()), ..Self::default() }
    }

    /// Returns the segments that were declared lost since the last call, in the order in which they were found.
    pub(crate) fn take_losses(&mut self) -> Vec<LostSegment> {
        self.losses.as_mut().map(core::mem::take).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, now: Instant, from: u64, to: u64) {
        let fate = Fate::InFlight;
        self.sent.push_back(Sent { from, to, sent_at: now, is_resent: false, behind: to, fate });
        self.in_flight.add(from, to);
    }

    pub(crate) fn in_flight(&self) -> Amount {
        self.in_flight
    }

    /// Returns the number of segments sent and not acknowledged cumulatively.
    pub(crate) fn len(&self) -> u64 {
        super::stream::octets(self.sent.len())
    }

    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(crate) fn has_resent(&self) -> bool {
        self.resent > 0
    }

    /// Takes note that everything below `ack` arrived, and the ranges of `blocks` above it.
    pub(crate) fn on_ack(&mut self, now: Instant, ack: u64, blocks: &[(u64, u64)]) -> Delivered {
        let mut told = Delivered::default();
        while let Some(first) = self.sent.front().copied().filter(|first| first.to <= ack) {
            self.sent.pop_front();
            self.leave(&first);
            told.acked.add(first.from, first.to);
            if first.fate != Fate::Sacked {
                told.note(now, &first, self.highest_sacked);
            }
            self.sacked -= u64::from(first.fate == Fate::Sacked);
        }
        if let Some(first) = self.sent.front_mut().filter(|first| first.from < ack) {
            let part = ack - first.from;
            told.acked.bytes += part;
            self.in_flight.bytes -= if first.fate == Fate::InFlight { part } else { 0 };
            first.from = ack;
            told.new_bytes += if first.fate == Fate::Sacked { 0 } else { part };
        }
        for &(from, to) in blocks {
            self.report(now, from, to, &mut told);
        }
        told
    }

    fn report(&mut self, now: Instant, from: u64, to: u64, told: &mut Delivered) {
        let first = self.sent.partition_point(|segment| segment.from < from);
        let highest_before = self.highest_sacked;
        for index in first..self.sent.len() {
            let segment = self.sent[index];
            if segment.to > to {
                break;
            }
            if segment.fate == Fate::Sacked {
                continue;
            }
            self.leave(&segment);
            self.sent[index].fate = Fate::Sacked;
            self.sacked += 1;
            self.highest_sacked = self.highest_sacked.max(segment.to);
            told.note(now, &segment, highest_before);
        }
    }

    /// A segment is no longer in flight, or no longer lost.
    fn leave(&mut self, segment: &Sent) {
        match segment.fate {
            Fate::InFlight => {
                self.in_flight.remove(segment.from, segment.to);
                self.resent -= u64::from(segment.is_resent);
            }
            Fate::Lost => self.lost -= 1,
            Fate::Sacked => {}
        }
    }

    /// Declares lost what is in flight and meets a condition, from the oldest on until it says stop; gives how many.
    pub(crate) fn mark_lost(&mut self, mut judge: impl FnMut(&Sent) -> Judgement) -> u64 {
        let before = self.lost;
        for index in 0..self.sent.len() {
            let segment = self.sent[index];
            if segment.fate != Fate::InFlight {
                continue;
            }
            match judge(&segment) {
                Judgement::Lost => {
                    self.leave(&segment);
                    self.sent[index].fate = Fate::Lost;
                    self.lost += 1;
                    if let Some(losses) = &mut self.losses {
                        let bytes = segment.to - segment.from;
                        losses.push(LostSegment { bytes, sent_at: segment.sent_at });
                    }
                }
                Judgement::Fine => {}
                Judgement::Stop => break,
            }
        }
        self.lost - before
    }

    /// Returns the offset below which everything not reported has this many reported segments above it.
    pub(crate) fn reported_above(&self, reports: u64) -> u64 {
        let mut seen = 0;
        for segment in self.sent.iter().rev().filter(|segment| segment.fate == Fate::Sacked) {
            seen += 1;
            if seen >= reports {
                return segment.from;
            }
        }
        0
    }

    pub(crate) fn first_lost(&self) -> Option<Sent> {
        if self.lost == 0 {
            return None;
        }
        self.sent.iter().copied().find(|segment| segment.fate == Fate::Lost)
    }

    /// Returns the first segment in flight that was sent once and has a reported one above it.
    pub(crate) fn first_doubtful(&self) -> Option<Sent> {
        let below = self.sent.iter().take_while(|segment| segment.from < self.highest_sacked);
        below.copied().find(|segment| segment.fate == Fate::InFlight && !segment.is_resent)
    }

    pub(crate) fn oldest(&self) -> Option<Sent> {
        self.sent.iter().copied().find(|segment| segment.fate != Fate::Sacked)
    }

    pub(crate) fn newest(&self) -> Option<Sent> {
        self.sent.back().copied()
    }

    /// Returns how far a retransmission from the segment that begins at `from` may reach: lost neighbours go
    /// with it.
    pub(crate) fn lost_run(&self, from: u64, limit: u64) -> u64 {
        let first = self.sent.partition_point(|segment| segment.from < from);
        let run = self.sent.range(first..).take_while(|segment| segment.fate == Fate::Lost);
        run.map(|segment| segment.to).take_while(|to| *to <= limit).last().unwrap_or(limit)
    }

    /// Takes note that the octets between two offsets were sent again, in one segment, when everything below
    /// `behind` had been sent.
    pub(crate) fn resend(&mut self, now: Instant, from: u64, to: u64, behind: u64) {
        let first = self.sent.partition_point(|segment| segment.from < from);
        let last = self.sent.partition_point(|segment| segment.from < to);
        let mut rest = None;
        for index in first..last {
            let segment = self.sent[index];
            self.leave(&segment);
            self.sacked -= u64::from(segment.fate == Fate::Sacked);
            rest = Some(Sent { from: to, ..segment }).filter(|_| segment.to > to);
        }
        self.sent.drain(first..last);
        let fate = Fate::InFlight;
        self.sent.insert(first, Sent { from, to, sent_at: now, is_resent: true, behind, fate });
        self.in_flight.add(from, to);
        self.resent += 1;
        if let Some(rest) = rest {
            self.sent.insert(first + 1, rest);
            match rest.fate {
                Fate::InFlight => {
                    self.in_flight.add(rest.from, rest.to);
                    self.resent += u64::from(rest.is_resent);
                }
                Fate::Lost => self.lost += 1,
                Fate::Sacked => self.sacked += 1,
            }
        }
    }
}

/// The verdict on a segment that [`Scoreboard::mark_lost`] is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Lost,
    Fine,
    /// The segment is not lost, nor is any sent after it.
    Stop,
}

impl Amount {
    fn add(&mut self, from: u64, to: u64) {
        self.segments += 1;
        self.bytes += to - from;
    }

    fn remove(&mut self, from: u64, to: u64) {
        self.segments -= 1;
        self.bytes -= to - from;
    }
}

impl Delivered {
    fn note(&mut self, now: Instant, segment: &Sent, highest_sacked: u64) {
        self.new_segments += 1;
        self.new_bytes += segment.to - segment.from;
        if !segment.is_resent {
            self.rtt.get_or_insert(now.since(segment.sent_at));
            self.is_reordered |= segment.to < highest_sacked;
        }
        let candidate = (segment.sent_at, segment.to, segment.is_resent);
        if self.latest.is_none_or(|(at, to, _)| (at, to) <= (candidate.0, candidate.1)) {
            self.latest = Some(candidate);
        }
    }
}
