//! The places where the chunks of a path begin, kind by kind: what a SACK asks for is not looked for anew
//! behind everything that has been settled before it.

use std::collections::VecDeque;

use sctp_wire::Tsn;
use virtual_time::Instant;

use super::sent_chunk::{ChunkState, SentChunk};
use crate::seldom::Seldom;
use crate::transmit::PathIndex;

/// Numbers below which no chunk of a path is of a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firsts {
    from: [u64; ChunkKind::ALL.len()],
    /// Chunks sent again or taken back, in the order of time.
    again: Seldom<VecDeque<Again>>,
}

/// A chunk in flight that was not sent once alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) number: u64,
    pub(crate) sent_at: Instant,
}

/// The kind of chunks of a path that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// The fate of the chunk is open.
    Unsettled,
    /// The chunk is in flight and may go again as a probe.
    Probeable,
    /// The chunk is in flight, sent once: later ones of higher TSN left no earlier.
    Original,
    /// The chunk is in flight and was never fast-retransmitted.
    Reportable,
}

impl ChunkKind {
    pub(crate) const ALL: [Self; 4] = [Self::Unsettled, Self::Probeable, Self::Original, Self::Reportable];

    /// Returns whether a chunk is of this kind on this path.
    #[inline]
    pub(crate) fn is_kind_of(self, chunk: &SentChunk, path: PathIndex) -> bool {
        let is_in_flight = chunk.state == ChunkState::InFlight;
        chunk.path == path
            && match self {
                Self::Unsettled => chunk.is_unsettled(),
                Self::Probeable => is_in_flight && !chunk.is_last_try,
                Self::Original => is_in_flight && chunk.is_original(),
                Self::Reportable => is_in_flight && !chunk.fast_retransmitted,
            }
    }

    const fn place(self) -> usize {
        match self {
            Self::Unsettled => 0,
            Self::Probeable => 1,
            Self::Original => 2,
            Self::Reportable => 3,
        }
    }
}

impl Firsts {
    /// Returns the number before which no chunk of this kind is.
    #[inline]
    pub(crate) fn from(&self, kind: ChunkKind) -> u64 {
        self.from[kind.place()]
    }

    #[inline]
    pub(crate) fn set(&mut self, kind: ChunkKind, number: u64) {
        self.from[kind.place()] = number;
    }

    /// All chunks before this number are settled or of other paths.
    pub(crate) fn begin_at(&mut self, number: u64) {
        self.from = [number; ChunkKind::ALL.len()];
    }

    /// Returns whether chunks were sent again that may be in flight.
    #[inline]
    pub(crate) fn has_again(&self) -> bool {
        self.again.exists()
    }

    /// A chunk is in flight again. It is never an original any more.
    pub(crate) fn on_again(&mut self, again: Again, is_current: impl Fn(&Again) -> bool) {
        for kind in [ChunkKind::Unsettled, ChunkKind::Probeable, ChunkKind::Reportable] {
            self.from[kind.place()] = self.from[kind.place()].min(again.number);
        }
        let list = self.again.note();
        list.push_back(again);
        // What has been acknowledged or sent once more since leaves with what stands before it, or here.
        if list.len() >= 64 && list.len().is_power_of_two() {
            list.retain(is_current);
        }
    }

    /// Returns the chunks that were sent again, the one that was so first in front; some have been settled
    /// since.
    pub(crate) fn again(&self) -> impl Iterator<Item = &Again> {
        self.again.as_ref().into_iter().flatten()
    }

    /// Forgets the settled chunks at the front.
    pub(crate) fn forget_settled(&mut self, is_current: impl Fn(&Again) -> bool) {
        if self.again.exists() {
            let list = self.again.note();
            while list.pop_front_if(|again| !is_current(again)).is_some() {}
            if list.is_empty() {
                self.again = Seldom::default();
            }
        }
    }
}

/// Returns whether a chunk was sent later, or at the same time with a higher TSN (RFC 8985 §6.2).
pub(crate) fn is_after(a: (Instant, Tsn), b: (Instant, Tsn)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && b.1.precedes(a.1))
}
