//! DATA chunks sent and not yet cumulatively acknowledged, by TSN.
//!
//! A ring: the chunk with TSN `first + n` stands at index `n`. Also keeps what is in flight on each path and
//! how many chunks wait for retransmission.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use sctp_wire::Tsn;
use smallvec::SmallVec;
use virtual_time::Instant;

use super::abandon::Terms;
use super::queue::{Fragment, Framing};
use crate::message::Message;
use crate::transmit::PathId;

/// The ring of outstanding chunks.
#[derive(Debug)]
pub(crate) struct Outstanding {
    chunks: VecDeque<SentChunk>,
    first: Tsn,
    /// Octets in flight by path, chunk headers and padding included.
    flight: SmallVec<[usize; 1]>,
    /// Payload octets in flight on all paths.
    flight_payload: usize,
    lost: usize,
    /// No chunk before this index waits for retransmission.
    lost_from: usize,
}

/// A chunk that was sent at least once.
#[derive(Debug)]
pub(crate) struct SentChunk {
    pub(crate) fragment: Fragment,
    pub(crate) state: ChunkState,
    /// The path it was last sent on.
    pub(crate) path: PathId,
    /// When it was last sent.
    pub(crate) sent_at: Instant,
    pub(crate) transmissions: u16,
    /// Missing reports since it was last sent (RFC 9260 §7.2.4).
    pub(crate) missing_reports: u8,
    pub(crate) fast_retransmitted: bool,
    /// Last sent as a tail-loss probe, while the one before may still be on its way: which of the two an
    /// acknowledgment answers cannot be told.
    pub(crate) is_probed: bool,
    /// Under the terms of its message it is not sent again, not even as a probe.
    pub(crate) is_last_try: bool,
    /// Sent on more than one path: an acknowledgment of it says nothing about either (RFC 7829 §3.2, point 9).
    pub(crate) is_moved: bool,
    /// It waits for retransmission because its path did not answer in time: another path is preferred (RFC 9260 §6.4).
    pub(crate) timed_out: bool,
}

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// Sent, fate unknown.
    InFlight,
    /// Acknowledged by a gap ack block; kept until the cumulative ack, for the peer may renege.
    Acknowledged,
    /// Declared lost: waits for retransmission.
    Lost,
    /// Given up: counts as acknowledged, and is passed over by a FORWARD TSN (RFC 3758 §3.5 (A2)).
    Abandoned,
}

impl SentChunk {
    /// Octets of the chunk in a packet (RFC 9260 §3.3.1).
    pub(crate) fn wire_bytes(&self) -> usize {
        self.fragment.framing.header_bytes() + self.fragment.payload.len().next_multiple_of(4)
    }

    /// Whether its fate is still open.
    pub(crate) fn is_unsettled(&self) -> bool {
        matches!(self.state, ChunkState::InFlight | ChunkState::Lost)
    }

    /// Whether it may be sent again under the terms of its message.
    pub(crate) fn may_be_resent(&self, now: Instant) -> bool {
        let terms = self.fragment.terms.as_ref();
        terms.is_none_or(|terms| terms.allow(now, u32::from(self.transmissions)))
    }
}

impl Outstanding {
    pub(crate) fn new(first: Tsn) -> Self {
        Self {
            chunks: VecDeque::new(),
            first,
            flight: SmallVec::from_elem(0, 1),
            flight_payload: 0,
            lost: 0,
            lost_from: 0,
        }
    }

    /// The TSN before the earliest outstanding one: the Cumulative TSN Ack Point.
    pub(crate) fn cumulative_ack(&self) -> Tsn {
        self.first.previous()
    }

