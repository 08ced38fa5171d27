//! First come, first served (RFC 8260 §3.1).

use std::collections::VecDeque;

use sctp_wire::StreamId;

use super::{Discipline, Rest, Served, Waiting};

/// Every waiting message, in the order in which they were handed in.
#[derive(Debug, Default)]
pub(crate) struct Fcfs {
    order: VecDeque<(u64, StreamId)>,
}

impl Fcfs {
    #[inline]
    fn remove(&mut self, number: u64) {
        if self.order.front().is_some_and(|(first, _)| *first == number) {
            self.order.pop_front();
        } else if let Ok(index) = self.order.binary_search_by_key(&number, |(number, _)| *number) {
            self.order.remove(index);
        }
    }
}

impl Discipline for Fcfs {
    #[inline]
    fn queued(&mut self, waiting: Waiting, _before: Rest) {
        let entry = (waiting.number, waiting.stream);
        if self.order.back().is_none_or(|(last, _)| *last < waiting.number) {
            self.order.push_back(entry);
        } else if let Err(index) = self.order.binary_search_by_key(&waiting.number, |(number, _)| *number) {
            self.order.insert(index, entry);
        }
    }

    #[inline]
    fn next(&self) -> Option<StreamId> {
        self.order.front().map(|(_, stream)| *stream)
    }

    #[inline]
    fn served(&mut self, served: Served) {
        if served.ends_message {
            self.remove(served.message.number);
        }
    }

    fn removed(&mut self, message: Waiting, _rest: Rest) {
        self.remove(message.number);
    }

    fn withdrawn(&mut self, stream: StreamId) {
        self.order.retain(|(_, waiting)| *waiting != stream);
    }
}
