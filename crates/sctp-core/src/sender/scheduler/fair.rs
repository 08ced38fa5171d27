//! Fair queueing by octets: weighted (RFC 8260 §3.6), or the same for all (§3.5).
//!
//! Start-time fair queueing: every stream has a virtual time that grows by the octets it sends, divided by its
//! weight; the stream that is least far goes next. A stream that was idle starts where the others are, so that
//! silence saves up nothing.

use std::collections::{BTreeMap, BTreeSet};

use sctp_wire::StreamId;

use super::{Discipline, Rest, Served, WaitingMessage};
use crate::config::StreamShare;

/// Waiting streams by virtual time.
#[derive(Debug)]
pub(super) struct Fair {
    weighing: Weighing,
    order: BTreeSet<(VirtualTime, StreamId)>,
    /// How far each stream is that has sent anything; kept while it is idle, or pausing would pay.
    reached: BTreeMap<StreamId, VirtualTime>,
    /// The virtual time of the stream that was served last.
    clock: VirtualTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weighing {
    ByWeight,
    Equal,
}

/// Octets times [`SCALE`] by weight. Far from wrapping for the life of any association.
type VirtualTime = u128;

impl Fair {
    pub(super) fn weighted() -> Self {
        Self::new(Weighing::ByWeight)
    }

    pub(super) fn equal() -> Self {
        Self::new(Weighing::Equal)
    }

    fn new(weighing: Weighing) -> Self {
        Self { weighing, order: BTreeSet::new(), reached: BTreeMap::new(), clock: 0 }
    }

    fn progress(&self, octets: usize, share: StreamShare) -> VirtualTime {
        let weight = match self.weighing {
            Weighing::ByWeight => share.weight.get(),
            Weighing::Equal => 1,
        };
        octets as VirtualTime * SCALE / VirtualTime::from(weight)
    }

    fn position(&self, stream: StreamId) -> VirtualTime {
        self.reached.get(&stream).copied().unwrap_or(0)
    }
}

impl Discipline for Fair {
    fn queued(&mut self, waiting: WaitingMessage, before: Rest) {
        if before == Rest::None {
            let position = self.position(waiting.stream).max(self.clock);
            self.reached.insert(waiting.stream, position);
            self.order.insert((position, waiting.stream));
        }
    }

    fn next(&self) -> Option<StreamId> {
        self.order.first().map(|(_, stream)| *stream)
    }

    fn served(&mut self, served: Served) {
        let stream = served.message.stream;
        let before = self.position(stream);
        let after = before + self.progress(served.octets, served.message.share);
        self.clock = self.clock.max(before);
        self.order.remove(&(before, stream));
        self.reached.insert(stream, after);
        if served.rest == Rest::Some {
            self.order.insert((after, stream));
        }
    }

    fn removed(&mut self, message: WaitingMessage, rest: Rest) {
        if rest == Rest::None {
            self.withdrawn(message.stream);
        }
    }

    fn withdrawn(&mut self, stream: StreamId) {
        self.order.remove(&(self.position(stream), stream));
    }
}

/// Virtual time of one octet at weight 1: fine enough for any weight.
const SCALE: VirtualTime = 1 << 16;