    /// The TSN the next new chunk gets.
    pub(crate) fn next_tsn(&self) -> Tsn {
        self.tsn_at(self.chunks.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(crate) fn flight(&self, path: PathId) -> usize {
        self.flight.get(path.index()).copied().unwrap_or(0)
    }

    /// The paths that carried something so far.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..=u8::MAX).map(PathId::new).take(self.flight.len())
    }

    pub(crate) fn total_flight(&self) -> usize {
        self.flight.iter().sum()
    }

    pub(crate) fn flight_payload(&self) -> usize {
        self.flight_payload
    }

    /// Index of a TSN in the ring; `None` if it is not outstanding.
    pub(crate) fn index_of(&self, tsn: Tsn) -> Option<usize> {
        let index = self.first.distance(tsn) as usize;
        (index < self.chunks.len()).then_some(index)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the ring is bounded far below 2^32 chunks")]
    pub(crate) fn tsn_at(&self, index: usize) -> Tsn {
        self.first.advance(index as u32)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&SentChunk> {
        self.chunks.get(index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &SentChunk)> {
        self.chunks.iter().enumerate()
    }

    /// The in-flight chunk with the lowest TSN on this path that a probe could carry.
    pub(crate) fn earliest_in_flight(&self, path: PathId) -> Option<&SentChunk> {
        let wanted = |chunk: &&SentChunk| {
            chunk.state == ChunkState::InFlight && chunk.path == path && !chunk.is_last_try
        };
        self.chunks.iter().find(wanted)
    }

    /// The outstanding, not yet acknowledged chunk with the lowest TSN last sent on this path.
    pub(crate) fn earliest(&self, path: PathId) -> Option<usize> {
        // Every SACK asks for every path: those that are not in use must not cost a walk over the others' chunks.
        if self.flight(path) == 0 && self.lost == 0 {
            return None;
        }
        self.chunks.iter().position(|chunk| chunk.is_unsettled() && chunk.path == path)
    }

    /// Appends a chunk sent for the first time.
    pub(crate) fn push(&mut self, now: Instant, path: PathId, fragment: Fragment) {
        let is_last_try = fragment.terms.as_ref().is_some_and(|terms| !terms.allow(now, 1));
        let chunk = SentChunk {
            fragment,
            state: ChunkState::InFlight,
            path,
            sent_at: now,
            transmissions: 1,
            missing_reports: 0,
            fast_retransmitted: false,
            is_probed: false,
            is_last_try,
            is_moved: false,
            timed_out: false,
        };
        self.add_flight(path, chunk.wire_bytes(), chunk.fragment.payload.len());
        self.chunks.push_back(chunk);
    }

    /// The peer was asked anew, and agreed to other chunks than those of a COOKIE ECHO packet it refused.
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        for chunk in &mut self.chunks {
            let before = chunk.wire_bytes();
            chunk.fragment.framing = framing;
            if chunk.state == ChunkState::InFlight {
                let flight = &mut self.flight[chunk.path.index()];
                *flight = *flight - before + chunk.wire_bytes();
            }
        }
    }

    /// A chunk was sent again: lost ones return into flight, probed ones stay in it.
    pub(crate) fn resent(&mut self, now: Instant, path: PathId, index: usize) {
        let Some(chunk) = self.chunks.get_mut(index) else { return };
        let (wire, payload, before) = (chunk.wire_bytes(), chunk.fragment.payload.len(), chunk.path);
        let was = chunk.state;
        chunk.is_probed = was == ChunkState::InFlight;
        chunk.state = ChunkState::InFlight;
        chunk.is_moved |= before != path;
        chunk.path = path;
        chunk.timed_out = false;
        chunk.sent_at = now;
        chunk.transmissions = chunk.transmissions.saturating_add(1);
        chunk.is_last_try = !chunk.may_be_resent(now);
        chunk.missing_reports = 0;
        match was {
            ChunkState::Lost => {
                self.lost -= 1;
                self.lost_from = index + 1;
            }
            ChunkState::InFlight | ChunkState::Acknowledged | ChunkState::Abandoned => {
                self.sub_flight(before, wire, payload);
            }
        }
        self.add_flight(path, wire, payload);
    }

    /// The lost chunk with the lowest TSN.
    pub(crate) fn first_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let found = self.chunks.iter().skip(self.lost_from).position(|chunk| chunk.state == ChunkState::Lost);
        self.lost_from += found?;
        Some(self.lost_from)
    }

    /// Declares a chunk lost. True if it was in flight.
    pub(crate) fn mark_lost(&mut self, index: usize) -> bool {
        let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::InFlight)
        else {
            return false;
        };
        chunk.state = ChunkState::Lost;
        let (path, wire, payload) = (chunk.path, chunk.wire_bytes(), chunk.fragment.payload.len());
        self.sub_flight(path, wire, payload);
        self.lost += 1;
        self.lost_from = self.lost_from.min(index);
        true
    }

    /// The path of a chunk did not answer in time. True if it was in flight.
    pub(crate) fn mark_timed_out(&mut self, index: usize) -> bool {
        let was_in_flight = self.mark_lost(index);
        if let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::Lost) {
            chunk.timed_out = true;
        }
        was_in_flight
    }

    /// A gap ack block covers this chunk. Gives it back if that is news.
    pub(crate) fn acknowledge(&mut self, index: usize) -> Option<&SentChunk> {
        let chunk = self.chunks.get_mut(index).filter(|chunk| chunk.is_unsettled())?;
        let was = core::mem::replace(&mut chunk.state, ChunkState::Acknowledged);
        let (path, wire, payload) = (chunk.path, chunk.wire_bytes(), chunk.fragment.payload.len());
        self.leave(was, path, wire, payload).then(|| &self.chunks[index])
    }

    /// The cumulative ack covers the first chunk: it leaves the ring. True beside it if that is news.
    pub(crate) fn pop(&mut self) -> Option<(SentChunk, bool)> {
        let chunk = self.chunks.pop_front()?;
        self.first = self.first.next();
        self.lost_from = self.lost_from.saturating_sub(1);
        let news = self.leave(chunk.state, chunk.path, chunk.wire_bytes(), chunk.fragment.payload.len());
        Some((chunk, news))
    }

