//! The user's data from writing to acknowledgment, and where its offsets are.
//!
//! Offsets are those of the sequence space: 0 is SYN, 1 the first octet, FIN comes behind the last.

use std::collections::VecDeque;

use crate::config::Boundaries;

/// The outgoing stream.
#[derive(Debug)]
pub(crate) struct Stream {
    limit: usize,
    boundaries: Boundaries,
    /// Written and not acknowledged.
    octets: VecDeque<u8>,
    /// Octets ever written, and ever acknowledged.
    written: u64,
    acknowledged: u64,
    is_finished: bool,
    /// The ends of writes that were not sent yet, if they matter.
    ends: VecDeque<u64>,
}

impl Stream {
    pub(crate) fn new(limit: usize, boundaries: Boundaries) -> Self {
        Self {
            limit,
            boundaries,
            octets: VecDeque::new(),
            written: 0,
            acknowledged: 0,
            is_finished: false,
            ends: VecDeque::new(),
        }
    }

    /// Takes as much as there is room for.
    pub(crate) fn write(&mut self, data: &[u8]) -> usize {
        let taken = data.len().min(self.limit.saturating_sub(self.octets.len()));
        self.octets.extend(&data[..taken]);
        self.written += octets(taken);
        if self.boundaries == Boundaries::Writes && taken > 0 {
            self.ends.push_back(1 + self.written);
        }
        taken
    }

    /// Nothing more will be written: FIN follows.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    /// Returns the offset behind the last octet written, and behind FIN once there will be no more.
    pub(crate) fn end(&self) -> u64 {
        1 + self.written + u64::from(self.is_finished)
    }

    /// Forgets everything below an offset, which was acknowledged; returns how many octets of data that were.
    pub(crate) fn release(&mut self, ack: u64) -> u64 {
        let data = self.data_offset(ack).saturating_sub(self.acknowledged);
        self.octets.drain(..length(data));
        self.acknowledged += data;
        data
    }

    /// Returns where a new segment that begins here has to end at the latest, for the sake of what was written.
    pub(crate) fn boundary(&self, from: u64) -> u64 {
        self.ends.iter().copied().find(|end| *end > from).unwrap_or(u64::MAX)
    }

    /// A new segment was sent up to here.
    pub(crate) fn on_sent(&mut self, to: u64) {
        while self.ends.front().is_some_and(|end| *end <= to) {
            self.ends.pop_front();
        }
    }

    /// Appends the data between two offsets to `buffer`; returns whether FIN goes with it.
    pub(crate) fn copy(&self, from: u64, to: u64, buffer: &mut Vec<u8>) -> bool {
        let index = |offset: u64| length(self.data_offset(offset).saturating_sub(self.acknowledged));
        buffer.extend(self.octets.range(index(from)..index(to)));
        self.is_finished && to == self.end()
    }

    /// Returns the number of octets of user data before an offset.
    fn data_offset(&self, offset: u64) -> u64 {
        offset.saturating_sub(1).min(self.written)
    }
}

pub(crate) fn octets(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

fn length(octets: u64) -> usize {
    usize::try_from(octets).unwrap_or(usize::MAX)
}
