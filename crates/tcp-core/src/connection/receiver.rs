//! The receiving half: what arrived in order, what waits for a gap to be filled, and what to acknowledge when.

use std::collections::{BTreeMap, VecDeque};

use smallvec::SmallVec;

use crate::config::Acknowledge;
use crate::ranges::RangeSet;

/// The receiving half of a connection. Offsets are those of the peer's sequence space: 0 is its SYN.
#[derive(Debug)]
pub(crate) struct Receiver {
    limit: usize,
    /// The next offset expected.
    next: u64,
    ready: VecDeque<u8>,
    held: BTreeMap<u64, Vec<u8>>,
    missing_before: RangeSet,
    /// The places where segments came out of order, the latest first: the order of SACK blocks (RFC 2018 §4).
    recent: VecDeque<u64>,
    fin_at: Option<u64>,
    demand: AckDemand,
    policy: AckPolicy,
    /// Segments and octets that arrived in order and were not acknowledged.
    unacknowledged: (u32, u64),
    /// The range that came again, to be reported once (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// The window last advertised, as the offset it reaches to.
    advertised_to: u64,
    pub(crate) duplicate_segments: u64,
}

/// The rules for when an acknowledgment has to leave at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckPolicy {
    pub(crate) rule: Acknowledge,
    /// Octets of a full segment.
    pub(crate) full: u64,
}

/// The urgency of an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AckDemand {
    #[default]
    None,
    /// Soon, for company's sake (RFC 9293 §3.8.6.3).
    Delayed,
    Now,
}

impl Receiver {
    pub(crate) fn new(limit: usize, policy: AckPolicy) -> Self {
        Self {
            limit,
            next: 1,
            ready: VecDeque::new(),
            held: BTreeMap::new(),
            missing_before: RangeSet::default(),
            recent: VecDeque::new(),
            fin_at: None,
            demand: AckDemand::Now,
            policy,
            unacknowledged: (0, 0),
            duplicate: None,
            advertised_to: 0,
            duplicate_segments: 0,
        }
    }

    /// Returns the next offset expected: what is acknowledged.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of octets there is room for.
    pub(crate) fn window(&self) -> u64 {
        u64::try_from(self.limit.saturating_sub(self.ready.len())).unwrap_or(u64::MAX)
    }

    pub(crate) fn has_data(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns whether everything up to and with FIN has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin_at.is_some_and(|fin| fin < self.next)
    }

    /// Moves what arrived in order to the end of `buffer`. An emptied window is told of at once.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>, mss: u64) {
        buffer.extend(self.ready.drain(..));
        let opened = (self.next + self.window()).saturating_sub(self.advertised_to);
        let worth_telling = (2 * mss).min(u64::try_from(self.limit / 2).unwrap_or(u64::MAX));
        let was_closed = self.advertised_to.saturating_sub(self.next) < worth_telling;
        if was_closed && opened >= worth_telling {
            self.demand = AckDemand::Now;
        }
    }

    /// A segment with data or FIN.
    pub(crate) fn on_segment(&mut self, offset: u64, payload: &[u8], is_fin: bool) {
        let end = offset + u64::try_from(payload.len()).unwrap_or(u64::MAX);
        let is_old = end + u64::from(is_fin) <= self.next;
        let room = (self.next + self.window()).saturating_sub(offset);
        if is_old || (room == 0 && !payload.is_empty()) {
            self.duplicate_segments += u64::from(is_old);
            self.duplicate = Some((offset, end)).filter(|_| is_old && end > offset);
            self.demand = AckDemand::Now;
            return;
        }
        let fitting = payload.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let (payload, is_fin) = (&payload[..fitting], is_fin && fitting == payload.len());
        if is_fin {
            self.fin_at = Some(end);
        }
        if offset > self.next {
            self.hold(offset, payload);
            return;
        }
        let fills_gap = !self.held.is_empty();
        self.take(offset, payload);
        self.take_held();
        self.unacknowledged.0 += 1;
        self.unacknowledged.1 += u64::try_from(payload.len()).unwrap_or(0);
        let is_second = match self.policy.rule {
            Acknowledge::EverySecondSegment => self.unacknowledged.0 >= 2,
            Acknowledge::EverySecondFullSegment => self.unacknowledged.1 > self.policy.full,
        };
        let is_due = fills_gap || is_second || self.is_finished();
        self.demand = self.demand.max(if is_due { AckDemand::Now } else { AckDemand::Delayed });
    }

    fn hold(&mut self, offset: u64, payload: &[u8]) {
        self.demand = AckDemand::Now;
        let end = offset + u64::try_from(payload.len()).unwrap_or(u64::MAX);
        if self.missing_before.insert(offset, end) == 0 {
            self.duplicate_segments += u64::from(!payload.is_empty());
            self.duplicate = Some((offset, end)).filter(|_| end > offset);
        } else {
            let kept = self.held.entry(offset).or_default();
            if kept.len() < payload.len() {
                *kept = payload.to_vec();
            }
        }
        self.recent.retain(|known| *known != offset);
        self.recent.push_front(offset);
        self.recent.truncate(RECENT);
    }

    /// Appends what is new of a segment that begins at or before the next offset.
    fn take(&mut self, offset: u64, payload: &[u8]) {
        let known = usize::try_from(self.next - offset).unwrap_or(usize::MAX);
        let Some(new) = payload.get(known..) else { return };
        self.ready.extend(new);
        self.next += u64::try_from(new.len()).unwrap_or(0);
    }

    fn take_held(&mut self) {
        while let Some(first) = self.held.first_entry().filter(|first| *first.key() <= self.next) {
            let (offset, payload) = first.remove_entry();
            self.take(offset, &payload);
        }
        if self.fin_at == Some(self.next) {
            self.next += 1;
        }
        self.missing_before.remove_below(self.next);
        let ranges = &self.missing_before;
        self.recent.retain(|offset| ranges.containing(*offset).is_some());
    }

    /// Returns the range that came again (RFC 2883 §4), and those beyond the gap, that of the latest segment
    /// first; three at most (RFC 2018 §3, §4).
    pub(crate) fn sack_blocks(&self) -> SmallVec<[(u64, u64); 3]> {
        let mut blocks = SmallVec::<[(u64, u64); 3]>::new();
        blocks.extend(self.duplicate);
        let by_arrival = self.recent.iter().filter_map(|offset| self.missing_before.containing(*offset));
        for block in by_arrival.chain(self.missing_before.iter()) {
            let told = usize::from(self.duplicate.is_some());
            if blocks.len() < 3 && !blocks[told..].contains(&block) {
                blocks.push(block);
            }
        }
        blocks
    }

    pub(crate) fn demand(&self) -> AckDemand {
        self.demand
    }

    pub(crate) fn demand_now(&mut self) {
        self.demand = AckDemand::Now;
    }

    /// An acknowledgment leaves.
    pub(crate) fn on_acknowledged(&mut self) {
        self.demand = AckDemand::None;
        self.unacknowledged = (0, 0);
        self.duplicate = None;
        self.advertised_to = self.next + self.window();
    }
}

