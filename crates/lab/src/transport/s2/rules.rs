//! The state machines: a sender and a receiver that count packets, without IO. One message is one packet, nothing is bundled,
//! every packet is acknowledged at once.

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;
use virtual_time::Instant;

use crate::text::Span;

/// The rules that the study leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StudyRules {
    /// Reports of a packet as missing until it is sent again. Default 4: the study's SCTP predates today's three.
    pub reports: u32,
    /// The largest window, in packets. Default 64.
    pub cap: f64,
    /// How often losses shrink the window. Default once per window of data, to half of what is in flight.
    pub halving: Halving,
    /// The least timeout. Default 1 s.
    pub rto_min: Span,
    /// The octets of headers in front of a message, those of IP included: 28 at least. Default 60.
    pub headers: usize,
    /// A flow begins at a random time within so long from its start. Default 0: at its start.
    pub begin_within: Span,
}

impl Default for StudyRules {
    fn default() -> Self {
        Self {
            reports: 4,
            cap: 64.0,
            halving: Halving::FlightOnce,
            rto_min: Span(Duration::from_secs(1)),
            headers: 60,
            begin_within: Span::default(),
        }
    }
}

/// How often losses shrink the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Halving {
    /// The window falls once per window of data, to half of what is in flight.
    FlightOnce,
    /// The window falls once per window of data, to half of itself.
    WindowOnce,
    /// The window falls with each packet found lost, to half of itself (a reading of S2's SCTP to the letter).
    EachLoss,
}

/// The sending end.
#[derive(Debug)]
pub(super) struct Sender {
    rules: StudyRules,
    cwnd: f64,
    ssthresh: f64,
    /// The first packet not acknowledged.
    una: u64,
    /// The packets in flight, from `una` on.
    flight: VecDeque<Sent>,
    lost: BTreeSet<u64>,
    pipe: usize,
    /// No further cut until this is acknowledged.
    recover: u64,
    /// The next packet sent again leaves whatever the window says: the one that a loss was found by.
    is_forced: bool,
    rto: Rto,
    timer: Option<Instant>,
    /// The packet whose acknowledgment will be a measurement.
    timed: Option<(u64, Instant)>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    reports: u32,
    fate: Fate,
    is_again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Lost,
    Received,
}

/// The timeout (RFC 6298), with its minimum.
#[derive(Clone, Copy, Debug)]
struct Rto {
    smoothed: Option<(f64, f64)>,
    value: Duration,
    min: Duration,
}

/// The packets that the receiver knows: everything below `next`, and these beyond it.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// The first packet that is missing.
    pub(super) next: u64,
    /// First and last of each run beyond it, the highest first.
    pub(super) runs: Vec<(u64, u64)>,
}

impl Sender {
    pub(super) fn new(rules: StudyRules) -> Self {
        Self {
            rules,
            cwnd: 2.0,
            ssthresh: rules.cap,
            una: 0,
            flight: VecDeque::new(),
            lost: BTreeSet::new(),
            pipe: 0,
            recover: 0,
            is_forced: false,
            rto: Rto { smoothed: None, value: Duration::from_secs(3), min: rules.rto_min.0 },
            timer: None,
            timed: None,
        }
    }

    /// Returns the number of the first packet that is not acknowledged.
    pub(super) fn first(&self) -> u64 {
        self.una
    }

    /// Returns the number of the next packet that was never sent.
    pub(super) fn next(&self) -> u64 {
        self.una + count(self.flight.len())
    }

    fn has_room(&self) -> bool {
        from_count(self.pipe) + 1.0 <= self.cwnd.min(self.rules.cap) + 1e-9
    }

    /// Returns a lost packet to send again, if the window allows.
    pub(super) fn poll_lost(&mut self, now: Instant) -> Option<u64> {
        if self.lost.is_empty() || !(self.is_forced || self.has_room()) {
            return None;
        }
        self.is_forced = false;
        let number = self.lost.pop_first()?;
        let sent = &mut self.flight[index(number - self.una)];
        (sent.fate, sent.is_again, sent.reports) = (Fate::InFlight, true, 0);
        self.pipe += 1;
        self.timed = None;
        self.timer.get_or_insert(now + self.rto.value);
        Some(number)
    }