    /// Chunks of a path that wait for retransmission count as in flight again, as if sent now: they were declared lost
    /// without need.
    pub(crate) fn take_back_lost(&mut self, now: Instant, path: PathId) {
        let (mut wire, mut payload) = (0, 0);
        for chunk in &mut self.chunks {
            if chunk.state == ChunkState::Lost && chunk.path == path {
                chunk.state = ChunkState::InFlight;
                chunk.sent_at = now;
                self.lost -= 1;
                wire += chunk.wire_bytes();
                payload += chunk.fragment.payload.len();
            }
        }
        self.add_flight(path, wire, payload);
    }

    /// The peer took a gap acknowledgment back (RFC 9260 §6.2.1): the chunk counts as in flight again, as if sent
    /// now, so that one SACK alone does not condemn it.
    pub(crate) fn renege(&mut self, now: Instant, index: usize) {
        let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::Acknowledged)
        else {
            return;
        };
        chunk.state = ChunkState::InFlight;
        chunk.sent_at = now;
        let (path, wire, payload) = (chunk.path, chunk.wire_bytes(), chunk.fragment.payload.len());
        self.add_flight(path, wire, payload);
    }

    /// Gives up every chunk of these messages, numbers ascending: what is in flight leaves it, what was acknowledged is
    /// not waited for either (RFC 3758 §3.5 (A2), (A3)). Gives the payload octets that are not kept any more.
    pub(crate) fn abandon(&mut self, messages: &[u64]) -> usize {
        let mut freed = 0;
        for index in 0..self.chunks.len() {
            let chunk = &mut self.chunks[index];
            let is_meant = |terms: &Arc<Terms>| messages.binary_search(&terms.number).is_ok();
            if !chunk.fragment.terms.as_ref().is_some_and(is_meant) {
                continue;
            }
            let was = core::mem::replace(&mut chunk.state, ChunkState::Abandoned);
            let (path, wire, payload) = (chunk.path, chunk.wire_bytes(), chunk.fragment.payload.len());
            chunk.fragment.payload = Bytes::new();
            chunk.fragment.terms = None;
            chunk.fragment.whole = None;
            // Its bookkeeping is freed together with the message.
            chunk.fragment.flags.ending = false;
            freed += payload;
            self.leave(was, path, wire, payload);
        }
        freed
    }

    /// Messages sent to their end of which the peer has not acknowledged everything, in the order in which they ended.
    /// They are not kept any longer.
    pub(crate) fn take_unacknowledged(&mut self) -> Vec<Message> {
        let message = |fragment: &Fragment| (fragment.stream, fragment.flags.unordered, fragment.mid.get());
        let unsettled = self.chunks.iter().filter(|chunk| chunk.is_unsettled());
        let unsettled: BTreeSet<_> = unsettled.map(|chunk| message(&chunk.fragment)).collect();
        let is_open = |chunk: &&mut SentChunk| unsettled.contains(&message(&chunk.fragment));
        self.chunks.iter_mut().filter(is_open).filter_map(|chunk| chunk.fragment.whole.take()).collect()
    }

    /// Takes up a TSN for what is not sent.
    pub(crate) fn push_abandoned(&mut self, now: Instant, path: PathId, fragment: Fragment) {
        self.push(now, path, fragment);
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.state = ChunkState::Abandoned;
            let (wire, payload) = (chunk.wire_bytes(), chunk.fragment.payload.len());
            self.sub_flight(path, wire, payload);
        }
    }

    /// Chunks at the front that were given up: how far the Advanced.Peer.Ack.Point is ahead of the Cumulative TSN Ack
    /// Point (RFC 3758 §3.5 (C2)).
    pub(crate) fn abandoned_ahead(&self) -> usize {
        self.chunks.iter().take_while(|chunk| chunk.state == ChunkState::Abandoned).count()
    }

    /// Not to be sent again, not even as a probe.
    pub(crate) fn mark_last_try(&mut self, index: usize) {
        if let Some(chunk) = self.chunks.get_mut(index) {
            chunk.is_last_try = true;
        }
    }

    /// Records a missing report on a chunk in flight and gives the count.
    pub(crate) fn report_missing(&mut self, index: usize) -> Option<&mut SentChunk> {
        let chunk = self.chunks.get_mut(index).filter(|chunk| chunk.state == ChunkState::InFlight)?;
        chunk.missing_reports = chunk.missing_reports.saturating_add(1);
        Some(chunk)
    }

    /// Updates the counters for a chunk that is acknowledged. True if it was not before.
    fn leave(&mut self, was: ChunkState, path: PathId, wire: usize, payload: usize) -> bool {
        match was {
            ChunkState::InFlight => self.sub_flight(path, wire, payload),
            ChunkState::Lost => self.lost -= 1,
            ChunkState::Acknowledged | ChunkState::Abandoned => return false,
        }
        true
    }

    fn add_flight(&mut self, path: PathId, wire: usize, payload: usize) {
        if self.flight.len() <= path.index() {
            self.flight.resize(path.index() + 1, 0);
        }
        self.flight[path.index()] += wire;
        self.flight_payload += payload;
    }

    fn sub_flight(&mut self, path: PathId, wire: usize, payload: usize) {
        self.flight[path.index()] -= wire;
        self.flight_payload -= payload;
    }
}