/// Arrivals out of order that are remembered for the order of SACK blocks.
const RECENT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: AckPolicy = AckPolicy { rule: Acknowledge::EverySecondSegment, full: 1000 };

    fn receiver() -> Receiver {
        let mut receiver = Receiver::new(10_000, POLICY);
        receiver.on_acknowledged();
        receiver
    }

    fn read(receiver: &mut Receiver) -> Vec<u8> {
        let mut data = Vec::new();
        receiver.read(&mut data, 1000);
        data
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut receiver = receiver();
        receiver.on_segment(1, b"abc", false);
        assert_eq!((receiver.demand(), receiver.next()), (AckDemand::Delayed, 4));
        receiver.on_segment(4, b"def", false);
        assert_eq!(receiver.demand(), AckDemand::Now);
        assert_eq!(read(&mut receiver), b"abcdef");
    }

    /// RFC 9293 §3.8.6.3.
    #[test]
    fn small_segments_wait_where_only_full_ones_count() {
        let mut receiver =
            Receiver::new(10_000, AckPolicy { rule: Acknowledge::EverySecondFullSegment, full: 1000 });
        receiver.on_acknowledged();
        for message in 0..15 {
            receiver.on_segment(1 + 64 * message, &[7; 64], false);
            assert_eq!(receiver.demand(), AckDemand::Delayed);
        }
        receiver.on_segment(1 + 64 * 15, &[7; 64], false);
        assert_eq!(receiver.demand(), AckDemand::Now);
    }

    /// RFC 2883 §4.
    #[test]
    fn duplicates_are_told_of_once_before_everything_else() {
        let mut receiver = receiver();
        receiver.on_segment(1, b"abc", false);
        receiver.on_segment(7, b"ghi", false);
        receiver.on_segment(1, b"abc", false);
        assert_eq!(receiver.sack_blocks()[..], [(1, 4), (7, 10)]);
        receiver.on_acknowledged();
        receiver.on_segment(7, b"ghi", false);
        assert_eq!(receiver.sack_blocks()[..], [(7, 10), (7, 10)]);
    }

    /// RFC 2018 §4.
    #[test]
    fn sack_blocks_tell_the_latest_arrival_first_and_gaps_are_filled_in_order() {
        let mut receiver = receiver();
        for (offset, payload) in [(5, b"ef"), (9, b"ij"), (13, b"mn"), (17, b"qr"), (7, b"gh")] {
            receiver.on_segment(offset, payload, false);
            assert_eq!(receiver.demand(), AckDemand::Now);
        }
        assert_eq!(receiver.sack_blocks()[..], [(5, 11), (17, 19), (13, 15)]);
        receiver.on_segment(1, b"abcd", false);
        assert_eq!((read(&mut receiver), receiver.next()), (b"abcdefghij".to_vec(), 11));
        assert_eq!(receiver.sack_blocks()[..], [(17, 19), (13, 15)]);
    }

    #[test]
    fn overlaps_and_duplicates_are_delivered_once() {
        let mut receiver = receiver();
        receiver.on_segment(4, b"def", false);
        receiver.on_segment(4, b"def", false);
        receiver.on_segment(1, b"abcde", false);
        receiver.on_segment(1, b"abc", false);
        assert_eq!(read(&mut receiver), b"abcdef");
        assert_eq!(receiver.duplicate_segments, 2);
    }

    #[test]
    fn fin_counts_when_everything_before_it_is_there() {
        let mut receiver = receiver();
        receiver.on_segment(4, b"def", true);
        assert!(!receiver.is_finished());
        receiver.on_segment(1, b"abc", false);
        assert!(receiver.is_finished());
        assert_eq!(receiver.next(), 8);
    }

    #[test]
    fn window_shrinks_with_what_is_unread_and_its_opening_is_told() {
        let mut receiver = Receiver::new(4000, POLICY);
        receiver.on_acknowledged();
        receiver.on_segment(1, &[7; 4000], false);
        receiver.on_acknowledged();
        assert_eq!(receiver.window(), 0);
        receiver.on_segment(4001, b"x", false);
        assert_eq!(
            (receiver.next(), receiver.demand()),
            (4001, AckDemand::Now),
            "a probe is answered, not taken"
        );
        receiver.on_acknowledged();
        read(&mut receiver);
        assert_eq!((receiver.window(), receiver.demand()), (4000, AckDemand::Now));
    }
}