    /// Returns whether a new packet may leave.
    pub(super) fn may_send(&self) -> bool {
        self.lost.is_empty() && self.has_room()
    }

    /// A new packet leaves.
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.timed.get_or_insert((self.next(), now));
        self.flight.push_back(Sent { reports: 0, fate: Fate::InFlight, is_again: false });
        self.pipe += 1;
        self.timer.get_or_insert(now + self.rto.value);
    }

    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Everything in flight is lost.
    pub(super) fn on_timeout(&mut self) {
        self.ssthresh = (from_count(self.pipe) / 2.0).max(2.0);
        self.cwnd = 1.0;
        self.recover = self.next();
        for (offset, sent) in self.flight.iter_mut().enumerate() {
            if sent.fate == Fate::InFlight {
                sent.fate = Fate::Lost;
                self.lost.insert(self.una + count(offset));
            }
        }
        self.pipe = 0;
        self.timed = None;
        self.timer = None;
        self.rto.value = (self.rto.value * 2).min(Duration::from_secs(60));
    }

    /// Takes in an acknowledgment of the receiver.
    pub(super) fn on_report(&mut self, now: Instant, report: &Report) {
        let advanced = self.release(now, report.next);
        let highest = self.mark(report);
        if advanced && self.una >= self.recover {
            let is_slow_start = self.cwnd < self.ssthresh;
            self.cwnd += if is_slow_start { 1.0 } else { 1.0 / self.cwnd };
            self.cwnd = self.cwnd.min(self.rules.cap);
        }
        if let Some(highest) = highest {
            self.count_reports(highest);
        }
        if advanced {
            self.timer = (self.pipe > 0 || !self.lost.is_empty()).then(|| now + self.rto.value);
        }
    }

    fn release(&mut self, now: Instant, next: u64) -> bool {
        let before = self.una;
        while self.una < next {
            let Some(sent) = self.flight.pop_front() else { break };
            match sent.fate {
                Fate::InFlight => self.pipe -= 1,
                Fate::Lost => drop(self.lost.remove(&self.una)),
                Fate::Received => {}
            }
            self.una += 1;
        }
        if let Some((_, at)) = self.timed.filter(|(number, _)| *number < self.una) {
            self.rto.measure(now.since(at));
            self.timed = None;
        }
        self.una > before
    }

    /// Notes what was received beyond a gap; the highest packet that is news.
    fn mark(&mut self, report: &Report) -> Option<u64> {
        let mut highest = None;
        for (first, last) in &report.runs {
            for number in (*first).max(self.una)..=*last {
                let Some(sent) = self.flight.get_mut(index(number - self.una)) else { break };
                match sent.fate {
                    Fate::Received => continue,
                    Fate::InFlight => self.pipe -= 1,
                    Fate::Lost => drop(self.lost.remove(&number)),
                }
                sent.fate = Fate::Received;
                highest = highest.max(Some(number));
            }
        }
        highest
    }

    /// One more report for every packet below the highest that is news; what has had enough is lost.
    fn count_reports(&mut self, highest: u64) {
        let pipe = self.pipe;
        for offset in 0..index(highest.saturating_sub(self.una)).min(self.flight.len()) {
            let sent = &mut self.flight[offset];
            // Sent again it is not found a second time: the timer is left.
            if sent.fate != Fate::InFlight || sent.is_again {
                continue;
            }
            sent.reports += 1;
            if sent.reports < self.rules.reports {
                continue;
            }
            sent.fate = Fate::Lost;
            let number = self.una + count(offset);
            self.lost.insert(number);
            self.pipe -= 1;
            self.shrink(number, pipe);
        }
    }

    fn shrink(&mut self, number: u64, pipe: usize) {
        match self.rules.halving {
            Halving::FlightOnce | Halving::WindowOnce if number < self.recover => return,
            Halving::FlightOnce => self.ssthresh = (from_count(pipe) / 2.0).max(2.0),
            Halving::WindowOnce | Halving::EachLoss => self.ssthresh = (self.cwnd / 2.0).max(2.0),
        }
        self.cwnd = self.ssthresh;
        self.recover = self.next();
        self.is_forced = true;
    }
}

