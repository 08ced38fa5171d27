//! DATA chunks sent and not yet cumulatively acknowledged, by TSN.
//!
//! A ring: the chunk with TSN `first + n` stands at index `n`. Also keeps what is in flight on each path and
//! how many chunks wait for retransmission.

use std::collections::VecDeque;

use sctp_wire::Tsn;
use smallvec::SmallVec;
use virtual_time::Instant;

use super::queue::Fragment;
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
    /// Sent on more than one path: an acknowledgment of it says nothing about either.
    pub(crate) is_moved: bool,
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
}

impl SentChunk {
    /// Octets of the chunk in a packet (RFC 9260 §3.3.1).
    pub(crate) fn wire_bytes(&self) -> usize {
        wire_bytes(self.fragment.payload.len())
    }
}

/// Octets of a DATA chunk with this payload: header and padding included.
pub(crate) const fn wire_bytes(payload: usize) -> usize {
    DATA_HEADER_BYTES + payload.next_multiple_of(4)
}

pub(crate) const DATA_HEADER_BYTES: usize = 16;

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

    /// The in-flight chunk with the lowest TSN on this path.
    pub(crate) fn earliest_in_flight(&self, path: PathId) -> Option<&SentChunk> {
        self.chunks.iter().find(|chunk| chunk.state == ChunkState::InFlight && chunk.path == path)
    }

    /// The outstanding, not yet acknowledged chunk with the lowest TSN last sent on this path.
    pub(crate) fn earliest(&self, path: PathId) -> Option<usize> {
        self.chunks.iter().position(|chunk| chunk.state != ChunkState::Acknowledged && chunk.path == path)
    }

    /// Appends a chunk sent for the first time.
    pub(crate) fn push(&mut self, now: Instant, path: PathId, fragment: Fragment) {
        let chunk = SentChunk {
            fragment,
            state: ChunkState::InFlight,
            path,
            sent_at: now,
            transmissions: 1,
            missing_reports: 0,
            fast_retransmitted: false,
            is_probed: false,
            is_moved: false,
        };
        self.add_flight(path, chunk.wire_bytes(), chunk.fragment.payload.len());
        self.chunks.push_back(chunk);
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
        chunk.sent_at = now;
        chunk.transmissions = chunk.transmissions.saturating_add(1);
        chunk.missing_reports = 0;
        match was {
            ChunkState::Lost => {
                self.lost -= 1;
                self.lost_from = index + 1;
            }
            ChunkState::InFlight | ChunkState::Acknowledged => self.sub_flight(before, wire, payload),
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

    /// A gap ack block covers this chunk. Gives it back if that is news.
    pub(crate) fn acknowledge(&mut self, index: usize) -> Option<&SentChunk> {
        let chunk = self.chunks.get_mut(index)?;
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
            ChunkState::Acknowledged => return false,
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
