//! I-DATA: fragments of different messages may alternate, so each says which message it is of and which
//! fragment in it (RFC 8260 §2.1).

use sctp_wire::{Fsn, StreamId};

use super::Discarded;
use super::runs::{FragmentPosition, Runs};
use crate::error::ReceiverViolation;
use crate::receiver::fragment::{DataChunk, Sequence};
use crate::steps::step;
use crate::stream_set::StreamSet;

/// A fragment's place: its message, and its number in it, which counts on where the FSN wraps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::receiver) struct FsnPlace {
    stream: u16,
    unordered: bool,
    mid: u32,
    index: u64,
}

impl FragmentPosition for FsnPlace {
    const RANGE_BYTES: usize = 8;

    fn index(self) -> u64 {
        self.index
    }

    fn at(self, index: u64) -> Self {
        Self { index, ..self }
    }

    fn lowest(self) -> Self {
        self.at(0)
    }
}

impl FsnPlace {
    /// Returns where a message begins.
    pub(super) fn beginning(stream: StreamId, unordered: bool, mid: Sequence) -> Self {
        Self { stream: stream.get(), unordered, mid: mid.get(), index: 0 }
    }
}

impl Runs<FsnPlace> {
    /// Returns where a fragment belongs.
    pub(super) fn place_of(&self, fragment: &DataChunk<'_>) -> FsnPlace {
        let beginning = FsnPlace::beginning(fragment.stream, fragment.flags.unordered, fragment.sequence);
        beginning.at(u64::from(fragment.fsn.get()))
    }

    /// Returns whether a fragment agrees with those of its message that wait. Changes nothing.
    pub(super) fn check(
        &self,
        fragment: &DataChunk<'_>,
        message_bytes: usize,
    ) -> Result<(), ReceiverViolation> {
        let place = self.place_of(fragment);
        let (tsn, flags) = (fragment.tsn, fragment.flags);
        if place == place.lowest() && !flags.beginning {
            return Err(ReceiverViolation::NoBeginning(tsn));
        }
        let below = self.run_below(place);
        let above = self.run_from(place);
        let is_repeated = below.is_some_and(|(_, run)| run.end > place.index)
            || above.is_some_and(|(first, _)| first == place);
        if is_repeated {
            return Err(ReceiverViolation::FsnUsedTwice {
                tsn,
                stream: fragment.stream,
                mid: fragment.sequence.mid(),
                fsn: Fsn::new(fragment.fsn.get()),
            });
        }
        let is_beyond_end = below.is_some_and(|(_, run)| run.ends);
        if is_beyond_end || (flags.ending && above.is_some()) {
            return Err(ReceiverViolation::BoundaryInsideMessage(tsn));
        }
        let neighbours = [
            below.filter(|(_, run)| run.end == place.index),
            above.filter(|(first, _)| *first == place.next()),
        ];
        let waiting: usize = neighbours.into_iter().flatten().map(|(_, run)| run.bytes).sum();
        let bytes = waiting + fragment.payload.len();
        if bytes > message_bytes {
            return Err(ReceiverViolation::MessageTooLong { bytes, limit: message_bytes });
        }
        Ok(())
    }

    /// Drops everything of these streams (RFC 8260 §2.3.2), in as many steps as streams are listed and runs dropped.
    pub(super) fn reset(&mut self, streams: &StreamSet) -> Discarded {
        if streams.is_all() {
            return self.clear();
        }
        let mut discarded = Discarded::default();
        for &stream in streams.listed() {
            step();
            let first = FsnPlace::beginning(stream, false, Sequence::default());
            let last = FsnPlace::beginning(stream, true, Sequence::from_key(u32::MAX));
            for first in self.firsts(first..=last.highest()) {
                step();
                self.discard(first, &mut discarded);
            }
            if self.is_empty() {
                break;
            }
        }
        discarded
    }

    /// Drops the messages of a stream up to one, half the circle of MIDs at most (RFC 8260 §2.3.1).
    pub(super) fn skip(&mut self, stream: StreamId, unordered: bool, last: Sequence) -> Discarded {
        let bounds = |from: u32, to: u32| {
            let at = |mid| FsnPlace::beginning(stream, unordered, Sequence::from_key(mid));
            at(from)..=at(to).highest()
        };
        let (from, to) = (last.half_circle_below().get(), last.get());
        let firsts = if from <= to {
            self.firsts(bounds(from, to))
        } else {
            [self.firsts(bounds(from, u32::MAX)), self.firsts(bounds(0, to))].concat()
        };
        let mut discarded = Discarded::default();
        let mut latest = None;
        for first in firsts {
            discarded.messages += u64::from(latest != Some(first.mid));
            latest = Some(first.mid);
            self.discard(first, &mut discarded);
        }
        discarded
    }
}

#[cfg(test)]
mod tests;