impl Rto {
    fn measure(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        let (srtt, rttvar) = match self.smoothed {
            None => (rtt, rtt / 2.0),
            Some((srtt, rttvar)) => (0.875 * srtt + 0.125 * rtt, 0.75 * rttvar + 0.25 * (srtt - rtt).abs()),
        };
        self.smoothed = Some((srtt, rttvar));
        let wanted = Duration::try_from_secs_f64(srtt + 4.0 * rttvar).unwrap_or(self.min);
        self.value = wanted.clamp(self.min, Duration::from_secs(60));
    }
}

/// The receiving end: what has arrived.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    next: u64,
    beyond: BTreeSet<u64>,
}

impl Receiver {
    /// Returns whether a packet has come.
    pub(super) fn has(&self, number: u64) -> bool {
        number < self.next || self.beyond.contains(&number)
    }

    /// Takes in a packet, and returns the report that answers it.
    pub(super) fn on_packet(&mut self, number: u64) -> Report {
        if number >= self.next {
            self.beyond.insert(number);
        }
        while self.beyond.remove(&self.next) {
            self.next += 1;
        }
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for number in self.beyond.iter().rev() {
            let is_full = runs.len() == MOST_RUNS;
            match runs.last_mut() {
                Some((first, _)) if *first == number + 1 => *first = *number,
                Some(_) if is_full => break,
                Some(_) | None => runs.push((*number, *number)),
            }
        }
        Report { next: self.next, runs }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn from_count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

/// Runs in a report.
const MOST_RUNS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Sends `count` packets into a window that is large enough.
    fn sending(count: u64) -> Sender {
        let mut sender = Sender::new(StudyRules::default());
        sender.cwnd = 20.0;
        sender.ssthresh = 10.0;
        (0..count).for_each(|_| sender.on_sent(at(0)));
        sender
    }

    #[test]
    fn the_fourth_report_sends_again_and_halves_once() {
        let (mut sender, mut receiver) = (sending(10), Receiver::default());
        sender.on_report(at(100), &receiver.on_packet(0));
        for number in 2..=4 {
            sender.on_report(at(100), &receiver.on_packet(number));
            assert_eq!(sender.poll_lost(at(100)), None, "report {number}");
        }
        sender.on_report(at(100), &receiver.on_packet(5));
        assert_eq!(sender.poll_lost(at(100)), Some(1));
        let halved = sender.cwnd;
        assert!(halved < 5.0, "{halved}");
        sender.on_report(at(150), &receiver.on_packet(1));
        assert_eq!(sender.una, 6);
        assert_eq!(sender.cwnd, halved, "in recovery the window does not grow");
    }

    #[test]
    fn a_timeout_loses_all_and_starts_with_one_packet() {
        let mut sender = sending(4);
        let due = sender.timer().unwrap();
        assert_eq!(due, at(3000));
        sender.on_timeout();
        assert_eq!((sender.poll_lost(due), sender.poll_lost(due)), (Some(0), None));
        assert_eq!(sender.timer(), Some(due + Duration::from_secs(6)));
    }

    #[test]
    fn reports_tell_runs_the_highest_first() {
        let mut receiver = Receiver::default();
        for number in [0, 2, 3, 6] {
            receiver.on_packet(number);
        }
        let report = receiver.on_packet(5);
        assert_eq!((report.next, report.runs), (1, vec![(5, 6), (2, 3)]));
    }
}
